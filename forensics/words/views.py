"""What is said beside the verdict: settings that differ, the ledger of attempts, records of hardware, and limits."""

from collections.abc import Mapping

from forensics.model.said import Form, Noun, Said

# --- limits: what was not run, not believed, not told apart -----------------------------------------------------------
NOT_RUN = Form("not run: the bundle holds no {tables}", "未运行：证据包中没有 {tables}")
STALE_RECORDS = Form(
    "flight records of {who} are older than what other records or later steps show: what they show as open is not believed",
    "{who} 的 Flight Recorder 转储早于其他记录或之后完成的 step：其中未完成的操作不予采信",
)
KNOWN_BAD = Form(
    "known bad: {hosts}, as you or the history say; that names nobody", "已标记的问题节点：{hosts}；不据此判定故障方"
)
HOST_OF_JOB = Form("{host} (of this job)", "{host}（属于本作业）")
HOST_NOT_SEEN = Form("{host} (not seen in this bundle)", "{host}（本证据包中未出现）")
CANNOT_BE_TOLD = Form("attempts: it cannot be told {what}", "各次启动：{what}")
BEGINS_ANEW_TOO_OFTEN = Form(
    "{file} seems to begin anew {number} times: that is not read as attempts",
    "{file} 似乎重新开始了 {number} 次，未按多次启动处理",
)
LINES_OF_WHICH_ATTEMPT = Form(
    "to which attempt the lines of {files} belong: they carry no usable times",
    "无法得知 {files} 的行属于第几次启动：没有可用的时间",
)
OF_ANOTHER_LAUNCH = Form(
    "flight records of another launch were not counted, their default group has other members ({number}): {files}",
    "未计入属于另一次启动的 flight record，其默认进程组的成员不同（{number} 个）：{files}",
)
IS_ONE_LAUNCH = Form(
    "whether {name} is one launch: its folders do not say whose ranks they hold",
    "无法得知 {name} 是否为同一次启动：其目录未表明 rank",
)
WHICH_LAUNCH_FIRST = Form(
    "which launch came first: {launches} carry no times in common", "无法得知各次启动的先后：{launches} 没有可比的时间"
)
NO_YEAR = Said(
    "no record tells the year: times stand in 1972, only their order is known (parse --year tells it)",
    "没有记录说明年份：时间以 1972 年表示，仅其先后可知（可用 parse --year 指定）",
)
FILES_LEFT_OUT = Form(
    "files lists {shown:,} of {number:,} members, those with errors first",
    "文件列表仅含 {number:,} 个中的 {shown:,} 个，有错误的在前",
)
SHOWING_CLASSES = Form("showing {shown} of {number} classes in the graph", "等待图仅显示 {number} 类中的 {shown} 类")
MORE_MODULES = Form(
    "{number} more modules turned bad later than the {shown} shown",
    "除所示 {shown} 个模块外，之后另有 {number} 个模块出现异常值",
)

# --- environment: what differs, and what cannot work as meant ---------------------------------------------------------
CHANGED = Said("changed between attempts", "两次启动之间有变化")
NEW_HOST = Said("a host that is new may have brought the fault", "新加入的节点可能带来故障")
AS_LAUNCHER_SAYS = Said("as the launcher says", "据启动器")
ATTEMPT = Form("attempt {attempt}", "第 {attempt} 次启动")
JOINED, LEFT = (
    Form("joined in attempt {attempt}", "第 {attempt} 次启动时加入"),
    Form("left after attempt {attempt}", "第 {attempt} 次启动后退出"),
)
AND_MORE = Form("and {number} more", "另有 {number} 个")
MORE_VALUES = Form("{number} more values", "另有 {number} 个值")
TWO_HALVES = Said("two halves differ", "两种值各占一半")
DIFFER_FROM_MOST = Form("{number} of {total} differ from the most", "{total} 个中有 {number} 个与多数不同")
VALUES = Form("{number} values", "{number} 种值")
VALUE_WAITS = Form("{value}: {waits}", "{value}：{waits}")
WAITS = Form("{once} s a try, {whole} s in {tries} tries", "每次 {once} s，{tries} 次共 {whole} s")
TIMEOUT_OUT_OF_RANGE = Form("out of its range 1-22; it stands for {waits}", "超出范围 1-22；相当于 {waits}")
TIMEOUT_FOR_EVER = Said("out of its range 1-22; 0 waits for ever", "超出范围 1-22；0 表示无限等待")
ONE_LOST_PACKET = Said("0: one lost packet ends the job", "0：丢一个包即导致作业失败")
RETRY_OUT_OF_RANGE = Said("out of its range 0-7, it has three bits", "超出范围 0-7（仅 3 位）")
WATCHDOG_ENDS_NOTHING = Said(
    "off: a watchdog that times out does not end the job, so it may hang without a word",
    "已关闭：watchdog 超时不会结束作业，作业可能无声卡死",
)
OLD_NAME = Form("the old name: since PyTorch 2.2 it is TORCH_{name}", "旧名称：PyTorch 2.2 起为 TORCH_{name}")
RECORDS_NOTHING = Said("off: the Flight Recorder records nothing", "已关闭：Flight Recorder 无记录")
NEVER_WATCHED: Mapping[str, Said] = {  # a watchdog's setting that is off. Source: PyTorch's ProcessGroupNCCL.hpp
    "TORCH_NCCL_ENABLE_MONITORING": Said(
        "off: nothing notices a watchdog that got stuck itself", "已关闭：watchdog 自身卡死时无法发现"
    ),
    "TORCH_NCCL_DUMP_ON_TIMEOUT": Said(
        "off: a time-out leaves no Flight Recorder dump", "已关闭：超时后没有 Flight Recorder 转储"
    ),
    "TORCH_NCCL_TRACE_BUFFER_SIZE": RECORDS_NOTHING,
    "TORCH_FR_BUFFER_SIZE": RECORDS_NOTHING,
}
A_DAY_OR_LONGER = Form(
    "a day or longer ({hours} h): no wait is given up before the job's own time limit",
    "超过一天（{hours} h）：在作业的时间上限之前等待不会超时",
)
ECC_OFF = Said(
    "off: errors of the device's memory are neither corrected nor reported", "已关闭：显存错误既不纠正也不上报"
)
MIG_ON = Said(
    "on: the device is cut into instances, of which a job sees one",
    "已开启：GPU 被划分为多个实例，作业只能看到其中一个",
)

# --- hardware: how a record relates to the job ------------------------------------------------------------------------
ON_NAMED_HOST = Said("on a named or suspected host", "位于故障或可疑节点")
ON_HOST_OF_NO_RANK = Said(
    "on a host that holds no rank of this job, as far as records tell", "据现有记录，该节点没有本作业的 rank"
)
ON_HOST_OF_NAMED_RANK = Said("on the host of a named or suspected rank", "位于故障或可疑 rank 所在节点")
NOT_IN_QUESTION = Said("on a host whose ranks are not in question", "所在节点的 rank 不可疑")
AS_FREQUENT = Form(
    "{relation}; as frequent on other hosts, so it accuses nobody", "{relation}；其他节点同样频繁，不能作为依据"
)
WAS_DOWN = Form("{relation}; it was down for {seconds} s", "{relation}；断开 {seconds} s")

# --- ledger and recovery: how attempts ended and how the job went on --------------------------------------------------
SAVE, STORE = Said("save", "写"), Said("store", "落盘")
RANKS_NEVER_ENDED = Form(
    "{who} began to {act} the checkpoint of step {step} and never ended",
    "{who} 开始{act} step {step} 的检查点，但未完成",
)
JOB_NEVER_ENDED = Form(
    "the job began to {act} the checkpoint of step {step}, and no line says that it ended",
    "作业开始{act} step {step} 的检查点，但没有完成的记录",
)
PRINTED = Form("{what}; rank {rank} printed: {text}", "{what}；rank {rank} 打印：“{text}”")
ATTEMPT_FROM = Form("attempt {attempt} from step {step}", "第 {attempt} 次启动，从 step {step} 起")
ACCUSED_HOST = Form("host {host}", "节点 {host}")
SAVED: Mapping[str, Said] = {"checkpoint_save": Said("saved", "写入"), "checkpoint_persist": Said("stored", "落盘")}
STEP_SAVED = Form("step {step} {how}", "step {step} 已{how}")
FAILED, PASSED, LAME = (
    Form("{who} failed", "{who} 未通过"),
    Form("{number} passed", "{number} 个通过"),
    Form("{who} slow", "{who} 较慢"),
)

# --- timeline, tracks and graph: what happened, and in which operation -------------------------------------------------
EVENT: Mapping[str, Said] = {  # of parsers.schema.event_kinds
    "exit": Said("exit", "进程退出"),
    "closing_signal": Said("closing signal", "终止信号"),
    "first_failure": Said("first failure", "首个失败"),
    "exception": Said("exception", "抛出异常"),
    "collective_timeout": Said("collective timeout", "集合通信超时"),
    "desync": Said("desync", "不同步报告"),
    "fingerprint_mismatch": Said("fingerprint mismatch", "调用指纹不一致"),
    "size_mismatch": Said("size mismatch", "大小不一致"),
    "barrier_missing": Said("barrier missing", "未到达 barrier"),
    "missing_members": Said("missing members", "成员缺失"),
    "store_timeout": Said("store timeout", "store 超时"),
    "dump_signal": Said("dump signal", "转储信号"),
    "heartbeat_lost": Said("heartbeat lost", "心跳丢失"),
    "peer_closed": Said("peer closed", "对端关闭连接"),
    "connect_failed": Said("connect failed", "连接失败"),
    "remote_error": Said("remote error", "远端错误"),
    "completion_error": Said("completion error", "完成队列错误"),
    "port_error": Said("port error", "端口错误"),
    "link_down": Said("link down", "链路断开"),
    "link_up": Said("link up", "链路恢复"),
    "gpu_error": Said("gpu error", "GPU 错误"),
    "gpu_lost": Said("gpu lost", "GPU 掉卡"),
    "cuda_error": Said("cuda error", "CUDA 错误"),
    "gpu_oom": Said("gpu oom", "显存不足"),
    "host_oom": Said("host oom", "主机内存不足"),
    "segfault": Said("segfault", "段错误"),
    "disk_full": Said("disk full", "磁盘空间不足"),
    "storage_error": Said("storage error", "存储错误"),
    "pcie_error": Said("pcie error", "PCIe 错误"),
    "memory_error": Said("memory error", "内存错误"),
    "soft_lockup": Said("soft lockup", "软死锁"),
    "hung_task": Said("hung task", "任务挂起"),
    "comm_init_start": Said("comm init start", "通信域开始初始化"),
    "comm_init_complete": Said("comm init complete", "通信域初始化完成"),
    "comm_abort": Said("comm abort", "通信域中止"),
    "comm_destroy": Said("comm destroy", "通信域销毁"),
    "comm_warning": Said("comm warning", "通信库警告"),
    "config_error": Said("config error", "配置错误"),
    "nan_assert": Said("nan assert", "NaN 断言"),
    "replica_mismatch": Said("replica mismatch", "副本不一致"),
    "loss_scale": Said("loss scale", "loss scale 变化"),
    "recompute": Said("recompute", "重计算"),
    "replay": Said("replay", "重放"),
    "bad_loss": Said("bad loss", "异常 loss"),
    "checkpoint_save": Said("checkpoint save", "写检查点"),
    "checkpoint_persist": Said("checkpoint persist", "检查点落盘"),
    "checkpoint_load": Said("checkpoint load", "加载检查点"),
    "job_start": Said("job start", "作业开始"),
    "job_end": Said("job end", "作业结束"),
    "node_check": Said("node check", "节点检查"),
    "membership": Said("membership", "成员变化"),
    "scheduler": Said("scheduler", "调度器"),
    "ras_status": Said("ras status", "RAS 状态"),
    "straggler": Said("straggler", "慢 rank 报告"),
    "expert_load": Said("expert load", "专家负载"),
    "other": Said("other", "其他"),
}
RANKS = Noun("rank", "ranks", "个 rank")
WITH_CODE = Form("{event} {code}", "{event} {code}")
STEP_COMPLETED = Form("step {step} completed", "step {step} 完成")
OPERATION, OPERATION_NUMBERED = (
    Form("{kind} of {group}", "{group} 的 {kind}"),
    Form("{kind} #{number} of {group}", "{group} 的 {kind} #{number}"),
)
