"""killed: killed by a signal."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import ACCOUNTING, KERNEL, NEXT_RUN, POD, PREVIOUS_LOG
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("killed by a signal", "被信号终止"),
    means=Said(
        "A process was ended by SIGKILL, and no record shows who sent it.", "进程被 SIGKILL 终止，发送者无记录。"
    ),
    alike="With a kernel record it is host_oom; with a scheduler's record preempted or time_limit.",
    do=Said("Read the kernel log and the scheduler's record.", "查看内核日志与调度器记录。"),
    chinese=("{R} 被 {G} 终止（发送者未记录）", "{R} 被信号终止（发送者未记录）"),
    example="exitcode : -9 (pid: 4107)",
    kinds=("crash",),
    holds="process",
    domain="unknown",
    leads_to=("rank_died", "rank_absent"),
    returns="may",
    runbook=(POD, KERNEL, PREVIOUS_LOG, ACCOUNTING, NEXT_RUN),
)
