"""Chinese of the closed sets of the report (reports/words.py has both languages), and of sentences where no cause is known; those of
causes stand with their causes.

A sentence has several forms, the fullest first; the first one whose fields are all known is taken. Fields: R who, O the
operation, C function and line, A where it is stuck, T what it was doing, G the signal, L the last step, X a line as printed, M where a value was bad, D device, H hosts,
V the bad value, S step, K the cause in words, U the suspects.
"""

from collections.abc import Mapping
from typing import TypeVar

from forensics.model import texts
from forensics.model.names import Kind, Status
from forensics.model.said import zh
from reports import words

Name = TypeVar("Name", bound=str)


def _zh(table: Mapping[Name, str]) -> dict[Name, str]:
    return {name: zh(text) for name, text in table.items()}


KIND, CAUSE, STATUS, REASON = _zh(words.KIND), _zh(words.CAUSE), _zh(words.STATUS), _zh(words.REASON)
DOMAIN, DECISION, VALUE = _zh(words.DOMAIN), _zh(words.DECISION), _zh(words.VALUE)
ROLE, STATE, LANE = _zh(words.ROLE), _zh(words.STATE), _zh(words.LANE)
ACTION = {kind: (zh(what), zh(about), zh(who)) for kind, (what, about, who) in words.ACTION.items()}
STOPPED, UNDECIDED, PROBABLE = "已停止", "无法判定", "推测"
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
    "pause": "超出常见 step 耗时的部分",
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
COLLECT: Mapping[str, str] = {  # a word of what is to be collected, or of its command → its Chinese name
    "whole log": "完整日志", "the log": "日志", "logs of": "日志", "printed": "日志", "kernel": "内核日志", "dmesg": "内核日志",
    "scheduler": "调度器日志", "switch": "交换机日志", "stack": "调用栈", "py-spy": "调用栈",
    "Flight Recorder": "Flight Recorder 转储", "flight record": "Flight Recorder 转储", "RAS": "NCCL RAS 状态",
    "NCCL_DEBUG": "NCCL_DEBUG=INFO 日志", "TORCH_DISTRIBUTED_DEBUG": "TORCH_DISTRIBUTED_DEBUG=DETAIL 日志",
    "port counters": "端口计数", "adapter counters": "网卡计数", "statistics": "张量统计", "times of": "各阶段耗时",
    "timers": "各阶段计时", "clocks": "GPU 频率、温度与降频原因", "load of": "主机负载", "replay": "在其他 GPU 上重跑的结果",
}  # fmt: skip
NEXT_RUN = "下次运行时启用 Flight Recorder"
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
    "not recorded": "未记录", "checked": "已检查", "not excluded": "未排除", "then": "之后", "look for": "查看", "if so": "然后", "next run": "下次运行", "settings": "配置", "also": "另有", "read": "已读取", "cause": "原因",
    "never entered": "未进入", "differs in": "不一致处", "stuck in": "卡在", "waiting in": "等待于", "missed in": "缺席于",
    "operation": "操作", "was": "当时", "runs on": "运行于", "program": "程序", "bad value": "异常值", "finite until": "此前正常",
    "first anomaly": "首个异常", "affected": "影响范围", "without it": "若无此故障", "progress": "训练进度", "decision": "建议", "unless": "除非", "suspects": "可疑", "": "",
    "may be": "可能原因", "time": "耗时", "attempts": "历次启动", "goodput": "有效训练", "save every": "保存间隔", "step time": "每步耗时", "checkpoint": "检查点",
}  # fmt: skip
HEADING: Mapping[str, str] = {
    "Where the time of a step goes": "一个 step 的时间去向", "One step, operation by operation": "一个 step 的全部操作",
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
