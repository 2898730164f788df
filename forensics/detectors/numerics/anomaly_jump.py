"""What is said of a finite value that no training makes: of the rank that holds it, and of nobody else."""

from forensics.detectors.numerics.anomaly_rows import Row, first_anomaly, ref, speaker, where
from forensics.facts.checkpoints import before_step
from forensics.graph.numerics.tensor_rules import STATES
from forensics.model.drawn import TensorRow
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.names import Cause

_NAMES = ("step", "microbatch", "phase", "module", "op", "tensor")


def jump_finding(detector: str, row: Row) -> Finding:
    """`row`: the first one, of graph.numerics.jumps."""
    rank = row["rank"]
    state = row["base"] in STATES
    cause: Cause = "bad_state" if state else "replica_divergence"
    size = row["absmax"] if row["absmax"] is not None else max(abs(row["min"]), abs(row["max"]))
    text = f"{speaker(rank)}: {size:.3g} in {where(row)}; no other rank holds anything near it"
    back = "a parameter holds a value that no update makes" if state else "the step computed with a value from nowhere"
    return Finding(
        detector=detector,
        cause=cause,
        ranks=(rank,) if rank >= 0 else (),
        first_anomaly=first_anomaly(row, rank, None, cause),
        claims=(Claim(text, "for", (ref(row),)),),
        severity="severe",
        actions=(
            Action(
                kind="inspect_hardware", target=f"rank {rank}", command=None, reason="a flipped bit looks like this"
            ),
            Action(kind="rollback", target=before_step(row["step"]), command=None, reason=back),
        ),
        tensors=(TensorRow(rank=rank, value="finite", role="root", **{name: row[name] for name in _NAMES}),)
        if rank >= 0
        else (),
        summary=f"On {speaker(rank)} a value leapt to {size:.3g} in {where(row)}, beyond all that other ranks hold.",
    )
