"""replica_divergence: replicas differ while all values are finite."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CHECKPOINT, DIAGNOSIS, MEMORY, NEXT_RUN
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("replicas differ while all values are finite", "副本不一致，且数值均有限"),
    means=Said(
        "Ranks that must hold the same values differ, and all values are finite: silent corruption, or a missing synchronisation.",
        "应当相同的副本不一致，且数值均有限：静默数据错误，或缺少一次同步。",
    ),
    alike="Sums in another order differ in the last bits; compared are only copies of one result.",
    do=Said(
        "Repeat the step on another GPU; check that all replicas take part in the synchronisation.",
        "换一块 GPU 重跑该 step，并确认所有副本都参与同步。",
    ),
    chinese=("{R} 与其他副本不一致：{M}", "{R} 与其他副本不一致"),
    example="step 90: checksum of fc1.weight 5f3a on ranks 0, 1, 3; 81c2 on rank 2",
    kinds=("numerics",),
    holds="value",
    domain="unknown",
    leads_to=("nan_birth", "loss_spike", "exception"),
    runbook=(DIAGNOSIS, *MEMORY, CHECKPOINT, NEXT_RUN),
)
