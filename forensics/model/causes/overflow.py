"""overflow: overflow to Inf."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CHECKPOINT, MEMORY, NEXT_RUN, SOURCE
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("Inf, or the range exhausted, before any NaN", "先出现 Inf 或超出表示范围，此前无 NaN"),
    means=Said(
        "A value left the range of its format: Inf before any NaN.", "数值超出格式的范围：先出现 Inf，之后才有 NaN。"
    ),
    alike="nan_birth has no Inf before it. An Inf that a mask makes is none.",
    do=Said(
        "Check the learning rate, the loss scale and the format of that module.",
        "检查学习率、loss scale 与该模块的数值格式。",
    ),
    chinese=("{R} 产生 {V}：{M}", "{R} 出现 {V}"),
    example="step 24, rank 2: mlp.fc2 output Inf, input at most 6.1e4 (float16)",
    kinds=("numerics",),
    holds="value",
    domain="unknown",
    leads_to=("nan_birth", "exception"),
    runbook=(SOURCE, CHECKPOINT, *MEMORY, NEXT_RUN),
)
