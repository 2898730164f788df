"""loss_spike: the loss jumped."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CHECKPOINT, NEXT_RUN, REPEATED
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("the loss jumped", "loss 突增"),
    means=Said("The loss rose suddenly.", "loss 突然升高。"),
    alike="A slow rise is no spike.",
    do=Said("Check the data of that step; go back and skip it.", "检查该 step 的数据；回退并跳过。"),
    chinese=("loss 在 step {S} 突增", "loss 突增"),
    example="step 4560 loss 9.81, 2.31 before",
    kinds=("numerics",),
    holds="value",
    domain="workload",
    leads_to=("nan_birth",),
    may_pass=True,
    runbook=(REPEATED, CHECKPOINT, NEXT_RUN),
)
