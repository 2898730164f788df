"""Who ended how, and who was merely stopped, as torchrun tells it."""

import json

import pytest

from parsers.pytorch.elastic import PARSER
from tests.lines import lines

TABLE = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
pretrain.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-01-31_10:11:12
  host      : gpu-017
  rank      : 13 (local_rank: 5)
  exitcode  : -9 (pid: 4711)  (SIGKILL)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 4711
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-01-31_10:11:10
  host      : gpu-017
  rank      : 8 (local_rank: 0)
  exitcode  : 1 (pid: 4706)
  error_file: /tmp/e.json
  traceback : To enable traceback see: https://example.org
============================================================"""

OLD_TABLE = """Root Cause:
[0]:
  time: 2021-08-05_18:01:19
  rank: 3 (local_rank: 3)
  exitcode: -6 (pid: 3212)
  error_file: <N/A>
  msg: "Process failed with exitcode -6"
Other Failures:
  <NO_OTHER_FAILURES>"""


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        pytest.param(
            "E0816 01:45:43.466000 88 torch/x/api.py:833] failed (exitcode: -9) local_rank: 3 (pid: 12) of binary: /p",
            "exit",
            {"code": "SIGKILL", "local_rank": 3, "pid": 12, "rank": None},
            id="failed-2.4",
        ),
        pytest.param(
            "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 7) of binary",
            "exit",
            {"code": "1", "local_rank": 0, "pid": 7, "rank": None},
            id="failed-1.9",
        ),
        pytest.param(
            "[2024-02-09 09:09:15,164] torch.x: [ERROR] failed (exitcode: -250) local_rank: 0 (pid: 7) of binary\r",
            "exit",
            {"code": "250", "pid": 7},
            id="unknown-signal-crlf",
        ),
        pytest.param(
            "torch/multiprocessing/spawn.py:165] Terminating process 44 via signal SIGTERM",
            "closing_signal",
            {"pid": 44, "code": "SIGTERM"},
            id="closing by spawn",
        ),
        pytest.param(
            "Sending process 44 closing signal SIGTERM", "closing_signal", {"pid": 44, "code": "SIGTERM"}, id="closing"
        ),
        pytest.param(
            "Received 15 death signal, shutting down workers",
            "closing_signal",
            {"pid": None, "code": "SIGTERM"},
            id="death",
        ),
        pytest.param(
            "Received Signals.SIGHUP death signal, shutting down workers",
            "closing_signal",
            {"code": "SIGHUP"},
            id="death-name",
        ),
        pytest.param("RendezvousTimeoutError", "missing_members", {"code": "rendezvous"}, id="rendezvous"),
        pytest.param(
            "[default] worker group successfully finished.", "job_end", {"rank": None, "code": "workers"}, id="end"
        ),
    ],
)
def test_single_lines(text: str, kind: str, expected: dict[str, object]) -> None:
    tables = PARSER.parse(lines(text, path_rank=5))
    [row] = tables["events"].rows(named=True)
    assert row["kind"] == kind
    assert {key: row[key] for key in expected} == expected
    assert row["rank"] is None and row["rank_space"] is None  # the agent's path says nothing about the worker


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"Sending process {'9' * 30} closing",
        "step 3 done",
        "rank: 3",
        "time : now",
        "the host      : x",
        "failed (exitcode: -9",
        "Failures:",
    ],
    ids=["empty", "huge-number", "foreign", "bare-rank", "bare-time", "bare-host", "cut", "title-only"],
)
def test_says_nothing(text: str) -> None:
    assert PARSER.parse(lines(text))["events"].is_empty()


def test_failure_table() -> None:
    tables = PARSER.parse(lines(TABLE))
    seen = [(e["kind"], e["rank"], e["local_rank"], e["code"], e["host"], e["pid"]) for e in _rows(tables, "events")]
    assert seen == [
        ("exit", 13, 5, "SIGKILL", "gpu-017", 4711),
        ("exit", 8, 0, "1", "gpu-017", 4706),
        ("first_failure", 8, 0, "1", "gpu-017", 4706),
    ]
    killed = _rows(tables, "events")[0]
    assert killed["time_ns"] == 1769854272 * 10**9 and killed["time_basis"] == "local"
    assert json.loads(killed["detail"]) == {"traceback": "Signal 9 (SIGKILL) received by PID 4711"}
    assert [(r["rank"], r["local_rank"], r["pid"], r["how"]) for r in _rows(tables, "ranks")] == [
        (13, 5, 4711, "elastic failure table"),
        (8, 0, 4706, "elastic failure table"),
    ]
    assert tables["claimed"].height >= 18


def test_old_table() -> None:
    tables = PARSER.parse(lines(OLD_TABLE))
    assert [(e["kind"], e["rank"], e["code"]) for e in _rows(tables, "events")] == [
        ("exit", 3, "SIGABRT"),
        ("first_failure", 3, "SIGABRT"),
    ]


def test_two_agents_interleaved_in_one_file() -> None:
    """Lines that srun labelled come apart by task."""
    first = TABLE.split("\n")
    second = [line.replace("gpu-017", "gpu-018").replace("13 (", "21 (") for line in first]
    mixed = "\n".join(line for pair in zip(first, second, strict=True) for line in pair)
    tables = PARSER.parse(lines(mixed, task=[0, 1] * len(first)))
    exits = {(e["rank"], e["host"]) for e in _rows(tables, "events") if e["code"] == "SIGKILL"}
    assert exits == {(13, "gpu-017"), (21, "gpu-018")}


@pytest.mark.parametrize("cut", range(0, len(TABLE), 37))
def test_a_cut_table_is_read_to_the_cut(cut: int) -> None:
    tables = PARSER.parse(lines(TABLE[:cut]))
    assert {e["rank"] for e in _rows(tables, "events")} <= {13, 8, 1, None}


@pytest.mark.parametrize(
    "head", ["", "I0816 01:45:43.466000 4700 torch/distributed/elastic/agent/server/api.py:553] "], ids=["1.9", "2.3"]
)
def test_rendezvous_result_maps_ranks(head: str) -> None:
    text = f"{head}[default] Rendezvous complete for workers. Result:\n{head}  restart_count=1\n{head}  master_addr=gpu-017"
    text += f"\n{head}  local_ranks=[0, 1]\n{head}  global_ranks=[8, 9]\n{head}  global_world_sizes=[16, 16]\n"
    tables = PARSER.parse(lines(text, host="gpu-018"))
    assert [(r["rank"], r["local_rank"], r["host"], r["world_size"]) for r in _rows(tables, "ranks")] == [
        (8, 0, "gpu-018", 16),
        (9, 1, "gpu-018", 16),
    ]
    assert ("restart_count", "1") in {(s["name"], s["value"]) for s in _rows(tables, "settings")}


def _rows(tables: object, name: str) -> list[dict[str, object]]:
    return tables[name].rows(named=True)  # type: ignore[index,no-any-return]


def test_a_cut_line_still_tells_the_exit_code() -> None:
    [row] = PARSER.parse(lines("ERROR:torch.distributed.elastic: failed (exitcode: -6) local_ra"))["events"].rows(
        named=True
    )
    assert (row["kind"], row["code"], row["local_rank"], row["pid"]) == ("exit", "SIGABRT", None, None)
