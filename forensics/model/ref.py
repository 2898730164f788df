"""A place in the bundle."""

import msgspec


class Ref(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the bundle: `line` is 1-based for text, or the 0-based record of a structured file."""

    file: str
    line: int | None
    text: str
