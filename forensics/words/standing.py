"""What is said of processes that were ended because nothing moved."""

from forensics.model.said import Form, Said
from forensics.words.several import UNDECIDED as UNDECIDED

ENDED = Form(
    "nothing moved for {seconds:.0f} s, and whoever watches ended {who}; no line shows where they stood",
    "{seconds:.0f} 秒内毫无进展，监视程序终止了 {who}；没有日志说明它们当时停在哪里",
)
STACKS = Form(
    "stacks of {who} (py-spy dump), taken by whoever watches before it ends them",
    "{who} 的调用栈（py-spy dump），由监视程序在终止它们之前采集",
    ("stack",),
)

STAND_ALIKE = Form(
    "each of the {number} ranks says in its own log that nothing moved for {seconds:.0f} s, all behind step {step}: none of them is ahead or behind",
    "{number} 个 rank 各自的日志都说 {seconds:.0f} 秒内毫无进展，且都停在第 {step} 步之后：没有一个领先或落后",
)
WHAT_THEY_SHARE = Said(
    "stacks of all ranks, and the logs of the services that all of them ask (data, storage, coordination)",
    "所有 rank 的调用栈，以及它们共同访问的服务（数据、存储、协调）的日志",
    "stack",
)
