"""What to do first about bad numbers that logs show: which batch, which setting, which state is still good."""

from forensics.model.said import Form, Said

RAISED_AT = Form("it was raised at {file}:{line}", "在 {file}:{line} 抛出")
BATCH_OF = Form("the batch of {who}", "{who} 的 batch")
BATCH_OF_AT = Form("the batch of {who} in step {step}", "{who} 在 step {step} 的 batch")
OTHERS_WERE_FINITE = Said(
    "the other ranks hold the same parameters and came to finite numbers there, so these are good: look at what it read first, at its device after that",
    "其他 rank 参数相同且结果有限，参数正常：先查其读入的数据，再查其设备",
)
SAID_BY_CHECK = Form("its check says “{said}”", "其检查输出“{said}”")
RAISED_ON_THE_WAY = Form(
    "{what} was raised there, and every result before it was finite", "{what} 在此处抛出，此前的结果均有限"
)
RATE_WARMUP_CLIPPING = Said("learning rate, warm-up and gradient clipping", "学习率、warmup 与梯度裁剪")
GROWS_FOR_GOOD = Form(
    "the loss grows from step {step} on and never comes back{alike}: that is the course of an update too large, not of one batch",
    "loss 自 step {step} 起持续增长且未恢复{alike}：是更新步幅过大，而不是单个 batch 所致",
)
GROWS_IN_NO_STEP = Said(
    "the loss grows and never comes back: that is the course of an update too large, not of one batch",
    "loss 持续增长且未恢复：是更新步幅过大，而不是单个 batch 所致",
)
STAYED_HIGH = Form(
    "the loss stayed up in all {number} lines from step {first} to step {last}, the last one",
    "自 step {first} 至最后的 step {last}，{number} 行的 loss 均未回落",
)
SCALE_FELL_THERE = Form(
    "the loss scale fell meanwhile, from {first} to {last}: where it falls, an update was skipped",
    "其间 loss scale 由 {first} 降至 {last}：每次下降都跳过了一次更新",
)
WHAT_CHANGED_BEFORE = Form("what changed before step {step}", "step {step} 之前的变化")
NO_ONE_BATCH = Said(
    "the loss stays up over many batches, and one bad batch does not hold it there",
    "多个 batch 的 loss 都未回落，单个坏 batch 不会如此",
)
LOOK_AT_CHANGE = Said(
    "a resume shortly before, with the optimizer's state reset or not loaded; a learning rate, batch size or set of data that changed; the last "
    "update before it, and its gradient norm",
    "此前不久的恢复（优化器状态被重置或未加载）；学习率、batch 大小或数据集的变化；其前最后一次更新及其梯度范数",
)
THEN_OF_CHANGE = Said(
    "a warm-up after a reset: see first whether it comes back by itself; another change: undo it; nothing changed: go on from a state before it "
    "with other data",
    "重置后的 warmup：先看其是否自行恢复；其他变化：撤销；没有变化：从之前的状态换一批数据继续",
)
ON_ALL_ALIKE = Form(", on {who} alike", "（{who} 均如此）")
DIVERGED_TO = Form("the loss grew on, to {loss} at step {step}", "loss 继续增长，在 step {step} 达到 {loss}")
NAN_FROM = Form("from step {step} on it is NaN or Inf to the end", "自 step {step} 起直到最后为 NaN 或 Inf")
RATE_OF = Form("the learning rate of {who}", "{who} 的学习率")
OTHER_RATE = Form(
    "it is {rate} after the restart, that of the others {others}: see how optimizer and schedule are restored there; the hardware only if "
    "the settings are equal",
    "重启后为 {rate}，其他 rank 为 {others}：检查其如何恢复优化器与学习率调度；配置一致时才查硬件",
)
FROM_LOADED = Said("from the checkpoint that was loaded", "本次加载的检查点")
EQUAL_UNTIL_THEN = Said(
    "the replicas were equal in the last step before the restart, so what was saved then is good",
    "重启前最后一个 step 各副本一致，当时保存的检查点可用",
)
EQUAL_AFTER_UPDATE = Form(
    "all were equal after the update of step {step}, so it changed between that and its use in step {used}",
    "step {step} 更新后各副本一致，因此它在该更新之后、step {used} 使用之前发生了变化",
)
ONE_ELEMENT = Said(
    "one changed element explains the difference: a flipped bit looks like this, and so does a stray write",
    "仅一个元素变化即可解释该差异：位翻转或误写会造成此现象",
)
WHAT_MULTIPLIES = Form("what multiplies {tensor}", "对 {tensor} 做乘法的代码或配置")
WHAT_MULTIPLIES_ON = Form("what multiplies {tensor} on {who}", "{who} 上对 {tensor} 做乘法的代码或配置")
ALL_BY_FACTOR = Form(
    "all is {factor} times the others': a hook or scale, no flipped bit",
    "整体是其他副本的 {factor} 倍：是 hook 或缩放，而非位翻转",
)
LAYER_AND_INPUT = Form("{module} of {who} and what went into it", "{who} 的 {module} 及其输入")
LAYER_AND_INPUT_AT = Form(
    "{module} of {who} and what went into it in step {step}", "{who} 的 {module} 及其在 step {step} 的输入"
)
GAVE_BAD_OF = Form(
    "it was given a number ({given}) and gave none: repeat that step once on another device before a state is given up",
    "其输入为有限值（{given}）而输出不是：回退之前先在另一设备上重跑该 step 一次",
)
FIRST_TO_SAY_SO = Said(
    "nothing before it was printed as bad: repeat that step once on another device before a state is given up",
    "此前的输出均未报告异常：回退之前先在另一设备上重跑该 step 一次",
)
LOADED_AND_SETTINGS = Form("what {who} loaded and how it is set after the restart", "{who} 重启后加载的内容与其配置")
EQUAL_UNTIL_RESTART = Said(
    "the replicas were equal before the restart and differ in the first step after it: compare checkpoint, learning rate, seed and data order; the "
    "hardware only if all are equal",
    "重启前各副本一致，重启后首个 step 即不同：比较检查点、学习率、随机种子与数据顺序；均一致时才查硬件",
)
RECEIVED_WELL = Form(
    "{others} got it finite: its memory, or what writes there, before its links",
    "{others} 得到的值有限：先查其显存/内存或其他写入，再查链路",
)
COPY_WENT_BAD = Form(
    "{others} hold it finite: its memory, or what else writes there",
    "{others} 的该值有限：其显存/内存故障，或有其他写入",
)
OF_AT_MOST = Form("{what} (at most {most})", "{what}（输入最大 {most}）")
SO_MANY = Form("{what}; {bad:,} of {all:,} values are bad", "{what}；{all:,} 个值中有 {bad:,} 个异常")
LOOK_AT_BIRTH = Said(
    "a division by 0, a root or its gradient at 0, a logarithm of 0, Inf - Inf or 0 * Inf in it; few bad values are of few samples, all of "
    "them of a parameter or a scale",
    "其中的除以 0、0 处的开方或其梯度、log(0)、Inf - Inf、0 * Inf；少量异常多来自少数样本，全部异常多来自参数或缩放",
)
THEN_OF_BIRTH = Said(
    "guard it (an epsilon, a clamp); if nothing of this can be, repeat that step on another device",
    "加保护（epsilon 或 clamp）；若均不可能，在另一设备上重跑该 step",
)
FIRST_UPDATE = Form(
    "the first update and the batch of step {step}: learning rate, warm-up, initial scale",
    "首次更新与 step {step} 的 batch（学习率、warmup、初始 scale）",
)
FIRST_UPDATE_ON = Form(
    "the first update on {who} and its batch of step {step}: learning rate, warm-up, initial scale",
    "{who} 上的首次更新与 step {step} 的 batch（学习率、warmup、初始 scale）",
)
FIRST_WAS_FINITE = Form(
    "step {step} was finite, so what the run began from is well", "step {step} 为有限值，起始状态正常"
)
LOOK_AT_FIRST = Said(
    "gradients and parameters after that update, and the values of that batch",
    "该次更新后的梯度与参数，以及该 batch 的值",
)
THEN_OF_FIRST = Said(
    "bad after the update: mend the settings or that module's backward pass; good: repeat the step on another device",
    "更新后已异常：修改配置或该模块的反向；正常：在另一设备上重跑该 step",
)
AT_RATE = Form("{what}; the learning rate was {rate} then", "{what}；当时学习率为 {rate}")
LOOK_AT_SCALE = Form(
    "whether loss or gradient norm grew before step {step}, and since when the rate or the data are what they are",
    "step {step} 之前 loss 或梯度范数是否增大；学习率与数据自何时起如此",
)
LOOK_AT_SCALE_IN_NO_STEP = Said(
    "whether loss or gradient norm grew before the scale fell, and since when the rate or the data are what they are",
    "scale 下降之前 loss 或梯度范数是否增大；学习率与数据自何时起如此",
)
THEN_OF_SCALE = Said(
    "they grew: a lower rate, a longer warm-up, clipping; they did not: bfloat16 where the device has it, else find the module that overflows",
    "增大：降低学习率、延长 warmup、裁剪梯度；未增大：设备支持则用 bfloat16，否则找出溢出的模块",
)
LOOK_AT_RATE = Said(
    "the rate of these steps in the job's settings, the length of its warm-up, whether the norm is clipped",
    "作业配置中这些 step 的学习率、warmup 长度、是否裁剪梯度范数",
)
THEN_OF_RATE = Said(
    "lower the rate or warm up longer, and clip; then start from a state before that step, or anew",
    "降低学习率或延长 warmup 并裁剪梯度；再从该 step 之前的状态启动，或从头启动",
)
DATA_AND_SAMPLES = Form(
    "{data}, after {first:,} to {last:,} consumed samples", "{data}（已消费样本数 {first:,} 至 {last:,}）"
)
SAME_ON_SAME_DEVICE = Form(
    "{who} came to the same on the same device: repeat that step on another one",
    "{who} 在同一设备上重跑结果相同：换一个设备重跑该 step",
)
LOOK_AT_RERUN = Said(
    "errors of the device's memory before that step; and whether another device comes to the same",
    "该 step 之前的设备显存错误；另一设备的结果是否相同",
)
THEN_OF_RERUN = Said(
    "the same there: the batch, the parameters or the program; another result: leave the host out and have that device tested",
    "相同：数据、参数或程序的问题；不同：隔离该节点并检测该设备",
)
FORMAT_OF = Form("the number format of {module}", "{module} 的数值格式")
NEAR_END = Form(
    "what went in is up to {most}, and {format} ends at {end}: compute it in bfloat16 or float32, which hold that, or scale it down before",
    "输入最大为 {most}，而 {format} 的上限为 {end}：改用容得下的 bfloat16 或 float32 计算，或事先缩小数值",
)
ZEROS_OF = Form("what gives {module} nothing but zeros on {who}", "{who} 上使 {module} 的输入全为 0 的原因")
ZEROS_THERE_ALONE = Form(
    "its {tensor} is all zero there; on other ranks it is up to {most}: a dead branch, an empty or masked batch, a write in place",
    "该处的 {tensor} 全为 0，其他 rank 最大为 {most}：检查未执行的分支、空的或被掩码的 batch、原地写入",
)
NO_TOKENS = Form(
    "its batch held 0 tokens, that of the others {others:.0f}: a mean over nothing is NaN; skip or filter empty batches",
    "其 batch 的 token 数为 0，其他为 {others:.0f}：对空集求平均即为 NaN；跳过或过滤空 batch",
)
ITS_STATE_IS = Form(
    "its {name} is {value}, that of the others at most {others}", "其 {name} 为 {value}，其他 rank 最大为 {others}"
)
LOOK_AT_REPLAY = Said(
    "how the program repeats that step on the rank itself and on the devices of its neighbours, bit by bit",
    "程序如何在该 rank 自身及相邻 rank 的设备上逐位重跑该 step",
)
THEN_OF_REPLAY = Said(
    "one device differs from two that agree: test that device; all agree: what was read, the parameters, or an operation that nothing guards "
    "(0 in a division, a root or a logarithm)",
    "一个设备与另外两个一致的设备不同：检测该设备；全部一致：查所读数据、参数，或缺少保护的运算（除以 0、对 0 开方或取对数）",
)
WHAT_WRITES = Form("what writes {tensor} on {who}", "{who} 上写入 {tensor} 的代码")
ALL_BAD = Form(
    "all {count} elements are bad, and were clean after the update of step {step}: a write of the program, no flipped bit",
    "全部 {count} 个元素均异常，而在 step {step} 更新后正常：是程序写入，而非位翻转",
)
OPTIMIZERS_STATE = Form("the optimizer's state of {tensor} on {who}", "{who} 上 {tensor} 的优化器状态")
UPDATE_MADE_IT_BAD = Form(
    "the parameter was finite when it was used in step {step}, and its update made it bad",
    "该参数在 step {step} 使用时为有限值，更新后异常",
)
LOOK_AT_STATE = Said(
    "a second moment that is negative, NaN or Inf, a step count of 0, a gradient that is not finite",
    "为负、NaN 或 Inf 的二阶矩，为 0 的步数，非有限的梯度",
)
THEN_OF_STATE = Said(
    "bad: load the optimizer's state as well, of a checkpoint in which it is finite; finite: repeat that update on another device",
    "异常：连同优化器状态一起从其仍为有限值的检查点加载；有限：在另一设备上重复该次更新",
)
DEVICE_OF_UPDATE = Said("only if its state and its gradient were finite", "仅当其状态与梯度均为有限值时")
BOTH_ENDS_LEAPT = Said(
    "both its ends leapt, so many elements did: a scale or a wrong load, no flipped bit",
    "最小值与最大值均突变，涉及大量元素：是缩放或加载错误，而非位翻转",
)

# --- what a rank that stands still waits for, and how work is shared out ---
CALLED_AT = Form("the call that was given up stands at {places}", "被放弃的调用位于 {places}")
WHERE_IT_IS_SET = Said(
    "where the job's own script, image or launcher sets it: an export in this shell reaches no process of the job",
    "作业脚本、镜像或启动器中设置它的地方：在当前 shell 中 export 不会影响作业的进程",
)
SET_BEFORE_START = Said(
    "set it there, on all ranks alike, before the job is started again", "在该处对所有 rank 统一设置后再重新启动"
)
WORKER_AT = Form("pid {pid} in {function} ({file}:{line})", "pid {pid} 停在 {function}（{file}:{line}）")
ITS_WORKERS = Form("worker processes of {who}: {what}", "{who} 的 worker 进程：{what}")
WHAT_LINE_WAITS_FOR = Said(
    "what the line waits for: a file, a lock, an answer, a sleep; which sample or shard it was given",
    "该行在等什么：文件、锁、应答、sleep；它处理的是哪个样本或分片",
)
SET_IT_FREE = Said(
    "set that free, skip that sample or give it a time limit; a restart alone meets it again while it lasts",
    "解除该等待、跳过该样本或加上超时；等待的对象不恢复，重启后仍会停在此处",
)
TRACEBACKS_AT = Form("tracebacks stand at {places}", "traceback 位于 {places}")
WHO_COMES_THERE = Said(
    "what leads only some ranks to this call, or past it: an if by rank or by data, an exception that is caught, a loop of uneven length",
    "为何只有部分 rank 到达或跳过该调用：按 rank 或数据的 if、被捕获的异常、长度不一的循环",
)
LOOK_AT_SILENT = Said(
    "State D: it waits in the kernel, in the function on top of its stack (nfs, lustre, a driver of its device); T or t: stopped, TracerPid by whom; R or "
    "S: it runs, and the sampler was too slow for it; no such file: it has ended",
    "State 为 D：在内核中等待，见栈顶函数（nfs、lustre、设备驱动）；T 或 t：被停止，TracerPid 为谁；R 或 S：在运行，采样工具过慢；无此文件：已退出",
)
THEN_OF_SILENT = Said(
    "D within a file system: its server; within a driver: take the host out and restart the job without it (such a process cannot be killed); else "
    "`py-spy dump --nonblocking`, which does not stop it",
    "D 且在文件系统中：查其服务器；在驱动中：隔离该节点并在其外重启（此类进程无法杀死）；否则用不停止进程的 `py-spy dump --nonblocking`",
)
LOOK_AT_KERNEL_OF_SILENT = Said(
    "“blocked for more than”, “not responding” of a file server, an error of a device (“Xid”), I/O errors",
    "“blocked for more than”、文件服务器 “not responding”、设备错误（“Xid”）、I/O 错误",
)
THEN_OF_KERNEL_OF_SILENT = Said(
    "a file server: repair it, the processes go on by themselves; a device: drain the host; nothing: go by their kernel stacks",
    "文件服务器：修复后进程会自行继续；设备：隔离该节点；没有：以其内核栈为准",
)
SILENT_THERE = Form(
    "what the kernel shows of {who} on {host} ({pids}), if the job still runs: a sampler got no answer",
    "{host} 上 {who}（{pids}）的内核状态（若作业仍在运行）：采样工具未得到应答",
    ("stack",),
)
PORT_MUST_BE_FREE = Said(
    "the next start would find the port taken: the process that holds it has to go, or the job needs another port; no code has to change",
    "重启时端口仍会被占用：须结束占用它的进程，或为作业换端口；无需修改代码",
)
GAVE_UP_AFTER = Form("{who} gave up the wait after {seconds} s", "{who} 等待 {seconds} 秒后放弃")
OTHER_CALLS = Said(
    "what leads these ranks to another call: an if by rank, by data or by step, a loop of uneven length; of another size: a parameter that gets a "
    "gradient on some ranks only (a batch without one kind of input, an expert without tokens), a batch of another length, a model built otherwise",
    "为何这些 rank 走到不同的调用：按 rank、数据或步数的分支，长度不一的循环；大小不同：仅部分 rank 有梯度的参数（缺某类输入的 batch、没有 token 的专家）、长度不同的 batch、构建不同的模型",
)
SAME_CALLS = Said(
    "make every member come to it, in the same order; test it with at least two ranks",
    "使每个成员按相同顺序到达该调用；用至少两个 rank 验证",
)
SHARES = Said("how many steps each rank is given", "各 rank 分到的步数")
COUNTS_ARE_UNEVEN = Form(
    "{who} counted to its last {unit}, {own}; the others count to {others}",
    "{who} 已完成最后一个 {unit}（共 {own}）；其他 rank 共 {others}",
)
WHY_UNEVEN = Said(
    "what gives a rank fewer: an uneven split, a filter, a last part that is not dropped",
    "为何某些 rank 较少：划分不均、过滤、未丢弃的末尾部分",
)
MAKE_EVEN = Said(
    "give all ranks the same number, or end all of them with the first", "使各 rank 数量相同，或在最先结束者处一起结束"
)
STORE_OF = Form("the store of {url}", "{url} 所在的存储")
SAVES_TO = Form("{who} began to save a checkpoint to {url}", "{who} 开始保存检查点到 {url}")
NOT_ON_A_HOST = Said("the checkpoint lies there, and on no disk of the host", "检查点在该存储上，不在本机磁盘")
ROSE_ALONE_FIRST = Form(
    "in step {step} the loss of {who} alone rose, to {loss}, and those of all others from the next step on",
    "step {step} 中仅 {who} 的 loss 升高，至 {loss}；其他 rank 的 loss 从下一步起才升高",
)
STAYED_ALONE = Form(
    "in step {step} the loss of {who} alone rose, to {loss}, and stayed far above those of all others, which went on as before",
    "step {step} 中仅 {who} 的 loss 升高，至 {loss}，此后一直远高于其他 rank，其他 rank 的 loss 未变",
)
LOST_WHERE_THEY_PART = Form(
    "in that step {name} of {who} alone was {value}: its update was left out, or was another one",
    "该步中仅 {who} 的 {name} 为 {value}：其更新被跳过，或与其他 rank 不同",
)
WHAT_LEAVES_OUT = Said("what leaves an update out", "跳过更新的判断")
LEFT_OUT_ALONE = Said(
    "replicas stay equal only if all leave out the same updates: whether a gradient is finite must be asked of all ranks together",
    "只有所有 rank 跳过相同的更新，副本才保持一致：梯度是否有限须由所有 rank 共同判断",
)
WHAT_AVERAGES = Form("what averages the gradients or the weights of {name}", "对 {name} 的梯度或权重求平均的代码")
ALL_APART = Said(
    "all replicas were alike until then and each went its own way at once: no single device does that, but a reduction that no longer takes place",
    "此前所有副本一致，之后各自不同：单个设备不会造成此现象，而是某个归约不再执行",
)
ROSE_ALONE = Form(
    "in step {step} the loss of {who} alone rose, to {loss}, and its gradient outweighed those of all others together",
    "step {step} 中仅 {who} 的 loss 升高，至 {loss}；其梯度超过其他所有 rank 的梯度之和",
)
BAD_ON_ALL_AT_FIRST = Form(
    "every rank found the same bad values in what it holds, before its first step: {name} was {value}",
    "每个 rank 在第一步之前都在其持有的状态中发现同样的坏值：{name} 为 {value}",
)
NOT_INITIALISED = Said(
    "nothing was loaded: what a module of its own holds is filled by nobody where its initialisation leaves it out",
    "没有加载任何检查点：自定义模块的初始化若漏掉它，其内容就未被赋值",
)
ALL_ROSE_AFTER = Said("the losses of all others rose from the next step on", "其他所有 rank 的 loss 从下一步起升高")
FIRST_AFTER_RESTART = Said(
    "it is so in the first step after the restart: what was loaded there made it",
    "重启后的第一步即如此：由所加载的内容造成",
)
ARRIVED_OTHERWISE = Form(
    "a message between {who} in step {step} arrived with another digest than it was sent with; {number} others arrived as they were sent",
    "step {step} 中 {who} 之间的一条消息到达时的摘要与发送时不同；另有 {number} 条消息到达时与发送时一致",
)
BOTH_ENDS = Said("its sender and its receiver", "发送方与接收方")
ENDS_OR_WAY = Said(
    "the memory of either end, or what lies between them, changed it; the digests do not tell which",
    "可能是任一端的内存，也可能是两端之间的链路改变了它；摘要无法区分",
)
REPEAT_DIFFERS = Form(
    "On {who}, the recompute of {where} differs from its forward pass; all others agree.",
    "{who} 上 {where} 的重计算结果与其前向不同；其余均一致。",
)
GRADIENT_VANISHED = Form(
    "from step {step} to the end the gradient norm is exactly 0, after {norm} in the line before, while the loss is a number above 0",
    "自 step {step} 起直到最后梯度范数恰为 0（上一行为 {norm}），而 loss 仍为大于 0 的数",
)
ALL_ARE_ZERO = Form("{name} is {value} at step {step}", "step {step} 的 {name} 为 {value}")
FORMAT_AND_SCALE = Said(
    "number format of gradients, loss scaling, and what is kept out of the graph",
    "梯度的数值格式、loss scale，以及被排除在计算图之外的部分",
)
ZERO_TEACHES_NOTHING = Said("a gradient of zero changes no parameter", "梯度为零时参数不再更新")
SHARE_OF_ZEROS = Said(
    "which share of each gradient is exactly zero, by parameter", "各参数梯度中恰为零的元素比例", "tensors"
)
SAID_TO_DIFFER = Form(
    "a check found that {who} held another value at step {step} than the replicas that it was compared with",
    "检查发现 {who} 在 step {step} 的值与所比较的副本不同",
)
LOOK_AT_RECURRENT = Said(
    "errors, a clock, a temperature or a link that is not as on the other hosts",
    "与其他节点不同的错误、时钟、温度或链路",
)
THEN_OF_RECURRENT = Said(
    "whichever it shows: start without this host once; the job goes on: the host is why, test it alone; the same end: it is not",
    "无论显示什么：先不用该节点启动一次；作业正常：原因在该节点，单独检测；仍以同样方式结束：与它无关",
)
LOOK_AT_SERVER = Said(
    "the mounts of that server, and “ready and waiting”; a time-out: it does not answer this host",
    "该服务器的挂载，以及“ready and waiting”；超时：它不响应该节点",
)
THEN_OF_SERVER = Said(
    "silent for this host alone: its network or its mount; for others, too: the server; it answers now: the ranks go on by themselves",
    "仅对该节点无响应：其网络或挂载；对其他节点也无响应：服务器本身；现已响应：这些 rank 会自行继续",
)
LOOK_AT_QUOTA = Said(
    "the quota against the period: their ratio is how many processors it may use; where the group is gone with its run, the launcher's setting",
    "配额与周期之比即可用的处理器数；若该控制组已随作业消失，看启动器的设置",
)
THEN_OF_QUOTA = Said("lower than for the other ranks: raise it", "低于其他 rank：调高")
