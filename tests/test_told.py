"""What is declared of empty tables is what the fact would work out, and a row in one of its tables makes it do so."""

from collections.abc import Callable
from typing import Any

import msgspec
import polars as pl
import pytest

from forensics.assemble import clocks, restarts
from forensics.assemble.identity import identify
from forensics.facts.roles import Roles
from forensics.facts.stacks import main_stacks
from forensics.facts.states import reconcile
from forensics.facts.telemetry import apart
from forensics.model.told import told_by
from parsers.tables import TABLE_NAMES, empty, table
from tests.test_house import MODULES

NOTHING = {name: empty(name) for name in TABLE_NAMES}
NOBODY: frozenset[int] = frozenset()
DECLARED: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (reconcile, (NOBODY,)),
    (reconcile, (frozenset({0, 1}),)),
    (main_stacks, ()),
    (apart, (identify(NOTHING), Roles(NOTHING, {}, NOBODY))),
    (clocks._operations, ({},)),
    (clocks._inits, ({},)),
    (clocks._steps, ({},)),
    (restarts._recounted, ()),
    (restarts._told, ()),
    (restarts._new_process, ()),
    (restarts._taken_over, ()),
    (restarts._fallen, ()),
]


def _plain(value: object) -> object:
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    return (list(value.schema.items()), value.rows()) if isinstance(value, pl.DataFrame) else value


@pytest.mark.parametrize(("fact", "rest"), DECLARED, ids=lambda one: getattr(one, "__name__", ""))
def test_what_is_declared_of_nothing_is_what_the_fact_works_out(fact: Any, rest: tuple[Any, ...]) -> None:
    assert _plain(fact(NOTHING, *rest)) == _plain(fact.__wrapped__(NOTHING, *rest))


def test_every_declared_fact_is_tried_here() -> None:
    declared = sum(path.read_text().count("@told_by(") for path in MODULES)
    assert declared == len({fact for fact, _ in DECLARED})


def test_one_row_in_one_of_its_tables_is_enough() -> None:
    @told_by("steps", "events", nothing=lambda: -1)
    def count(tables: Any, more: int = 0) -> int:
        height: int = tables["steps"].height + tables["events"].height
        return height + more

    row = {"file": "a.log", "line": 1}
    assert count(NOTHING, more=5) == -1
    assert count({**NOTHING, "events": table("events", [row])}, more=5) == 6
    assert count({**NOTHING, "devices": table("devices", [row])}) == -1
