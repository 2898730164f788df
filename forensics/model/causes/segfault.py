"""segfault: segmentation fault."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import KERNEL, LOOK_AT_CORE, NEXT_RUN, SOURCE, THEN_OF_CORE
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
            what=Said("the core dump, if one was kept", "core dump（若有保留）"),
            look=LOOK_AT_CORE,
            then=THEN_OF_CORE,
            source="coredumpctl(1)",
        ),
        KERNEL,
        NEXT_RUN,
    ),
)
