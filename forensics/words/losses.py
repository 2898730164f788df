"""What is said of losses, norms and loss scales that the training log alone tells."""

from forensics.model.said import Form, Said
from forensics.words.advice import BATCH_OF as BATCH_OF
from forensics.words.advice import BATCH_OF_AT as BATCH_OF_AT
from forensics.words.advice import OTHERS_WERE_FINITE as OTHERS_WERE_FINITE
from forensics.words.advice import RAISED_AT as RAISED_AT
from forensics.words.advice import RAISED_ON_THE_WAY as RAISED_ON_THE_WAY
from forensics.words.numerics import AND_WHY as AND_WHY
from forensics.words.numerics import DATA_BEFORE_IT as DATA_BEFORE_IT
from forensics.words.numerics import DATA_OF as DATA_OF
from forensics.words.numerics import DATA_OF_STEPS as DATA_OF_STEPS
from forensics.words.numerics import INPUT_OF_RANKS_WAS_BAD as INPUT_OF_RANKS_WAS_BAD
from forensics.words.numerics import RUN_BEGINS_WITH as RUN_BEGINS_WITH
from forensics.words.numerics import STEP as STEP
from forensics.words.numerics import VALUE as VALUE

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
ODD_VALUE_AT_A_CHECK = Form(
    "before the first step {name} of {who} was {value}, where every other rank showed a number, and a check of its own ended it",
    "在第一个 step 之前，{who} 的 {name} 为 {value}，其他 rank 均为正常数值，随后它自身的检查使其退出",
)
ODD_VALUE_CHECKED = Form(
    "{name} of {who} was {value}, where every other rank showed a number, and a check of its own ended it",
    "{who} 的 {name} 为 {value}，其他 rank 均为正常数值，随后它自身的检查使其退出",
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
ODD_SIZE = Form(
    "at step {step} {name} of {who} was {value}, which no training comes to, where every other rank's was of its usual size, and most were bad soon after",
    "在 step {step}，{who} 的 {name} 为 {value}，训练不可能达到该数值，其他 rank 均为通常大小，之后多数 rank 也变坏",
)
ODD_COUNT = Form(
    "at step {step} {name} of {who} was {value}, where every other rank counted none",
    "在 step {step}，{who} 的 {name} 为 {value}，其他 rank 均未计到",
)
GAVE_WHAT_IT_WAS_NOT_GIVEN = Form(
    "at step {step} {name} of {who} was {value}, where all that it had received in that step were numbers",
    "在 step {step}，{who} 的 {name} 为 {value}，而它在该 step 收到的均为正常数值",
)
LOST_BY_ALL = Form(
    "at step {step} {name} was {value} on every rank that shows it, before any loss was lost",
    "在 step {step}，所有显示该项的 rank 的 {name} 均为 {value}，早于任何 loss 变坏",
)
WAS_GIVEN = Said("what it had received before, a number", "它此前收到的为正常数值")
NOT_BESIDE = Form("the same of rank {rank}, a number", "rank {rank} 的同一项为正常数值")
NOT_BESIDE_OF = Form("the same of {who}, a number", "{who} 的同一项为正常数值")
OWN_LOSS = Form(
    "{who} printed {value} as its own loss at step {step}, where the loss of the others was finite",
    "{who} 在 step {step} 打印的自身 loss 为 {value}，而其他 rank 的 loss 有限",
)
OWN_LOSS_AT_MOMENTS = Form(
    "{who} showed {value} as its own loss at several moments, at which the loss of the others was finite",
    "{who} 在多个时刻显示的自身 loss 为 {value}，而其他 rank 的 loss 当时有限",
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
