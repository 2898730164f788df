"""Reports in Chinese: what tongue.py asks of a language."""

from forensics.model.said import zh
from reports import chinese, ledger_zh, words_zh
from reports.answer import cause_of
from reports.tongue import Voice

CHINESE = Voice(
    language="zh-CN",
    answer=chinese.answer,
    label=chinese.label,
    todo=chinese.todo,
    owner=lambda action: words_zh.ACTION[action.kind][2],
    why=chinese.why,
    claim=chinese.claim,
    other=chinese.other,
    facts=chinese.facts,
    ledger=ledger_zh.facts,
    coverage=chinese.coverage,
    missing=chinese.missing,
    status=lambda status: words_zh.STATUS_NAME[status],
    cause=lambda verdict: zh(cause_of(verdict)) or "原因未知",
    domain=lambda verdict: words_zh.DOMAIN[verdict.domain],
    what=lambda kind, cause: words_zh.CAUSE[cause] if cause else words_zh.KIND[kind],
    rule=chinese.rule,
    row=lambda label: words_zh.LABEL[label],
    title=lambda heading: words_zh.HEADING.get(heading, heading),
    spoken=zh,
    nothing="无",
    unsaid="说明仅有英文，见 incident.json",
    more="… 报告中另有 {:,} 条",
    rest="另有 {:,} 行：-v",
    comma="，",
    colon="：",
)
