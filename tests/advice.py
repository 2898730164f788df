"""What may be advised: nothing against the evidence, and no tool that the bundle does not show to be there."""

import re
from collections.abc import Iterator

from forensics.model.incident import Action, Incident
from forensics.report import Report
from forensics.words.verdict import NO_LASTING_FAULT
from parsers.catalogues import is_of_program

# Words of drivers, kernels and libraries for what a new start does not mend.
_LASTS = re.compile(
    r"(?i)\becc\b|\bxid\b|\bsxid\b|\beid\b|\b(?:went|going|is|link) down\b|lost carrier|fell off|fallen off|lost from (?:the )?bus"
    r"|needs? (?:to be )?(?:reset|restart|reboot|repair)|no space left|out of memory|segfault|sigsegv|poison|card not present"
)
_SCHEDULERS = {
    "scontrol": {"slurm", "sacct"},
    "srun": {"slurm", "sacct"},
    "kubectl": {"kubernetes", "pod_description", "dlrover"},
}
_TAKES_DOWN = re.compile(r"\bdelete\b|\brequeue\b|\breset\b|\breboot\b|\bkill\b")

# Commands, or what a step leads to, after which these find nothing.
_TAKES_AWAY = re.compile(r"\bdelete\b|\brequeue\b|--gpu-reset|\breboot\b|power-cycle")
_READS = re.compile(r"dmesg|journalctl|bug-report|py-spy|kubectl (?:logs|describe)|--gather|lspci")


def against_the_evidence(report: Report) -> list[str]:
    """What the report advises and should not, in words; empty where all is well."""
    parsers = {name for row in report.files for name in row.parsers}
    return [why for incident in report.incidents for why in _of(incident, parsers)]


def _of(incident: Incident, parsers: set[str]) -> Iterator[str]:
    advised = [incident.decision.reason, *(action.reason for action in incident.actions)]
    if any(NO_LASTING_FAULT in text for text in advised):
        shown = [text for text in _shown(incident) if _LASTS.search(text)]
        if shown:
            yield f"no lasting fault beside: {shown[0][:200]}"
        if incident.verdict.cause not in ("preempted", "time_limit"):
            yield f"no lasting fault after {incident.verdict.cause}"
    commands = [action.command for action in incident.actions]
    code = (incident.verdict.first_anomaly.signature or "").removeprefix("device:")
    if is_of_program(code) and any(action.kind == "drain_node" for action in incident.actions):
        yield f"a host leaves service for what a program did: {code}"
    if commands and commands[0] and _TAKES_DOWN.search(commands[0]):
        yield f"something is taken down first: {commands[0]}"
    yield from _of_words(incident)
    groups = {library for text in _shown(incident) for library in re.findall(r"ProcessGroup([NMH]CCL)", text)}
    taking = next(
        (at for at, one in enumerate(incident.actions) if _TAKES_AWAY.search(f"{one.command} {one.then}")), None
    )
    for action in incident.actions[taking + 1 :] if taking is not None else ():
        if action.kind == "collect_more" and _READS.search(action.command or ""):
            yield f"evidence is read after what may take it away: {action.command}"
    for action in incident.actions:
        if (action.command or "").startswith("forensics setup ") and not _says_when(action):
            yield f"a setting of the next run as if it were to be collected now: {action.target}"
    for command in filter(None, commands):
        of = set(re.findall(r"\bTORCH_([NMH]CCL)_", command))
        if groups and of - groups:
            yield f"settings of another library than {', '.join(sorted(groups))}: {command}"
        for tool, whose in _SCHEDULERS.items():
            if re.search(rf"\b{tool}\b", command) and not whose & parsers:
                yield f"no line of its scheduler: {command}"
        there = re.match(r"ssh (?:-t )?(\S+) ", command)
        if there and (there[1].startswith("127.") or there[1] == "localhost"):
            yield f"a host that is everywhere: {command}"


def _of_words(incident: Incident) -> Iterator[str]:
    """What sentences claim of inputs, data, states and hosts, against what the incident itself shows."""
    shown, verdict = " ".join(_shown(incident)), incident.verdict
    reasons = [action.reason for action in incident.actions]
    if "its input is masked" in shown and any("from finite inputs" in why for why in reasons):
        yield "finite inputs beside masked ones"
    if any("had it clean" in why for why in reasons) and any(one.kind == "skip_data" for one in incident.actions):
        yield "data are skipped that others had clean"
    for action in incident.actions:
        if action.kind == "rollback" and "before step 0" in action.target:
            yield "a state before the first step"
        if "ip -s link" in (action.command or "") and "onnection refused" in shown and verdict.kind == "launch":
            yield "a link is read where the other end refused"
    if "named above" in incident.decision.unless and not verdict.hosts:
        yield "a host is left out, and none is named"


def _says_when(action: Action) -> bool:
    """Does the sentence of the step say that its command is for now, or for the next run?"""
    is_now = "--gather" in (action.command or "") and re.search(
        r"before (?:anything is stopped|it is overwritten)", action.target
    )
    return bool(is_now) or any(words in action.target for words in ("next run", "the next time"))


def _shown(incident: Incident) -> Iterator[str]:
    """Claims, the lines that they quote, and the records of hardware."""
    yield incident.verdict.summary
    for item in incident.evidence:
        if item.direction == "for":
            yield item.claim
            yield from (ref.text for ref in item.refs)
    yield from (row.text for row in incident.views.hardware)
