"""collective_mismatch: called another operation, size or type than the other members."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CALLS, FINGERPRINTS, NEXT_RUN
from forensics.model.said import Said

ROW = CauseRow(
    title=Said(
        "called another operation, size or type than the other members", "与其他成员调用的操作、大小或类型不一致"
    ),
    means=Said(
        "Members of a group made different calls at the same place: another operation, size or type, or one call more.",
        "同一进程组的成员在同一位置调用了不同的操作、大小或类型，或多调用了一次。",
    ),
    alike="rank_absent: the rank made no call at all. The side that differs is named only where more than half of all members agree.",
    do=Said(
        "Look for a branch that depends on data or on the rank: an evaluation, a skipped batch, a parameter without gradient.",
        "查找依赖数据或 rank 的分支：评估、跳过的 batch、无梯度的参数。",
    ),
    chinese=("{R} 的调用与其他成员不一致：{O}，{C}", "{R} 的调用与其他成员不一致：{O}", "{R} 的调用与其他成员不一致"),
    example="rank 3: all_gather of 4,096 elements; the others: all_reduce of 1,024",
    kinds=("hang", "crash"),
    holds="call",
    domain="workload",
    leads_to=("rank_absent", "exception"),
    returns="again",
    in_program=True,
    operation="differs in",
    runbook=(CALLS, FINGERPRINTS, NEXT_RUN),
)
