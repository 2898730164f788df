"""gpu_fault: the GPU failed."""

import msgspec

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import BUG_REPORT, DIAGNOSIS, KERNEL, NEXT_RUN
from forensics.model.runbook import Step
from forensics.model.said import Said

KERNEL_LOG = msgspec.structs.replace(KERNEL, what=Said("its kernel log", "其内核日志"))
THEN_OFF_BUS = Said(
    "off the bus: drain the host; once nothing runs there, power-cycle it, and have the card reseated or replaced if it happens again",
    "掉卡：先隔离节点，待无作业后断电重启；再次发生则重插或更换该卡",
)
ROW = CauseRow(
    title=Said("the GPU failed", "GPU 故障"),
    means=Said("A GPU reported an error of its own before the job stopped.", "作业停止之前，GPU 报告了自身的错误。"),
    alike="An error after the job was stopped is a consequence. A correctable error accuses nobody.",
    do=Said("Take the host out of service and test the GPU.", "隔离该节点并检测 GPU。"),
    chinese=("{R} 的 GPU 发生故障：{X}", "{R} 的 GPU 发生故障"),
    example="NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    kinds=("hang", "crash", "launch"),
    holds="device",
    domain="infrastructure",
    leads_to=("kernel_stuck", "rank_absent", "rank_died", "exception", "segfault", "killed"),
    returns="may",
    runbook=(
        Step(
            do="drain_node",
            look=Said("the host takes no new job", "节点不再接收新作业"),
            then=Said("then look at it; a running job elsewhere is not touched", "然后检查；不影响其他节点上的作业"),
            source="Slurm: scontrol(1), DRAIN; Kubernetes: Safely Drain a Node",
        ),
        KERNEL_LOG,
        BUG_REPORT,
        Step(
            do="inspect_hardware",
            needs=("reboot", "host"),
            command="pci_state",
            destroys=True,
            look=Said(
                "“rev ff”, no answer or a device missing from the list: it is off the bus; LnkSta slower or narrower than LnkCap",
                "“rev ff”、无输出或列表中缺少设备：已掉卡；LnkSta 低于 LnkCap",
            ),
            then=THEN_OFF_BUS,
            source="lspci(8); NVIDIA: Xid 79 in the Xid catalogue",
        ),
        Step(
            do="inspect_hardware",
            needs=("host",),
            command="memory_errors",
            look=Said(
                "uncorrectable errors that are not 0, pending retirement or remapping, a failed remapping",
                "不可纠正错误不为 0、待退役页或待重映射行、重映射失败",
            ),
            then=Said(
                "pending: drain the host, and reset the GPU once nothing runs there; a failed remapping, or errors that come back after a reset: replace the GPU",
                "待处理：先隔离节点，待无作业时复位 GPU；重映射失败或复位后再次出错：更换 GPU",
            ),
            source="NVIDIA: GPU Memory Error Management, RMA policy; vendors' manuals of their tools",
        ),
        Step(
            do="inspect_hardware",
            needs=("fabric", "host"),
            command="fabric_manager",
            what=Said("its NVSwitches (fabric manager)", "NVSwitch（fabric manager）"),
            look=Said("whether the service is active, and its last error", "服务是否为 active，以及最后的错误"),
            then=Said(
                "not active: start it, or, once the host is drained, reset the NVSwitches with all GPUs; then test",
                "未运行：启动该服务，或隔离节点后连同所有 GPU 复位 NVSwitch；之后检测",
            ),
            source="NVIDIA Fabric Manager user guide",
        ),
        Step(
            do="reset_gpu",
            needs=("reset", "gone", "nvidia", "gpu", "host"),
            command="reset",
            destroys=True,
            what=Said(
                "its GPU, once the host is drained: the vendor's catalogue asks for it",
                "其 GPU（先隔离节点；厂商错误表要求复位）",
            ),
            look=Said(
                "“was successfully reset”; it refuses while any process uses the GPU",
                "“was successfully reset”；有进程使用该 GPU 时会拒绝",
            ),
            then=Said("run the diagnosis; if the error is back, replace the GPU", "运行诊断；错误再次出现则更换 GPU"),
            source="nvidia-smi manual: --gpu-reset; NVIDIA Xid catalogue, immediate action",
        ),
        DIAGNOSIS,
        NEXT_RUN,
    ),
)
