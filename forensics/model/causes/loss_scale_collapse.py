"""loss_scale_collapse: the loss scale collapsed."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CHECKPOINT, NEXT_RUN
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("the loss scale collapsed", "loss scale 持续下降"),
    means=Said(
        "The loss scale fell step by step, because gradients kept overflowing.", "梯度反复溢出，loss scale 逐步下降。"
    ),
    alike="A scale that falls now and then and recovers is normal.",
    do=Said("Find the module whose gradients overflow.", "找出梯度溢出的模块。"),
    chinese=("loss scale 持续下降（step {S}）", "loss scale 持续下降"),
    example="overflow, reducing loss scale from 2.0 to 1.0, at each step to the end",
    kinds=("numerics",),
    holds="value",
    domain="workload",
    runbook=(CHECKPOINT, NEXT_RUN),
)
