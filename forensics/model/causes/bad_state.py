"""bad_state: weights or the optimizer's state already bad."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CHECKPOINT, MEMORY, NEXT_RUN, SOURCE
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("weights or the optimizer's state already bad", "权重或优化器状态已含异常值"),
    means=Said(
        "Weights or the optimizer's state were bad when first seen.", "权重或优化器状态首次被观测时已含异常值。"
    ),
    alike="The cause lies before: an earlier step, or the checkpoint that was loaded.",
    do=Said("Load an older checkpoint; check the one that was loaded.", "回退到更早的检查点，并检查所加载的检查点。"),
    chinese=("{R} 首次观测时已含 {V}：{M}", "{R} 首次观测时已含 {V}"),
    example="step 2001, the first after the checkpoint: weights of layer 7 hold NaN",
    kinds=("numerics",),
    holds="value",
    domain="unknown",
    leads_to=("nan_birth", "exception"),
    runbook=(CHECKPOINT, SOURCE, *MEMORY, NEXT_RUN),
)
