"""comm_corruption: finite before the communication, bad after it."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CHECKPOINT, DIAGNOSIS, LINKS, MEMORY, NEXT_RUN
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("finite before the communication, bad after it", "通信前正常，通信后异常"),
    means=Said(
        "A communication gave a bad value although all its observed inputs were finite.",
        "通信的输入经观测均有限，输出却含异常值。",
    ),
    alike="A sum can overflow: that is overflow.",
    do=Said("Test the GPUs and the links between them.", "检测 GPU 及其间的链路。"),
    chinese=("通信后 {R} 收到 {V}，已观测的输入均正常：{M}", "通信后 {R} 收到 {V}，已观测的输入均正常"),
    example="step 24: gradients finite on all ranks before all_reduce, NaN after it on rank 2",
    kinds=("numerics",),
    holds="value",
    domain="infrastructure",
    leads_to=("nan_birth", "exception"),
    runbook=(*MEMORY, *LINKS, DIAGNOSIS, CHECKPOINT, NEXT_RUN),
)
