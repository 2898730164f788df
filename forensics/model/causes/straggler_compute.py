"""straggler_compute: computes more slowly than its peers."""

import msgspec

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import CLOCKS, KERNEL, NEXT_RUN
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("computes more slowly than its peers", "计算比其他 rank 慢"),
    means=Said("A rank computes more slowly than its peers.", "该 rank 的计算比其他 rank 慢。"),
    alike="A rank that waits for a slow one looks slow in total; its own compute time is not.",
    do=Said(
        "Compare its work with its peers, look at the load of its host, then at clocks, temperature and power of its device.",
        "先比较计算量与主机负载，再检查设备的频率、温度与功耗。",
    ),
    chinese=("{R} 从 step {S} 起计算比其他 rank 慢", "{R} 计算比其他 rank 慢"),
    example="forward of rank 5: 410 ms; of its peers: 232 ms",
    kinds=("slow",),
    by_times=True,
    holds="process",
    domain="unknown",
    returns="lasts",
    runbook=(
        Step(
            do="check_code",
            needs=("alive", "pid", "host"),
            command="profile",
            gives=("stack",),
            look=Said(
                "functions that take time here and none in the same look at a rank that is fast",
                "只在该进程中耗时、在正常 rank 的同样采样中没有的函数",
            ),
            then=Said("take it out, or have every rank do its share", "去掉，或分摊到各 rank"),
            source="py-spy README: record",
        ),
        Step(
            do="inspect_hardware",
            needs=("host", "not_alone", "running"),
            command="load",
            look=Said(
                "processes that are not of the job and take processors, a load above the number of processors, steal",
                "占用 CPU 的非作业进程、高于核数的负载、steal",
            ),
            then=Said(
                "a foreign process: find its owner (cgroup, `scontrol listpids`), who moves it; end only what an earlier attempt of this job left; none: compare what the rank computes with its peers, then look at the clocks of its device",
                "外来进程：查明其归属（cgroup、`scontrol listpids`），由其所有者移走，只结束本作业先前遗留的进程；没有：先与其他 rank 比较计算量，再看设备频率",
            ),
            source="top(1); iostat(1)",
        ),
        msgspec.structs.replace(CLOCKS, what=Said("clocks and temperature of its device", "其设备的频率与温度")),
        KERNEL,
        NEXT_RUN,
    ),
)
