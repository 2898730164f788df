"""Steps of the runbook that several causes share."""

from forensics.model.runbook import Step
from forensics.model.said import Said

_SLURM = "Slurm: sacct(1), job state codes"
_PODS = "Kubernetes: Debug Pods; Determine the Reason for Pod Failure"

SOURCE = Step(
    do="check_code",
    needs=("code",),
    command="source",
    look=Said("what the line calls, and with which values it fails", "该行调用了什么、哪些取值会失败"),
    then=Said("fix it, run that input on one process, then restart", "修改后用单进程跑同一输入，再重启"),
    source="sed(1)",
)
CALLS = Step(  # one process alone has nobody to differ from
    do="check_code",
    needs=("code",),
    command="source",
    look=Said(
        "what leads to this call on some ranks and not on others: an if by rank, by data or by step, an exception that is caught, a loop of uneven length",
        "为何只有部分 rank 走到该调用：按 rank、数据或步数的分支，被捕获的异常，长度不一的循环",
    ),
    then=Said(
        "make every member call the same, in the same order; test it with at least two ranks, for one alone cannot show it",
        "使每个成员按相同顺序发起相同调用；至少用两个 rank 验证，单进程无法复现",
    ),
    source="sed(1); PyTorch: torch.distributed, collectives",
)
KERNEL = Step(
    do="collect_more",
    needs=("host",),
    command="kernel_log",
    gives=("kernel",),
    look=Said(
        "“Out of memory: Killed process”, “Xid”, “segfault at” or a link that went down, at the time of the incident",
        "事故时刻附近的 “Out of memory: Killed process”、“Xid”、“segfault at” 或链路断开",
    ),
    then=Said(
        "out of memory: lower its use or raise the limit; an error of a device: leave the host out; nothing: ask who sends signals there",
        "内存不足：减少用量或提高上限；设备错误：隔离该节点；都没有：查是谁发的信号",
    ),
    source="dmesg(1); Linux: admin-guide/sysctl/vm, oom_kill",
)
BOOT_BEFORE = Step(
    do="collect_more",
    needs=("host", "rebooted"),
    command="boot_before",
    gives=("kernel",),
    what=Said("the kernel log of the boot before", "上一次启动的内核日志"),
    look=Said(
        "the last lines before it stopped: “Xid”, “Machine check”, “hung task”, “Kernel panic”, or nothing at all",
        "停止前的最后几行：“Xid”、“Machine check”、“hung task”、“Kernel panic”，或什么都没有",
    ),
    then=Said(
        "an error of a device: have it tested; nothing: power or the board, see the log of its management controller",
        "设备错误：检测该设备；什么都没有：供电或主板，查看 BMC 日志",
    ),
    source="journalctl(1): --boot",
)
BMC = Step(
    do="collect_more",
    needs=("host", "rebooted"),
    command="bmc",
    what=Said("the event log of its management controller", "BMC 事件日志"),
    look=Said(
        "power, temperature, memory or PCIe errors at the time of the incident",
        "事故时刻的供电、温度、内存或 PCIe 错误",
    ),
    then=Said("an entry: have that part repaired before the host comes back", "有记录：修复该部件后再启用节点"),
    source="ipmitool(1): sel list",
)
BUG_REPORT = Step(
    do="collect_more",
    needs=("host", "nvidia"),
    command="bug_report",
    gives=("device",),
    what=Said("NVIDIA's bug report, before anything is reset or restarted", "NVIDIA bug report（复位或重启之前）"),
    look=Said("nvidia-bug-report.log.gz in the folder where it ran", "运行目录下的 nvidia-bug-report.log.gz"),
    then=Said(
        "keep it for the vendor: a reset or a restart of the host takes this away",
        "留给厂商：复位或重启后这些信息就没有了",
    ),
    source="NVIDIA driver: nvidia-bug-report.sh --help",
)
ACCOUNTING = Step(
    do="collect_more",
    needs=("job",),
    command="accounting",
    gives=("launcher",),
    what=Said("the scheduler's record of the job", "调度器对该作业的记录"),
    look=Said(
        "State and ExitCode (status:signal) of each step, MaxRSS beside ReqMem",
        "各作业步的 State、ExitCode（状态码:信号），MaxRSS 与 ReqMem",
    ),
    then=Said(
        "OUT_OF_MEMORY: ask for more memory; NODE_FAIL: leave that node out; TIMEOUT or PREEMPTED: start again",
        "OUT_OF_MEMORY：申请更多内存；NODE_FAIL：换下该节点；TIMEOUT 或 PREEMPTED：重新启动",
    ),
    source=_SLURM,
)
POD = Step(
    do="collect_more",
    needs=("pod",),
    command="pod",
    gives=("launcher", "kernel"),
    what=Said("what Kubernetes keeps of the pod", "Kubernetes 对该 pod 的记录"),
    look=Said("Last State with its Reason and Exit Code; Events", "Last State 的 Reason 与 Exit Code；Events"),
    then=Said(
        "OOMKilled: raise the limit or lower the use; Evicted: see the node's pressure; Error: read its log",
        "OOMKilled：提高限额或减少用量；Evicted：查看节点资源压力；Error：查看其日志",
    ),
    source=_PODS,
)
PREVIOUS_LOG = Step(
    do="collect_more",
    needs=("pod", "gone"),
    command="previous_log",
    gives=("log",),
    what=Said("the log of the pod's last run", "该 pod 上一次运行的日志"),
    look=Said("the last lines, above all a traceback", "最后几行，尤其是 traceback"),
    then=Said("go by the first error of them that is no time-out", "以其中第一个并非超时的错误为准"),
    source=_PODS,
)
STACK = Step(
    do="collect_more",
    gives=("stack",),
    look=Said(
        "the innermost frame of your own code in the main thread, twice, a minute apart",
        "主线程中最内层的自有代码帧；相隔一分钟采两次",
    ),
    then=Said(
        "the same frame: it stands there; another one: it is slow, not stuck", "同一帧：停在该处；不同：是慢而非卡死"
    ),
    source="py-spy README",
)
HELD = Step(
    do="collect_more",
    needs=("held", "alive", "pid", "host"),
    command="held",
    gives=("stack",),
    look=Said(
        "State T: a signal stopped it; t with a TracerPid: a debugger holds it; below, where it stands",
        "State 为 T：被信号停止；t 且有 TracerPid：被调试器控制；其后为所停位置",
    ),
    then=Said(
        "find who stopped it (shell, debugger, freezer, a scheduler that suspends); if nobody means it, `kill -CONT` with that pid lets it go on, "
        "or end the debugger; where the others have given up meanwhile, restart",
        "查明是谁停止的（shell、调试器、freezer、调度器挂起）；若无人有意如此，对该 pid 执行 `kill -CONT` 或退出调试器即可继续；若其他 rank 已超时退出则重启",
    ),
    source="proc(5): status; signal(7); py-spy README: dump --nonblocking",
)
GATHER = Step(
    do="collect_more",
    needs=("running",),
    command="gather",
    gives=("dump", "stack", "log", "comm", "ras", "kernel", "device", "port", "launcher"),
    look=Said(
        "gather.sh: run `sh gather.sh` on every node of the job before anything of it is stopped or started again; it stops nothing",
        "gather.sh：停止或重启任何部分之前，在作业的每个节点上运行 `sh gather.sh`；它不会停止任何进程",
    ),
    then=Said(
        "put its archives beside this evidence and analyze all of it again, with --hung if the job stood still",
        "将各节点的归档与现有证据放在一起重新分析；若作业确已停滞则加 --hung",
    ),
    source="forensics/setup/gather.sh, its head",
)
LEFT = Step(
    do="collect_more",
    needs=("over",),
    command="gather",
    gives=("log", "kernel", "port"),
    look=Said(
        "gather.sh: run `sh gather.sh` on every node of the job, before logs are rotated and counters cleared: whose log ends otherwise than the "
        "others', “Xid”, “Out of memory”, a link that went down, errors of ports",
        "gather.sh：在日志轮转、计数清零之前在作业的每个节点上运行 `sh gather.sh`：哪个 rank 的日志结尾不同，有无 “Xid”、“Out of memory”、链路断开、端口错误",
    ),
    then=GATHER.then,
    source=GATHER.source,
)
NEXT_RUN = Step(
    do="collect_more",
    command="next_run",
    look=Said(
        "in what it prints: the variable or hook that leaves each kind of evidence", "输出中每类证据对应的变量或钩子"
    ),
    then=Said("add them to the job's script before it is started again", "重新启动前加入作业脚本"),
    source="forensics/setup/settings.toml, where each row names its own",
)
RECORDER = Step(
    do="check_code",
    needs=("no_code", "no_records"),
    command="recorder",
    look=Said(
        "after the next hang: the stack of each entry that is not completed", "下次卡死后：每条未完成记录的调用栈"
    ),
    then=Said("compare the order of groups rank by rank", "逐个 rank 比较各进程组的先后顺序"),
    source="PyTorch tutorial: Flight Recorder for Debugging Stuck Jobs",
)
FINGERPRINTS = Step(
    do="check_code",
    needs=("no_code",),
    command="fingerprints",
    look=Said(
        "“Detected mismatch between collectives on ranks”, with operation, shape and type of each",
        "“Detected mismatch between collectives on ranks” 及各 rank 的操作、形状和类型",
    ),
    then=Said(
        "fix the branch that only some ranks take; take the setting out again, it slows every call",
        "修改只有部分 rank 进入的分支；之后去掉该设置（会拖慢每次通信）",
    ),
    source="PyTorch: torch.distributed, Debugging; TORCH_DISTRIBUTED_DEBUG",
)
_UNPLUGGED = Said(
    "not Active or LinkUp: leave the host out and have cable and optics changed; all well: read the switch's log at the other end",
    "不是 Active/LinkUp：隔离该节点并更换线缆或光模块；正常：查看对端交换机日志",
)
_GROWS = Said(
    "they grow: leave the host out and have cable and optics changed; they do not: read the switch's log at the other end",
    "持续增长：隔离该节点并更换线缆或光模块；不增长：查看对端交换机日志",
)
# Each sort of link has its own tool, and what each tool prints is another thing.
LINKS = (
    Step(
        do="inspect_network",
        needs=("host", "infiniband"),
        command="links",
        look=Said("State and Physical state of each port", "各端口的 State 与 Physical state"),
        then=_UNPLUGGED,
        source="ibstat(8)",
    ),
    Step(
        do="inspect_network",
        needs=("host", "ethernet"),
        command="links",
        look=Said(
            "errors, dropped and carrier of each interface, twice", "各接口的 errors、dropped、carrier（采两次）"
        ),
        then=_GROWS,
        source="ip-link(8)",
    ),
    Step(
        do="inspect_network",
        needs=("host", "efa"),
        command="links",
        look=Said(
            "4: ACTIVE as state of each port, and counters with err, drop or timeout in their names, twice",
            "各端口 state 为 4: ACTIVE；名称含 err、drop、timeout 的计数（采两次）",
        ),
        then=Said(
            "a port that is not active: leave the instance out and replace it; counters grow on one end alone: that end",
            "端口非 active：替换该实例；仅一端计数增长：问题在该端",
        ),
        source="Linux: Documentation/ABI/stable/sysfs-class-infiniband; AWS: monitor an Elastic Fabric Adapter",
    ),
    Step(
        do="inspect_network",
        needs=("host",),
        command="links",
        look=Said("the state of each link, and errors that grow", "各链路的状态，以及增长的错误计数"),
        then=_GROWS,
        source="vendors' manuals of their link tools",
    ),
)
LOOK_AT_CORE = Said(
    "whether a core was kept, and its first frame that is not of libc: whose library it is",
    "是否保留了 core，其第一个不属于 libc 的栈帧属于哪个库",
)
THEN_OF_CORE = Said(
    "the same frame twice: fix or change that library's version; another one each time: test memory and GPU; no core: allow one (ulimit, "
    "core_pattern) in the next run",
    "两次在同一帧：修复或更换该库版本；每次不同：检测内存和 GPU；没有 core：下次运行时开启（ulimit、core_pattern）",
)
CLOCKS = Step(
    do="inspect_hardware",
    needs=("host", "running"),
    command="clocks",
    look=Said(
        "clocks below those of its peers, a temperature near its limit, an active reason to slow down",
        "频率低于其他卡、温度接近上限、降频原因为 Active",
    ),
    then=Said(
        "thermal: cooling; power: cap or supply; another process: have its owner move it; else replace it at the next checkpoint",
        "过热：检查散热；功耗：检查功耗上限或供电；有其他进程：由其所有者移走；否则在下一个检查点更换",
    ),
    source="nvidia-smi manual: clocks event reasons; vendors' manuals",
)
DIAGNOSIS = Step(
    do="inspect_hardware",
    needs=("host", "gpu", "nvidia", "gone", "visible"),
    command="diagnosis",
    what=Said("its GPU once no job runs there, for half an hour", "其 GPU（无作业时运行约半小时）"),
    look=Said(
        "a test that says Fail, above all memory and targeted stress", "结果为 Fail 的测试项，尤其是显存与压力测试"
    ),
    then=Said(
        "Fail: leave the host out and have the GPU replaced; Pass clears nobody: repeat the step on another GPU",
        "Fail：隔离节点并更换 GPU；Pass 不能排除故障：换一块 GPU 重跑该 step",
    ),
    source="NVIDIA DCGM user guide: dcgmi diag, level 3 (half an hour, on an idle GPU)",
)
_CLEARS_NOBODY = Said(
    "errors: leave the host out; none clears nobody: repeat the step on another device",
    "有错误：隔离节点；没有也不能排除：换一个设备重跑该 step",
)
# Of a value that nobody computed: what counts its memory's errors, else what the kernel saw of it.
MEMORY = (
    Step(
        do="inspect_hardware",
        needs=("host",),
        command="memory_errors",
        look=Said(
            "corrected and uncorrected memory errors of this GPU beside those of its neighbours",
            "该 GPU 与相邻 GPU 的可纠正与不可纠正错误",
        ),
        then=_CLEARS_NOBODY,
        source="vendors' manuals of their tools; Dixit et al. 2021, Silent Data Corruptions at Scale",
    ),
    Step(
        do="inspect_hardware",
        needs=("host",),
        command="kernel_log",
        look=Said(
            "“EDAC”, “Machine check”, “Hardware Error” or an error of the device before that step",
            "该 step 之前的 “EDAC”、“Machine check”、“Hardware Error” 或设备错误",
        ),
        then=_CLEARS_NOBODY,
        source="Linux: admin-guide/ras; Dixit et al. 2021, Silent Data Corruptions at Scale",
    ),
)
STORES = Step(
    do="inspect_hardware",
    look=Said(
        "whether it answers at all, how full it is, and what its own log says of that time: for HDFS the namenode's (safe mode, dead or full datanodes)",
        "是否应答、剩余空间，以及其自身日志在该时刻的记录：HDFS 看 namenode 日志（安全模式、失效或已满的 datanode）",
    ),
    then=Said(
        "no answer or no room: repair that before the restart; it answers: the client's own retries and time-outs, and the network to it",
        "无应答或空间不足：重启前先恢复；应答正常：查客户端的重试与超时，以及到它的网络",
    ),
    source="HDFS commands guide (dfsadmin -report); the stores' own tools",
)
CHECKPOINT = Step(
    do="rollback",
    needs=("checkpoint",),
    command="checkpoint",
    look=Said(
        "a part for every writer, of like size, none newer than the failure", "每个写入方都有一份，大小相近，且早于故障"
    ),
    then=Said("parts are missing: take the one before", "有缺失：改用更早的一个"),
    source="PyTorch: torch.distributed.checkpoint",
)
REPEATED = Step(
    do="check_data",
    look=Said(
        "samples that are empty, very long or all masked, and values out of range",
        "空样本、超长样本、全部被掩码的样本及超出范围的值",
    ),
    then=Said(
        "repeat the step without them; if it is fine, filter them; if not, repeat it on another device",
        "去掉后重跑该 step；若正常则过滤这类数据，否则在另一设备上重跑",
    ),
    source="Chowdhery et al. 2022 (PaLM), 5.1; Zhang et al. 2022 (OPT), logbook",
)
