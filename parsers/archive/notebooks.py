"""Notebooks as what their cells printed: the text of every output, cell after cell, a traceback as it was shown.

    {"cells": [{"cell_type": "code", "source": […], "outputs": [{"output_type": "stream", "text": ["[rank 2] step 5 loss nan\\n"]}]}], "nbformat": 4}

Code and remarks are no log and are left out; a line's number is that of the line among the outputs. Older ones hold `worksheets` with the
cells, and call an error `pyerr`. Nothing is executed.

Printed by: Jupyter, JupyterLab, Colab, VS Code.
Source: nbformat's documentation (The Notebook file format).
"""

from collections.abc import Iterator, Mapping
from typing import Any

MARKS = (b'"cell_type"', b'"nbformat"')


def lines_of(found: Mapping[str, Any]) -> bytes | None:
    """A decoded notebook → its outputs; None where it is none."""
    if not isinstance(found.get("nbformat"), int):
        return None
    texts = [text for cell in _cells(found) for output in _dicts(cell.get("outputs")) if (text := _text(output))]
    return "\n".join(text.rstrip("\n") for text in texts).encode("utf-8", "replace") + b"\n"


def _cells(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from _dicts(found.get("cells"))
    for sheet in _dicts(found.get("worksheets")):
        yield from _dicts(sheet.get("cells"))


def _dicts(many: Any) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in many if isinstance(one, dict)) if isinstance(many, list) else ()


def _text(output: Mapping[str, Any]) -> str:
    """What was printed, or the traceback, or the value of the cell as text."""
    match output:
        case {"traceback": list(lines)}:
            return "\n".join(map(str, lines))
        case {"text": text} | {"data": {"text/plain": text}}:
            return "".join(map(str, text)) if isinstance(text, list) else str(text)
    return ""
