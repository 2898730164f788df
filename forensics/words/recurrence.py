"""What earlier attempts, and a history, say of who is accused."""

from collections.abc import Mapping

from forensics.model.said import Form, Said
from forensics.words.verdict import ATTEMPT_FAILED as ATTEMPT_FAILED
from forensics.words.verdict import ATTEMPT_FAILED_OF as ATTEMPT_FAILED_OF
from forensics.words.verdict import ENDED_WELL_AFTER as ENDED_WELL_AFTER
from forensics.words.verdict import NO_CAUSE_KNOWN as NO_CAUSE_KNOWN

THING: Mapping[str, Said] = {"host": Said("host", "节点"), "device": Said("device", "设备")}
AT_FAULT, SUSPECTED = Said("at fault", "故障方"), Said("suspected", "可疑方")
WAS_BEFORE = Form(
    "{thing} {name} was {what} in attempt {attempts} as well, whichever ranks ran there",
    "{thing} {name} 在第 {attempts} 次启动中也是{what}（与其上运行的 rank 无关）",
)
TAKE_OUT_AND_TEST = Form(
    "{before}; a host that is suspected again and again should be taken out and tested",
    "{before}；多次可疑的节点应隔离检测",
)
AND_BEFORE = Form("Undecided: {before}; {summary}", "无法判定：{before}；{summary}")
BACK_AGAIN, NEW = Said("back again", "重新加入的"), Said("new", "新加入的")
IS_MEMBER = Form("host {name} is {what} in attempt {attempt}", "节点 {name} 是第 {attempt} 次启动时{what}")
NEW_TO_HISTORY = Form(
    "host {name} is new: it took part in no incident of the history ({number} in all)",
    "节点 {name} 此前未出现：历史中的事故（共 {number} 次）均未涉及",
)
SAME_SIGNATURE = Form("the same signature came before: {incidents}", "此前出现过相同特征：{incidents}")
ACCUSED, ACCUSED_OR_SUSPECTED = Said("accused", "被判定"), Said("accused or suspected", "被判定或怀疑")
WAS_SUSPECTED = Said("suspected", "被怀疑")
ONE_EARLIER, EARLIER = Said("1 earlier incident", "1 次事故"), Form("{number} earlier incidents", "{number} 次事故")
INNOCENT_WOULD_BE = Form("an innocent one would be in {expected}", "若无故障，预期 {expected} 次")
WITH_CHANCE = Form("{expected}, chance {chance}", "{expected}，概率 {chance}")
SAME_RANKS = Form("{expected}; the same ranks ran there each time", "{expected}；每次在其上运行的 rank 相同")
MAY_BE_CHANCE = Form("{expected}; this may be chance", "{expected}；可能是偶然")
IN_HISTORY = Form(
    "{thing} {name} was {what} in {times} of {earlier} of the history ({chance}): {incidents}",
    "{thing} {name} 在历史 {earlier}中{what} {times} 次（{chance}）：{incidents}",
)
