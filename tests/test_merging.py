"""Tables put together in order of place: nothing is lost, nothing is kept twice."""

import os
import subprocess
import sys
from itertools import product

import polars as pl
import pytest

from parsers.schema import merging, order
from parsers.schema.merging import files_of, merge, places, taken
from parsers.schema.order import sort_if_needed
from parsers.schema.tables import Tables, table


def _events(file: str, *lines: int) -> pl.DataFrame:
    return table("events", [{"file": file, "line": line, "kind": "other", "text": f"{file} {line}"} for line in lines])


def test_parts_are_taken_apart_and_come_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_MANY", 1)
    parts: list[Tables] = [
        {"events": _events("b", 1, 3)},
        {"events": pl.concat([_events("a", 9), _events("b", 2)])},
    ]
    events = merge(taken(parts))["events"]
    assert not parts
    assert events.select("file", "line").rows() == [("a", 9), ("b", 1), ("b", 2), ("b", 3)]
    assert events["text"].to_list() == ["a 9", "b 1", "b 2", "b 3"]
    assert events.schema == _events("a", 1).schema


@pytest.mark.parametrize(
    ("lines", "nulls_last", "by_place"),
    [
        ([None, 1, 2], False, [None, 1, 2]),
        ([None, 1, 2], True, [1, 2, None]),
        ([1, None, 2], False, [None, 1, 2]),
        ([2, 1], True, [1, 2]),
    ],
)
def test_what_stands_in_order_is_left_alone(
    lines: list[int | None], nulls_last: bool, by_place: list[int | None]
) -> None:
    frame = pl.DataFrame({"line": lines}, schema={"line": pl.Int64})
    found = sort_if_needed(frame, ["line"], nulls_last)
    assert found["line"].to_list() == by_place
    assert (found is frame) == (lines == by_place)


@pytest.mark.parametrize("nulls_last", [False, True])
@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
def test_few_rows_are_looked_at_as_many_are(
    nulls_last: bool, kind: type[pl.DataType], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ["file", "line"]
    for rows in product(product(("b", "ü", None), (2, None)), repeat=3):
        frame = pl.DataFrame(list(rows), {"file": kind, "line": pl.Int64}, orient="row")
        few = order.out_of_order(frame, keys, nulls_last)
        with monkeypatch.context() as patched:
            patched.setattr(order, "_FEW", 0)
            assert few == order.out_of_order(frame, keys, nulls_last), rows


def test_a_place_is_one_number() -> None:
    frame = table("claimed", [{"file": "a", "line": 1}, {"file": "b", "line": 1}, {"file": "a", "line": 1}])
    found = places(frame, files_of(frame))
    assert found[0] == found[2] != found[1]


def test_a_place_is_the_same_number_in_another_table() -> None:
    """Whose files are others, or in another order: categories are numbered anew once nobody holds them."""
    whole = table("claimed", [{"file": name, "line": 1} for name in "abc"])
    files = files_of(whole)
    other = table("claimed", [{"file": "c", "line": 1}, {"file": "x", "line": 1}, {"file": "a", "line": 1}])
    said = places(whole, files).to_list()
    assert places(other, files).to_list() == [said[2], None, said[0]]


def test_the_parent_of_a_command_does_not_tell_how_long_it_keeps_memory() -> None:
    told = "import os, forensics.cli; print(os.environ['_RJEM_MALLOC_CONF'])"
    given = os.environ | {
        "_RJEM_MALLOC_CONF": "dirty_decay_ms:500,muzzy_decay_ms:-1"
    }  # as polars leaves it to children
    made = subprocess.run([sys.executable, "-c", told], env=given, capture_output=True, text=True, check=True).stdout
    assert made.strip().split(",")[2:] == ["dirty_decay_ms:25", "muzzy_decay_ms:0", "narenas:2"]
