"""What the words of a verdict mean, in Chinese: what happened, and what to do. What looks alike stands in English alone."""

from collections.abc import Mapping
from typing import NamedTuple

from forensics.model.names import Cause, Reason, Status


class Meaning(NamedTuple):
    """`means`: what happened. `do`: what helps."""

    means: str
    do: str


CAUSES: Mapping[Cause, Meaning] = {
    "rank_absent": Meaning("一个存活的 rank 未进入其他成员都在等待的操作；故障在于它当时在做的事：加载数据、检查点、锁或较慢的分支。", "查看该 rank 的调用栈及其所指的代码行，再看该行在等什么：存储、其他进程或锁。"),
    "rank_died": Meaning("进程在其他 rank 等待期间退出，且无记录说明原因。", "查看该节点的内核日志与调度器记录。"),
    "collective_mismatch": Meaning("同一进程组的成员在同一位置调用了不同的操作、大小或类型，或多调用了一次。", "查找依赖数据或 rank 的分支：评估、跳过的 batch、无梯度的参数。"),
    "deadlock_cycle": Meaning("rank 互相等待：每个 rank 都进入了另一个 rank 尚未到达的操作。", "让所有 rank 以相同顺序使用进程组或点对点通信。"),
    "network_fault": Meaning("链路、网卡或交换机故障：传输重传超限，或端口报告了错误。", "查看两端的端口计数与交换机日志，恢复之前隔离该节点。"),
    "gpu_fault": Meaning("作业停止之前，GPU 报告了自身的错误。", "隔离该节点并检测 GPU。"),
    "kernel_stuck": Meaning("该 rank 进入操作，其他成员均已完成，而它的 GPU 未完成。", "采集该进程的 native 调用栈，并查看该 GPU 的驱动日志。"),
    "store_timeout": Meaning("rank 会合所用的 store 未及时应答。", "先查看 rank 0 与 store 所在的节点。"),
    "exception": Meaning("该 rank 抛出异常，且不是由其他 rank 的故障引起。", "查看 traceback 中最内层的用户代码行。"),
    "gpu_oom": Meaning("该 rank 显存不足。", "减小 micro-batch，增加切分，或使用重计算。"),
    "host_oom": Meaning("主机内存耗尽，内核或容器的限制终止了进程。", "减少数据加载进程与预取的 batch，或提高上限。"),
    "segfault": Meaning("进程在 native 代码中崩溃。", "查看 core dump，比较库与驱动的版本。"),
    "killed": Meaning("进程被 SIGKILL 终止，发送者无记录。", "查看内核日志与调度器记录。"),
    "disk_full": Meaning("磁盘或共享内存已满，写入失败。", "重启之前先清理空间。"),
    "preempted": Meaning("调度器将节点让给了其他作业。", "作业本身无故障，重启即可。"),
    "stopped_by_hand": Meaning("作业被人手动停止。", "若曾卡死，下次停止之前先采集调用栈。"),
    "time_limit": Meaning("作业达到时间上限，被调度器结束。", "查看最后的 step：作业当时是否仍有进展？"),
    "nan_birth": Meaning("某个操作的输入均有限，输出却含 NaN。", "用相同输入重跑该操作，并换一块 GPU 再试。"),
    "overflow": Meaning("数值超出格式的范围：先出现 Inf，之后才有 NaN。", "检查学习率、loss scale 与该模块的数值格式。"),
    "bad_state": Meaning("权重或优化器状态首次被观测时已含异常值。", "回退到更早的检查点，并检查所加载的检查点。"),
    "bad_input": Meaning("该 batch 的数据已含异常值。", "检查该 step 的数据。"),
    "comm_corruption": Meaning("通信的输入经观测均有限，输出却含异常值。", "检测 GPU 及其间的链路。"),
    "replica_divergence": Meaning("应当相同的副本不一致，且数值均有限：静默数据错误，或缺少一次同步。", "换一块 GPU 重跑该 step，并确认所有副本都参与同步。"),
    "loss_scale_collapse": Meaning("梯度反复溢出，loss scale 逐步下降。", "找出梯度溢出的模块。"),
    "loss_spike": Meaning("loss 突然升高。", "检查该 step 的数据；回退并跳过。"),
    "underflow": Meaning("梯度下溢为 0。", "提高 loss scale，或使用范围更大的格式。"),
    "straggler_compute": Meaning("该 rank 的计算比其他 rank 慢。", "检查该 GPU 的频率、温度与功耗。"),
    "straggler_host": Meaning("该 rank 在主机侧耗时更长：数据、Python 或文件系统。", "检查该节点上的其他进程与数据加载。"),
    "straggler_network": Meaning("该 rank 的传输比其他 rank 慢。", "查看端口计数，比较各链路的速率。"),
    "throughput_drop": Meaning("作业从某个 step 起变慢，且未恢复。", "记录每个 rank 的分段计时。"),
    "imbalance": Meaning("负载不均：部分 rank 分到更多 token、专家或层。", "重新分配负载。"),
    "wrong_interface": Meaning("该 rank 公布的地址，其他节点无法访问。", "指定网络接口：NCCL_SOCKET_IFNAME、GLOO_SOCKET_IFNAME。"),
    "version_mismatch": Meaning("各 rank 的库版本不一致。", "所有节点使用同一镜像。"),
    "missing_ranks": Meaning("部分 rank 未加入作业的启动。", "查看未加入的 rank 的日志。"),
    "config_drift": Meaning("某项配置在各 rank 之间不一致。", "统一该项配置。"),
}  # fmt: skip
STATUSES: Mapping[Status, Meaning] = {
    "established": Meaning("至少两个不同来源相互印证，无相反证据。", "据此处理。"),
    "supported": Meaning("只有一个来源支持，无相反证据。", "据此处理，并寻找第二个来源。"),
    "hypothesis": Meaning("目前最合理的解释，尚未排除其他解释。", "在隔离任何设备之前，先收集报告所列的证据。"),
    "unknown": Meaning("没有规则能解释证据包中的内容。", "查看报告所列的错误行。"),
}
REASONS: Mapping[Reason, Meaning] = {
    "all_entered_no_counters": Meaning("所有成员均已进入操作，无一完成，也没有计数能表明是谁停下。", "采集 NCCL 的 RAS 状态或 proxy 转储，以及 native 调用栈。"),
    "culprit_among_missing": Meaning("未打印相关信息或没有记录的 rank 可能是故障 rank。", "收集这些 rank 的记录。"),
    "two_member_mismatch": Meaning("两个成员不一致，无法得知哪个有误。", "比较两者的代码路径。"),
    "ring_buffer_wrapped": Meaning("关键记录已被 Flight Recorder 覆盖。", "增大 TORCH_FR_BUFFER_SIZE。"),
    "clock_error_exceeds_gap": Meaning("时钟误差大于事件间隔。", "同步时钟（chrony、PTP）。"),
    "single_snapshot": Meaning("仅一次快照，无法区分慢与卡死。", "间隔一分钟采集两次。"),
    "tied_explanations": Meaning("多种解释同样成立。", "收集报告所列的证据。"),
    "membership_unknown": Meaning("进程组的成员未记录。", "收集 Flight Recorder 转储。"),
    "mixed_attempts": Meaning("多次启动的记录混杂。", "分开保存每次启动的日志。"),
    "no_baseline": Meaning("没有正常的 step 可供比较。", "保留完整日志。"),
    "collector_is_suspect": Meaning("现象可能由采集本身引起。", "换一种方式再次采集。"),
    "conflicting_evidence": Meaning("各来源互相矛盾。", "查看报告所指的两处。"),
    "no_hang": Meaning("没有记录表明作业卡死。", "若确知卡死，请加 --hung。"),
    "nothing_found": Meaning("没有规则能解释证据包中的内容。", "收集所有 rank 的日志，并在停止作业之前采集转储。"),
    "sampled_statistics": Meaning("张量观测不全，首个异常值可能未被记录。", "记录该 step 前后的所有模块。"),
    "replica_tie": Meaning("副本不一致，且没有多数一方。", "换一块 GPU 重跑该 step。"),
    "no_time_witness": Meaning("无法得知采集时作业是否停滞。", "再采集一次，或加 --hung。"),
}  # fmt: skip
