"""preempted: the scheduler took its nodes away."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import ACCOUNTING, POD
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("the scheduler took its nodes away", "被调度器抢占"),
    means=Said("The scheduler took the job's nodes for another job.", "调度器将节点让给了其他作业。"),
    alike="time_limit is planned.",
    do=Said("Nothing in the job is at fault: restart it.", "作业本身无故障，重启即可。"),
    chinese=("作业被调度器抢占",),
    example="slurmstepd: error: *** JOB 771 CANCELLED AT 2026-01-31T10:11:12 DUE TO PREEMPTION ***",
    kinds=("crash",),
    holds="job",
    domain="infrastructure",
    returns="over",
    beside_restart=Said(
        "its scheduler may have queued it again by itself: look in the queue before a second one is submitted",
        "调度器可能已自动重新排队：再次提交前先查看队列",
    ),
    from_outside=True,
    hits_anybody=True,
    runbook=(POD, ACCOUNTING),
)
