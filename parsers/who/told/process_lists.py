"""Lists of processes and nodes as the leaves of a document: hostfiles, short tables, objects a line each.

dgx3 slots=4⏎dgx1 slots=4        dgx3.lab 4 gpu.q@dgx3.lab UNDEFINED        nodes in the order of their ranks
| host | rank | pid |        {"host": "n1", "rank": 2, "pid": 4711}⏎{"host": …        a row each
"""

from functools import partial
from io import BytesIO
from itertools import islice

from parsers.forms import framings
from parsers.schema.parser import Source
from parsers.text import vocabulary
from parsers.text.outlines import Leaf
from parsers.text.patterns import regex

HEAD = 16384
_ROWS = 20_000
_OF_LOG = frozenset(("msg", "message", "level", "levelname", "severity", "text", "log", "line"))
_COLUMN = regex(r"[A-Za-z_#][\w ./#%()-]{0,60}")
_SLOTS = regex(
    r"([A-Za-z0-9][\w.-]{0,252})\s+(?:(?:.{0,80}\s)?slots\s{0,2}=\s{0,2}(?P<slots>\d{1,4})(?:\s.{0,80})?|(?P<count>\d{1,4})\s+[\w.-]{1,60}@\1(?:\s.{0,40})?)"
)


def is_json(text: str) -> bool:
    """Or literals of Python; a section of INI begins like a list."""
    start = text[:64].lstrip("\ufeff \t\r\n")
    return start[:1] == "{" or (start[:1] == "[" and start[1:].lstrip()[:1] in ("{", "["))


def table(path: str, data: bytes) -> list[Leaf]:
    """The rows of a short table whose columns tell ranks, or of objects a line each; none where it is none. Steps and lines of a log are no
    table of processes."""
    form = framings.framing(path, data[:HEAD])
    is_each = form == "objects" and data.count(b"\n{") > 0
    if not is_each and (form not in framings.TABLES or is_json(data[:64].decode("utf-8", "replace"))):
        return []
    names = framings.names(path, data[:HEAD])
    is_log = form == "objects" and not _OF_LOG.isdisjoint(map(str.lower, names))
    if is_log or "step" in vocabulary.meanings(names) or not all(map(_COLUMN.fullmatch, names)):
        return []
    rows = islice(framings.rows(Source(path, len(data), partial(BytesIO, data))), _ROWS)
    return [
        Leaf((0, at, name), str(cell), number)
        for at, (number, _, said) in enumerate(rows)
        for name, cell in (said or {}).items()
        if cell not in (None, "")
    ]


def hostfile(text: str) -> list[Leaf]:
    """Nodes in the order of a hostfile; none where it is none."""
    lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(text.split("\n", 4097), 1)]
    filled = [(number, line) for number, line in lines if line]
    found = [(number, _SLOTS.fullmatch(line)) for number, line in filled]
    if not found or not all(match for _, match in found):
        return []
    return [
        Leaf((0, at, name), value, number)
        for at, (number, match) in enumerate(found)
        if match is not None
        for name, value in (("host", match[1]), ("slots", match["slots"] or match["count"]), ("node_rank", str(at)))
    ]
