"""Drivers' records: which of them may accuse a device."""

from typing import Any

import pytest

from forensics.detectors.device_fault import DETECTOR
from tests.log_cases import case

RANKS = [
    {"rank": rank, "how": "init", "host": f"n{rank // 2}", "local_rank": rank % 2, "pci": f"0000:{rank % 2 + 1}b:00.0"}
    for rank in range(8)
]
WAITS = [{"kind": "collective_timeout", "rank": rank, "seq": 7} for rank in (0, 1, 2, 4, 5, 6, 7)]


def xid(
    host: str | None = "n1", pci: str | None = "0000:2b:00", code: str = "xid:79", **columns: Any
) -> dict[str, Any]:
    return {"kind": "gpu_error", "code": code, "host": host, "pci": pci, **columns}


def test_the_device_of_a_rank_that_never_waited() -> None:
    (found,) = DETECTOR.detect(case([xid(), *WAITS], ranks=RANKS))
    assert (found.kind, found.cause, found.ranks, found.hosts) == ("hang", "gpu_fault", (3,), ("n1",))
    assert found.strong
    assert [device.pci for device in found.devices] == ["0000:2b:00"]


def test_the_process_that_the_driver_names() -> None:
    ranks = [row | {"pid": 4000 + row["rank"], "pci": None} for row in RANKS]
    (found,) = DETECTOR.detect(case([xid(pid=4003), *WAITS], ranks=ranks))
    assert found.ranks == (3,)
    assert DETECTOR.detect(case([xid(pid=4003, host="n99"), *WAITS], ranks=ranks)) == ()


def test_a_rank_that_waited_is_not_named() -> None:
    (found,) = DETECTOR.detect(case([xid(pci="0000:1b:00", code="xid:94"), *WAITS], ranks=RANKS))
    assert (found.ranks, found.hosts, found.strong) == ((), ("n1",), False)


def test_a_dead_device_stops_its_rank_though_that_times_out_like_the_others() -> None:
    (found,) = DETECTOR.detect(case([xid(pci="0000:1b:00"), *WAITS], ranks=RANKS))
    assert (found.ranks, found.strong) == ((2,), True)
    (found,) = DETECTOR.detect(case([xid(pci="0000:1b:00"), xid(host="n2", pci="0000:1b:00"), *WAITS], ranks=RANKS))
    assert found.ranks == ()


@pytest.mark.parametrize(
    "row",
    [
        xid(host="n99"),
        xid(host=None),
        xid(severity="info"),
        xid(code="xid:31"),
        {"kind": "memory_error", "code": "correctable", "host": "n1"},
    ],
    ids=["foreign host", "unknown host", "informational", "the program's own", "correctable"],
)
def test_what_accuses_nobody(row: dict[str, Any]) -> None:
    assert DETECTOR.detect(case([row, *WAITS], ranks=RANKS)) == ()


def test_a_record_that_most_hosts_have() -> None:
    assert DETECTOR.detect(case([xid(host=f"n{number}") for number in range(4)] + WAITS, ranks=RANKS)) == ()


@pytest.mark.parametrize(("time", "counts"), [(1000, True), (1000 - 2 * 3600, False), (2700, False)])
def test_it_must_precede_the_end(time: int, counts: bool) -> None:
    """The wait began at 1,000 s and was given up at 1,600 s."""
    at = {"time_ns": 1_600_000_000_000, "time_basis": "utc", "value": 600_000.0}
    rows = [xid(time_ns=time * 1_000_000_000, time_basis="utc"), *(row | at for row in WAITS)]
    assert bool(DETECTOR.detect(case(rows, ranks=RANKS))) == counts


def test_a_job_that_goes_on_is_not_accused() -> None:
    assert DETECTOR.detect(case([xid()], ranks=RANKS)) == ()


def test_kernel_logs_alone() -> None:
    files = [{"file": "a.log", "bytes": 100}]
    (found,) = DETECTOR.detect(case([{"kind": "gpu_lost", "severity": "fatal", "pci": "0000:2b:00"}], files=files))
    assert (found.kind, found.cause, found.ranks) == ("crash", "gpu_fault", ())
    other = [*files, {"file": "rank0.log", "bytes": 100}]
    assert DETECTOR.detect(case([{"kind": "gpu_lost", "severity": "fatal"}], files=other)) == ()
