"""version_mismatch: versions differ."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import NEXT_RUN
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("versions differ", "版本不一致"),
    means=Said("Ranks run different versions of a library.", "各 rank 的库版本不一致。"),
    alike="config_drift is a setting.",
    do=Said("Give all hosts one image.", "所有节点使用同一镜像。"),
    chinese=("{R} 的版本与其他 rank 不一致：{X}", "{R} 的版本与其他 rank 不一致"),
    example="Mismatched NCCL version detected : rank 3 2.18.3, others 2.21.5",
    kinds=("launch",),
    holds="job",
    domain="workload",
    returns="again",
    runbook=(
        Step(
            do="check_config",
            needs=("host",),
            command="device",
            look=Said("the driver's version beside that of the other hosts", "驱动版本与其他节点是否一致"),
            then=Said("bring all hosts to one image and one driver", "统一镜像与驱动"),
            source="CUDA: Compatibility guide",
        ),
        NEXT_RUN,
    ),
)
