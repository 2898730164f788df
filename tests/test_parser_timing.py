"""Times per phase from traces, timers and reports; node checks and heartbeats."""

import gzip
import json
from pathlib import Path

import pytest

from parsers import read
from parsers.scheduling import heartbeat, preflight
from parsers.schema.parser import FileParser
from parsers.timing import kineto, megatron_timers, msprof, nvrx, phases
from tests.lines import lines
from tests.sources import source

TIMERS = """ iteration       12/    100 | lm loss: 1.0
(min, max) time across ranks (ms):
    forward-backward ...............................: (26094.39, 26095.09)
    optimizer ......................................: (3407.56, 3409.92)
something else
    optimizer ......................................: (1.0, 2.0)
max time across ranks (ms):
    save-checkpoint ................................: 18512.90
times across ranks (ms):
  forward-backward:
     rank  0: 1234.50
     rank  1: 1300.25"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_megatron_timers(ending: str) -> None:
    timings = megatron_timers.PARSER.parse(lines(TIMERS.replace("\n", ending)))["timings"]
    assert timings.select("step", "phase", "name", "min_ms", "max_ms", "value_ms", "rank", "line").rows() == [
        (12, "forward_backward", "forward-backward", 26094.39, 26095.09, None, None, 3),
        (12, "optimizer", "optimizer", 3407.56, 3409.92, None, None, 4),
        (12, "checkpoint", "save-checkpoint", None, 18512.9, None, None, 8),
        (12, "forward_backward", "forward-backward", None, None, 1234.5, 0, 11),
        (12, "forward_backward", "forward-backward", None, None, 1300.25, 1, 12),
    ]


def test_megatron_straggler_lines() -> None:
    text = (
        "[2024-03-14 23:07:56] | MnRtt/Rnk: 3453.08ms/8 | MxRtt/Rnk: 3468.20ms/0 | MnTmp/Rnk: 52C/0 | MxTmp/Rnk: 65C/21\n"
        "^^^^ Bottom 2 Ranks with lowest  Etpt(TF): 296.02/0, 296.17/2,\n"
        "^^^^ Top    2 Ranks with highest Etpt(TF): 297.28/15, 297.28/11,"
    )
    read = megatron_timers.PARSER.parse(lines(text))
    assert read["timings"].select("name", "min_ms", "min_rank", "max_ms", "max_rank").rows() == [
        ("step", 3453.08, 8, 3468.2, 0)
    ]
    assert read["events"].select("kind", "severity", "names_ranks").rows() == [
        ("straggler", "info", None),
        ("straggler", "info", [0, 2]),
        ("straggler", "info", None),
    ]


NVRX = [
    pytest.param("", [], id="empty"),
    pytest.param("Score= of the game", [], id="foreign"),
    pytest.param(
        "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: [5, 13]",
        [("relative", "warning", [5, 13], None)],
        id="nemo",
    ),
    pytest.param(
        "STRAGGLER DETECTION WARNING: Some GPUs performance dropped. Affected ranks: [5]\r",
        [("individual", "warning", [5], None)],
        id="crlf",
    ),
    pytest.param(
        "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {StragglerId(rank=21, node='n3')}",
        [("relative", "warning", [21], None)],
        id="names of reports",
    ),
    pytest.param(
        "DETECTED RELATIVE STRAGGLER GPU RANK=5 NODE=gpu-017",
        [("relative", "warning", [5], ["gpu-017"])],
        id="detected",
    ),
    pytest.param("Rank=5 Node=gpu-017 Score=0.61", [("score", "info", None, ["gpu-017"])], id="score"),
    pytest.param("DETECTED RELATIVE STRAGGLER GPU RANK=", [], id="cut"),
]


@pytest.mark.parametrize(("text", "rows"), NVRX)
def test_nvrx(text: str, rows: list[tuple[object, ...]]) -> None:
    events = nvrx.PARSER.parse(lines(text, rank=0))["events"]
    assert events.select("code", "severity", "names_ranks", "names_hosts").rows() == rows


TRACE = {
    "schemaVersion": 1,
    "distributedInfo": {"backend": "nccl", "rank": 13, "world_size": 64},
    "traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#12", "ts": 1000.0, "dur": 5000.0},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#12", "ts": 1100.0, "dur": 4000.0},
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16", "ts": 1200.0, "dur": 900.0},
        {"ph": "X", "cat": "kernel", "name": "gemm {[", "ts": 2200.0, "dur": 500.0},
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 2800.0, "dur": 500.0},
        {"ph": "i", "cat": "kernel", "name": "marker", "ts": 2800.0},
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#13", "ts": 6000.0, "dur": 2000.0},
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 6100.0, "dur": 100.0},
        {"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#x", "ts": 6200.0, "dur": 300.0},
    ],
}
ROWS = [
    (12, "all", 5.0, 13),
    (12, "comm", 0.9, 13),
    (12, "compute", 1.0, 13),
    (13, "all", 2.0, 13),
    (13, "data", 0.3, 13),
    (13, "memcpy", 0.1, 13),
]


@pytest.mark.parametrize("is_packed", [False, True])
def test_kineto(is_packed: bool) -> None:
    data = json.dumps(TRACE, indent=1).encode()
    data = gzip.compress(data) if is_packed else data
    assert kineto.PARSER.accepts("trace.json", data)
    read = kineto.PARSER.parse(source(data))
    assert sorted(read["timings"].select("step", "phase", "value_ms", "rank").rows()) == ROWS
    assert read["unread"].is_empty()
    assert kineto.PARSER.parse(source(data[: len(data) * 2 // 3]))["unread"].height == 1


def test_a_trace_that_tells_the_groups_of_its_job_is_no_flight_record(tmp_path: Path) -> None:
    """Since PyTorch 2.4 `distributedInfo` holds `pg_config` and `nccl_version`, keys of a flight recorder, too."""
    told = {"rank": 13, "world_size": 64, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}], "nccl_version": "2.21.5"}
    (tmp_path / "n1_4000.pt.trace.json").write_text(json.dumps(TRACE | {"distributedInfo": told}))
    evidence = read(str(tmp_path))
    assert sorted(evidence.tables["timings"].select("step", "phase", "value_ms", "rank").rows()) == ROWS
    assert evidence.tables["unread"].is_empty()


def test_kineto_ends_on_an_endless_event() -> None:
    text = '{"traceEvents": [{"name": "' + "a" * (5 << 20)
    assert "end" in kineto.PARSER.parse(source(text))["unread"]["reason"][0]
    assert kineto.PARSER.parse(source('{"traceEvents": []}'))["timings"].is_empty()
    deep = '{"traceEvents": [' + "[" * 200_000
    assert kineto.PARSER.parse(source(deep))["unread"].height == 1


STEP_TRACE = """Step,Type,Index,Computing,Communication(Not Overlapped),Stage
12,rank,3,80309.5,683731.0,1754645.0
12,stage,"(0, 3)",1,2,3
12,rank
"""


def test_msprof() -> None:
    assert msprof.PARSER.accepts("x", STEP_TRACE.encode())
    read = msprof.PARSER.parse(source(STEP_TRACE))
    assert read["timings"].select("rank", "step", "phase", "value_ms", "line").rows() == [
        (3, 12, "compute", 80.3095, 2),
        (3, 12, "comm_exposed", 683.731, 2),
        (3, 12, "all", 1754.645, 2),
    ]
    assert read["unread"]["line"].to_list() == [4]
    times = {"Communication Time Info": {"Start Timestamp(us)": 1000.0, "Elapse Time(ms)": 121.5, "Wait Time(ms)": 1.5}}
    text = json.dumps({"(0, 1)": {"step12": {"hcom_x@62": {"0": times, "1": 3}, "Total Op Info": {"0": times}}}})
    assert msprof.PARSER.accepts("x", text.encode())
    found = msprof.PARSER.parse(source(text))["timings"]
    assert found.select("rank", "step", "name", "phase", "value_ms", "level", "time_ns").rows() == [
        (0, 12, "hcom_x", "comm", 121.5, 2, 1_000_000),
        (0, 12, "hcom_x", "comm_wait", 1.5, 2, 1_000_000),
    ]
    assert msprof.PARSER.parse(source(text[:-3]))["unread"].height == 1


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_phases(ending: str) -> None:
    text = "rank,step,phase,us\n13,4200,backward,310200\n13,4200\nx,1,forward,1\n".replace("\n", ending)
    assert phases.PARSER.accepts("x", text.encode())
    read = phases.PARSER.parse(source(text))
    assert read["timings"].select("rank", "step", "phase", "level", "value_ms", "line").rows() == [
        (13, 4200, "backward", 0, 310.2, 2)
    ]
    assert read["unread"]["line"].to_list() == [3, 4]
    objects = '{"step": 1, "phase": "comm", "name": "AlltoAll", "ms": 12.5}\n{"step": 1'
    assert phases.PARSER.accepts("x", objects.encode())
    found = phases.PARSER.parse(source(objects, rank=7))
    assert found["timings"].select("rank", "name", "level", "value_ms").rows() == [(7, "AlltoAll", 1, 12.5)]
    assert found["unread"]["line"].to_list() == [2]


def test_preflight() -> None:
    text = "host,round,peers,test,ok,gb_per_s\ngpu-017,1,gpu-003;gpu-004,allgather,fail,2.1\ngpu-003,1,,allgather,ok,190\nx\n"
    assert preflight.PARSER.accepts("x", text.encode())
    read = preflight.PARSER.parse(source(text))
    assert read["events"].select("code", "severity", "host", "names_hosts", "value", "line").rows() == [
        ("failed", "error", "gpu-017", ["gpu-017"], 2.1, 2),
        ("ok", "info", "gpu-003", None, 190.0, 3),
    ]
    assert json.loads(read["events"]["detail"][0])["peers"] == ["gpu-003", "gpu-004"]
    assert read["unread"]["line"].to_list() == [4]
    objects = '{"node": 3, "round": 0, "test": "matmul", "ok": false, "seconds": 3600, "time": 1740669002}'
    event = preflight.PARSER.parse(source(objects))["events"]
    assert event.select("names_ranks", "names_rank_space", "time_ns").rows() == [([3], "node", 1740669002 * 10**9)]


def test_heartbeat_keeps_the_last_beat() -> None:
    text = "time,host,rank,step,state\n20,n1,1,7,running\n10,n1,1,6,running\n15,n2,2,6,running\nbad\n"
    assert heartbeat.PARSER.accepts("x.csv", text.encode())
    read = heartbeat.PARSER.parse(source(text))
    assert read["events"].select("rank", "host", "step", "time_ns", "line").rows() == [
        (1, "n1", 7, 20 * 10**9, 2),
        (2, "n2", 6, 15 * 10**9, 4),
    ]
    assert read["claimed"]["line"].to_list() == [1, 3]
    assert read["unread"]["line"].to_list() == [5]


FILES = (kineto.PARSER, msprof.PARSER, phases.PARSER, preflight.PARSER, heartbeat.PARSER)


@pytest.mark.parametrize("parser", FILES)
@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"\xff\xfe\x00", b"{}", b"a,b\n1,2\n", b"\x1f\x8b\x08", b"{" * 9999]
)
def test_foreign_content(parser: FileParser, content: bytes) -> None:
    assert not parser.accepts("x", content)
    parser.parse(source(content))
