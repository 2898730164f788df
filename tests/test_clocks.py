"""Clocks: offsets from moments that all share, and no order within the error."""

import random
from typing import Any

import polars as pl
import pytest

from forensics.assemble.who.clocks import Clock, Clocks, clocks_of
from forensics.assemble.who.identity import identify
from parsers.schema.tables import TABLE_NAMES, TableName, table

_SECOND = 1_000_000_000
_START = 1_763_000_000 * _SECOND
_HOUR = 3600 * _SECOND


def _tables(**rows: list[dict[str, Any]]) -> dict[TableName, pl.DataFrame]:
    return {
        name: table(name, [{"file": "a.log", "line": 1} | row for row in rows.get(name, [])]) for name in TABLE_NAMES
    }


def _clocks(**rows: list[dict[str, Any]]) -> Clocks:
    tables = _tables(**rows)
    return clocks_of(tables, identify(tables))


def _steps(
    skews: dict[str, int], count: int = 9, jitter: int = 2_000_000, basis: dict[str, str] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Each host, rank n on host n, prints that a step is done, by its own clock."""
    chance = random.Random(5)
    return {
        "ranks": [{"rank": rank, "host": host} for rank, host in enumerate(skews)],
        "steps": [
            {"rank": rank, "step": step, "phase": "train", "framework": "megatron", "line": step, "file": f"{host}.log",
             "time_ns": _START + step * 7 * _SECOND + skew + chance.randint(0, jitter),
             "time_basis": (basis or {}).get(host, "utc")}
            for rank, (host, skew) in enumerate(skews.items())
            for step in range(count)
        ],
    }  # fmt: skip


def test_offsets_and_bounds_from_steps_that_all_ranks_finish() -> None:
    skews = {"a": 0, "b": 3 * _SECOND, "c": -4 * _SECOND}
    clocks = _clocks(**_steps(skews))
    zero = clocks.known["a", "utc"].offset_ns or 0
    for host, skew in skews.items():
        clock = clocks.known[host, "utc"]
        assert clock.anchors == 9
        assert abs((clock.offset_ns or 0) - zero - skew) <= 5_000_000
        assert 0 < (clock.bound_ns or 0) < 20_000_000
    assert clocks.skew_bound_s is not None and clocks.skew_bound_s < 0.02


@pytest.mark.parametrize(
    ("gap_ms", "expected"), [(2000, True), (-2000, False), (5, None), (-5, None), (0, None)], ids=str
)
def test_order_only_beyond_the_error(gap_ms: int, expected: bool | None) -> None:
    clocks = Clocks(
        {("a", "utc"): Clock("a", "utc", 0, 20_000_000), ("b", "utc"): Clock("b", "utc", 3 * _SECOND, 30_000_000)}
    )
    assert clocks.precedes(_START, "a", _START + 3 * _SECOND + gap_ms * 1_000_000, "b") is expected
    reverse = None if expected is None else not expected
    assert clocks.precedes(_START + 3 * _SECOND + gap_ms * 1_000_000, "b.example.com", _START, "a") is reverse


@pytest.mark.parametrize(
    ("host", "expected"), [("a", True), ("b", None), (None, None)], ids=["same", "other", "unknown"]
)
def test_one_clock_orders_its_own_events_and_no_others(host: str | None, expected: bool | None) -> None:
    clocks = _clocks(events=[{"kind": "exit", "host": "a", "time_ns": 1}, {"kind": "exit", "host": "b", "time_ns": 1}])
    assert clocks.precedes(1, host, 2, "a") is expected
    assert clocks.precedes(1, None, 2, None) is None
    assert clocks.skew_bound_s is None


def test_two_anchors_are_too_few_for_a_bound() -> None:
    clocks = _clocks(**_steps({"a": 0, "b": _SECOND}, count=2))
    assert clocks.known["b", "utc"].bound_ns is None
    assert clocks.precedes(0, "a", 99 * _SECOND, "b") is None


def test_stamps_of_whole_seconds_are_no_better_than_a_second() -> None:
    rows = _steps({"a": 0, "b": 0})
    for row in rows["steps"]:
        row["time_ns"] -= row["time_ns"] % _SECOND
    assert (_clocks(**rows).known["b", "utc"].bound_ns or 0) >= _SECOND


def test_hours_between_zones_are_told_from_skew() -> None:
    clocks = _clocks(
        **_steps({"a": 0, "b": 8 * _HOUR + _SECOND, "c": 5 * _HOUR + _HOUR // 2}, basis={"b": "local", "c": "local"})
    )
    assert clocks.known["b", "local"].zone_ns == 8 * _HOUR
    assert clocks.known["c", "local"].zone_ns == 5 * _HOUR + _HOUR // 2
    assert clocks.precedes(_START, "a", _START + 8 * _HOUR + 3 * _SECOND, "b", basis_b="local") is True


def test_a_clock_that_is_reached_through_another() -> None:
    rows = _steps({"a": 0, "b": 2 * _SECOND, "c": 5 * _SECOND})
    rows["steps"] = [
        row for row in rows["steps"] if (row["rank"] != 2 or row["step"] < 4) and (row["rank"] != 0 or row["step"] >= 4)
    ]
    clocks = _clocks(**rows)
    difference = (clocks.known["c", "utc"].offset_ns or 0) - (clocks.known["a", "utc"].offset_ns or 0)
    assert abs(difference - 5 * _SECOND) <= 10_000_000


def test_communicators_and_collectives_are_anchors_too() -> None:
    ranks = [{"rank": rank, "host": host} for rank, host in enumerate("ab")]
    inits = [
        {"kind": "comm_init_complete", "rank": rank, "host": host, "detail": f'{{"comm_id": "0x{comm}"}}',
         "time_ns": _START + comm * _SECOND + rank * 3 * _SECOND + comm}
        for rank, host in enumerate("ab") for comm in range(4)
    ]  # fmt: skip
    ends = [
        {"rank": rank, "group": "0", "seq": seq, "kind": "all_reduce", "is_p2p": False,
         "time_completed_ns": _START + seq * _SECOND + rank * 3 * _SECOND + seq}
        for rank in range(2) for seq in range(4)
    ]  # fmt: skip
    for rows in ({"events": inits}, {"operations": ends}):
        clocks = _clocks(ranks=ranks, **rows)
        assert clocks.known["b", "utc"].anchors == 4
        assert (clocks.known["b", "utc"].offset_ns or 0) - (clocks.known["a", "utc"].offset_ns or 0) == 3 * _SECOND


def test_broadcasts_and_sends_end_apart_and_are_no_anchors() -> None:
    rows = [
        {"rank": rank, "group": "0", "seq": seq, "kind": kind, "is_p2p": kind == "send", "time_completed_ns": _START + seq}
        for rank in range(2) for seq in range(4) for kind in ("broadcast", "send")
    ]  # fmt: skip
    assert _clocks(ranks=[{"rank": 0, "host": "a"}, {"rank": 1, "host": "b"}], operations=rows).known == {}


def test_uptime_of_a_kernel_in_another_zone_is_aligned() -> None:
    """T4c: a ring buffer counts seconds since boot, its host logs in UTC+8 without saying so."""
    rows = _steps({"a": 0, "b": 8 * _HOUR}, basis={"b": "local"})
    booted = _START - 1000 * _SECOND
    rows["settings"] = [{"name": "boot_time_local_ns", "value": str(booted + 8 * _HOUR), "scope": "clock", "host": "b"}]
    clocks = _clocks(**rows)
    time, bound = clocks.aligned(1500 * _SECOND, "b", "boot")  # an Xid, 500 s after the start
    assert bound is not None and abs(time - (_START + 500 * _SECOND)) <= bound + 10_000_000
    assert clocks.precedes(1500 * _SECOND, "b", _START + 510 * _SECOND, "a", basis_a="boot") is True
    assert clocks.precedes(1500 * _SECOND, "b", _START + 500 * _SECOND, "a", basis_a="boot") is None


def test_the_order_of_rows_does_not_matter() -> None:
    rows = _steps({"a": 0, "b": _SECOND, "c": 2 * _SECOND})
    shuffled = {name: random.Random(1).sample(listed, len(listed)) for name, listed in rows.items()}
    assert _clocks(**rows) == _clocks(**shuffled)
