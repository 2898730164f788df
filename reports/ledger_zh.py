"""The ledger in Chinese: what ledger.py says in English."""

from collections.abc import Sequence

from forensics.model.incident import Document
from forensics.model.ledger import AttemptRow, Interval
from forensics.model.said import Said, zh
from reports import words_zh as words
from reports.layout import duration
from reports.ledger import NOTES, SHOWN, told_phases
from reports.summary import TENTH, Row

HEADINGS = ("启动", "结束原因", "故障方", "step", "损失", "节点", "耗时")


def facts(report: Document) -> list[Row]:
    """The rows of ledger.facts."""
    ledger = report.ledger
    rows = [Row("time", phases(ledger.attempts[-1]))] if ledger.attempts else []
    if len(ledger.attempts) > 1:
        shown = ledger.attempts[-SHOWN:]
        rows += [Row("attempts" if not number else "", _line(one)) for number, one in enumerate(shown)]
    rows += _sums(report)
    rows += [Row("checkpoint", note.zh) for note in ledger.notes[:NOTES] if isinstance(note, Said)]
    return [row for row in rows if row.text]


def totals(report: Document) -> list[Row]:
    """What holds for all attempts together, under Chinese labels."""
    return [Row(words.LABEL[row.label], row.text) for row in _sums(report) if row.text]


def _sums(report: Document) -> list[Row]:
    return [Row("goodput", _kept(report)), Row("save every", _advice(report.ledger.interval))]


def table(attempts: Sequence[AttemptRow]) -> list[tuple[str, ...]]:
    """A row per attempt, under HEADINGS."""
    return [(str(one.attempt), *_cells(one), phases(one)) for one in attempts]


def _cells(one: AttemptRow) -> tuple[str, ...]:
    return _ended_by(one), "、".join(map(zh, one.accused)), _steps(one), _lost(one), _hosts(one)


def phases(one: AttemptRow) -> str:
    """ "启动 17 min 27 s，训练 20.0 s"."""
    parts = []
    for part in told_phases(one.phases):
        name = part.phase.removeprefix("init: ")
        init = " 初始化" if name != part.phase else ""
        parts.append(f"{words.PHASE.get(name, name)}{init} {duration(part.seconds)}")
    return "，".join(parts)


def _line(one: AttemptRow) -> str:
    return f"第 {one.attempt} 次启动：{'；'.join(filter(None, _cells(one)))}"


def _steps(one: AttemptRow) -> str:
    return "" if one.first_step is None else f"step {one.first_step}-{one.last_step}"


def _ended_by(one: AttemptRow) -> str:
    cause = words.CAUSE[one.cause] if one.cause else words.KIND[one.kind]
    return f"{cause}（无故障）" if one.planned and one.cause else cause


def _lost(one: AttemptRow) -> str:
    parts = [f"{one.lost_steps:,} 个 step" if one.lost_steps else "", duration(one.lost_s) if one.lost_s else ""]
    told = "，".join(part for part in parts if part)
    return f"损失 {told}" if told else ""


def _hosts(one: AttemptRow) -> str:
    new = [host for host in one.hosts_joined if host not in one.hosts_returned]
    parts = [
        f"新加入 {'、'.join(new)}" if new else "",
        f"重新加入 {'、'.join(one.hosts_returned)}" if one.hosts_returned else "",
        f"退出 {'、'.join(one.hosts_left)}" if one.hosts_left else "",
        "在原节点上重启进程" if one.restarted == "processes" else "",
    ]
    return "，".join(part for part in parts if part)


def _kept(report: Document) -> str:
    ledger = report.ledger
    if ledger.wall_s is None or ledger.effective_s is None or ledger.wall_s <= 0:
        return ""
    lost = sorted(((hours, name) for name, hours in ledger.lost_gpu_hours.items() if hours >= TENTH / 2), reverse=True)
    named: dict[str, str] = {str(name): text for table in (words.KIND, words.CAUSE) for name, text in table.items()}
    by = "，".join(f"{hours:,.1f}（{named.get(name, name)}）" for hours, name in lost)
    by = f"；损失 GPU 时：{by}" if by else ""
    share = 100 * ledger.effective_s / ledger.wall_s
    return f"{duration(ledger.effective_s)} / {duration(ledger.wall_s)}（{share:.0f}%）{by}"


def _advice(interval: Interval | None) -> str:
    if interval is None:
        return ""
    steps = f"（{interval.steps:,} 个 step）" if interval.steps else ""
    now = f"；当前每 {interval.now_steps:,} 个 step 保存一次" if interval.now_steps else ""
    return (
        f"{duration(interval.daly_s)}{steps}（Daly），{duration(interval.young_s)}（Young）：故障 {interval.failures} 次，平均间隔 "
        f"{duration(interval.between_failures_s)}，保存一次检查点 {duration(interval.save_s)}{now}"
    )
