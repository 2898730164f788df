"""A loss that grows for good is no spike of one batch: after it rose it rises on, line after line, and never comes back.

Then the update is too large for the model: its rate, its warm-up, its clipping. Nor is one that stands at a higher level line after line: as many
batches are not bad alike, and what the run was set to or went on with is looked at first. Where it ends with a few lines, both remain possible.
"""

from itertools import pairwise
from typing import NamedTuple

from forensics.case import Case
from forensics.detectors.numerics.loss_lines import Row, first_nan, line_ref, streams_of
from forensics.facts.figures.loss_spikes import Spike, finite_lines, spikes
from forensics.model.finding import Claim
from forensics.model.incident import Action
from forensics.model.said import sentence
from forensics.model.texts import ranks_text
from forensics.words import advice as words

_RISES = 2  # lines in a row after the first that are higher each than the one before
_GROWN = 10.0  # times the first high loss: no batch makes that of the next ones, too
_STANDS = 5  # high lines to the end
_FALLS = 2  # times that the loss scale fell meanwhile
_NEAR = 3  # lines between the rises of ranks that are alike


class Divergence(NamedTuple):
    claims: tuple[Claim, ...]
    text: str
    actions: tuple[Action, ...]


def diverged(case: Case, last: Spike) -> Divergence | None:
    """Did the training that this spike is of only get worse from then on?"""
    streams = [rows for rows in streams_of(case.tables["steps"]) if rows]
    own = next((rows for rows in streams if any(_is_same(row, last.outlier) for row in rows)), None)
    if own is None or last.calm is not None or (end := _end(own, last.outlier)) is None:
        return None
    step = last.onset["step"]
    ranks = sorted(
        {rows[0]["rank"] for rows in streams if rows[0]["rank"] is not None and _grows_too(case, rows, last)}
    )
    alike = words.ON_ALL_ALIKE(who=ranks_text(ranks)) if len(ranks) > 1 else ""
    claims = [Claim(words.DIVERGED_TO(loss=f"{end['loss']:.4g}", step=end["step"]), "for", (line_ref(end),))]
    bad = first_nan(own)
    if bad is not None and own.index(bad.row) > own.index(end):
        claims.append(Claim(words.NAN_FROM(step=bad.row["step"]), "for", (line_ref(bad.row),)))
    reason = words.GROWS_FOR_GOOD(step=step, alike=alike) if step is not None else words.GROWS_IN_NO_STEP
    rate = last.outlier["learning_rate"]
    check = Action(
        kind="check_config", target=words.RATE_WARMUP_CLIPPING, command=None,
        reason=reason if rate is None else words.AT_RATE(what=reason, rate=f"{rate:g}"),
        look=words.LOOK_AT_RATE, then=words.THEN_OF_RATE, source="Zhang et al. 2022 (OPT), logbook",
    )  # fmt: skip
    return Divergence(tuple(claims), sentence(*(one.text for one in claims)), (check,))


def stayed(last: Spike) -> Divergence | None:
    """Did the loss stay where this spike took it, to the end and for more lines than one batch explains?"""
    first, end = last.outlier["step"], last.high[-1]["step"] if last.high else None
    if last.calm is not None or len(last.high) < _STANDS or first is None or end is None:
        return None
    claims = [Claim(words.STAYED_HIGH(number=len(last.high), first=first, last=end), "for", (line_ref(last.high[-1]),))]
    scales = [row["loss_scale"] for row in last.high if row["loss_scale"] is not None]
    if sum(low < high for high, low in pairwise(scales)) >= _FALLS:
        text = words.SCALE_FELL_THERE(first=f"{scales[0]:,.0f}", last=f"{min(scales):,.0f}")
        claims.append(Claim(text, "for", (line_ref(last.high[-1]),)))
    check = Action(
        kind="check_code", target=words.WHAT_CHANGED_BEFORE(step=last.first_step), command=None,
        reason=words.NO_ONE_BATCH, look=words.LOOK_AT_CHANGE, then=words.THEN_OF_CHANGE, source="BigScience, chronicles of tr8b",
    )  # fmt: skip
    return Divergence(tuple(claims), sentence(*(one.text for one in claims)), (check,))


def _end(rows: list[Row], outlier: Row) -> Row | None:
    """The highest loss of a training that only grew from its first high one on."""
    finite = finite_lines(rows)
    at = next((number for number, row in enumerate(finite) if _is_same(row, outlier)), None)
    if at is None:
        return None
    later = [row["loss"] for row in finite[at:]]
    rises = next((n for n, (one, other) in enumerate(pairwise(later)) if other <= one), len(later) - 1)
    if rises < _RISES or max(later) < _GROWN * later[0] or later[-1] < _GROWN * later[0]:
        return None
    return finite[at + later.index(max(later))]


def _grows_too(case: Case, rows: list[Row], last: Spike) -> bool:
    own = [*spikes(rows, case.tolerances.loss)]
    if not own or _end(rows, own[-1].outlier) is None:
        return False
    here, there = own[-1].onset["step"], last.onset["step"]
    return here is None or there is None or abs(here - there) <= _NEAR


def _is_same(row: Row, other: Row) -> bool:
    return all(row[name] == other[name] for name in ("file", "line", "step"))
