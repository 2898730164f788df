"""What is said of a finite value that no training makes: of the rank that holds it, and of nobody else."""

from forensics.detectors.numerics.anomaly_rows import Row, first_anomaly, ref, speaker, where
from forensics.facts.checkpoints import before_step
from forensics.graph.numerics.tensor_rules import STATES
from forensics.model.drawn import TensorRow
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.names import Cause
from forensics.words import numerics as words

_NAMES = ("step", "microbatch", "phase", "module", "op", "tensor")


def jump_finding(detector: str, row: Row) -> Finding:
    """`row`: the first one, of graph.numerics.jumps."""
    rank = row["rank"]
    state = row["base"] in STATES
    cause: Cause = "bad_state" if state else "replica_divergence"
    size = row["absmax"] if row["absmax"] is not None else max(abs(row["min"]), abs(row["max"]))
    told = {"who": speaker(rank), "size": f"{size:.3g}", "where": where(row)}
    back = words.NO_UPDATE_MAKES_IT if state else words.FROM_NOWHERE
    return Finding(
        detector=detector,
        cause=cause,
        ranks=(rank,) if rank >= 0 else (),
        first_anomaly=first_anomaly(row, rank, None, cause),
        claims=(Claim(words.LEAPT_ALONE(**told), "for", (ref(row),)),),
        severity="severe",
        actions=(
            Action(kind="inspect_hardware", target=speaker(rank), command=None, reason=words.FLIPPED_BIT),
            Action(kind="rollback", target=before_step(row["step"]), command=None, reason=back),
        ),
        tensors=(TensorRow(rank=rank, value="finite", role="root", **{name: row[name] for name in _NAMES}),)
        if rank >= 0
        else (),
        summary=words.LEAPT(**told),
    )
