"""NCCL's dump of its proxy, and counters of transfers as CSV and JSON Lines."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import read
from parsers.comm.proxy_dump import COUNTERS, DUMP
from parsers.schema.tables import SCHEMAS
from tests.lines import lines
from tests.sources import source

WHOLE = """ACTIVE OPS
[0-12|57| Recv 3R/0 3I/1]
| `-> [0-13|58| Coll 2 /0]
|
v
[1-2|59| Send 7/4]
|
v
[X]
Elem 0-9 is not in any list:
[0-9|12| Send 1D/0]
"""
HEADER = "rank,group,seq,channel,peer,direction,total,posted,received,transmitted,done"
KEYS = ("op_count", "direction", "peer", "state", "channel")


def dumped(text: str, **columns: Any) -> list[tuple[Any, ...]]:
    return DUMP.parse(lines(text, **columns))["transfers"].select(KEYS).rows()


def counted(content: bytes | str, **columns: Any) -> list[tuple[Any, ...]]:
    made = COUNTERS.parse(source(content, **columns))["transfers"]
    return made.select("rank", "group", "seq", "channel", "peer", "direction", "total", "transmitted", "done").rows()


def test_a_whole_dump() -> None:
    assert dumped(WHOLE) == [
        (57, "recv", 3, "receiving", 0),
        (57, "recv", 3, "posting", 1),
        (58, None, 2, "progress", 0),
        (59, "send", 7, "ready", 4),
    ]
    assert DUMP.parse(lines(WHOLE))["claimed"]["line"].to_list() == list(range(1, 12))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", []),
        ("the | Send queue is full", []),
        ("[0-1|5| Send 1G/0]", [(5, "send", 1, "waiting_for_device", 0)]),
        ("[0-1|5| Send 1S/0]\r", [(5, "send", 1, "sending", 0)]),
        ("[0-1|5| Recv 1F/31]", [(5, "recv", 1, "flushing", 31)]),
        ("[0-1|5| Recv 1D/0]", [(5, "recv", 1, "done", 0)]),
        ("[0-1|5| Recv 1Q/0]", [(5, "recv", 1, None, 0)]),
        ("[0-1|5| Coll]", []),
        ("[0-1|5| Recv 1R/0 2R", []),
        ("[0-1|5| Recv 1R/0][0-2|6| Recv 1R/0]", []),
        ("[0-1|5| Recv 1R/\ufffd]", []),
        ("Elem 0-1 is not in any list:\n[0-2|5| Send 1S/0]", [(5, "send", 1, "sending", 0)]),
    ],
    ids=["empty", "foreign", "device", "crlf", "flush", "done", "unknown letter", "no peer", "cut", "glued", "invalid",
         "leftover of another"],
)  # fmt: skip
def test_lines_of_a_dump(text: str, rows: list[tuple[Any, ...]]) -> None:
    assert dumped(text) == rows


def test_leftovers_of_ranks_in_one_file_come_apart() -> None:
    text = "Elem 0-1 is not in any list:\n[0-1|5| Send 1S/0]\n[0-1|4| Send 1S/0]"
    made = DUMP.parse(lines(text, rank=[0, 1, 0]))["transfers"]
    assert made.select("rank", "op_count").rows() == [(1, 5)]


JSON = (
    '{"rank": 5, "group": "dp", "seq": 57, "channel": 0, "peer": 4, "direction": "receive", "total": 126, "done": 40}'
)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (f"{HEADER}\n5,dp,57,0,4,recv,126,48,40,,40\n", [(5, "dp", 57, 0, 4, "recv", 126, None, 40)]),
        (f"{HEADER}\r\n5,dp,57,0,4,send,126,48,,44,40\r\n", [(5, "dp", 57, 0, 4, "send", 126, 44, 40)]),
        (f"{HEADER}\n", []),
        (f"{HEADER}\n5,dp,57,0,4", []),
        (f"{HEADER}\n5,dp,57,0,4,sideways,126,48,40,,40", []),
        (f"{HEADER}\n,dp,57,0,4,recv,126,48,40,,40", []),
        (f"{HEADER}\n5,dp,57,0,4,recv,126,48,40,,-3", []),
        ("seq,channel,done,total,rank\n57,0,40,126,5", [(5, None, 57, 0, None, None, 126, None, 40)]),
        (JSON, [(5, "dp", 57, 0, 4, "recv", 126, None, 40)]),
        (JSON + JSON, []),
        (f"\ufeff{JSON}\n", [(5, "dp", 57, 0, 4, "recv", 126, None, 40)]),
        (HEADER.encode() + b"\n5,\xff,57,0,4,recv,126,48,40,,40", [(5, "\ufffd", 57, 0, 4, "recv", 126, None, 40)]),
    ],
    ids=["receive", "send, crlf", "header", "cut", "no way", "no rank", "below zero", "least", "json", "glued", "mark",
         "invalid"],
)  # fmt: skip
def test_counters(content: bytes | str, rows: list[tuple[Any, ...]]) -> None:
    assert counted(content) == rows


def test_a_row_that_does_not_fit_is_said_and_the_path_knows_the_rank() -> None:
    made = COUNTERS.parse(source(f"{HEADER}\n,dp,57,0,4,recv,126,48,40,,40\nnonsense\n", rank=3, host="node0"))
    assert made["transfers"].select("rank", "host").rows() == [(3, "node0")]
    assert made["unread"].select("line", "reason").rows() == [(3, "not a row of transfer counters")]
    assert made["claimed"]["line"].to_list() == [1]


@pytest.mark.parametrize(
    ("head", "is_ours"),
    [
        (HEADER.encode(), True),
        (b"rank,step,phase,ms", False),
        (JSON.encode(), True),
        (b'{"seq": 3, "channel": 1}', False),
        (b"", False),
        (b"\xff\xfe{", False),
    ],
    ids=["csv", "phases", "json", "too few keys", "empty", "binary"],
)
def test_a_table_of_counters_is_known_by_its_columns(head: bytes, is_ours: bool) -> None:
    assert COUNTERS.accepts("x", head) is is_ours


def test_both_forms_in_a_bundle(tmp_path: Any) -> None:
    (tmp_path / "rank_3.log").write_text(WHOLE)
    (tmp_path / "counters.csv").write_text(f"{HEADER}\n5,dp,57,0,4,recv,126,48,40,,40\n")
    tables = read(str(tmp_path)).tables
    assert tables["transfers"].group_by("file").len().sort("file").rows() == [("counters.csv", 1), ("rank_3.log", 4)]
    files = {row["file"]: row for row in tables["files"].iter_rows(named=True)}
    assert files["rank_3.log"]["parsers"] == ["proxy_dump"]
    assert files["rank_3.log"]["recognised"] == 11


@given(st.binary(max_size=200))
def test_no_content_breaks_the_parsers(content: bytes) -> None:
    for head in (b"", HEADER.encode() + b"\n", b"{"):
        COUNTERS.accepts("x", head + content)
        made = COUNTERS.parse(source(head + content))
        assert dict(made["transfers"].schema) == dict(SCHEMAS["transfers"])
    DUMP.parse(lines(content.decode("utf-8", "replace")))
