"""The ledger in words: where the time went, attempt by attempt what was lost, and how often to save."""

from collections.abc import Sequence

from forensics.model.incident import Document
from forensics.model.ledger import AttemptRow, Interval, PhaseTime
from reports.layout import cut_middle, duration, plural
from reports.summary import TENTH, Row
from reports.words import CAUSE, KIND

SHOWN, NOTES = 6, 3  # attempts, and notes on checkpoints
_PHASE = {"pause": "longer than usual"}  # of steps, where nothing says why
_LINK = 100  # characters of one stage
HEADINGS = ("attempt", "ended by", "accused", "steps", "lost", "hosts", "time")


def facts(report: Document) -> list[Row]:
    """Rows for the terminal: of the newest attempt where the time went, of several what each ended by."""
    ledger = report.ledger
    rows = [Row("time", phases(ledger.attempts[-1].phases))] if ledger.attempts else []
    if len(ledger.attempts) > 1:
        shown = ledger.attempts[-SHOWN:]
        rows += [Row("attempts" if not number else "", _line(one)) for number, one in enumerate(shown)]
    return [row for row in (*rows, *totals(report)) if row.text]


def totals(report: Document) -> list[Row]:
    """What holds for all attempts together."""
    ledger = report.ledger
    rows = [Row("recovery", chained(one)) for one in ledger.attempts[-SHOWN:]]
    rows += [Row("goodput", kept(report)), Row("save every", advice(ledger.interval))]
    rows += [Row("step time", text) for text in ledger.pace]
    return [row for row in (*rows, *(Row("checkpoint", note) for note in ledger.notes[:NOTES])) if row.text]


def table(attempts: Sequence[AttemptRow]) -> list[tuple[str, ...]]:
    """A row per attempt, under HEADINGS."""
    return [(str(one.attempt), *_cells(one), phases(one.phases)) for one in attempts]


def _cells(one: AttemptRow) -> tuple[str, ...]:
    return ended_by(one), ", ".join(one.accused), _steps(one), _lost(one), _hosts(one)


def ended_by(one: AttemptRow) -> str:
    """The cause in words; a planned end is told as such."""
    cause = CAUSE[one.cause] if one.cause else KIND[one.kind].lower()
    return f"{cause} (no fault)" if one.planned else cause


def phases(times: Sequence[PhaseTime]) -> str:
    """ "launch 17 min 27 s, training 20.0 s"; nothing where training is all that is known."""
    return ", ".join(f"{_PHASE.get(one.phase, one.phase)} {duration(one.seconds)}" for one in told_phases(times))


def told_phases(times: Sequence[PhaseTime]) -> list[PhaseTime]:
    """Those worth a word; none where training is all that is known."""
    told = [one for one in times if one.seconds >= 0.05]
    return told if len(told) > 1 else []


def kept(report: Document) -> str:
    """What of the time was training whose result was kept."""
    ledger = report.ledger
    if ledger.wall_s is None or ledger.effective_s is None or ledger.wall_s <= 0:
        return ""
    share = 100 * ledger.effective_s / ledger.wall_s
    lost = sorted(((hours, name) for name, hours in ledger.lost_gpu_hours.items() if hours >= TENTH / 2), reverse=True)
    by = "; lost rank hours: " + ", ".join(f"{hours:,.1f} ({_named(name)})" for hours, name in lost) if lost else ""
    return f"{duration(ledger.effective_s)} of {duration(ledger.wall_s)} ({share:.0f}%){by}"


def _named(name: str) -> str:
    """A cause, or a kind where no cause is known, in words."""
    words: dict[str, str] = {str(kind): text.lower() for kind, text in KIND.items()}
    words.update((str(cause), text) for cause, text in CAUSE.items())
    return words.get(name, name)


def advice(interval: Interval | None) -> str:
    """Daly's interval, and what it rests on."""
    if interval is None:
        return ""
    steps = f" ({plural(interval.steps, 'step')})" if interval.steps else ""
    now = f"; the job saves every {plural(interval.now_steps, 'step')}" if interval.now_steps else ""
    return (
        f"{duration(interval.daly_s)}{steps} by Daly, {duration(interval.young_s)} by Young: {plural(interval.failures, 'failure')}, one in "
        f"{duration(interval.between_failures_s)}, a checkpoint costs {duration(interval.save_s)}{now}"
    )


def chained(one: AttemptRow) -> str:
    """ "attempt 0: failed (out of memory, rank 3) → saved (step 15 saved) → relaunched (worker-8 in place of worker-3)"."""
    ended = ", ".join((ended_by(one), *one.accused))
    told = [(link.stage, ended if link.stage == "failed" else link.text) for link in one.chain]
    links = " → ".join(f"{stage} ({cut_middle(' '.join(text.split()), _LINK)})" for stage, text in told)
    return f"attempt {one.attempt}: {links}" if links else ""


def _line(one: AttemptRow) -> str:
    return f"attempt {one.attempt}: {'; '.join(filter(None, _cells(one)))}"


def _steps(one: AttemptRow) -> str:
    return "" if one.first_step is None else f"steps {one.first_step}-{one.last_step}"


def _lost(one: AttemptRow) -> str:
    parts = [plural(one.lost_steps, "step")] if one.lost_steps else []
    parts += [duration(one.lost_s)] if one.lost_s else []
    return f"lost {', '.join(parts)}" if parts else ""


def _hosts(one: AttemptRow) -> str:
    new = [host for host in one.hosts_joined if host not in one.hosts_returned]
    parts = [
        f"{', '.join(new)} joined as new" if new else "",
        f"{', '.join(one.hosts_returned)} returned" if one.hosts_returned else "",
        f"{', '.join(one.hosts_left)} left" if one.hosts_left else "",
        "processes restarted on the same hosts" if one.restarted == "processes" else "",
    ]
    return ", ".join(part for part in parts if part)
