"""What a line says of its speaker at its head: the number that is set off there, and the form around it.

`| rank  3 | INFO`, `I p2 train] `, `[2/4] step`, `[TRT-LLM] [RANK 0] [I]`, `TP6] `, `rank2[2203][MainThread]: `. Whether the
numbers of a form are ranks, speakers.py learns; here forms are only told apart. What stands in a sentence is no label (`Rank 3 is
late`, `[Rank 1 Error Snippet]`): it is closed by a mark, with at most one word before it and one beside it. A label with no words behind
it is a row about that rank (`rank  0: 123.4`), and nobody speaks.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache

import msgspec

from parsers.schema.names import NO_NAMES, Names
from parsers.text.patterns import regex

HEAD = 160  # characters of a line that may hold its label
# Words before "rank" after which the number is a place in a group or on a node, by what stands between them.
OF_GROUP = regex(
    r"(?:local|node|group|role|machine|relative|dp|tp|pp|ep|cp|sp|mp|edp|etp|vpp|tensor|pipeline|data|expert|context|model"
    r"|parallel|shard|replica|leader|peer|remote|root|src|dst|source|target|loader|child|helper"
    # The name of a program may end so, a blank before its rank: `tide_worker rank 3/8`.
    r"|worker(?=_)|(?:(?<![a-z\d][_-])|(?<=data[_-])|(?<=loader[_-]))worker)[ _-]?\Z",
    re.I,
)
_BETWEEN = r"(?: {0,2}[=:#_-] {0,2}| {1,4})?"  # a word and its number
_LABEL = regex(rf"(?<![\w.-])(?:([A-Za-z]+(?:_[A-Za-z]+)*){_BETWEEN})?(\d{{1,10}})(/\d{{1,7}})?(?![\w.%]|[-:]\d)")
_CLOSED = regex(r" {0,4}([\])|>,}\[]|:(?= |$)|-(?= ))")
# Closes a label as a mark does.
_LEVEL = regex(r" {1,4}(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\b")
_PID = regex(r"(?i)pid ?[=:] ?\Z")  # stands without a mark behind its number, too
_CLOSING = {":": r":(?= |$)", "-": r"-(?= )", "~": _LEVEL.pattern, "+": r"(?= )"}
_BESIDE = regex(r" [\w.-]{1,60}[\])|>](?: |$)")  # one word more in the bracket
_BRACKETS = regex(r"\[[^\]]{0,200}\]|\([^)]{0,200}\)")
_WORD = regex(r"[A-Za-z][\w./:-]+")
_MARK = regex(
    r" {0,8}(?:[\])|>,}:-](?= |$|[\[(|])|[\w.-]{0,60}\]|\[[^\] ]{1,60}\]:?|[A-Z]{1,8}(?= {0,8}\|)|(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b:?) {0,8}"
)
_TOLD = 2  # lines that tell of a process: that it began, and that it ended
_MARKS = 8  # behind a label, at most
_LETTER = regex(r"[A-Za-z]")


class Form(msgspec.Struct, frozen=True):
    """What is around the number: the mark before it (`w`: a word), its word, the total behind a slash, the mark that closes it."""

    opened: str
    word: str
    total: str
    closed: str


class Join(msgspec.Struct, frozen=True):
    """Slots before the words of a line (`task`, `host`, `local_rank`, a form of heads.py), and the rank of the values that they hold
    together (joins.py)."""

    key: tuple[str, ...]
    ranks: Mapping[tuple[str, ...], int]


class Labels(msgspec.Struct, frozen=True):
    """What was learnt of a file: forms whose number is a rank, forms whose number is a pid, whether a launcher's tasks are
    ranks; whose the names at the heads of lines are, and by form the names that come off; and, of the bundle, who is called what."""

    ranks: frozenset[Form] = frozenset()
    pids: frozenset[Form] = frozenset()
    tasks: bool = False
    joins: tuple[Join, ...] = ()
    heads: Mapping[str, Set[str]] = msgspec.field(default_factory=dict)
    names: Names = NO_NAMES
    sections: Sequence[tuple[int, str]] = ()  # lines from which on what a host says of itself is that host's

    def host_at(self, line: int) -> str | None:
        """Whose section of its file a line is in."""
        at = bisect_left(self.sections, (line, "")) - 1
        return self.sections[at][1] or None if at >= 0 else None


NO_LABELS = Labels()


def rank_of(held: Mapping[str, object], joins: Iterable[Join]) -> int | None:
    """The rank of what the slots of a line hold."""
    found = (join.ranks.get(tuple(str(held.get(slot)) for slot in join.key)) for join in joins)
    return next((rank for rank in found if rank is not None), None)


def labels_of(text: str) -> Iterator[tuple[Form, int, str]]:
    """(form, number, what stands behind) of each label at the head of a line, the leftmost first."""
    for found in _LABEL.finditer(text[:HEAD]):
        before, behind = text[: found.start()], text[found.end() :]
        closed = _CLOSED.match(behind)
        is_level = not closed and found[1] and _LEVEL.match(behind)
        pid = None if closed or not behind.startswith(" ") else _PID.search(text, 0, found.start(2))
        if not (closed or is_level or pid or (found[1] and _BESIDE.match(behind))) or not _LETTER.search(behind):
            continue
        if not _may_be_before(before):
            return
        is_cell = closed and closed[1] == "," and not found[1] and not before.strip()
        if is_cell or "UUID: " in behind:
            return  # of a table, or of a list of devices
        of_group = OF_GROUP.search(before) if found[1] else None
        mark = before[: of_group.start() if of_group else None].rstrip(" ")[-1:]
        opened = "w" if mark.isalnum() else mark
        word = pid[0].strip(" ") if pid else (of_group[0] if of_group else "") + (found[1] or "")
        mark = closed[1] if closed else "~" if is_level else "+" if pid else "_"
        yield Form(opened, word, found[3] or "", mark), int(found[2]), behind


def are_pids(form: Form, numbers: Iterable[int], introduced: Container[int | None]) -> bool:
    """Are the numbers of a form those of processes: introduced, most on two lines, or called so? Behind another word one may be told of others
    (`worker (pid 7) died`), unless each comes as often as who speaks."""
    counts = Counter(numbers)
    is_word = form.word.lower().rstrip(" =:") == "pid" and not form.total
    if is_word and (form.opened not in ("w", "(") or min(counts.values()) > _TOLD):
        return True
    twice = sum(count >= _TOLD for count in counts.values())  # of several hundred processes one may hardly speak
    return twice > 1 and 2 * twice > len(counts) and all(number in introduced for number in counts)


def number_of(labels: Iterable[tuple[Form, int, str]], forms: frozenset[Form]) -> int | None:
    """The number of the leftmost label of one of these forms."""
    return next((number for form, number, _ in labels if form in forms), None)


def spoken(text: str, forms: frozenset[Form]) -> tuple[int | None, str | None]:
    """The number of the leftmost label of these forms in a line, and what stands behind it and behind the marks, levels and
    bracketed words after it: as `labels_of` tells it, in a tenth of the time."""
    found = _finder(forms).search(text[:HEAD])
    if found is None:
        return None, None
    before, rest = text[: found.start()], text[found.end() :]
    if not _LETTER.search(rest) or (_LETTER.search(before) and not _may_be_before(before)):
        return None, None
    for _ in range(_MARKS):
        mark = _MARK.match(rest)
        if mark is None:
            break
        rest = rest[mark.end() :]
    return int(found[found.lastindex or 0]), rest


@lru_cache(maxsize=1024)
def _may_be_before(text: str) -> bool:
    """Marks, levels, what is in brackets and one word: not the beginning of a sentence, nor a library's source line, behind which
    a rank is one of its groups."""
    words = [word for word in _WORD.findall(_BRACKETS.sub("", text)) if not word.isupper()]
    return len(words) < 2 and ".cpp:" not in text


@lru_cache(maxsize=256)
def _finder(forms: frozenset[Form]) -> "re.Pattern[str]":
    parts = []
    for form in sorted(forms, key=msgspec.structs.astuple):
        # A stamp, which may be taken off.
        after_word = r"(?:[A-Za-z0-9] {1,8}|\A)" if form.word else r"[A-Za-z0-9] {1,8}"
        opened = {"": r"\A {0,8}", "w": after_word}.get(form.opened, re.escape(form.opened) + " {0,8}")
        word = re.escape(form.word) + _BETWEEN if form.word else ""
        mark = " {0,4}" + (_CLOSING.get(form.closed) or re.escape(form.closed))
        behind = _BESIDE.pattern if form.closed == "_" else mark
        parts.append(rf"{opened}{word}([0-9]{{1,10}}){re.escape(form.total)}(?={behind})")
    return re.compile("|".join(parts))
