"""Others report a peer by its address: the answer names the host as people call it, wherever the bundle tells both or leaves one host alone."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

HOSTS = ("cg-05", "cg-06", "cg-07", "cg-08")


def _ip(host: str) -> str:
    return f"10.77.1.{20 + int(host[-1])}"


def _files(
    gone: str = "cg-07",
    hosts: Sequence[str] = HOSTS,
    each: int = 2,
    reporters: Sequence[str] | None = None,
    speaks: Sequence[str] = (),
) -> dict[str, list[str]]:
    """Logs of all ranks: those of `reporters` lose a peer on the host that is gone; its own end without a word, but of `speaks`."""
    files: dict[str, list[str]] = {}
    world = len(hosts) * each
    for node, host in enumerate(hosts):
        for local in range(each):
            rank = node * each + local
            own = [
                f"[2026-01-05 09:00:00] Distributed environment is initialized, world size: {world}, rank: {rank}, host: {host}"
            ]
            own += [f"[2026-01-05 10:00:{step:02}] rank {rank} step {step} loss 2.1" for step in range(20)]
            if host in (reporters if reporters is not None else [one for one in hosts if one != gone]):
                said = f"NET/IB : Got completion from peer {_ip(gone)}<{40000 + rank}> with status=12 opcode=0 len=0 vendor err 129 (Send)"
                own += [
                    f"{host}:{2000 + rank}:{3000 + rank} [{local}] transport/net_ib.cc:1295 NCCL WARN {said}",
                    f"[rank{rank}]:[E105 10:01:41.571965820 ProcessGroupNCCL.cpp:1414] [PG 0 Rank {rank}] Process group watchdog thread terminated with exception: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5",
                ]
            elif host in speaks:
                own += [f"[rank{rank}]:[E105 10:31:41.571965820 ProcessGroupNCCL.cpp:1414] [PG 0 Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800005 milliseconds before timing out."]  # fmt: skip
            files[f"logs/{host}/rank{rank:02}.log"] = own
    return files


def _verdict(folder: Path, files: dict[str, list[str]]) -> Verdict:
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize(
    ("gone", "hosts", "each"),
    [
        ("cg-07", HOSTS, 2),
        ("cg-06", HOSTS, 1),
        ("cg-08", HOSTS, 4),
        ("n2", ("n1", "n2", "n3"), 2),
        ("gpu-a3", ("gpu-a1", "gpu-a2", "gpu-a3", "gpu-a4", "gpu-a5"), 1),
        ("worker-3", tuple(f"worker-{at}" for at in range(6)), 1),
    ],
)
def test_the_only_host_that_it_can_be(tmp_path: Path, gone: str, hosts: Sequence[str], each: int) -> None:
    found = _verdict(tmp_path, _files(gone, hosts, each))
    assert (found.cause, found.hosts, found.ranks) == ("network_fault", [gone], [])


@pytest.mark.parametrize(
    "lines",
    [
        ["ssh: connect to host cg-07 (10.77.1.27) port 22: No route to host"],
        ["$ ping -c 1 cg-07", "PING cg-07 (10.77.1.27) 56(84) bytes of data."],
        ["10.77.1.27 cg-07 cg-07.lab", "10.77.1.25 cg-05 cg-05.lab"],
        ["WARN TransportClient: Connection to cg-07/10.77.1.27:7337 is dead"],
        ["node cg-07[10.77.1.27] does not respond"],
        ["NodeName=cg-07 NodeAddr=10.77.1.27 State=DOWN*", "NodeName=cg-05 NodeAddr=10.77.1.25 State=ALLOCATED"],
        ["NAME    STATUS     INTERNAL-IP", "cg-05   Ready      10.77.1.25", "cg-07   NotReady   10.77.1.27"],
        ["cg-05 ansible_host=10.77.1.25", "cg-07 ansible_host=10.77.1.27"],
        ["10.77.1.27 (cg-07) 56 packets lost"],
        ["host,ip,rack", "cg-05,10.77.1.25,a", "cg-06,10.77.1.26,a", "cg-07,10.77.1.27,b", "cg-08,10.77.1.28,b"],
        ['{"host": "cg-05", "ip": "10.77.1.25"}', '{"host": "cg-07", "ip": "10.77.1.27"}'],
        ["cg-05: 10.77.1.25", "cg-06: 10.77.1.26", "cg-07: 10.77.1.27", "cg-08: 10.77.1.28"],
    ],
)
def test_by_what_pairs_both(tmp_path: Path, lines: list[str]) -> None:
    files = _files(reporters=("cg-05", "cg-06"))  # the logs of others were lost: two hosts are left
    files = {path: own for path, own in files.items() if "cg-08" not in path}
    found = _verdict(tmp_path, files | {"notes.txt": lines})
    assert (found.cause, found.hosts) == ("network_fault", ["cg-07"])


def test_of_two_that_it_can_be_neither(tmp_path: Path) -> None:
    found = _verdict(tmp_path, _files(reporters=("cg-05", "cg-06")))
    assert not {"cg-07", "cg-08"} & {*found.hosts}


def test_a_host_that_goes_on_to_speak_is_not_the_other_end(tmp_path: Path) -> None:
    # It gave up itself: the address is of somebody who reports, or of nobody that is known.
    found = _verdict(tmp_path, _files(speaks=("cg-07",)))
    assert "cg-07" not in found.hosts


def test_a_host_without_logs_may_be_one_of_several(tmp_path: Path) -> None:
    files = {path: own for path, own in _files().items() if "cg-07" not in path}
    assert "cg-07" not in _verdict(tmp_path, files).hosts


def test_two_names_beside_one_address_are_nobody_s(tmp_path: Path) -> None:
    files = _files(reporters=("cg-05", "cg-06"))
    notes = [
        "ssh: connect to host cg-07 (10.77.1.27) port 22: timed out",
        "ssh: connect to host cg-08 (10.77.1.27) port 22: timed out",
    ]
    assert not {"cg-07", "cg-08"} & {*_verdict(tmp_path, files | {"notes.txt": notes}).hosts}


def test_a_host_that_speaks_of_an_address_does_not_have_it(tmp_path: Path) -> None:
    files = _files(reporters=("cg-05", "cg-06"))
    notes = ["cg-08 lost the connection to 10.77.1.27", "cg-08 -> 10.77.1.27 timed out (cg-08)"]
    assert "cg-08" not in _verdict(tmp_path, files | {"notes.txt": notes}).hosts
