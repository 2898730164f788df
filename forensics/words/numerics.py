"""What detectors of bad numbers say: where the first NaN or Inf was, replicas that differ, losses and their scale."""

from collections.abc import Mapping

from forensics.model.said import Form, Noun, Said
from forensics.words.advice import EQUAL_UNTIL_THEN as EQUAL_UNTIL_THEN
from forensics.words.advice import FROM_LOADED as FROM_LOADED
from forensics.words.advice import OTHER_RATE as OTHER_RATE
from forensics.words.advice import RATE_OF as RATE_OF

# --- rows of tensor statistics: who holds what, and where ------------------------------------------------------------
VALUE: Mapping[str, Said] = {
    "nan": Said("NaN", "NaN"),
    "inf": Said("Inf", "Inf"),
    "finite": Said("a finite value", "有限值"),
}
RANK, NO_RANK = Form("rank {rank}", "rank {rank}"), Said("a process without a rank", "某个 rank 未知的进程")
UNNAMED_MODULE = Said("an unnamed module", "未命名模块")
MODULE, PART = Form("{module} ({inner})", "{module}（{inner}）"), Form("{place}, {part}", "{place}，{part}")
AT = Form("{who}: {where}", "{who}：{where}")

# --- first_anomaly: where the first bad value was --------------------------------------------------------------------
FIRST_BAD_VALUE = Form("{who}: first bad value, {value} in {where}", "{who}：首个异常值 {value}，位于 {where}")
LAST_FINITE = Form("{who}: last values known to be finite before it", "{who}：此前最后的正常值")
FORWARD_WAS_FINITE = Said("the forward pass of the same module was finite", "同一模块的前向正常")
BAD_WHEN_FIRST_OBSERVED = Said(
    "the state was bad when it was first observed, so the cause lies before this step",
    "首次观测时状态已异常，原因在该 step 之前",
)
ANOTHER_ORIGIN = Form("{who}: another origin in {where}", "{who}：另一处首个异常值，位于 {where}")
POSSIBLE_ORIGIN = Form("{who}: a possible other origin in {where}", "{who}：可能的另一处首个异常值，位于 {where}")
LATER_THERE = Form("{who}: {value} later, in {where}", "{who}：之后出现 {value}，位于 {where}")
NO_STATISTICS = Form("no statistics of {who}", "没有 {who} 的张量统计")
MEMBERS_DISAGREE = Said("ranks state different members of one group", "各 rank 记录的同一进程组的成员不一致")
CALLS_DO_NOT_LINE_UP = Said(
    "the calls of some ranks do not line up; their order is doubtful", "部分 rank 的调用无法对齐，顺序存疑"
)
LONGER_FILE_USED = Form(
    "rank {rank}: {other} differs from {longest}, which is longer and used instead",
    "rank {rank}：{other} 与 {longest} 不一致，使用较长的后者",
)
OTHER_RANKS = Noun("other rank", "other ranks", "个其他 rank")
SPREAD = Form("{value} spread to {ranks}.", "{value} 扩散到 {ranks}。")
GONE_AFTER_STEP = Form(
    "{value} in {where} was gone after the step: the parameters were finite.",
    "{where} 的 {value} 在该 step 后消失：参数正常。",
)
ON_MANY_ALIKE = Form(
    "{value} first appeared in {where} on many ranks alike: data, model or settings, not one device.",
    "{value} 在多个 rank 上同样首现于 {where}：原因在数据、模型或配置，而非单个设备。",
)
ALREADY_HELD, RECEIVED, PRODUCED = Said("already held", "已含"), Said("received", "收到"), Said("produced", "产生")
FIRST_SHOWED = Said("first showed", "首次出现")
HAD_VALUE = Form("{who} {how} {value} in {where}", "{who} {how} {value}，位于 {where}")
EACH_PRODUCED = Form(
    "{who} each produced a bad value of their own; the first is {value} in {where}",
    "{who} 各自产生异常值；首个为 {value}，位于 {where}",
)
WHICH_NOT_SHOWN = Form(
    "{value} first shows in {where}; the evidence does not show which of {who} it comes from.",
    "{value} 首现于 {where}；证据无法表明来自 {who} 中的哪一个。",
)
ORIGIN_NOT_SHOWN = Form(
    "{value} first shows in {where}; the evidence does not show where it comes from.",
    "{value} 首现于 {where}；证据无法表明其来源。",
)

# --- what to do about it, and what to collect ------------------------------------------------------------------------
STEP = Form("step {step}", "step {step}")
BATCH = Form("{step}, micro-batch {microbatch}", "{step}，micro-batch {microbatch}")
DATA_OF = Form("the data of {batch}", "{batch}")
DATA_BEFORE_IT = Said("the data of the steps before it", "此前若干 step 的数据")
DATA_OF_STEPS = Form("the data of steps {first}-{last}", "step {first}-{last}")
FINITE_AFTER_IT = Said("the parameters were finite after it", "此后参数正常")
LATER_MAY_HOLD_IT = Said("later parameters may hold the bad value", "之后的参数可能含异常值")
INPUT_WAS_BAD = Said("the input was bad already", "输入已含异常值")
INPUT_OF_RANKS_WAS_BAD = Form("the input of {who} was bad already", "{who} 的输入已含异常值")
BAD_BEFORE_STEP = Said(
    "parameters were bad before this step; take one whose parameters are all finite",
    "该 step 之前参数已异常；选用参数全部有限的检查点",
)
ONE_OUTPUT_WAS_NOT = Said("all inputs of the call were finite, an output was not", "该调用的输入均正常，输出异常")
FIRST_NOT_OBSERVED = Said("the first bad value was not observed", "未观测到首个异常值", "tensors")
PRODUCED_THERE = Form("{value} was produced there from finite inputs", "该处输入正常却产生 {value}")
BETWEEN = Form("what lies between {one} and {other}", "{one} 与 {other} 之间的计算")
FIRST_IN_INPUT = Form(
    "{value} first shows in what went into the latter, and what came out of the former was finite: a hook, a cast, a write in place",
    "{value} 首现于后者的输入，前者的输出正常：检查 hook、类型转换与原地写入",
)
FIRST_THERE = Form(
    "{value} first shows there; what went in is not recorded as finite", "{value} 首现于此；没有记录表明输入为有限值"
)
CANNOT_COME_OF_IT = Form(
    "what went in gives {bound} at most, and never {value}: look for what else writes into its output, and what wraps it",
    "所记录的输入至多得到 {bound}，不可能产生 {value}：查找还有什么代码写入其输出或包装了它",
)
MASKED_WHOLLY = Form(
    "a row of which all is masked gives NaN there: the input of {op} holds -Inf",
    "{op} 的输入含 -Inf：整行被遮蔽时结果为 NaN",
)
MASKS_MORE = Form(
    "it masks {own} values, where others mask {others}; {op} makes NaN of a row masked wholly",
    "它遮蔽了 {own} 个值，其他 rank 为 {others} 个；整行被遮蔽时 {op} 得到 NaN",
)
MASKED_BEFORE = Form(
    "{who}: its input is masked, {number} values are -Inf", "{who}：其输入被遮蔽，{number} 个值为 -Inf"
)
TEST_FOR_BOUND = Form(
    "what went in gives {bound} at most, and never {value}: test it with {what} for hours",
    "所记录的输入至多得到 {bound}，不可能产生 {value}：用 {what} 反复测试该设备数小时",
)
COPY_OF_BATCH = Form(
    "how {who} copied the batch of {batch}", "{who} 如何复制 {batch} 的 batch（pinned memory、传输、预处理）"
)
READ_IT_CLEAN = Form("{others} had it clean, so the data is well", "{others} 的同一 batch 正常，数据本身无异常")
COPY_ALONE_IS_BAD = Form(
    "its copy alone of a batch that {others} had clean is bad", "{others} 的同一 batch 正常，仅其副本异常"
)
TENSOR_OF = Form("{tensor} of {who}", "{who} 的 {tensor}")
OTHERS_HOLD_CLEAN = Form(
    "{others} hold it finite: compare with what was loaded, then load it again",
    "{others} 的该值有限：与所加载的内容对比后重新加载",
)
CLEAN_AFTER_UPDATE = Form(
    "{who}: clean after the update of step {step}, so it went bad between that and its use",
    "{who}：step {step} 更新后正常，故在此之后、使用之前变坏",
)
WENT_BAD_BETWEEN = Form(
    "clean after the update of step {step}, bad when used: its memory, or a stray write",
    "参数在 step {step} 更新后正常、使用时已异常：设备显存故障，或两个 step 之间有写入",
)
STATISTICS_OF = Form("tensor statistics of {who}", "{who} 的张量统计", ("tensors",))
THOSE_THAT_LEFT_NONE = Said("the ranks that left none", "无记录的 rank")
STATISTICS_AROUND = Said(
    "statistics of every step and module around the first bad row",
    "首个异常值前后每个 step、每个模块的张量统计",
    "tensors",
)
GROUP_COLUMNS = Said(
    "the columns group and group_ranks of communications", "通信记录的 group 和 group_ranks 列", "tensors"
)

# --- its surroundings: growth, repetition, hardware, formats, the device ---------------------------------------------
AT_STEP = Form("step {step}: {value}", "step {step}：{value}")
GROWTH = Form("absmax of {where}: {figures}", "{where} 的 absmax：{figures}")
HEADROOM = Form("{growth}; {bits} bits below the largest {dtype}", "{growth}；比 {dtype} 的最大值低 {bits} 个二进制位")
STEPS_WITH_BAD_VALUES = Form(
    "bad values first appeared in {number} of {observed} observed steps; in {minor} of them they were gone after the step",
    "已观测的 {observed} 个 step 中有 {number} 个首次出现异常值；其中 {minor} 个在该 step 后消失",
)
CROWDED_RANK = Form("rank {name}", "rank {name}")
CROWDED_HOST = Form("host {name}", "节点 {name}")
CROWDED_STAGE = Form("pipeline stage {name}", "流水线 stage {name}")
CROWDED_MODULE = Form("module {name}", "模块 {name}")
CROWDED_OPERATION = Form("operation {name}", "操作 {name}")
HOLDS_MANY = Form(
    "{place} holds {hits} of {number} first bad values; by chance alone that happens once in {odds}",
    "{place} 占 {number} 个首个异常值中的 {hits} 个；仅凭偶然，{odds} 次中才有一次",
)
SHORTLY_BEFORE = Form("{host}: {code} shortly before it", "{host}：此前不久出现 {code}")
ERROR_SHORTLY_BEFORE = Said(
    "its device reported an error shortly before the first bad value", "首个异常值之前不久，其设备上报错误"
)
LAST_STEP_BEFORE = Form("step {step} is the last step observed before it", "此前最后观测到的 step 为 {step}")
CHECKPOINTS_MAY_HOLD_IT = Form(
    "checkpoints from step {step} on may hold the bad value", "step {step} 及之后的检查点可能含异常值"
)
EXPONENTIALS = Form(
    "{op} computes exponentials, which need many digits, and ran in {dtype}",
    "{op} 计算指数，需要高精度，却以 {dtype} 运行",
)
KEPT_AS, AMAX, SCALE = (
    Form("kept as {format}", "格式 {format}"),
    Form("amax {value}", "amax {value}"),
    Form("scale {value}", "scale {value}"),
)
ITS_TENSOR = Form("its {tensor} is {how}", "其 {tensor}：{how}")
NO_FINITE_SCALE = Form(
    "{tensor}: a block whose largest value is 0 has no finite scale, and 0 times Inf is NaN",
    "{tensor}：最大值为 0 的块没有有限的 scale，而 0 乘以 Inf 得 NaN",
)
NOTHING_SURVIVES = Form("{tensor}: no value survives such a scale", "{tensor}：乘以这样的 scale 后数值全部失效")
GPU_OF, DEVICE_OF = (
    Form("GPU {gpu} of {host}, the device of rank {rank},", "{host} 的 GPU {gpu}（rank {rank} 的设备）"),
    Form("the device of rank {rank}", "rank {rank} 的设备"),
)
DEVICE_IS_SUSPECT = Form(
    "{device} is a suspect: {others} computed the same well, on values up to {most}, its own were up to {own}; no error record "
    "is needed for that, and none would clear it",
    "{device} 可疑：{others} 的同样计算正常，其输入最大 {most}，而该设备的输入最大 {own}；无错误记录不代表设备正常",
)
DEVICE_SUSPECT_IN_SHORT = Form(
    "Its device is a suspect: {number} peers computed it well.", "其设备可疑：{number} 个其他 rank 的同一计算正常。"
)
TEST_DEVICE = Form(
    "{number} others computed it well: test its device with {what} in the same sizes and format, for hours",
    "{number} 个其他 rank 的计算正常：在该设备上用同样的 shape 和精度反复运行 {what} 数小时",
)
SAME_OPERATION = Said("the same operation", "同一操作")
LEAPT_ALONE = Form(
    "{who}: {size} in {where}; no other rank holds anything near it", "{who}：{where} 为 {size}；其他 rank 均无相近的值"
)
NO_UPDATE_MAKES_IT = Said("a parameter holds a value that no update makes", "参数的值不可能由正常更新产生")
FROM_NOWHERE = Said("the step computed with a value from nowhere", "该 step 使用了来历不明的值")
FLIPPED_BIT = Said("a flipped bit looks like this", "位翻转会造成此现象")
LEAPT = Form(
    "On {who} a value leapt to {size} in {where}, beyond all that other ranks hold.",
    "{who} 的 {where} 突变为 {size}，远超其他 rank 的值。",
)

# --- replicas that must be equal -------------------------------------------------------------------------------------
WEIGHTS_STAYED = Form(
    "the weights of {who} after step {step} are those of the step before, and those of {others} moved",
    "step {step} 后 {who} 的权重与前一 step 相同，而 {others} 的权重已更新",
)
AS_BEFORE = Form("{who}: {where}: as in the step before", "{who}：{where}：与前一 step 相同")
OTHER_REPLICA_MOVED = Said("another replica: the weights moved", "其他副本：权重已更新")
UPDATE_OF_STEP = Form("the update of step {step} on {who}", "{who} 在 step {step} 的更新")
SKIPPED_OR_NOT_RUN = Said(
    "a job that tolerates faults may skip it by right; else the optimizer did not run there",
    "容错训练可能有意跳过该更新；否则是优化器未在该处运行",
)
LOG_OF_THAT_STEP = Said(
    "the log of that step: whether the update was skipped on purpose", "该 step 的日志（更新是否被有意跳过）", "log"
)
UPDATE_LEFT_OUT = Form(
    "In {where}, {what}: that update was left out, by right or by mistake.",
    "{where}：{what}：该更新被有意或错误地跳过。",
)
SAME_TENSOR_OTHER_FIGURES = Form("{who}: the same tensor, other figures", "{who}：同一张量，数值不同")
NO_MAJORITY = Form("{who} disagree in {where}, and no side has the majority", "{who} 的 {where} 不一致，且没有多数一方")
DIFFERS = Form("{who} differs from {others} in {where}", "{who} 的 {where} 与 {others} 不一致")
DIFFER = Form("{who} differ from {others} in {where}", "{who} 的 {where} 与 {others} 不一致")
MUST_BE_EQUAL = Said("these tensors must be equal bit by bit", "这些张量必须逐位相同")
MUST_BE_NEAR = Form(
    "these tensors must be equal within {percent} %, as you allow", "这些张量的差异不得超过设定的 {percent}%"
)
REPLAY_ELSEWHERE = Said("a replay of the step on other devices", "在其他设备上重跑该 step 的结果")
DIFFER_ON_FINITE = Said("replicas differ on finite values", "副本不一致，且数值均有限")
DIVERGED = Said("replicas diverged", "副本已不一致")
FORWARD_GAVE_OTHERS = Form("{who}: the forward pass gave other figures", "{who}：前向的结果不同")
RECOMPUTE_DIFFERS = Form(
    "On {who}, the recompute of {where} differs from its forward pass on equal inputs.",
    "{who}：输入相同，{where} 的重计算与前向结果不一致。",
)
FIGURES_DIFFER = Form("{who} had another value than most", "{who} 的值与多数 rank 不同")
WEIGHTS_DIFFER = Form("the weights of {who} differ from those of the first replica", "{who} 的权重与第一个副本不一致")
DUMPS_DIFFER = Form(
    "what {who} hold at step {step} differs between them, and was the same before",
    "{who} 在 step {step} 的内容彼此不同，而此前相同",
)
DUMPS_LEFT = Form(
    "what {who} holds at step {step} is not what the other replicas hold, as it was before",
    "{who} 在 step {step} 的内容与其他副本不同，而此前相同",
)
BY_OWN_CHECK = Form("{what}, as the job's own check says", "{what}（作业自身的检查）")
IN_PARAMETER = Form("{what} ({parameter})", "{what}（{parameter}）")
SOME_REPLICA_DIFFERS = Said(
    "replicas hold different values, and no line tells whose", "副本之间数值不一致，没有任何一行说明是哪个副本"
)
EACH_REPLICAS_FIGURES = Said(
    "checksums of parameters and norms of gradients of each rank", "每个 rank 的参数校验和与梯度范数"
)
DIFFER_SILENTLY = Said("replicas differ silently", "副本不一致且没有报错")

# --- replica_figures: what logs of replicas print --------------------------------------------------------------------
OTHERS_AS = Form("{number} others as {name}", "{name} 等 {number} 个")
LOG_LEFT = Form(
    "from step {step} on the {name} of {who} is not that of {others}, which had been equal",
    "自 step {step} 起，{who} 的 {name} 与 {others} 不同，此前一致",
)
LOG_NEVER_ALIKE = Form(
    "from the first step that is printed, {step}, to the last the {name} of {who} is not that of {others}, which print the same in each, though all are replicas",
    "自首次打印的 step {step} 起直到最后，{who} 的 {name} 始终与 {others} 不同；后者每步一致，且所有 rank 互为副本",
)
LOG_TWO_SIDES = Form(
    "from the first step that is printed, {step}, to the last {who} print one {name} and {others} another, though each trains on losses of its own: they began with different parameters, and nothing tells whose are right",
    "自首次打印的 step {step} 起直到最后，{who} 的 {name} 彼此一致，{others} 的彼此一致，但两边不同，而各 rank 的 loss 各自独立：它们起始参数不同，无法判断谁正确",
)
LOG_PARTED = Form(
    "at step {step} the {name} of {who}, which had been equal, are not, and no majority tells which are right",
    "在 step {step}，{who} 的 {name} 不再一致，没有多数可判断谁正确",
)
RATE_AFTER_RESTART = Form(
    "after the restart, at step {step}, the learning rate of {who} is {rate} and that of the others {others}",
    "重启后在 step {step}，{who} 的学习率为 {rate}，其他 rank 为 {others}",
)
RATES_DIFFER = Said("the learning rate differs between ranks", "各 rank 的学习率不一致")

# --- rerun_verdict: the same step once more --------------------------------------------------------------------------
REPEATS_THERE_ALONE = Said("repeats on its device and not on another one", "在原设备上复现，在其他设备上不复现")
DID_NOT_REPEAT = Said("did not repeat on the same device: a transient fault", "在同一设备上未复现：瞬时故障")
UNEXPECTED_RESULT = Form("an unexpected result {how}", "异常结果{how}")
RESULT = Form("the result {how}", "该结果{how}")
RESULT_OF_STEP = Form("The result of step {step} on rank {ranks} {how}.", "rank {ranks} 在 step {step} 的结果{how}。")
SAME_STEP_AGAIN = Said("the same step once more on the same device", "同一 step 在同一设备上再次运行的结果")
NOT_THE_HARDWARE = Said(
    "the same result came on another device: it is not the hardware", "在其他设备上结果相同：不是硬件问题"
)
REPRODUCIBLE = Form(
    "The unexpected result of step {step} is reproducible on two devices: data, model or settings.",
    "step {step} 的异常结果在两个设备上均复现：原因在数据、模型或配置。",
)

# --- cast_copy: a parameter and its master ---------------------------------------------------------------------------
LEFT_ITS_MASTER = Form(
    "the parameter of {who} is not what its master copy casts to, from step {step} on: {where}",
    "{who} 的参数自 step {step} 起不再是其 master 副本转换后的值：{where}",
)
MASTER_IS = Form("its master copy is {tensor}, which it agreed with before", "其 master 副本是 {tensor}，此前两者一致")
MASTER_NOT_COPIED = Said(
    "the optimizer updates the master; what was not copied from it, or changed after that, is used all the same",
    "优化器更新的是 master；未从中复制或其后又改变的参数仍在被使用",
)

# --- replayed_step: the same step on several devices -----------------------------------------------------------------
DEVICE_DIFFERS = Form(
    "the device of {who} comes to other bits than the others with the same step {step}",
    "{who} 的设备对同一 step {step} 的计算结果与其他设备逐位不同",
)
DEVICES_DIFFER = Form(
    "the devices of {who} come to different bits with the same step {step}",
    "{who} 的设备对同一 step {step} 的计算结果逐位不同",
)
REPEATS_EVERYWHERE = Form(
    "step {step} of {who} is not finite on every device that repeats it",
    "{who} 的 step {step} 在每个重放它的设备上都不是有限值",
)
OTHER_PARAMETERS = Said("its parameters are not those of the other replicas", "其参数与其他副本不同")
BATCH_HOLDS_BAD = Said("its batch holds NaN or Inf", "其批数据含有 NaN 或 Inf")
BATCH_MAKES_BAD = Said("it is the data, the model or the settings", "原因在数据、模型或配置")

# --- loss_log, loss_scale: what the training log alone tells ---------------------------------------------------------
RUN_BEGINS_WITH = Said(
    "what the run begins with: initial parameters, what is loaded, the first batch",
    "训练的起始状态（参数初始化、所加载的内容、首个 batch）",
)
AND_WHY = Form("{what}: {why}", "{what}：{why}")
