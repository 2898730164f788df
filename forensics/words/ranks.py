"""What detectors of ranks say: who did not come, who ended, who stands elsewhere."""

from collections.abc import Mapping

from forensics.model.names import Reason
from forensics.model.said import Form, Noun, Said
from forensics.words.facts import CALL as CALL
from forensics.words.facts import PROCESS_IS_STOPPED as PROCESS_IS_STOPPED
from forensics.words.facts import STACK_SHOWS as STACK_SHOWS
from forensics.words.several import A_PROCESS as A_PROCESS
from forensics.words.several import ALL_DUMPS as ALL_DUMPS
from forensics.words.several import ALL_IN as ALL_IN
from forensics.words.several import ALL_STACKS as ALL_STACKS
from forensics.words.several import DUMPS_AND_STACKS as DUMPS_AND_STACKS
from forensics.words.several import LOG_AND_STACK as LOG_AND_STACK
from forensics.words.several import LOG_STACK_HOST as LOG_STACK_HOST
from forensics.words.several import LOG_STACK_KERNEL as LOG_STACK_KERNEL
from forensics.words.several import LOOK_ALIKE as LOOK_ALIKE
from forensics.words.several import ON_HOSTS as ON_HOSTS
from forensics.words.several import PROCESSES as PROCESSES
from forensics.words.several import THE_JOB as THE_JOB
from forensics.words.several import UNDECIDED as UNDECIDED
from forensics.words.several import UNNAMED_HOST as UNNAMED_HOST

# --- absent: who is behind, by counters, lists and reports -----------------------------------------------------------
BY: Mapping[str, Said] = {  # source of positions → how its word is cited
    "barrier": Said("in a monitored barrier", "据 monitored barrier"),
    "desync": Said("a desync report says so", "据 desync 报告"),
    "ras": Said("as RAS reports", "据 RAS 报告"),
    "collective_line": Said("by the lines of enqueued collectives", "据已入队集合通信的日志行"),
    "watchdog": Said("by the counters that watchdogs printed", "据 watchdog 打印的计数"),
}
MEMBERS = Noun("member", "members", "个成员")
SOME_MEMBERS = Said("members of a group", "某进程组的部分成员")
MONITORED_BARRIER = Said("a monitored barrier", "monitored barrier")
SAYS = Form("{kind}, {group} says", "{kind}（{group}）")
ANY_CALL = Said("call", "调用")
NO_CALL = Said("none", "无")
DID_NOT_REACH = Form("{who} did not reach {barrier}", "{who} 未到达 {barrier}")
MEMBERS_DID = Form("{number} of {size} did", "{size} 个成员中有 {number} 个到达")
REACHED_OTHERS_DID_NOT = Form(
    "{who} reached {call}, and others did not, {by}", "{who} 已到达 {call}，其余成员未到达（{by}）"
)
LEFT_AFTER = Form(
    "{who} finished #{last} of {group} and never joined #{missing}; {others}, {by}",
    "{who} 完成了 {group} 的 #{last}，未加入 #{missing}；{others}（{by}）",
)
STARTED = Form("{who} started {kind} #{number}", "{who} 已开始 {kind} #{number}")
REACHED_ONLY = Form(
    "{who} reached {call}; {late} reached only {last}, {by}", "{who} 已到达 {call}；{late} 只到 {last}（{by}）"
)
ABSENT_DOUBT: Mapping[Reason, Said] = {
    "two_member_mismatch": Said(
        "in a group of two, one call too many on one side looks like one too few on the other",
        "两个成员的组中，一方多调用一次与另一方少调用一次看起来相同",
    ),
    "tied_explanations": Said(
        "half of the group and more, or ranks of several groups, are blamed: the few may be the ones that made an extra call",
        "落后的占组内一半以上或分属多个组：少数一方也可能是多调用了一次",
    ),
    "culprit_among_missing": Said(
        "some of the ranks that it may wait for left no record", "它可能在等待的 rank 中有些没有记录"
    ),
    "membership_unknown": Said(
        "its number counts within a group whose members are not known", "该编号是组内编号，而组的成员未知"
    ),
    "conflicting_evidence": Said("it timed out itself", "它自身也超时了"),
}
WHOLE_LOG = Form("the whole log of {who}", "{who} 的完整日志", ("log",))

# --- all_entered: everybody is in, nobody done -----------------------------------------------------------------------
BY_STACK_ALONE = Form("{who} by the stack alone", "其中 {who} 仅据调用栈")
ENTERED_NONE_FINISHED = Form(
    "all members of {call} entered it and none finished; {alike}", "{call}：成员均已进入，无一完成；{alike}"
)
TOUCH_ALL = (  # several explanations, one
    Form("{hosts} touch all {number} stalled operations", "{number} 个停滞的操作都涉及 {hosts}"),
    Form("{hosts} touches all {number} stalled operations", "{number} 个停滞的操作都涉及 {hosts}"),
)
GROUPS_PASS = Said("the stalled groups pass through it", "停滞的进程组都经过该节点")
INSIDE_OF_MEMBERS = Said(
    "NCCL_DEBUG=INFO logs, RAS status, adapter counters and pstack or cuda-gdb of the members",
    "各成员的 NCCL_DEBUG=INFO 日志、NCCL RAS 状态、网卡计数，以及 pstack 或 cuda-gdb 输出",
    "comm",
    "ras",
    "port",
    "stack",
)

# --- deadlock_cycle --------------------------------------------------------------------------------------------------
WAIT_IN_FOR = (  # several ranks, one
    Form("{who} wait in {call} for {missing}", "{who} 在 {call} 中等待 {missing}"),
    Form("{who} waits in {call} for {missing}", "{who} 在 {call} 中等待 {missing}"),
)
CALL_AT = Form("{call} (called at {code})", "{call}（调用于 {code}）")
STACKS_COMMUNICATE = Form("the stacks of {who} are in communication", "调用栈显示 {who} 在通信中")
MESSAGES_OF = Form("sends and receives of {groups}", "{groups} 的点对点通信")
THE_GROUPS = Form("the groups {groups}", "进程组 {groups}")
DEADLOCK = Form(
    "Deadlock: {who} wait for each other over {what}; the records do not show which side changed the order.",
    "死锁：{who} 互相等待（{what}）；记录未表明哪一方改变了顺序。",
)
WAITS_FOR_PEER = Form("{who} stands in {call} with {peer}", "{who} 停在与 {peer} 的 {call} 中")
A_MESSAGE = Said("a message", "点对点通信")
STACK_CYCLE = Form(
    "Deadlock: {who} wait for each other in a circle, by their calls; nothing shows which side changed the order.",
    "死锁：按各自的调用，{who} 互相循环等待；没有记录表明哪一方改变了顺序。",
)
UNDELIVERED = Form(
    "{who} have issued the messages that they exchange over {groups}, and none arrives; "
    "a fault of the network and a fault of their GPUs look alike here",
    "{who} 均已发起 {groups} 中的点对点通信，但无一到达；仅凭这些无法区分网络故障与 GPU 故障",
)
LOGS_OF_BOTH_ENDS = Said(
    "NCCL_DEBUG=INFO logs, adapter counters and stacks of both ends", "两端的 NCCL_DEBUG=INFO 日志、网卡计数与调用栈",
    "comm", "port", "stack",
)  # fmt: skip

# --- did_not_give_up -------------------------------------------------------------------------------------------------
CALLED_BY_NAME = Form(
    "{waited} called {who} by name and had no answer until their time-out; {who} reported none",
    "{waited} 按名称调用 {who}，直到超时也没有得到应答；{who} 没有报告超时",
)
REPORTED_NEITHER = Form(
    "{waited} timed out or lost their connections; {rest} reported neither",
    "{waited} 超时或连接断开；{rest} 两者均未上报",
)
NOT_IN_BUNDLE = Form("{text} (the bundle has no record of {who})", "{text}（证据包中无 {who} 的记录）")
STOPPED_OR = Form("Either {who} stopped, or {other}", "可能是 {who} 已停止，也可能是 {other}")
OWN_CALL = Said("one of the ranks that waited made a call of its own", "某个等待的 rank 调用了不同的操作")
GAVE_UP_ELSEWHERE = Form(
    "{own_call}: most gave up at one line of the program, {where}",
    "{own_call}：多数 rank 在同一行代码处超时，而 {where}",
)
RANK_AT = Form("rank {rank} at {file}:{line}", "rank {rank} 在 {file}:{line}")
LOG_STACK_RECORD = Form(
    "the log, the stack and the flight record of {who}",
    "{who} 的日志、调用栈与 Flight Recorder 转储",
    ("log", "stack", "dump"),
)

# --- lost_heartbeat, no_heartbeat ------------------------------------------------------------------------------------
WHAT_BECAME_OF = Form(
    "what became of {who}: events of its scheduler (a preemption, an eviction, a kill for memory), the kernel log of its host, its log to the end",
    "{who} 的去向：调度器事件（抢占、驱逐、内存不足终止）、其节点的内核日志、完整日志",
    ("launcher", "kernel", "log"),
)
NO_MORE_BEATS = Form("{who} stopped sending heartbeats", "{who} 停止发送心跳")
ITS_NODES_WERE = Form("the nodes that it took: {hosts}", "被收回的节点：{hosts}")
ITS_PODS_STOPPED = Form("the cluster stopped the pods of {who} while they ran", "集群在运行中停止了 {who} 所在的 pod")
ITS_PODS_WERE = Form("the pods that it took are of {who}", "被抢占的 pod 属于 {who}")
AND_FELL_SILENT = {
    True: Form("{text}; all others were told so, and its own record ends before that, without an error", "{text}；其余 rank 均收到此通知，而其自身记录在此之前结束且无错误"),
    False: Form("{text}; all others were told so, and their own records end before that, without an error", "{text}；其余 rank 均收到此通知，而它们自身的记录在此之前结束且无错误"),
}  # fmt: skip
AND_CAME_BACK = Form(
    "{text}; the service met a new process in its place, so the former one had ended",
    "{text}；服务随后在其位置遇到新进程，说明原进程已结束",
)
BEAT_IS_OLD = Form(
    "the last heartbeat of {who} is {seconds:.0f} s older than the newest of {members} members",
    "{who} 的最后一次心跳比 {members} 个成员中最新的早 {seconds:.0f} s",
)
DEAD_HELD_CUT_OFF = Form(
    "{text}: dead, held up in a call, or cut off from {what}", "{text}：可能已退出、阻塞于某次调用，或与 {what} 断开"
)
THE_NETWORK, THE_COLLECTOR = Said("the network", "网络"), Said("the collector", "采集端")
WATCHDOG_STUCK = Form(
    "the watchdog of {who} made no progress: a collective, a call to the device or a lock held it",
    "{who} 的 watchdog 无进展：阻塞于集合通信、GPU 调用或锁",
)
SOME_MEMBER = Said("a rank of a group", "某进程组的一个 rank")
NOTHING_HANGS = Form("that of {who} shows nothing that does not end", "{who} 的计时器未显示有未结束的 kernel")

# --- mismatch --------------------------------------------------------------------------------------------------------
DIFFERENT_CALLS = Said(
    "members of a group announced different collectives at the same place",
    "同一进程组的成员在同一位置发起了不同的集合通信",
)
ANNOUNCED_ALONE = Form(
    "{who} announced {what}, and what it read of {others} is another call, and not whole",
    "{who} 发起 {what}，而其读到的 {others} 的调用与之不同且不完整",
)
CROSSED = Form(
    "{few} launched {one} in {group}, {many} {other}: neither is a part of the other",
    "{few} 在 {group} 中启动了 {one}，{many} 启动了 {other}：互不包含",
)
BROUGHT = Form("called {call}", "调用 {call}")
BROUGHT_AT = Form("called {call} at {code}", "调用 {call}，位于 {code}")
DIFFER = Form("{few} {one}, where {many} {other}", "{few} {one}；而 {many} {other}")
DIFFER_IN = Form(
    "{few} {one} as call #{number} of {group}, where {many} {other}",
    "{group} 的 #{number}：{few} {one}；而 {many} {other}",
)
BY_THEIR_STACK = Form(
    "{number} members without a usable record are in {call} by their stack",
    "据调用栈，{number} 个无可用记录的成员处于 {call}",
)
MISMATCH = Form("Collective mismatch: {text}", "集合通信不一致：{text}")
NO_MAJORITY = Said("No majority of the group decides which side is wrong", "组内没有多数能判定哪一方有误")
DETAIL_AND_STACKS = Said(
    "TORCH_DISTRIBUTED_DEBUG=DETAIL, Flight Recorder dumps and the stack of every member",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL 日志、Flight Recorder 转储，以及每个成员的调用栈",
    "comm",
    "stack",
)

# --- never_entered ---------------------------------------------------------------------------------------------------
NEVER_ENTERED = Form("{who} never entered {call}", "{who} 未进入 {call}")
NEVER_ENTERED_BECAUSE = Form("{who} never entered {call}: {why}", "{who} 未进入 {call}：{why}")
MEMBERS_WAIT = Noun("member waits", "members wait", "个成员在其中等待")
IN_IT = Form("{members} in it", "{members}")
IN_IT_WHO = Form("{members} in it ({who})", "{members}（{who}）")
RANKS_WAIT = Form("{number} ranks wait", "{number} 个 rank 在等待")
RANKS_WAIT_IN = Form("{number} ranks wait in {call}", "{number} 个 rank 在 {call} 中等待")
SOME_OF, ALL_OF = Form("{number} of {total}", "{total} 个中的 {number} 个"), Form("all {total}", "全部 {total} 个")
WAIT_FOR = (  # several ranks, one
    Form(
        "{which} waiting ranks wait for {who}, directly or through others",
        "等待的 rank（{which}）都在直接或间接等待 {who}",
    ),
    Form(
        "{which} waiting ranks waits for {who}, directly or through others",
        "等待的 rank（{which}）在直接或间接等待 {who}",
    ),
)
PEERS_UNKNOWN = Form(
    "{who} wait in sends and receives whose peers are not recorded, and no other rank is outside communication",
    "{who} 在等待对端无记录的点对点通信，而其他 rank 都在通信中",
)
WAIT_UNRECORDED = Form(
    "{who} wait, too, by their logs or stacks; their records, which would tell for whom, are not in the bundle, and no other rank is "
    "outside communication",
    "据日志或调用栈，{who} 也在等待；能说明在等谁的记录不在此 bundle 中，而其他 rank 都在通信中",
)
EITHER_WAY = Form(
    "{who} left no usable record: waiting and being at fault are both possible",
    "{who} 无可用记录：可能在等待，也可能是故障 rank",
)
DUMP_AND_STACK = Form(
    "Flight Recorder dump and stack of {who}", "{who} 的 Flight Recorder 转储与调用栈", ("dump", "stack")
)
P2P_NOT_RECORDED = Said(
    "this backend records no send and recv, and there is no stack of them: one may wait for another",
    "该后端不记录 send 和 recv，也没有它们的调用栈：其中一个可能在等待另一个",
)
FEW_OR_MANY = Said(
    "either those that did not enter miss a call, or the few that wait made one too many",
    "可能是未进入的一方少调用一次，也可能是少数等待的一方多调用一次",
)
WHO_WAITS_FOR_WHOM = Form(
    "{call} waits for {who}, but the records do not show who waits for whom: {why}.",
    "{call} 在等待 {who}，但记录未表明谁在等谁：{why}。",
)
NO_FLIGHT_RECORD = Form("{who}: no usable flight record", "{who}：无可用的 Flight Recorder 记录")
IF_ENTERED = Form(
    "if {who} did enter {call}, a link, an adapter, a switch or a stuck kernel may be at fault instead",
    "若 {who} 其实已进入 {call}，则也可能是链路、网卡、交换机故障或 kernel 卡死",
)
LONELY_DEVICE = Form(
    "{who} may have a stopped device: the other members of the call that it is in left no record",
    "{who} 的 GPU 可能已停止：其所在调用的其他成员无记录",
)
GAVE_UP_WITH_OTHERS = Form(
    "{who} left no flight record, but timed out in calls that others had not ended",
    "{who} 无 Flight Recorder 记录，但在其他 rank 尚未结束的调用中超时",
)
CANNOT_HOLD_ALL = Form(
    "{who} left no record either, but not every waiting rank can be held up by them, by the order of calls of their peers",
    "{who} 同样无记录，但按对端的调用顺序，它们无法使所有等待的 rank 停住",
)
WAIT_FOR_UNRECORDED = Form(
    "no rank with a record explains the {number} waiting ranks; they wait for ranks that left no usable record",
    "有记录的 rank 都无法解释这 {number} 个等待的 rank；它们在等待无可用记录的 rank",
)
WITHOUT_RECORD = Form("{who}, which left no usable record", "{who}（无可用记录）")
ALONE_WITH_SUCH = Form("{who}, alone in a call with such ranks", "{who}（在某次调用中，其他成员均无记录）")
MAY_BE_AT_FAULT = Form("{who}, may be at fault", "{who} 可能是故障 rank")

# --- no_answer -------------------------------------------------------------------------------------------------------
DEAD_BY_RAS = Form("{who} is dead, as RAS reports", "据 RAS 报告，{who} 已退出")
SILENT_BY_RAS = Form("{who} did not answer, as RAS reports", "据 RAS 报告，{who} 无应答")
OF_A_COMMUNICATOR = Form("ranks {numbers} of a communicator", "某通信域的 rank {numbers}")

# --- novel_line ------------------------------------------------------------------------------------------------------
KINDS = Noun("kind", "kinds", "种")
PRINTS_ALONE = Form(
    "{who} alone prints {kinds} of lines: “{line}”, {compared}", "只有 {who} 打印了 {kinds}日志行：“{line}”，{compared}"
)
NOT_BEFORE = Said("and no earlier attempt did", "此前的启动中未出现")
NO_ATTEMPT_BEFORE = Said("but no earlier attempt is there to compare with", "但没有更早的启动可供比较")
A_HINT = Form("A hint, not a cause: {text}.", "仅为线索，不是原因：{text}。")
LOGS_OF_GOOD_RUN = Said("logs of a good run of the same job", "同一作业正常运行时的日志", "log")
RECORDS_AND_STACKS = Said(
    "flight-recorder and py-spy dumps of all ranks",
    "所有 rank 的 Flight Recorder 转储与 py-spy 调用栈",
    "dump",
    "stack",
)

# --- odd_stack -------------------------------------------------------------------------------------------------------
IN_ITS_LOOP = Said(
    "in the loop where a worker waits for work: its task has returned, or it was given none",
    "在等待任务的循环中：其任务已返回，或未收到任务",
)
OUTSIDE = Said("outside of any communication", "通信之外")
IS_AT = (  # several, one
    Form("{who} are {site}", "{who} 正在 {site}"),
    Form("{who} is {site}", "{who} 正在 {site}"),
)
THEY_WAIT_IN = Form("{number} processes wait ({ops})", "{number} 个进程在等待（{ops}）")
KIND_UNKNOWN = Said("kind unknown", "类型未知")
WHILE_OTHERS_WAIT = Form("{doing} while {number} processes wait", "{doing}，同时 {number} 个进程在等待")
MOVED_ON = (  # several, one
    Said(
        "between two snapshots some of them moved on, which is slow, not stuck",
        "两次快照之间部分进程有推进，是慢而非卡死",
    ),
    Said("between two snapshots it moved on, which is slow, not stuck", "两次快照之间有推进，是慢而非卡死"),
)
AT_CTRL_C = Form("when somebody pressed Ctrl-C, {text}", "有人按下 Ctrl-C 时，{text}")
DUMPS = Said("Flight Recorder dumps", "Flight Recorder 转储", "dump")
SECOND_STACKS = Said(
    "a second stack dump a minute later, and Flight Recorder dumps",
    "一分钟后再次采集的调用栈，以及 Flight Recorder 转储",
    "stack",
)
TWO_STACKS = Said(  # where nothing runs any more
    "two stack dumps, a minute apart, when it stands still again, and Flight Recorder dumps",
    "再次停滞时间隔一分钟的两次调用栈，以及 Flight Recorder 转储",
    "stack",
)

# --- all_in_calls ----------------------------------------------------------------------------------------------------
STAND_IN = Form("the stack of {who} stands in {op}", "{who} 的调用栈停在 {op}")
SOME_CALL = Said("a call whose kind it does not show", "类型不明的调用")
STAND_AT = Form("{who} called it at {line}", "{who} 在 {line} 处发起调用")
DUMPS_WHEN_IT_STANDS = Said(
    "Flight Recorder dumps of all ranks once it stands still again: those that are here do not show the calls in which they stand",
    "再次停滞时所有 rank 的 Flight Recorder 转储：现有转储未显示各 rank 所停的调用",
    "dump",
)
ALL_IN_CALLS = Form(
    "all {number} processes wait in calls of communication ({ops}); stacks do not tell which member of which group has not come",
    "全部 {number} 个进程都停在通信调用中（{ops}）；仅凭调用栈无法判断哪个进程组的哪个成员没有到达",
)

# --- all_at_one_call -------------------------------------------------------------------------------------------------
ALL_AT_ONE_CALL = Form(
    "all {number} processes that were looked at stand at one line ({line}), in a call to something outside them",
    "所查看的全部 {number} 个进程都停在同一行（{line}），所调用的对象在它们之外",
)
WHAT_THEY_ASK_IS_IN_NONE = Said(
    "what they wait for is in none of them: the service, file or lock that they share is to be looked at",
    "它们所等待的不在其中任何一个进程里：应检查共用的服务、文件或锁",
)
WHAT_THEY_ASK = Said(
    "a stack and the last lines of the service that they ask, while they wait for it",
    "等待期间其所请求服务的调用栈与最后几行日志",
    "stack",
)

# --- received_size ---------------------------------------------------------------------------------------------------
OTHER_SIZE = Form("{who} received a message of another size than its call expects", "{who} 收到的消息大小与其调用不符")
OTHER_CALLS = Form(
    "Members of a group call different operations: {who} received a message of another size than expected. "
    "Either end may be the one that is wrong.",
    "同一进程组的成员调用了不同的操作：{who} 收到的消息大小与预期不符。两端都可能有误。",
)
DUMPS_OR_DETAIL = Said(
    "Flight Recorder dumps of all ranks, or TORCH_DISTRIBUTED_DEBUG=DETAIL",
    "所有 rank 的 Flight Recorder 转储，或 TORCH_DISTRIBUTED_DEBUG=DETAIL 日志",
    "dump",
    "comm",
)

# --- silent_process --------------------------------------------------------------------------------------------------
GAVE_NO_STACK = Form("{who} gave no stack", "{who} 未能采到调用栈")
OTHER_RANKS_WAIT = Form("{number} other ranks wait", "其他 {number} 个 rank 在等待")
ANSWERED_THERE = Form("on {host} {who} answered", "{host} 上的 {who} 可以采到调用栈")
NO_SAMPLER = Form(
    "{number} of its {all} processes answer no sampler", "该节点 {all} 个进程中有 {number} 个无法采到调用栈"
)
STATES_AND_DUMPS = Form(
    "process states and kernel stacks of {who}; Flight Recorder dumps of all ranks",
    "{who} 的进程状态与内核栈；所有 rank 的 Flight Recorder 转储",
    ("stack", "dump"),
)

# --- stopped_from_outside --------------------------------------------------------------------------------------------
STOPPED_BY: Mapping[str, Said] = {  # code of a scheduler's word, or a signal to a launcher
    "time_limit": Said("the scheduler ended the job at its time limit", "作业达到时间上限，被调度器结束"),
    "preemption": Said("the scheduler took the job's nodes for another job", "调度器把该作业的节点让给了其他作业"),
    "cancelled": Said("somebody cancelled the job", "作业被人为取消"),
    "SIGINT": Said("somebody stopped the launcher with Ctrl-C (SIGINT)", "启动器被 Ctrl-C（SIGINT）停止"),
    "SIGHUP": Said(
        "the terminal or the session that the launcher ran in was closed (SIGHUP)",
        "启动器所在的终端或会话被关闭（SIGHUP）",
    ),
}
PRESSED = Said("somebody stopped the job with Ctrl-C", "作业被 Ctrl-C 停止")
CTRL_C = Form(
    "somebody stopped the job with Ctrl-C ({who} ended by KeyboardInterrupt)",
    "作业被 Ctrl-C 停止（{who} 因 KeyboardInterrupt 退出）",
)
ITS_PROCESSES = Said("processes of it", "其进程")
TOLD_TO_STOP = Form("the launcher was told to stop ({signals})", "启动器收到停止信号（{signals}）")
SENDER_NOT_RECORDED = Said("who told it is not recorded", "发送者无记录")
NO_FAULT_BEFORE = Said("no line shows a fault before that", "此前无日志表明有故障")
FROM_OUTSIDE = Said("the job was stopped from outside", "作业是被外部停止的")
BEFORE_STOPPING = Said(
    "stacks and Flight Recorder dumps of all ranks before you stop the job, if it hangs",
    "停止作业前所有 rank 的调用栈与 Flight Recorder 转储（若作业卡死）",
    "stack",
    "dump",
)

# --- named_as_lost ---------------------------------------------------------------------------------------------------
LOST_BY_OTHERS = Form(
    "{others} lost connections; of whom they name, {who} alone names nobody",
    "{others} 失去连接；在它们提到的 rank 中，只有 {who} 未提到任何 rank",
)
ITSELF_OR_ITS_LINK = Said("it left, or its link broke", "它已退出，或其链路中断")
GAVE_UP_AT = Form(
    "{who} gave up in {where}, most others at another line", "{who} 在 {where} 处中止，多数其他 rank 在另一行"
)
