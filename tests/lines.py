"""Builds candidate lines as the bundle reader hands them to line parsers."""

from typing import Any

import polars as pl

from parsers.schema.parser import LINES


def lines(text: str, file: str = "a.log", start: int = 1, **columns: Any) -> pl.DataFrame:
    """A frame of schema LINES with a row per line of `text`; a column given as list holds a value per line."""
    bodies = text.split("\n") if text else []
    height = len(bodies)
    given: dict[str, Any] = {"hit": True, **columns, "file": file}
    data: dict[str, list[Any]] = {}
    for name in LINES:
        value = given.get(name)
        data[name] = value if isinstance(value, list) else [value] * height
    bodies = [body.removesuffix("\r") for body in bodies]
    return pl.DataFrame(
        data | {"line": list(range(start, start + height)), "raw": bodies, "text": bodies}, schema=dict(LINES)
    )
