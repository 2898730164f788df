"""Conversations as what was pasted into them: messages of a chat, comments of a ticket, each text line by line.

    {"messages": [{"sender": "Ana", "create_time": "2026-05-01 10:00:00", "body": "node a:\\n[rank 2] loss nan\\n…"}]}
    [{"user": "U07", "ts": "1777629600.000200", "text": "…"}]        {"comments": [{"author": {"login": "ana"}, "body": "…"}]}

A list of records is a conversation where they tell who said each, and one field of theirs holds a text of several lines in two of them
at least: a line of a log holds none. What is said in one line has its moment and its speaker before it; what is pasted stands below them. Short
fields of a message without a text (a file that was attached, and of which host it is) are told as `name=value`. Who is told by a number alone is nobody.

Printed by: Slack, Feishu, DingTalk, Teams, Mattermost, Telegram; GitHub's and GitLab's comments, Jira's.
Versions: none; by structure.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parsers.text import stamps
from parsers.text.patterns import regex

MARKS = (b'"body"', b'"text"')
_FEWEST = 2
_SHORT = 200  # characters of a field that is told beside the text
_SPEAKER = regex(
    r"(?i)(?:^|[._])(?:sender|user|author|from|creator|poster|speaker|by|nick|发送人|发送者|发件人|作者|用户|昵称)(?:[._]?(?:name|id|login|display_?name|real_?name|名))?\Z"
)
_MOMENT = regex(r"(?i)(?:^|[._])(?:ts|(?:\w{1,20}_?)?(?:time|date|at)|时间|发送时间)\Z|[a-z]At\Z")

Record = Mapping[str, Any]


def lines_of(found: Any) -> bytes | None:
    """A decoded document → what was said in it; None where it is no conversation."""
    lists = [found] if isinstance(found, list) else [*found.values()] if isinstance(found, dict) else []
    for own in lists:
        records = [dict(_flat(one)) for one in own if isinstance(one, dict)] if isinstance(own, list) else []
        if len(records) >= _FEWEST and (text := _text(records)) is not None:
            said = (line for record in records for line in _said(record, text))
            return "\n".join(said).encode("utf-8", "replace") + b"\n"
    return None


def _flat(record: Record) -> Iterator[tuple[str, Any]]:
    """Fields, with those of one record within it."""
    for name, value in record.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", cell) for inner, cell in value.items())
        else:
            yield str(name), value


def _text(records: Sequence[Record]) -> str | None:
    """The field of the texts, where each is told to be somebody's."""
    pasted = Counter(name for one in records for name, cell in one.items() if isinstance(cell, str) and "\n" in cell)
    [(name, many)] = pasted.most_common(1) or [("", 0)]
    told = [one for one in records if name in one]
    is_spoken = bool(told) and all(_speaker(one) is not None for one in told)
    return name if many >= _FEWEST and is_spoken and 2 * len(told) > len(records) else None


def _speaker(record: Record) -> str | None:
    named = (cell for name, cell in record.items() if _SPEAKER.search(name) and isinstance(cell, str) and cell)
    return next((cell for cell in named if len(cell) < _SHORT and "\n" not in cell), None)


def _said(record: Record, text: str) -> Iterator[str]:
    times = (str(cell) for name, cell in record.items() if _MOMENT.search(name) and isinstance(cell, str | int | float))
    time = next((one for one in times if stamps.parse_time(one)[0] is not None), "")
    lines = str(record.get(text) or "").splitlines()
    if not lines:
        lines = [" ".join(f"{name}={cell}" for name, cell in record.items() if _is_short(cell))]
    before = f"{time} {_speaker(record) or ''}:".lstrip()
    yield from [f"{before} {lines[0]}"] if len(lines) == 1 else [before, *lines]


def _is_short(cell: Any) -> bool:
    return isinstance(cell, str) and 0 < len(cell) < _SHORT and "\n" not in cell
