"""rank_died: the process died while others waited."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import ACCOUNTING, BMC, BOOT_BEFORE, KERNEL, NEXT_RUN, POD, PREVIOUS_LOG
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("the process died while others waited", "其他 rank 等待期间进程已退出"),
    means=Said(
        "A process ended while others waited for it, and nothing shows of what.",
        "进程在其他 rank 等待期间退出，且无记录说明原因。",
    ),
    alike="With an exit code or an exception the cause is a crash; a rank that is silent and alive is rank_absent.",
    do=Said(
        "Read the kernel log of its host and the scheduler's record of the job.", "查看该节点的内核日志与调度器记录。"
    ),
    chinese=("{R} 在 {O} 之前退出", "{R} 已退出"),
    example="the launcher lost rank 5; ranks 0-4 wait in all_reduce #57",
    kinds=("hang",),
    holds="process",
    domain="unknown",
    leads_to=("rank_absent",),
    returns="may",
    operation="missed in",
    runbook=(
        POD,
        BOOT_BEFORE,
        KERNEL,
        PREVIOUS_LOG,
        ACCOUNTING,
        Step(
            do="inspect_hardware",
            needs=("host",),
            command="uptime",
            look=Said("whether the host answers, and since when it runs", "节点是否有响应、何时启动"),
            then=Said(
                "no answer: leave it out and look at its power and its management controller; started since: it rebooted, look for why",
                "无响应：隔离并检查供电与 BMC；启动时间晚于事故：节点重启过，查明原因",
            ),
            source="uptime(1)",
        ),
        BMC,
        NEXT_RUN,
    ),
)
