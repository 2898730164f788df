"""What the words of a verdict mean: per cause, status and reason what it says, what looks alike, and what to do. What looks alike
stands in English alone."""

from collections.abc import Mapping
from typing import NamedTuple

from forensics.model.causes import CAUSES as ROWS
from forensics.model.names import Cause, Reason, Status
from forensics.model.said import Said


class Meaning(NamedTuple):
    """`means`: what happened. `alike`: what looks like it, and what tells them apart. `do`: what helps."""

    means: Said
    alike: str
    do: Said


CAUSES: Mapping[Cause, Meaning] = {cause: Meaning(row.means, row.alike, row.do) for cause, row in ROWS.items()}
STATUSES: Mapping[Status, Meaning] = {
    "established": Meaning(
        Said("Two or more independent sources agree, and none contradicts.", "至少两个不同来源相互印证，无相反证据。"),
        "Many ranks that say the same are one source: they are all peers.",
        Said("Act on it.", "据此处理。"),
    ),
    "supported": Meaning(
        Said("One source says so, and none contradicts.", "只有一个来源支持，无相反证据。"),
        "established has a second source.",
        Said("Act on it, and look for a second source.", "据此处理，并寻找第二个来源。"),
    ),
    "hypothesis": Meaning(
        Said("The best explanation; others remain.", "目前最合理的解释，尚未排除其他解释。"),
        "A list of suspects is a hypothesis too: the rank at fault is one of them.",
        Said(
            "Collect what the report lists before anything is taken out of service.",
            "在隔离任何设备之前，先收集报告所列的证据。",
        ),
    ),
    "unknown": Meaning(
        Said("No rule explains what is in the bundle.", "没有规则能解释证据包中的内容。"),
        "healthy needs proof that the run ended well.",
        Said("Read the error lines that the report lists.", "查看报告所列的错误行。"),
    ),
}
REASONS: Mapping[Reason, Meaning] = {
    "all_entered_no_counters": Meaning(
        Said(
            "All members entered the operation, none completed it, and no counter shows who stopped.",
            "所有成员均已进入操作，无一完成，也没有计数能表明是谁停下。",
        ),
        "With counters of transfers, or a record of a GPU, one member can be told.",
        Said(
            "Collect NCCL's RAS status or proxy dumps, and native stacks.",
            "采集 NCCL 的 RAS 状态或 proxy 转储，以及 native 调用栈。",
        ),
    ),
    "culprit_among_missing": Meaning(
        Said(
            "A rank that said nothing of it, or left no record, may be at fault.",
            "未打印相关信息或没有记录的 rank 可能是故障 rank。",
        ),
        "Silence is no proof of absence.",
        Said("Collect the records of these ranks.", "收集这些 rank 的记录。"),
    ),
    "two_member_mismatch": Meaning(
        Said("Two members differ: there is no majority.", "两个成员不一致，无法得知哪个有误。"),
        "With a third member the majority decides.",
        Said("Compare their code paths.", "比较两者的代码路径。"),
    ),
    "ring_buffer_wrapped": Meaning(
        Said("The Flight Recorder had overwritten the entries that decide.", "关键记录已被 Flight Recorder 覆盖。"),
        "A short record without overwriting is complete.",
        Said("Set a larger TORCH_FR_BUFFER_SIZE.", "增大 TORCH_FR_BUFFER_SIZE。"),
    ),
    "clock_error_exceeds_gap": Meaning(
        Said("The clocks differ by more than the time between the events.", "时钟误差大于事件间隔。"),
        "On one host the order is known.",
        Said("Keep clocks in step (chrony, PTP).", "同步时钟（chrony、PTP）。"),
    ),
    "single_snapshot": Meaning(
        Said("One snapshot does not show whether a rank is slow or stuck.", "仅一次快照，无法区分慢与卡死。"),
        "A second one with the same stack shows it.",
        Said("Take two dumps, a minute apart.", "间隔一分钟采集两次。"),
    ),
    "tied_explanations": Meaning(
        Said("Several explanations fit equally well.", "多种解释同样成立。"),
        "One that explains more symptoms would win.",
        Said("Collect what the report lists.", "收集报告所列的证据。"),
    ),
    "membership_unknown": Meaning(
        Said("The members of the group are not recorded.", "进程组的成员未记录。"),
        "Flight Recorder dumps hold them.",
        Said("Collect Flight Recorder dumps.", "收集 Flight Recorder 转储。"),
    ),
    "mixed_attempts": Meaning(
        Said("Records of several launches could not be told apart.", "多次启动的记录混杂。"),
        "Folders or launch ids per attempt tell them.",
        Said("Keep the logs of each launch apart.", "分开保存每次启动的日志。"),
    ),
    "no_baseline": Meaning(
        Said("There are no normal steps to compare with.", "没有正常的 step 可供比较。"),
        "An earlier, normal stretch of the log would do.",
        Said("Keep the whole log.", "保留完整日志。"),
    ),
    "collector_is_suspect": Meaning(
        Said("Collecting the records may itself have caused what they show.", "现象可能由采集本身引起。"),
        "A dump taken afterwards shows it too.",
        Said("Collect once more, in another way.", "换一种方式再次采集。"),
    ),
    "conflicting_evidence": Meaning(
        Said("Sources contradict each other.", "各来源互相矛盾。"),
        "A record that is older than another does not contradict it.",
        Said("Look at both places that the report names.", "查看报告所指的两处。"),
    ),
    "no_hang": Meaning(
        Said("No line shows that the job hung.", "没有记录表明作业卡死。"),
        "A hang needs a witness of time.",
        Said("If you know that it hung, say --hung.", "若确知卡死，请加 --hung。"),
    ),
    "nothing_found": Meaning(
        Said("No rule explains what is in the bundle.", "没有规则能解释证据包中的内容。"),
        "Quiet is not the same as healthy.",
        Said(
            "Collect the logs of all ranks, and dumps before the job is stopped.",
            "收集所有 rank 的日志，并在停止作业之前采集转储。",
        ),
    ),
    "sampled_statistics": Meaning(
        Said(
            "Not all tensors were observed, so the first bad value may not be recorded.",
            "张量观测不全，首个异常值可能未被记录。",
        ),
        "With every module and step it is.",
        Said("Record every module around that step.", "记录该 step 前后的所有模块。"),
    ),
    "replica_tie": Meaning(
        Said("Replicas differ, and no majority shows which one is wrong.", "副本不一致，且没有多数一方。"),
        "Three replicas have a majority.",
        Said("Repeat the step on another GPU.", "换一块 GPU 重跑该 step。"),
    ),
    "no_time_witness": Meaning(
        Said("No line shows that the job stood still when the records were taken.", "无法得知采集时作业是否停滞。"),
        "A time-out, or a second dump, would.",
        Said("Take a second dump, or say --hung.", "再采集一次，或加 --hung。"),
    ),
}
