"""stopped_by_hand: somebody stopped it."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import ACCOUNTING
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("somebody stopped it", "被手动停止"),
    means=Said("Somebody stopped the job.", "作业被人手动停止。"),
    alike="People stop jobs that hang: stacks or records from before tell whether it did.",
    do=Said("If it hung, take stacks before it is stopped the next time.", "若曾卡死，下次停止之前先采集调用栈。"),
    chinese=("作业被手动停止",),
    example="KeyboardInterrupt",
    kinds=("crash",),
    holds="job",
    domain="unknown",
    from_outside=True,
    runbook=(ACCOUNTING,),
)
