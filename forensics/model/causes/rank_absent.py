"""rank_absent: never entered the collective (process alive)."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import HELD, NEXT_RUN, STACK
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("never entered the collective (process alive)", "进程存活，但未进入该操作"),
    means=Said(
        "A living rank never entered an operation that all other members wait in. The fault is in what it did instead: data loading, a checkpoint, a lock, a slow branch.",
        "一个存活的 rank 未进入其他成员都在等待的操作；故障在于它当时在做的事：加载数据、检查点、锁或较慢的分支。",
    ),
    alike="A dead rank (rank_died) prints no more; a rank that entered and did not finish (kernel_stuck) has the operation in its own record; a rank without any record is no absent rank.",
    do=Said(
        "Look at the stack of that rank, at the line it names, and at what this line waits for: storage, another process, a lock.",
        "查看该 rank 的调用栈及其所指的代码行，再看该行在等什么：存储、其他进程或锁。",
    ),
    chinese=("{R} {A}（{C}）", "{R} {A}", "{R} 未进入 {O}", "{R} 未进入集合通信"),
    example="ranks 0-6 open all_reduce #57; the stack of rank 7 stands in read_shard",
    kinds=("hang",),
    holds="process",
    domain="unknown",
    returns="may",
    by_stack=True,
    operation="never entered",
    runbook=(
        Step(
            do="check_code",
            needs=("code",),
            command="source",
            look=Said(
                "what the line waits for: a file, a lock, an answer, another process",
                "该行在等什么：文件、锁、应答或其他进程",
            ),
            then=Said(
                "set that free or give it a time limit; a restart alone meets it again while it lasts",
                "先解除该等待或加上超时；等待的对象不恢复，重启后仍会停在此处",
            ),
            source="sed(1)",
        ),
        Step(
            do="check_code",
            needs=("loading", "alive", "pid", "host"),
            command="loaders",
            gives=("stack",),
            what=Said("what the workers of its loader do, while it still runs", "运行中的数据加载进程"),
            look=Said(
                "which worker of the loader stands in a read, and of which file",
                "哪个数据加载进程停在读取、读的是哪个文件",
            ),
            then=Said(
                "one file: skip or restore it; all workers: the storage",
                "单个文件：跳过或恢复该文件；所有进程：检查存储",
            ),
            source="py-spy README: dump --subprocesses",
        ),
        Step(
            do="check_code",
            needs=("pipe", "alive", "pid", "host"),
            command="locals",
            look=Said(
                "the path that its line opens, among the variables; `fuser -v` of that path lists who has it open",
                "变量中该行打开的路径；再用 `fuser -v` 查看谁打开了它",
            ),
            then=Said(
                "nobody has it open: the process at the other end ended or was never started, start it; else give the open a time limit",
                "无人打开：另一端的进程已退出或未启动，启动它；否则为打开操作加超时",
            ),
            source="fifo(7); py-spy README: dump --locals; fuser(1)",
        ),
        Step(
            do="check_code",
            needs=("lock", "host"),
            command="locks",
            what=Said("who holds the lock that it waits for", "锁的持有者"),
            look=Said("which process holds the lock that it waits for", "它等待的锁由哪个进程持有"),
            then=Said(
                "a leftover of another run: end it, then restart; a live process: its own stack tells why it keeps the lock",
                "残留进程：结束后重启；存活进程：其调用栈可说明为何持锁",
            ),
            source="lslocks(8)",
        ),
        Step(
            do="inspect_hardware",
            needs=("storage", "host"),
            command="space",
            look=Said(
                "a file system that is full or does not answer; a device that is busy all the time",
                "已满或无响应的文件系统；持续繁忙的设备",
            ),
            then=Said("repair the mount or free space before the restart", "重启前先恢复挂载或清理空间"),
            source="df(1); nfs(5), hard mounts wait for ever",
        ),
        HELD,
        STACK,
        NEXT_RUN,
    ),
)
