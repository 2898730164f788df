"""What to do about a first anomaly, and what to collect where it could not be told."""

from collections.abc import Sequence

import msgspec

from forensics.detectors.numerics.anomaly_answer import Answer
from forensics.detectors.numerics.anomaly_inputs import (
    clean_before,
    clean_copies,
    clean_holders,
    clean_readers,
    clean_update,
    clean_use,
    has_bad_scale,
    inputs_of,
    largest_given,
    mask_maker,
    near_end,
)
from forensics.detectors.numerics.anomaly_rows import Row, name_of, shown_value
from forensics.facts.durations.checkpoints import before_step
from forensics.graph.numerics.births import Births
from forensics.model.commands import REPLAY
from forensics.model.incident import Action, to_do
from forensics.model.names import Reason
from forensics.model.said import Said
from forensics.model.texts import ranks_text
from forensics.words import advice as words_of_advice
from forensics.words import numerics as words

_OF_ARITHMETIC = "IEEE 754-2019, 7.2 and 7.4: which operations give NaN and Inf of finite values"


def actions_for(births: Births, answer: Answer, row: Row) -> tuple[Action, ...]:
    """`row`: the first bad one. What was gone after the step is ignored."""
    target = words.STEP(step=row["step"])
    if answer.lead.ended:
        bound = inputs_of(births, row).bound
        return (to_do("ignore", target, words.FINITE_AFTER_IT), *_of_bound(row, bound, answer.lead.rank))
    who = answer.ranks or answer.suspects
    before = before_step(row["step"])
    is_begun = row["step"] > 0  # before it there is nothing to load but what the run began from
    back = (to_do("rollback", before, words.LATER_MAY_HOLD_IT),) if is_begun else ()
    if answer.cause == "bad_input":
        return (*_of_batch(births, answer, row), *back)
    if answer.cause == "bad_state":
        bad = to_do("rollback", before, words.BAD_BEFORE_STEP)
        begin = to_do("check_code", words.RUN_BEGINS_WITH, words.BAD_WHEN_FIRST_OBSERVED)
        return _of_state(births, answer, row, bad if is_begun else begin)
    if answer.cause == "comm_corruption":
        return (*_of_communication(births, answer, row), *back)
    if answer.cause is None:
        return (to_do("collect_more", ranks_text(who) if who else target, words.FIRST_NOT_OBSERVED),)
    return (*_of_birth(births, answer, row), *back)


def _of_batch(births: Births, answer: Answer, row: Row) -> tuple[Action, ...]:
    """Data are to be looked at, unless other ranks had the same batch and had it clean."""
    step, who = words.STEP(step=row["step"]), answer.ranks or answer.suspects
    batch = step if row["microbatch"] is None else words.BATCH(step=step, microbatch=row["microbatch"])
    readers = clean_readers(births, row) if answer.ranks == (row["rank"],) else ()
    if readers:
        others = ranks_text(readers)
        copy = words.COPY_OF_BATCH(who=ranks_text(who), batch=batch)
        return (
            to_do("check_code", copy, words.READ_IT_CLEAN(others=others)),
            to_do("inspect_hardware", ranks_text(who), words.COPY_ALONE_IS_BAD(others=others)),
        )
    bad = words.INPUT_OF_RANKS_WAS_BAD(who=ranks_text(who)) if who else words.INPUT_WAS_BAD
    return (to_do("check_data", batch, bad), to_do("skip_data", words.DATA_OF(batch=batch), bad))


def _of_communication(births: Births, answer: Answer, row: Row) -> tuple[Action, ...]:
    """Where the others got it well from the same call, the one that did not first: links sum up what they carry, and memory need not."""
    who = ranks_text(answer.ranks or answer.suspects)
    links = to_do("inspect_network", who, words.ONE_OUTPUT_WAS_NOT)
    well = clean_holders(births, row) if answer.ranks == (row["rank"],) else ()
    if not well:
        return (links,)
    reason = words_of_advice.RECEIVED_WELL(others=ranks_text(well))
    return (to_do("inspect_hardware", who, reason), links)


def _of_state(births: Births, answer: Answer, row: Row, back: Action) -> tuple[Action, ...]:
    """Back to where the parameters were finite; of one that the rank alone holds bad, what became of it there."""
    if answer.ranks != (row["rank"],):
        return (back,)
    who = ranks_text(answer.ranks)
    update = clean_update(births, row)
    bad = (row["nan_count"] or 0) + (row["inf_count"] or 0)
    if update is not None and 1 < bad == row["numel"]:  # no memory goes bad in all of it, and in nothing else
        target = words_of_advice.WHAT_WRITES(tensor=name_of(row), who=who)
        return (to_do("check_code", target, words_of_advice.ALL_BAD(count=bad, step=update["step"])), back)
    if update is not None:
        # Else it comes back.
        return (to_do("inspect_hardware", who, words.WENT_BAD_BETWEEN(step=update["step"])), back)
    if clean_use(births, row) is not None:  # what it was updated by is the rank's own
        target = words_of_advice.OPTIMIZERS_STATE(tensor=name_of(row), who=who)
        made = msgspec.structs.replace(back, reason=words_of_advice.UPDATE_MADE_IT_BAD(step=row["step"]))
        state = Action(
            kind="check_code", target=target, command=None, reason=made.reason,
            look=words_of_advice.LOOK_AT_STATE, then=words_of_advice.THEN_OF_STATE,
        )  # fmt: skip
        return (state, made, to_do("inspect_hardware", who, words_of_advice.DEVICE_OF_UPDATE))
    holders = clean_holders(births, row)
    is_first = row["step"] == births.history["step"].min()
    if is_first and holders:  # what was loaded is well, or the others would hold it, too
        reason = words.OTHERS_HOLD_CLEAN(others=ranks_text(holders))
        return (to_do("check_code", words.TENSOR_OF(tensor=name_of(row), who=who), reason),)
    if copies := clean_copies(births, row):
        return (to_do("inspect_hardware", who, words_of_advice.COPY_WENT_BAD(others=ranks_text(copies))), back)
    return (back,)


def _of_birth(births: Births, answer: Answer, row: Row) -> tuple[Action, ...]:
    """The operation that gave it, or who masked what went in; its device first where no arithmetic makes it of what went in."""
    value, inputs = shown_value(row), inputs_of(births, row)
    place = str(row["module"] or row["op"] or words.STEP(step=row["step"]))
    is_named = answer.ranks == (row["rank"],)
    if inputs.mask is not None:
        made, op = mask_maker(births, inputs.mask), row["op"] or place
        own, others = inputs.mask.own, inputs.mask.others
        if made is None or own is None or others is None or own <= others:
            return (to_do("check_code", place, words.MASKED_WHOLLY(op=op)),)
        at = str(made["module"] or made["op"])
        return (to_do("check_code", at, words.MASKS_MORE(own=own, others=others, op=op)),)
    if inputs.bound is not None:
        told = {"value": value, "bound": f"{inputs.bound:.3g}"}
        tests = _of_bound(row, inputs.bound, row["rank"] if is_named else None)
        return (*tests, to_do("check_code", place, words.CANNOT_COME_OF_IT(**told)))
    if (end := near_end(births, row)) is not None:
        return (to_do("check_config", words_of_advice.FORMAT_OF(module=place), words_of_advice.NEAR_END(**end)),)
    before = clean_before(births, row) if row["role"] == "in" else None
    is_out = before is not None and before["role"] == "out" and before["step"] == row["step"]
    if before is not None and is_out and before["module"] not in (None, place):
        between = words.BETWEEN(one=before["module"], other=place)
        why = _so_many(words.FIRST_IN_INPUT(value=value), row)
        return (_repeated(between, why, is_named and bool(inputs.well)),)
    if has_bad_scale(births, row):
        return ()  # a scale without a finite value gives it, and what made that is told (bad_scale.py)
    return (_repeated(place, _of_figures(births, row, inputs.given == "finite"), is_named and bool(inputs.well)),)


def _of_bound(row: Row, bound: float | None, rank: int | None) -> tuple[Action, ...]:
    """The test of a rank's device, where no arithmetic makes such a value of what went in."""
    if bound is None or row["role"] != "out" or rank is None or rank < 0:
        return ()
    told = {"value": shown_value(row), "bound": f"{bound:.3g}", "what": row["op"] or words.SAME_OPERATION}
    return (to_do("inspect_hardware", ranks_text([rank]), words.TEST_FOR_BOUND(**told)),)


def _of_figures(births: Births, row: Row, is_of_finite: bool) -> Said:
    """That it was produced there, of how large values, and how many are bad: some of them are of some samples."""
    form = words.PRODUCED_THERE if is_of_finite else words.FIRST_THERE
    told = form(value=shown_value(row))
    most = largest_given(births, row) if is_of_finite else None
    if most is not None:
        told = words_of_advice.OF_AT_MOST(what=told, most=f"{most:.3g}")
    return _so_many(told, row)


def _so_many(told: Said, row: Row) -> Said:
    bad = (row["nan_count"] or 0) + (row["inf_count"] or 0)
    return told if not bad or not row["numel"] else words_of_advice.SO_MANY(what=told, bad=bad, all=row["numel"])


def _repeated(place: str, reason: Said, has_peers: bool) -> Action:
    """Where others computed the same well, the step is repeated on their devices: it tells the device from what it was given."""
    action = to_do("check_code", place, reason)
    if not has_peers:
        return msgspec.structs.replace(
            action, look=words_of_advice.LOOK_AT_BIRTH, then=words_of_advice.THEN_OF_BIRTH, source=_OF_ARITHMETIC
        )
    told = {"command": REPLAY, "look": words_of_advice.LOOK_AT_REPLAY, "then": words_of_advice.THEN_OF_REPLAY}
    return msgspec.structs.replace(action, **told, source="docs/probe.md: a suspect step once more")


def to_collect(undecided: Sequence[Reason], suspects: Sequence[int]) -> tuple[str, ...]:
    """What would have decided it."""
    wanted = []
    if "culprit_among_missing" in undecided:
        wanted.append(words.STATISTICS_OF(who=ranks_text(suspects) if suspects else words.THOSE_THAT_LEFT_NONE))
    if "sampled_statistics" in undecided:
        wanted.append(words.STATISTICS_AROUND)
    if "membership_unknown" in undecided:
        wanted.append(words.GROUP_COLUMNS)
    return tuple(wanted)
