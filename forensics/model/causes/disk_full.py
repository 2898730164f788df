"""disk_full: the disk is full."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import NEXT_RUN
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("a disk, or shared memory, is full", "磁盘或共享内存空间不足"),
    means=Said("Writing failed because the disk, or shared memory, was full.", "磁盘或共享内存已满，写入失败。"),
    alike="A full /dev/shm says the same as a full disk; the path tells which.",
    do=Said("Make room before the restart.", "重启之前先清理空间。"),
    chinese=("{R} 在 {C} 处遇到磁盘空间不足", "{R} 遇到磁盘空间不足"),
    example="OSError: [Errno 28] No space left on device",
    kinds=("crash",),
    holds="process",
    domain="unknown",
    leads_to=("exception", "rank_died", "rank_absent"),
    returns="changed",
    unless_changed=Said("it stays full until somebody frees space or makes it larger", "须先腾出空间或扩容再重启"),
    runbook=(
        Step(
            do="check_config",
            needs=("host", "shared"),
            command="shared_memory",
            look=Said(
                "Size, Avail and Use% of /dev/shm, on the host and in the container",
                "/dev/shm 的 Size、Avail、Use%（主机与容器内）",
            ),
            then=Said(
                "64M is what a container gets unasked: docker run --shm-size=16g, or an emptyDir of medium Memory at /dev/shm; full of "
                "old files: remove those that no process has open",
                "64M 是容器的默认值：docker run --shm-size=16g，或在 /dev/shm 挂载 medium: Memory 的 emptyDir；旧文件占满：删除无进程打开的文件",
            ),
            source="docker run: --shm-size; NCCL, Troubleshooting: Shared memory; shm_overview(7)",
        ),
        Step(
            do="check_config",
            needs=("place",),
            command="space",
            look=Said(
                "a line at 100 % that holds the checkpoint folder, /dev/shm or /tmp, of blocks or of inodes",
                "检查点目录、/dev/shm 或 /tmp 所在行达到 100%（空间或 inode）",
            ),
            then=Said(
                "free space, or raise the shared memory of the container; remove the checkpoint that was cut off",
                "清理空间或调大容器的共享内存；删除写了一半的检查点",
            ),
            source="df(1); shm_overview(7)",
        ),
        NEXT_RUN,
    ),
)
