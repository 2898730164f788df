"""config_drift: settings differ between ranks."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import NEXT_RUN, SOURCE
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("settings that are wrong, or differ between ranks", "配置有误，或各 rank 的配置不一致"),
    means=Said("A setting differs between ranks.", "某项配置在各 rank 之间不一致。"),
    alike="Settings that must differ, such as ranks, do not count.",
    do=Said("Set it alike.", "统一该项配置。"),
    chinese=("{R} 的配置与其他 rank 不一致：{X}", "{R} 的配置与其他 rank 不一致"),
    example="NCCL_PROTO=LL on rank 3, Simple on the others",
    kinds=("launch", "numerics"),
    holds="job",
    domain="workload",
    returns="again",
    runbook=(SOURCE, NEXT_RUN),
)
