"""Drivers' records: which of them may accuse a device."""

from pathlib import Path
from typing import Any

import pytest

from forensics.analyze import analyze
from forensics.case import Case
from forensics.detectors.hardware.device_fault import DETECTOR
from forensics.views.page import views
from tests.hang_tables import SECOND_NS, START_NS, Rows, call, waiting
from tests.log_cases import case, judged

RANKS: list[dict[str, Any]] = [
    {"rank": rank, "how": "init", "host": f"n{rank // 2}", "local_rank": rank % 2, "pci": f"0000:{rank % 2 + 1}b:00.0"}
    for rank in range(8)
]
WAITS = [{"kind": "collective_timeout", "rank": rank, "seq": 7} for rank in (0, 1, 2, 4, 5, 6, 7)]


def xid(
    host: str | None = "n1", pci: str | None = "0000:2b:00", code: str = "xid:79", **columns: Any
) -> dict[str, Any]:
    return {"kind": "gpu_error", "code": code, "host": host, "pci": pci, **columns}


def test_the_device_of_a_rank_that_never_waited() -> None:
    found = judged(case([xid(), *WAITS], ranks=RANKS), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.hosts) == ("hang", "gpu_fault", (3,), ("n1",))
    assert found.is_proven
    assert [device.pci for device in found.finding.devices] == ["0000:2b:00"]


def test_the_process_that_the_driver_names() -> None:
    ranks = [row | {"pid": 4000 + row["rank"], "pci": None} for row in RANKS]
    (found,) = DETECTOR.detect(case([xid(pid=4003), *WAITS], ranks=ranks))
    assert found.ranks == (3,)
    assert DETECTOR.detect(case([xid(pid=4003, host="n99"), *WAITS], ranks=ranks)) == ()


def test_a_rank_that_waited_is_not_named() -> None:
    assert DETECTOR.detect(case([xid(pci="0000:1b:00", code="xid:94"), *WAITS], ranks=RANKS)) == ()


def test_a_rank_that_waited_is_not_named_though_its_device_is_dead() -> None:
    assert DETECTOR.detect(case([xid(pci="0000:1b:00"), *WAITS], ranks=RANKS)) == ()


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


@pytest.mark.parametrize("basis", ["utc", "local"])
@pytest.mark.parametrize(
    ("time", "counts"),
    [(999, True), (1020, True), (1000 - 8100, False), (1060, True), (1700, False), (1000 - 8 * 86400, False)],
    ids=["before", "within a step", "hours before", "during the wait", "after the first time-out", "days before"],
)
def test_it_must_precede_the_wait(time: int, counts: bool, basis: str) -> None:
    """The wait began at 1,000,000 s and was given up 600 s later. A stamp without zone is never days away."""
    assert bool(DETECTOR.detect(timed_case([xid(time_ns=at(time), time_basis="local")], basis))) == counts


def at(second: int) -> int:
    return (999_000 + second) * 1_000_000_000


def timed_case(records: list[dict[str, Any]], basis: str = "local", waits: Any = WAITS, **tables: Any) -> Case:
    ended = {"time_ns": at(1600), "time_basis": basis, "value": 600_000.0}
    return case([*records, *(row | ended for row in waits)], ranks=RANKS, expected=8, **tables)


def test_it_is_not_of_the_job_that_went_on() -> None:
    steps = [{"rank": 0, "step": step, "time_ns": at(900 + 10 * step), "time_basis": "local"} for step in range(10)]
    assert DETECTOR.detect(timed_case([xid(time_ns=at(930), time_basis="local")], steps=steps)) == ()
    assert DETECTOR.detect(timed_case([xid(time_ns=at(985), time_basis="local")], steps=steps)) != ()


def test_all_wait_and_a_device_died_just_before() -> None:
    waits = [*WAITS, {"kind": "collective_timeout", "rank": 3, "seq": 7}]
    found = judged(timed_case([xid(time_ns=at(999), time_basis="utc")], waits=waits), DETECTOR)
    assert (found.ranks, found.hosts, found.status) == ((3,), ("n1",), "supported")


def test_the_silent_rank_runs_on_another_host() -> None:
    stamp = {"time_ns": at(999), "time_basis": "local"}
    elsewhere = xid(host="n3", pci="0000:1b:00", code="xid:94", **stamp)
    assert DETECTOR.detect(timed_case([elsewhere])) == ()
    found = judged(timed_case([elsewhere | {"code": "xid:79"}]), DETECTOR)
    assert (found.ranks, found.hosts, found.is_proven) == ((), ("n3",), False)


def test_the_silence_of_its_rank_is_a_second_observer_of_who_and_none_of_why() -> None:
    found = judged(timed_case([xid(time_ns=at(999), time_basis="local")]), DETECTOR)
    assert (found.ranks, found.status, found.observers) == ((3,), "supported", ("other ranks", "the kernel"))


def test_a_job_that_goes_on_is_not_accused() -> None:
    assert DETECTOR.detect(case([xid()], ranks=RANKS)) == ()


def test_kernel_logs_alone() -> None:
    files = [{"file": "a.log", "bytes": 100}]
    found = judged(case([{"kind": "gpu_lost", "severity": "fatal", "pci": "0000:2b:00"}], files=files), DETECTOR)
    assert (found.kind, found.cause, found.ranks) == ("crash", "gpu_fault", ())
    other = [*files, {"file": "rank0.log", "bytes": 100}]
    assert DETECTOR.detect(case([{"kind": "gpu_lost", "severity": "fatal"}], files=other)) == ()


def test_the_drivers_words_are_told_and_its_line_once() -> None:
    line = "NVRM: Xid (PCI:0000:2b:00): 79, pid=4003, name=python3, GPU has fallen off the bus."
    rows = [xid(text=line, line=1), xid(text=line, line=1) | {"kind": "gpu_lost"}]
    job = case([*rows, *WAITS], ranks=RANKS)
    (found,) = DETECTOR.detect(job)
    assert "Xid 79, “GPU has fallen off the bus”" in found.summary
    assert [ref.line for ref in found.claims[0].refs] == [1]
    assert [row.text for row in views(job, found).hardware] == [line]


TRACEBACK = """[rank{0}]: Traceback (most recent call last):
[rank{0}]:   File "train.py", line 3, in <module>
[rank{0}]: torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution
"""
BY_SOURCE = "149, NETIR_LINK_EVT Fatal   XC0 i0 Link 07 (0x00a00011 0x00000000 0x0 0x0 0x0 0x0)"
BY_VICTIM = "145, RLW_REMAP Nonfatal XC0 i0 Link -1 (0x00000004 0x80000000 0x0 0x0 0x0 0x0)"
PREVIOUS = "45, Ch 00000008 caused by previous Xid {}"


@pytest.mark.parametrize("size", [3, 8])
@pytest.mark.parametrize(
    ("source", "victim", "named"),
    [
        (BY_SOURCE, BY_VICTIM, True),
        (PREVIOUS.format(149), PREVIOUS.format(145), True),
        (BY_SOURCE, BY_SOURCE, False),
        (BY_VICTIM, BY_VICTIM, False),
    ],
    ids=["one 149, others 145", "one previous Xid 149, others 145", "all 149", "all 145"],
)
def test_the_one_device_that_its_hosts_other_devices_suffered_from(
    tmp_path: Path, source: str, victim: str, named: bool, size: int
) -> None:
    """All ranks stop on the same error; the driver's catalogue tells who is the source."""
    kernel = [
        f"[Wed Nov 18 09:12:00 2026] NVRM: Xid (PCI:0000:{16 + gpu:02x}:00): {source if gpu == 1 else victim}"
        for gpu in range(size)
    ]
    (tmp_path / "n1.dmesg").write_text("\n".join(kernel) + "\n")
    for rank in range(size):
        start = f"2026-11-18 09:10:00.000 [rank{rank}] INFO train: init done rank={rank} world_size={size} local_rank={rank} host=n1 pid=400{rank}\n"
        (tmp_path / f"rank_{rank}.log").write_text(start + TRACEBACK.format(rank))
    report = analyze(tmp_path)
    verdict = report.incidents[report.primary].verdict
    assert (verdict.cause, verdict.ranks) == ("gpu_fault", [])
    assert ([one.pci for one in verdict.devices] == ["0000:11:00"]) == named


def test_a_fatal_xid_of_an_unrelated_host_at_the_same_minute_never_beats_the_graph() -> None:
    """Rank 3 alone is missing from a call; another host, of the job or not, reports a dead device just before."""
    for host in ("node1", "node99"):
        job = waiting(Rows(16, dp=tuple(range(16))).placed(), [rank for rank in range(16) if rank != 3], "dp", 7)
        job.dump(3, call("dp", 6, done=True))
        before = job.verdict()
        job.event("gpu_error", code="xid:79", severity="fatal", host=host, pci="0000:05:00", time_ns=START_NS + 7 * SECOND_NS,
                  time_basis="utc", file="kern.log", text="NVRM: Xid (PCI:0000:05:00): 79, GPU has fallen off the bus.")  # fmt: skip
        after = job.verdict()
        assert (before.ranks, after.ranks, after.cause) == ([3], [3], before.cause)


def test_correctable_errors_on_many_hosts_accuse_nobody() -> None:
    """On 40 % of the hosts; the graph names who is missing."""
    job = waiting(Rows(80, dp=tuple(range(80))).placed(), [rank for rank in range(80) if rank != 3], "dp", 7)
    job.dump(3, call("dp", 6, done=True))
    for host in range(1, 5):
        job.event("memory_error", code="correctable", severity="warning", host=f"node{host}", file=f"node{host}.log",
                  time_ns=START_NS + 7 * SECOND_NS, time_basis="utc")  # fmt: skip
        job.event(
            "gpu_error", code="xid:63", severity="info", host=f"node{host}", pci="0000:05:00", file=f"node{host}.log"
        )
    verdict = job.verdict()
    assert (verdict.ranks, verdict.hosts) == ([3], ["node0"])


def poisoned(code: str = "ras:poison", severity: str = "fatal") -> list[dict[str, Any]]:
    """GPU 2b of n1 has an error, and the driver resets all that are linked to it."""
    resets = [xid(code="reset", pci=f"0000:{bus}b:00", severity="error") for bus in (1, 2)]
    return [*([xid(code=code, severity=severity)] if code else []), *resets]


@pytest.mark.parametrize("code", ["ras:poison", "ras:uncorrectable", "ring_timeout"])
@pytest.mark.parametrize("waiting", [(0, 1, 4, 5, 6, 7), (0, 1, 2, 4, 5, 6, 7)], ids=["host silent", "rank silent"])
def test_an_error_names_one_gpu_though_all_that_are_linked_are_reset(code: str, waiting: tuple[int, ...]) -> None:
    waits = [row for row in WAITS if row["rank"] in waiting]
    severity = "error" if code == "ring_timeout" else "fatal"
    (found,) = DETECTOR.detect(case([*poisoned(code, severity), *waits], ranks=RANKS))
    assert (found.ranks, [one.pci for one in found.devices]) == ((3,), ["0000:2b:00"])


def test_resets_alone_name_the_host_and_none_of_its_gpus() -> None:
    waits = [row for row in WAITS if row["rank"] not in (2, 3)]
    (found,) = DETECTOR.detect(case([*poisoned(""), *waits], ranks=RANKS))
    assert (found.ranks, found.hosts, [one.pci for one in found.devices]) == ((), ("n1",), [None])
    (one,) = DETECTOR.detect(case([*poisoned("")[1:], *waits], ranks=RANKS))
    assert (one.ranks, [one.pci for one in one.devices]) == ((3,), ["0000:2b:00"])


@pytest.mark.parametrize(
    ("rows", "hosts"),
    [
        ([xid(), {"kind": "other", "code": "stalled", "severity": "warning"}], ["n1"]),
        ([xid(code="xid:31"), {"kind": "other", "code": "stalled", "severity": "warning"}], []),
        ([xid()], []),  # a spare device may be gone, and nothing of the job went wrong
        ([xid(host="n99"), {"kind": "other", "code": "stalled", "severity": "warning"}], []),
    ],
    ids=["gone, and it stood still", "an error of the program", "gone", "of another host"],
)
def test_a_device_that_is_gone_beside_words_that_the_job_stood_still(
    rows: list[dict[str, Any]], hosts: list[str]
) -> None:
    found = DETECTOR.detect(case(rows, ranks=[row | {"pci": None} for row in RANKS]))
    assert [host for one in found for host in one.hosts] == hosts
