"""What the page folds: files into classes of like names, records of hardware into those that count and the rest, groups
that came as far as their peers, and the explanations with why each was or was not chosen."""

import re
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from forensics.model.drawn import CollectiveRow, HardwareRow
from forensics.model.incident import Alternative, Candidate, FileRow, Incident
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from reports.html.drawings import labels
from reports.layout import count
from reports.tongue import Voice

T = TypeVar("T")
_NUMBER = re.compile(r"\d+")


class FileClass(NamedTuple):
    """Files whose names differ in numbers alone and that were read alike. `template`: numbers as #; of one file its name."""

    template: str
    files: int
    bytes: int
    parsers: list[str]
    ranks: int
    lines: int
    recognised: int
    records: int
    first: str | None
    last: str | None
    errors: list[str]
    unread: list[str]


def file_classes(files: Sequence[FileRow]) -> list[FileClass]:
    """In order of the first of each; those with errors first."""
    classes: dict[tuple[str, ...], list[FileRow]] = {}
    for row in files:
        classes.setdefault((_NUMBER.sub("#", row.file), *row.parsers, *(["!"] if row.errors else [])), []).append(row)
    found = [_class(rows) for rows in classes.values()]
    return sorted(found, key=lambda one: not one.errors)


def _class(rows: Sequence[FileRow]) -> FileClass:
    return FileClass(
        template=rows[0].file if len(rows) == 1 else _NUMBER.sub("#", rows[0].file),
        files=len(rows),
        bytes=sum(row.bytes for row in rows),
        parsers=rows[0].parsers,
        ranks=sum(count(row.ranks) for row in rows),
        lines=sum(row.lines for row in rows),
        recognised=sum(row.recognised for row in rows),
        records=sum(row.records for row in rows),
        first=min((row.time_first_utc for row in rows if row.time_first_utc), default=None),
        last=max((row.time_last_utc for row in rows if row.time_last_utc), default=None),
        errors=list(dict.fromkeys(error for row in rows for error in row.errors)),
        unread=list(dict.fromkeys(line for row in rows for line in row.templates)),
    )


class Folded(NamedTuple, Generic[T]):
    """`shown` counts; `folded` does not, and `why` says so."""

    shown: list[T]
    folded: list[T]
    why: str


def hardware(rows: Sequence[HardwareRow], shown: int = 2) -> Folded[HardwareRow]:
    """Records of hosts that are named or suspected, then the rest."""
    counts = [row for row in rows if "not in question" not in row.relation and "holds no rank" not in row.relation]
    others = [row for row in rows if row not in counts]
    more = counts[shown:]
    parts = [f"{len(more):,} more of them"] if more else []
    parts += [f"{len(others):,} records of hosts that are not in question"] if others else []
    return Folded(counts[:shown], [*more, *others], ", ".join(parts))


def collectives(rows: Sequence[CollectiveRow], group: str | None, shown: int = 3) -> Folded[CollectiveRow]:
    """`group`, that of the first anomaly; groups in which somebody is behind or calls differ; then the rest."""
    telling = {row.group for row in rows if row.mark or row.group == group}
    counts = sorted((row for row in rows if row.group in telling), key=lambda row: row.group != group)
    others = [row for row in rows if row.group not in telling]
    kept = counts[:shown] or list(rows[:shown])
    rest = [row for row in rows if row not in kept]
    what = labels.EQUALLY_FAR if counts and len(rest) == len(others) else labels.OTHER_CLASSES
    return Folded(kept, rest, labels.REST(number=len(rest), what=what))


class Choice(NamedTuple):
    """One explanation. `basis`: on whose word it rests, `left`: symptoms it leaves over."""

    has_won: bool
    summary: str
    who: str
    basis: str
    left: int
    why_not: str


def choices(incident: Incident, voice: Voice) -> list[Choice]:
    """The explanations that were weighed, the chosen one first, each of the others with what the report says against it."""
    weighed: list[Candidate | None] = list(incident.choice[1:])
    weighed += [None] * (len(incident.alternatives) - len(weighed))
    others = [_other(one, other, voice) for one, other in zip(weighed, incident.alternatives, strict=False)]
    chosen = [_weighed(one, "") for one in incident.choice[:1]]
    return [*chosen, *others]


def _other(one: Candidate | None, other: Alternative, voice: Voice) -> Choice:
    if one is not None and (one.kind, one.cause) == (other.kind, other.cause):
        return _weighed(one, other.why_not)
    return Choice(False, voice.what(other.kind, other.cause), _who([*other.ranks, *other.hosts]), "", 0, other.why_not)


def _weighed(one: Candidate, why_not: str) -> Choice:
    basis = labels.BASIS.get(one.basis, one.basis.replace("_", " "))
    return Choice(not why_not, one.summary, _who(one.subjects), basis, one.left_over, why_not)


def _who(subjects: Sequence[int | str]) -> str:
    ranks = [one for one in subjects if isinstance(one, int)]
    names = [str(one) for one in subjects if not isinstance(one, int)]
    return joined([*([ranks_text(ranks)] if ranks else []), *names[:4], *(["…"] if len(names) > 4 else [])], ", ")
