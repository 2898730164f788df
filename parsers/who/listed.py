"""Lists of names in documents, by the key that holds them: `{"hosts": ["algo-1", "algo-2", "algo-3"]}`.

A script that looks a node up in such a list (`node_rank = rc["hosts"].index(me)`) counts nodes along it (starts.py). Documents are read only where some script
looks anything up.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from parsers.schema.parser import STREAM_ERRORS, Source
from parsers.text.encodings import is_text
from parsers.text.outlines import leaves
from parsers.text.patterns import regex
from parsers.who.beginnings import Said

_BYTES, _FILES = 1 << 16, 256
_NAME = regex(r"(?=[^/\s]*[A-Za-z.])[A-Za-z0-9][\w.-]{0,252}")
_FEWEST = 2


class Listed(msgspec.Struct, frozen=True):
    """`places`: as the document has them, each once."""

    file: str
    key: str
    places: tuple[str, ...]


def lists_of(sources: Sequence[Source], said: Mapping[str, Sequence[Said]]) -> list[Listed]:
    """All lists of names in small documents."""
    if not any(".index(" in one.raw for own in said.values() for one in own):
        return []
    small = [one for one in sources if one.seen is None and 0 < one.size <= _BYTES][:_FILES]
    return [one for source in small for one in _of(source)]


def _of(source: Source) -> Iterator[Listed]:
    try:
        with source.open() as stream:
            data = stream.read(_BYTES)
    except STREAM_ERRORS:
        return
    if not is_text(data):
        return
    found: dict[tuple[str | int, ...], list[str]] = {}
    for leaf in leaves(data.decode("utf-8", "replace")):
        if len(leaf.path) > 1 and isinstance(leaf.path[-1], int) and isinstance(leaf.path[-2], str):
            found.setdefault(leaf.path[:-1], []).append(leaf.value)
    for path, values in found.items():
        if len(set(values)) == len(values) >= _FEWEST and all(map(_NAME.fullmatch, values)):
            yield Listed(source.path, str(path[-1]), tuple(values))
