"""segfault: segmentation fault."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import KERNEL, NEXT_RUN, SOURCE
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("segmentation fault", "段错误"),
    means=Said("A process crashed in native code.", "进程在 native 代码中崩溃。"),
    alike="A crash while the job is taken down is a consequence.",
    do=Said("Read the core dump; compare versions of libraries and drivers.", "查看 core dump，比较库与驱动的版本。"),
    chinese=("{R} 发生段错误（SIGSEGV）",),
    example="python3[4107]: segfault at 10 ip 00007f3c1a20b4c2 error 4",
    kinds=("crash",),
    holds="process",
    domain="unknown",
    leads_to=("rank_died", "rank_absent"),
    runbook=(
        SOURCE,
        Step(
            do="check_code",
            needs=("pid", "host"),
            command="core",
            gives=("core",),
            look=Said(
                "the first frame that is not of libc: whose library it is", "第一个不属于 libc 的栈帧：属于哪个库"
            ),
            then=Said(
                "the same frame twice: fix or change that library's version; another one each time: test memory and GPU",
                "两次在同一帧：修复或更换该库版本；每次不同：检测内存和 GPU",
            ),
            source="coredumpctl(1)",
        ),
        KERNEL,
        NEXT_RUN,
    ),
)
