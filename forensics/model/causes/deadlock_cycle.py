"""deadlock_cycle: ranks wait for each other (deadlock)."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CALLS, NEXT_RUN, RECORDER, STACK
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("ranks wait for each other (deadlock)", "rank 互相等待（死锁）"),
    means=Said(
        "Ranks wait for each other: each has entered the operation that another one has yet to reach.",
        "rank 互相等待：每个 rank 都进入了另一个 rank 尚未到达的操作。",
    ),
    alike="One absent rank may hold up many groups; a cycle is closed only where every rank in it waits for another one of it.",
    do=Said(
        "Give all ranks the same order of groups, or of sends and receives.",
        "让所有 rank 以相同顺序使用进程组或点对点通信。",
    ),
    chinese=("{R} 互相等待（死锁）：{O}", "{R} 互相等待（死锁）"),
    example="rank 0 in recv from rank 1, rank 1 in recv from rank 0",
    kinds=("hang",),
    holds="call",
    domain="workload",
    leads_to=("rank_absent",),
    returns="again",
    in_program=True,
    by_stack=True,
    operation="waiting in",
    runbook=(CALLS, RECORDER, STACK, NEXT_RUN),
)
