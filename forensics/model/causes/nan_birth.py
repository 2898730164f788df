"""nan_birth: NaN produced from finite inputs."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CHECKPOINT, DIAGNOSIS, NEXT_RUN, REPEATED, SOURCE
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("NaN produced from finite inputs", "输入正常却产生 NaN"),
    means=Said("NaN came out of an operation whose inputs were finite.", "某个操作的输入均有限，输出却含 NaN。"),
    alike="overflow shows Inf first; bad_state and bad_input were bad before; comm_corruption came out of a communication.",
    do=Said(
        "Repeat the operation with the same inputs, on another GPU too.", "用相同输入重跑该操作，并换一块 GPU 再试。"
    ),
    chinese=(
        "{R} 输入正常却产生 {V}：{M}",
        "{R} 出现 {V}",
    ),
    example="step 24, rank 2: attn.softmax input finite, output NaN",
    kinds=("numerics",),
    holds="value",
    domain="unknown",
    leads_to=("exception",),
    runbook=(
        SOURCE,
        CHECKPOINT,
        REPEATED,
        DIAGNOSIS,
        NEXT_RUN,
    ),
)
