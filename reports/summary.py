"""The verdict as rows of label and text: what terminal, Markdown, page and notebook all show first."""

from collections.abc import Sequence
from typing import NamedTuple

from forensics.model.incident import Action, Device, Evidence, Incident, Place, Report, Verdict
from forensics.model.ref import Ref
from forensics.model.texts import ranges
from reports.layout import count, duration, ranks_phrase
from reports.words import CAUSE, KIND, REASON, SITE


class Row(NamedTuple):
    label: str
    text: str


class Headline(NamedTuple):
    kind: str
    subject: str
    where: str  # host and device, may be empty
    status: str


# How the first anomaly is introduced; for the rest "at" says enough.
_ANOMALY_LABEL = {
    "rank_absent": "never entered",
    "collective_mismatch": "differs in",
    "kernel_stuck": "stuck in",
    "deadlock_cycle": "waiting in",
    "rank_died": "missed in",
}


def primary(report: Report) -> Incident | None:
    """The incident that the report is about."""
    if 0 <= report.primary < len(report.incidents):
        return report.incidents[report.primary]
    return report.incidents[0] if report.incidents else None


def is_named(verdict: Verdict) -> bool:
    """Does the verdict name somebody or something, rather than list suspects?"""
    return bool(verdict.ranks or verdict.hosts or verdict.devices or verdict.links or verdict.cycle)


def is_undecided(verdict: Verdict) -> bool:
    """Undecided is an answer of its own: what is known, what remains, what to collect."""
    return verdict.kind == "unknown" or (
        verdict.kind != "healthy" and not is_named(verdict) and bool(verdict.undecided)
    )


def headline(incident: Incident) -> Headline:
    """One line: kind, who, where, status word."""
    verdict = incident.verdict
    return Headline(KIND[verdict.kind], _subject(verdict), _where(verdict), verdict.status)


def facts(incident: Incident) -> list[Row]:
    """The rows under the headline, in fixed order; a row without content is left out."""
    verdict = incident.verdict
    operation = _operation(incident)
    label = _ANOMALY_LABEL.get(verdict.cause or "")  # says the cause where there is an operation
    rows = [
        Row("what", verdict.summary),
        Row("cause", CAUSE[verdict.cause] if verdict.cause and not (label and operation) else ""),
        Row(label or "operation", operation),
        Row("where it is", _site(verdict)),
        Row("runs on", _runs_on(verdict)),
        Row("bad value", _value(verdict)),
        Row("clean until", verdict.first_anomaly.after or ""),
        Row("first anomaly", _first_anomaly(verdict)),
        Row("blast radius", _blast(incident)),
        Row("lost", _lost(incident)),
        Row("decision", _decision(incident)),
        Row("suspects", _suspects(verdict) if is_named(verdict) else ""),
        Row("cannot tell", "; ".join(REASON[reason] for reason in verdict.undecided)),
    ]
    return [row for row in rows if row.text]


def _decision(incident: Incident) -> str:
    told = incident.decision
    price = f"; the stall cost {told.lost_gpu_hours:,.1f} GPU hours" if told.lost_gpu_hours else ""
    return f"{told.do}: {told.reason}{price}" if told.do != "cannot_tell" else ""


def evidence(incident: Incident, direction: str) -> list[Evidence]:
    """Evidence of one direction, in the order of the report."""
    return [item for item in incident.evidence if item.direction == direction]


def place(ref: Ref) -> str:
    """ "file:line"."""
    return ref.file if ref.line is None else f"{ref.file}:{ref.line}"


def commands(incident: Incident) -> list[Action]:
    """What to do: as the report orders it, but where nothing is decided, collecting comes first."""
    if is_undecided(incident.verdict):
        return sorted(incident.actions, key=lambda action: action.kind != "collect_more")
    return list(incident.actions)


def coverage(report: Report) -> list[str]:
    """The parts of the coverage strip; a verdict is never shown without it."""
    seen = report.coverage
    seen_count = _total(seen.ranks_seen)
    parts = [
        f"{seen_count:,}/{seen.ranks_expected:,} ranks seen" if seen.ranks_expected else f"{seen_count:,} ranks seen",
        f"{len(seen.hosts_seen):,} {'host' if len(seen.hosts_seen) == 1 else 'hosts'}",
    ]
    for name, source in seen.sources.items():
        words = name.replace("_", " ")
        ranks = _total(source.ranks)
        errors = f", {source.errors:,} {'error' if source.errors == 1 else 'errors'}" if source.errors else ""
        parts.append(f"{words}: {ranks:,} ranks{errors}" if ranks else f"{words}: {source.files:,} files{errors}")
    bound = seen.clock.skew_bound_s
    parts.append("clock error unknown" if bound is None or bound != bound else f"clock error ≤ {bound * 1000:,.0f} ms")
    if seen.lines.total:
        parts.append(f"{100 * seen.lines.unrecognised / seen.lines.total:.1f}% of lines unrecognised")
    if seen.unreadable:
        parts.append(f"{len(seen.unreadable):,} unreadable")
    if seen.attempts > 1:
        parts.append(f"{seen.attempts} attempts")
    return parts


def missing(report: Report) -> str:
    """Ranks without a record, as a sentence; empty if there are none."""
    gone = report.coverage.ranks_missing
    return f"{ranks_phrase(','.join(gone))} left no record" if gone else ""


def nobody_missing(report: Report) -> str:
    """What may be said where no rank is known to be missing: all left a record only if the size of the job is known."""
    world = report.coverage.world
    if world.size is None:
        return "how many ranks the job has is not known, so others may have left no record"
    return f"all {world.size:,} ranks left a record"


def _total(parts: Sequence[str]) -> int:
    return count(",".join(parts))


def _subject(verdict: Verdict) -> str:
    if verdict.kind == "healthy":
        return "nothing to do"
    if verdict.ranks:
        return ranks_phrase(ranges(verdict.ranks), 4)
    if verdict.cycle:
        return f"{ranks_phrase(ranges(verdict.cycle), 4)} wait in a circle"
    if verdict.links:
        return "link " + ", ".join(" ↔ ".join(str(end) for end in link) for link in verdict.links[:3])
    if verdict.devices:
        return "device " + ", ".join(_device(device) for device in verdict.devices[:3])
    if verdict.hosts:
        return ("host " if len(verdict.hosts) == 1 else "hosts ") + _some(verdict.hosts, 4)
    suspects = _suspects(verdict)
    if suspects:
        return f"undecided: {suspects}"
    return "cannot tell" if is_undecided(verdict) else (CAUSE[verdict.cause] if verdict.cause else "no single culprit")


def _where(verdict: Verdict) -> str:
    if not verdict.ranks or len(verdict.ranks) > 4:
        return ""
    if verdict.devices:
        return _some([_device(device) for device in verdict.devices], 2)
    return _some(verdict.hosts, 3)


def _runs_on(verdict: Verdict) -> str:
    """Host, process and device of the first few named ranks, as far as the bundle tells."""
    named = {*verdict.ranks, *verdict.cycle}
    told = [(place, text) for place in verdict.places if place.rank in named and (text := _place(place))]
    many = len(named) > 1
    return "; ".join(f"rank {one.rank}: {text}" if many else text for one, text in told[:4])


def _place(place: Place) -> str:
    device = place.device
    parts = [
        place.host,
        None if place.pid is None else f"pid {place.pid}",
        None if place.local_rank is None else f"local rank {place.local_rank}",
        None if device.index is None else f"GPU {device.index}",
        device.pci or device.uuid,
    ]
    known = [part for part in parts if part]
    return ", ".join(known) if known != [place.host] else ""


def _device(device: Device) -> str:
    parts = [device.host, None if device.index is None else f"gpu{device.index}", device.pci or device.uuid]
    return " ".join(part for part in parts if part) or "unnamed device"


def _some(names: Sequence[str], limit: int) -> str:
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f", … ({len(names):,} in all)" if rest > 0 else "")


def _suspects(verdict: Verdict) -> str:
    suspects = verdict.suspects
    parts = []
    if suspects.ranks:
        many = len(suspects.ranks) > 1
        parts.append(("one of " if many else "suspect ") + ranks_phrase(ranges(suspects.ranks), 4))
    if suspects.hosts:
        parts.append(("host " if len(suspects.hosts) == 1 else "hosts ") + _some(suspects.hosts, 4))
    return "; ".join(parts)


def _operation(incident: Incident) -> str:
    first = incident.verdict.first_anomaly
    if not (first.group or first.seq is not None or (first.op and incident.verdict.kind == "hang")):
        return ""
    text = first.op or "operation"
    if first.seq is not None:
        text += f" seq {first.seq}"
    if first.group:
        text += f" on group {first.group}"
    if first.group_ranks:
        text += f" ({count(first.group_ranks):,} ranks)"
    if incident.verdict.kind == "hang" and incident.lost.stalled_s is not None:
        text += f"; waited {duration(incident.lost.stalled_s)}"
    return text


def _site(verdict: Verdict) -> str:
    parts = [SITE[verdict.site]] if verdict.site else []
    code = verdict.code
    if code:
        position = code.file or ""
        if code.file and code.line is not None:
            position += f":{code.line}"
        parts += [part for part in (code.function, position) if part]
    return " · ".join(parts)


def _value(verdict: Verdict) -> str:
    first = verdict.first_anomaly
    if verdict.kind != "numerics":
        return ""
    parts = [
        first.value,
        f"in {first.tensor}" if first.tensor else None,
        f"of {first.module}" if first.module else None,
        f"({first.op})" if first.op and not (first.group or first.seq is not None) else None,
        first.phase,
        None if first.microbatch is None else f"micro-batch {first.microbatch}",
        None if first.chunk is None else f"chunk {first.chunk}",
    ]
    value = " ".join(part for part in parts[:4] if part)
    return " · ".join(part for part in (value, *parts[4:]) if part)


def _first_anomaly(verdict: Verdict) -> str:
    first = verdict.first_anomaly
    parts = [
        first.time_utc,
        first.signature,
        None if first.step is None else f"step {first.step}",
        None if first.rank is None or first.rank in verdict.ranks else f"rank {first.rank}",
        first.host if first.host not in verdict.hosts else None,
        first.device if first.device not in [device.pci for device in verdict.devices] else None,
    ]
    return " · ".join(part for part in parts if part)


def _blast(incident: Incident) -> str:
    blast = incident.blast_radius
    if not blast.ranks_waiting:
        return ""
    through = f" through {' → '.join(blast.groups[:4])}" if blast.groups else ""
    more = f" and {len(blast.groups) - 4:,} more groups" if len(blast.groups) > 4 else ""
    return f"{blast.ranks_waiting:,} {'rank waits' if blast.ranks_waiting == 1 else 'ranks wait'} on it{through}{more}"


def _lost(incident: Incident) -> str:
    lost = incident.lost
    steps = [
        (lost.last_completed_step, "completed"),
        (lost.last_saved_step, "saved"),
        (lost.last_persisted_step, "persisted"),
    ]
    known = [f"{step} {word}" for step, word in steps if step is not None]
    parts = [f"last step {', '.join(known)}"] if known else []
    is_told = incident.verdict.kind == "hang" and _operation(incident)
    if lost.stalled_s is not None and not is_told:
        parts.append(f"stalled {duration(lost.stalled_s)}")
    return " · ".join(parts)
