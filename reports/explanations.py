"""`forensics explain`: what a word of the verdict means, and why a rank is, or is not, at fault."""

from collections.abc import Mapping
from typing import Any, get_args

from forensics.model.errors import NoSuch
from forensics.model.incident import Document, Incident
from forensics.model.names import Cause, Reason, Status
from forensics.model.said import Said, zh
from reports import summary, words, words_zh
from reports.answer import answer, label
from reports.language import Language
from reports.layout import holds, ranks_phrase
from reports.meanings import CAUSES, REASONS, STATUSES, Meaning
from reports.sanitize import clean
from reports.voice import voice_of

WORDS = (*get_args(Cause), *get_args(Status), *get_args(Reason))
_STATES = {
    "ok": "its records show no fault",
    "waiting": "its own record shows it inside an operation, and whoever waits there is not the one that the others wait for",
    "culprit": "it is at fault",
    "suspect": "it cannot be excluded",
    "dead": "its process ended; that came after the fault, or follows from it",
    "ended": "its process ended, by the launcher's hand or by itself; others are named for what ended the job",
    "no_data": "it left no record: it is neither accused nor excluded",
}


def of_word(asked: str, language: Language = "en") -> str:
    """The meaning of a cause, a status or a reason, in a few lines. Raises NoSuch, with the words that look most alike."""
    word = asked.strip().replace("-", "_").replace(" ", "_").lower()
    if word not in WORDS:
        from difflib import get_close_matches

        meant = get_close_matches(word, WORDS, n=3)
        hint = f"did you mean {' or '.join(meant)}?" if meant else "`forensics explain words` lists them"
        raise NoSuch(f"no such word: {clean(asked)}; {hint}")
    tables: tuple[tuple[Mapping[Any, Meaning], Mapping[Any, Said]], ...] = (
        (CAUSES, words.CAUSE),
        (STATUSES, words.STATUS),
        (REASONS, words.REASON),
    )
    [(found, title)] = [(table[word], short[word]) for table, short in tables if word in table][:1]
    if language == "zh":
        name = words_zh.STATUS_NAME[word] if word in STATUSES else zh(title)  # type: ignore[index]
        whole = zh(found.means) if _alike(name, zh(found.means)) else f"{name}\n\n{zh(found.means)}"
        return f"{word}：{whole}\n\n处理：{zh(found.do)}\n"
    means = f": {found.means}" if _alike(title, found.means) else f": {title}\n\n{found.means}"
    return f"{word}{means}\n\nLooks alike: {found.alike}\nWhat to do: {found.do}\n"


def _alike(title: str, means: str) -> bool:
    """Does the explanation begin with its own title, or end with it?"""
    return title.lower() in means.lower() and len(means) < 2 * len(title) + 8


def of_rank(report: Document, rank: int, language: Language = "en") -> str:
    """Every incident of the report, and the part of this rank in it; cleaned text. Raises NoSuch."""
    known(report, rank)
    if language == "zh":
        told = (line for incident in report.incidents for line in _part_in_chinese(incident, rank))
        return "\n".join(clean(line, "keep") for line in told) + "\n"
    lines = []
    for incident in report.incidents:
        if len(report.incidents) > 1:
            lines.append(f"attempt {incident.attempt}")
        said = answer(incident)
        lines += [f"{said.label}  {said.sentence}", "", *_part(incident, rank), ""]
    return "\n".join(clean(line) for line in lines).rstrip() + "\n"


def _part(incident: Incident, rank: int) -> list[str]:
    verdict = incident.verdict
    if rank in (*verdict.ranks, *verdict.cycle):
        facts = [f"  {claim.claim}" for claim in summary.evidence(incident, "for")]
        return [f"Rank {rank} is named: {voice_of('en').why(incident)}.", *facts]
    if rank in verdict.suspects.ranks:
        doubt = answer(incident).cannot_tell or "who of the suspects it is"
        return [f"Rank {rank} is a suspect. Cannot tell: {doubt}."]
    lines = [f"Rank {rank} is not named in this incident ({label(verdict)})."]
    state = _state(incident, rank)
    if state is not None:
        lines.append(f"  {words.STATE[state]}: {_STATES[state]}")
    lines += [f"  considered and not chosen: {other.why_not}" for other in incident.alternatives if rank in other.ranks]
    own = [f"  {row.label}, {row.time_utc}" for row in incident.views.timeline if holds(row.ranks, [rank])]
    return [*lines, *(["  what it printed:", *(f"  {line}" for line in own)] if own else [])]


def _part_in_chinese(incident: Incident, rank: int) -> list[str]:
    voice, verdict = voice_of("zh"), incident.verdict
    said = voice.answer(incident)
    if rank in (*verdict.ranks, *verdict.cycle):
        shown = [text for item in summary.evidence(incident, "for") if (text := voice.claim(item))]
        part = "\n".join([f"rank {rank} 被判定为故障 rank。依据：", *(f"  {text}" for text in dict.fromkeys(shown))])
    elif rank in verdict.suspects.ranks:
        part = f"rank {rank} 可疑。无法判定：{said.cannot_tell or '哪个可疑 rank 有故障'}。"
    else:
        state = _state(incident, rank)
        lines = [f"rank {rank} 未被判定为故障 rank{f'；状态：{words_zh.STATE[state]}' if state else ''}。"]
        weighed = [other.why_not for other in incident.alternatives if rank in other.ranks]
        part = "\n".join([*lines, *(f"  曾作考虑：{text.zh}" for text in weighed if isinstance(text, Said))])
    return [f"{said.label}  {said.sentence}", "", part]


def _state(incident: Incident, rank: int) -> str | None:
    return next((cell.state for cell in incident.views.grid if holds(cell.ranks, [rank])), None)


def known(report: Document, rank: int) -> None:
    """Raises NoSuch where the bundle knows no such rank."""
    named = {own for one in report.incidents for own in (*one.verdict.ranks, *one.verdict.suspects.ranks)}
    seen = [*report.coverage.ranks_seen, *report.coverage.ranks_missing]
    if rank not in named and not holds(",".join(seen), [rank]):
        own = report.coverage.ranks_seen
        has = ranks_phrase(",".join(own)) if own else "ranks of no number"
        raise NoSuch(f"rank {rank} is not in this bundle; it has {has}")
