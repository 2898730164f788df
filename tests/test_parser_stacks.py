"""Stack dumps of py-spy and faulthandler."""

import io
import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers import read as read_bundle
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import SCHEMAS, Tables
from parsers.stacks import py_spy
from parsers.stacks.faulthandler import PARSER as FAULTHANDLER
from parsers.stacks.py_spy import PARSER as PY_SPY

CASES = Path(os.environ.get("FORENSICS_CASES", Path(__file__).resolve().parent.parent.parent / "shared" / "cases"))

DUMP = """Process 40: python train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 40 (active+gil): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2501)
        Arguments:
            tensor: <Tensor (4)>
    __poll (libc-2.31.so)
    <module> (train.py:12)
Thread 0x7F00AA (idle): "Thread-1 (_serve)"
    wait (threading.py:327)

--------------------------------------------------------------------------------
Process 50: python train.py
Python v3.11.7 (/usr/bin/python3.11)
Parent Process 40: python train.py

Thread 50 (idle)
    fetch (data.py:5)
"""
NOTE = """Seen at night:

Node 7:

2 in:
```
Thread 11 (active): "MainThread"
Thread 12 (active): "MainThread"
    broadcast (dist.py:10)
    <module> (train.py:2)
```
Node 8
```
Thread 11 (idle): "MainThread"
    wait (q.py:1)
```
"""
LISTING = "The groups:\ntrace-node-03\n    broadcast\n    send\ntrace-node-04\n    wait\n"
FAULT = """Fatal Python error: Segmentation fault

Thread 0x00000000000000aa (most recent call first):
  File "/opt/queue.py", line 10 in wait
  File "/opt/threading.py", line 11 in _bootstrap

Current thread 0x00000000000000bb [python3] (most recent call first):
  File "/opt/train.py", line 12 in step
  File "/opt/train.py", line 40 in <module>

Extension modules: numpy.core (total: 1)
"""


def read(parser: FileParser, text: str | bytes, rank: int | None = 5) -> Tables:
    data = text.encode() if isinstance(text, str) else text
    tables = parser.parse(Source("stacks/rank_5", len(data), lambda: io.BytesIO(data), rank=rank))
    for name, frame in tables.items():
        assert dict(frame.schema) == dict(SCHEMAS[name])
    return tables


def rows(tables: Tables, *columns: str) -> list[tuple[Any, ...]]:
    functions = pl.col("frames").list.eval(pl.element().struct.field("function")).alias("functions")
    return tables["stacks"].with_columns(functions).select(columns).rows()


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_py_spy_text(end: str) -> None:
    tables = read(PY_SPY, DUMP.replace("\n", end))
    assert rows(tables, "pid", "parent_pid", "thread", "thread_name", "is_main", "status", "rank", "line") == [
        (40, None, "40", "MainThread", True, "active+gil", 5, 4),
        (40, None, "0x7F00AA", "Thread-1 (_serve)", False, "idle", 5, 10),
        (50, 40, "50", None, True, "idle", 5, 18),
    ]
    assert tables["stacks"]["frames"].to_list()[0] == [
        {"function": "all_reduce", "file": "torch/distributed/distributed_c10d.py", "line": 2501},
        {"function": "__poll", "file": "libc-2.31.so", "line": None},
        {"function": "<module>", "file": "train.py", "line": 12},
    ]
    assert tables["unread"].height == 0 and set(tables["stacks"]["snapshot"]) == {0}


def test_py_spy_dumps_appended_to_one_file_are_snapshots() -> None:
    tables = read(PY_SPY, DUMP + DUMP)
    assert rows(tables, "pid", "snapshot", "rank") == [
        *((40, 0, 5), (40, 0, 5), (50, 0, 5)),
        *((40, 1, 5), (40, 1, 5), (50, 1, 5)),
    ]


def test_py_spy_of_unrelated_processes_has_no_rank() -> None:
    assert set(read(PY_SPY, DUMP + DUMP.replace("40", "60").replace("50", "70"))["stacks"]["rank"]) == {None}


def test_py_spy_behind_prefixes_that_mix() -> None:
    lines = DUMP.splitlines()[:9]
    other = [line.replace("40", "41") for line in lines]
    mixed = [f"node0{n}: {line}" for pair in zip(lines, other, strict=True) for n, line in enumerate(pair, start=1)]
    tables = read(PY_SPY, "\n".join(mixed))
    assert PY_SPY.accepts("x", "\n".join(mixed).encode())
    assert rows(tables, "host", "pid", "functions") == [
        ("node01", 40, ["all_reduce", "__poll", "<module>"]),
        ("node02", 41, ["all_reduce", "__poll", "<module>"]),
    ]


def test_py_spy_in_a_note() -> None:
    assert rows(read(PY_SPY, NOTE), "host", "pid", "thread", "is_main", "snapshot", "functions", "line") == [
        ("Node 7", 11, "11", True, 0, ["broadcast", "<module>"], 7),
        ("Node 7", 12, "12", True, 0, ["broadcast", "<module>"], 8),
        ("Node 8", 11, "11", True, 0, ["wait"], 14),
    ]


def debug_server(*parts: tuple[int, str, str]) -> str:
    """What torch's debug server writes: a heading per rank with its address, then that rank's own dump."""
    return "\n".join(f"=== Rank {rank}: http://{address} ===\n{dump}" for rank, address, dump in parts)


def test_py_spy_of_the_debug_server() -> None:
    text = debug_server((0, "trn00:40001", DUMP), (1, "10.0.0.7:40001", DUMP), (2, "trn01:40001", "Error: 500\n"))
    tables = read(PY_SPY, text)
    assert PY_SPY.accepts("pyspy_dump_1.txt", text.encode())
    assert rows(tables, "rank", "host", "pid", "snapshot") == [
        *((0, "trn00", 40, 0), (0, "trn00", 40, 0), (0, "trn00", 50, 0)),
        *((1, None, 40, 0), (1, None, 40, 0), (1, None, 50, 0)),
    ]
    assert set(tables["ranks"].select("rank", "host", "pid").rows()) >= {(0, "trn00", 40), (1, None, 40)}
    assert tables["unread"]["reason"].to_list() == ["no stack of rank 2: Error: 500"]


def test_faulthandler_of_the_debug_server() -> None:
    """Thread numbers are equal on all ranks, and two dumps of all ranks are two snapshots."""
    dump = (
        "Thread 0x00a1 (most recent call first):\n"
        '  File "/opt/x.py", line 3 in wait\n'
        "\n"
        "Thread 0x00b2 (most recent call first):\n"
        '  File "/opt/train.py", line 9 in <module>\n'
    )
    text = debug_server((0, "trn00:40001", dump), (1, "trn00:40002", dump))
    tables = read(FAULTHANDLER, text + text)
    assert FAULTHANDLER.accepts("stacks_1.txt", text.encode())
    main = tables["stacks"].filter("is_main").select("rank", "host", "snapshot")
    assert main.rows() == [(0, "trn00", 0), (1, "trn00", 0), (0, "trn00", 1), (1, "trn00", 1)]
    assert tables["unread"].height == 0 and set(tables["ranks"]["rank"]) == {0, 1}


THREAD = 'Thread 0x00b2 (most recent call first):\n  File "/opt/train.py", line 9 in <module>\n'


@pytest.mark.parametrize(
    ("head", "is_head"),
    [
        ("### rank {}", True),
        ("--- Rank {}/4 (pid 4711) ---", True),
        ("[global_rank={}]", True),
        ("***** rank {} of 4 *****", True),
        ("=== Rank {}: http://trn00:40001 ===", True),
        ("=== local rank {} ===", False),
        ("=== tp_rank {} ===", False),
        ("rank {} hangs", False),
        ("ranked {}", False),
    ],
)
def test_heads_of_those_who_write_a_loop_over_ranks(head: str, is_head: bool) -> None:
    text = "".join(f"{head.format(rank)}\n{THREAD}\n" for rank in (0, 3))
    assert read(FAULTHANDLER, text)["stacks"]["rank"].to_list() == ([0, 3] if is_head else [5, 5])  # of the file


@pytest.mark.parametrize(
    "thread",
    [
        'Thread 0x00b2 (most recent call first):\n  File "/opt/train.py", line 9 in <module>\n',
        'Thread 4711 (most recent call first):\n  File "/opt/train.py", line 9 in <module>\n',
        'Current thread 0x00b2 [main] (most recent call first):\n  File "/opt/train.py", line 9, in <module>\n',
    ],
    ids=["as it is printed", "a number of ten digits", "with a comma"],
)
def test_threads_by_hand(thread: str) -> None:
    (row,) = rows(read(FAULTHANDLER, thread), "is_main", "functions")
    assert row == (True, ["<module>"])


@pytest.mark.parametrize("name", ["stacks_1.txt", "stacks_rank_9.txt"])
def test_a_thread_of_faulthandler_is_read_once(tmp_path: Path, name: str) -> None:
    """Of a file with a parser of its own nobody reads the same threads again."""
    dump = 'Thread 0x00b2 (most recent call first):\n  File "/opt/train.py", line 9 in <module>\n'
    (tmp_path / name).write_text(debug_server((0, "trn00:40001", dump), (1, "trn00:40002", dump)))
    assert read_bundle(tmp_path).tables["stacks"]["rank"].to_list() == [0, 1]


def test_listing_of_innermost_frames() -> None:
    assert rows(read(PY_SPY, LISTING, None), "host", "is_main", "functions", "line") == [
        ("node-03", True, ["broadcast"], 3),
        ("node-03", True, ["send"], 4),
        ("node-04", True, ["wait"], 6),
    ]


def thread(number: int, name: str) -> dict[str, Any]:
    frame = {"name": "wait", "filename": "/opt/q.py", "short_filename": "q.py", "line": 3, "locals": None}
    flags = {"active": True, "owns_gil": True, "process_info": None}
    return {"pid": 40, "thread_id": 99, "thread_name": name, "os_thread_id": number, "frames": [frame], **flags}


def test_py_spy_json() -> None:
    text = json.dumps([thread(41, "feeder"), thread(40, "MainThread")], indent=2)
    tables = read(PY_SPY, text)
    assert PY_SPY.accepts("x.json", text.encode())
    assert rows(tables, "pid", "thread", "thread_name", "is_main", "status", "record", "rank") == [
        (40, "41", "feeder", False, "active+gil", 0, 5),
        (40, "40", "MainThread", True, "active+gil", 1, 5),
    ]
    assert tables["stacks"]["frames"].to_list()[0] == [{"function": "wait", "file": "/opt/q.py", "line": 3}]
    two = read(PY_SPY, text + "\n" + json.dumps([{**thread(50, "MainThread"), "pid": 50}], indent=2))
    assert rows(two, "pid") == [(40,), (40,), (50,)] and two["unread"].height == 0
    cut = read(PY_SPY, text[:-20])
    assert cut["stacks"].height == 1 and cut["unread"]["reason"][0].startswith("cut: ")


@pytest.mark.parametrize(
    ("parser", "text", "reason"),
    [
        (PY_SPY, "Error: Permission denied (os error 1)\n", "py-spy: Error: Permission denied"),
        (PY_SPY, DUMP[:-4], "cut: neither"),
        (PY_SPY, DUMP[: DUMP.index(' (idle): "Thr')], "cut: neither"),
        (PY_SPY, "[1]", "not a thread"),
        (FAULTHANDLER, FAULT[: FAULT.index(" in step")], "cut: not a whole frame"),
    ],
)
def test_what_could_not_be_read(parser: FileParser, text: str, reason: str) -> None:
    assert read(parser, text)["unread"]["reason"][0].startswith(reason)


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_faulthandler(end: str) -> None:
    tables = read(FAULTHANDLER, FAULT.replace("\n", end))
    assert rows(tables, "thread", "thread_name", "is_main", "status", "snapshot", "functions", "rank", "line") == [
        ("0x00000000000000aa", None, False, None, 0, ["wait", "_bootstrap"], 5, 3),
        ("0x00000000000000bb", "python3", True, "current", 0, ["step", "<module>"], 5, 7),
    ]
    assert tables["unread"].height == 0


def test_faulthandler_snapshots_and_main_threads() -> None:
    shortened = FAULT.replace("line 40 in <module>", "line 40 in run").replace(
        "Fatal Python error: Segmentation fault", "Timeout (0:00:30)!"
    )
    truncated = FAULT.replace('  File "/opt/train.py", line 40 in <module>', "  ...")
    tables = read(FAULTHANDLER, FAULT + shortened + truncated)
    assert rows(tables, "snapshot", "is_main") == [
        *((0, False), (0, True)),
        *((1, False), (1, True)),
        *((2, False), (2, True)),
    ]
    swapped = FAULT.replace("Current thread", "Thread").replace("Thread 0x00000000000000aa", "Current thread 0xaa")
    assert rows(read(FAULTHANDLER, swapped), "is_main", "status") == [(False, "current"), (True, None)]


def test_faulthandler_of_one_thread() -> None:
    text = 'Stack (most recent call first):\n  File "a.py", line 1 in f\n'
    assert rows(read(FAULTHANDLER, text), "thread", "is_main", "functions") == [(None, True, ["f"])]


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        (DUMP, PY_SPY),
        (NOTE, PY_SPY),
        (LISTING, PY_SPY),
        (FAULT, FAULTHANDLER),
        ("", None),
        ("loss 1.0\n" * 30 + DUMP, None),
        ("loss 1.0\n" * 30 + FAULT, None),
        ('[{"frames": 1}]', None),
        ("    indented\n    lines\n", None),
    ],
)
def test_accepts(text: str, accepted: FileParser | None) -> None:
    head = text.encode()
    assert [parser for parser in (PY_SPY, FAULTHANDLER) if parser.accepts("a/b", head)] == (
        [accepted] if accepted else []
    )


PIECES = st.sampled_from([*DUMP.splitlines(), *NOTE.splitlines(), *LISTING.splitlines(), *FAULT.splitlines(), "[", "é"])


@given(st.lists(PIECES, max_size=12), st.binary(max_size=30), st.integers(0, 400))
@settings(max_examples=150, deadline=None)
def test_nothing_raises(pieces: list[str], tail: bytes, end: int) -> None:
    data = "\n".join(pieces).encode()[:end] + tail
    for parser in (PY_SPY, FAULTHANDLER):
        parser.accepts("py-spy", data)
        read(parser, data)


@pytest.mark.skipif(not CASES.is_dir(), reason="no real cases here")
def test_real_dumps() -> None:
    files = [*CASES.glob("gloo/*/stacks/*"), *CASES.glob("bloom/*pyspy*"), *CASES.glob("bloom/*innermost*")]
    assert files
    for path in files:
        parser = FAULTHANDLER if "faulthandler" in path.name else PY_SPY
        data = path.read_bytes()
        assert parser.accepts(path.name, data[:65536]), path
        tables = read(parser, data)
        assert tables["unread"].height == 0 and tables["stacks"]["is_main"].any(), path


@pytest.mark.parametrize("rows", [1, 10_000])
def test_dumps_together_are_read_as_each_alone(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(py_spy, "ROWS", rows)
    texts = [DUMP, NOTE, "Error: Permission denied", LISTING, "", json.dumps([{"frames": []}, 5])]
    sources = [
        Source(f"pyspy_rank_{at}.txt", len(text), lambda text=text: io.BytesIO(text.encode()), rank=at)  # type: ignore[misc]
        for at, text in enumerate(texts)
    ]
    whole, alone = py_spy.together(sources), [PY_SPY.parse(source) for source in sources]
    for name in ("stacks", "unread"):
        assert whole[name].equals(pl.concat([tables[name] for tables in alone])), name


WORKER = """Process 50: python train.py --rank=3
Python v3.11.7 (/usr/bin/python3.11)

Thread 50 (active): "MainThread"
    read (zipfile.py:930)
    _worker_loop (torch/utils/data/_utils/worker.py:349)
    _bootstrap (multiprocessing/process.py:314)
"""


def test_a_worker_that_was_dumped_by_itself_is_a_child(tmp_path: Path) -> None:
    """Behind the dump of its parent it is that one's; alone it is no main thread of a training process."""
    top = 'Process 40: python train.py --rank=3\n\nThread 40 (idle): "MainThread"\n    get (multiprocessing/queues.py:113)\n'
    (tmp_path / "rank3.txt").write_text(f"{top}\n$ py-spy dump --pid 50\n{WORKER}")
    (tmp_path / "other.txt").write_text(WORKER)
    found = (
        read_bundle(str(tmp_path))
        .tables["stacks"]
        .sort("file", "line")
        .select("file", "rank", "pid", "parent_pid", "is_main")
    )
    assert found.rows() == [
        ("other.txt", None, 50, None, False),
        ("rank3.txt", 3, 40, None, True),
        ("rank3.txt", 3, 50, 40, True),
    ]
