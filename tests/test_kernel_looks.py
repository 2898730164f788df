"""A kernel's stack of a forked process is of the child that a profiler's stack beside it shows, and of nobody's child otherwise."""

import polars as pl
import pytest

from forensics.assemble.who.kernel_looks import with_parents
from parsers.schema.tables import table

ROWS = {
    "a profiler tells it": ({"pid": 61990, "parent_pid": 61822, "source": "py-spy"}, 61822),
    "another process": ({"pid": 61991, "parent_pid": 61822, "source": "py-spy"}, None),
    "it forked nobody": ({"pid": 61990, "parent_pid": None, "source": "py-spy"}, None),
    "a table of processes": ({"pid": 61990, "parent_pid": 61700, "source": "ps"}, None),
    "another file": ({"pid": 61990, "parent_pid": 61822, "source": "py-spy", "file": "b.txt"}, None),
}


@pytest.mark.parametrize("case", ROWS)
def test_whose_child_it_is(case: str) -> None:
    told, parent = ROWS[case]
    kernel = {"pid": 61990, "source": "kernel", "file": "a.txt", "line": 9}
    made = with_parents({"stacks": table("stacks", [{"file": "a.txt", "line": 1} | told, kernel])})["stacks"]
    assert made.filter(pl.col("source") == "kernel")["parent_pid"].to_list() == [parent]
