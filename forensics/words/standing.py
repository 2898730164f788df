"""What is said of processes that were ended because nothing moved."""

from forensics.model.said import Form
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
