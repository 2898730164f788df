"""What is said of number formats: scales without a finite value, and ranges that are exhausted."""

from forensics.model.said import Form, Said
from forensics.words.numerics import AT_STEP as AT_STEP
from forensics.words.numerics import VALUE as VALUE

SCALE_IS, SCALE_OF_FORMAT_IS = (
    Form("{where}: the scale is {value}", "{where}：scale 为 {value}"),
    Form("{where}: the scale of {format} is {value}", "{where}：{format} 的 scale 为 {value}"),
)
AMAX_IS_ZERO = Form(
    "{scale}, its amax is 0: nothing but zeros was seen, or the recipe does not guard it",
    "{scale}，其 amax 为 0：只出现过 0，或 recipe 未做保护",
)
SCALE_WAS = Form("at step {step} it was {scale}, amax {amax}", "step {step} 时为 {scale}，amax {amax}")
RECIPE_AND_FORMAT = Said("scaling recipe and number format", "scaling recipe 与数值格式")
SCALE_LOSES_ALL = Said(
    "a scale without a finite value loses all that is multiplied by it", "scale 不是有限值，与其相乘的数值全部失效"
)
SCALE_BECAME = Form("A scale became {value} on {who}: {what}.", "{who} 的 scale 变为 {value}：{what}。")
CLIPPED = Form(
    "{share} % of its values are clipped at the largest one of the format", "{share}% 的值被截断为该格式的最大值"
)
TOO_SMALL = Form(
    "{share} % of its values are too small for the format and became zero", "{share}% 的值低于该格式的下限，变为 0"
)
BEFORE_IT_WAS_CALM = Form("{at}: {share}; none before", "{at}：{share}；此前没有")
FROM_STEP_ON = Form("From step {step} on, {share} in {where}.", "从 step {step} 起，{where} 中 {share}。")
FROM_STEP_ON_RANKS = Form(
    "From step {step} on, {share} in {where} (ranks {ranks}).",
    "从 step {step} 起，{where} 中 {share}（rank {ranks}）。",
)
ITS_FIGURES = Form("its {name}: {figures}", "其 {name}：{figures}")
GRADIENTS_ARE_ZERO = Form(
    "{percent} % of the gradients seen in step {step} are zero, and were not before",
    "step {step} 中 {percent}% 的已观测梯度为 0，此前不为 0",
)
GRADIENTS_ZERO_FROM = Form("From step {step} on gradients are zero: {what}.", "从 step {step} 起梯度为 0：{what}。")
SCALE_RECIPE_AND_FORMAT = Said("loss scale, scaling recipe and number format", "loss scale、scaling recipe 与数值格式")
RANGE_EXHAUSTED = Said("the range of the format is exhausted", "超出数值格式的表示范围")
LEARNT_FROM_LOST_VALUES = Said("later steps learnt from clipped or lost values", "之后的 step 使用了被截断或丢失的值")
