"""What is said of a finite value that no training makes: of the rank that holds it, and of nobody else."""

from forensics.detectors.numerics.anomaly_rows import Row, first_anomaly, name_of, ref, speaker, where
from forensics.facts.durations.checkpoints import before_step
from forensics.graph.numerics.tensor_rules import STATES
from forensics.model.drawn import TensorRow
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.names import Cause
from forensics.words import advice
from forensics.words import numerics as words

_SHARE = 1e-3  # of the other end: one flipped bit moves one
_NAMES = ("step", "microbatch", "phase", "module", "op", "tensor")


def jump_finding(detector: str, row: Row) -> Finding:
    """`row`: the first one, of graph.numerics.jumps."""
    rank = row["rank"]
    state = row["base"] in STATES
    cause: Cause = "bad_state" if state else "replica_divergence"
    size = row["absmax"] if row["absmax"] is not None else max(abs(row["min"]), abs(row["max"]))
    told = {"who": speaker(rank), "size": f"{size:.3g}", "where": where(row)}
    back = words.NO_UPDATE_MAKES_IT if state else words.FROM_NOWHERE
    ends = [abs(row[name]) for name in ("min", "max") if row[name] is not None]
    is_whole = len(ends) > 1 and row["min"] < 0 < row["max"] and min(ends) > _SHARE * max(ends)
    look = Action(kind="inspect_hardware", target=speaker(rank), command=None, reason=words.FLIPPED_BIT)
    if is_whole:
        target = advice.WHAT_MULTIPLIES_ON(tensor=name_of(row), who=speaker(rank))
        look = Action(kind="check_code", target=target, command=None, reason=advice.BOTH_ENDS_LEAPT)
    return Finding(
        detector=detector,
        cause=cause,
        ranks=(rank,) if rank >= 0 else (),
        first_anomaly=first_anomaly(row, rank, None, cause),
        claims=(Claim(words.LEAPT_ALONE(**told), "for", (ref(row),)),),
        severity="severe",
        actions=(look, Action(kind="rollback", target=before_step(row["step"]), command=None, reason=back)),
        tensors=(TensorRow(rank=rank, value="finite", role="root", **{name: row[name] for name in _NAMES}),)
        if rank >= 0
        else (),
        summary=words.LEAPT(**told),
    )
