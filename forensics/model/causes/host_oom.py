"""host_oom: host memory ran out."""

import msgspec

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import ACCOUNTING, KERNEL, NEXT_RUN, POD
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("host memory ran out", "主机内存不足"),
    means=Said(
        "The kernel, or the limit of a container, ended a process because memory of the host ran out.",
        "主机内存耗尽，内核或容器的限制终止了进程。",
    ),
    alike="SIGKILL without such a record is killed: nobody knows who sent it.",
    do=Said(
        "Fewer data workers and batches kept ahead; a higher limit.", "减少数据加载进程与预取的 batch，或提高上限。"
    ),
    chinese=("{R} 因主机内存不足被终止",),
    example="Out of memory: Killed process 4107 (python3) total-vm:187410044kB",
    kinds=("crash",),
    holds="process",
    domain="unknown",
    leads_to=("killed", "rank_died", "rank_absent"),
    returns="changed",
    unless_changed=Said(
        "the next start would need as much memory of the host: its use, or its limit, must change first",
        "重启后同样会主机内存不足；须先减少内存用量或提高限额",
    ),
    runbook=(
        POD,
        Step(
            do="check_config",
            needs=("host", "ray"),
            command="raylet",
            gives=("log",),
            look=Said(
                "the table of processes and their memory that the monitor prints before it kills one",
                "监控在终止进程之前打印的各进程内存表",
            ),
            then=Said(
                "many workers: fewer or smaller ones on a node; one that grows: a leak; else RAY_memory_usage_threshold",
                "worker 多：减少每节点的数量或规模；单个持续增长：泄漏；否则调整 RAY_memory_usage_threshold",
            ),
            source="Ray: Out-Of-Memory Prevention; ray logs --help",
        ),
        Step(
            do="check_config",
            needs=("job", "by_kernel"),
            command="accounting",
            gives=("launcher",),
            look=Said("MaxRSS of the step beside ReqMem of the job", "作业步的 MaxRSS 与作业的 ReqMem"),
            then=Said(
                "near each other: ask for more (--mem) or use less; far apart: it grew between two samples, so look at what it loads at once",
                "接近：申请更多内存（--mem）或减少用量；相差很大：在两次采样之间骤增，检查一次性加载的内容",
            ),
            source="Slurm: sacct(1), MaxRSS, ReqMem",
        ),
        Step(
            do="check_config",
            needs=("host", "by_kernel"),
            command="kernel_log",
            gives=("kernel",),
            look=Said(
                "the table of processes that the kernel prints: rss of the one that was killed and of its workers",
                "内核打印的进程表：被终止进程及其子进程的 rss",
            ),
            then=Said(
                "many workers: fewer of them, fewer batches ahead; one that grows: a leak; a cgroup line: raise its limit",
                "子进程多：减少数量与预取；单个持续增长：泄漏；有 cgroup 行：提高限额",
            ),
            source="Linux: mm/oom_kill.c, dump_tasks; admin-guide/cgroup-v2, memory.max",
        ),
        msgspec.structs.replace(KERNEL, needs=(*KERNEL.needs, "by_kernel")),
        ACCOUNTING,
        NEXT_RUN,
    ),
)
