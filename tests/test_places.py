"""Hosts of files by their paths, which only the contents of the bundle can tell from other words."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forensics.analyze import analyze
from forensics.assemble.who.path_hosts import host_in, with_hosts_of_paths
from parsers import read
from parsers.schema.tables import TABLE_NAMES, TableName, table
from tests.sources import written

KNOWN = frozenset({"gpu-045", "gpu-04", "gpu", "n17", "10.0.0.7"})


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("kernel/gpu-045.dmesg", "gpu-045"),
        ("gpu-045.log", "gpu-045"),
        ("gpu-045-3.out", "gpu-045"),
        ("gpu-045.rack2.example.log", "gpu-045"),
        ("n17/py-spy.4006.out", "n17"),
        ("logs/syslog_n17.txt.gz", "n17"),
        ("10.0.0.7.log", "10.0.0.7"),
        ("n17/gpu-045.log", "gpu-045"),
        ("n17/n17.log", "n17"),
        ("gpu-0451.log", "gpu"),
        ("n171.log", None),
        ("xn17.log", None),
        ("n17_gpu-045.log", None),
        ("n17-gpu-045/dmesg.txt", None),
        ("n17/n17_gpu-045.log", None),
        ("node99/dmesg.txt", None),
        ("error.log", None),
    ],
)
def test_a_path_names_a_known_host_between_other_signs(path: str, host: str | None) -> None:
    assert host_in(path, KNOWN) == host


def placed(**rows: list[dict[str, Any]]) -> dict[TableName, Any]:
    return with_hosts_of_paths({name: table(name, rows.get(name, [])) for name in TABLE_NAMES})


CLAIMS = [
    {"rank": 0, "host": "n17.example", "how": "init", "file": "job.log"},
    {"rank": 1, "host": "n18", "how": "init", "file": "job.log"},
]


def test_rows_get_the_host_that_their_line_did_not_tell() -> None:
    events = [
        {"kind": "gpu_error", "file": "kernel/n17.dmesg", "line": 1},
        {"kind": "gpu_error", "file": "kernel/n99.dmesg", "line": 1},
        {"kind": "exception", "file": "job.log", "line": 9},
    ]
    files = [{"file": file} for file in ("job.log", "kernel/n17.dmesg", "kernel/n99.dmesg")]
    found = placed(ranks=CLAIMS, events=events, files=files)
    assert found["events"]["host"].to_list() == ["n17", None, None]
    assert found["files"]["host"].to_list() == [None, "n17", None]
    assert found["ranks"]["host"].to_list() == ["n17.example", "n18"]


@pytest.mark.parametrize(
    ("row", "filled"),
    [
        ({"line": 2}, True),
        ({"line": 2, "host": "n17"}, True),
        ({"line": 2, "host": "n18"}, False),
        ({"line": 2, "rank": 0, "rank_space": "global"}, True),
        ({"line": 2, "rank": 1, "rank_space": "global"}, False),
        ({"line": 2, "rank": 1, "rank_space": "group"}, True),
        ({"line": 2, "rank": 5, "rank_space": "global"}, True),
    ],
    ids=[
        "says nothing",
        "same host",
        "other host",
        "own rank",
        "rank of another host",
        "place in a group",
        "unknown rank",
    ],
)
def test_a_file_that_speaks_of_other_hosts_is_of_none(row: dict[str, Any], filled: bool) -> None:
    events = [{"kind": "exception", "file": "n17.log", "line": 1}, {"kind": "exception", "file": "n17.log"} | row]
    found = placed(ranks=CLAIMS, events=events, files=[{"file": "n17.log"}])
    assert found["events"]["host"].to_list()[0] == ("n17" if filled else None)


def test_a_number_is_no_host() -> None:
    events = [{"kind": "other", "host": "3", "file": "a.log"}, {"kind": "other", "file": "b_3.log"}]
    assert placed(events=events, files=[{"file": "b_3.log"}])["events"]["host"].to_list() == ["3", None]


def test_a_driver_s_record_meets_the_rank_of_its_host(tmp_path: Path) -> None:
    """The kernel log tells no host; that `gpu-045` is one, the job's own lines say."""
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "gpu-045.dmesg").write_text(
        "[Wed Nov 20 03:10:11 2024] NVRM: Xid (PCI:0000:2b:00): 79, pid=4001, name=python, GPU has fallen off the bus.\n"
    )
    lines = [
        f"{host}:{4000 + rank % 2}:{4000 + rank % 2} [{rank % 2}] NCCL INFO ncclCommInitRank comm 0x55d{rank} rank {rank} nranks 4 "
        f"cudaDev {rank % 2} nvmlDev {rank % 2} busId {1 + rank % 2}b000 commId 0x9a - Init COMPLETE\n"
        for rank, host in enumerate(["gpu-045", "gpu-045", "gpu-046", "gpu-046"])
    ]
    waits = [
        f"[rank{rank}]:[E1120 03:20:11.000000000 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600016 "
        "milliseconds before timing out.\n"
        for rank in (0, 2, 3)
    ]
    (tmp_path / "job.log").write_text("".join([*lines, *waits]))
    report = analyze(tmp_path)
    verdict = report.incidents[report.primary].verdict
    assert (verdict.cause, verdict.ranks) == ("gpu_fault", [1])


def states(ids: list[str], folders: list[str]) -> list[str | None]:
    """A folder each with the state of one adapter → the hosts that its rows get."""
    rows = [
        {"metric": "ib/mlx5_0/node_guid", "text": one, "file": f"{folder}/ibstat.txt"}
        for one, folder in zip(ids, folders, strict=True)
    ]
    found = placed(devices=rows, files=[{"file": row["file"]} for row in rows])
    return [str(host) if host else None for host in found["devices"]["host"].to_list()]


def test_folders_that_hold_the_state_of_devices_of_their_own_are_named_after_hosts() -> None:
    assert states(["0xa", "0xb", "0xc"], ["dgx-01", "dgx-02", "dgx-03"]) == ["dgx-01", "dgx-02", "dgx-03"]
    assert states(["0xa", "0xa", "0xa"], ["before", "during", "after"]) == [None, None, None]
    assert states(["0xa", "0xb"], ["left", "right"]) == [None, None]
    assert states(["0xa", "0xb", "0xc"], ["1", "2", "3"]) == [None, None, None]


def test_a_log_in_which_several_hosts_speak_is_not_of_what_it_is_called_after(tmp_path: Path) -> None:
    """A run's name with a number in it stands in the name of its log, and inside."""
    ranks = [(host, node * 2 + gpu, 44810 + 7 * gpu) for node, host in enumerate(("gn16", "gn17")) for gpu in (0, 1)]
    lines = ["srun python main.py +exp=esm_650m", "hydra run dir outputs/esm_650m"]
    lines += [
        f"{host}:{pid}:{pid + 88} [{rank % 2}] NCCL INFO ncclCommInitRank comm 0x461781d{rank} rank {rank} nranks 4 "
        f"cudaDev {rank % 2} nvmlDev {rank % 2} busId {('1b000', '43000')[rank % 2]} commId 0x34795347 - Init COMPLETE"
        for host, rank, pid in ranks
    ]
    table = read(str(written(tmp_path, {"esm_650m-90412.out": lines}))).tables["ranks"]
    hosts = table.group_by("rank").agg(pl.col("host").drop_nulls().unique()).sort("rank")["host"].to_list()
    assert hosts == [[host] for host, _, _ in ranks]
