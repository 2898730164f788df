"""What detectors of several rooms say alike."""

from forensics.model.said import Form, Noun, Said

UNDECIDED = Form("Undecided: {what}.", "无法判定：{what}。")
THE_JOB = Said("job", "作业")
AS_PRINTED = Form("{line}", "“{line}”")  # a line of the bundle, within a sentence
QUOTED = Form("“{line}”", "“{line}”")
A_PROCESS = Said("a process", "某进程")
PROCESSES = Noun("process", "processes", "个进程")
ON_HOSTS = Form("{who} on {hosts}", "{who}（{hosts}）")
UNNAMED_HOST = Said("an unnamed host", "未命名的节点")

# --- waits -----------------------------------------------------------------------------------------------------------
ALL_IN = Form(
    "all members of {call} are in it ({who}) and none has completed it", "{call}：成员均已进入（{who}），无一完成"
)
LOOK_ALIKE = Said(
    "a link, an adapter, a switch and a stuck kernel look alike here",
    "仅凭这些无法区分链路、网卡、交换机故障与 kernel 卡死",
)


# --- what to collect -------------------------------------------------------------------------------------------------
ALL_DUMPS = Said("Flight Recorder dumps of all ranks", "所有 rank 的 Flight Recorder 转储", "dump")
ALL_STACKS = Said("a py-spy dump of every rank", "所有 rank 的 py-spy 调用栈", "stack")
DUMPS_AND_STACKS = Said(
    "Flight Recorder dumps and py-spy dumps of all ranks",
    "所有 rank 的 Flight Recorder 转储与 py-spy 调用栈",
    "dump",
    "stack",
)
LOG_AND_STACK = Form("log and py-spy dump of {who}", "{who} 的日志与 py-spy 调用栈", ("log", "stack"))
LOG_STACK_KERNEL = Form(
    "log, stack and kernel log of {who}", "{who} 的日志、调用栈与内核日志", ("log", "stack", "kernel")
)
LOG_STACK_HOST = Form(
    "the log, the stack and the kernel log of the host of {who}",
    "{who} 的日志、调用栈，及其节点的内核日志",
    ("log", "stack", "kernel"),
)
STACK_LOG_KERNEL = Form(
    "stack, log and kernel log of {who}", "{who} 的调用栈、日志与内核日志", ("stack", "log", "kernel")
)
