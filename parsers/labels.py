"""What a line says of its speaker at its head: the number that is set off there, and the form around it.

`| rank  3 | INFO`, `I p2 train] `, `[2/4] step`, `[TRT-LLM] [RANK 0] [I]`, `TP6] `, `rank2[2203][MainThread]: `. Whether the
numbers of a form are ranks, speakers.py learns; here forms are only told apart. What stands in a sentence is no label (`Rank 3 is
late`, `[Rank 1 Error Snippet]`): it is closed by a mark, with at most one word before it and one beside it. A label with no words behind
it is a row about that rank (`rank  0: 123.4`), and nobody speaks.
"""

import re
from collections.abc import Iterator

import msgspec

from parsers.patterns import regex

HEAD = 160  # characters of a line that may hold its label
# Words before "rank" after which the number is a place in a group or on a node, by what stands between them.
OF_GROUP = regex(
    r"(?:local|node|group|role|machine|relative|dp|tp|pp|ep|cp|sp|mp|edp|etp|vpp|tensor|pipeline|data|expert|context|model"
    r"|parallel|shard|replica|leader|peer|remote|root|src|dst|source|target|worker|loader|child|helper)[ _-]?\Z",
    re.I,
)
_LABEL = regex(
    r"(?<![\w.-])(?:([A-Za-z]+(?:_[A-Za-z]+)*)(?: {0,2}[=:#_-] {0,2}| {1,4})?)?(\d{1,10})(/\d{1,7})?(?![\w.%]|[-:]\d)"
)
_CLOSED = regex(r" {0,4}([\])|>,}\[]|:(?= |$)|-(?= ))")
_BESIDE = regex(r" [\w.-]{1,60}[\])|>](?: |$)")  # one word more in the bracket
_BRACKETS = regex(r"\[[^\]]{0,200}\]|\([^)]{0,200}\)")
_WORD = regex(r"[A-Za-z][\w./:-]+")
_MARK = regex(
    r" {0,8}(?:[\])|>,}:-](?= |$|[\[(|])|[\w.-]{0,60}\]|\[[^\] ]{1,60}\]:?|[A-Z]{1,8}(?= {0,8}\|)|(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b:?) {0,8}"
)
_MARKS = 8  # behind a label, at most
_LETTER = regex(r"[A-Za-z]")


class Form(msgspec.Struct, frozen=True):
    """What is around the number: the mark before it (`w`: a word), its word, the total behind a slash, the mark that closes it."""

    opened: str
    word: str
    total: str
    closed: str


class Labels(msgspec.Struct, frozen=True):
    """What was learnt of a file: forms whose number is a rank, forms whose number is a pid, and whether a launcher's tasks are
    ranks."""

    ranks: frozenset[Form] = frozenset()
    pids: frozenset[Form] = frozenset()
    tasks: bool = False


NO_LABELS = Labels()


def labels_of(text: str) -> Iterator[tuple[Form, int, str]]:
    """(form, number, what stands behind) of each label at the head of a line, the leftmost first."""
    for found in _LABEL.finditer(text[:HEAD]):
        before, behind = text[: found.start()], text[found.end() :]
        if ".cpp:" in before:  # what a library prints behind its source line is a rank in one of its groups
            return
        closed = _CLOSED.match(behind)
        if not (closed or (found[1] and _BESIDE.match(behind))) or not _LETTER.search(behind):
            continue
        words = [word for word in _WORD.findall(_BRACKETS.sub("", before)) if not word.isupper()]
        if len(words) > 1:
            return
        mark = before.rstrip(" ")[-1:]
        opened = "w" if mark.isalnum() else mark
        of_group = OF_GROUP.search(before) if found[1] else None
        word = (of_group[0] if of_group else "") + (found[1] or "")
        yield Form(opened, word, found[3] or "", closed[1] if closed else "_"), int(found[2]), behind


def number_of(text: str, forms: frozenset[Form]) -> int | None:
    """The number of the leftmost label of one of these forms."""
    return next((number for form, number, _ in labels_of(text) if form in forms), None)


def without_label(text: str, forms: frozenset[Form]) -> str:
    """What stands behind the leftmost label of these forms, and behind the marks, levels and bracketed words after it."""
    behind = next((rest for form, _, rest in labels_of(text) if form in forms), None)
    if behind is None:
        return text
    for _ in range(_MARKS):
        mark = _MARK.match(behind)
        if mark is None:
            break
        behind = behind[mark.end() :]
    return behind
