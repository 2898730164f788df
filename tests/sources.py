"""Builds a member of a bundle from bytes, as file parsers get it."""

import io
from typing import Any

from parsers.schema.parser import Source


def source(content: bytes | str, path: str = "a.txt", **columns: Any) -> Source:
    """A Source over `content`; further columns are what the path tells (rank, host, …)."""
    data = content.encode() if isinstance(content, str) else content
    return Source(path=path, size=len(data), open=lambda: io.BytesIO(data), **columns)
