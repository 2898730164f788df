"""nan_birth: NaN produced from finite inputs."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CHECKPOINT, DIAGNOSIS, MEMORY, NEXT_RUN, REPEATED, SOURCE
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("NaN with no bad value before it", "NaN（此前未见异常值）"),
    means=Said(
        "NaN came out of an operation, and nothing bad is seen to go in.", "某个操作的输出含 NaN，而输入未见异常。"
    ),
    alike="overflow shows Inf first; bad_state and bad_input were bad before; comm_corruption came out of a communication.",
    do=Said(
        "Repeat the operation with the same inputs, on another GPU too.", "用相同输入重跑该操作，并换一块 GPU 再试。"
    ),
    chinese=("{R} 产生 {V}：{M}", "{R} 出现 {V}"),
    example="step 24, rank 2: attn.softmax input finite, output NaN",
    kinds=("numerics",),
    holds="value",
    domain="unknown",
    leads_to=("exception",),
    runbook=(SOURCE, CHECKPOINT, REPEATED, *MEMORY, DIAGNOSIS, NEXT_RUN),
)
