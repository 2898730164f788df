"""What to do with the job: restart, stop, evict a host, wait, or cannot tell, and why. Conservative on purpose.

*evict* needs a host by name and a record that its fault lasts: a driver's code for which the vendor's catalogue asks to reset,
reboot or repair, or the same host accused in an earlier attempt with other ranks on it. *keep_running* is for a slow device
or link: the job goes on, and goes faster without it. *stop* needs a fault that the next start meets again: the program calls
differently on different ranks, versions or settings do not fit, the code raises what no machine can cause, or it ended in the same way
three times in a row. *change_first* is
for a run that was slow and has ended, and for what was too small: memory, a disk. *restart* is for what neither shows; that no
fault lasts is said only of what cannot last, a stop from outside, and never beside a record of hardware. *wait* is for a job
that runs. Where the verdict is a hypothesis, nothing of this is told.
"""

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from forensics.model import commands
from forensics.model.causes import CAUSES
from forensics.model.causes.row import CauseRow
from forensics.model.commands import Surroundings
from forensics.model.incident import SINKING, Action, Decision, Incident, Verdict
from forensics.model.names import ActionKind, Cause, DecisionKind
from forensics.model.said import Said, joined
from forensics.model.texts import ranks_text
from forensics.words import advice
from forensics.words import verdict as words
from parsers.catalogues import is_lasting

_PROVEN = ("established", "supported")
_MAY_LAST: frozenset[Cause] = frozenset(cause for cause, row in CAUSES.items() if row.holds in ("device", "link"))
_SECONDS = 3600.0
_TIMES = 3  # the same end in a row, after which starting it again is no answer
_TOLD = 0.01  # of the time: less is no reason for anything


def decide(incident: Incident, ranks: int, again: Collection[str] = (), times: int = 1) -> Decision:
    """`ranks`: size of the job, 0 where unknown; `again`: hosts that earlier attempts accused, too, with other ranks on them; `times`: how
    often in a row it ended in the same way, this one among them."""
    do, reason, without = _decided(incident, again)
    row = _row(incident.verdict)
    if do == "restart" and not without and times >= _TIMES and (row is None or row.returns != "over"):
        do, reason = "stop", words.CAME_BACK(times=times)
    known = [seconds for seconds in (incident.lost.stalled_s, incident.lost.redo_s) if seconds is not None]
    hours = round(sum(known) * ranks / _SECONDS, 2) if known and ranks and incident.verdict.kind != "healthy" else None
    if do == "restart" and incident.lost.checkpoint:
        reason = words.GO_ON_FROM(reason=reason, checkpoint=incident.lost.checkpoint)
    if (share := _share(incident)) >= _TOLD:
        form = words.COSTS_A_DAY_OF if ranks else words.COSTS_A_DAY
        reason = form(reason=reason, hours=f"{24 * share:.1f}", ranks=ranks)
    # Whoever stopped the job from outside stood at nothing, and no host of it is to be left out.
    is_from_outside = row is not None and row.from_outside
    is_open = do in words.UNLESS and incident.verdict.kind != "healthy" and not is_from_outside
    unless = _unless(do, incident.verdict) if is_open else ""
    return Decision(do=do, reason=reason, unless=unless, lost_gpu_hours=hours, without=list(without))


def _unless(do: DecisionKind, verdict: Verdict) -> Said:
    """A host is left out for what failed there, and for nothing that a program did; of a steady pace two stacks tell nothing."""
    if do == "wait" and verdict.kind == "slow":
        return words.SLOWER_STILL
    if verdict.first_anomaly.signature == SINKING and do == "change_first":
        return words.GROWS_NO_MORE
    if verdict.kind == "numerics" and do in ("wait", "change_first"):
        return words.BATCH_IS_GONE if do == "change_first" else words.BAD_AGAIN
    row = _row(verdict)
    of_host = verdict.hosts and (row is None or row.holds in ("device", "link") or verdict.domain == "infrastructure")
    return words.SAME_COMES_BACK if do == "restart" and not of_host else words.UNLESS[do]


def _decided(incident: Incident, again: Collection[str]) -> tuple[DecisionKind, Said, Sequence[str]]:
    """(what to do, why, whom to leave out)"""
    verdict = incident.verdict
    if verdict.kind == "healthy":
        return "wait", words.ENDED_BUT_LOST if incident.actions else words.NO_FAULT, ()
    if verdict.kind == "unknown" and "no_hang" in verdict.undecided and not incident.has_ended:
        return "wait", words.WAS_RUNNING, ()
    if verdict.kind == "unknown" or verdict.status not in _PROVEN:
        return "cannot_tell", words.NOTHING_PROVEN, ()
    hosts = sorted({*verdict.hosts} & {*again})
    if hosts and verdict.kind in ("hang", "crash", "slow") and verdict.domain != "workload":
        return "evict", words.AT_FAULT_BEFORE(hosts=joined(hosts, ", ")), hosts
    if verdict.kind == "slow":
        return *_faster(incident), ()
    of_devices = sorted({device.host for device in verdict.devices if device.host})
    if _is_lasting(verdict):
        return "evict", words.LASTING_ERROR(host=joined(of_devices, ", ")), of_devices
    row = _row(verdict)
    returns = row.returns if row is not None else None
    if verdict.kind == "launch" and (verdict.first_anomaly.signature or "").endswith("port_in_use"):
        return "change_first", advice.PORT_MUST_BE_FREE, ()
    if returns == "again" or _is_of_the_code(verdict):
        return "stop", words.WOULD_FAIL_AGAIN, ()
    if row is not None and row.unless_changed is not None:
        return "change_first", row.unless_changed, ()
    if verdict.kind == "numerics":
        return *_of_values(incident), ()
    if row is not None and returns == "over":
        none = joined((words.NO_LASTING_FAULT, row.beside_restart or ""), "; ")
        return "restart", words.LOOK_AT_RECORDS if _has_fault_on_record(incident) else none, ()
    if row is None or returns != "may" or verdict.kind == "launch":
        return "cannot_tell", words.RETURN_NOT_SHOWN, ()
    if not row.is_of_hardware:
        return "restart", words.MAY_COME_BACK, ()
    # A device or link failed, and nothing shows that it works again.
    form = words.UNTIL_GPU_TESTED if row.holds == "device" else words.UNTIL_LINK_TESTED
    where = of_devices or sorted(verdict.hosts)
    return ("restart", form(hosts=joined(where, ", ")), where) if where else ("cannot_tell", words.FIND_IT_FIRST, ())


def _row(verdict: Verdict) -> CauseRow | None:
    return None if verdict.cause is None else CAUSES[verdict.cause]


def _of_values(incident: Incident) -> tuple[DecisionKind, Said]:
    """By what is to be looked at first: a setting makes the same of the same numbers, and a batch comes again; what no state has to be
    loaded for came back by itself."""
    kinds = [action.kind for action in incident.actions]
    first = kinds[0] if kinds else None
    if first == "check_config":
        return "stop", words.WOULD_DIVERGE_AGAIN
    if first == "ignore":
        return "cannot_tell" if incident.has_ended else "wait", words.CAME_BACK_BY_ITSELF
    row, is_done = _row(incident.verdict), {*kinds} & {"rollback", "restart_job"}
    may_pass = row is not None and row.may_pass
    if first == "check_data" and not may_pass and is_done:
        return "change_first", words.SAME_BATCH_AGAIN
    if first == "check_data" and may_pass and not is_done and not incident.has_ended:
        return "wait", words.CAME_BACK_BY_ITSELF
    return "cannot_tell", words.ORIGIN_DECIDES


def _share(incident: Incident) -> float:
    """Of the time of slow steps, what would be won without the fault that is told; 0 where no replay tells."""
    told = incident.counterfactual
    if told is None or told.shares is None or incident.verdict.status not in _PROVEN:
        return 0.0
    row = _row(incident.verdict)
    if row is not None and row.by_shares:
        return told.shares["batches"] + told.shares["stages"]
    return told.shares["culprits"] if set(incident.verdict.ranks) & set(told.ranks) else 0.0


def _has_fault_on_record(incident: Incident) -> bool:
    """Does anything speak of a device, a link or a host besides who stopped the job?"""
    weighed = {one.cause for one in incident.choice} | {one.cause for one in incident.alternatives}
    return bool(incident.views.hardware or incident.verdict.devices or weighed & _MAY_LAST)


def _faster(incident: Incident) -> tuple[DecisionKind, Said]:
    """What to do about a job that is slow: a device or a link that is named does not become faster by itself. Where the program is to be looked
    at first, nobody is left out; where a restart is asked for, it is a test."""
    verdict, kinds = incident.verdict, [action.kind for action in incident.actions]
    looks_at = kinds[0] if kinds else None
    # Of one rank, whether its host or its device is slow is not shown; of several on one host it is the host.
    who = words.DEVICE_OF(ranks=ranks_text(verdict.ranks)) if verdict.ranks else ""
    if len(verdict.ranks) != 1 and verdict.hosts:
        who = joined(sorted(verdict.hosts), ", ")
    is_of_program = verdict.domain == "workload" or looks_at in ("check_code", "check_data", "check_config")
    row = _row(verdict)
    is_hardware = bool(who) and row is not None and row.returns == "lasts" and not is_of_program
    if verdict.first_anomaly.signature == SINKING and looks_at == "check_config":
        return "change_first", words.SLOWER_ALL_THE_TIME
    if incident.has_ended:
        return "change_first", words.REPLACE_BEFORE_NEXT(who=who) if is_hardware else words.FIND_BEFORE_NEXT
    if is_hardware:
        return "keep_running", words.REPLACE_LATER(who=who)
    return "wait", words.RESTART_WOULD_TELL if "restart_job" in kinds else words.RESTART_CHANGES_NOTHING


def carried_out(incident: Incident, around: Surroundings) -> Incident:
    """The incident with an action that does what was decided, where none of its actions does."""
    told, verdict = incident.decision, incident.verdict
    kind: ActionKind = "drain_node" if told.do == "evict" else "restart_job"
    if told.do == "evict":
        hosts = sorted({device.host for device in verdict.devices if device.host} or {*verdict.hosts})
        wanted = {host: commands.drain_node(host, "evict", around) for host in hosts}
    elif told.do == "restart":
        places = sorted({place.host for place in verdict.places if place.host})
        # Nothing is taken down before anything was looked at, and nothing started again where what failed may still be used.
        row = _row(verdict)
        may = incident.actions and not (told.without and row is not None and row.holds == "link")
        wanted = {"": commands.restart_job(places[0] if len(places) == 1 else None, around) if may else None}
    else:
        return incident
    actions = list(incident.actions)
    for target, command in wanted.items():
        at = next((n for n, one in enumerate(actions) if (one.kind, one.target) == (kind, target)), None)
        if at is None:
            actions.append(Action(kind=kind, target=target, command=command, reason=told.reason))
        elif actions[at].command is None:
            actions[at] = replace(actions[at], command=command)
    return replace(incident, actions=actions)


def _is_lasting(verdict: Verdict) -> bool:
    """Does a driver report, on a host that is known, an error of a device that only a reset, reboot or repair ends?"""
    prefix, _, code = (verdict.first_anomaly.signature or "").partition(":")
    row = _row(verdict)
    told = row is not None and row.holds == "device" and prefix == "device" and is_lasting(code)
    return told and any(device.host for device in verdict.devices)


def _is_of_the_code(verdict: Verdict) -> bool:
    name = (verdict.first_anomaly.signature or "").removeprefix("exception:").rpartition(".")[2]
    row = _row(verdict)
    return row is not None and verdict.domain == "workload" and name in row.raised_again
