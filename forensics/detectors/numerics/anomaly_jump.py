"""What is said of a finite value that no training makes: of the rank that holds it, and of nobody else."""

from forensics.detectors.numerics.anomaly_rows import Row, drawn, first_anomaly, name_of, ref, speaker, where
from forensics.facts.durations.checkpoints import before_step
from forensics.graph.numerics.tensor_rules import STATES
from forensics.model.finding import Claim, Finding
from forensics.model.incident import to_do
from forensics.model.names import Cause
from forensics.words import advice
from forensics.words import numerics as words

_SHARE = 1e-3  # of the other end: one flipped bit moves one


def jump_finding(row: Row) -> Finding:
    """`row`: the first one, of graph.numerics.jumps."""
    rank = row["rank"]
    state = row["base"] in STATES
    cause: Cause = "bad_state" if state else "replica_divergence"
    size = row["absmax"] if row["absmax"] is not None else max(abs(row["min"]), abs(row["max"]))
    told = {"who": speaker(rank), "size": f"{size:.3g}", "where": where(row)}
    back = words.NO_UPDATE_MAKES_IT if state else words.FROM_NOWHERE
    ends = [abs(row[name]) for name in ("min", "max") if row[name] is not None]
    is_whole = len(ends) > 1 and row["min"] < 0 < row["max"] and min(ends) > _SHARE * max(ends)
    look = to_do("inspect_hardware", speaker(rank), words.FLIPPED_BIT)
    if is_whole:
        target = advice.WHAT_MULTIPLIES_ON(tensor=name_of(row), who=speaker(rank))
        look = to_do("check_code", target, advice.BOTH_ENDS_LEAPT)
    return Finding(
        cause=cause,
        ranks=(rank,) if rank >= 0 else (),
        first_anomaly=first_anomaly(row, rank, None, cause),
        claims=(Claim(words.LEAPT_ALONE(**told), "for", (ref(row),)),),
        severity="severe",
        actions=(look, to_do("rollback", before_step(row["step"]), back)),
        tensors=(drawn(row, rank, "finite", "root"),) if rank >= 0 else (),
        summary=words.LEAPT(**told),
    )
