"""What detectors of hardware say: devices, links, hosts, storage."""

from forensics.model.causes.gpu_fault import THEN_OFF_BUS as THEN_OFF_BUS
from forensics.model.said import Form, Noun, Said
from forensics.words.several import ALL_DUMPS as ALL_DUMPS
from forensics.words.several import ALL_IN as ALL_IN
from forensics.words.several import LOG_STACK_KERNEL as LOG_STACK_KERNEL
from forensics.words.several import QUOTED as QUOTED
from forensics.words.several import STACK_LOG_KERNEL as STACK_LOG_KERNEL
from forensics.words.several import UNDECIDED as UNDECIDED
from forensics.words.several import UNNAMED_HOST as UNNAMED_HOST

BOTH_ENDS = Said(
    "port counters and kernel logs of both ends, and the switch's log",
    "两端的端口计数与内核日志，以及交换机日志",
    "port",
    "kernel",
)
NOTHING_RUNS_THERE = Said("a test between its two ends, while no job runs there", "在没有作业运行时于两端之间测试")
LOOK_AT_TEST = Said(
    "BW average near the rate of the link; choose the adapter of the message with -d on both ends, its port with -i",
    "BW average 是否接近链路速率；两端用 -d 选择报错中的网卡，用 -i 选择端口",
)
THEN_OF_TEST = Said(
    "it fails or is slow: test each end against a third host, leave out the one that fails with both; it is fast: the fault has passed, restart",
    "失败或偏慢：两端分别与第三台主机测试，隔离与两者都失败的一端；正常：故障已过，可重启",
)
DEVICE_REPORTED = Form("the device of rank {rank} reported an error", "rank {rank} 的 GPU 报告了错误")
A_HOST = Said("a host", "某节点")

# --- device_fault ----------------------------------------------------------------------------------------------------
DRIVER_REPORTED = Said("the driver reported an error of the GPU", "驱动报告了 GPU 错误")
DRIVER_REPORTED_LINE = Form("the driver reported an error of the GPU: {line}", "驱动报告了 GPU 错误：“{line}”")
ITS_DRIVER_REPORTED = Said("its driver reported an error", "其驱动报告了错误")
TIMED_OUT_OTHERS_NOT = Form("{waited} timed out, {ranks} did not", "{waited} 超时，{ranks} 未超时")
GPU_OF_LOG = Form("GPU {pci} of the host that {file} is from", "{file} 所属节点的 GPU {pci}")
THE_DEVICE = Said("the device", "该 GPU")
OF_A_DRIVER = Said("the driver of a GPU reported an error", "GPU 驱动报告了错误")
GPU_OF_RANKS = Form("The GPU of {ranks} failed: {what}.", "{ranks} 的 GPU 故障：{what}。")
GPU_OF_HOSTS = Form("A GPU of {hosts} failed: {what}.", "{hosts} 的 GPU 故障：{what}。")

# --- of_program: what a driver says of the program on a device ---------------------------------------------------------
OF_THE_PROGRAM = Form(
    "by the vendor's catalogue an error of the program, not of the device: {line}",
    "据厂商错误表，属程序错误而非设备故障：{line}",
)
PROGRAM_OF_RANK = Form("{rank} on GPU{gpu} of {host}", "{host} 上 GPU{gpu} 的 {rank}")
PROGRAM_OF = Form("the program on GPU{gpu} of {host}", "{host} 上 GPU{gpu} 的程序")
TOUCHED_NOT_ITS_OWN = Said(
    "the driver reported an error that the vendor's catalogue asks to look for in the program",
    "驱动报告的错误，厂商错误表要求先检查程序",
)

# --- failed_check_of_host, failed_node_check -------------------------------------------------------------------------
FAILED_BEFORE = Form("before the job {host} failed {tests}", "作业开始前 {host} 未通过 {tests}")
FAILED_BEFORE_OF = Form("before the job {host} failed {tests}: {of}", "作业开始前 {host} 未通过 {tests}（检测 {of}）")
FAILED_CHECK_BEFORE = Said("it failed its check before the job", "作业开始前未通过检测")
FAILED_CHECK = Said("it failed its check: start without it", "未通过检测：启动时不使用该节点")
LOOK_AT_CHECK = Said(
    "the same test once more on it, beside hosts that passed it", "在该节点上与通过检测的节点再做一次同样的检测"
)
THEN_OF_CHECK = Said(
    "it fails again: have what that test is of mended before the host comes back; it passes: look for what else ran there or was cabled anew",
    "再次失败：修复该项检测所涉部件后再启用；通过：查当时该节点上有无其他作业或改动过线缆",
)
FAILED_TESTS = Form("{hosts} failed {tests}", "{hosts} 未通过 {tests}")
FAILED_BESIDE_ALL = Form(
    "{hosts} failed {tests} beside every partner, and the partners passed it beside others",
    "{hosts} 与每个配对节点都未通过 {tests}，而配对节点与其他节点均通过",
)
TESTS_ARE_OF = Form("{text} ({tests})", "{text}（{tests}）")
TEST_IS_OF = Form("{test} is of {of}", "{test} 检测 {of}")
NODE = Form("node {number}", "node {number}")
CALLED_FAULTY = Form("the check of all nodes calls {hosts} faulty", "全部节点的检测判定 {hosts} 故障")

# --- idle_device -----------------------------------------------------------------------------------------------------
DEVICE_OF_RANK = Form("the device of {who} {odd}", "{who} 的 GPU {odd}")
DEVICE_OF_HOST = Form("device {device} of {host}", "{host} 的 GPU {device}")
DEVICE_IS = Form("{device} {odd}", "{device} {odd}")
IDLE_OTHERS_BUSY = Form("is idle while {number} others are busy", "空闲，其他 {number} 个均繁忙")
IDLE_OTHERS_NOT = Form("is idle, {number} others are not", "空闲，其他 {number} 个不空闲")
DRAWS = Form(
    "draws {watts:.4g} W, {peers} others {centre:.4g} W at the median; {seen}",
    "功耗 {watts:.4g} W，其他 {peers} 个的中位数为 {centre:.4g} W；{seen}",
)

# --- link_before_wait ------------------------------------------------------------------------------------------------
LINK_FAILED_BEFORE = Form(
    "the kernel of {host} reported a link or an adapter as failed just before the wait began",
    "{host} 的内核在等待开始前报告链路或网卡故障",
)
OF_ADAPTERS = Form("{text} ({adapters})", "{text}（{adapters}）")
ITS_LINK = Said("its link or adapter failed", "其链路或网卡故障")
PORTS_AND_SWITCH = Said("port counters of the host and the switch's log", "该节点的端口计数与交换机日志", "port")
NETWORK_OF_HOST = Form("The network of {host} failed: {what}.", "{host} 的网络故障：{what}。")
ABORTED = Form(
    "{who}, all that left a line, aborted as watchdogs end a wait",
    "{who}（所有有日志的 rank）以 watchdog 结束等待的方式 abort",
)
THEY_WAIT = Form("{who} wait", "{who} 在等待")
ALL_WAIT = Form("{who} wait, and no rank of the job is missing", "{who} 在等待，且作业没有缺失的 rank")

# --- network ---------------------------------------------------------------------------------------------------------
TRANSFERS = Noun("transfer", "transfers", "次传输")
TRANSFERS_FAILED = Form("{transfers} {what}: {where}", "{transfers}{what}：{where}")
AFTER_RETRIES = Said("failed after all retries", "重传超限")
FAILED = Said("failed", "失败")
REFUSED = Form("failed because the other end refused (“{code}”)", "被对端拒绝（“{code}”）")
REFUSED_WHERE = Form(
    "Transfers were refused by the other end ({where}): “{code}”; no link is shown to have failed.",
    "传输被对端拒绝（{where}）：“{code}”；没有链路故障的迹象。",
)
BOTH_OF_THEM = Said("both ends", "两端")
OTHER_END_REFUSED = Said(
    "compare the versions of the transport library and its plugin: the other end was reached and did not take the request",
    "比较传输库及其插件的版本：对端已收到请求但未接受",
)
LOGS_OF_THE_ENDS = Said("the logs of the processes at both ends", "两端进程的日志", "log")
PORTS_REPORTED = Form("ports or links of {hosts} reported an error of their own", "{hosts} 的端口或链路自身报告了错误")
TRANSFERS_OF_IT = Said("transfers to or from it failed", "进出它的传输失败")
FABRIC = Said("fabric", "网络")
NETWORK_FAILED = Form("The network failed ({where}): {what}.", "网络故障（{where}）：{what}。")
PORT_SAID_SO = Said("a port or link reported it", "由端口或链路自身报告")
RETRIES_EXCEEDED = Said("transfers failed after all retries", "传输重传超限")
TRANSFERS_FAIL = Said("transfers failed", "传输失败")
ENDS_UNNAMED = Said("connections whose ends are not named", "未写明两端的连接")
AN_END_OF_ALL = Form(
    "{host} is an end of every report ({reporters} hosts report)", "每条报告的一端都是 {host}（{reporters} 个节点上报）"
)
ONLY_REPORTER = Form(
    "{host} is one end of every report and the only one that reports: its own adapter, or what it reaches",
    "每条报告的一端都是 {host}，且只有它上报：可能是其自身网卡，也可能是它所访问的一侧",
)
WAY_TO = Form("the way to {host}", "到 {host} 的通路")
LINK_BETWEEN = Form("the link between {one} and {other}", "{one} 与 {other} 之间的链路")
RAIL = Form("rail {rail} of many hosts, which share its switch", "多个节点的 rail {rail}，它们共用该 rail 的交换机")
MANY_PAIRS = Said("many pairs of hosts, with no host in common", "多对节点，没有共同的节点")
PORTS_OF = Form(
    "ports of {number} hosts went down: {hosts}; one of them is an end of every report",
    "{number} 个节点的端口断开：{hosts}；每条报告的一端都在其中",
)
PORTS_AT = Form(
    "{place}: ports of {number} hosts there, of {there}, went down: {hosts}; one of them is an end of every report",
    "{place}：该处 {there} 个节点中有 {number} 个的端口断开：{hosts}；每条报告的一端都在其中",
)
CLOSED = Said(
    "connections were closed by the other end; nothing tells whether its process died or the network broke",
    "连接被对端关闭；无法得知是对端进程退出还是网络中断",
)
NO_ANSWER = Said("a message to or from another process failed", "与另一进程的消息失败")
NO_ANSWER_OF = Form("a message to or from {ends} failed", "与 {ends} 的消息失败")
NO_ANSWER_AT_BARRIER = Form(
    "rank {own} came to a barrier, and its exchange with rank {peer} failed there",
    "rank {own} 已到达 barrier，但与 rank {peer} 的消息失败",
)
DEAD_LATE_OR_BROKEN = Said(
    "whether that process died, gave up, or the network broke, its own log tells",
    "该进程是退出、放弃等待还是网络中断，须看其自身日志",
)
LINK_WENT_DOWN = Said("a link of a host of the job went down", "作业某节点的链路断开")
LOGS_AND_KERNELS = Form(
    "logs of {who}, kernel logs of their hosts", "{who} 的日志，及其节点的内核日志", ("log", "kernel")
)
ALL_OTHER_RANKS = Said("all other ranks", "其他所有 rank")
OTHER_END_CLOSED = Said("the other end closed the connection", "对端关闭连接")
OTHER_ENDS_CLOSED = Form("the other end closed the connection ({ends})", "对端关闭连接（{ends}）")
OTHER_END_AT = Form("the connection to {address} broke (“{said}”)", "与 {address} 的连接中断（“{said}”）")
KERNEL_AT = Form(
    "the log of the process at {address}, and the kernel log there", "{address} 上进程的日志与该处的内核日志"
)
LOOK_AT_OTHER_END = Said(
    "“Out of memory: Killed process”, “segfault at”, “Xid” or a link that went down, at the time of the incident; what that process said last",
    "事故时刻附近的 “Out of memory: Killed process”、“segfault at”、“Xid” 或链路断开；该进程最后的输出",
)
THEN_OF_OTHER_END = Said(
    "its process ended first: go by that; it gave up later than this one: look at the network between the two",
    "该进程先结束：以其为准；晚于本进程放弃：检查两者之间的网络",
)
DEAD_OR_BROKEN = Said(
    "a process that died and a broken network look alike from here", "仅凭这些无法区分进程退出与网络中断"
)

# --- node_failure ----------------------------------------------------------------------------------------------------
SCHEDULER_SAYS = Form("the scheduler says that {hosts} failed", "调度器报告 {hosts} 故障")
CONNECTIONS_LOST = Form("processes of the job lost their connections to {hosts}", "任务的进程与 {hosts} 的连接中断")
NODE_SILENT = Said("its node stopped answering", "其节点停止应答")
CONSOLE_LOGS = Form("kernel and console logs of {hosts}", "{hosts} 的内核日志与控制台日志", ("kernel",))
RANKS_ENDED_WITH = Said("the ranks there ended with it", "其上的 rank 随之退出")

# --- odd_telemetry ---------------------------------------------------------------------------------------------------
PHASE_TIMES = Said(
    "times of forward, backward and communication of every rank over some steps",
    "若干 step 中每个 rank 的前向、反向与通信耗时",
    "times",
)
MEASURED_APART = Form(
    "Measured apart from its peers, which accuses nobody by itself: {what}.",
    "测量值与同类不同，单凭此不能判定故障：{what}。",
)
HOST_OF_LOG = Form("the host that {file} is from", "{file} 所属的节点")
GPU_THERE = Form("GPU {pci} of {where}", "{where} 的 GPU {pci}")
BEFORE_ANYTHING_FAILS = Said(
    "its memory tells of pages or rows that fail: a reset puts what is pending in force",
    "显存报告有页或行失效：待生效的退役或重映射在复位后生效",
)
LOOK_AT_ROWS = Said(
    "Retired Pages: how many of Double Bit ECC, Pending; Remapped Rows: Pending, Remapping Failure Occurred; uncorrectable errors",
    "Retired Pages 的 Double Bit ECC 数量与 Pending；Remapped Rows 的 Pending 与 Remapping Failure Occurred；不可纠正错误数",
)
THEN_OF_ROWS = Said(
    "Pending: reset it once no job runs there; a failure, some 60 retired pages (64 is all that a card can retire), or uncorrectable errors "
    "that grow: leave the host out and have the GPU replaced",
    "Pending：待无作业时复位；重映射失败、已退役约 60 页（最多 64 页）或不可纠正错误增长：隔离节点并更换 GPU",
)
ASKS_FOR_RESET = Form(
    "its driver reported {code}, for which the vendor's catalogue asks to reset it",
    "驱动报告了 {code}，厂商错误表要求复位该卡",
)
LOOK_AT_BUS = Said(
    "“rev ff” or no output: it is off the bus; LnkSta slower or narrower than LnkCap",
    "“rev ff” 或无输出：已掉卡；LnkSta 低于 LnkCap",
)
THEN_RESET = Said(
    "it is there: keep nvidia-bug-report.sh of it, drain the host, reset it once nothing runs there, then test it; off the bus: drain, then power-cycle the host",
    "仍在总线上：先保存 nvidia-bug-report.sh，隔离节点，待无作业时复位，再检测；掉卡：先隔离节点，再断电重启",
)
ALIKE = Form("{text} ({number} alike, with {others})", "{text}（共 {number} 个如此，另有 {others}）")
ALIKE_THERE = Form(
    "{text} ({number} of {host} alike, with {others})", "{text}（{host} 上有 {number} 个如此，另有 {others}）"
)
APART_TOGETHER = Form(
    "{quantity} apart: {place}; rather one cause there than {number}",
    "{quantity} 异常：{place}；更可能是该处的一个原因，而非 {number} 个",
)

# --- ring_counters ---------------------------------------------------------------------------------------------------
WAY = Form("rank {sender} → rank {receiver}", "rank {sender} → rank {receiver}")
CHANNEL, CHANNELS = Form("channel {numbers}", "channel {numbers}"), Form("channels {numbers}", "channel {numbers}")
RECEIVED = Form(
    "rank {rank} received {steps} steps, the others at least {others} ({channels})",
    "rank {rank} 收到 {steps} 步，其他 rank 至少 {others} 步（{channels}）",
)
POINT_ELSEWHERE = Form("{channels} point elsewhere", "{channels} 指向别处")
NOT_HANDED_ON = Form(
    "rank {rank} had handed no more to the network ({channels})", "rank {rank} 未再向网络发送更多（{channels}）"
)
RING_STOPPED = Said("the ring stopped between these two", "ring 停在这两个 rank 之间")
RING_STOPPED_ON = Form(
    "All members of {call} entered it; its ring stopped on the way {way}: either end, or the link between them, is at fault.",
    "{call}：成员均已进入，ring 停在 {way}：故障在其中一端，或在两者之间的链路。",
)

# --- shared_storage --------------------------------------------------------------------------------------------------
WAIT_FOR_STORAGE = Form(
    "{number} of {total} processes on {hosts} hosts wait for storage",
    "{hosts} 个节点上的 {total} 个进程中有 {number} 个在等待存储",
)
KERNELS_COMPLAIN = Said(
    "kernels of these hosts report blocked tasks or storage errors", "这些节点的内核报告任务阻塞或存储错误"
)
SHARED_STORAGE = Said("shared storage", "共享存储")
MANY_HOSTS_WAIT = Said("many hosts wait for it", "多个节点在等待它")
FILE_SERVERS = Said(
    "logs of the file servers, and mounts and kernel logs of all hosts",
    "文件服务器日志，以及所有节点的挂载信息与内核日志",
    "kernel",
)
UNDER_SUSPICION = Form(
    "{text}: what they share is under suspicion, no rank is.", "{text}：可疑的是它们共用的存储，而非某个 rank。"
)

# --- silent_port -----------------------------------------------------------------------------------------------------
TRAFFIC_ENDED_FIRST = Form(
    "traffic of {host} fell to zero before that of the others; {seen}", "{host} 的流量先于其他节点降为 0；{seen}"
)
ITS_TRAFFIC = Said("its traffic ended first", "其流量最先停止")
COUNTERS_AND_STACKS = Form(
    "port counters, link state and kernel log of {host}, and stacks of its ranks",
    "{host} 的端口计数、链路状态与内核日志，以及其上 rank 的调用栈",
    ("port", "stack"),
)
NETWORK_OR_PROCESSES = Said(
    "Its network failed, or its processes stopped to send", "可能是其网络故障，也可能是其进程停止发送"
)

# --- stopped_call, stopped_device ------------------------------------------------------------------------------------
WAITS_EARLIER = Form(
    "{who} waits in number {number} of {group}; {others} wait in later ones",
    "{who} 在 {group} 的 #{number} 中等待；{others} 在更靠后的调用中等待",
)
PASSED = Form(
    "{others} completed number {number} of {group}; {who} timed out in it",
    "{others} 已完成 {group} 的 #{number}；{who} 在其中超时",
)
INSIDE_OF_RANK = Form(
    "py-spy and cuda-gdb or pstack of {who}, kernel log of its host",
    "{who} 的 py-spy 与 cuda-gdb 或 pstack 输出，及其节点的内核日志",
    ("stack", "kernel"),
)
ONLY_ONE_DID_NOT = Form("{others} completed {call}; only {who} did not", "{others} 已完成 {call}；只有 {who} 未完成")
DEVICE_DID_NOT_START = Form(
    "{others} started {call}; the device of {who} did not", "{others} 已开始 {call}；{who} 的 GPU 未开始"
)
NO_RECORD_BUT_ENTERED = Form(
    "{who}: no usable flight record; nobody completes {call} before all have entered it",
    "{who}：无可用的 Flight Recorder 记录；但全部成员进入 {call} 之前不会有成员完成",
)
NEVER_BEGAN = Form(
    "The device of {who} never began {call}, which all other members started.",
    "{who} 的 GPU 未开始 {call}，其他成员均已开始。",
)
NEVER_FINISHED = Form(
    "The device of {who} never finished {call}, which all other {members} completed.",
    "{who} 的 GPU 未完成 {call}，其他{members}均已完成。",
)
MEMBERS, RECORDED_MEMBERS = Said("members", "成员"), Said("members that left a record", "有记录的成员")
