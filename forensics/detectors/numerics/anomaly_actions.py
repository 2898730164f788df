"""What to do about a first anomaly, and what to collect where it could not be told."""

from collections.abc import Sequence

from forensics.detectors.numerics.anomaly_rows import Row, shown_value
from forensics.model.incident import Action
from forensics.model.names import Cause, Reason
from forensics.model.texts import ranks_text


def actions_for(cause: Cause | None, ended: bool, who: Sequence[int], row: Row, checkpoint: str) -> tuple[Action, ...]:
    """`ended`: the taint was gone after the step. `who`: named ranks, else suspects. `checkpoint`: what to go back to."""
    target = f"step {row['step']}"
    if ended:
        return (_action("ignore", target, "the parameters were finite after it"),)
    back = _action("rollback", checkpoint, "later parameters may hold the bad value")
    if cause == "bad_input":
        batch = target if row["microbatch"] is None else f"{target}, micro-batch {row['microbatch']}"
        bad = f"the input of {ranks_text(who)} was bad already" if who else "the input was bad already"
        return (_action("check_data", batch, bad), _action("skip_data", f"the data of {batch}", bad), back)
    if cause == "bad_state":
        return (_action("rollback", checkpoint, "parameters were bad before this step"),)
    if cause == "comm_corruption":
        reason = "all inputs of the call were finite, an output was not"
        return (_action("inspect_network", f"{ranks_text(who)}", reason), back)
    if cause is None:
        return (
            _action("collect_more", f"{ranks_text(who)}" if who else target, "the first bad value was not observed"),
        )
    born = f"{shown_value(row)} was produced there from finite inputs"
    return (_action("check_code", str(row["module"] or row["op"] or target), born), back)


def _action(kind: str, target: str, reason: str) -> Action:
    return Action(kind=kind, target=target, command=None, reason=reason)  # type: ignore[arg-type]


def to_collect(undecided: Sequence[Reason], suspects: Sequence[int]) -> tuple[str, ...]:
    """What would have decided it."""
    wanted = []
    if "culprit_among_missing" in undecided:
        wanted.append(f"tensor statistics of {ranks_text(suspects) if suspects else 'the ranks that left none'}")
    if "sampled_statistics" in undecided:
        wanted.append("statistics of every step and module around the first bad row")
    if "membership_unknown" in undecided:
        wanted.append("the columns group and group_ranks of communications")
    return tuple(wanted)
