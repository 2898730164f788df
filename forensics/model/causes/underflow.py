"""underflow: values vanished to zero."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CHECKPOINT, NEXT_RUN
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("values vanished to zero", "数值下溢为 0"),
    means=Said("Gradients vanished to zero.", "梯度下溢为 0。"),
    alike="Frozen parameters have none.",
    do=Said("A higher loss scale, or a format with more range.", "提高 loss scale，或使用范围更大的格式。"),
    chinese=("梯度从 step {S} 起下溢为 0", "梯度下溢为 0"),
    example="step 400: 99.8 % of grad of embed are zero",
    kinds=("numerics",),
    holds="value",
    domain="workload",
    runbook=(CHECKPOINT, NEXT_RUN),
)
