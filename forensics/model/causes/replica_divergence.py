"""replica_divergence: replicas differ while all values are finite."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CHECKPOINT, DIAGNOSIS, NEXT_RUN
from forensics.model.runbook import Step
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
    chinese=(
        "{R} 与其他副本不一致：{M}",
        "{R} 与其他副本不一致",
    ),
    example="step 90: checksum of fc1.weight 5f3a on ranks 0, 1, 3; 81c2 on rank 2",
    kinds=("numerics",),
    holds="value",
    domain="unknown",
    leads_to=(
        "nan_birth",
        "loss_spike",
        "exception",
    ),
    runbook=(
        DIAGNOSIS,
        Step(
            do="inspect_hardware",
            needs=("host",),
            command="memory_errors",
            look=Said(
                "corrected and uncorrected memory errors of this GPU beside those of its neighbours",
                "该 GPU 与相邻 GPU 的可纠正与不可纠正错误",
            ),
            then=Said(
                "errors: leave the host out; none clears nobody: repeat the step on another GPU",
                "有错误：隔离节点；没有也不能排除：换一块 GPU 重跑该 step",
            ),
            source="vendors' manuals of their tools; Dixit et al. 2021, Silent Data Corruptions at Scale",
        ),
        CHECKPOINT,
        NEXT_RUN,
    ),
)
