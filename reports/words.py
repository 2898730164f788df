"""Plain words for the closed sets of the report, in English and Chinese. One place, so that terminal, page and Markdown say the same.

Those of causes stand with their causes (forensics/model/causes/)."""

from collections.abc import Mapping

from forensics.model.causes import CAUSES
from forensics.model.names import ActionKind, Cause, DecisionKind, Domain, Kind, Reason, Site, Status
from forensics.model.said import Said

KIND: Mapping[Kind, Said] = {
    "hang": Said("HANG", "卡死"),
    "crash": Said("CRASH", "崩溃"),
    "numerics": Said("NUMERICS", "数值异常"),
    "slow": Said("SLOW", "变慢"),
    "launch": Said("LAUNCH FAILED", "启动失败"),
    "healthy": Said("HEALTHY", "正常"),
    "unknown": Said("UNKNOWN", "未知"),
}
CHECK_FAILED = Said("CHECK FAILED", "检查未通过")  # of a host; nothing was launched
CAUSE: Mapping[Cause, Said] = {cause: row.title for cause, row in CAUSES.items()}
# Where no stack and no record shows that its process lived.
UNSEEN = Said("never entered the collective", "未进入该操作")
STUCK: Mapping[Site, str] = {  # after "is stuck"
    "data_loading": "in data loading",
    "checkpoint_io": "reading or writing a checkpoint",
    "storage_io": "waiting for storage",
    "compute": "computing",
    "lock": "waiting for a lock",
    "compile": "compiling",
    "gpu_sync": "waiting for its GPU",
    "logging": "writing logs",
    "evaluation": "in evaluation",
    "teardown": "shutting down",
    "unresponsive": "and does not answer",
    "communication": "in communication",
    "unknown": "at a place that is not known",
}
STATUS: Mapping[Status, Said] = {
    "established": Said(
        "two or more independent sources agree; none contradicts", "至少两个不同来源相互印证，无相反证据"
    ),
    "supported": Said("one source; none contradicts it", "只有一个来源支持，无相反证据"),
    "hypothesis": Said("the best explanation; others remain", "目前最合理的解释，尚未排除其他解释"),
    "unknown": Said("the evidence does not decide", "证据不足以判定"),
}
REASON: Mapping[Reason, Said] = {
    "all_entered_no_counters": Said(
        "all members entered, and no counter shows who stopped", "成员均已进入，没有计数能表明是谁停下"
    ),
    "culprit_among_missing": Said(
        "a rank that said nothing of it may be at fault", "未打印相关信息的 rank 可能是故障 rank"
    ),
    "two_member_mismatch": Said(
        "two members differ, and nothing shows which one is wrong", "两个成员不一致，无法得知哪个有误"
    ),
    "ring_buffer_wrapped": Said(
        "the Flight Recorder had overwritten the entries that decide", "关键记录已被 Flight Recorder 覆盖"
    ),
    "clock_error_exceeds_gap": Said(
        "the clocks differ by more than the gap between the events", "时钟误差大于事件间隔"
    ),
    "single_snapshot": Said(
        "one snapshot does not show whether a rank is slow or stuck", "仅一次快照，无法区分慢与卡死"
    ),
    "tied_explanations": Said("several explanations fit equally well", "多种解释同样成立"),
    "membership_unknown": Said("the members of the group are not recorded", "进程组的成员未记录"),
    "mixed_attempts": Said("records of several launches cannot be told apart", "多次启动的记录混杂"),
    "no_baseline": Said("there are no normal steps to compare with", "没有正常的 step 可供比较"),
    "collector_is_suspect": Said("collecting the records may itself have caused this", "现象可能由采集本身引起"),
    "conflicting_evidence": Said("sources contradict each other", "各来源互相矛盾"),
    "no_hang": Said("nothing shows that the job hung", "没有记录表明作业卡死"),
    "nothing_found": Said("no known failure matches", "没有匹配的已知故障"),
    "sampled_statistics": Said(
        "not all tensors were observed, so the first bad value may not be recorded",
        "张量观测不全，首个异常值可能未被记录",
    ),
    "replica_tie": Said("replicas differ, and no majority shows which one is wrong", "副本不一致，且没有多数一方"),
    "no_time_witness": Said("nothing shows that the job stood still when this was taken", "无法得知采集时作业是否停滞"),
}
BAD_SCALE = Said("a scale of a number format is not finite", "数值格式的 scale 不是有限值")
# Of verdicts that are about no group: what it is whose members are not recorded.
UNRECORDED: Mapping[Kind, Said] = {
    "crash": Said("which rank it was is not recorded", "未记录是哪个 rank"),
    "launch": Said("which ranks did not come is not recorded", "未记录哪些 rank 没有到达"),
    "slow": Said("which ranks do the same work is not recorded", "未记录哪些 rank 承担相同的工作"),
}
_MODEL, _SCHEDULER = Said("model team", "模型团队"), Said("scheduler", "调度")
_OPERATIONS = Said("data-centre operations", "机房运维")
# What to do, the same about a target, and who normally does it.
ACTION: Mapping[ActionKind, tuple[Said, Said, Said]] = {
    "ignore": (
        Said("Nothing has to be repaired", "无需修复"),
        Said("Nothing has to be repaired in {}", "{} 无需修复"),
        Said("nobody", "无"),
    ),
    "restart_job": (Said("Restart the job", "重启作业"), Said("Restart {}", "从 {} 重启"), _SCHEDULER),
    "rollback": (
        Said("Load an older checkpoint", "回退到更早的检查点"),
        Said("Load {}", "回退到 {} 之前的检查点"),
        _MODEL,
    ),
    "skip_data": (Said("Skip the data", "跳过这批数据"), Said("Skip {}", "跳过 {} 的数据"), _MODEL),
    "drain_node": (Said("Drain the host", "隔离节点"), Said("Drain {}", "隔离 {}"), _SCHEDULER),
    "reset_gpu": (Said("Reset the GPU", "复位 GPU"), Said("Reset {}", "复位 {}"), _OPERATIONS),
    "reboot_node": (Said("Reboot the host", "重启节点"), Said("Reboot {}", "重启 {}"), _OPERATIONS),
    "inspect_hardware": (
        Said("Inspect the hardware", "检查硬件"),
        Said("Inspect the hardware of {}", "检查 {} 的硬件"),
        _OPERATIONS,
    ),
    "inspect_network": (
        Said("Inspect the network", "检查网络"),
        Said("Inspect the network of {}", "检查 {} 的网络"),
        Said("network operations", "网络运维"),
    ),
    "check_code": (Said("Check the code", "检查代码"), Said("Check {}", "检查 {}"), _MODEL),
    "check_data": (Said("Check the data", "检查数据"), Said("Check {}", "检查 {} 的数据"), _MODEL),
    "check_config": (
        Said("Check the settings", "检查配置"),
        Said("Check the settings of {}", "检查 {} 的配置"),
        _MODEL,
    ),
    "collect_more": (
        Said("Collect more evidence", "收集更多证据"),
        Said("Collect {}", "收集更多证据"),
        Said("whoever runs the job", "作业负责人"),
    ),
}
DOMAIN: Mapping[Domain, Said] = {
    "workload": Said("workload: model, data or configuration", "作业自身：模型、数据或配置"),
    "infrastructure": Said("infrastructure: GPU, host or network", "基础设施：GPU、节点或网络"),
    "unknown": Said("not known whether workload or infrastructure", "无法区分作业自身与基础设施"),
}
DECISION: Mapping[DecisionKind, Said] = {
    "restart": Said("restart, after the other steps", "完成其他步骤后可以重启"),
    "stop": Said("do not restart yet", "先修复再重启"),
    "evict": Said("restart without this host", "换下该节点再重启"),
    "keep_running": Said("replace at the next checkpoint", "在下一个检查点更换"),
    "change_first": Said("change this first", "先处理再重启"),
    "wait": Said("let it run", "让作业继续运行"),
    "cannot_tell": Said("look before the next start", "先查看再启动"),
}
VALUE: Mapping[str, Said] = {
    "nan": Said("NaN", "NaN"),
    "inf": Said("Inf", "Inf"),
    "finite": Said("a finite value", "有限值"),
}
ROLE: Mapping[str, Said] = {
    "root": Said("first", "首个"),
    "echo": Said("again", "重现"),
    "infected": Said("spread", "扩散"),
}
STATE: Mapping[str, Said] = {
    "ok": Said("ok", "正常"),
    "waiting": Said("waiting for others", "等待其他 rank"),
    "culprit": Said("at fault", "故障"),
    "suspect": Said("suspect", "可疑"),
    "dead": Said("dead", "已退出"),
    "ended": Said("ended afterwards", "随后结束"),
    "no_data": Said("no record", "无记录"),
}
LANE: Mapping[str, Said] = {
    "culprit": Said("named ranks", "故障 rank"),
    "peers": Said("other ranks", "其他 rank"),
    "system": Said("hardware, system", "硬件与系统"),
}
