"""What people put together into one text, taken apart again: each file that a title names is a member of its own.

    ===== logs/rank3.log =====        ### `rank3.log`          # file: rank3.log        <details><summary>rank3.log</summary>
    … its lines                       ```                      … its lines              … its lines
    --- gn07:/var/log/messages ---    … its lines
    … its lines                       ```

A title stands alone on its line, between marks, behind those of a heading of Markdown, or behind a word that says what it is; two of different
names, set alike, make a text such a one. Whatever else is set as they are ends a part, and stays, with what stands before and between
the parts, a member by the name of the whole, at its lines. A fence around a part is no line of it. Sections of /proc are read by those who
know them.

Written by: `for f in *; do echo "=== $f"; cat $f; done` and its kin; GitHub, GitLab, Notion, Slack as they export what was written.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from parsers.archive.gathered import Part
from parsers.text.patterns import regex

MOST_BYTES = 64 << 20
_FEWEST, _MOST = 2, 4096  # parts
_TITLE = rb"[^\r\n]{1,200}?"
_WORDS = rb"[^\s]{1,160}?(?:[ \t][^\s]{1,160}?){0,4}?"
_MARKS = rb"={2,120}|-{2,120}|\*{2,120}|~{2,120}|#{2,120}|_{2,120}|\+{2,120}|[<>]{2,120}"
_LINES = regex(
    rb"(?m)^(?P<rule>(?P<own>[=#*~-])(?P=own){2,120})\r?\n(?:[#*|][ \t]*)?(?P<boxed>"
    + _TITLE
    + rb")[ \t]*[#*|]?\r?\n(?P=rule)\r?\n"
    rb"|^(?P<open>"
    + _MARKS
    + rb")[ \t]{0,80}(?P<closed>"
    + _WORDS
    + rb")[ \t]{0,80}(?P<close>"
    + _MARKS
    + rb")[ \t]{0,80}\r?\n"
    rb"|^(?P<hashes>#{1,6})[ \t]+(?P<headed>" + _TITLE + rb")[ \t]*\r?\n"
    rb"|^(?P<equal>={2,120})[ \t]+(?P<begun>" + _TITLE + rb")[ \t]*\r?\n"
    rb"|^(?P<word>(?i:file(?:name)?|log)):[ \t]*(?P<called>[^\s]{1,200})[ \t]*\r?\n"
    rb"|^(?:<details>\s{0,4})?<summary>(?P<folded>" + _TITLE + rb")</summary>[^\r\n]*\r?\n"
    rb"|^(?P<fenced>[^\s`][^\r\n`]{0,200}?):?[ \t]*\r?\n(?=\s{0,4}```)"
)
_SORTS = ("boxed", "closed", "headed", "begun", "called", "folded", "fenced")
_FILE = regex(
    rb"(?:(?i:file(?:name)?|log|cat|begin|start|contents? of)[: \t]+)?[`'\"*]{0,2}"
    rb"(?:(?P<host>(?=[\w.-]{0,80}\d)[A-Za-z][\w.-]{0,80})(?::[ \t]?|[ \t]+(?=/)))?"
    rb"(?P<path>(?!/?proc/|/?sys/)(?:~|\.{1,2})?/?(?:[\w.@%+,=-]{1,80}/){0,12}[\w@%+,=-][\w.@%+,=-]{0,120})[`'\"*]{0,2}:?"
)
_EXTENSION = regex(rb"\.(?=[A-Za-z])[A-Za-z0-9]{1,8}(?:\.\d{1,4})?(?:\.(?:gz|zst|bz2|xz))?\Z")
_END = regex(rb"(?i)\W*(?:end|eof)\b.*")
_FENCE = regex(rb"\s*```[^\r\n`]*\r?\n")
_CLOSED = regex(rb"(?m)^```[ \t]*\r?$")


class _Head(NamedTuple):
    """`style`: how it is set; `name`, `host`: of what it names, where that is a file."""

    style: tuple[str, bytes, bytes]
    name: str | None
    host: str | None
    begin: int
    end: int


def may_be(head: bytes) -> bool:
    """Is it worth reading the whole file? By its first bytes."""
    return any(one.name is not None for one in _heads(head))


def parts_of(data: bytes) -> list[Part]:
    """A whole file → its parts in order; none where it is of one piece."""
    styles: defaultdict[tuple[str, bytes, bytes], list[_Head]] = defaultdict(list)
    for one in _heads(data):
        styles[one.style].append(one)
    told = {style: {one.name for one in own} - {None} for style, own in styles.items()}
    style = max(told, key=lambda one: len(told[one]), default=None)  # of equals the first
    if style is None or len(told[style]) < _FEWEST:
        return []
    own = styles[style]
    parts = []
    for at, one in enumerate(own):
        end = own[at + 1].begin if at + 1 < len(own) else len(data)
        if one.name is not None and (part := _unfenced(data, one, end)) is not None:
            parts.append(part)
    return parts if len({part.name for part in parts}) >= _FEWEST and len(parts) <= _MOST else []


def _heads(data: bytes) -> Iterator[_Head]:
    for found in _LINES.finditer(data):
        sort = next(sort for sort in _SORTS if found[sort] is not None)
        begins, ends = found["open"] or found["rule"] or b"", found["close"] or b""
        style = (sort, begins[:1] or found["hashes"] or b"", ends[:1])
        if sort == "closed" and begins[:1] != ends[:1] and begins[:1] not in b"<>":
            continue
        text, is_bare = found[sort].strip(), sort in ("headed", "begun", "fenced")
        name, host = (None, None) if _END.fullmatch(text) else _named(text, is_bare=is_bare)
        # Else it is the last line inside a fence, or a remark in a script.
        if name is not None or (sort != "fenced" and found["hashes"] != b"#"):
            yield _Head(style, name, host, found.start(), found.end())


def _named(text: bytes, *, is_bare: bool) -> tuple[str | None, str | None]:
    """The file that a title names, and its host."""
    found = _FILE.fullmatch(text)
    # Without an ending a name with a slash may be a share, or a section of a log.
    is_path = found is not None and (found["host"] or found["path"][:1] in (b"/", b"~", b"."))
    if found is None or not (_EXTENSION.search(found["path"]) or (is_path and not is_bare)):
        return None, None
    host = found["host"].decode() if found["host"] else None
    path = found["path"].decode("utf-8", "replace").lstrip("~./")
    return f"{host}/{path}" if host else path, host


def _unfenced(data: bytes, head: _Head, end: int) -> Part | None:
    """What stands below a title, without the fence around it; None where that is nothing."""
    begin = head.end
    if (fence := _FENCE.match(data, begin, end)) is not None:
        begin = fence.end()
        closed = _CLOSED.search(data, begin, end)
        end = closed.start() if closed is not None else end
    return Part(head.name or "", head.host, begin, end, head.begin) if data[begin:end].strip() else None
