"""Actions by the runbook of their cause: each gets its command, what to look for and what to do then; steps that no detector asks for
follow, where their command can be built.

A step is a row of data (model/causes/); here is only which facts the bundle shows, and what commands are built from.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from forensics.facts.ends.gpu_memory import filled
from forensics.facts.ends.storage_errors import path_of
from forensics.facts.ends.whose_memory import holder_in
from forensics.model.causes import CAUSES
from forensics.model.causes.shared import GATHER, HELD, LEFT, NEXT_RUN, STACK
from forensics.model.commands import COMMANDS, HERE, PODS, Surroundings, Target
from forensics.model.finding import Finding
from forensics.model.incident import Action, Place
from forensics.model.names import ActionKind, EvidenceKind, Site
from forensics.model.runbook import Fact, Step
from forensics.model.said import Said
from forensics.model.texts import AT_A_PIPE
from forensics.words import verdict as words
from parsers.catalogues import advice

_AT = re.compile(r"(.+):(\d+)")
_SITES: Mapping[Site | None, Fact] = {
    "data_loading": "loading", "lock": "lock", "storage_io": "storage", "checkpoint_io": "storage",
}  # fmt: skip
_ADVICE: dict[str | None, Fact] = {
    "reset_gpu": "reset", "reboot_node": "reboot", "drain_and_rma": "repair", "repair": "repair",
}  # fmt: skip
_SORTS: tuple[Fact, ...] = ("infiniband", "ethernet", "efa")
_UNMADE: tuple[Fact, ...] = ("no_route", "no_host", "timed_out")
# What is done at a host: where nobody tells its name, whoever has the job knows where its one rank ran.
LOOKS: tuple[ActionKind, ...] = ("inspect_hardware", "inspect_network", "check_code", "check_data", "check_config")
_OUTLIVES: tuple[EvidenceKind, ...] = ("log", "kernel", "launcher", "settings", "core")  # whom it tells of


class Scene(NamedTuple):
    """What is known of the subjects: their places, which of them have ended (the whole run, if `has_ended`), the checkpoint to go
    on from, what reaches their hosts, the GPU that it is about. `host_of`: the host that an action is about; of none, the only one
    that the finding is about."""

    places: Sequence[Place]
    ended: frozenset[int]
    has_ended: bool
    checkpoint: str | None
    around: Surroundings
    gpu: int | None
    has_records: bool  # flight records are there
    host_of: Callable[[Action | None], str | None]
    told_ended: frozenset[int] = frozenset()  # of `ended`, those of which a line says so
    is_alone: bool = False  # other ranks of its host are as fast as any
    held: frozenset[int] = frozenset()  # whose processes are stopped
    has_host: bool = False  # a host of the subjects is told


def followed(
    actions: Iterable[Action], finding: Finding, scene: Scene, beside: Collection[Action], is_sure: bool
) -> list[Action]:
    """The actions, each with its step, and the steps of the runbook that nobody asks for. `beside`: actions that are of no cause.
    Where it is not sure who or why, only what collects follows."""
    own = CAUSES[finding.cause].runbook if finding.cause is not None else (HELD, STACK, NEXT_RUN)
    # What a process takes along is gathered while the job is there; settings come in time for the next run alone.
    book = tuple(chain.from_iterable((GATHER, LEFT, step) if step is NEXT_RUN else (step,) for step in own))
    done: list[Action] = []
    used: list[Step] = []
    for action in actions:
        step = None if action in beside else _step_of(action, book, finding, scene)
        if step is not None and step not in (GATHER, LEFT, NEXT_RUN):
            used.append(step)
        is_again = step is GATHER and any(other.source == GATHER.source for other in done)  # one script gathers all
        one = action if step is None or is_again else _by(action, step, finding, scene)
        if one.command is None or (one.kind, one.command) not in {(other.kind, other.command) for other in done}:
            done.append(one)  # once is enough
    known = {action.command for action in done}
    for step in book:
        may = step.what is not None and step not in used and (is_sure or step.do == "collect_more")
        if not may or (command := _command(step, finding, scene, None)) in (None, *known):
            continue
        one = Action(kind=step.do, target=step.what or "", command=command, reason="")
        done.append(with_look(one, step))
        known.add(command)
    return _saved_first(done, book)


def _saved_first(done: list[Action], book: Iterable[Step]) -> list[Action]:
    """What reads evidence stands before the first step that takes evidence away, or leads to what does."""
    destroying = {step.source for step in book if step.destroys}
    at = next((number for number, one in enumerate(done) if one.source in destroying), len(done))
    saving = [one for one in done[at:] if one.kind == "collect_more" and one.command and one.source != NEXT_RUN.source]
    return [*done[:at], *saving, *(one for one in done[at:] if one not in saving)]


def _step_of(action: Action, book: Iterable[Step], finding: Finding, scene: Scene) -> Step | None:
    """The first step of its kind that can be done; of what collects, the first that gives what is asked for."""
    for step in book:
        if step.do != action.kind:
            continue
        if step.command is None and action.look:
            continue  # who advises it says what to look for
        command = _command(step, finding, scene, action)
        if action.command is not None and step.command is not None and command != action.command:
            continue
        if step.command is None and not {*step.needs} <= _facts(_target(step, finding, scene, action), finding, scene):
            continue
        if step.command is None and step.gives and not (action.command and {*step.gives} & {*action.setup}):
            continue
        if step is GATHER and "core" in action.setup:
            continue  # whoever crashed is gone, and leaves that
        if step.do == "collect_more" and action.command is None:
            gives = bool({*step.gives} & {*action.setup})
            wanted = step is NEXT_RUN or (gives and "alive" not in step.needs)
            if not (wanted and command):
                continue
        if step.command is None or command is not None:
            return step
    return None


def _by(action: Action, step: Step, finding: Finding, scene: Scene) -> Action:
    command = action.command or _command(step, finding, scene, action)
    is_there = command != action.command and _host(step, finding, scene, action) == HERE != scene.host_of(action)
    if is_there and "host" in step.needs and step.command != "load":
        action = replace(action, target=words.AT_ITS_HOST(what=action.target))
    if step.command == "load" and command is not None and not scene.is_alone:
        action = replace(action, target=words.LOAD_OF(who=action.target))
    if action.command is None and step in (GATHER, LEFT, NEXT_RUN):
        action = replace(action, target=_when(action, step))
    return with_look(replace(action, command=command), step)


def with_look(action: Action, step: Step) -> Action:
    """With what to look for, what to do then, and who says so."""
    return replace(action, look=step.look, then=step.then, source=step.source)


def _when(action: Action, step: Step) -> Said:
    """What to collect, and when: now, while it is there; what is left of it; or in the next run."""
    if step is GATHER:
        return words.BEFORE_IT_ENDS(what=action.target)
    if step is LEFT:
        return words.BEFORE_IT_IS_LOST(what=action.target)
    is_left = {*action.setup} <= {*_OUTLIVES}
    return (words.WHAT_IS_LEFT if is_left else words.IN_NEXT_RUN)(what=action.target)


def _command(step: Step, finding: Finding, scene: Scene, action: Action | None) -> str | None:
    """Built from what is known, or not at all."""
    at = _target(step, finding, scene, action)
    if step.command is None or not {*step.needs} <= _facts(at, finding, scene):
        return None
    return COMMANDS[step.command](at)


def _host(step: Step, finding: Finding, scene: Scene, action: Action | None) -> str | None:
    """The host in question; HERE where it is that of one named rank, and nobody tells its name."""
    host = scene.host_of(action)
    is_open = host is None and action is not None and len(finding.ranks) == 1 and not scene.has_host
    return HERE if is_open and step.do in LOOKS else host


def _target(step: Step, finding: Finding, scene: Scene, action: Action | None) -> Target:
    of_alive, host = "alive" in step.needs, _host(step, finding, scene, action)
    pids = [place.pid for place in scene.places if place.rank in finding.subjects and place.pid and place.host == scene.host_of(action)
            and (place.rank in scene.ended) != of_alive]  # fmt: skip
    named = _AT.fullmatch(action.target) if action is not None else None
    code = finding.code
    file, line = (named[1], int(named[2])) if named else (code.file, code.line) if code else (None, None)
    pci = {device.pci for device in finding.devices if device.pci}
    asks = action.setup if action is not None else ()
    return Target(
        host, tuple(pids), scene.gpu, pci.pop() if len(pci) == 1 else None, file, line, scene.checkpoint, asks, scene.around, path_of(finding),
    )  # fmt: skip


def fills_its_device(finding: Finding, pids: Collection[int]) -> bool:
    """Does the line that it cites first say that the process that ran out of memory held nearly all of it?"""
    refs = finding.claims[0].refs if finding.cause == "gpu_oom" and finding.claims else ()
    held = filled(refs[0].text, pids) if refs else None
    return held is not None and held.is_own


def is_at_pipe(finding: Finding) -> bool:
    """Does a stack that it cites stand where the kernel waits for the other end of a pipe?"""
    refs = (ref for claim in finding.claims if claim.direction == "for" for ref in claim.refs)
    return finding.site == "storage_io" and any(AT_A_PIPE.match(ref.text) for ref in refs)


def _facts(at: Target, finding: Finding, scene: Scene) -> set[Fact]:
    """Which facts the bundle shows."""
    code = (finding.first_anomaly.signature or "").removeprefix("device:")
    is_gone = scene.has_ended or bool(finding.subjects and finding.subjects <= scene.ended)
    holder = holder_in(finding)
    is_refused = finding.first_anomaly.signature == "connect:refused"
    unmade = (finding.first_anomaly.signature or "").removeprefix("connect:")
    shown: dict[Fact, object] = {
        "host": at.host, "pid": at.pids, "gpu": at.gpu is not None, "pci": at.pci, "code": at.file, "no_code": not at.file, "no_records": not scene.has_records,
        "checkpoint": at.checkpoint, "job": at.around.job, "pod": at.around.launcher in PODS and at.around.pod(at.host),
        "gone": is_gone, "alive": not is_gone, "running": not scene.has_ended,
        "place": at.host or at.path, "ray": holder == "ray", "stands": not scene.has_ended and finding.subjects and not finding.subjects & scene.told_ended, "alone": scene.is_alone, "not_alone": not scene.is_alone, "refused": is_refused, "not_refused": not is_refused, "by_kernel": holder != "ray", "shared": holder == "shared",
        "rebooted": finding.first_anomaly.signature == "node_failure", "nvidia": at.around.vendor == "nvidia", "fabric": code.startswith("sxid:"),
        "over": scene.has_ended, "held": finding.subjects and finding.subjects <= scene.held,
        "not_own": not fills_its_device(finding, at.pids), "pipe": is_at_pipe(finding), "visible": _ADVICE.get(advice(code)) != "reboot",
    }  # fmt: skip
    facts = {name for name, value in shown.items() if value}
    facts |= {sort for sort in _SORTS if sort == at.around.link} | {why for why in _UNMADE if why == unmade}
    return facts | {fact for fact in (_ADVICE.get(advice(code)), _SITES.get(finding.site)) if fact}
