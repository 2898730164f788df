"""straggler_network: its network is slower than the others."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CLOCKS, LINKS, NEXT_RUN
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("its network is slower than the others", "网络比其他 rank 慢"),
    means=Said("A rank's transfers are slower than those of its peers.", "该 rank 的传输比其他 rank 慢。"),
    alike="Waiting for a slow rank looks like a slow transfer.",
    do=Said("Read port counters, and compare the rates of the links.", "查看端口计数，比较各链路的速率。"),
    chinese=("{R} 从 step {S} 起网络比其他 rank 慢", "{R} 网络比其他 rank 慢"),
    example="all_to_all between rank 5 and its peers: 12.0 ms; between others: 10.0 ms",
    kinds=("slow",),
    by_times=True,
    holds="link",
    domain="infrastructure",
    returns="lasts",
    runbook=(*LINKS, CLOCKS, NEXT_RUN),
)
