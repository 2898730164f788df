"""straggler_compute: computes more slowly than its peers."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CLOCKS, KERNEL, NEXT_RUN
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("computes more slowly than its peers", "计算比其他 rank 慢"),
    means=Said("A rank computes more slowly than its peers.", "该 rank 的计算比其他 rank 慢。"),
    alike="A rank that waits for a slow one looks slow in total; its own compute time is not.",
    do=Said("Check clocks, temperature and power of that GPU.", "检查该 GPU 的频率、温度与功耗。"),
    chinese=(
        "{R} 从 step {S} 起计算比其他 rank 慢",
        "{R} 计算比其他 rank 慢",
    ),
    example="forward of rank 5: 410 ms; of its peers: 232 ms",
    kinds=("slow",),
    by_times=True,
    holds="process",
    domain="unknown",
    returns="lasts",
    runbook=(
        CLOCKS,
        KERNEL,
        NEXT_RUN,
    ),
)
