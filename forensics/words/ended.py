"""What is said of processes that ended: of what, who, and what to look at first."""

from collections.abc import Mapping

from forensics.model.causes.shared import LOOK_AT_CORE as LOOK_AT_CORE
from forensics.model.causes.shared import THEN_OF_CORE as THEN_OF_CORE
from forensics.model.said import Form, Noun, Said
from forensics.words.several import A_PROCESS as A_PROCESS
from forensics.words.several import AS_PRINTED as AS_PRINTED
from forensics.words.several import ON_HOSTS as ON_HOSTS
from forensics.words.several import PROCESSES as PROCESSES
from forensics.words.several import THE_JOB as THE_JOB
from forensics.words.several import UNDECIDED as UNDECIDED

# --- ranks that died of a cause of their own -------------------------------------------------------------------------
DID: Mapping[str, Said] = {  # cause → what the rank did
    "killed": Said("was killed (SIGKILL; who sent it is not recorded)", "被 SIGKILL 终止（发送者无记录）"),
    "stopped_by_hand": Said("was ended by somebody's command", "被人用命令终止"),
    "segfault": Said("crashed", "崩溃"),
    "gpu_oom": Said("ran out of GPU memory", "显存不足"),
    "host_oom": Said("was killed because the host ran out of memory", "因主机内存不足被终止"),
    "disk_full": Said("found no space left on the disk", "遇到磁盘空间不足"),
    "gpu_fault": Said("stopped on a GPU fault", "因 GPU 故障停止"),
    "exception": Said("raised an exception", "抛出异常"),
    "None": Said("ended with an error before the others gave up", "在其他 rank 超时之前异常退出"),
}
# Whose memory or disk it was (facts/ends/whose_memory.py) → the same, where it was not the host's.
DID_AT: Mapping[str, Said] = {
    "ray": Said(
        "was killed by Ray's memory monitor, because its node came near its memory limit",
        "因节点内存接近上限被 Ray 的内存监控终止",
    ),
    "limit": Said(
        "was killed because the memory limit of its job or container was reached", "因达到作业或容器的内存限额被终止"
    ),
    "shared": Said("found /dev/shm (shared memory) full", "遇到 /dev/shm（共享内存）已满"),
    "worker": Said(
        "lost a process that it had started, to SIGKILL (who sent it is not recorded)",
        "的子进程被 SIGKILL 终止（发送者无记录）",
    ),
}
WHY_AT: Mapping[str, Said] = {  # the same → what helps
    "ray": Said(
        "Ray ended it, not the kernel: read raylet.out of that node; fewer or smaller workers help, or another "
        "RAY_memory_usage_threshold",
        "由 Ray 而非内核终止：查看该节点的 raylet.out；可减少 worker，或调整 RAY_memory_usage_threshold",
    ),
    "limit": Said(
        "raise the limit (Slurm: --mem; Kubernetes: limits.memory) or use less: fewer data workers, fewer batches ahead",
        "提高限额（Slurm：--mem；Kubernetes：limits.memory）或减少用量：减少数据加载 worker 与预取批数",
    ),
    "shared": Said(
        "give the container more shared memory (docker run --shm-size; Kubernetes: an emptyDir of medium Memory at /dev/shm)",
        "调大容器的共享内存（docker run --shm-size；Kubernetes：在 /dev/shm 挂载 medium: Memory 的 emptyDir）",
    ),
    "worker": Said(
        "the kernel's log shows who killed its worker, most often for memory (fewer data workers or prefetched batches help)",
        "从内核日志可看出是谁终止了其 worker，多因内存不足（可减少数据加载 worker 或预取批数）",
    ),
}
WHILE_SET_UP = Said(
    "a communicator got no memory while it was set up, before any step: on the device are the model so far, and whatever else runs there",
    "建立通信器时未能取得显存，尚未执行任何 step：设备上只有目前的模型以及其他在运行的进程",
)
A_PROCESS_DID = Form("a process {did}", "某进程{did}")
CRASHED_IN = Form("its kernel says that it crashed in {library}", "内核记录其在 {library} 中崩溃")
CRASHED_PROCESS = Said("what crashed, on its host", "崩溃的进程（在其节点上）")
A_PROCESS_SAID = Form("a process {did}, and its words are “{line}”", "某进程{did}，其报错为“{line}”")
KILLED_BY_WORD = Said("was killed", "被终止")  # of whom somebody says that he killed it, and why
NO_STORAGE = Said("could not use its storage", "无法访问存储")
WHY: Mapping[str, Said] = {  # cause → why that is to be done first
    "exception": Said("the job's own code stood there when it was raised", "抛出异常时作业自身的代码位于该处"),
    "gpu_oom": Said(
        "it needs more GPU memory than there is (smaller micro-batches or more sharding help)",
        "所需显存超过可用显存（可减小 micro-batch 或增加切分）",
    ),
    "host_oom": Said(
        "it needs more host memory than its limit (fewer data workers or prefetched batches help)",
        "所需主机内存超过上限（可减少数据加载 worker 或预取批数）",
    ),
    "disk_full": Said("make room on the disk or in shared memory before a restart", "重启前先清理磁盘或共享内存"),
    "stopped_by_hand": Said(
        "nothing has to be repaired; ask who ended it, and why", "无需修复；请询问是谁、为何将其终止"
    ),
    "segfault": Said(
        "a library or an extension crashed; the core dump shows where", "某个库或扩展崩溃；从 core dump 可看出位置"
    ),
    "gpu_fault": Said("its GPU reported a fault", "其 GPU 报告了故障"),
    "killed": Said("these show who killed it", "从中可看出是谁终止了它"),
    "None": Said("the last lines show why it ended", "从最后几行可看出退出原因"),
}
ALLOCATOR_OF = Form("PyTorch's allocator, of {who}", "{who} 的 PyTorch 显存分配器")
IN_RESERVE = Form(
    "{spare} GiB lay in reserve, unallocated, and no piece of it held the {asked} GiB that were asked for",
    "已保留但未分配 {spare} GiB，却没有一块能容纳所请求的 {asked} GiB",
)
LOOK_AT_RESERVE = Said(
    "whether it fails again, and how much is “reserved by PyTorch but unallocated” then",
    "是否再次失败，以及届时 “reserved by PyTorch but unallocated” 的大小",
)
THEN_OF_RESERVE = Said(
    "it fails with little in reserve: the memory is used, and sizes or sharding must change",
    "保留量很小仍失败：显存确已用尽，须改变大小或切分",
)
FULL_OF_ITSELF = Form(
    "its own process holds {own} of {capacity} GiB, so that no other is in its way",
    "其自身进程占用 {capacity} GiB 中的 {own} GiB，并非其他进程所致",
)
LOOK_AT_GROWTH = Said(
    "what grew: the batch of that step (longest sequence, number of samples or images), else memory from step to step",
    "何者增长：该 step 的 batch（最长序列、样本或图像数），否则看显存是否逐步增长",
)
THEN_OF_GROWTH = Said(
    "the batch: bound its size, or recompute more; from step to step: what is kept of each step; neither: smaller micro-batches or more sharding",
    "batch：限制其大小或更多重计算；逐步增长：查每步保留了什么；都不是：减小 micro-batch 或增加切分",
)
ROUTED = Form(
    "the busiest expert of rank {rank} had {most} tokens shortly before, the mean was {mean}",
    "此前不久 rank {rank} 最忙的专家有 {most} 个 token，均值为 {mean}",
)
LOOK_AT_ROUTING = Said(
    "tokens of each expert from step to step, and whether anything bounds them (capacity factor)",
    "各 step 中每个专家的 token 数，以及是否有上限（capacity factor）",
)
THEN_OF_ROUTING = Said(
    "they grow apart: set a capacity factor or raise the loss that balances the router; a smaller micro-batch only puts it off",
    "差距增大：设置 capacity factor 或提高路由均衡损失；减小 micro-batch 只能推迟",
)
CRASHED_THERE = Said(
    "the thread that crashed stood there, in a call to native code", "崩溃的线程停在该处，正在调用 native 代码"
)
CRASHED_AT = Form("its interpreter shows where it crashed: {where}", "解释器显示其崩溃位置：{where}")
RANK_DID = Form("{who} {did}", "{who} {did}")
OF_WHAT = Form("{did} ({what})", "{did}（{what}）")
AT = Form("{text} at {file}:{line}", "{text}，位于 {file}:{line}")
EXIT_CODE = Form("exit code {code}", "退出码 {code}")
NO_MORE = Said("no more is recorded", "无更多记录")
GAVE_UP_OR_STOPPED = (  # several ranks, one
    Form(
        "{who} ended afterwards: they gave up waiting, or the launcher stopped them",
        "{who} 随后结束：等待超时，或被启动器停止",
    ),
    Form(
        "{who} ended afterwards: it gave up waiting, or the launcher stopped it",
        "{who} 随后结束：等待超时，或被启动器停止",
    ),
)
ALL_ALIKE = Said("most ranks ended alike, so no single one is the cause", "多数 rank 以同样方式退出，原因不在单个 rank")
ALL_COMPLAINED = Said(
    "most ranks had complained of the same for long before, so what does not answer is none of them",
    "此前多数 rank 已长时间反复报告同一问题，未响应的对象不是其中任何一个 rank",
)
CLOCKS_TIE = Said("the clocks do not show which of them was first", "时钟无法表明谁先退出")
LINK_HAS_TWO_ENDS = Said(
    "a link has two ends, and no record tells at which the fault was", "链路有两端，没有记录表明故障在哪一端"
)
ANY_OF_THEM = Said("nothing shows which of them was first", "无法看出谁先失败")
OR_OTHERS = Form(
    "{who} neither waited nor failed like most, so it may have been the first",
    "{who} 既未等待，也未像多数 rank 那样失败，可能更早出错",
)
ENDED_AFTER = Noun("other rank ended after it", "other ranks ended after it", "个其他 rank 随后退出")
LOGS_OF = Form(
    "the logs of {who}, of the kernel and of the scheduler",
    "{who} 的日志、内核日志、调度器日志",
    ("log", "kernel", "launcher"),
)

# --- failures without a rank -----------------------------------------------------------------------------------------
DID_SOMEWHERE: Mapping[str, Said] = {  # the same of a process whose rank is not known
    "gpu_fault": Said("reported a hardware fault of its device", "报告其 GPU 硬件故障"),
    "host_oom": Said("was killed because its host ran out of memory", "因主机内存不足被终止"),
    "gpu_oom": Said("ran out of GPU memory", "显存不足"),
    "disk_full": Said("found no space left on a device or in shared memory", "遇到磁盘或共享内存空间不足"),
    "segfault": Said("crashed on a memory access", "因内存访问错误崩溃"),
    "exception": Said("raised an exception", "抛出异常"),
}
ITS_WORKER_RAISED = Form("a process that it had started raised “{line}”", "其子进程抛出“{line}”")
FILE_OF = Form("{path}, on the host of rank {rank}", "rank {rank} 所在主机上的 {path}")
LOOK_AT_FILE = Said(
    "its size and time beside those of its neighbours, and whether it is there at all",
    "文件是否存在，大小与时间同相邻文件相比",
)
THEN_OF_FILE = Said(
    "cut short or damaged: remove the copy and have it read anew, or restore it at its source; the others go on without it only if the loader skips it",
    "不完整或损坏：删除该副本重新读取，或在来源处恢复；只有加载器会跳过它时其他 rank 才能继续",
)
ENDED_BY_RUNTIME = Said(
    "was ended by the runtime of its device, for what it asked of it or for a fault of it",
    "被其设备的运行时终止（因程序的访问或设备故障）",
)
SOMEBODY_DID = Form("a process {did}: {line}", "某进程 {did}：“{line}”")
ALL_RANKS_WAITED = Said(
    "all ranks of the job waited until a time-out, and it is none of them",
    "作业的所有 rank 均等待至超时，且该进程不是其中之一",
)
KILLED_THERE = Form("{who} ended with SIGKILL on that host", "{who} 在该节点上因 SIGKILL 退出")
KILLED_FOR_MEMORY = Form(
    "{number} processes ended with SIGKILL, which is how it kills for memory",
    "{number} 个进程因 SIGKILL 退出，因内存不足终止进程时正是如此",
)
WITH_LOCAL_RANK = Form("a process with local rank {rank}", "local rank 为 {rank} 的进程")
TASK_OF_LAUNCHER = Form("task {task} of the launcher, whose rank is not known,", "启动器的 task {task}（rank 未知）")
CALLED_SO = Form("a process called {name}, whose rank is not known,", "名为 {name} 的进程（rank 未知）")
WITHOUT_RANK = Said("a process whose rank is not known", "某进程（rank 未知）")
NOT_ITS_OWN = Said(
    "neither its words nor where it was raised tell whose failure it was", "其内容和抛出位置都无法说明是谁的故障"
)
MAY_HAVE_FOLLOWED = Said(
    "most ranks waited until a timeout, and it may have come after that", "多数 rank 已等待至超时，该失败可能发生在其后"
)

# --- failures that nothing explains ----------------------------------------------------------------------------------
ENDED_WITH_ERROR = Form("{who} ended with an error ({codes})", "{who} 异常退出（{codes}）")
LAUNCHER_STOPPED = Form("the launcher stopped {who}", "启动器停止了 {who}")
WHAT_PRINTED_LAST = Form(
    "what {who} printed last, on standard error as well", "{who} 最后打印的内容（含标准错误）", ("log",)
)
WHAT_PROCESSES_PRINTED = Said(
    "what the processes printed last, on standard error as well, and the launcher's table of failures",
    "各进程最后打印的内容（含标准错误），以及启动器的失败列表",
    "log",
    "launcher",
)
CORES_AND_KERNEL = Said(
    "the core dump of the process that crashed and the kernel log of its node (“segfault at”), and in the next run its stack by faulthandler",
    "崩溃进程的 core dump 及其节点的内核日志（“segfault at”）；下次运行时用 faulthandler 留下其调用栈",
    "core",
    "kernel",
    "log",
)
RANK_NOT_RECORDED = Said("which rank it was is not recorded", "无法得知是哪个 rank")
RANK_AND_WHY_NOT_RECORDED = Said(
    "which rank it was and why it ended are not recorded", "无法得知是哪个 rank，也无法得知退出原因"
)
ALIVE_UNTIL_STOPPED = Form("{who} were alive until the launcher stopped them", "{who} 在被启动器停止之前存活")
DID_NOT_ABORT = Form("{who} did not abort like the others", "{who} 未像其他 rank 那样 abort")
CUT_IN_TRACEBACK = Form(
    "a traceback stands at the end of {file} and is cut off: what was raised, and whether others failed before, is not recorded",
    "{file} 末尾的 traceback 被截断：无法得知抛出了什么，也无法得知此前是否有其他进程失败",
)
SHOWN_UP_TO = Form("of the code outside libraries it shows {file}:{line}", "其中库外代码显示到 {file}:{line}")
REST_OF_LOG = Form(
    "the rest of {file}, and what the other processes printed last",
    "{file} 的其余部分，以及其他进程最后打印的内容",
    ("log",),
)
NOT_WHO_NOR_WHY = Said(
    "an exit code does not tell who was the first, nor why", "退出码无法表明谁先退出，也无法表明原因"
)

# --- failures whose owner neither words nor form tell ----------------------------------------------------------------
RAISED_UNKNOWN = Form("{who} ended by “{line}”: {reason}", "{who} 因“{line}”退出：{reason}")
FAILED_ALIKE = Form("{who} failed alike, as ranks do that lost others", "{who} 以相同方式失败，与失去其他 rank 时一致")
WHOSE_IS_UNCLEAR = Form("{text}, so whose failure it is cannot be told", "{text}，因此无法判断是谁的故障")
ONE_OF = Form("it is one of {who}", "责任方在 {who} 之中")
NO_OTHER_LOG = Said(
    "no other rank left a log, and nothing tells how many there were", "没有其他 rank 的日志，也无法得知共有多少 rank"
)
ONLY_ONE = Form("only {who} may be at fault", "可能的责任方只有 {who}")
ANYBODY = Said("most ranks are not shown to have waited", "多数 rank 没有处于等待的证据")
LAST_WORDS = Form("the whole logs and stacks of {who}", "{who} 的完整日志和调用栈", ("log", "stack"))
QUOTE = Form(
    "{who} quote the failure of number {number} of their group: {line}",
    "{who} 引用了其通信组第 {number} 号的失败：“{line}”",
)
PLACE_IN_A_GROUP = Said(
    "which rank that is cannot be told without the members of the group", "不知道组成员，无法判断是哪个 rank"
)
MEMBERS_OF_ITS_GROUP = Said("the members of their process group", "其进程组的成员列表", "dump", "comm")
DRIVERS_LOG = Said(
    "the kernel log of its host: an error of its device at that time, as “Xid”",
    "其节点的内核日志（当时有无 “Xid” 等设备错误）",
    "kernel",
)
CALL_TO_DEVICE_FAILED = Said(
    "a call to the device failed, and its words do not tell whether the device or the program did it",
    "对设备的调用失败，报错内容无法区分是设备还是程序的问题",
)
OTHERS_AT_THAT_TIME = Said("stacks and logs of all ranks at that time", "当时所有 rank 的调用栈与日志", "stack", "log")
MAY_BE_ANOTHERS = Said(
    "it may have waited for another process, whose line this is not", "它可能在等待另一个进程，出错的不是这一行"
)
SHARED_MEMORY = Said(
    "shared memory, where the job runs (in its container, if it has one), while workers run",
    "共享内存（在作业所在处查看；有容器则在容器内），在 worker 运行期间查看",
)
LOOK_AT_SHARED = Said("Size and Use% of /dev/shm", "/dev/shm 的 Size 与 Use%")
THEN_OF_SHARED = Said(
    "64M, or near 100 %: give more, or fewer workers; far from full: a file that was cut short or replaced while it was mapped, or storage that "
    "failed, raises the same signal",
    "64M 或接近 100 %：调大或减少 worker；远未占满：被映射的文件被截断或替换，或存储故障，也会引发同一信号",
)
ROOM_IN_SHARED = Form(
    "a bus error is a page that could not be had; /dev/shm is used to {percent} % by its own log (workers that are dead have given theirs back)",
    "总线错误即无法取得某一页；日志中 /dev/shm 已用 {percent} %（已退出的 worker 会释放其占用）",
)
MAPPED_FILES = Said(
    "the files that the data set maps, and the storage that they are on", "数据集所映射的文件及其所在的存储"
)
LOOK_AT_MAPPED = Said(
    "on the host where it ran: an I/O error, a lost file server or a memory error at that time; files that are shorter or newer than the start of the job",
    "在其运行的节点上：当时的 I/O 错误、文件服务器失联或内存错误；文件是否变短或晚于作业启动",
)
THEN_OF_MAPPED = Said(
    "one of these: repair it before the restart; none: watch shared memory while workers run",
    "有：修复后再重启；没有：在 worker 运行期间观察共享内存",
)
WHILE_WORKERS_RUN = Said(
    "it may have been full for a moment, and workers that are dead have given theirs back",
    "可能曾短暂占满，已退出的 worker 会释放其占用",
)
