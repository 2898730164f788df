"""What detectors of bad numbers say: where the first NaN or Inf was, replicas that differ, losses and their scale."""

from collections.abc import Mapping

from forensics.model.said import Form, Noun, Said
from forensics.words.advice import BATCH_OF as BATCH_OF
from forensics.words.advice import BATCH_OF_AT as BATCH_OF_AT
from forensics.words.advice import EQUAL_UNTIL_THEN as EQUAL_UNTIL_THEN
from forensics.words.advice import FROM_LOADED as FROM_LOADED
from forensics.words.advice import OTHER_RATE as OTHER_RATE
from forensics.words.advice import OTHERS_WERE_FINITE as OTHERS_WERE_FINITE
from forensics.words.advice import RAISED_AT as RAISED_AT
from forensics.words.advice import RAISED_ON_THE_WAY as RAISED_ON_THE_WAY
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
LOG_LEFT = Form(
    "from step {step} on the {name} of {who} is not that of {others}, which had been equal",
    "自 step {step} 起，{who} 的 {name} 与 {others} 不同，此前一致",
)
LOG_NEVER_ALIKE = Form(
    "from the first step that is printed, {step}, to the last the {name} of {who} is not that of {others}, which print the same in each, though all are replicas",
    "自首次打印的 step {step} 起直到最后，{who} 的 {name} 始终与 {others} 不同；后者每步一致，且所有 rank 互为副本",
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
LOSS_IS = Form("the loss is {value}", "loss 为 {value}")
LOSS_VANISHED = Said(
    "the loss has vanished from the line, though no step was skipped", "没有跳过 step，但该行不再打印 loss"
)
LOSS_AND_NORM_VANISHED = Said(
    "the loss has vanished from the line and the gradient norm is not finite, though no step was skipped",
    "没有跳过 step，但该行不再打印 loss，且梯度范数不是有限值",
)
NORM_IS = Form("the gradient norm is {value}", "梯度范数为 {value}")
NORM_IS_BESIDE_ZERO = Form(
    "the gradient norm is {value}; the loss 0 beside it hides a NaN", "梯度范数为 {value}；loss 打印为 0 掩盖了 NaN"
)
LAST_STAGE_SHOWS_IT = Said(
    "a bad loss shows on the last stage only: any stage of that replica may have produced it",
    "异常 loss 只在最后一个 stage 可见：该副本的任一 stage 都可能是来源",
)
STAGE_CAME_FIRST = Form(
    "only gradients were bad, and backward passes go down the stages: stage {stage} came first",
    "仅梯度异常，而反向从后向前经过各 stage：最先出现在 stage {stage}",
)
CHECK_FAILED = Form("a check of the training program failed ({what})", "训练程序自身的检查失败（{what}）")
IN_STEP = Form("step {step}: {what}", "step {step}：{what}")
PLAIN_DATA_PARALLEL = Said(
    "the layout is plain data parallel: each rank's values are its own until gradients are averaged",
    "纯数据并行：梯度平均之前，各 rank 的数值互不影响",
)
LOG_SHOWS, LOG_SHOWS_AT = (
    Form("the training log shows {value}", "训练日志出现 {value}"),
    Form("the training log shows {value} at step {step}", "训练日志在 step {step} 出现 {value}"),
)
PRINTED_FOR = Form("it was printed for {who}", "打印自 {who}")
NOT_GATHERED = Form(
    "every rank that left a record had a number of its own then, so one of {who} began it, of which there is none",
    "所有留下记录的 rank 当时自身的值都是有限数，因此始于没有记录的 {who} 之一",
)
PRINTED_FOR_AND_MATES = Form(
    "it was printed for {who}; ranks that share its layers, if there are any, may have it too",
    "打印自 {who}；若有 rank 与其共享同一层（张量并行），也可能有",
)
ODD_VALUE, ODD_VALUE_AT_LAST, ODD_VALUE_AT_FIRST = (
    Form(
        "at step {step} {name} of {who} was {value}, where every other rank showed a number, and most were bad soon after",
        "在 step {step}，{who} 的 {name} 为 {value}，其他 rank 均为正常数值，之后多数 rank 也变坏",
    ),
    Form(
        "at step {step}, the last that is recorded, {name} of {who} was {value}, where every other rank showed a number",
        "在记录的最后一个 step {step}，{who} 的 {name} 为 {value}，其他 rank 均为正常数值",
    ),
    Form(
        "before the first step {name} of {who} was {value}, where every other rank showed a number, and most were bad soon after",
        "在第一个 step 之前，{who} 的 {name} 为 {value}，其他 rank 均为正常数值，之后多数 rank 也变坏",
    ),
)
ODD_COUNT = Form(
    "at step {step} {name} of {who} was {value}, where every other rank counted none",
    "在 step {step}，{who} 的 {name} 为 {value}，其他 rank 均未计到",
)
GAVE_WHAT_IT_WAS_NOT_GIVEN = Form(
    "at step {step} {name} of {who} was {value}, where all that it had received in that step were numbers",
    "在 step {step}，{who} 的 {name} 为 {value}，而它在该 step 收到的均为正常数值",
)
WAS_GIVEN = Said("what it had received before, a number", "它此前收到的为正常数值")
NOT_BESIDE = Form("the same of rank {rank}, a number", "rank {rank} 的同一项为正常数值")
OWN_LOSS = Form(
    "{who} printed {value} as its own loss at step {step}, where the loss of the others was finite",
    "{who} 在 step {step} 打印的自身 loss 为 {value}，而其他 rank 的 loss 有限",
)
FAR_FROM_OTHERS = Form(
    "{who} printed {loss} as its own {name} at step {step}, more than {times} times that of the others",
    "{who} 在 step {step} 打印的自身 {name} 为 {loss}，是其他 rank 的 {times} 倍以上",
)
FAR = Said("no training comes to such a value", "正常训练不会出现这样的数值")
LOG_ALONE = Said("a log alone does not show where it began", "仅凭日志无法得知从何处开始")
NOT_FINITE = Said("the loss or the gradient is not finite", "loss 或梯度不是有限值")
BACKWARD_GAVE = Form(
    "{op} gave it in the backward pass, of the forward call at {file}:{line}",
    "由反向传播中的 {op} 产生，对应的前向调用在 {file}:{line}",
)
BACKWARD_IS_OF_IT = Form("{op}, which gave it, is the backward pass of this line", "产生它的 {op} 是该行的反向传播")
FROM_NEWEST = Said("from the newest checkpoint", "最新的检查点")
RAISED_BEFORE_UPDATE = Said(
    "the check ended the step before the update, so no parameter took it over",
    "检查在参数更新之前终止了该 step，参数未受影响",
)
BATCH_WAS_BAD = Form(
    "the batch that {who} read held {value} before anything was computed of it",
    "{who} 读入的 batch 在计算之前即含 {value}",
)
EVALUATED = Form(
    "the evaluation shows {value} at step {step}, and the loss of the training stays finite to step {trained}",
    "评估在 step {step} 出现 {value}，而训练 loss 直到 step {trained} 均有限",
)
EVALUATION = Said(
    "the evaluation: an empty or fully masked set, its precision", "评估过程（空的或全被遮蔽的数据、精度）"
)
EVALUATION_ALONE = Said("nothing bad is shown in the training itself", "训练本身未见异常")
BEGINS_WITH = Form(
    "what {who} begins with: initial parameters, what is loaded, the first batch",
    "{who} 的起始状态（参数初始化、所加载的内容、首个 batch）",
)
RUN_BEGINS_WITH = Said(
    "what the run begins with: initial parameters, what is loaded, the first batch",
    "训练的起始状态（参数初始化、所加载的内容、首个 batch）",
)
STATISTICS_AROUND_STEP = Said(
    "tensor statistics of all ranks around that step", "该 step 前后所有 rank 的张量统计", "tensors"
)
LOSS_ROSE = Form(
    "the loss rose from about {normal} to {loss} at step {step}", "loss 在 step {step} 从约 {normal} 升至 {loss}"
)
LOSS_ROSE_OVER_RESTART = Form(
    "the loss rose from about {normal} to {loss} over the restart, at step {step}",
    "重启前后 loss 从约 {normal} 升至 {loss}（step {step}）",
)
SAVED_WHILE_BAD = Form(
    "step {step}, the first after a checkpoint was loaded, is not finite, and the attempt before was so from step {before} on, "
    "when that checkpoint was saved",
    "加载检查点后的首个 step {step} 即为非有限值；上一次运行自 step {before} 起已如此，该检查点是在那之后保存的",
)
BAD_AT_ONCE = Form(
    "step {step}, the first after the job went on from a checkpoint, is not finite at once: no step was taken with what was loaded",
    "从检查点续跑后的首个 step {step} 即为非有限值：所加载的状态尚未经过任何一步更新",
)
BAD_ON_ALL_AS_LOADED = Form(
    "every rank found the same bad values in what it had loaded, before its first step: {name} was {value}",
    "每个 rank 在第一步之前都在所加载的状态中发现同样的坏值：{name} 为 {value}",
)
CHECKPOINT_LOADED = Said("a checkpoint was loaded", "加载了检查点")
GOES_ON_WITH_OTHERS = Said(
    "the job goes on with another state, data or settings than it had", "作业续跑的状态、数据或配置与此前不同"
)
WHAT_WAS_LOADED = Said("what was loaded", "所加载的内容")
BUILDS_ON_IT = Said("what follows builds on it", "之后的训练以此为基础")
PARAMETERS_NOT_LOADED = Said("parameters that the loader did not find or use", "加载时缺失或未使用的参数列表")
AND_WHY = Form("{what}: {why}", "{what}：{why}")
NORM_GREW = Form("the gradient norm grew from step {step} on", "梯度范数从 step {step} 起增大")
ONSET_IS = Form("its onset is step {step}", "始于 step {step}")
LOSS_RECOVERED = Said("The loss recovered later.", "loss 之后恢复。")
LOSS_RECOVERED_NORM_DID_NOT = Form("The loss recovered later; the gradient norm did not: {norm}, {usual} before.",
                                   "loss 之后恢复；梯度范数没有恢复：{norm}，此前为 {usual}。")  # fmt: skip
LOSS_ROSE_IN_NO_STEP = Form("the loss rose from about {normal} to {loss}", "loss 从约 {normal} 升至 {loss}")
MORE_SPIKES_IN_NO_STEP = Form("{number} such spikes", "共 {number} 次突增")
MORE_SPIKES = Form(
    "{number} such spikes, step {first} to step {last}", "step {first} 到 step {last} 之间共 {number} 次突增"
)
SPIKES_COME_FROM = Said("a spike often comes from the data or the learning rate", "突增多由数据或学习率引起")
BEFORE_THE_SPIKE = Said("it holds the model before the spike", "保存的是突增之前的模型")
SAME_DATA_SAME_SPIKE = Said("the same data may cause the same spike", "同样的数据可能再次引起突增")
SCALE_AT_MINIMUM = Said("the loss scale reached its minimum", "loss scale 降至最小值")
SCALE_FELL = Form("the loss scale fell {what}", "loss scale 下降{what}")
SCALE_FELL_SINCE = Form("from step {step} on the loss scale fell {what}", "从 step {step} 起 loss scale 下降{what}")
TO_ITS_MINIMUM = Said("until it reached its minimum", "，最终至最小值")
DOWN_TO, FOUND_ITS_LEVEL = Form("to {scale}", "至 {scale}"), Form("and settled at {scale}", "并稳定在 {scale}")
LOSS_BAD_MEANWHILE = Form(
    "from step {step} on the loss itself is {value}, at every scale",
    "从 step {step} 起 loss 本身为 {value}，与 scale 无关",
)
NO_SCALE_CURES_IT = Said(
    "the loss itself is bad, so that no scale cures it: take a state whose loss was finite",
    "loss 本身已异常，调整 scale 无效：应回到 loss 有限时的状态",
)
LOSS_SCALE, PRECISION = (Said("loss scale", "loss scale"), Said("precision and learning rate", "精度与学习率"))
IT_SETTLED, OVERFLOW_IN_FP16 = (
    Said("it settled", "已稳定"),
    Said("gradients overflow in fp16", "梯度超出 fp16 的范围"),
)
