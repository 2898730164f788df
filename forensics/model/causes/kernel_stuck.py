"""kernel_stuck: entered the operation, but the GPU never finished it."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import KERNEL, NEXT_RUN, STACK
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("entered the operation, but the GPU never finished it", "已进入操作，但 GPU 未完成（kernel 卡死）"),
    means=Said(
        "A rank entered an operation, all other members completed it, and its GPU did not.",
        "该 rank 进入操作，其他成员均已完成，而它的 GPU 未完成。",
    ),
    alike="gpu_fault has a record of the driver besides. Where nobody completed it, no member can be told from another.",
    do=Said(
        "Take a native stack of the process, and read the driver's log of that GPU.",
        "采集该进程的 native 调用栈，并查看该 GPU 的驱动日志。",
    ),
    chinese=("{R} 进入 {O} 但未完成", "{R} 的 GPU 未完成集合通信"),
    example="rank 4: all_reduce #57 started; ranks 0-3 and 5-7: completed",
    kinds=("hang",),
    holds="device",
    domain="unknown",
    returns="may",
    by_stack=True,
    operation="stuck in",
    runbook=(
        Step(
            do="inspect_hardware",
            needs=("host",),
            command="device",
            gives=("device",),
            what=Said("its GPU: a fault of the device or of the program", "其 GPU（区分设备故障与程序问题）"),
            look=Said(
                "an error that counts up, or a utilisation of 100 % at low power: a kernel that spins",
                "持续增长的错误计数，或利用率 100% 而功耗很低（kernel 空转）",
            ),
            then=Said(
                "an error: leave the host out; none: take a native stack and compare the versions of NCCL and driver",
                "有错误：隔离节点；没有：采集 native 调用栈，比较 NCCL 与驱动版本",
            ),
            source="vendors' manuals of their tools",
        ),
        KERNEL,
        STACK,
        NEXT_RUN,
    ),
)
