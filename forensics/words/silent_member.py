"""What is said of a member of a group that is silent while the others wait."""

from forensics.model.said import Form, Noun, Said
from forensics.words.facts import PROCESS_IS_STOPPED as PROCESS_IS_STOPPED
from forensics.words.ranks import WHOLE_LOG as WHOLE_LOG
from forensics.words.several import LOOK_ALIKE as LOOK_ALIKE
from forensics.words.several import UNDECIDED as UNDECIDED

SOMEBODY_WAITED = Said(
    "a process whose rank is not recorded waited for others until a time-out",
    "某进程（rank 无记录）等待其他 rank 直至超时",
)
NOT_SAID_FOR_WHOM = Said("the lines do not say whom for", "日志行未说明在等谁")
LOGS_OF_ALL = Said(
    "logs and py-spy dumps of all processes, those that the line waits for above all",
    "所有进程的日志与 py-spy 调用栈，首先是该行所等待的进程",
    "log",
    "stack",
)
ALL_OTHERS_TIMED_OUT = Form(
    "all other members of {group} timed out in {call}; {rank} did not, and was alive",
    "{group} 的其他成员均在 {call} 中超时；{rank} 未超时，且进程存活",
)
ALL_OTHERS_TIMED_OUT_LEFT = Form(
    "all other members of {group} timed out in {call}; {rank} had ended well before, without that call",
    "{group} 的其他成员均在 {call} 中超时；{rank} 此前已正常结束，未进入该调用",
)
ALL_OTHERS_TIMED_OUT_BLOCKED = Form(
    "all other members of {group} timed out in {call}; {rank} did not, and its kernel says that it was blocked",
    "{group} 的其他成员均在 {call} 中超时；{rank} 未超时，内核记录其进程被阻塞",
)
ALONE_IS_BLOCKED = Form(
    "most members of {group} timed out in {call} before the job was stopped; of the others only {rank} was blocked, as its kernel says again and again",
    "{group} 的多数成员在作业被停止前于 {call} 中超时；其余成员中仅 {rank} 被阻塞，内核多次记录",
)
ALL_OTHERS_TIMED_OUT_ELSEWHERE = Form(
    "all other members of {group} timed out in {call}; {rank} did not, and its stack shows it {site}",
    "{group} 的其他成员均在 {call} 中超时；{rank} 未超时，其调用栈显示正在{site}",
)
ALL_OTHERS_TIMED_OUT_STATE = Form(
    "all other members of {group} timed out in {call}; {rank} did not: the beats show it in another phase than all of them, to the last",
    "{group} 的其他成员均在 {call} 中超时；{rank} 未超时：心跳记录显示它直到最后都处于与其他所有 rank 不同的阶段",
)
ALL_OTHERS_TIMED_OUT_DEAD = Form(
    "all other members of {group} timed out in {call}; {rank} did not, and its process is dead, as its host shows",
    "{group} 的其他成员均在 {call} 中超时；{rank} 未超时，主机显示其进程已死亡",
)
ALL_OTHERS_TIMED_OUT_DEVICE = Form(
    "all other members of {group} timed out in {call}; {rank} did not, and before that its driver alone reported an error of its device",
    "{group} 的其他成员均在 {call} 中超时；{rank} 未超时，此前唯有其设备驱动报告了错误",
)
ALL_OTHERS_TIMED_OUT_COUNTS = Form(
    "all other members of {group} timed out in {call}; {rank} did not, and its own log says that it waits for something else",
    "{group} 的其他成员均在 {call} 中超时；{rank} 未超时，其自身日志表明它在等待另一对象",
)
CALLING_A_SERVICE = Said("calling a service outside the job", "调用作业之外的服务")
ALL_OTHERS_OF_THE_JOB = Form(
    "all other ranks of the job timed out or lost their connections, and {rank} did not",
    "作业的其余所有 rank 均已超时或失去连接，而 {rank} 没有",
)
PROCESS_IS_GONE = Form("a list of its host's processes says that {who} is gone", "主机的进程列表显示 {who} 已不存在")
KERNEL_SAYS_BLOCKED = Form("its kernel says that {who} was blocked", "内核记录 {who} 的进程被阻塞")
COMPLETED_ALL = Form(
    "{who} had completed all {number} calls of {group} by then: it waited in another group",
    "{who} 当时已完成 {group} 的全部 {number} 次调用：等待发生在另一个组",
)
TIMED_OUT_IN = Form("{who} timed out waiting in {call}", "{who} 在 {call} 中等待超时")
TIMED_OUT_IN_GROUP = Form("{who} timed out in {call} of {group}", "{who} 在 {group} 的 {call} 中超时")
TIMED_OUT_AT = Form("{who} timed out waiting in {call} #{number}", "{who} 在 {call} #{number} 中等待超时")
AT_PLACES_OF_GROUP = Form(
    "not all stood at the same call of {group}: {what}", "各 rank 停在 {group} 的不同调用：{what}"
)
TIMED_OUT_TOO = Form("{who} timed out, too", "{who} 也已超时")
AS_THE_GROUP_COUNTS = Form("{who}, as the group counts them,", "{who}（按组内编号）")
SOME_RANKS = Noun("rank", "ranks", "个 rank")
SOME_COLLECTIVE = Said("a collective", "集合通信")
WATCHDOG_HELD = Form(
    "the watchdog of {who} made no progress: a lock or a call to the device holds it",
    "{who} 的 watchdog 无进展：阻塞于锁或 GPU 调用",
)
ALL_DUMPS_AND_RAS = Said(
    "Flight Recorder dumps and py-spy dumps of all ranks; NCCL RAS status",
    "所有 rank 的 Flight Recorder 转储与 py-spy 调用栈；NCCL RAS 状态",
    "dump",
    "stack",
    "ras",
)
SAME_OPERATION = Said("all members wait in the same operation", "所有成员等待于同一操作")
NO_TIMEOUT_PRINTED = Form(
    "{who} of the group printed no timeout, and may have been there all the same",
    "组内 {who} 未打印超时，但仍可能已进入",
)
MOST_LEFT_NO_LINE = Said("most members of the group left no line", "组内多数成员没有日志行")
OTHER_OPERATIONS = Said("the members wait in different operations", "各成员等待于不同的操作")
WATCHDOG_STUCK_NO_LIST = Form(
    "the watchdog of {who} got stuck, and no line lists the members of the group",
    "{who} 的 watchdog 卡住，且无日志列出组的成员",
)
REST_PRINTED_NONE = Form(
    "{whole} {who} printed no timeout, and no line lists the members of the group",
    "{whole} {who} 未打印超时，且无日志列出组的成员",
)
OF_THE_JOB = Said("of the whole job", "整个作业中")
OF_THOSE_HEARD = Said("of those that left a line", "有日志的 rank 中")
WAITED_ITSELF = Said(
    "a rank that times out was waiting itself, and no line lists the members of the group",
    "超时的 rank 自身在等待，且无日志列出组的成员",
)
RAS_FINE = Said("RAS reports no missing rank and no mismatch", "RAS 报告没有缺失的 rank，也没有不一致")
