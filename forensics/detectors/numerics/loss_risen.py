"""A finite loss that rose: from where, whether it came back, whether it only grows, and which batches are to be looked at."""

from collections.abc import Sequence

from forensics.case import Case
from forensics.detectors.numerics.divergence import diverged, stayed
from forensics.detectors.numerics.loss_advice import roll_back
from forensics.detectors.numerics.loss_lines import line_ref
from forensics.facts.figures.loss_spikes import Spike
from forensics.facts.figures.spike_origins import origin
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.said import Said, joined, sentence
from forensics.model.texts import ranks_text
from forensics.words import advice
from forensics.words import losses as words

_SPIKES = 10  # that are shown
_ALONE = {"carried": advice.ROSE_ALONE_FIRST, "alone": advice.ROSE_ALONE, "apart": advice.STAYED_ALONE}


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
    grown = diverged(case, found[-1])
    actions = [to_do("check_data", batches, of_rate)]
    if grown is not None:
        claims += grown.claims
        rose = joined((rose, grown.text), " ")
        saved = any(begin is not None and one.step < begin for one in case.checkpoints.complete)
        actions = [*grown.actions, *([roll_back(case, begin, words.BEFORE_THE_SPIKE)] if saved else [])]
    elif (stays := stayed(found[-1])) is not None:
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
