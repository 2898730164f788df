"""missing_ranks: ranks never arrived."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import ACCOUNTING, KERNEL, NEXT_RUN, POD
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("ranks never arrived", "部分 rank 未加入"),
    means=Said("Some ranks never came to the start of the job.", "部分 rank 未加入作业的启动。"),
    alike="With an unreachable address they came and could not speak (wrong_interface).",
    do=Said("Read the logs of the ranks that did not come.", "查看未加入的 rank 的日志。"),
    chinese=("{R} 未加入，作业未能启动",),
    example="14/16 clients joined",
    kinds=("launch",),
    holds="process",
    domain="unknown",
    leads_to=("store_timeout",),
    runbook=(POD, ACCOUNTING, KERNEL, NEXT_RUN),
)
