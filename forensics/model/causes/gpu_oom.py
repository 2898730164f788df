"""gpu_oom: GPU memory ran out."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import NEXT_RUN, SOURCE
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("GPU memory ran out", "显存不足"),
    means=Said("A rank ran out of GPU memory.", "该 rank 显存不足。"),
    alike="host_oom is the memory of the host; a leak shows as growth over steps.",
    do=Said("Smaller micro-batches, more sharding, recomputation.", "减小 micro-batch，增加切分，或使用重计算。"),
    chinese=("{R} 在 {C} 处显存不足", "{R} 显存不足"),
    example="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    kinds=("crash",),
    holds="process",
    domain="workload",
    leads_to=("exception", "rank_absent", "rank_died"),
    returns="changed",
    unless_changed=Said(
        "the next start would need as much GPU memory: sizes or sharding must change first",
        "重启后同样会显存不足；须先调整 batch 大小或切分方式",
    ),
    runbook=(
        SOURCE,
        Step(
            do="check_config",
            needs=("host", "not_own"),
            command="users_of_memory",
            look=Said(
                "a process that is none of this job, above all one left by an earlier run; other ranks of this job there have touched a device "
                "before they chose their own",
                "不属于本作业的进程，尤其是上次运行的残留；若有本作业的其他 rank，则其在选定自己的设备之前已使用该设备",
            ),
            then=Said(
                "a leftover: end it and restart; none, and no step had run: more sharding or offloading; later: smaller micro-batches, more sharding or "
                "recomputation first",
                "残留进程：结束后重启；没有且尚未执行任何 step：增加切分或卸载；之后：先减小 micro-batch、增加切分或重计算",
            ),
            source="nvidia-smi manual: compute-apps; PyTorch: CUDA memory management",
        ),
        NEXT_RUN,
    ),
)
