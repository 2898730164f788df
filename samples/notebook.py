"""Runs docs/notebook.ipynb from the first cell to the last and keeps what the cells show, as Jupyter would: `make notebook`.

Only what is shown is written: a cell's last expression as text, HTML or SVG, and what was printed.
"""

import ast
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import polars as pl

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebook.ipynb"
_FORMS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}
_COLUMNS = 100  # of a table as text


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells; raises what a cell raises."""
    there: dict[str, Any] = {}
    number, cells = 0, []
    with pl.Config(tbl_width_chars=_COLUMNS):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                number += 1
                outputs = _outputs("".join(cell["source"]), there, number)
                cell = {**cell, "execution_count": number, "outputs": outputs}
            cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, there: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), there)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), there)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        data = {form: getattr(value, method)() for form, method in _FORMS.items() if hasattr(value, method)}
        data["text/plain"] = repr(value)
        shown = {form: text.splitlines(keepends=True) for form, text in data.items()}
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": shown})
    return outputs


def read() -> dict[str, Any]:
    """The notebook as it stands."""
    whole: dict[str, Any] = json.loads(NOTEBOOK.read_text())
    return whole


def main() -> None:
    os.environ["COLUMNS"] = str(_COLUMNS)
    NOTEBOOK.write_text(json.dumps(run(read()), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
