"""What detectors of slowness say: who takes longer than its peers, who keeps the others waiting, when a job became slower."""

from forensics.model.said import Form, Noun, Said

SLOW = Form("Slow: {what}.", "{what}。")
NOBODY_NAMED = Form("Nobody is named: {why}.", "未判定故障 rank：{why}。")

# --- peers: what may make ranks differ by design, when they are slow, and what it costs ------------------------------
SO_MANY_DIFFER = Said(
    "so many ranks differ from the rest that they may do other work", "与其余不同的 rank 过多，可能承担的工作不同"
)
EQUAL_DISTANCES = Said(
    "they stand at equal distances, as ranks with a task of their own do", "这些 rank 的编号等间隔，可能承担专门的任务"
)
RANK_0_LOADS = Said("rank 0 often loads, logs and saves for the others", "rank 0 常替其他 rank 加载、写日志和保存")
EXPERT_LOAD_UNKNOWN = Said(
    "experts may be loaded unevenly, and no record says how many tokens each rank had",
    "专家负载可能不均，且没有各 rank 的 token 数记录",
)
STAGES_UNKNOWN = Said(
    "the job is a pipeline, and which stage each rank holds is not known", "作业为流水线并行，各 rank 所属的 stage 未知"
)
HOPS_BEAR_LESS = Form(
    "all {number} hops into and out of {host} bear {own} GB/s, the {others} between other hosts {level} GB/s at the median",
    "进出 {host} 的 {number} 个跳均为 {own} GB/s，其他主机之间的 {others} 个跳中位数为 {level} GB/s",
)
HOST_IS_SLOW = Form(
    "{host} is named, none of its ranks: the update of their parameters takes them as long as the others, so that they have no more layers; "
    "whether the host holds them up, or each of their devices, is not told.",
    "已指认 {host}，但不指认其中的 rank：其参数更新耗时与其他 rank 相同，说明层数并不更多；是主机拖慢还是各设备本身慢，无法判断。",
)
MAY_BE_A_STAGE = Said(
    "they may be a pipeline stage of their own; the layout is not known", "可能自成一个流水线 stage；并行布局未知"
)
LAYOUT_UNKNOWN = Said(
    "The layout is not known: it may be a pipeline stage with more to do, by design.",
    "并行布局未知：可能是本就负载更高的流水线 stage。",
)
ON_AND_OFF = Form("on and off, in {votes} of {steps} steps", "时有时无，{steps} 个 step 中有 {votes} 个")
FROM_FIRST_STEP = Said("from the first step on", "从第一个 step 起")
FROM_STEP = Form("from step {step} on", "从 step {step} 起")
IN_STEPS = Form("in steps {begin} to {end}", "在 step {begin} 到 {end}")
LONGER_BY_SHARE, LONGER_BY_MS = (Form("{percent}% longer", "长 {percent}%"), Form("{ms} ms longer", "长 {ms} ms"))
LONGER = Form(
    "rank {rank}: {phase} takes {own} ms, the median of its {peers} peers is {level} ms ({more}), {course}",
    "rank {rank}：{phase} 耗时 {own} ms，其余 {peers} 个 rank 的中位数为 {level} ms（{more}），{course}",
)
OF_STEPS = Form("{what} ({votes} of {steps} steps)", "{what}（{steps} 个 step 中的 {votes} 个）")
OTHERS_WAIT = Form(
    "the others wait for rank {rank}: in {phase} it spends {own} ms, the others {level} ms at the median ({votes} of {steps} "
    "steps)",
    "其他 rank 在等待 rank {rank}：它在 {phase} 中耗时 {own} ms，其他 rank 的中位数为 {level} ms（{steps} 个 step 中的 {votes} 个）",
)
MEASURED_FITS = Form("What was measured fits: {what}.", "测量值与此吻合：{what}。")
COSTS_ALL = Form(
    "Waiting for it costs all ranks about {percent}% of the time of all steps.",
    "等待它使所有 rank 损失约 {percent}% 的 step 时间。",
)
COSTS_BY_REPLAY = Form(
    "Replayed without it, the steps are {percent}% shorter.", "回放表明：去掉其多耗的时间，step 缩短 {percent}%。"
)
ON_HOSTS = Form("{ranks} ({hosts})", "{ranks}（{hosts}）")

# --- late_rank -------------------------------------------------------------------------------------------------------
LAST_TO_COME = Form(
    "{who} last to come to {phase}, {course}: the others wait there, it does not",
    "{who} 最后到达 {phase}（{course}）：其他 rank 在此等待它",
)
LONGER_STEPS = Form(
    "{who} with longer steps than its peers by its own clock, {course}",
    "{who} 自身记录的 step 耗时比其他 rank 长（{course}）",
)
MAY_COMMUNICATE_LESS = Said(
    "no record times its whole steps, so that it may have less to communicate",
    "没有其完整 step 的耗时记录，可能只是通信量较少",
)
LOST_ON_ITS_HOST = Said(
    "Its work takes no longer than its peers'; the time is lost on its host, between them.",
    "其各阶段耗时不比其他 rank 长；时间损失在主机侧，各阶段之间。",
)
LOST_UNKNOWN = Said("What it loses the time with is not recorded.", "没有记录表明时间耗在何处。")
TIMES_AND_STACKS = Said(
    "times of forward, backward, data loading and communication of every rank, stacks of the slow one",
    "各 rank 的前向、反向、数据加载和通信耗时，以及慢 rank 的调用栈",
    "times",
    "stack",
)

# --- reported_straggler ----------------------------------------------------------------------------------------------
TOOL_CALLS_SLOW = Form(
    "a tool that compares all ranks calls {who} slow in {number} reports",
    "比较所有 rank 的工具在 {number} 次报告中认定 {who} 较慢",
)
CHECK_CALLS_SLOW = Form(
    "a check of all nodes calls {hosts} slow in {number} rounds", "所有节点的检查在 {number} 轮中认定 {hosts} 较慢"
)
CHECK_TOOK_LONGER = Said("its check took longer", "其检查耗时更长")
TIMES_OF_CHECKS = Said(
    "times of matmul and all-gather of every node and round", "各节点每轮的 matmul 和 all-gather 耗时", "times"
)
SLOWEST_OF_INTERVALS = Form(
    "rank {rank} is the slowest of {votes} of {intervals} intervals of {timer}, {percent}% above the fastest",
    "rank {rank} 在 {timer} 的 {intervals} 个区间中有 {votes} 个最慢，比最快者慢 {percent}%",
)
LOWEST_THROUGHPUT = Form(
    "rank {rank} has the lowest throughput in {votes} of the last {intervals} intervals, {percent}% below the highest",
    "rank {rank} 在最后 {intervals} 个区间中有 {votes} 个吞吐最低，比最高者低 {percent}%",
)
AND_LOWEST_CLOCK = Form("{throughput}, and the lowest clock", "{throughput}，且频率最低")
TIMES_OVER_STEPS = Said(
    "times of forward, backward and communication of every rank, over some steps",
    "若干 step 内各 rank 的前向、反向和通信耗时",
    "times",
)

# --- slow_kernels ----------------------------------------------------------------------------------------------------
SLOWER_AT_KERNEL = Form(
    "{who} slower than its peers at {kernel}, {percent}% above their median in {moments} snapshots",
    "{who} 的 {kernel} 比其他 rank 慢，在 {moments} 次快照中比中位数高 {percent}%",
)
SAME_KERNELS_LONGER = Said("its device takes longer for the same kernels", "其设备执行同样的 kernel 耗时更长")
ONE_SNAPSHOT = Said("there is one snapshot", "仅一次快照")
PRODUCTS_MAY_BE_LARGER = Said(
    "its products may be larger by design, and its collectives are not shorter than its peers'",
    "其矩阵乘可能本就更大，且其集合通信并不比其他 rank 短",
)
KERNEL_TAKES = Form(
    "rank {rank}: {kernel} takes {own} ms, at the median of its {peers} peers {level} ms",
    "rank {rank}：{kernel} 耗时 {own} ms，其余 {peers} 个 rank 的中位数为 {level} ms",
)
TIMES_OVER_SOME_STEPS = Said(
    "times of forward, backward and communication of every rank over some steps",
    "若干 step 内各 rank 的前向、反向和通信耗时",
    "times",
)

# --- slow_parts -------------------------------------------------------------------------------------------------------
LONGER_AT_PART = Form(
    "{who} takes longer than its peers at {phase}, {own} ms at the mean where they take {level} ms",
    "{who} 的 {phase} 比其他 rank 长，平均 {own} ms，其他为 {level} ms",
)
PART_TAKES = Form(
    "rank {rank}: {phase} {own} ms, at the median of its {peers} peers {level} ms",
    "rank {rank}：{phase} 为 {own} ms，其余 {peers} 个 rank 的中位数为 {level} ms",
)
WAITS_LESS = Form(
    "the others wait for rank {rank}: it waits {ms} ms less than they do at the median",
    "其他 rank 在等待 rank {rank}：其等待时间比它们的中位数少 {ms} ms",
)
NO_WAIT_TOLD = Said(
    "it may have other work to do, and the others are not shown to wait for it",
    "其工作量可能本就不同，且没有其他 rank 在等待它的记录",
)

# --- slow_network ----------------------------------------------------------------------------------------------------
TWIN_TAKES_LONGER = Form(
    "within {host} {kind} takes {own} ms, within {others} other hosts {level} ms for the same call of {size} members ({calls} "
    "calls); its fastest member is slow, too",
    "{host} 节点内的 {kind} 耗时 {own} ms，其他 {others} 个节点内同样 {size} 个成员的调用为 {level} ms（{calls} 次调用）；其最快的成员也慢",
)
SLOWER_LINKS_INSIDE = Said("the links between its devices are slower", "其设备间的链路较慢")
LINKS_ARE_SLOWER = Form("{what}: its links are slower", "{what}：其链路较慢")
LINK_STATE = Form(
    "nvidia-smi nvlink -s, topology and PCIe state of {host}, and of another host",
    "{host} 与另一节点的 nvidia-smi nvlink -s、拓扑和 PCIe 状态",
    ("device", "port"),
)
HOST_COMMUNICATES_LONGER = Form(
    "{phase} takes the ranks of {host} {own} ms, all others {level} ms ({percent}% longer), {course}; they do not come to it "
    "early",
    "{phase}：{host} 的 rank 耗时 {own} ms，其他为 {level} ms（长 {percent}%），{course}；它们并未提前到达",
)
OF_RANKS = Form("{what} (ranks {first}-{last})", "{what}（rank {first}-{last}）")
COMMUNICATION_LONGER = Said("its communication alone takes longer", "仅其通信耗时更长")
PORT_COUNTERS = Said(
    "port counters and link speed of that host's adapters, and of its switch ports",
    "该节点网卡及其交换机端口的端口计数和链路速率",
    "port",
)

# --- straggler -------------------------------------------------------------------------------------------------------
TOKENS, BYTES = Said("tokens", "个 token"), Said("bytes", "字节")
WORKS_ON = Form(
    "rank {rank} works on {own} {what} in {phase}, its peers on {others} at the median",
    "rank {rank} 在 {phase} 中处理 {own} {what}，其他 rank 的中位数为 {others}",
)
BUSIEST_EXPERT = Form(
    "rank {rank} prints that its busiest expert has {times} times the tokens of the mean",
    "rank {rank} 打印其最忙的专家的 token 数为平均的 {times} 倍",
)
AND_RECOMPUTES = Form("{load}, and that it computes activations a second time for that", "{load}，并因此重新计算激活")
RECOMPUTES = Form(
    "rank {rank} says that it computes activations a second time, most of its peers do not",
    "rank {rank} 打印其会重新计算激活，多数其他 rank 没有",
)
TWICE = Said("it computes activations a second time", "它会重新计算激活")
SETTING_UNEVEN = Said("what is computed a second time differs between ranks", "各 rank 的重计算设置不同")
SHARE_EACH_LAYER = Said(
    "they share each layer, so that one of them holds the others up in it", "它们共同计算每一层，其中一个会拖慢其他"
)
SLOWER_AT = Form("{who} is slower than its peers at {phases}, {course}", "{who} 的 {phases} 比其他 rank 慢（{course}）")
ALL_SLOWER_AT = Form(
    "{who} are slower than their peers at {phases}, {course}", "{who} 的 {phases} 比其他 rank 慢（{course}）"
)
CLOCKS_LOAD_STAGES = Said(
    "clocks, temperatures and throttle reasons of the GPUs, the load of the hosts, and the pipeline stage of each rank",
    "GPU 频率、温度与降频原因，主机负载，以及各 rank 的流水线 stage",
    "device",
)
TAKES_LONGER = Said(
    "it takes longer; whether by more work, a busy host or its device is not shown (look at the load of its host first, then at "
    "clocks, power and temperature)",
    "其耗时更长；是工作更多、主机繁忙还是设备原因并未显示（先检查主机负载，再检查频率、功耗、温度）",
)
KERNELS_LONGER = Said(
    "its kernels take longer on the device, which no load of its host brings about: clocks, temperature and power, else larger shapes",
    "其 kernel 在设备上耗时更长，与主机负载无关：检查频率、温度与功耗，否则是计算的形状更大",
)
HOST_KEEPS_WAITING = Said(
    "its steps wait for its host (look at the loader, storage, other processes)",
    "其 step 在等待主机（检查数据加载、存储、其他进程）",
)
LONGER_IN_ALL = Form(
    "it takes longer in all that it computes, and {mates} not: clocks, temperature, power and throttling of its device before the load of the host",
    "其所有计算都变慢，而{mates}正常：先查其设备的频率、温度、功耗与降频，再查主机负载",
)
RANKS_OF_ITS_HOST = Noun("other rank of its host does", "other ranks of its host do", "个同节点 rank ")
WHAT_IT_DOES_IN = Form("what {who} does in {phases} that others do not", "{who} 在 {phases} 中比其他多做了什么")
AS_FAST_IN = Form(
    "in {phases} it is as fast as they are: a hook, an extra module, longer inputs, logging",
    "在 {phases} 中与其他一样快：检查钩子、多出的模块、更长的输入、日志",
)
STACKS_IN = Form("stacks of {who} while it is in {phases}", "{who} 处于 {phases} 时的调用栈", ("stack",))
WHAT_WAITS_IN = Form("what {who} waits for in {phases}", "{who} 在 {phases} 中等待什么")
FIXED_WAIT = Form(
    "{times} times {ms} ms, within {percent} %: a sleep, time-out or rate limit, no load",
    "共 {times} 次均为 {ms} ms，相差不到 {percent}%：是 sleep、超时或限速，而非负载",
)
LOADS_LONGER = Form(
    "{phase} alone takes longer: its loader, its data, the storage of these",
    "仅 {phase} 变慢：检查其数据加载、所读的数据分片与存储",
)
WRITES_LONGER = Form(
    "{phase} alone takes longer: what it writes, and the storage that this goes to",
    "仅 {phase} 变慢：检查其写入内容与目标存储",
)
THROTTLED = Form(
    "the control group of rank {rank} was held back by its quota of processor time in {throttled} of {periods} periods",
    "rank {rank} 的 cgroup 在 {periods} 个周期中有 {throttled} 个因 CPU 配额被限流",
)
LIMIT_OF = Form("the CPU limit of rank {rank} ({folder})", "rank {rank} 的 CPU 限额（{folder}）")
HELD_BY_QUOTA = Form(
    "its control group is throttled in {percent} % of its periods: raise the quota; the host is not at fault",
    "其 cgroup 在 {percent}% 的周期中被限流：提高配额；节点本身没有问题",
)
MORE_TOKENS, MORE_TO_WRITE = (
    Said("more tokens were routed there", "路由到此的 token 更多"),
    Said("it has more to write", "要写的内容更多"),
)
BY_IMBALANCE = Form(
    "{who} longer at {phases}, {course}, by an imbalance: {why}",
    "{who} 的 {phases} 耗时更长（{course}），原因是负载不均：{why}",
)
ROUTING_UNEVEN, SHARDING_UNEVEN = (
    Said("the routing loads some experts more than others", "路由使部分专家负载更高"),
    Said("the sharding loads some ranks more than others", "切分使部分 rank 负载更高"),
)

# --- throughput_drop -------------------------------------------------------------------------------------------------
TFLOPS, SAMPLES_OR_TOKENS = Said("TFLOPS", "TFLOPS"), Said("samples or tokens per second", "每秒样本或 token 数")
SAMPLES, STEPS = Said("samples per second", "每秒样本数"), Said("steps per second", "每秒 step 数")
LESS = Form("{percent} % less", "下降 {percent}%")
FELL = Form(
    "from step {step} on {metric} fell from {high} to {low} ({less}) and stayed there",
    "从 step {step} 起 {metric} 由 {high} 降至 {low}（{less}），未恢复",
)
FELL_AND_SINKS = Form(
    "from step {step} on {metric} fell from {high} to {low} ({less}), and goes on falling",
    "从 step {step} 起 {metric} 由 {high} 降至 {low}（{less}），且仍在下降",
)
FELL_IN_MEANS = Form(
    "from the printed mean number {step} on, {metric} fell from {high} to {low} ({less}) and stayed there",
    "从第 {step} 行均值起 {metric} 由 {high} 降至 {low}（{less}），未恢复",
)
SANK = Form(
    "from step {first} to {last} {metric} fell steadily from {high} to {low} ({less})",
    "step {first} 到 {last}，{metric} 由 {high} 逐渐降至 {low}（{less}）",
)
GREW_MOST = Form("{name} grew most, from {before} to {after} ms", "{name} 增长最多，由 {before} 增至 {after} ms")
PART_OF_STEP = Form("Of the parts of a step, {grew}.", "各阶段中，{grew}。")
OTHER_WORK_AS_BEFORE = Said(
    "Other work of the devices takes as long as before, so that this part seems to have more to do.",
    "设备上的其他计算耗时未变，应是这一阶段的工作量增大。",
)
WORK_OF_ONE_PART = Form(
    "only {part} takes longer: look at what it works on (lengths of sequences or responses, batch, retries)",
    "仅 {part} 变慢：检查其处理的内容（序列或回复长度、batch、重试）",
)
JUMPED = Form("{name} went from {before} to {after} at step {step}", "{name} 在 step {step} 由 {before} 变为 {after}")
JUMPED_THEN = Form("only {part} takes longer, and {jumped}", "仅 {part} 变慢，且 {jumped}")
HOSTS_KEEP_WAITING = Said(
    "the devices wait longer for their hosts (loader, storage, checkpoint, logging, other processes)",
    "设备等待主机的时间变长（数据加载、存储、检查点、日志、其他进程）",
)
MEASURED_APART = Form("Measured apart from its peers: {what}.", "测量值异于其他：{what}。")
WHAT_GROWS = Said(
    "what grows with time in the processes: memory, logs, garbage collection, queues of the loader, launches",
    "进程中随时间增长的部分（内存、日志、垃圾回收、数据加载队列、kernel 启动）",
)
SINKS_EVENLY = Said(
    "it sinks little by little, and a host that turns slow does so at once", "速度逐渐下降，而节点变慢通常是突然的"
)
AT_NEXT_CHECKPOINT = Said("once, at the next checkpoint", "在下一个检查点重启一次")
RESTART_TELLS = Said(
    "if the speed is back it was the processes; if not, a device, a link or storage",
    "速度恢复则原因在进程；否则在设备、链路或存储",
)
ONE_SLOWS_ALL = Said("one slow device or host slows all", "一个慢设备或慢节点会拖慢全部")
TIMERS_AND_CLOCKS = Said(
    "timers per rank, clocks and temperatures of all devices",
    "各 rank 的各阶段计时，所有设备的频率和温度",
    "times",
    "device",
)
WHICH_RANK_UNKNOWN = Said(
    "One log does not tell which rank holds the others up.", "仅凭一份日志无法得知哪个 rank 拖慢其他。"
)
SLOWER_AS_THE_JOB = Said("it became slower as the job did, in the same measure", "它与作业同时变慢，幅度相同")
ALL_WAIT_FOR_LINK = Said("all wait for its link", "全部 rank 在等待其链路")
ALL_WAIT_FOR_IT = Form("{what}: all ranks wait for it.", "{what}：所有 rank 都在等待它。")

# --- slow_link -------------------------------------------------------------------------------------------------------
LINK_TAKES_LONGER = Form(
    "transfers between {who} take longer than those between others that do the same",
    "{who} 之间的传输比其他同类 rank 之间耗时更长",
)
TRANSFER_TAKES = Form(
    "{kind} between {ranks} takes {own} ms after both have come, between others {level} ms at the median",
    "{ranks} 之间的 {kind} 在双方到达后耗时 {own} ms，其他同类的中位数为 {level} ms",
)

# --- uneven_work -----------------------------------------------------------------------------------------------------
STAGE_HAS_MORE = Form(
    "pipeline stage {stage} has {times} times the work of the others at the mean, on each of its ranks ({ranks}): with all stages "
    "alike the steps are {percent}% shorter",
    "流水线 stage {stage} 的每个 rank（{ranks}）的计算量均为其他 stage 平均的 {times} 倍：若各 stage 相同，step 缩短 {percent}%",
)
LAST_STAGE, FIRST_STAGE = (
    Said("the last stage also has the output layer and the loss", "最后一个 stage 还承担输出层和 loss"),
    Said("the first stage also has the embedding", "第一个 stage 还承担 embedding"),
)
SPLIT_UNEVENLY = Form(
    "give stage {stage} fewer layers: the stages take as long as the longest of them",
    "减少 stage {stage} 的层数：流水线的速度取决于最慢的 stage",
)
BATCHES_DIFFER = Form(
    "micro-batches take unequally long, by {spread}% of their mean on every rank, forward and backward of the same one together, as "
    "sequence lengths make them: with all alike the steps are {percent}% shorter",
    "micro-batch 耗时不均，各 rank 上波动为均值的 {spread}%，同一 micro-batch 的前向与反向同时变长，符合序列长度不均："
    "若全部相同，step 缩短 {percent}%",
)
PACK_EVENLY = Said(
    "pack or sort sequences so that all micro-batches of a step cost alike (the sum of squared lengths, not only of lengths)",
    "按代价（长度平方之和，而不仅是长度之和）打包或排序序列，使同一 step 的 micro-batch 耗时相同",
)
NO_RANK_HEALS = Said(
    "No single rank is to blame: without any of them the steps are as long.",
    "并非某个 rank 的问题：去掉任一 rank，step 时间不变。",
)
RANKS_BESIDES = Form(
    "Besides, {who} may take longer than others that do the same: without that the steps are {percent}% shorter.",
    "此外，{who} 可能比同类 rank 耗时更长：去掉这部分，step 缩短 {percent}%。",
)
STAGE_OF_ONE = Said(
    "the stage is held by one rank or one host, which may be slow itself",
    "该 stage 仅由一个 rank 或一个节点承担，也可能是其本身较慢",
)
STAGES_CLOCKS = Said(
    "clocks and temperatures of the devices of that stage, and how many layers each stage has",
    "该 stage 各设备的频率和温度，以及每个 stage 的层数",
    "device",
)

# --- unnamed_rank ----------------------------------------------------------------------------------------------------
ONE_LINE_APART = Form(
    "in {number} of the last {steps} steps one of {lines} lines shows far more time in {phase} than all others, {ms} ms at the "
    "median",
    "最后 {steps} 个 step 中有 {number} 个，{lines} 行中有一行的 {phase} 耗时远高于其他，中位数多 {ms} ms",
)
LINES_NAME_NO_RANK = Form("{what}; the lines do not say which rank that is", "{what}；这些行未打印 rank")
LINES_THAT_NAME_RANKS = Said(
    "step lines that say which rank they are of: a rank in the logger's format, or a log per rank",
    "能区分 rank 的 step 日志（在日志格式中打印 rank，或每个 rank 单独写日志）",
    "log",
    "times",
)
