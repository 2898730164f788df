"""What is declared of empty tables is what the fact would work out, and a row in one of its tables makes it do so."""

from collections.abc import Callable
from typing import Any

import msgspec
import polars as pl
import pytest

from forensics.assemble.runs import attempts, restarts
from forensics.assemble.who import clocks, dump_ranks
from forensics.assemble.who.identity import identify
from forensics.facts.durations.phase_times import phase_times
from forensics.facts.durations.roles import Roles
from forensics.facts.hosts.telemetry import apart
from forensics.facts.waits.stacks import main_stacks
from forensics.facts.waits.states import reconcile
from forensics.model.told import has_kind, told_by
from parsers.schema.tables import TABLE_NAMES, empty, table
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
    (restarts._introduced_anew, ()),
    (restarts._ended_again, ()),
    (restarts._taken_over, ()),
    (restarts._fallen, ()),
    (dump_ranks._nameless, ()),
    (attempts._restarts_of_dumps, ()),
    (phase_times, (Roles(NOTHING, {}, NOBODY),)),
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


@pytest.mark.parametrize("fact", [restarts._told, restarts._new_process, restarts._taken_over, clocks._inits])
def test_events_of_other_kinds_tell_nothing(fact: Any) -> None:
    rest = ({},) if fact is clocks._inits else ()
    other = table("events", [{"file": "a.log", "line": line, "kind": "nan_loss", "time_ns": line} for line in (1, 2)])
    whole = NOTHING | {"events": other}
    assert _plain(fact(whole, *rest)) == _plain(fact.__wrapped__(whole, *rest))


@pytest.mark.parametrize("height", [0, 2, 3000])
def test_a_kind_is_found_in_few_rows_and_in_many(height: int) -> None:
    events = table("events", [{"file": "a.log", "line": line, "kind": "exit"} for line in range(height)])
    assert has_kind(events, "exception", "exit") is (height > 0)
    assert not has_kind(events, "exception")
