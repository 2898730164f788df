"""What to do about a first anomaly, and what to collect where it could not be told."""

from collections.abc import Sequence

from forensics.detectors.numerics.anomaly_rows import Row, shown_value
from forensics.model.incident import Action
from forensics.model.names import Cause, Reason
from forensics.model.texts import ranks_text
from forensics.words import numerics as words


def actions_for(cause: Cause | None, ended: bool, who: Sequence[int], row: Row, checkpoint: str) -> tuple[Action, ...]:
    """`ended`: the taint was gone after the step. `who`: named ranks, else suspects. `checkpoint`: what to go back to."""
    target = words.STEP(step=row["step"])
    if ended:
        return (_action("ignore", target, words.FINITE_AFTER_IT),)
    back = _action("rollback", checkpoint, words.LATER_MAY_HOLD_IT)
    if cause == "bad_input":
        batch = target if row["microbatch"] is None else words.BATCH(step=target, microbatch=row["microbatch"])
        bad = words.INPUT_OF_RANKS_WAS_BAD(who=ranks_text(who)) if who else words.INPUT_WAS_BAD
        return (_action("check_data", batch, bad), _action("skip_data", words.DATA_OF(batch=batch), bad), back)
    if cause == "bad_state":
        return (_action("rollback", checkpoint, words.BAD_BEFORE_STEP),)
    if cause == "comm_corruption":
        return (_action("inspect_network", ranks_text(who), words.ONE_OUTPUT_WAS_NOT), back)
    if cause is None:
        return (_action("collect_more", ranks_text(who) if who else target, words.FIRST_NOT_OBSERVED),)
    born = words.PRODUCED_THERE(value=shown_value(row))
    return (_action("check_code", str(row["module"] or row["op"] or target), born), back)


def _action(kind: str, target: str, reason: str) -> Action:
    return Action(kind=kind, target=target, command=None, reason=reason)  # type: ignore[arg-type]


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
