"""A finite loss that rose: from where, whether it came back, whether it only grows, and which batches are to be looked at.

A loss that grows for good is no spike of one batch: after it rose it rises on, line after line, and never comes back.

Then the update is too large for the model: its rate, its warm-up, its clipping. Nor is one that stands at a higher level line after line: as many
batches are not bad alike, and what the run was set to or went on with is looked at first. Where it ends with a few lines, both remain possible.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from forensics.case import Case
from forensics.detectors.numerics.loss_advice import roll_back
from forensics.detectors.numerics.loss_lines import Row, first_nan, line_ref, streams_of
from forensics.facts.figures.loss_spikes import Spike, finite_lines, spikes
from forensics.facts.figures.spike_origins import origin
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly, to_do
from forensics.model.said import Said, joined, sentence
from forensics.model.texts import ranks_text
from forensics.words import advice
from forensics.words import losses as words

_SPIKES = 10  # that are shown
_ALONE = {"carried": advice.ROSE_ALONE_FIRST, "alone": advice.ROSE_ALONE, "apart": advice.STAYED_ALONE}
_RISES = 2  # lines in a row after the first that are higher each than the one before
_GROWN = 10.0  # times the first high loss: no batch makes that of the next ones, too
_STANDS = 5  # high lines to the end
_FALLS = 2  # times that the loss scale fell meanwhile
_NEAR = 3  # lines between the rises of ranks that are alike


def spike_finding(case: Case, found: Sequence[Spike]) -> Finding:
    """Of one stream's spikes, the first ahead."""
    onset, outlier, normal, calm, *_ = found[0]
    at, rise = outlier["step"], {"normal": f"{normal:.4g}", "loss": f"{outlier['loss']:.4g}"}
    row = origin(case.tables["steps"], case.job_told_of, at) if case.is_data_parallel else None
    if row is not None:  # what the norm of all did before is not of it
        onset = outlier
    text = words.LOSS_ROSE_IN_NO_STEP(**rise) if at is None else words.LOSS_ROSE(**rise, step=at)
    claims = [Claim(text, "for", (line_ref(outlier),))]
    is_shaken = onset is not outlier and onset["step"] is not None
    if is_shaken:
        claims.insert(0, Claim(words.NORM_GREW(step=onset["step"]), "for", (line_ref(onset),)))
    rose = sentence(text, words.ONSET_IS(step=onset["step"]) if is_shaken else "")
    if len(found) > 1:
        first, final, number = onset["step"], found[-1].onset["step"], len(found)
        is_told = None not in (first, final)
        form = words.MORE_SPIKES if is_told else words.MORE_SPIKES_IN_NO_STEP
        more = form(number=number, first=first, last=final)
        claims.append(Claim(more, "for", tuple(line_ref(one.outlier) for one in found[1:_SPIKES])))
    if row is not None:
        text = _ALONE[row["how"]](who=ranks_text([row["rank"]]), step=at, loss=f"{row['loss']:.4g}")
        claims.append(Claim(text, "for", (line_ref(row),)))
        rose = joined((rose, sentence(text)), " ")
    begin, last = found[0].first_step if row is None else at, found[0].last_step
    batches = _with_samples(_data_of(begin, last), found[0])
    rate = outlier["learning_rate"]
    of_rate = words.SPIKES_COME_FROM if rate is None else advice.AT_RATE(what=words.SPIKES_COME_FROM, rate=f"{rate:g}")
    grown = _diverged(case, found[-1])
    actions = [to_do("check_data", batches, of_rate)]
    if grown is not None:
        claims += grown.claims
        rose = joined((rose, grown.text), " ")
        saved = any(begin is not None and one.step < begin for one in case.checkpoints.complete)
        actions = [*grown.actions, *([roll_back(case, begin, words.BEFORE_THE_SPIKE)] if saved else [])]
    elif (stays := _stayed(found[-1])) is not None:
        claims += stays.claims
        rose = joined((rose, stays.text), " ")
        actions = [*stays.actions, roll_back(case, begin, words.BEFORE_THE_SPIKE)]
    elif found[-1].calm is None:  # what came back by itself needs no older state
        actions.append(roll_back(case, begin, words.BEFORE_THE_SPIKE))
        actions.append(to_do("skip_data", batches, words.SAME_DATA_SAME_SPIKE))
    back = words.LOSS_RECOVERED if calm is not None else ""
    if (norms := found[-1].norms) is not None and grown is None:  # the loss alone came back
        back = words.LOSS_RECOVERED_NORM_DID_NOT(norm=f"{norms[0]:.4g}", usual=f"{norms[1]:.4g}")
        actions.append(roll_back(case, begin, words.BEFORE_THE_SPIKE))
    return Finding(
        cause="loss_spike",
        ranks=() if row is None else (row["rank"],),
        domain="workload" if row is None else "unknown",
        first_anomaly=FirstAnomaly(rank=None if row is None else row["rank"], step=onset["step"], value="finite", signature="loss_spike"),
        claims=tuple(claims),
        severity="severe",
        actions=tuple(actions),
        since_step=begin,
        over_step=found[-1].over_step,
        time_ns=onset["time_ns"],
        summary=joined((rose, back), " "),
    )  # fmt: skip


def _with_samples(data: Said, spike: Spike) -> Said:
    """By the count of samples as well, where lines tell how many had been consumed: a loader is asked for these, and for no step."""
    before, last = (None if row is None else row["samples"] for row in (spike.well, spike.shaken))
    if before is None or last is None or not before < last:
        return data
    return advice.DATA_AND_SAMPLES(data=data, first=before, last=last)


def _data_of(first: int | None, last: int | None) -> Said:
    if first is None or last is None:
        return words.DATA_BEFORE_IT
    is_one = first == last
    return words.DATA_OF(batch=words.STEP(step=first)) if is_one else words.DATA_OF_STEPS(first=first, last=last)


class _Divergence(NamedTuple):
    claims: tuple[Claim, ...]
    text: str
    actions: tuple[Action, ...]


def _diverged(case: Case, last: Spike) -> _Divergence | None:
    """Did the training that this spike is of only get worse from then on?"""
    streams = [rows for rows in streams_of(case.tables["steps"]) if rows]
    own = next((rows for rows in streams if any(_is_same(row, last.outlier) for row in rows)), None)
    if own is None or last.calm is not None or (end := _end(own, last.outlier)) is None:
        return None
    step = last.onset["step"]
    alike_ones = [rows for rows in streams if rows[0]["rank"] is not None and _grows_too(case, rows, last)]
    ranks = sorted({rows[0]["rank"] for rows in alike_ones})
    alike = advice.ON_ALL_ALIKE(who=ranks_text(ranks)) if len(ranks) > 1 else ""
    claims = [Claim(advice.DIVERGED_TO(loss=f"{end['loss']:.4g}", step=end["step"]), "for", (line_ref(end),))]
    bad = first_nan(own)
    if bad is not None and own.index(bad.row) > own.index(end):
        claims.append(Claim(advice.NAN_FROM(step=bad.row["step"]), "for", (line_ref(bad.row),)))
    reason = advice.GROWS_FOR_GOOD(step=step, alike=alike) if step is not None else advice.GROWS_IN_NO_STEP
    rate = last.outlier["learning_rate"]
    check = Action(
        kind="check_config", target=advice.RATE_WARMUP_CLIPPING, command=None,
        reason=reason if rate is None else advice.AT_RATE(what=reason, rate=f"{rate:g}"),
        look=advice.LOOK_AT_RATE, then=advice.THEN_OF_RATE, source="Zhang et al. 2022 (OPT), logbook",
    )  # fmt: skip
    return _Divergence(tuple(claims), sentence(*(one.text for one in claims)), (check,))


def _stayed(last: Spike) -> _Divergence | None:
    """Did the loss stay where this spike took it, to the end and for more lines than one batch explains?"""
    first, end = last.outlier["step"], last.high[-1]["step"] if last.high else None
    if last.calm is not None or len(last.high) < _STANDS or first is None or end is None:
        return None
    text = advice.STAYED_HIGH(number=len(last.high), first=first, last=end)
    claims = [Claim(text, "for", (line_ref(last.high[-1]),))]
    scales = [row["loss_scale"] for row in last.high if row["loss_scale"] is not None]
    if sum(low < high for high, low in pairwise(scales)) >= _FALLS:
        text = advice.SCALE_FELL_THERE(first=f"{scales[0]:,.0f}", last=f"{min(scales):,.0f}")
        claims.append(Claim(text, "for", (line_ref(last.high[-1]),)))
    check = Action(
        kind="check_code", target=advice.WHAT_CHANGED_BEFORE(step=last.first_step), command=None,
        reason=advice.NO_ONE_BATCH, look=advice.LOOK_AT_CHANGE, then=advice.THEN_OF_CHANGE, source="BigScience, chronicles of tr8b",
    )  # fmt: skip
    return _Divergence(tuple(claims), sentence(*(one.text for one in claims)), (check,))


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
