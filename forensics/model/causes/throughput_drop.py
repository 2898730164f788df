"""throughput_drop: throughput fell."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CLOCKS, NEXT_RUN
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("throughput fell", "吞吐下降"),
    means=Said("The job became slower at a step and stayed slow.", "作业从某个 step 起变慢，且未恢复。"),
    alike="One log does not show which rank holds the others up.",
    do=Said("Record timers per rank.", "记录每个 rank 的分段计时。"),
    chinese=("吞吐从 step {S} 起下降，未恢复", "吞吐下降，未恢复"),
    example="9,120 img/s to step 3000, 5,044 from there on",
    kinds=("slow",),
    holds="job",
    domain="unknown",
    runbook=(CLOCKS, NEXT_RUN),
)
