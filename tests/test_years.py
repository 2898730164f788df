"""Logs that print no year: an old Xid beside a new one must not become the culprit."""

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

import parsers
from forensics import analyze
from parsers.schema.evidence import Evidence, joined
from parsers.schema.tables import TABLE_NAMES, table
from parsers.schema.years import settled

DAY_NS = 86_400_000_000_000
XID = "kernel: NVRM: Xid (PCI:0000:{bus}:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
READY = "{host}:{pid}:{pid} [0] NCCL INFO comm 0x55 rank {rank} nranks 2 cudaDev 0 busId {bus}000 commId 0xab - Init COMPLETE"
TIMEOUT = (
    "[rank0]:[E624 04:54:04.100000688 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600024 milliseconds before timing out."
)
LOGS = {
    "n0.log": [READY.format(host="n0", pid=7, rank=0, bus="18"), TIMEOUT],
    "n1.log": [READY.format(host="n1", pid=8, rank=1, bus="2a")],
    "kern/n0": [f"Jun 21 04:44:04 n0 {XID.format(bus='18')}"],
    "kern/n1": [f"Jun 24 04:44:03 n1 {XID.format(bus='2a')}"],
}


def bundle(folder: Path, logs: Mapping[str, list[str]]) -> str:
    for name, lines in logs.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))
    return str(folder)


def xids(evidence: Evidence) -> dict[str, str]:
    """Host → day of its Xid."""
    found = evidence.tables["events"].filter(pl.col("kind") == "gpu_error")
    days = found["time_ns"].cast(pl.Datetime("ns")).dt.strftime("%Y-%m-%d")
    return dict(zip(found["host"].cast(pl.String), days, strict=True))


def dump(time_ns: int) -> str:
    """A flight record whose times stand behind what is looked at for a year."""
    group = {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}
    entry = {"pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 9, "p2p_seq_id": 0, "op_id": 9}
    entry |= {"profiling_name": "nccl:all_reduce", "time_created_ns": time_ns, "state": "scheduled", "record_id": 0}
    entry |= {"input_sizes": [[4]], "output_sizes": [[4]], "is_p2p": False, "retired": False, "timeout_ms": 600000}
    return json.dumps({"version": "2.10", "pg_config": {"0": group}, "entries": [entry]})


def test_the_older_of_two_is_older_where_no_record_tells_the_year(tmp_path: Path) -> None:
    read = parsers.read(bundle(tmp_path, LOGS))
    assert xids(read) == {"n0": "1972-06-21", "n1": "1972-06-24"}
    report = analyze(str(tmp_path))
    assert report.incidents[report.primary].verdict.hosts == ["n1"]
    assert any("no record tells the year" in limit for limit in report.limits)


@pytest.mark.parametrize(
    ("more", "days"),
    [
        ({"n1.log": ["2026-06-24 04:40:00 step 9"]}, {"n0": "2026-06-21", "n1": "2026-06-24"}),  # a stamp that has it
        ({"rank_0.json": [dump(1_750_740_235 * 10**9)]}, {"n0": "2025-06-21", "n1": "2025-06-24"}),  # records alone
        # A log of the winter lies half a year before, not after.
        ({"n1.log": ["2026-02-24 04:40:00 x"], "kern/n0": [f"Dec 21 04:44:04 n0 {XID.format(bus='18')}"]}, {"n0": "2025-12-21", "n1": "2026-06-24"}),
    ],
)  # fmt: skip
def test_the_year_is_that_of_the_others(tmp_path: Path, more: Mapping[str, list[str]], days: Mapping[str, str]) -> None:
    assert xids(parsers.read(bundle(tmp_path, LOGS | more))) == days
    assert not any("year" in limit for limit in analyze(str(tmp_path)).limits)


def test_what_a_node_kept_without_a_year_gets_that_of_the_others(tmp_path: Path) -> None:
    """`parse` on each node, then `analyze DIR1 DIR2`."""
    kernel = parsers.read(bundle(tmp_path / "a", {"kern": LOGS["kern/n0"]}))
    log = parsers.read(bundle(tmp_path / "b", {"log": ["2026-06-24 04:40:00 RuntimeError: x"]}))
    assert xids(kernel) == {"n0": "1972-06-21"}
    assert xids(joined([kernel, log])) == {"n0": "2026-06-21"}


def test_days_stay_days_in_leap_years_and_others() -> None:
    told = [60 * DAY_NS, 59 * DAY_NS, 0, 364 * DAY_NS, None]  # of 1972: the 1st of March, the 29th of February, …
    start = 63_072_000_000_000_000
    events = [
        {"file": "k", "line": at, "time_basis": "local", "time_ns": None if day is None else start + day}
        for at, day in enumerate(told)
    ]
    events += [{"file": "k", "line": 9, "time_basis": "boot", "time_ns": start}]  # up for two years
    files = [{"file": "dump", "time_last_ns": 1_782_000_000 * 10**9}]  # June 2026
    tables = {name: table(name, []) for name in TABLE_NAMES} | {
        "events": table("events", events),
        "files": table("files", files),
    }
    days = settled(tables)["events"]["time_ns"].cast(pl.Datetime("ns")).dt.strftime("%Y-%m-%d").to_list()
    assert days == ["2026-03-01", "2026-03-01", "2026-01-01", "2025-12-30", None, "1972-01-01"]


@pytest.mark.parametrize("stop", ["DUE TO TIME LIMIT", "DUE TO PREEMPTION"])
def test_one_line_deep_inside_tells_the_year_of_what_follows_it(tmp_path: Path, stop: str) -> None:
    """srun's output of a job: the scheduler alone prints the year, and not where the file begins or ends."""
    lost = (
        "1: [rank1]:[W218 00:03:43.187551886 ProcessGroupNCCL.cpp:1659] [PG ID 0 PG GUID 0(default_pg) Rank 1] Failed to check the "
        '"should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: failed to recv, got 0 bytes'
    )
    stopped = f"slurmstepd: error: *** STEP 81.0 ON n1 CANCELLED AT 2026-02-18T00:03:41 {stop} ***"
    steps = [f"{rank}: iteration {at} loss 2.{at}" for at in range(900) for rank in range(2)]
    report = analyze(bundle(tmp_path, {"slurm-81.out": [*steps, stopped, lost]}))
    assert (report.verdict.ranks, report.verdict.cause) == ([], "time_limit" if "LIMIT" in stop else "preempted")


def test_one_file_of_another_year_does_not_move_the_others(tmp_path: Path) -> None:
    """Seven logs tell their year in their last line alone, and one file that has nothing to do with them in its first."""
    steps = "".join(
        f"I0814 23:00:{second:02d}.000000 71 train.py:7] completed step: {second}, loss: 2.0\n" for second in range(30)
    )
    for rank in range(7):
        (tmp_path / f"rank{rank}.log").write_text(f"{steps}2025-08-14 23:00:59.118077: I client.cc:8] still here\n")
    (tmp_path / "syslog_other9").write_text("2026-11-20T03:09:40.000000+00:00 other9 kernel: usb 1-1: new device\n")
    times = parsers.read(tmp_path).tables["steps"]["time_ns"].cast(pl.Datetime("ns"))
    assert {*times.dt.year()} == {2025}
