"""A fall of throughput that the measures of one device, or of one host's link, account for."""

from typing import Any

import pytest

from forensics.detectors.slow.throughput_drop import DETECTOR
from tests.log_cases import Judged, case, judged

SECOND = 1_000_000_000
RANKS: list[dict[str, Any]] = [
    {"rank": rank, "how": "init", "host": f"n{rank // 8}", "local_rank": rank % 8, "device_index": rank % 8, "world_size": 16}
    for rank in range(16)
]  # fmt: skip
STEPS: list[dict[str, Any]] = [
    {"rank": 0, "step": step, "tflops": 380.0 if step < 30 else 260.0, "time_ns": step * 30 * SECOND, "time_basis": "local"}
    for step in range(60)
]  # fmt: skip


def clocks(changes: dict[int, tuple[int, float]], host: str = "n") -> list[dict[str, Any]]:
    """Device → (moment since which its clock is lower, clock); a moment each 30 s."""
    rows: list[dict[str, Any]] = []
    for moment in range(60):
        for rank in range(16):
            since, low = changes.get(rank, (60, 0.0))
            rows.append({"host": f"{host}{rank // 8}", "device_index": rank % 8, "metric": "clocks.sm",
                         "value": low if moment >= since else 1980.0, "time_ns": moment * 30 * SECOND})  # fmt: skip
    return rows


def drop(devices: list[dict[str, Any]], ranks: list[dict[str, Any]] = RANKS) -> Judged:
    return judged(case(steps=STEPS, ranks=ranks, devices=devices), DETECTOR)


def test_the_device_that_became_slower_as_the_job_did() -> None:
    found = drop(clocks({12: (29, 1200.0)}))
    assert (found.cause, found.ranks, found.hosts, found.status) == ("straggler_compute", (12,), ("n1",), "established")


@pytest.mark.parametrize(
    ("changes", "host"),
    [
        ({12: (0, 1200.0)}, "n"),
        ({12: (10, 1200.0)}, "n"),
        ({12: (29, 1800.0)}, "n"),
        ({12: (29, 1200.0), 3: (29, 1200.0)}, "n"),
        ({12: (29, 1200.0)}, "spare"),
        ({}, "n"),
    ],
    ids=[
        "from the start",
        "ten minutes before",
        "too little for the loss",
        "two of them",
        "a host outside the job",
        "nobody",
    ],
)
def test_time_and_place_alone_name_nobody(changes: dict[int, tuple[int, float]], host: str) -> None:
    found = drop(clocks(changes, host))
    assert (found.cause, found.ranks, found.hosts) == ("throughput_drop", (), ())


def waits(grown: str) -> list[dict[str, Any]]:
    return [
        {"rank": rank, "step": step, "phase": phase, "level": 0,
         "value_ms": ms + (300.0 if phase == grown and step >= 30 else 0.0)}
        for step in range(60) for rank in range(16) for phase, ms in (("forward", 600.0), ("comm", 200.0), ("all", 800.0))
    ]  # fmt: skip


def ports(*lame: int) -> list[dict[str, Any]]:
    return [
        {"host": f"n{host}", "metric": f"ib/mlx5_{port}/1/rate", "value": 100.0 if host in lame and port == 3 else 400.0}
        for host in range(8) for port in range(4)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("grown", "lame", "hosts"),
    [("comm", (7,), ("n7",)), ("forward", (7,), ()), ("comm", (6, 7), ()), ("comm", (), ())],
    ids=["the ring waits for its slowest link", "work grew", "two lame links", "no lame link"],
)
def test_the_host_with_the_lame_link(grown: str, lame: tuple[int, ...], hosts: tuple[str, ...]) -> None:
    found = judged(case(steps=STEPS, timings=waits(grown), devices=ports(*lame)), DETECTOR)
    assert (found.hosts, found.ranks) == (hosts, ())
    assert found.cause == ("straggler_network" if hosts else "throughput_drop")


def extremes(shortest: float, longest: float) -> list[dict[str, Any]]:
    """(min, max) over all ranks, without saying whose; what the shortest and the longest wait gain at the fall."""
    return [
        {"step": step, "phase": phase, "level": 0, "min_ms": ms - 9.0 + (least if step >= 30 else 0.0),
         "max_ms": ms + 9.0 + (most if step >= 30 else 0.0)}
        for step in range(60)
        for phase, ms, least, most in (("forward", 600.0, 0.0, longest - shortest), ("comm", 200.0, shortest, longest))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shortest", "longest", "hosts"),
    [(300.0, 300.0, ("n7",)), (0.0, 300.0, ()), (40.0, 40.0, ())],
    ids=["all wait longer", "the last to come does not", "far less than was lost"],
)
def test_extremes_tell_who_waits(shortest: float, longest: float, hosts: tuple[str, ...]) -> None:
    steps = [row | {"elapsed_ms": 800.0 if row["step"] < 30 else 1100.0} for row in STEPS]
    found = judged(case(steps=steps, timings=extremes(shortest, longest), devices=ports(7)), DETECTOR)
    assert (found.hosts, found.ranks) == (hosts, ())


@pytest.mark.parametrize(
    ("since", "hosts"), [(30, ("n7",)), (0, ()), (10, ()), (50, ())], ids=["then", "always", "before", "later"]
)
def test_a_link_that_was_looked_at_again_and_again(since: int, hosts: tuple[str, ...]) -> None:
    """Lame at another time than the job: it never was what the job waited for."""
    looks = [
        row | {"value": row["value"] if moment >= since else 400.0, "time_ns": moment * 30 * SECOND}
        for moment in range(0, 60, 2) for row in ports(7)
    ]  # fmt: skip
    found = judged(case(steps=STEPS, timings=waits("comm"), devices=looks), DETECTOR)
    assert found.hosts == hosts


def without_clock(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "time_ns"} for row in rows]


def throttled(changes: dict[int, tuple[int, float]], reason: float, host: str = "n") -> list[dict[str, Any]]:
    """The clocks, and the driver's reasons of who is slow; nothing tells when."""
    rows = clocks(changes, host)
    reasons = [
        row | {"metric": "clocks_event_reasons.active", "value": reason if row["value"] < 1980 else 0.0} for row in rows
    ]
    return without_clock([*rows, *reasons])


@pytest.mark.parametrize(
    ("changes", "reason", "host", "hosts"),
    [
        ({12: (29, 1200.0)}, 8.0, "n", ("n1",)),
        ({12: (29, 1200.0)}, 4.0, "n", ()),
        ({12: (0, 1200.0)}, 8.0, "n", ()),
        ({12: (29, 1800.0)}, 8.0, "n", ()),
        ({12: (29, 1200.0), 3: (29, 1200.0)}, 8.0, "n", ()),
        ({12: (29, 1200.0)}, 8.0, "spare", ()),
    ],
    ids=["hardware slowdown", "its power cap", "from the start", "too little", "two of them", "a host outside the job"],
)
def test_without_a_clock_the_driver_must_say_why(
    changes: dict[int, tuple[int, float]], reason: float, host: str, hosts: tuple[str, ...]
) -> None:
    found = judged(case(steps=without_clock(STEPS), ranks=RANKS, devices=throttled(changes, reason, host)), DETECTOR)
    assert found.hosts == hosts
    assert (found.cause, found.status) == (
        ("straggler_compute", "hypothesis") if hosts else ("throughput_drop", found.status)
    )


def test_a_pod_says_on_which_node_of_the_job_it_runs() -> None:
    nodes = [{"host": f"spare{node}", "how": "node name"} for node in range(2)]
    devices = throttled({12: (29, 1200.0)}, 8.0, "spare")
    found = judged(case(steps=without_clock(STEPS), ranks=[*RANKS, *nodes], devices=devices), DETECTOR)
    assert found.hosts == ("spare1",)
