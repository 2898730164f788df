"""A host that listens where no other can reach it."""

from typing import Any

import pytest

from forensics.detectors.launch import missing_at_start
from forensics.detectors.launch.wrong_interface import DETECTOR
from tests.log_cases import case, judged

WAITED: list[dict[str, Any]] = [
    {"kind": kind, "rank": rank, "line": rank + 1, "file": "waits.log", "code": code}
    for rank in (0, 1, 4, 5)
    for kind, code in (("collective_timeout", "DistStoreError"), ("missing_members", "store_barrier"))
]
REFUSED = {"kind": "connect_failed", "rank": 2, "host": "n1", "names_hosts": ["10.0.0.1"]}
BRIDGE = ("10.0.0.1", "172.17.0.1", "10.0.0.3")


def listening(*addresses: str, ranks: int = 2) -> list[dict[str, Any]]:
    """By host n0, n1, …: where its processes listen."""
    return [
        {
            "rank": at * ranks + own,
            "host": f"n{at}.site",
            "pid": own,
            "address": address,
            "how": "NCCL bootstrap address",
        }
        for at, address in enumerate(addresses)
        for own in range(ranks)
    ]


@pytest.mark.parametrize("address", ["172.17.0.1", "127.0.0.1", "192.168.122.1"])
def test_the_host_that_took_a_bridge(address: str) -> None:
    rows = listening("10.0.0.1", address, "10.0.0.3")
    found = judged(case([*WAITED, REFUSED], 6, ranks=rows), DETECTOR, missing_at_start.DETECTOR)
    assert (found.kind, found.cause, found.hosts, found.ranks) == ("launch", "wrong_interface", ("n1",), ())


def test_without_a_failed_connection_it_is_a_suspect() -> None:
    (found,) = DETECTOR.detect(case(WAITED, 6, ranks=listening(*BRIDGE)))
    assert (found.hosts, found.suspect_hosts) == ((), ("n1",))


@pytest.mark.parametrize(
    ("rows", "more", "tables"),
    [
        pytest.param(listening("172.17.0.2", "172.17.0.3"), [], {}, id="a network of that range is the job's own"),
        pytest.param(listening("172.17.0.1"), [], {}, id="a job of one host"),
        pytest.param(
            [*listening("10.0.0.1", "10.0.0.2"), {"host": "n1", "address": "172.17.0.1", "how": "NCCL bootstrap address"}],
            [], {}, id="another process of that host took the network",
        ),
        pytest.param(
            listening(*BRIDGE), [], {"steps": [{"rank": 0, "step": 3, "phase": "train"}]}, id="the job has worked"
        ),
        pytest.param(listening(*BRIDGE), [{"kind": "comm_init_complete", "rank": 0}], {}, id="a communicator was set up"),
        pytest.param(listening(*BRIDGE), [{"kind": "exit", "rank": 3, "code": "SIGSEGV"}], {}, id="a process died"),
    ],
)  # fmt: skip
def test_nobody_is_accused(rows: list[dict[str, Any]], more: list[dict[str, Any]], tables: dict[str, Any]) -> None:
    assert DETECTOR.detect(case([*WAITED, REFUSED, *more], 6, ranks=rows, **tables)) == ()
