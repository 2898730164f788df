"""What was put before, or around, every line of a file when somebody copied it, taken away again; its lines keep their numbers.

    > Thread 41 (idle): "MainThread"             12⇥Thread 41 (idle): "MainThread"            ␛[32mThread 41 (idle)␛[0m
    >     all_reduce (dist.py:2501)              13⇥    all_reduce (dist.py:2501)             Thread 41 (idle): &quot;MainThread&quot;

The marks of a quotation, an indentation, the numbers of `cat -n`, `nl`, `less -N` or `grep -n`, colours, entities of HTML, a byte order mark. Whatever
reads single lines can live with most of these; stacks, tables and documents cannot. Only what all lines have alike is taken away: numbers that
go on by one, and are set as these tools set them.
"""

import html
import re

from parsers.text.patterns import regex

MOST_BYTES = 16 << 20
HEAD = 4096
_ROUNDS = 8  # of marks around marks
_FEWEST = 2  # lines
_BOM = b"\xef\xbb\xbf"
_COLOUR = regex(rb"\x1b\[[0-9;?]{0,16}[A-Za-z]|\x1b\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]")
_BEFORE = regex(rb"(?:[ \t]|[>|](?![>|\w])){0,400}")
_NUMBERED = regex(rb"(?P<spaces> {0,8})(?P<number>\d{1,9})(?P<mark>[:\t])")
_WIDTH = 6  # of the numbers of cat, nl and less
_FAR = 10  # lines that begin with a bare number and a colon
_ENTITY = regex(rb"&(?:lt|gt|quot|amp|apos|#\d{2,5}|#x[0-9a-fA-F]{2,4});")
_TAG = regex(rb"</?(?:pre|code|samp|span|div|p|br)\b[^<>\n]{0,200}>")


def may_be(head: bytes) -> bool:
    """Is it worth reading the whole file? By its first bytes."""
    if not head or b"\0" in head:
        return False
    lines = head.split(b"\n")
    return bool(lines_of(b"\n".join(lines[:-1] if len(lines) > 1 else lines)))


def lines_of(data: bytes) -> bytes | None:
    """A whole file → it as it was; None where nothing was put around its lines."""
    plain = data.removeprefix(_BOM)
    if b"\x1b" in plain:
        plain = _COLOUR.sub(b"", plain)
    plain = _without_entities(plain)
    lines = plain.split(b"\n")
    for _ in range(_ROUNDS):
        if (numbered := _numbers(lines)) is not None:
            lines = numbered
        elif (width := _before(lines)) > 0:
            lines = [line[width:] for line in lines]
        else:
            break
    plain = b"\n".join(lines)
    return plain if plain != data else None


def _without_entities(data: bytes) -> bytes:
    """Text of a page: what is between its tags, if these only say how it looks."""
    if not _ENTITY.search(data):
        return data
    bare = _TAG.sub(b"", data)
    if b"<" in bare:
        return data
    return _ENTITY.sub(_plain_entity, bare)


def _plain_entity(found: "re.Match[bytes]") -> bytes:
    """The character; an end of a line stays as it is written, for lines keep their numbers."""
    plain = html.unescape(found[0].decode())
    return found[0] if plain in ("\n", "\r") else plain.encode("utf-8", "surrogateescape")


def _before(lines: list[bytes]) -> int:
    """How many bytes of marks and spaces all lines begin with; one that is empty but for them may be cut."""
    common: bytes | None = None
    count = 0
    for line in lines:
        if not line.strip():
            continue
        count += 1
        if common is None:
            found = _BEFORE.match(line)
            common = found[0] if found else b""
            if b"|" in common and 2 * sum(one.rstrip().endswith(b"|") for one in lines) > len(lines):
                return 0  # a table
        while not line.startswith(common):
            if not (line.strip() and common.startswith(line.rstrip())):
                common = common[:-1]
            else:  # a mark alone on its line
                break
        if not common:
            return 0
    common = common or b""
    marked = max(common.rfind(b">"), common.rfind(b"|")) + 1
    # A space behind a mark is its own, more are of what follows.
    width = marked + common[marked:].startswith(b" ") if marked else len(common)
    return width if count >= _FEWEST else 0


def _numbers(lines: list[bytes]) -> list[bytes] | None:
    """The lines without their numbers; None where these are not numbers of lines. An empty one may have none."""
    plain: list[bytes] = []
    last: int | None = None
    first = padded = 0
    count = narrow = bare = 0
    for line in lines:
        found = _NUMBERED.match(line)
        if found is None:
            if line.strip():
                return None
            plain.append(b"")
            continue
        number = int(found["number"])
        if last is None:
            first = number
        elif number != last + 1:
            return None
        last = number
        padded += bool(found["spaces"])
        count += 1
        narrow += found["mark"] == b":" or len(found["spaces"] + found["number"]) < _WIDTH
        bare += found["mark"] == b":" and not found["spaces"] and line[found.end() : found.end() + 1] not in (b" ", b"")
        plain.append(line[found.end() :])
    if not first or (not padded and first > 1):  # no tool counts lines from 0; a column of steps is as wide, too
        return None
    is_grep = count >= _FAR and bare >= _FEWEST and first == 1  # a launcher sets a space behind the number of a task
    return plain if count >= _FEWEST and (not narrow or is_grep) else None
