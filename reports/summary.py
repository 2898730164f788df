"""The verdict as rows of label and text: what terminal, Markdown, page and notebook all show first."""

from collections.abc import Callable
from typing import NamedTuple

from forensics.model.causes import CAUSES
from forensics.model.incident import Document, Evidence, Incident, Place, Verdict
from forensics.model.ref import Ref
from forensics.model.said import Form
from forensics.model.texts import ranks_text
from reports.answer import STOPPED, cause_of, code, has_decision, is_undecided, occupied, operation, some
from reports.layout import count, duration, plural, ranks_phrase, time_text
from reports.words import BAD_SCALE, DECISION, VALUE

_CHECKED = Form("{what} ({scope}): {result}", "{what}（{scope}）：{result}")
_FEW = 4  # suspects of whom it is told where they run
TENTH = 0.1  # of an hour: less shows as nothing


class Row(NamedTuple):
    label: str
    text: str


def primary(report: Document) -> Incident | None:
    """The incident that the report is about."""
    if 0 <= report.primary < len(report.incidents):
        return report.incidents[report.primary]
    return report.incidents[0] if report.incidents else None


def facts(incident: Incident) -> list[Row]:
    """What is known besides the sentence, in fixed order; a row without content is left out."""
    verdict = incident.verdict
    rows = [
        Row("may be" if is_undecided(verdict) else "cause", cause_text(verdict)),
        Row(operation_label(verdict), _operation(incident)),
        Row("was", _site(verdict)),
        Row("program", verdict.program or ""),  # several have ranks of these numbers
        Row("runs on", _runs_on(verdict)),
        Row("bad value", _value(verdict)),
        Row("finite until", verdict.first_anomaly.after or ""),
        Row("first anomaly", _first_anomaly(verdict)),
        Row("affected", _affected(incident)),
        Row("without it", incident.counterfactual.text if incident.counterfactual else ""),
        Row("progress", _progress(incident)),
        Row("decision", _decision(incident)),
        Row("unless", incident.decision.unless if _decision(incident) else ""),
        Row("suspects", suspects(verdict)),
    ]
    return [row for row in rows if row.text]


def operation_label(verdict: Verdict) -> str:
    """How the operation of the first anomaly is introduced."""
    return CAUSES[verdict.cause].operation if verdict.cause is not None else "operation"


def _decision(incident: Incident) -> str:
    told = incident.decision
    if not has_decision(incident):
        return ""
    hours = told.lost_gpu_hours or 0
    price = f"; the incident cost {hours:,.1f} rank hours" if hours >= TENTH / 2 else ""
    why = "" if any(action.reason == told.reason for action in incident.actions) else f": {told.reason}"
    return f"{DECISION[told.do]}{why}{price}"


def cause_text(verdict: Verdict) -> str:
    """The cause in words, where it adds to the sentence: whoever stopped the job stands there already, and a training log
    does not show that the inputs were finite."""
    if (verdict.first_anomaly.signature or "").startswith("bad_scale/"):
        return BAD_SCALE
    log_alone = verdict.cause in ("nan_birth", "overflow") and verdict.first_anomaly.module is None
    return cause_of(verdict) if verdict.cause not in STOPPED and not log_alone else ""


def evidence(incident: Incident, direction: str) -> list[Evidence]:
    """Evidence of one direction, in the order of the report."""
    return [item for item in incident.evidence if item.direction == direction]


def checked(incident: Incident, spoken: Callable[[str], str] = str) -> list[str]:
    """What was looked at and found clean, a line each: "kernel logs (3 of 4 hosts): no error of …"."""
    return [str(spoken(_CHECKED(what=one.what, scope=one.scope, result=one.result))) for one in incident.checked]


def place(ref: Ref) -> str:
    """ "file:line"."""
    return ref.file if ref.line is None else f"{ref.file}:{ref.line}"


def coverage(report: Document) -> list[str]:
    """The parts of the coverage strip; a verdict is never shown without it."""
    seen = report.coverage
    number = count(",".join(seen.ranks_seen))
    read = plural(number, "rank") if number else "ranks not named"
    parts = [f"{number:,} of {plural(seen.ranks_expected, 'rank')}" if seen.ranks_expected else read]
    parts += [plural(len(seen.hosts_seen), "host") if seen.hosts_seen else "hosts not named"]
    for name, source in seen.sources.items():
        ranks = count(",".join(source.ranks))
        errors = f", {plural(source.errors, 'error')}" if source.errors else ""
        what = plural(ranks, "rank") if ranks else plural(source.files, "file")
        parts.append(f"{name.replace('_', ' ')}: {what}{errors}")
    bound = seen.clock.skew_bound_s
    told = f"clock error ≤ {max((bound or 0) * 1000, 1):,.0f} ms"
    parts.append("clock error not known" if bound is None or bound != bound else told)
    if seen.lines.total:
        parts.append(f"{100 * seen.lines.unrecognised / seen.lines.total:.1f}% of lines not recognised")
    if seen.unreadable:
        parts.append(f"{len(seen.unreadable):,} unreadable")
    if seen.attempts > 1:
        parts.append(f"{seen.attempts} attempts")
    return parts


def missing(report: Document) -> str:
    """Ranks without a record, as a sentence; empty if there are none."""
    gone = report.coverage.ranks_missing
    return f"{ranks_phrase(','.join(gone))} left no record" if gone else ""


def nobody_missing(report: Document) -> str:
    """What may be said where no rank is known to be missing: all left a record only if the size of the job is known."""
    world = report.coverage.world
    if world.size is None:
        return "the number of ranks is not known, so others may have left no record"
    all_of = "the only one has a record" if world.size == 1 else f"{world.size:,} of {world.size:,} have records"
    return f"no rank ({all_of})"


def _runs_on(verdict: Verdict) -> str:
    """Host, process and device of the first few named ranks, or of the few suspects, as far as the bundle tells."""
    suspects = verdict.suspects.ranks if len(verdict.suspects.ranks) <= _FEW else ()
    named = {*verdict.ranks, *verdict.cycle} or {*suspects}
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


def suspects(verdict: Verdict) -> str:
    """Who must hold the rank at fault, in words; empty where nobody is suspected."""
    listed = verdict.suspects
    parts = []
    if listed.ranks:
        parts.append(("one of " if len(listed.ranks) > 1 else "") + ranks_text(listed.ranks))
    if listed.hosts:
        parts.append(("host " if len(listed.hosts) == 1 else "hosts ") + some(listed.hosts))
    numbers = [(one.pci if one.index is None else str(one.index), one.host) for one in listed.devices]
    parts += [f"GPU {number} of {host}" for number, host in numbers if number and host]
    return "; ".join(parts)


def _operation(incident: Incident) -> str:
    first = incident.verdict.first_anomaly
    text = operation(incident.verdict)
    if text and first.group_ranks:
        text += f" ({count(first.group_ranks):,} ranks)"
    if text and incident.verdict.kind == "hang" and incident.lost.stalled_s is not None:
        text += f"; stood still {duration(incident.lost.stalled_s)}"
    return text


def _site(verdict: Verdict) -> str:
    return ", ".join(part for part in (occupied(verdict) if verdict.site else "", code(verdict)) if part)


def _value(verdict: Verdict) -> str:
    first = verdict.first_anomaly
    if verdict.kind != "numerics" or first.value is None or (first.value == "finite" and not first.tensor):
        return ""
    parts = [
        " ".join(part for part in (VALUE.get(first.value, first.value), f"in {first.tensor}" if first.tensor else "",
                                   f"of {first.module}" if first.module else "") if part),
        first.op,
        first.phase,
        None if first.microbatch is None else f"micro-batch {first.microbatch}",
        None if first.chunk is None else f"chunk {first.chunk}",
    ]  # fmt: skip
    return ", ".join(part for part in parts if part)


def _first_anomaly(verdict: Verdict) -> str:
    first = verdict.first_anomaly
    parts = [
        None if first.time_utc is None else time_text(first.time_utc),
        None if first.step is None else f"step {first.step}",
        None if first.rank is None or first.rank in verdict.ranks else f"rank {first.rank}",
        first.host if first.host not in verdict.hosts else None,
    ]
    return ", ".join(part for part in parts if part)


def _affected(incident: Incident) -> str:
    blast = incident.blast_radius
    if not blast.ranks_waiting:
        return ""
    through = f" through {', '.join(blast.groups[:4])}" if blast.groups else ""
    more = f" and {len(blast.groups) - 4:,} more groups" if len(blast.groups) > 4 else ""
    if incident.verdict.kind == "crash":
        return f"{plural(blast.ranks_waiting, 'other rank')} ended after it"
    is_over = incident.has_ended and incident.verdict.kind in ("hang", "launch")
    wait = "waited" if is_over else "waits" if blast.ranks_waiting == 1 else "wait"
    after = ", and the run has ended" if is_over else ""
    return f"{plural(blast.ranks_waiting, 'rank')} {wait}{through}{more}{after}"


def _progress(incident: Incident) -> str:
    lost = incident.lost
    saved = {"checkpoint written": lost.last_saved_step, "checkpoint stored": lost.last_persisted_step}
    steps = {"completed": lost.last_completed_step, **saved}
    known = [f"{word} {step}" for word, step in steps.items() if step is not None]
    parts = [f"last step {', '.join(known)}"] if known else []
    if lost.checkpoint and lost.lost_steps is not None:
        parts.append(f"from {lost.checkpoint} on {plural(lost.lost_steps, 'step')} to do again")
    is_told = incident.verdict.kind == "hang" and operation(incident.verdict)
    if lost.stalled_s is not None and not is_told:
        parts.append(f"stalled for {duration(lost.stalled_s)}")
    return "; ".join(parts)
