"""What detectors of ranks say: who did not come, who ended, who stands elsewhere."""

from collections.abc import Mapping

from forensics.model.names import Reason
from forensics.model.said import Form, Noun, Said

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
CALL = Form("{kind} #{number} of {group}", "{group} 的 {kind} #{number}")
ANY_CALL = Said("call", "调用")
NO_CALL = Said("none", "无")
DID_NOT_REACH = Form("{who} did not reach {barrier}", "{who} 未到达 {barrier}")
REACHED_OTHERS_DID_NOT = Form(
    "{who} reached {call}, and others did not, {by}", "{who} 已到达 {call}，其余成员未到达（{by}）"
)
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
WHOLE_LOG = Form("the whole log of {who}", "{who} 的完整日志")
ALL_DUMPS = Said("Flight Recorder dumps of all ranks", "所有 rank 的 Flight Recorder 转储")
