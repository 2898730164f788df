"""What was looked at and found clean: evidence, how much of it, what it shows."""

from collections.abc import Mapping
from typing import Literal

from forensics.model.said import Form, Noun, Said

What = Literal[
    "tensors",
    "replicas",
    "steps",
    "kernel",
    "records",
    "stacks",
    "phases",
    "devices",
    "checks",
    "checkpoints",
    "lines",
    "ras",
    "scheduler",
    "counters",
]
WHAT: Mapping[What, Said] = {
    "tensors": Said("tensor statistics", "张量统计"),
    "replicas": Said("replicas", "副本"),
    "steps": Said("training log", "训练日志"),
    "kernel": Said("kernel logs", "内核日志"),
    "records": Said("records of collectives", "集合通信记录"),
    "stacks": Said("stacks", "调用栈"),
    "phases": Said("times of ranks", "各 rank 耗时"),
    "devices": Said("readings of devices", "设备读数"),
    "checks": Said("checks of hosts", "节点检查"),
    "checkpoints": Said("checkpoints", "检查点"),
    "ras": Said("RAS status", "RAS 状态"),
    "scheduler": Said("words of the scheduler", "调度器记录"),
    "counters": Said("counters of groups", "进程组计数"),
    "lines": Said("all lines", "全部日志行"),
}
RANKS, HOSTS, DEVICES, STEPS = (
    Noun("rank", "ranks", "个 rank"),
    Noun("host", "hosts", "个节点"),
    Noun("device", "devices", "个设备"),
    Noun("step", "steps", "个 step"),
)
ENTRIES = Noun("entry", "entries", "条")
TENSORS, CALLS, PHASES, LINES, FILES = (
    Noun("tensor", "tensors", "个张量"),
    Noun("call", "calls", "次调用"),
    Noun("phase", "phases", "个阶段"),
    Noun("line", "lines", "行"),
    Noun("file", "files", "个文件"),
)
QUANTITIES = Noun("quantity", "quantities", "种指标")
TIMES = Form("{one} × {other}", "{one} × {other}")
WITH = Form("{all}, {more}", "{all}，{more}")
UP_TO = Form("{who}, up to step {step}", "{who}，到 step {step} 为止")
UP_TO_STEP = Form("up to step {step}", "到 step {step} 为止")
OF_HOSTS = Form("{some} of {hosts}", "{hosts}中的 {some} 个")

FINITE = Said("no NaN, no Inf", "无 NaN，无 Inf")
LEFT_OUT = Form(
    "{finite}; steps up to {step} were skipped for what overflowed, and it went on",
    "{finite}；截至 step {step} 有 step 因溢出被跳过，训练继续",
)
NONE_PASSED_ON = Form("{number} hold NaN or Inf, and none passed it on", "{number} 个含 NaN 或 Inf，均未扩散")
EQUAL = Said("equal where they were compared", "已比较的均一致")
NOTHING_GRAVE = Said(
    "nothing of a device, a link or memory that is graver than a warning", "没有比警告更严重的设备、链路或内存记录"
)
NO_TROUBLE_TOLD = Said("none tells of trouble", "均未报告异常")
ALL_ALIKE = Said("all stand at the same call, completed", "均停在同一次调用，且已完成")
NOTHING_OPEN = Said("no operation is open", "没有未完成的操作")
NOBODY_WAITS = Said("no rank waits for another", "没有 rank 在等待其他 rank")
NOBODY_STANDS_OUT = Said("no rank stands out", "没有 rank 明显偏离")
STANDS_OUT = Form(
    "{who}: {phase} {own} ms, others {most} ms at the median; no rule says why",
    "{who}：{phase} {own} ms，其他 {most} ms（中位数）；没有规则能解释",
)
STAND_OUT_ALIKE = Form(
    "{who}: {phase} {own} ms, others {most} ms at the median; several alike, which the layout may explain",
    "{who}：{phase} {own} ms，其他 {most} ms（中位数）；多个 rank 相同，可能由并行布局造成",
)
NO_DEVICE_STANDS_OUT = Said("none stands apart from its peers", "没有设备明显偏离")
PASSED = Said("passed", "通过")
COMPLETE = Form("{number} complete, none left unfinished", "{number} 个完整，没有未写完的")
NO_FAILURE_LINE = Said("none is a known line of failure", "没有已知的故障行")
BUT_UNKNOWN = Form(
    "none is a known line of failure; {unknown} are of no known form", "没有已知的故障行；{unknown} 行格式未知"
)

# --- nothing that tells of a process ---------------------------------------------------------------------------------
HOLD_NOTHING = Form("Nothing is to be judged: {files} holds nothing.", "没有可判断的内容：{files} 是空的。")
WHAT_WROTE_THEM = Said(
    "what it was to hold: the other files that the same tool wrote beside it, or its own log that tells why it wrote nothing",
    "它本应包含的内容：同一工具写出的其他文件，或说明为何没有写出内容的工具日志",
)
SIZES = Noun("size", "sizes", "个大小")
BENCHMARK_ALONE = Form(
    "A table of nccl-tests alone: {rows} measured, none with a wrong value on record; no training, and not its end.",
    "只有 nccl-tests 的结果表：测量了 {rows}，没有记录到错误值；没有训练，也没有表的结尾。",
)
REST_OF_BENCHMARK = Said(
    "the rest of its output, to “Avg bus bandwidth”, and the same table of hosts that are well: low against these at large sizes is a link; where "
    "it stood still, its lines with NCCL_DEBUG=INFO",
    "其余输出（至 “Avg bus bandwidth”），以及正常节点的同一表格：大消息明显偏低即为链路问题；若曾停住，取 NCCL_DEBUG=INFO 下的输出",
)
MEASURED_ALONE = Form(
    "No line shows a failure; what is there, records of {kinds}, tells of no process and how it ended.",
    "没有任何一行表明失败；现有内容（{kinds} 的记录）未涉及任何进程及其结束方式。",
)
NONE_HUNG = Form(
    "{gauge} was 0 of {who} when it was read: by that timer no kernel of theirs hung then",
    "读取时 {who} 的 {gauge} 为 0：据该计时器，当时没有 kernel 卡住",
)
NO_OTHER_RECORD = Said("Nothing else tells of a process or how it ended", "其他内容未涉及任何进程及其结束方式")
CALLS_ALONE = Said(
    "Only what stands beside a dump of msprobe is there, which calls there were and who made them: no value of them.",
    "只有 msprobe 转储的附属文件（有哪些调用、由谁发起）：没有任何数值。",
)
DUMP_BESIDE = Said(
    "the dump.json that msprobe wrote into the same folder, which holds the values, of every rank, and the log of that run",
    "msprobe 在同一文件夹写出的 dump.json（含数值），各 rank 都要，以及该次运行的日志",
    "tensors",
    "log",
)
LOG_OF_ITS_RUN = Said(
    "the log of the run that this is of, to its end; stacks and kernel logs as well if that stands still or failed",
    "该次运行直至结束的日志；若其停滞或失败，再加调用栈与内核日志",
    "log",
    "stack",
    "kernel",
)
