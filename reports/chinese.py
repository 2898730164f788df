"""The answer in Chinese: made of the incident's typed fields, and of sentences that were said in both languages.

An incident that was read from a file says its claims in English alone: in their place stand the lines as printed.
"""

import re
from collections.abc import Mapping, Sequence
from string import Formatter

from forensics.model.causes import CAUSES
from forensics.model.incident import Action, Alternative, Document, Evidence, Incident, Place, Verdict
from forensics.model.said import Said, zh
from forensics.model.texts import AT_THE_PIPE, IN_THE_TOKENIZER, group_text, ranges
from reports import words_zh as words
from reports.answer import (
    LABELS,
    STOPPED,
    Answer,
    actions,
    cause_of,
    code,
    doubts,
    has_decision,
    is_check,
    is_named,
    is_told,
    is_undecided,
    occupied,
    own_name,
    stuck_in,
    tells_apart,
)
from reports.answer import answer as english
from reports.layout import count, duration, time_text
from reports.summary import TENTH, Row, cause_text, operation_label, place
from reports.words import CHECK_FAILED

_SHOWN, _VERBATIM = 4, 100
_HEAD = 8  # characters of a label
_NAME = re.compile(r"[\w./:<>+@-]+|rank \d+")  # a target that is no English phrase
_RANKS = re.compile(r"\branks? (\d+(?:-\d+)?(?:(?:, ?| and )\d+(?:-\d+)?)*)")
_STEPS = re.compile(r"\bsteps? (\d+(?:-\d+)?)")
_SIGNAL = re.compile(r"\bSIG[A-Z]+\d*\b")
_BESIDE = re.compile("(?<=[，。；：（）]) | (?=[，。；：（）])")
_BETWEEN = re.compile(r"(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u4e00-\u9fff])")  # the two scripts
_FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?(?<!,)")
_LOOSE = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")  # a blank within Chinese


def answer(incident: Incident) -> Answer:
    """The first lines of every report."""
    verdict = incident.verdict
    first = next(iter(actions(incident)), None)
    do = "" if first is None else (todo(first) if is_told(first) else _what(first))
    return Answer(
        label=label(verdict),
        sentence=_headline(incident),
        more="",
        cannot_tell="；".join(zh(doubt) for doubt in doubts(verdict)),
        do=f"{do.removesuffix('。')}。" if do else "无需处理。",
        command=first.command if first else None,
    )


def label(verdict: Verdict) -> str:
    """The kind; in brackets how far it is from sure, where it is."""
    if verdict.cause in STOPPED:
        return words.STOPPED
    if is_check(verdict):
        return CHECK_FAILED.zh
    kind = words.KIND[verdict.kind]
    if is_undecided(verdict) and verdict.kind != "unknown":
        return f"{kind}（{words.UNDECIDED}）"
    return f"{kind}（{words.PROBABLE}）" if verdict.status == "hypothesis" else kind


def _headline(incident: Incident) -> str:
    """The form of its cause, where that holds the figures of the English sentence; else what was said in both languages."""
    made = f"{_sentence(incident)}{_who_else(incident)}。"
    wanted, said = figures(english(incident).sentence), _said(incident.verdict)
    if figures(made) == wanted or not said:
        return made
    return min(made, said, key=lambda text: len(figures(text) ^ wanted))


def figures(text: str) -> set[str]:
    """The numbers in a text, whatever stands between thousands."""
    return {number.replace(",", "") for number in _FIGURE.findall(text)}


def _said(verdict: Verdict) -> str:
    """The first sentence of the summary, where it was said in Chinese, with host and GPU behind the ranks that are named."""
    whole = spoken(verdict.summary)
    if verdict.summary.startswith(LABELS):
        head, _, rest = whole.partition("：")
        whole = rest if len(head) <= _HEAD else whole
    parts = [""]
    for character in whole:
        parts[-1] += character
        if character == "。" and parts[-1].count("“") == parts[-1].count("”"):
            parts.append("")
    named = _ranks(verdict.ranks or verdict.cycle) if verdict.ranks or verdict.cycle else ""
    at = parts[0].find(named) + len(named) if named and named in parts[0] else 0
    if not at or re.match(r"[\d、，（-]|\s*和", parts[0][at:]):
        return parts[0]
    return _tight(f"{parts[0][:at]}{who(verdict).removeprefix(named)}{parts[0][at:]}")


def _sentence(incident: Incident) -> str:
    verdict = incident.verdict
    if verdict.kind == "unknown" and "no_hang" in verdict.undecided:
        return words.RUNNING
    if verdict.kind == "healthy" and incident.actions and (said := spoken(verdict.summary)):  # what it lost
        return said.rstrip("。")
    forms: Sequence[str] = words.OPEN[verdict.kind]
    if is_named(verdict) or (verdict.cause and not any("{R}" in form for form in CAUSES[verdict.cause].chinese)):
        forms = CAUSES[verdict.cause].chinese if verdict.cause else words.ENDED
    return fill(forms, _fields(incident))


def fill(forms: Sequence[str], fields: Mapping[str, str]) -> str:
    """The first form whose fields are all known; the last one with what there is."""
    for form in forms:
        if all(fields[name] for _, name, _, _ in Formatter().parse(form) if name):
            return _tight(form.format_map(fields))
    return _tight(forms[-1].format_map(fields).strip())


def _tight(text: str) -> str:
    """No space beside a full-width mark."""
    return _BESIDE.sub("", text)


def _fields(incident: Incident) -> dict[str, str]:
    verdict = incident.verdict
    first = verdict.first_anomaly
    site = verdict.site if verdict.site not in (None, "unknown", "communication") else None
    at = zh(occupied(verdict)) if site else ""
    stuck = f"卡在{at}" if stuck_in(verdict) in (IN_THE_TOKENIZER, AT_THE_PIPE) else words.STUCK.get(site or "", "")
    return {
        "R": who(verdict),
        "O": _operation(verdict),
        "C": code(verdict).replace(" (", "，").removesuffix(")"),
        "A": stuck,
        "T": at,
        "G": found[0] if (found := _SIGNAL.search(verdict.summary)) else "",
        "L": "" if incident.lost.last_completed_step is None else str(incident.lost.last_completed_step),
        "X": _printed(incident),
        "M": _where(verdict),
        "V": words.VALUE.get(first.value or "", ""),
        "S": "" if first.step is None else str(first.step),
        "K": zh(cause_of(verdict)),
        "U": suspects(verdict),
    }


def who(verdict: Verdict) -> str:
    """ "rank 5（node3，GPU 2）", "node3 的 GPU 2", "node3"; "作业" where nobody is named."""
    ranks = verdict.ranks or verdict.cycle
    if ranks:
        places = {one.rank: one for one in verdict.places if one.rank in ranks}
        hosts = sorted({one.host for one in places.values() if one.host} or set(verdict.hosts))
        gpu = places[ranks[0]].device.index if len(ranks) == 1 and ranks[0] in places else None
        inner = "，".join([*([_some(hosts)] if hosts else []), *([] if gpu is None else [f"GPU {gpu}"])])
        return _ranks(ranks) + (f"（{inner}）" if inner else "")
    if verdict.links:
        return "、".join(" 与 ".join(map(str, link)) for link in verdict.links[:_SHOWN]) + " 之间的链路"
    if verdict.hosts:
        return _some(verdict.hosts)
    return "、".join(filter(None, (device.host for device in verdict.devices[:_SHOWN]))) or "作业"


def _ranks(ranks: Sequence[int]) -> str:
    parts = ranges(ranks).split(",")
    more = f"…（共 {len(set(ranks)):,} 个）" if len(parts) > 2 * _SHOWN else ""
    return f"rank {'、'.join(parts[: 2 * _SHOWN])}{more}"


def _some(names: Sequence[str]) -> str:
    return "、".join(names[:_SHOWN]) + (f"…（共 {len(names):,} 个）" if len(names) > _SHOWN else "")


def _operation(verdict: Verdict) -> str:
    first = verdict.first_anomaly
    if verdict.kind == "numerics" or (first.seq is None and not first.group and not first.op):
        return ""
    if called := own_name(first):
        return called
    number = "" if first.seq is None else f" #{first.seq}"
    whose = f"{zh(group_text(first.group))} 的" if first.group else ""
    return f"{whose}{' ' if whose and first.op else ''}{first.op or '操作'}{number}"


def _printed(incident: Incident) -> str:
    """The line that shows it best, as printed."""
    refs = (ref for item in incident.evidence if item.direction == "for" for ref in item.refs)
    text = " ".join(next((ref.text for ref in refs if ref.text), "").split())
    return f"“{text if len(text) <= _VERBATIM else text[:_VERBATIM] + '…'}”" if text else ""


def _where(verdict: Verdict) -> str:
    first = verdict.first_anomaly
    parts = [
        f"{first.module} 的 {first.tensor}" if first.module and first.tensor else first.module or first.tensor,
        first.op if first.module else None,
        words.PHASE.get(first.phase, first.phase) if first.phase else None,
        None if first.step is None else f"step {first.step}",
        None if first.microbatch is None else f"micro-batch {first.microbatch}",
    ]
    return "，".join(part for part in parts if part) if first.module or first.tensor else ""


def _who_else(incident: Incident) -> str:
    number = incident.blast_radius.ranks_waiting
    if not number or incident.verdict.kind not in ("hang", "crash"):
        return ""
    return f"；{number:,} 个 rank 在等待" if incident.verdict.kind == "hang" else f"；另有 {number:,} 个 rank 退出"


def suspects(verdict: Verdict) -> str:
    """Who must hold the rank at fault."""
    listed = verdict.suspects
    parts = [_ranks(listed.ranks) + (" 之一" if len(listed.ranks) > 1 else "")] if listed.ranks else []
    parts += [f"节点 {_some(listed.hosts)}"] if listed.hosts else []
    numbers = [(one.pci if one.index is None else str(one.index), one.host) for one in listed.devices]
    return "；".join([*parts, *(f"{host} 的 GPU {number}" for number, host in numbers if number and host)])


def todo(action: Action) -> str:
    """The verb, its object and the reason."""
    what, why = _what(action), spoken(action.reason)
    return f"{what}：{why}" if why else what


def _what(action: Action) -> str:
    """The verb and its object, where that is a name and no English phrase."""
    general, about, _ = words.ACTION[action.kind]
    if action.kind == "check_data" and _RANKS.fullmatch(action.target):
        about = words.ACTION["check_code"][1]  # a rank is no data
    if action.kind == "collect_more":
        said = spoken(action.target)
        later, _, rest = said.partition("下次运行时：")
        verb = "收集" if later or not rest else "下次运行时收集"
        return _BETWEEN.sub(" ", f"{verb}{said if verb == '收集' else rest}") if said else _collect(action) or general
    if action.target == "job" or not action.target.strip():
        return general
    if _NAME.fullmatch(action.target):
        return about.format(action.target)
    if isinstance(action.target, Said):
        about = "回退到 {}" if action.kind == "rollback" else about  # the target says which checkpoint
        return _LOOSE.sub("", about.format(action.target.zh))
    ranks, steps = _RANKS.fullmatch(action.target), _STEPS.search(action.target)
    if ranks or steps:
        return about.format(f"step {steps[1]}" if steps else _listed(ranks))
    return general


def _listed(found: re.Match[str] | None) -> str:
    """ "ranks 2 and 6" → "rank 2、6"."""
    return "" if found is None else "rank " + re.sub(r", ?| and ", "、", found[1])


def _collect(action: Action) -> str:
    """What to collect, of whom, and whether it is gone with the job; empty where its words have no Chinese names."""
    if action.target.startswith("Flight Recorder dumps in the next run"):
        return words.NEXT_RUN
    said = f"{action.target} {action.command or ''}"
    names = dict.fromkeys(name for word, name in words.COLLECT.items() if word in said)
    if not names:
        return ""
    whose = _listed(_RANKS.search(action.target)) or ("所有 rank" if "all ranks" in action.target else "")
    running, later = "if the job still runs" in action.target, action.target.startswith("in the next run: ")
    when = "若作业仍在运行，收集" if running else "下次运行时收集" if later else "收集"
    again = "一分钟后再次" if "second" in action.target else ""
    return _BETWEEN.sub(" ", f"{again}{when}{f'{whose} 的' if whose else ''}{'、'.join(names)}")


def why(incident: Incident) -> str:
    told = rule(incident.verdict)
    return told if tells_apart(incident.verdict) else f"{words.STATUS_NAME[incident.verdict.status]}：{told}"


def rule(verdict: Verdict) -> str:
    """What gave the status; of an incident from a file what the status means."""
    return spoken(verdict.status_rule) or words.STATUS[verdict.status]


def claim(item: Evidence) -> str:
    """What was said of it, and the first place that shows it; of an incident from a file the line alone, as printed."""
    if isinstance(item.claim, Said):
        return f"{item.claim.zh}  [{place(item.refs[0])}]" if item.refs else item.claim.zh
    if item.direction == "unseen":
        return ""
    lines = [f"{place(ref)}  {' '.join(ref.text.split())}" for ref in item.refs[:1]]
    return lines[0].strip() if lines else ""


def other(weighed: Alternative) -> str:
    names = "、".join([*([_ranks(weighed.ranks)] if weighed.ranks else []), *weighed.hosts[:_SHOWN]])
    cause = words.CAUSE[weighed.cause] if weighed.cause else words.KIND[weighed.kind]
    why = f"：{said}" if (said := spoken(weighed.why_not)) else ""
    return f"{cause}（{names}）{why}" if names else f"{cause}{why}"


def spoken(text: str) -> str:
    """In Chinese; empty where it was said in English alone."""
    return text.zh if isinstance(text, Said) else ""


def facts(incident: Incident) -> list[Row]:
    """What is known besides the sentence, in fixed order; a row without content is left out."""
    verdict, first, lost = incident.verdict, incident.verdict.first_anomaly, incident.lost
    value = "，".join(filter(None, (words.VALUE.get(first.value or ""), _where(verdict))))
    steps = {"已完成": lost.last_completed_step, "检查点已写": lost.last_saved_step, "已落盘": lost.last_persisted_step}
    done = [f"{word} step {step}" for word, step in steps.items() if step is not None]
    done += [] if lost.stalled_s is None else [f"停滞 {duration(lost.stalled_s)}"]
    began = (first.time_utc and time_text(first.time_utc), None if first.step is None else f"step {first.step}")
    site = zh(occupied(verdict)) if verdict.site else ""
    rows = [
        Row("may be" if is_undecided(verdict) else "cause", zh(cause_of(verdict)) if cause_text(verdict) else ""),
        Row(operation_label(verdict), _operation(verdict)),
        Row("was", "，".join(filter(None, (site, code(verdict))))),
        Row("program", verdict.program or ""),
        Row("runs on", "；".join(filter(None, (_runs_on(one) for one in verdict.places[:_SHOWN] if one.rank in (verdict.ranks or verdict.suspects.ranks[:_SHOWN]))))),
        Row("bad value", value if verdict.kind == "numerics" and (first.value != "finite" or first.tensor) else ""),
        Row("first anomaly", "，".join(filter(None, began))),
        Row("finite until", spoken(first.after or "")),
        Row("affected", "、".join(incident.blast_radius.groups[:_SHOWN])),
        Row("without it", spoken(incident.counterfactual.text) if incident.counterfactual else ""),
        Row("progress", "，".join(done)),
        Row("decision", _decision(incident)),
        Row("unless", spoken(incident.decision.unless) if _decision(incident) else ""),
        Row("suspects", suspects(verdict)),
    ]  # fmt: skip
    return [row for row in rows if row.text]


def _decision(incident: Incident) -> str:
    told = incident.decision
    if not has_decision(incident):
        return ""
    why = "" if any(action.reason == told.reason for action in incident.actions) else spoken(told.reason)
    hours = told.lost_gpu_hours or 0
    price = f"；本次事故损失 {hours:,.1f} rank 小时" if hours >= TENTH / 2 else ""
    return f"{words.DECISION[told.do]}{f'：{why}' if why else ''}{price}"


def _runs_on(at: Place) -> str:
    parts = (
        at.host,
        None if at.pid is None else f"pid {at.pid}",
        None if at.local_rank is None else f"local rank {at.local_rank}",
        None if at.device.index is None else f"GPU {at.device.index}",
        at.device.pci,
    )
    return f"rank {at.rank}：{'，'.join(filter(None, parts))}" if any(parts) else ""


def coverage(report: Document) -> list[str]:
    """What was read."""
    seen = report.coverage
    number = count(",".join(seen.ranks_seen))
    ranks_read = f"{number:,}{f'/{seen.ranks_expected:,}' if seen.ranks_expected else ''} 个 rank"
    parts = [ranks_read if number or seen.ranks_expected else "rank 未知"]
    parts += [f"{len(seen.hosts_seen):,} 个节点" if seen.hosts_seen else "节点未知"]
    for name, source in seen.sources.items():
        ranks = count(",".join(source.ranks))
        what = f"{ranks:,} 个 rank" if ranks else f"{source.files:,} 个文件"
        parts.append(f"{name.replace('_', ' ')}：{what}")
    bound = seen.clock.skew_bound_s
    parts.append("时钟误差未知" if bound is None or bound != bound else f"时钟误差 ≤ {max(bound * 1000, 1):,.0f} ms")
    if seen.lines.total:
        parts.append(f"{100 * seen.lines.unrecognised / seen.lines.total:.1f}% 的行未识别")
    return [*parts, f"{len(seen.unreadable):,} 个文件未能读取"] if seen.unreadable else parts


def missing(report: Document) -> str:
    """Ranks without a record; where nobody is known to be missing, what may be said of that."""
    gone = ",".join(report.coverage.ranks_missing)
    if gone:
        return f"rank {gone.replace(',', '、')} 无记录"
    size = report.coverage.world.size
    if size is None:
        return "总 rank 数未知，可能有 rank 无记录"
    return f"{size:,} 个 rank 均有记录" if size > 1 else "该 rank 有记录"
