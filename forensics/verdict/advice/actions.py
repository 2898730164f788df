"""What to do now: the detectors' own actions, those that a cause asks for, and what to collect where it is undecided.

A command is there where everything in it is known: host, process, GPU, and how the launcher reaches them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from forensics.facts.ends.storage_waits import STORAGE_SITES
from forensics.facts.rows.locations import Shared, listed
from forensics.model import commands
from forensics.model.causes import CAUSES
from forensics.model.causes.shared import KERNEL, LEFT, NEXT_RUN, STORES
from forensics.model.commands import NOWHERE, Surroundings
from forensics.model.finding import Finding
from forensics.model.frames import is_own_file
from forensics.model.incident import Action, Place
from forensics.model.names import ActionKind, Status
from forensics.model.said import Said, joined
from forensics.model.texts import SILENT, head_of, ranks_text
from forensics.verdict.advice.runbook import LOOKS, Scene, followed, is_at_pipe, with_look
from forensics.words import advice
from forensics.words import ranks as words_of_ranks
from forensics.words import verdict as words
from forensics.words.libraries import Lacks, of_libraries, of_vendor
from parsers.catalogues import is_lasting, is_of_program

_HOSTS = 3  # of which stacks are asked for, one command each
_AT_ONCE, _LISTED = 3, 6  # hosts that fail together, and those of them that are listed
_PROCESSES = 16  # in one command
_NAMED_PIDS = 2  # in a sentence
_BY_KERNEL = "proc(5): status, stack, wchan"  # what a process that answers nobody waits in
_ECC = re.compile(r"\bECC\b|ECCUncorrectable")


class Known(NamedTuple):
    """What the bundle knows of the subjects, or of all ranks where there is no subject: where they run, which of them have
    died, what reaches them."""

    places: Sequence[Place] = ()
    dead: frozenset[int] = frozenset()
    around: Surroundings = NOWHERE
    has_records: bool = True  # flight records are there
    hosts: int = 0  # of the job, 0 where unknown
    shared: Shared | None = None  # the place that several hosts in question have in common
    seen_twice: frozenset[int] = frozenset()  # whose stacks were taken at two moments
    gone: frozenset[int] = frozenset()  # whose processes are known to have ended, of whatever
    left: frozenset[int] = frozenset()  # of these, those of which no line says so
    has_ended: bool = False  # the whole run
    checkpoint: str | None = None  # to go on from
    is_alone: bool = False  # other ranks of its host left figures, and are not slow
    has_ras: bool = False  # RAS was asked, and its answer is there
    held: frozenset[int] = frozenset()  # whose processes are stopped, and run nothing
    beside: frozenset[Action] = frozenset()  # actions of the finding that are not of its cause


NOTHING = Known()


def actions_of(finding: Finding, status: Status, known: Known = NOTHING) -> list[Action]:
    """Finding and its status → actions, in the order in which they are to be done."""
    scene = Scene(
        known.places, known.dead | known.gone, known.has_ended, known.checkpoint, known.around, _gpu(finding, known.places),
        known.has_records, lambda action: _host_of(action, finding, known),
        known.dead | (known.gone - known.left), known.is_alone, known.held, bool(_hosts(finding, known.places)),
    )  # fmt: skip
    actions = list(finding.actions)
    drains = _drains(finding, known)
    code = (finding.first_anomaly.signature or "").removeprefix("device:")
    # A device that only a reset, reboot or repair brings back is taken out first: its own tool may not even see it.
    is_out_first = is_lasting(code) and status != "hypothesis"
    actions = drains + actions if is_out_first else actions + _checks(finding, known) + drains
    actions += _by_halves(finding, known) + _shared(finding, known.shared)
    is_sure = status in ("established", "supported") and finding.is_named
    row = None if finding.cause is None else CAUSES[finding.cause]
    if row is not None and is_sure and not (actions or finding.collect or row.by_stack):
        # Where a cause alone says what helps, its words go with the first look of its runbook, and with no step that takes anything away.
        otherwise: ActionKind = "inspect_hardware" if row.domain == "infrastructure" else "check_config"
        kind = next((step.do for step in row.runbook if step.do in LOOKS), otherwise)
        actions.append(Action(kind=kind, target="job", command=None, reason=row.do))
    if finding.collect or finding.undecided or status == "unknown" or not (actions or row is None):
        actions += _collected(finding, known)
    told = _kernel_first([_with_setup(action) for action in actions], finding, known)
    done = followed(told, finding, scene, known.beside, is_sure)
    done = [_in_words_of(_with_command(action, finding, known), known.around) for action in done]
    return sorted(_left_first(_settings_first(done)), key=lambda one: one.source != _BY_KERNEL)


def _in_words_of(action: Action, around: Surroundings) -> Action:
    """The same; what to look for is what the driver of its devices writes. A kernel's log is read for the same things whoever asks for it."""
    if action.kind == "collect_more" and not action.look and (action.command or "").endswith("dmesg -T"):
        action = with_look(action, KERNEL)
    target, look = (of_vendor(one, around.vendor) for one in (action.target, action.look))
    return replace(action, target=target, look=look)


def _left_first(actions: list[Action]) -> list[Action]:
    """What is left of a run is collected before the next one is set up: it may be overwritten by then."""
    next_ones = [one for one in actions if one.kind == "collect_more" and one.source == NEXT_RUN.source]
    last = max((at for at, one in enumerate(actions) if one.source == LEFT.source and one.command), default=-1)
    before = [one for one in next_ones if actions.index(one) < last]
    if not before:
        return actions
    return [*(one for one in actions[: last + 1] if one not in before), *before, *actions[last + 1 :]]


def _settings_first(actions: list[Action]) -> list[Action]:
    """What the next run is to leave is set before it is started; and where nobody knows whom to inspect, what would tell comes first."""
    told = [one for one in actions if one.kind == "collect_more" and one.command]
    first = actions[0] if told else None
    if first is not None and (first.kind, first.target, first.command or None) == ("inspect_hardware", "job", None):
        actions = [told[0], *(one for one in actions if one is not told[0])]
    starts = (number for number, one in enumerate(actions) if one.kind == "restart_job" and one.command is None)
    at = next(starts, len(actions))
    return [*actions[:at], *sorted(actions[at:], key=lambda one: one not in told)]


def _with_setup(action: Action) -> Action:
    """The same with the kinds of evidence that its words ask for."""
    said = (one.asks for one in (action.target, action.reason) if isinstance(one, Said))
    asks = dict.fromkeys(chain.from_iterable(said)) if action.kind == "collect_more" else ()
    return replace(action, setup=tuple(asks)) if asks else action


def _checks(finding: Finding, known: Known) -> list[Action]:
    at = finding.code
    target = f"{at.file}{'' if at.line is None else f':{at.line}'}" if at is not None and at.file else None
    if finding.cause == "rank_absent":
        who = ranks_text(finding.ranks or finding.suspect_ranks) if finding.subjects else words.THE_RANK
        where = at.function if at is not None else None
        reason = words.STOPPED_IN(who=who, where=where or words.THIS_LINE)
        # A library's line is not what is to be changed; what it waits for is.
        checks = [_check(target, reason)] if target and at is not None and is_own_file(at.file) else []
        if is_at_pipe(finding):
            return checks or [_check(words.OTHER_END(who=who), reason)]
        if any(one.source == STORES.source for one in finding.actions):
            return checks  # no file system of the host holds it
        if finding.site not in STORAGE_SITES or at is None:
            return checks
        files = Action(kind="inspect_hardware", target=words.FILES_OF(who=who), command=None, reason=reason)
        return [files, *checks] if _host_of(None, finding, known) else [*checks, files]
    if any(one.kind == "check_code" and one.target != "job" for one in finding.actions):
        return []
    if finding.cause == "collective_mismatch":
        check = _check(target or "job", words.NOT_THE_SAME_CALL)
        source = "PyTorch: torch.distributed, collectives"
        return [check if target else replace(check, look=advice.OTHER_CALLS, then=advice.SAME_CALLS, source=source)]
    if finding.cause == "deadlock_cycle":
        return [_check(target or "job", words.DIFFERENT_ORDERS)]
    return []


def _check(target: str, reason: str) -> Action:
    return Action(kind="check_code", target=target, command=None, reason=reason)


def _drains(finding: Finding, known: Known) -> list[Action]:
    code = (finding.first_anomaly.signature or "").removeprefix("device:")
    if finding.cause != "gpu_fault" or is_of_program(code):  # no host leaves service for what a program did
        return []
    drains = []
    for host in dict.fromkeys(device.host or "" for device in finding.devices):
        command = commands.drain_node(host, "gpu_fault", known.around)
        drains.append(Action(kind="drain_node", target=host, command=command, reason=words.GPU_REPORTED_ERROR))
    return drains


def _shared(finding: Finding, shared: Shared | None) -> list[Action]:
    """Of several hosts at once: one cause that they share is likelier than as many faults on the same day."""
    if shared is not None and shared.is_likely and finding.domain != "workload":
        who = listed(host for host, _ in shared.things)
        target = words.PLACE_THAT_THEY_SHARE(place=shared.name, who=who)
        return [Action(kind="inspect_hardware", target=target, command=None, reason=shared.text)]
    hosts = sorted({*finding.hosts, *finding.suspect_hosts})
    if len(hosts) < _AT_ONCE or finding.domain == "workload":
        return []
    target = words.ALL_THAT_THEY_SHARE(hosts=head_of(hosts, _LISTED))
    reason = words.FAILED_AT_ONCE(number=len(hosts))
    return [Action(kind="inspect_hardware", target=target, command=None, reason=reason)]


def _by_halves(finding: Finding, known: Known) -> list[Action]:
    """How to find a host that slows all and that no record tells: by exchange, for alone it may look well."""
    is_of_host = finding.domain != "workload" and all(action.kind != "restart_job" for action in finding.actions)
    if finding.cause != "throughput_drop" or finding.subjects or finding.places or not is_of_host:
        return []
    most = words.ROUNDS(rounds=(known.hosts - 1).bit_length(), hosts=known.hosts)
    reason = words.BY_HALVES(rounds=most if known.hosts > 1 else words.ABOUT_LOG_ROUNDS)
    return [Action(kind="inspect_hardware", target="job", command=None, reason=reason)]


def _with_command(action: Action, finding: Finding, known: Known) -> Action:
    """The same action with its command: for the host that it names, else for the one that its subjects run on."""
    if action.command is not None or (action.look and action.source in _without_command(finding)):
        return action
    command = None
    if action.kind == "drain_node":
        command = commands.drain_node(action.target, finding.cause or "failed_check", known.around)
    elif (host := _host_of(action, finding, known)) is None:
        return _there_where_it_ran(action, finding, known)
    elif action.kind == "inspect_hardware":  # whose devices they are may not be told, and any kernel tells of its own
        command = commands.device(host, _gpu(finding, known.places), known.around)
        is_slow = finding.cause is not None and "slow" in CAUSES[finding.cause].kinds
        command = command or (None if is_slow else commands.kernel_log(host, known.around))
    elif action.kind == "inspect_network":
        command = commands.ports(host, known.around)
    return replace(action, command=command)


def _without_command(finding: Finding) -> set[str]:
    """The steps of its cause that no command does: that of their kind answers something else."""
    steps = CAUSES[finding.cause].runbook if finding.cause is not None else ()
    return {one.source for one in steps if one.command is None}


def _there_where_it_ran(action: Action, finding: Finding, known: Known) -> Action:
    """The same with the command for the host that nobody names, where the rest of it is known."""
    pci = {device.pci for device in finding.devices if device.pci and not device.host}
    pids = {place.pid for place in known.places if place.rank in finding.subjects and place.pid and not place.host}
    if finding.places:
        return action
    if action.kind == "inspect_hardware" and len(pci) == 1:
        return _as_by_runbook(replace(action, command=commands.pci_state(pci.pop())), finding, "pci_state")
    name: commands.CommandName
    about = (action.kind, finding.cause)
    if about == ("inspect_hardware", "gpu_fault") and known.around.vendor == "nvidia" and _is_of_memory(finding):
        name = "memory_errors"
    elif about == ("check_config", "gpu_oom") and not (_hosts(finding, known.places) or action.look):
        name = "users_of_memory"
    elif about == ("check_code", "segfault"):
        name = "core"
    else:
        return action
    command = commands.COMMANDS[name](commands.Target(commands.HERE, tuple(pids), around=known.around))
    if command is None:
        return action
    target = words.ON_ITS_HOST if action.target in ("", "job") else words.ON_HOST_OF(what=action.target)
    return _as_by_runbook(replace(action, target=target, command=command), finding, name)


def _as_by_runbook(action: Action, finding: Finding, name: commands.CommandName) -> Action:
    """The same with what to look for, where the runbook of its cause has the step that is done by this command."""
    steps = CAUSES[finding.cause].runbook if finding.cause is not None else ()
    step = next((one for one in steps if one.do == action.kind and one.command == name), None)
    return action if step is None or action.look else with_look(action, step)


def _is_of_memory(finding: Finding) -> bool:
    return any(_ECC.search(ref.text) or _ECC.search(claim.text) for claim in finding.claims for ref in claim.refs)


def _kernel_first(actions: Sequence[Action], finding: Finding, known: Known) -> list[Action]:
    """The actions; of a process that died the kernel log of its host comes before all else that is to be collected, for it answers
    more than what a setting of the next run would."""
    open_ones = [one for one in actions if one.kind == "collect_more" and one.command is None]
    host = _host_of(None, finding, known)
    if host is None or not open_ones or not finding.subjects & known.dead:
        return list(actions)
    command = commands.kernel_log(host, known.around)
    own = next((one for one in open_ones if "kernel" in one.setup), None)
    if command is None or (own is None and any(one.command == command for one in actions)):
        return list(actions)
    if own is None:
        target, at = words.KERNEL_LOG(host=host), actions.index(open_ones[0])
        own = Action(kind="collect_more", target=target, command=command, reason="", setup=("kernel",))
        return [*actions[:at], own, *actions[at:]]
    return [replace(one, command=command) if one is own else one for one in actions]


def _host_of(action: Action | None, finding: Finding, known: Known) -> str | None:
    """The host that an action names, else the only one that its subjects run on; of no action, that one."""
    hosts = _hosts(finding, known.places)
    if action is None:
        return hosts[0] if len(hosts) == 1 else None
    if action.target in hosts:
        return str(action.target)
    others = {place.host for place in known.places} | finding.places | {*finding.suspect_hosts}
    return hosts[0] if len(hosts) == 1 and action.target not in others else None


def _gpu(finding: Finding, places: Iterable[Place]) -> int | None:
    """The index of the one GPU that it is about."""
    at = {place.device.index for place in places if place.rank in finding.subjects}
    indices = ({device.index for device in finding.devices} | at) - {None}
    return indices.pop() if len(indices) == 1 else None


def _hosts(finding: Finding, places: Iterable[Place]) -> list[str]:
    at = {place.host for place in places if place.rank in finding.subjects and place.host}
    return sorted(finding.places | at)


# --- what would decide ------------------------------------------------------------------------------------------------


def _collected(finding: Finding, known: Known) -> list[Action]:
    """Stacks by host and process first, for they are gone when the job is; then what the detector asks for."""
    actions = _stacks(finding, known) + _kernel_logs(finding, known)
    called = [_as_called(what, known) for what in finding.collect]
    asked = {kind for what in called if isinstance(what, Said) for kind in what.asks}
    is_wait = finding.cause is None or "hang" in CAUSES[finding.cause].kinds
    is_wait &= finding.cause != "collective_mismatch"  # of the program, whatever hosts and links did
    # Who waited is over: its stack is gone, and what the others' logs and the kernels say is not.
    is_over = known.has_ended and bool(finding.undecided) and not finding.is_named and is_wait
    if is_over and asked and asked.isdisjoint(words.LEFT_OF_ALL.asks):
        command = commands.COMMANDS["gather"](commands.Target(asks=words.LEFT_OF_ALL.asks))
        ranks = finding.suspect_ranks
        who = words.LEFT_OF_SUSPECTS(who=ranks_text(ranks)) if ranks else words.LEFT_OF_ALL
        actions.insert(0, Action(kind="collect_more", target=who, command=command, reason=""))
    actions += [Action(kind="collect_more", target=what, command=None, reason="") for what in called]
    # Of a wait at the start no call is recorded: the group is not there yet.
    is_open = bool(set(finding.undecided) - {"no_hang"}) and finding.first_anomaly.op not in ("init", "store")
    if known.around.torch is not None and _is_by_stack(finding) and not known.has_records and is_open:
        command = commands.recorder(known.around)
        recorder = Action(kind="collect_more", target=words.RECORDER_NEXT_RUN, command=command, reason="")
        actions += [recorder] if command is not None else []
    return actions


def _as_called(what: str, known: Known) -> str:
    """What the detector asks for, in the names of the libraries that the job has, without what is there."""
    around = known.around
    torch = around.torch
    by_vendor = None if around.vendor is None else commands.OF_VENDOR.get(around.vendor)
    library = by_vendor if torch is None else torch.library
    lacks: list[Lacks] = ["ras"] if around.vendor not in (None, "nvidia") or known.has_ras else []
    has_recorder = known.has_records or (torch is not None and commands.recorder(around) is not None)
    lacks += [] if has_recorder else ["recorder"]
    lacks += ["detail"] if not has_recorder or (torch is not None and torch.is_detailed) else []
    if known.has_ended and what is words_of_ranks.SECOND_STACKS:
        what = words_of_ranks.TWO_STACKS
    return of_libraries(what, library, *lacks)


def _is_by_stack(finding: Finding) -> bool:
    return finding.cause is None or CAUSES[finding.cause].by_stack


def _stacks(finding: Finding, known: Known) -> list[Action]:
    if not _is_by_stack(finding) or finding.code is not None or finding.detector == "health":
        return []
    asked = finding.subjects or {place.rank for place in known.places}
    if asked and known.gone >= asked:
        if finding.subjects and finding.subjects <= known.left and (still := _there(finding, known)):
            return still  # nothing says that it ended: a look costs nothing, and a restart would take it away
        who = sorted(finding.subjects - known.dead - known.seen_twice)
        next_time = words.STACK_NEXT_TIME(who=ranks_text(who)) if finding.is_named and who else None
        command = commands.next_run(next_time.asks, known.around) if next_time else None
        return [Action(kind="collect_more", target=next_time, command=command, reason="")] if next_time else []
    actions = _there(finding, known)
    if not actions and finding.cause == "rank_absent" and finding.ranks:  # where it runs is not known
        form = words.STACK_NEXT_TIME if known.has_ended else words.STACK
        what = form(who=ranks_text(finding.ranks))
        actions.append(Action(kind="collect_more", target=what, command=None, reason=""))
    return actions


def _there(finding: Finding, known: Known) -> list[Action]:
    """The stacks of processes that may still run, host by host."""
    ended = known.dead | (known.gone - known.left) | known.seen_twice
    by_host: dict[str, dict[int, int]] = defaultdict(dict)
    for place in known.places:
        is_subject = place.rank in finding.subjects or not finding.subjects
        if is_subject and place.rank not in ended and place.host and place.pid:
            by_host[place.host][place.rank] = place.pid
    actions = []
    for host, pids in list(by_host.items())[:_HOSTS]:
        shown = dict(list(pids.items())[:_PROCESSES])
        is_held = bool(finding.subjects) and {*shown} <= known.held
        is_silent = finding.first_anomaly.signature == SILENT and not is_held  # the sampler has been there
        form = words.HELD_THERE if is_held else advice.SILENT_THERE if is_silent else words.STACK_THERE
        target = form(who=ranks_text(shown), host=host, pids=_pids(shown))
        command = commands.stacks(host, list(shown.values()), known.around, is_held=is_held, is_silent=is_silent)
        one = Action(kind="collect_more", target=target, command=command, reason="")
        if is_silent and command:
            one = replace(one, look=advice.LOOK_AT_SILENT, then=advice.THEN_OF_SILENT, source=_BY_KERNEL)
        actions.append(one)
    return actions


def _pids(pids: Mapping[int, int]) -> Said:
    """The command has them all."""
    if len(pids) > _NAMED_PIDS:
        return words.PROCESSES(len(pids))
    shown = joined(map(str, pids.values()), ", ")
    return words.PID(pid=shown) if len(pids) == 1 else words.PIDS(pids=shown)


def _kernel_logs(finding: Finding, known: Known) -> list[Action]:
    """Of the hosts whose processes ended for a reason that is not recorded."""
    if finding.cause is not None:
        return []
    hosts = {place.host for place in known.places if place.rank in finding.subjects & known.dead and place.host}
    logs, why = [], words.SHOWS_WHETHER_KERNEL_ENDED_IT
    for host in sorted(hosts)[:_HOSTS]:
        command = commands.kernel_log(host, known.around)
        logs.append(Action(kind="collect_more", target=words.KERNEL_LOG(host=host), command=command, reason=why))
    return logs
