"""What to do with the job: restart, stop, evict a host, wait, or cannot tell, and why. Conservative on purpose.

*evict* needs a host by name and a record that its fault lasts: a driver's code for which the vendor's catalogue asks to reset,
reboot or repair, or the same host accused in an earlier attempt with other ranks on it. *keep_running* is for a slow device
or link: the job goes on, and goes faster without it; *change_first* for a run that was slow and has ended. *stop* needs a fault that the next start meets again: the program calls differently on
different ranks, versions or settings do not fit, the code raises what no machine can cause. *restart* is for what neither
shows. *wait* is for a job that runs. Where the verdict is a hypothesis, nothing of this is told.
"""

from collections.abc import Collection

import msgspec

from forensics.model import commands
from forensics.model.commands import Surroundings
from forensics.model.incident import Action, Decision, Incident, Verdict
from forensics.model.names import ActionKind, Cause, DecisionKind
from forensics.model.said import Said, joined
from forensics.model.texts import ranks_text
from forensics.words import verdict as words
from parsers.catalogues import is_lasting

_PROVEN = ("established", "supported")
_COMES_BACK: frozenset[Cause] = frozenset(
    {"collective_mismatch", "deadlock_cycle", "version_mismatch", "wrong_interface", "config_drift"}
)
# Exceptions of the interpreter that follow from the code alone; those of files, memory and connections do not.
_OF_THE_CODE = ("NameError", "TypeError", "AttributeError", "ImportError", "ModuleNotFoundError", "SyntaxError",
                "UnboundLocalError", "ZeroDivisionError", "NotImplementedError")  # fmt: skip
_AGAIN: frozenset[Cause] = frozenset(
    {
        "rank_absent", "rank_died", "kernel_stuck", "network_fault", "gpu_fault", "killed", "segfault", "store_timeout",
        "host_oom", "preempted", "time_limit", "missing_ranks",
    }
)  # fmt: skip
_REPLACED: frozenset[Cause] = frozenset({"straggler_compute", "straggler_network"})
_SECONDS = 3600.0


def decide(incident: Incident, ranks: int, again: Collection[str] = ()) -> Decision:
    """`ranks`: size of the job, 0 where unknown; `again`: hosts that earlier attempts accused, too, with other ranks on them."""
    do, reason = _decided(incident.verdict, again, incident.has_ended)
    known = [seconds for seconds in (incident.lost.stalled_s, incident.lost.redo_s) if seconds is not None]
    hours = round(sum(known) * ranks / _SECONDS, 2) if known and ranks and incident.verdict.kind != "healthy" else None
    if do == "restart" and incident.lost.checkpoint:
        reason = words.GO_ON_FROM(reason=reason, checkpoint=incident.lost.checkpoint)
    return Decision(do=do, reason=reason, lost_gpu_hours=hours)


def _decided(verdict: Verdict, again: Collection[str], has_ended: bool) -> tuple[DecisionKind, Said]:
    if verdict.kind == "healthy":
        return "wait", words.NO_FAULT
    if verdict.kind == "unknown" and "no_hang" in verdict.undecided and not has_ended:
        return "wait", words.WAS_RUNNING
    if verdict.kind == "unknown" or verdict.status not in _PROVEN:
        return "cannot_tell", words.NOTHING_PROVEN
    hosts = sorted({*verdict.hosts} & {*again})
    if hosts and verdict.kind in ("hang", "crash", "slow") and verdict.domain != "workload":
        return "evict", words.AT_FAULT_BEFORE(hosts=joined(hosts, ", "))
    if verdict.kind == "slow":
        return _faster(verdict, has_ended)
    if _is_lasting(verdict):
        return "evict", words.LASTING_ERROR(host=_host(verdict))
    if verdict.cause in _COMES_BACK or _is_of_the_code(verdict):
        return "stop", words.WOULD_FAIL_AGAIN
    if verdict.kind == "numerics":
        return "cannot_tell", words.ORIGIN_DECIDES
    if verdict.cause in _AGAIN:
        host = _host(verdict) if verdict.cause == "gpu_fault" else ""
        return "restart", words.LEAVE_OUT(host=host) if host else words.NO_LASTING_FAULT
    return "cannot_tell", words.RETURN_NOT_SHOWN


def _faster(verdict: Verdict, has_ended: bool) -> tuple[DecisionKind, Said]:
    """What to do about a job that is slow: a device or a link that is named does not become faster by itself."""
    who = joined(sorted(verdict.hosts), ", ") or (
        words.DEVICE_OF(ranks=ranks_text(verdict.ranks)) if verdict.ranks else ""
    )
    is_hardware = bool(who) and verdict.cause in _REPLACED and verdict.domain != "workload"
    if has_ended:
        return "change_first", words.REPLACE_BEFORE_NEXT(who=who) if is_hardware else words.FIND_BEFORE_NEXT
    return ("keep_running", words.REPLACE_LATER(who=who)) if is_hardware else ("wait", words.RESTART_CHANGES_NOTHING)


def carried_out(incident: Incident, around: Surroundings) -> Incident:
    """The incident with an action that does what was decided, where none of its actions does."""
    told, verdict = incident.decision, incident.verdict
    if told.do == "evict":
        hosts = sorted({device.host for device in verdict.devices if device.host} or {*verdict.hosts})
        wanted: list[tuple[ActionKind, str, str | None]] = [
            ("drain_node", host, commands.drain_node(host, "evict", around)) for host in hosts
        ]
    elif told.do == "restart":
        places = sorted({place.host for place in verdict.places if place.host})
        wanted = [("restart_job", "", commands.restart_job(places[0] if len(places) == 1 else None, around))]
    else:
        return incident
    actions = list(incident.actions)
    for kind, target, command in wanted:
        at = next((n for n, one in enumerate(actions) if (one.kind, one.target) == (kind, target)), None)
        if at is None:
            actions.append(Action(kind=kind, target=target, command=command, reason=told.reason))
        elif actions[at].command is None:
            actions[at] = msgspec.structs.replace(actions[at], command=command)
    return msgspec.structs.replace(incident, actions=actions)


def _host(verdict: Verdict) -> Said:
    return joined(sorted({device.host for device in verdict.devices if device.host}), ", ")


def _is_lasting(verdict: Verdict) -> bool:
    """Does a driver report, on a host that is known, an error of a device that only a reset, reboot or repair ends?"""
    prefix, _, code = (verdict.first_anomaly.signature or "").partition(":")
    told = verdict.cause == "gpu_fault" and prefix == "device" and is_lasting(code)
    return told and any(device.host for device in verdict.devices)


def _is_of_the_code(verdict: Verdict) -> bool:
    name = (verdict.first_anomaly.signature or "").removeprefix("exception:").rpartition(".")[2]
    return verdict.cause == "exception" and verdict.domain == "workload" and name in _OF_THE_CODE
