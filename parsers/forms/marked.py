"""Records as elements of XML: their attributes and texts, with those of the elements around them.

    <step n="12"><rank id="3"><tensor name="grad" nan="0"/></rank></step>          step 12, rank 3, name grad, nan 0
    <row><rank>3</rank><step>5</step><loss>2.1</loss></row>                      rank 3, step 5, loss 2.1

A record is an element with attributes and nothing in it, or one that holds nothing but elements of one text each. What an attribute only numbers or names
(`n`, `id`, `name`, …) is called as its element; of a name and a value the one is the other's. An element that begins and ends on several lines has its place at the first; a tag stands on one line.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from parsers.forms.reading import HEADER, Row, Said, text_lines
from parsers.schema.parser import Source
from parsers.text.patterns import regex

_LINE, _DEPTH, _CELLS = 65536, 32, 2
_BEGINS = regex(r"<(?:\?xml|(?!html\b|!|svg\b)[A-Za-z_][\w.-]{0,60}(?:\s[^<>]{0,2000})?/?>)")
_TOKEN = regex(
    r"<(?P<end>/?)(?P<tag>[A-Za-z_][\w.:-]{0,80})(?P<attributes>(?:\s+[\w./:-]{1,80}\s{0,2}=\s{0,2}(?:\"[^\"<]{0,4096}\"|'[^'<]{0,4096}'))*)\s*(?P<empty>/?)>|(?P<text>[^<]+)"
)
_ATTRIBUTE = regex(r"(?P<name>[\w./:-]{1,80})\s{0,2}=\s{0,2}(?:\"(?P<value>[^\"]*)\"|'(?P<other>[^']*)')")
_CALLED = ("name", "n", "no", "nr", "id", "index", "number", "num", "value")


class _Element(Struct):
    tag: str
    line: int
    text: str
    said: Said = field(default_factory=dict)
    inside: str = ""
    is_cell: bool = False
    has_records: bool = False


def marked_names(text: str) -> Sequence[str]:
    """The names in the first record at the head of a file; none where it is no XML."""
    if _BEGINS.match(text) is None:
        return []
    return next((list(said) for _, _, said in _rows(enumerate(text.split("\n"), 1)) if said), [])


def marked_rows(source: Source) -> Iterator[Row]:
    """The records of a file of XML."""
    return _rows(text_lines(source))


def _rows(lines: Iterable[tuple[int, str]]) -> Iterator[Row]:
    around: list[_Element] = []
    for number, text in lines:
        yielded = False
        for found in _TOKEN.finditer(text[:_LINE]):
            if found["text"] is not None:
                if around:
                    around[-1].inside += found["text"].strip()
                continue
            if not found["end"]:
                around = [*around, _opened(found["tag"], found["attributes"], number, text)][-_DEPTH:]
            if (found["end"] or found["empty"]) and around and around[-1].tag == found["tag"]:
                done = around.pop()
                if (said := _closed(done, around)) is not None:
                    yielded = yielded or done.line == number
                    yield done.line, done.text, said
        if text.strip() and not yielded:
            yield number, text, HEADER


def _opened(tag: str, attributes: str, line: int, text: str) -> _Element:
    told = {one["name"]: one["value"] or one["other"] or "" for one in _ATTRIBUTE.finditer(attributes)}
    if told.keys() == {"name", "value"}:
        return _Element(tag, line, text, {told["name"]: told["value"]}, is_cell=True)
    return _Element(tag, line, text, {tag if name.lower() in _CALLED else name: value for name, value in told.items()})


def _closed(one: _Element, around: Sequence[_Element]) -> Said | None:
    """The record of an element that ends; none where it is a cell of the one around it, or holds records."""
    is_text = bool(one.inside) and len(one.said) < _CELLS
    if around and (one.is_cell or is_text):
        name = next(iter(one.said.values()), one.tag)
        around[-1].said |= one.said if one.is_cell else {name: one.inside}
        return None
    is_record = bool(one.said) and not one.has_records
    for outer in around[-1:]:
        outer.has_records |= is_record or one.has_records
    return {name: cell for outer in around for name, cell in outer.said.items()} | one.said if is_record else None
