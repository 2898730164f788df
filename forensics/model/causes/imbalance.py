"""imbalance: the work is spread unevenly."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import NEXT_RUN
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("the work is spread unevenly", "负载不均"),
    means=Said(
        "The work is spread unevenly: some ranks get more tokens, experts or layers.",
        "负载不均：部分 rank 分到更多 token、专家或层。",
    ),
    alike="A slow GPU is slow with equal work.",
    do=Said("Spread the work anew.", "重新分配负载。"),
    chinese=("{R} 从 step {S} 起负载偏高", "{R} 负载偏高"),
    example="tokens to expert 6: 41 % of all",
    kinds=("slow",),
    holds="process",
    domain="workload",
    by_shares=True,
    runbook=(
        Step(
            do="check_config",
            look=Said("tokens, layers and experts of each rank", "各 rank 的 token、层和专家数"),
            then=Said("spread them by the times that were measured", "按实测耗时重新分配"),
            source="Lin et al. 2025, Understanding Stragglers in Large Model Training",
        ),
        NEXT_RUN,
    ),
)
