"""The closed sets of the report in Chinese, and the sentence of every cause. The same tables as `reports/words.py`.

A sentence has several forms, the fullest first; the first one whose fields are all known is taken. Fields: R who, O the
operation, C function and line, A where it is stuck, T what it was doing, G the signal, L the last step, X a line as printed, M where a value was bad, D device, H hosts,
V the bad value, S step, K the cause in words, U the suspects.
"""

from collections.abc import Mapping

from forensics.model import texts
from forensics.model.names import ActionKind, Cause, DecisionKind, Domain, Kind, Reason, Status
from forensics.model.said import zh

KIND: Mapping[Kind, str] = {
    "hang": "卡死",
    "crash": "崩溃",
    "numerics": "数值异常",
    "slow": "变慢",
    "launch": "启动失败",
    "healthy": "正常",
    "unknown": "未知",
}
STOPPED, UNDECIDED, PROBABLE = "已停止", "无法判定", "推测"
CAUSE: Mapping[Cause, str] = {
    "rank_absent": "进程存活，但未进入该操作",
    "rank_died": "其他 rank 等待期间进程已退出",
    "collective_mismatch": "与其他成员调用的操作、大小或类型不一致",
    "deadlock_cycle": "rank 互相等待（死锁）",
    "network_fault": "网络故障",
    "gpu_fault": "GPU 故障",
    "kernel_stuck": "已进入操作，但 GPU 未完成（kernel 卡死）",
    "store_timeout": "rendezvous store 无应答",
    "exception": "抛出异常",
    "gpu_oom": "显存不足",
    "host_oom": "主机内存不足",
    "segfault": "段错误",
    "killed": "被信号终止",
    "disk_full": "磁盘空间不足",
    "preempted": "被调度器抢占",
    "stopped_by_hand": "被手动停止",
    "time_limit": "达到调度器的时间上限",
    "nan_birth": "输入正常却产生 NaN",
    "overflow": "溢出为 Inf",
    "bad_state": "权重、优化器状态或检查点已含异常值",
    "bad_input": "输入数据已含异常值",
    "comm_corruption": "通信前正常，通信后异常",
    "replica_divergence": "副本不一致，且数值均有限",
    "loss_scale_collapse": "loss scale 持续下降",
    "loss_spike": "loss 突增",
    "underflow": "数值下溢为 0",
    "straggler_compute": "计算比其他 rank 慢",
    "straggler_host": "所在节点比其他节点慢",
    "straggler_network": "网络比其他 rank 慢",
    "throughput_drop": "吞吐下降",
    "imbalance": "负载不均",
    "wrong_interface": "选错网络接口",
    "version_mismatch": "版本不一致",
    "missing_ranks": "部分 rank 未加入",
    "config_drift": "各 rank 的配置不一致",
}
SITE: Mapping[str, str] = {site: zh(name) for site, name in texts.SITE.items()}
STUCK: Mapping[str, str] = {  # in a sentence
    **{site: f"卡在{name}" for site, name in SITE.items()},
    "unresponsive": "无响应",
}
PHASE: Mapping[str, str] = {  # of a step, and of an attempt
    "forward": "前向",
    "backward": "反向",
    "optimizer": "优化器更新",
    "grad_sync": "梯度同步",
    "comm": "通信",
    "launch": "启动",
    "training": "训练",
    "checkpoint": "保存检查点",
    "evaluation": "评估",
    "pause": "间歇",
    "stalled": "停滞",
    "down before it": "启动前停机",
    "communicator": "通信域",
}
STATUS_NAME: Mapping[Status, str] = {
    "established": "已证实",
    "supported": "单一来源",
    "hypothesis": "推测",
    "unknown": "无法判定",
}
STATUS: Mapping[Status, str] = {
    "established": "至少两个不同来源相互印证，无相反证据",
    "supported": "只有一个来源支持，无相反证据",
    "hypothesis": "目前最合理的解释，尚未排除其他解释",
    "unknown": "证据不足以判定",
}
REASON: Mapping[Reason, str] = {
    "all_entered_no_counters": "成员均已进入，没有计数能表明是谁停下",
    "culprit_among_missing": "未打印相关信息的 rank 可能是故障 rank",
    "two_member_mismatch": "两个成员不一致，无法得知哪个有误",
    "ring_buffer_wrapped": "关键记录已被 Flight Recorder 覆盖",
    "clock_error_exceeds_gap": "时钟误差大于事件间隔",
    "single_snapshot": "仅一次快照，无法区分慢与卡死",
    "tied_explanations": "多种解释同样成立",
    "membership_unknown": "进程组的成员未记录",
    "mixed_attempts": "多次启动的记录混杂",
    "no_baseline": "没有正常的 step 可供比较",
    "collector_is_suspect": "现象可能由采集本身引起",
    "conflicting_evidence": "各来源互相矛盾",
    "no_hang": "没有记录表明作业卡死",
    "nothing_found": "没有规则能解释证据包中的内容",
    "sampled_statistics": "张量观测不全，首个异常值可能未被记录",
    "replica_tie": "副本不一致，且没有多数一方",
    "no_time_witness": "无法得知采集时作业是否停滞",
}
ACTION: Mapping[ActionKind, tuple[str, str, str]] = {  # what to do, the same about a target, and who normally does it
    "ignore": ("无需修复", "{} 无需修复", "无"),
    "restart_job": ("重启作业", "从 {} 重启", "调度"),
    "rollback": ("回退到更早的检查点", "回退到 {} 之前的检查点", "模型团队"),
    "skip_data": ("跳过这批数据", "跳过 {} 的数据", "模型团队"),
    "drain_node": ("隔离节点", "隔离 {}", "调度"),
    "reset_gpu": ("复位 GPU", "复位 {}", "机房运维"),
    "reboot_node": ("重启节点", "重启 {}", "机房运维"),
    "inspect_hardware": ("检查硬件", "检查 {} 的硬件", "机房运维"),
    "inspect_network": ("检查网络", "检查 {} 的网络", "网络运维"),
    "check_code": ("检查代码", "检查 {}", "模型团队"),
    "check_data": ("检查数据", "检查 {} 的数据", "模型团队"),
    "check_config": ("检查配置", "检查 {} 的配置", "模型团队"),
    "collect_more": ("收集更多证据", "收集更多证据", "作业负责人"),
}
COLLECT: Mapping[str, str] = {  # a word of what is to be collected, or of its command → its Chinese name
    "whole log": "完整日志", "the log": "日志", "logs of": "日志", "printed": "日志", "kernel": "内核日志", "dmesg": "内核日志",
    "scheduler": "调度器日志", "switch": "交换机日志", "stack": "调用栈", "py-spy": "调用栈",
    "Flight Recorder": "Flight Recorder 转储", "flight record": "Flight Recorder 转储", "RAS": "NCCL RAS 状态",
    "NCCL_DEBUG": "NCCL_DEBUG=INFO 日志", "TORCH_DISTRIBUTED_DEBUG": "TORCH_DISTRIBUTED_DEBUG=DETAIL 日志",
    "port counters": "端口计数", "adapter counters": "网卡计数", "statistics": "张量统计", "times of": "各阶段耗时",
    "timers": "各阶段计时", "clocks": "GPU 频率、温度与降频原因", "load of": "主机负载", "replay": "在其他 GPU 上重跑的结果",
}  # fmt: skip
NEXT_RUN = "下次运行时启用 Flight Recorder"
DECISION: Mapping[DecisionKind, str] = {
    "restart": "可以重启",
    "stop": "先修复再重启",
    "evict": "换下该节点再重启",
    "keep_running": "在下一个检查点更换",
    "change_first": "先处理再重启",
    "wait": "让作业继续运行",
    "cannot_tell": "",
}
DOMAIN: Mapping[Domain, str] = {
    "workload": "作业自身：模型、数据或配置",
    "infrastructure": "基础设施：GPU、节点或网络",
    "unknown": "无法区分作业自身与基础设施",
}
VALUE: Mapping[str, str] = {"nan": "NaN", "inf": "Inf", "finite": "有限值"}
STATE: Mapping[str, str] = {
    "ok": "正常",
    "waiting": "等待其他 rank",
    "culprit": "故障",
    "suspect": "可疑",
    "dead": "已退出",
    "ended": "随后结束",
    "no_data": "无记录",
}
ROLE: Mapping[str, str] = {"root": "首个", "echo": "重现", "infected": "扩散"}
LANE: Mapping[str, str] = {"culprit": "故障 rank", "peers": "其他 rank", "system": "硬件与系统"}
SENTENCE: Mapping[Cause, tuple[str, ...]] = {
    "rank_absent": ("{R} {A}（{C}），未进入 {O}", "{R} {A}（{C}）", "{R} {A}，未进入 {O}", "{R} 未进入 {O}", "{R} 未进入集合通信"),
    "rank_died": ("{R} 在 {O} 之前退出", "{R} 已退出"),
    "collective_mismatch": ("{R} 的调用与其他成员不一致：{O}，{C}", "{R} 的调用与其他成员不一致：{O}", "{R} 的调用与其他成员不一致"),
    "deadlock_cycle": ("{R} 互相等待（死锁）：{O}", "{R} 互相等待（死锁）"),
    "network_fault": ("{R} 出现网络故障：{X}", "{R} 出现网络故障"),
    "gpu_fault": ("{R} 的 GPU 发生故障：{X}", "{R} 的 GPU 发生故障"),
    "kernel_stuck": ("{R} 进入 {O} 但未完成", "{R} 的 GPU 未完成集合通信"),
    "store_timeout": ("{R} 访问 rendezvous store 超时",),
    "exception": ("{R} 在 {C} 处抛出异常：{X}", "{R} 抛出异常：{X}", "{R} 抛出异常"),
    "gpu_oom": ("{R} 在 {C} 处显存不足", "{R} 显存不足"),
    "host_oom": ("{R} 因主机内存不足被终止",),
    "segfault": ("{R} 发生段错误（SIGSEGV）",),
    "killed": ("{R} 被 {G} 终止（发送者未记录）", "{R} 被信号终止（发送者未记录）"),
    "disk_full": ("{R} 在 {C} 处遇到磁盘空间不足", "{R} 遇到磁盘空间不足"),
    "preempted": ("作业被调度器抢占",),
    "stopped_by_hand": ("作业被手动停止",),
    "time_limit": ("作业达到时间上限，被调度器结束",),
    "nan_birth": ("{R} 输入正常却产生 {V}：{M}", "{R} 出现 {V}"),
    "overflow": ("{R} 溢出为 {V}：{M}", "{R} 溢出为 {V}"),
    "bad_state": ("{R} 首次观测时已含 {V}：{M}", "{R} 首次观测时已含 {V}"),
    "bad_input": ("{R} 的输入已含 {V}：{M}", "{R} 的输入已含 {V}"),
    "comm_corruption": ("通信后 {R} 收到 {V}，已观测的输入均正常：{M}", "通信后 {R} 收到 {V}，已观测的输入均正常"),
    "replica_divergence": ("{R} 与其他副本不一致：{M}", "{R} 与其他副本不一致"),
    "loss_scale_collapse": ("loss scale 持续下降（step {S}）", "loss scale 持续下降"),
    "loss_spike": ("loss 在 step {S} 突增", "loss 突增"),
    "underflow": ("梯度从 step {S} 起下溢为 0", "梯度下溢为 0"),
    "straggler_compute": ("{R} 从 step {S} 起计算比其他 rank 慢", "{R} 计算比其他 rank 慢"),
    "straggler_host": ("{R} 从 step {S} 起在主机侧比其他 rank 慢（{T}）", "{R} 在主机侧比其他 rank 慢"),
    "straggler_network": ("{R} 从 step {S} 起网络比其他 rank 慢", "{R} 网络比其他 rank 慢"),
    "throughput_drop": ("吞吐从 step {S} 起下降，未恢复", "吞吐下降，未恢复"),
    "imbalance": ("{R} 从 step {S} 起负载偏高", "{R} 负载偏高"),
    "wrong_interface": ("其他节点无法访问 {R}：网络接口选择有误",),
    "version_mismatch": ("{R} 的版本与其他 rank 不一致：{X}", "{R} 的版本与其他 rank 不一致"),
    "missing_ranks": ("{R} 未加入，作业未能启动",),
    "config_drift": ("{R} 的配置与其他 rank 不一致：{X}", "{R} 的配置与其他 rank 不一致"),
}  # fmt: skip
ENDED = ("{R} 异常退出：{X}", "{R} 异常退出")  # no cause is known
OPEN: Mapping[Kind, tuple[str, ...]] = {  # nobody is named
    "hang": (
        "{O} 未完成；可疑：{U}",
        "{K}；可疑：{U}",
        "作业停滞；可疑：{U}",
        "{K}；{O} 未完成",
        "{O} 未完成",
        "{K}",
        "作业停滞",
    ),
    "crash": ("{K}；可疑：{U}", "{K}", "作业异常退出；可疑：{U}", "作业异常退出"),
    "numerics": ("训练日志在 step {S} 出现 {V}；可疑：{U}", "训练日志在 step {S} 出现 {V}", "{K}", "出现异常值"),
    "slow": ("{K}；可疑：{U}", "{K}", "作业变慢"),
    "launch": ("作业未能启动：{K}；可疑：{U}", "作业未能启动：{K}", "作业未能启动"),
    "healthy": ("未发现故障：作业正常结束，最后完成 step {L}", "未发现故障：操作均已完成"),
    "unknown": ("有错误行无法解释：{X}", "未识别出错误，也未识别出正常结束"),
}
RUNNING = "之后仍有 step 完成，采集时作业在运行"
LABEL: Mapping[str, str] = {  # of rows
    "do now": "立即处理", "collect": "待收集", "cannot tell": "无法判定", "why": "依据", "known": "已知", "contradicts": "反证",
    "not recorded": "未记录", "checked": "已检查", "not excluded": "未排除", "then": "之后", "also": "另有", "read": "已读取", "cause": "原因",
    "never entered": "未进入", "differs in": "不一致处", "stuck in": "卡在", "waiting in": "等待于", "missed in": "缺席于",
    "operation": "操作", "was": "当时", "runs on": "运行于", "bad value": "异常值", "finite until": "此前正常",
    "first anomaly": "首个异常", "affected": "影响范围", "progress": "训练进度", "decision": "建议", "suspects": "可疑", "": "",
    "may be": "可能原因", "time": "耗时", "attempts": "历次启动", "goodput": "有效训练", "save every": "保存间隔", "step time": "每步耗时", "checkpoint": "检查点",
}  # fmt: skip
HEADING: Mapping[str, str] = {
    "Where the suspects are": "可疑 rank 的位置", "Where in the job": "在作业中的位置", "When it stopped": "何时停止", "When": "何时",
    "Why this and not that": "为何如此判定",
    "Why not another": "为何不是其他解释", "Numbers": "数值", "First bad value, by module and rank": "首个异常值（按模块与 rank）",
    "Who stands out in which phase": "各阶段的离群 rank",
    "Collect": "待收集", "Cannot tell": "无法判定",  # of Markdown and page
    "Evidence": "证据", "Coverage": "已读取", "Alternatives": "其他解释", "Do now": "立即处理", "Postmortem": "复盘",
    "Impact": "影响", "Trigger": "触发", "Cause": "原因", "Detection": "发现", "Resolution": "处置",
    "What went well, what did not, where we were lucky": "做得好的、不好的、侥幸的", "Action items": "行动项",
    "Collectives": "集合通信", "Environment differences": "环境差异", "What was read": "已读内容", "Could not be read": "未能读取",
    "Who waits for whom": "等待关系", "Ranks": "rank 状态", "Hardware and system events": "硬件与系统事件",
    "Where hosts stand": "节点位置", "Links between devices": "设备间链路",
    "Method and limits": "方法与局限", "Other incidents in this bundle": "本证据包中的其他事故",
    "What each detector said": "各检测器的结论", "How to read the status": "状态说明", "Limits": "局限", "To take away": "导出",
    "Stacks": "调用栈", "Tensors": "张量", "Timeline": "时间线", "Why": "依据", "What is known": "已知",
    "Explanations that remain": "未排除的解释", "Other explanations, and why not": "其他解释",
    "Time and attempts": "时间与启动次数", "No incident": "无事故", "contradicts": "反证", "not recorded": "未记录", "Looked at and found clean": "已检查且正常",
    "For": "支持",
    "Contradicts": "反证",
    "Not recorded": "未记录",
    "Environment": "环境差异",
    "Hardware": "硬件事件",
    "for": "支持", "against": "反证", "unseen": "未记录",
}  # fmt: skip
