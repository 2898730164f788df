"""bad_input: the input was already bad."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import MEMORY, NEXT_RUN, REPEATED, SOURCE
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("the input was already bad", "输入数据已含异常值"),
    means=Said("The batch was bad already.", "该 batch 的数据已含异常值。"),
    alike="A first layer that makes NaN has a finite input.",
    do=Said("Check the data of that step.", "检查该 step 的数据。"),
    chinese=("{R} 的输入已含 {V}：{M}", "{R} 的输入已含 {V}"),
    example="step 24, rank 2: input_ids embed to NaN before the first layer",
    kinds=("numerics",),
    holds="value",
    domain="workload",
    leads_to=("nan_birth", "exception"),
    runbook=(REPEATED, SOURCE, *MEMORY, NEXT_RUN),
)
