"""A small builder of tensor statistics: ranks take steps in program order; values are words (ok, nan, inf, none)."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from forensics.case import Case
from parsers.schema.tables import TABLE_NAMES, table
from parsers.text.rank_list import rank_text

OK: dict[str, Any] = {"nan_count": 0, "inf_count": 0, "absmax": 1.0, "min": -1.0, "max": 1.0}
NAN: dict[str, Any] = {"nan_count": 3, "inf_count": 0}
INF: dict[str, Any] = {"nan_count": 0, "inf_count": 2}
MINUS: dict[str, Any] = {"nan_count": 0, "inf_count": 2, "min": float("-inf"), "max": 1.0}
NONE: dict[str, Any] = {}
WORDS = {"ok": OK, "nan": NAN, "inf": INF, "-inf": MINUS, "none": NONE}
Value = str | dict[str, Any]


class Job:
    """Rows of all ranks, each in its own file unless said otherwise."""

    def __init__(self, **constant: Any) -> None:
        self.rows: list[dict[str, Any]] = []
        self.constant = constant

    def row(self, rank: int, tensor: str, value: Value, **columns: Any) -> None:
        figures = WORDS[value] if isinstance(value, str) else value
        row = {"rank": rank, "tensor": tensor, "step": 0, "phase": "forward", "file": f"rank_{rank}.jsonl"}
        self.rows.append(row | self.constant | figures | columns)

    def op(self, rank: int, module: str, given: Value | None, made: Value | None, **columns: Any) -> None:
        """One operation: its input and its output; None = no row."""
        names = ("grad_output", "grad_input") if columns.get("phase") == "backward" else ("input", "output")
        columns = {"op": "Linear", "module": module} | columns
        for name, value in zip(names, (given, made), strict=True):
            if value is not None:
                self.row(rank, name, value, **columns)

    def reduce(
        self, values: dict[int, tuple[Value | None, Value | None]], members: Sequence[int] | None = None, **columns: Any
    ) -> None:
        """One all_reduce: rank → (what it gave, what it got)."""
        columns = {"op": "all_reduce", "module": "grad", "phase": "grad_sync"} | columns
        if members is not None:
            columns = {"group": "dp", "group_ranks": rank_text(members)} | columns
        for rank, (given, got) in values.items():
            if given is not None:
                self.row(rank, "grad_in", given, **columns)
            if got is not None:
                self.row(rank, "grad_out", got, **columns)

    def message(self, source: int, target: int, given: Value, got: Value, **columns: Any) -> None:
        columns = {"module": "p2p", "phase": "comm", "tag": 0} | columns
        self.row(source, "input", given, op="send", peer=target, **columns)
        self.row(target, "output", got, op="recv", peer=source, **columns)

    def params(self, ranks: Iterable[int], value: Value, **columns: Any) -> None:
        for rank in ranks:
            self.row(rank, "param", value, **({"module": "w", "op": "sgd", "phase": "optimizer"} | columns))

    def case(self, expected: Iterable[int] = (), without: Iterable[int] = ()) -> Case:
        gone = set(without)
        lines: dict[str, int] = {}
        rows = []
        for row in self.rows:
            if row["rank"] not in gone:
                lines[row["file"]] = lines.get(row["file"], 0) + 1
                rows.append(row | {"line": lines[row["file"]], "record": lines[row["file"]] - 1})
        return case_of(table("tensors", rows), expected)


def case_of(tensors: pl.DataFrame, expected: Iterable[int] = (), **tables: pl.DataFrame) -> Case:
    """A case that holds these tables and is empty otherwise."""
    given = {"tensors": tensors, **tables}
    seen = frozenset(tensors["rank"].drop_nulls().to_list())
    whole = {name: given.get(name, table(name, [])) for name in TABLE_NAMES}
    return Case(tables=whole, expected=frozenset(expected), seen=seen)
