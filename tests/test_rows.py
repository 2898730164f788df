"""Rows that a parser makes one by one, by the hundred thousand, must not all be dicts at the same time."""

from polars.testing import assert_frame_equal

from parsers.schema.tables import Rows, table


def test_many_rows_are_the_table_that_they_are_at_once() -> None:
    made = [
        {"kind": "gpu_error", "file": "kern.log", "line": n, "text": None if n % 7 else f"line {n}"}
        for n in range(45_000)
    ]
    rows = Rows("events")
    for one in made:
        rows.append(one)
    assert_frame_equal(rows.table(), table("events", made))


def test_no_rows_are_an_empty_table() -> None:
    assert_frame_equal(Rows("events").table(), table("events", []))
