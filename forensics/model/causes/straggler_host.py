"""straggler_host: its host is slower than the others."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import NEXT_RUN
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("loses time outside of its device: data, storage or processor", "时间耗在设备之外：数据、存储或 CPU"),
    means=Said(
        "A rank loses time on the host: data, Python, the file system.",
        "该 rank 在主机侧耗时更长：数据、Python 或文件系统。",
    ),
    alike="straggler_compute loses it on the GPU.",
    do=Said("Look for other processes on that host, and at its data loader.", "检查该节点上的其他进程与数据加载。"),
    chinese=("{R} 从 step {S} 起在主机侧比其他 rank 慢（{T}）", "{R} 在主机侧比其他 rank 慢"),
    example="data loading of rank 5: 1.9 s a step; of its peers: 0.02 s",
    kinds=("slow",),
    by_times=True,
    holds="process",
    domain="unknown",
    runbook=(
        Step(
            do="check_data",
            needs=("host", "running"),
            command="load",
            look=Said(
                "a process that takes the processor and is none of the job; a device at 100 % (%util), long waits (r_await)",
                "占用 CPU 的非作业进程；%util 达 100% 的设备、较长的 r_await",
            ),
            then=Said(
                "a foreign process: find its owner (cgroup, `scontrol listpids`), who moves it; end only what an earlier attempt of this job left; storage: read elsewhere or ahead; neither: the stack of its loader while it runs",
                "外来进程：查明其归属（cgroup、`scontrol listpids`），由其所有者移走，只结束本作业先前遗留的进程；存储：换位置或预读；都没有：运行时采集其数据加载进程的调用栈",
            ),
            source="top(1); iostat(1)",
        ),
        Step(
            do="check_data",
            needs=("alive", "pid", "host"),
            command="loaders",
            gives=("stack",),
            look=Said("what the workers of its loader do while the GPU waits", "GPU 等待时数据加载进程在做什么"),
            then=Said("more workers, or faster storage", "增加进程数或换更快的存储"),
            source="py-spy README: dump --subprocesses",
        ),
        NEXT_RUN,
    ),
)
