"""Reports of NCCL's RAS client: what is missing, which counts differ, and what a clean report says."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.comm.ras import MONITOR, REPORT
from parsers.schema.tables import SCHEMAS
from tests.lines import lines
from tests.sources import source

HEAD = """NCCL version 2.28.3 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 13000

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         8        32        32   RUNNING  {errors}
    1         8         1         4         4        32   RUNNING      OK

"""
ERRORS = """Errors
======

#0-0 (27a0c3d4e5f60718) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 21
  Process 4711 on node 10.0.0.7 managing GPU 5

DEAD
  1 job process is considered dead
  Process 4711 on node 10.0.0.7 managing GPU 5
"""
WARNINGS = """Warnings
========

#0-0 (27a0c3d4e5f60718) MISMATCH
  Communicator ranks have different {op}operation counts
  31 ranks have launched up to operation 664
  1 rank has launched up to operation 663
  Rank 5 -- GPU 5 managed by process 4712 on node 10.0.0.8
#1-3 (00000000000000aa) MISMATCH
  Communicator ranks have different collective operation counts
  3 ranks have launched up to operation 9
  1 rank has not launched any operations
  Rank 2 -- GPU 6 managed by process 4713 on node 10.0.0.8
TIMEOUT
  Encountered 2 communication timeouts while gathering data
"""


def read(text: str | bytes) -> Any:
    data = text.encode() if isinstance(text, str) else text
    assert REPORT.accepts("ras.txt", data[:65536])
    return REPORT.parse(source(data, "ras.txt"))


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "crlf"])
def test_a_clean_report(end: str) -> None:
    text = (HEAD.format(errors="     OK") + "Errors\n======\n\nWarnings\n========\n").replace("\n", end)
    tables = read(text)
    assert [(row["kind"], row["code"], row["severity"]) for row in tables["events"].rows(named=True)] == [
        ("ras_status", "OK", "info"),
        ("ras_status", "OK", "info"),
    ]
    assert dict(tables["settings"].select("name", "value").iter_rows()) == {
        "nccl": "2.28.3", "cuda_runtime": "12090", "cuda_driver": "13000",
    }  # fmt: skip
    assert tables["progress"].is_empty()


def test_missing_and_dead() -> None:
    events = read(HEAD.format(errors="INCOMPLETE") + ERRORS)["events"].rows(named=True)
    missing, dead = events[2:]
    assert (missing["kind"], missing["names_ranks"], missing["names_rank_space"]) == ("missing_members", [21], "global")
    assert (missing["group"], missing["names_hosts"]) == ("27a0c3d4e5f60718", ["10.0.0.7"])
    assert (dead["kind"], dead["code"], dead["severity"]) == ("ras_status", "DEAD", "error")
    assert json.loads(dead["detail"])["processes"] == [{"pid": 4711, "node": "10.0.0.7", "gpus": "5"}]


@pytest.mark.parametrize(("op", "desc"), [("collective ", None), ("AllGather ", "AllGather")], ids=["2.24", "2.26"])
def test_a_mismatch_lists_the_few(op: str, desc: str | None) -> None:
    tables = read(HEAD.format(errors="     OK") + WARNINGS.format(op=op))
    world, small, timeout = tables["events"].rows(named=True)[2:]
    assert (world["code"], world["names_ranks"], world["names_rank_space"]) == ("MISMATCH", [5], "global")
    assert json.loads(world["detail"])["counts"] == [
        {"ranks": 31, "operation": 664},
        {"ranks": 1, "operation": 663},
    ]
    assert (small["names_ranks"], small["names_rank_space"]) == ([2], "group")
    assert json.loads(small["detail"])["counts"][1] == {"ranks": 1, "operation": 0}
    assert timeout["code"] == "TIMEOUT" and timeout["names_ranks"] is None
    [row] = tables["progress"].rows(named=True)
    assert (row["rank"], row["last_enqueued"], row["how"], row["desc"]) == (5, 663, "ras", desc)
    [claim] = tables["ranks"].rows(named=True)
    assert (claim["rank"], claim["pid"], claim["address"], claim["device_index"]) == (5, 4712, "10.0.0.8", 5)


def _report(missing: bool) -> dict[str, Any]:
    def one(rank: int, count: int) -> dict[str, Any]:
        return {"rank": rank, "host": f"n{rank // 2}", "pid": 40 + rank, "cuda_dev": 0, "nvml_dev": 0,
                "status": {"init_state": 0, "async_error": 0, "abort_flag": False},
                "collective_counts": {"AllGather": count, "AllReduce": 3}}  # fmt: skip

    ranks = [one(rank, 9 - (rank == 2)) for rank in range(4)]
    lost = [{**ranks.pop(3), "status": {"unresponsive": True}}] if missing else []
    world = {"hash": "aa", "size": 4, "ranks_count": len(ranks), "missing_ranks_count": len(lost), "ranks": ranks,
             "missing_ranks": lost}  # fmt: skip
    pair = {"hash": "bb", "size": 2, "ranks_count": 2, "missing_ranks_count": 0,
            "ranks": [{**one(2, 5), "rank": 0}, {**one(1, 5), "rank": 1}], "missing_ranks": []}  # fmt: skip
    return {"nccl_version": "2.28.7", "timestamp": "2026-01-31 10:11:12", "communicators": [pair, world],
            "ras": {"timeouts_count": 0}}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2], ids=["compact", "indented"])
def test_json_counts_by_kind_and_global_ranks(indent: int | None) -> None:
    tables = read(json.dumps(_report(missing=False), indent=indent))
    rows = tables["progress"].filter(desc="all_gather")
    assert {(row["group"], row["rank"]): row["last_enqueued"] for row in rows.rows(named=True)} == {
        ("aa", 0): 9, ("aa", 1): 9, ("aa", 2): 8, ("aa", 3): 9, ("bb", 2): 5, ("bb", 1): 5,
    }  # fmt: skip
    assert rows["how"].unique().to_list() == ["ras"] and rows["time_ns"].unique().to_list() == [1769854272_000000000]
    members = dict(tables["groups"].select("group", "members").iter_rows())
    assert members == {"aa": [0, 1, 2, 3], "bb": [2, 1]}
    assert tables["events"]["code"].to_list() == ["OK", "MISMATCH"]
    assert tables["ranks"].select("rank", "host", "pid").rows() == [
        (0, "n0", 40),
        (1, "n0", 41),
        (2, "n1", 42),
        (3, "n1", 43),
    ]


def test_json_counts_are_compared_by_kind() -> None:
    *_, row = read(json.dumps(_report(missing=False)))["events"].rows(named=True)
    assert (row["group"], row["op"], row["severity"], row["names_hosts"]) == ("aa", "all_gather", "warning", ["n1"])
    assert (row["names_ranks"], row["names_rank_space"]) == ([2], "global")
    assert json.loads(row["detail"]) == {
        "counts": [{"ranks": 3, "operation": 9}, {"ranks": 1, "operation": 8}], "op": "AllGather",
    }  # fmt: skip


def test_json_without_counts_says_nothing_of_them() -> None:
    report = _report(missing=False)
    del report["communicators"][1]["ranks"][2]["collective_counts"]
    assert read(json.dumps(report))["events"]["code"].to_list() == ["OK", "UNKNOWN"]


def test_json_names_who_is_missing_and_who_failed() -> None:
    report = _report(missing=True)
    report["communicators"][1]["ranks"][0]["status"]["async_error"] = 6
    tables = read(json.dumps(report))
    named = {(row["kind"], row["code"]): row for row in tables["events"].rows(named=True) if row["names_ranks"]}
    assert named["missing_members", "INCOMPLETE"]["names_ranks"] == [3]
    assert named["missing_members", "INCOMPLETE"]["names_hosts"] == ["n1"]
    assert named["ras_status", "ERROR"]["names_ranks"] == [0]
    assert tables["groups"].filter(group="aa")["members"].to_list() == [[0, 1, 2, 3]]


def test_without_a_world_ranks_stay_in_their_communicator() -> None:
    report = _report(missing=True)
    report["communicators"][1]["missing_ranks"] = []
    report["communicators"][1]["ranks"] = report["communicators"][1]["ranks"][:1]
    tables = read(json.dumps(report))
    assert tables["ranks"].is_empty() and tables["progress"]["rank"].null_count() == tables["progress"].height


@pytest.mark.parametrize(
    "text",
    [
        '{"nccl_version": "2.28.7", "communicators": [{"hash": "aa", "ran',
        '{"nccl_version": "2.28.7", "communicators": 5}',
        '{"nccl_version": 1, "communicators": [3, {"ranks": [{"rank": "x"}, 4, {"rank": 1e300}], "size": []}]}',
    ],
    ids=["cut", "no-list", "nonsense"],
)
def test_broken_json_never_raises(text: str) -> None:
    tables = read(text)
    assert ("unread" in tables) == (not text.endswith("}"))


@pytest.mark.parametrize(
    "head", [b"", b"NCCL version 2.28.3", b"{}", b"Job summary", b'{"nccl_version": 1, "entries": []}']
)
def test_other_files_are_not_taken(head: bytes) -> None:
    assert not REPORT.accepts("ras.txt", head)


@pytest.mark.parametrize(
    ("text", "code", "severity", "hosts"),
    [
        ("[2026-01-31 10:11:12] PEER_DEAD: Process 4711 on node 10.0.0.7 managing GPU 5", "PEER_DEAD", "warning",
         ["10.0.0.7"]),
        ("PEER_CONNECTED: Process 4711 on node 10.0.0.7 managing GPUs 4,5", "PEER_CONNECTED", "info", ["10.0.0.7"]),
        ('{"timestamp": "2026-01-31 10:11:12", "group": "LIFECYCLE", "event": "PEER_DEAD", "peer": {"host": "n7", '
         '"pid": 4711, "cuda_devs": "5"}, "details": ""}', "PEER_DEAD", "warning", ["n7"]),
    ],
    ids=["text", "several", "json"],
)  # fmt: skip
def test_monitor(text: str, code: str, severity: str, hosts: list[str]) -> None:
    [row] = MONITOR.parse(lines(text))["events"].rows(named=True)
    assert (row["kind"], row["code"], row["severity"], row["names_hosts"]) == ("ras_status", code, severity, hosts)
    assert json.loads(row["detail"])["pid"] == 4711


@pytest.mark.parametrize("text", ["", "a GPU manager managing GPU 5", '{"group": "LIFECYCLE", "event"', '{"event": 5}'])
def test_monitor_says_nothing(text: str) -> None:
    assert MONITOR.parse(lines(text))["events"].is_empty()


@given(st.integers(0, 2000), st.binary(max_size=40))
def test_no_bytes_break_it(at: int, noise: bytes) -> None:
    whole = (HEAD.format(errors="INCOMPLETE") + ERRORS + WARNINGS.format(op="collective ")).encode()
    for name, table in REPORT.parse(source(whole[:at] + noise + whole[at:])).items():
        assert dict(table.schema) == dict(SCHEMAS[name])


def test_a_real_report_that_says_ok() -> None:
    path = Path(__file__).resolve().parents[2] / "shared/cases/real/62_nccl1730_ras_ok_but_timeout/ncclras.txt"
    if not path.is_file():
        pytest.skip("real cases are not here")
    events = read(path.read_bytes())["events"]
    assert events.select("kind", "code").rows() == [("ras_status", "OK")]
