"""A host that listens where no other can reach it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from forensics.detectors.launch import missing_at_start
from forensics.detectors.launch.wrong_interface import DETECTOR
from tests.log_cases import case, judged
from tests.pasted import verdict_of

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


# --- one rank on each host ---------------------------------------------------------------------------------------------------------

ADDRESSES = {"n7": "10.0.0.7", "n3": "10.0.0.3", "n9": "172.17.0.1", "n1": "10.0.0.1"}  # hosts by rank
MAPS = {
    "a map of Open MPI": "".join(
        f" Data for node: {host}\tNum slots: 1\tMax slots: 0\tNum procs: 1\n"
        f" \tProcess OMPI jobid: [9,1] App: 0 Process rank: {rank} Bound: N/A\n"
        for rank, host in enumerate(ADDRESSES)
    ),
    "what each says of itself": "".join(f"[{host}] rank {rank} of 4 is up\n" for rank, host in enumerate(ADDRESSES)),
}


def started(where: str, addresses: Mapping[str, str], refused: str = "172.17.0.1") -> str:
    said = [
        f"{host}:71{at}:71{at} [0] NCCL INFO Bootstrap : Using eth0:{own}<0>"
        for at, (host, own) in enumerate(addresses.items())
    ]
    failed = f"n3:711:799 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to {refused}<4001> failed : Software caused connection abort"
    return f"mpirun -np 4 python t.py\n{where}" + "\n".join((*said, failed, ""))


@pytest.mark.parametrize("where", MAPS.values(), ids=MAPS)
def test_who_alone_runs_on_that_host_is_named(where: str, tmp_path: Path) -> None:
    found = verdict_of(tmp_path, started(where, ADDRESSES))
    assert (found.cause, found.hosts, found.ranks) == ("wrong_interface", ["n9"], [2])


@pytest.mark.parametrize("where", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize("change", ["a process more", "a rank is placed nowhere"])
def test_who_may_not_be_alone_there_is_not(where: str, change: str, tmp_path: Path) -> None:
    text = started(where, ADDRESSES)
    if change == "a process more":
        text += "n9:888:888 [1] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n"
    else:
        text = text.replace("-np 4", "-np 5").replace("of 4", "of 5")
    assert verdict_of(tmp_path, text).ranks == []
