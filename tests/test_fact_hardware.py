"""Which records of hardware distinguish anybody."""

import pytest

from forensics.facts.hosts.hardware import is_same_device
from forensics.model.finding import Finding
from forensics.views.hardware import hardware
from tests.log_cases import case


@pytest.mark.parametrize(("with_it", "common"), [(2, False), (3, False), (4, True), (10, True)])
def test_what_many_hosts_show_counts_for_none(with_it: int, common: bool) -> None:
    """The rate is over the hosts that left a log, not over those with such a record: three of ten are still few."""
    logs = [{"file": f"n{host}.dmesg", "host": f"n{host}", "kind": "other", "line": 1} for host in range(10)]
    errors = [
        {"file": f"n{host}.dmesg", "host": f"n{host}", "kind": "memory_error", "code": "edac", "line": 2}
        for host in range(with_it)
    ]
    told = case([*logs, *errors])
    assert {one.common for one in told.hardware} == {common}
    shown = hardware(told, Finding(detector="x"))
    assert {"as frequent on other hosts" in row.relation for row in shown} == {common}


def _failed(
    kind: str = "gpu_lost",
    ranks: tuple[int, ...] = (11,),
    hosts: tuple[str, ...] = ("n7",),
    code: str = "unknown error",
    own: str | None = None,
    lost: tuple[str, ...] = ("0000:a1:00",),
    **known: str,
) -> int | None:
    """Whose device the records of n7 are, where `ranks` met errors of theirs, the launcher tells failures on `hosts`, and rank 11 says that
    its device is at `own`."""
    rows: list[dict[str, object]] = [{"kind": kind, "host": "n7", "pci": pci, "severity": "fatal"} for pci in lost]
    rows += [{"kind": "cuda_error", "code": code, "rank": rank, "file": "job.out"} for rank in ranks]
    rows += [{"kind": "exit", "code": "1", "host": host, "file": "job.out"} for host in hosts]
    rows += [{"kind": "exit", "code": "SIGTERM", "host": "n6", "severity": "info", "file": "job.out"}]
    placed = [
        {"rank": int(rank[1:]), "host": host, "pci": own if rank == "r11" else None, "how": "told"}
        for rank, host in known.items()
    ]
    (rank,) = {one.rank for one in case(rows, ranks=placed).hardware if one.kind == kind}
    return rank


def test_the_only_process_that_failed_ran_on_the_only_device_that_did() -> None:
    assert _failed() == 11
    assert _failed(r11="n7") == 11
    assert _failed(r11="n7", own="0000:a1:00.0") == 11
    assert _failed(r11="n7", r4="n6", hosts=("n6", "n7")) == 11  # of a launcher on each host
    assert _failed(r11="n7", r4="n6", ranks=(4, 11), hosts=("n6", "n7")) == 11


@pytest.mark.parametrize(
    "changed",
    [{"ranks": (10, 11)}, {"ranks": ()}, {"hosts": ("n7", "n6")}, {"hosts": ("n6",)}, {"r11": "n6"}, {"kind": "memory_error"},
     {"r10": "n7", "r11": "n7", "ranks": (10, 11)}, {"r11": "n7", "own": "0000:c4:00.0"}, {"r11": "n7", "code": "device-side assert triggered"},
     {"r11": "n7", "lost": ("0000:a1:00", "0000:c4:00")}],
    ids=["two ranks", "no rank", "failures on two hosts", "on another", "the rank runs elsewhere", "no end of a device",
         "two ranks of the host", "another device than its own", "what a program does", "two devices"],
)  # fmt: skip
def test_where_more_than_one_failed_no_device_is_anybodys(changed: dict[str, object]) -> None:
    assert _failed(**changed) is None  # type: ignore[arg-type]


def test_addresses_are_compared_whatever_their_text() -> None:
    assert is_same_device("0000:17:00.0", "17:00.1")
    assert not is_same_device("[x](javascript:alert(1)) ![x](http", "0000:17:00.0")


def _unplaced(file: str = "dmesg.log", pci: str = "0000:45:00", **more: object) -> tuple[str | None, int | None]:
    """(host, rank) of a kernel's record without a host, where two ranks of node04 say their devices."""
    ranks: list[dict[str, object]] = [
        {"rank": rank, "host": "node04", "pci": address, "how": "init"}
        for rank, address in enumerate(("0000:2d:00.0", "0000:45:00.0"))
    ]
    if "host" in more:
        ranks.append({"rank": 2, "host": more["host"], "pci": "0000:2d:00.0", "how": "init"})
    row = {"kind": "gpu_lost", "code": "xid:79", "severity": "fatal", "pci": pci, "file": file}
    rows = [row, {"kind": "other", "host": more.get("beside", "node04"), "file": "beside.log"}]
    (record,) = [one for one in case(rows, ranks=ranks).hardware if one.kind == "gpu_lost"]
    return record.host, record.rank


@pytest.mark.parametrize("file", ["dmesg.log", "logs/kern", "kernel/dmesg_2026.txt", "attempt_1/dmesg.log"])
def test_a_kernel_log_without_a_host_is_of_the_only_host_whose_rank_has_the_device(file: str) -> None:
    assert _unplaced(file) == ("node04", 1)


@pytest.mark.parametrize(
    "changed",
    [{"file": "login-07.dmesg"}, {"file": "login-07/dmesg.log"}, {"pci": "0000:a1:00"}, {"host": "node05"}, {"beside": "login"}],
    ids=["a place in its name", "in its folder", "nobody's device", "a job of two hosts", "another host is shown"],
)  # fmt: skip
def test_a_kernel_log_that_may_be_of_another_host_is_of_none(changed: dict[str, str]) -> None:
    assert _unplaced(**changed) == (None, None)
