"""Small documents as leaves: a path of names and positions, a value, its line.

    services:                        YAML, as far as configurations use it: mappings, lists, quotes, brackets, blocks of text
      trainer-a: {RANK: 2}
    Name:     llm-0                  what kubectl describes, or any report in which indentation tells what belongs to what
      RANK:   0
    [program:ddp_02]                 INI, TOML, units of systemd
    environment = RANK="2"
    export RANK=3                    variables, a line each
    {"RANK": "3"}                    JSON, also with what Python prints instead

Nothing is executed and no tag followed. What an anchor names (`x-train: &train`) is read again where it stands for something (`<<: *train`). A name that comes again at the outermost level
begins another document (`---` does, too, and a command that somebody typed, `$ kubectl describe pod llm-0`, with its answer below it, where that is more than names and values). What has another form is no outline.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from parsers.text import lenient
from parsers.text.patterns import regex

Path = tuple[str | int, ...]

_LINES = 20_000
_LEAVES = 100_000
_DEPTH = 32
_LENIENT = 32_768
_VALUE = 4000
_KEY = regex(
    r"(?P<key><<|\"[^\"]{1,200}\"|'[^']{1,200}'|[\w$@%/*+.-](?:[\w$@%/*+. ()-]{0,120}[\w)*])?)\s{0,20}(?::(?=\s|$)|=)\s*(?P<value>.*)"
)
_EXPORT = regex(r"(?:export|declare -x|set|setenv) +(?=\w+=)")
_SECTION = regex(r"\[(?P<again>\[)?\s*(?P<name>[^\[\]]{1,200}?)\s*\]{1,2}\s*(?:\s[#;].*)?")
_BLOCK = regex(r"[|>][+-]?\d?")
_INLINE = regex(r"(?<=[{,\s])([\w.-]{1,80})\s{0,8}=\s{0,8}")  # of a table of TOML on a line
_COMMENT = regex(r"\s#.*$")
_ANCHOR = regex(r"&(?P<name>[\w-]{1,80})")
_ALIAS = regex(r"\*([\w-]{1,80})")
_ALIASES = regex(r"\[?(?:\*[\w-]{1,80},?\s{0,4}){1,16}\]?")
_TYPED = regex(r"(?:\W?[\w.-]{1,40}@[\w.-]{1,80}[^$#%>]{0,80})?[$%>] [a-z./].*")
_FLAT = 2  # number of the document, name
_MERGE = "<<"
_MOST = 256  # aliases that are followed
_MARKS = ("#", ";", "//", "%")


class Leaf(NamedTuple):
    """`path`: the number of its document first, then names of mappings and positions in lists."""

    path: Path
    value: str
    line: int


def leaves(text: str) -> list[Leaf]:
    """A document → its leaves in order; none where it is no document."""
    start = text.lstrip("\ufeff \t\r\n")
    if start[:1] in ("{", "[") and (found := _decoded(start)) is not None:
        told = list(_of_value((0,), found, 1))
        if told or not _SECTION.match(start):
            return told[:_LEAVES]
    return _Outline().read(text)


def _decoded(text: str) -> Any:
    """JSON; of short texts also what is like it, which takes long to read."""
    if len(text) < _LENIENT:
        return lenient.value(text)
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _of_value(path: Path, found: Any, line: int) -> Iterator[Leaf]:
    if len(path) > _DEPTH:
        return
    if isinstance(found, dict):
        for name, inner in found.items():
            yield from _of_value((*path, str(name)), inner, line)
    elif isinstance(found, list | tuple):
        for at, inner in enumerate(found):
            yield from _of_value((*path, at), inner, line)
    elif found is not None:
        yield Leaf(path, str(found)[:_VALUE], line)


class _Level(NamedTuple):
    indent: int
    path: Path
    is_item: bool


class _Outline:
    def __init__(self) -> None:
        self._leaves: list[Leaf] = []
        self._levels: list[_Level] = []
        self._counts: dict[Path, int] = {}
        self._document = 0
        self._section: Path = ()
        self._names: set[str] = set()  # of the outermost level of this document
        self._text: _Level | None = None  # a block of text, or a value that goes on
        self._may_be_list = False  # a value that has not begun
        self._is_answer = False  # to a command: then a log may stand there as well

    def read(self, text: str) -> list[Leaf]:
        for number, raw in enumerate(text.split("\n", _LINES)[:_LINES], 1):
            if not self._line(number, raw.rstrip("\r").expandtabs(4).rstrip()) or len(self._leaves) > _LEAVES:
                return []
        if self._is_answer and not any(len(leaf.path) > _FLAT for leaf in self._leaves):
            return []
        return _followed(self._leaves)

    def _line(self, number: int, raw: str) -> bool:
        """Take a line; false where it is none of an outline."""
        text = raw.lstrip(" ")
        indent = len(raw) - len(text)
        if not text or text.startswith(_MARKS):
            return True
        is_list = self._may_be_list and text.startswith("- ")
        if self._text is not None and indent > self._text.indent and not is_list and not _KEY.match(text):
            self._leaf(number, self._text.path, text)
            return True
        if text in ("---", "..."):
            self._begin()
            return True
        if _TYPED.fullmatch(text):
            self._begin()
            self._is_answer = True
            return True
        if not indent and (section := _SECTION.fullmatch(text)):
            self._levels, self._section, self._text = [], (section["name"],), None
            if section["again"]:  # TOML's arrays of tables
                at = self._counts.get(self._section, 0)
                self._counts[self._section] = at + 1
                self._section = (section["name"], at)
            return True
        return self._entry(number, indent, text)

    def _entry(self, number: int, indent: int, text: str) -> bool:
        while text == "-" or text.startswith("- "):
            while self._levels and (self._levels[-1].indent, self._levels[-1].is_item) >= (indent, True):
                self._levels.pop()
            parent = self._parent()
            at = self._counts.get(parent, 0)
            self._counts[parent] = at + 1
            self._levels.append(_Level(indent, (*parent, at), is_item=True))
            rest = text[1:].lstrip(" ")
            indent += len(text) - len(rest)
            text = rest
        if not text:
            return True
        text = text[found.end() :] if (found := _EXPORT.match(text)) else text
        if (entry := _KEY.fullmatch(text)) is None:
            is_item = bool(self._levels) and self._levels[-1].is_item and self._levels[-1].indent < indent
            if is_item:
                self._value(number, self._levels[-1].indent, self._levels[-1].path, text)
            return is_item
        while self._levels and self._levels[-1].indent >= indent:
            self._levels.pop()
        name = entry["key"].strip("\"'")
        if not self._levels and not self._section:
            if name in self._names:
                self._begin()
            self._names.add(name)
        path = (*self._parent(), name)
        if len(path) > _DEPTH:
            return False
        self._levels.append(_Level(indent, path, is_item=False))
        self._value(number, indent, path, entry["value"])
        return True

    def _parent(self) -> Path:
        return self._levels[-1].path if self._levels else (self._document, *self._section)

    def _begin(self) -> None:
        self._document += 1
        self._levels, self._section, self._names, self._text = [], (), set(), None

    def _value(self, number: int, indent: int, path: Path, text: str) -> None:
        self._text = _Level(indent, path, is_item=False)
        self._may_be_list = not text
        if not text or _BLOCK.fullmatch(text):
            return
        if text[0] == "{" and ":" not in text:
            text = _INLINE.sub(r"\g<1>: ", text)
        if text[0] in "[{" and isinstance(found := lenient.value(text[:_VALUE]), dict | list):
            self._leaves += _of_value(path, found, number)
            return
        if text[0] not in "\"'":
            text = _COMMENT.sub("", text)
        elif len(text) > 1 and text[-1] == text[0] and text.count(text[0]) == 2:
            text = text[1:-1]
        self._leaf(number, path, text)

    def _leaf(self, number: int, path: Path, text: str) -> None:
        self._leaves.append(Leaf(path, text[:_VALUE], number))


def _followed(own: list[Leaf]) -> list[Leaf]:
    """Leaves, with those of a mapping that an anchor names where an alias stands for it; what is told there itself goes before."""
    anchors = {found["name"]: leaf.path for leaf in own if (found := _ANCHOR.fullmatch(leaf.value))}
    aliases = [leaf for leaf in own if _ALIASES.fullmatch(leaf.value)][:_MOST] if anchors else []
    for alias, name in [(one, name) for one in aliases for name in _ALIAS.findall(one.value)]:
        at = alias.path.index(_MERGE) if _MERGE in alias.path else len(alias.path)
        from_, to = anchors.get(name), alias.path[:at]
        if from_ is None or from_ == to[: len(from_)]:
            continue
        told = {leaf.path[: at + 1] for leaf in own if leaf.path[:at] == to}
        moved = [((*to, *leaf.path[len(from_) :]), leaf) for leaf in own if leaf.path[: len(from_)] == from_]
        added = ((path, leaf) for path, leaf in moved if len(path) > at and path[: at + 1] not in told)
        own = [*own, *(leaf._replace(path=path, line=alias.line) for path, leaf in added)]
        if len(own) > _LEAVES:
            break
    return own
