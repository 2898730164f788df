"""What drawings are labelled with, in both languages."""

from collections.abc import Mapping

from forensics.model.said import Form, Noun, Said
from reports import words

STATE: Mapping[str, Said] = {  # of a class of ranks, or of an operation
    **words.STATE,
    "waiting": Said("waiting", "等待"),
    "open": Said("never completed", "未完成"),
    "mismatch": Said("calls differ", "调用不一致"),
    "done": Said("completed", "已完成"),
}
EDGE: Mapping[str, Said] = {
    "in": Said("waits in", "等待于"),
    "absent": Said("lacks", "缺少"),
    "enqueued": Said("held up by", "受阻于"),
    "unknown": Said("may lack", "可能缺少"),
}
RANKS = Noun("rank", "ranks", "个 rank")
WAIT = Said("wait", "等待")
IN_OPERATION = Form("{state} in {operation}", "{state}：{operation}")

QUANTITY: Mapping[str, Said] = {
    "absmax": Said("largest value", "最大值"),
    "loss": Said("loss", "loss"),
    "grad_norm": Said("gradient norm", "梯度范数"),
    "loss_scale": Said("loss scale", "loss scale"),
}
WHOSE: Mapping[str, Said] = {
    "culprit": Said("rank at fault", "故障 rank"),
    "suspect": Said("suspect", "可疑 rank"),
    "peers": Said("median of the other ranks", "其他 rank 的中位数"),
    "job": Said("the job", "作业"),
}
WHOLE_MODEL = Said("the whole model", "整个模型")
CURVE = Form("{what}, {who}", "{what}（{who}）")
FROM_TO = Form("{title}, {first} to {last}: from {low} to {high}", "{title}，{first} 到 {last}：从 {low} 到 {high}")
AT_ONSET = Form("{curve}; {value} at the onset", "{curve}；异常起点处为 {value}")
FIRST_BAD = Form(
    "{module}: {value} from step {step}, ranks {ranks}", "{module}：{value}，自 step {step} 起，rank {ranks}"
)

VOTES: Mapping[str, Said] = {
    "slower": Said("takes longer", "耗时更长"),
    "late": Said("waits least: the others wait for it", "等待最少：其他 rank 都在等它"),
    "whole": Said("longer steps", "step 更长"),
    "waits": Said("waits longer", "等待更久"),
}
VOTED: Mapping[str, Said] = {**VOTES, "late": Said("waits least", "等待最少")}  # where there is little room
AMONG = Form("{how}, among {ranks}", "{how}，相对 {ranks}")
ABOVE = Form(
    "rank {rank}, {phase}: {how}, in {votes} of {steps} steps, {beyond} above its peers",
    "rank {rank}，{phase}：{how}，{votes}/{steps} 个 step，比同类多 {beyond}",
)
BELOW = Form(
    "rank {rank}, {phase}: {how}, in {votes} of {steps} steps, {beyond} below its peers",
    "rank {rank}，{phase}：{how}，{votes}/{steps} 个 step，比同类少 {beyond}",
)

HOST, GPU = Said("host", "节点"), Said("GPU", "GPU")
OF_ALL = Form("{some} of {size:,}", "{some} / {size:,}")
STOPPED = Form("{who}: last step or operation completed", "{who}：最后完成的 step 或操作")
BY_HOST = Said("by host", "按节点")
ACROSS_AND_DOWN = Form("{across} from left to right, {down} from top to bottom", "{across} 自左向右，{down} 自上而下")
BLOCKS = Form("{title}, a block for each {slower}", "{title}，每个 {slower} 一块")
ALL_RANKS = Said("Drawing of all ranks; the same as a table below", "全部 rank 的图；下方有表格")
ALL_RANKS_BY = Form("Drawing of all ranks {name}; the same as a table below", "全部 rank 的图（{name}）；下方有表格")
NO_EVIDENCE = Said("no evidence.", "无")
PLACE_UNKNOWN = Said("place unknown", "位置未知")

BASIS: Mapping[str, Said] = {  # on whose word an explanation rests
    "own_record": Said("its own record", "自身记录"),
    "graph": Said("who waits for whom", "等待关系"),
    "others_record": Said("what others recorded", "其他 rank 的记录"),
    "coincidence": Said("it happened at the same time", "同时发生"),
    "hint": Said("a hint", "线索"),
}
REST = Form("{number:,} rows {what}", "{number:,} 行（{what}）")
EQUALLY_FAR = Said("in groups whose members came equally far", "所在组的成员进度一致")
OTHER_CLASSES = Said("of other classes of ranks", "其他类 rank")
FILES = Form(
    "Files by kind of name: {kinds:,} for {files:,} files", "文件（按名称归类）：{files:,} 个文件归为 {kinds:,} 类"
)

FIRST_ANOMALY, STOP, FIRST_EVENT = (
    Said("first anomaly", "首个异常"),
    Said("stop", "停止时刻"),
    Said("first event", "首个事件"),
)
OTHER_RANKS, SYSTEM = words.LANE["peers"], words.LANE["system"]
EVENTS = Said("events", "事件")
HELD = Form("in {operation}", "位于 {operation}")
NO_OPERATION = Said("no operation recorded", "无操作记录")
NEVER_COMPLETED = Form("{label}: from {start}, never completed", "{label}：自 {start}，未完成")
TOOK = Form("{label}: from {start}, took {took}", "{label}：自 {start}，历时 {took}")
BEGAN = Form("{label}: from {start}", "{label}：自 {start}")

SHARE: Mapping[str, Said] = {  # of the time of slow steps
    "culprits": Said("who is at fault", "故障方"),
    "batches": Said("unequal micro-batches", "micro-batch 不均"),
    "stages": Said("unequal stages", "stage 不均"),
    "rest": Said("all else", "其余"),
}
SHARE_OF = Form("{what} {percent}%", "{what} {percent}%")
