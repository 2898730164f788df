"""Windows full of one line form: the same rows as line by line, everything else left to the scan, lines where they were."""

import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parsers import read
from parsers.comm.nccl import PARSER
from parsers.comm.nccl_collectives import DENSE
from parsers.engine import dense
from parsers.engine.dense import DenseReader
from parsers.schema.tables import spelled
from tests.lines import lines

COUNT = 1200
PATH: dict[str, Any] = {"file": "a.log", "path_rank": None, "path_host": None}


def line(number: int, prefix: str = "") -> str:
    op, device = ("AllReduce", "Send", "Broadcast", "AllGather")[number % 4], number % 8
    return (
        f"{prefix}n1:{40 + device}:91 [{device}] NCCL INFO {op}: opCount {number:x} sendbuff 0x7{number:x} recvbuff "
        f"0x8{number:x} count {4096 << number % 3} datatype 9 op 0 root {number % 2} comm 0x55d{device} [nranks=8] "
        "stream 0x9"
    )


def take(text: str | bytes, first: int = 1, **path: Any) -> tuple[bytes, pl.DataFrame]:
    reader = DenseReader((DENSE,), PATH | path)
    block = text.encode() if isinstance(text, str) else text
    left, size = reader.take(block, len(block), first)
    assert size == len(left)
    return bytes(left), reader.tables().get("operations", pl.DataFrame())


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "crlf"])
def test_the_rows_are_those_of_the_line_parser(end: str) -> None:
    bodies = [line(number) for number in range(COUNT)]
    left, rows = take("".join(body + end for body in bodies), first=7)
    assert left == b"\n" * COUNT
    assert rows.equals(PARSER.parse(lines("\n".join(bodies), start=7))["operations"])


def mangled(body: str, at: int) -> str:
    """A line with a defect in its call, another one each time."""
    begin = body.index("opCount")
    place = begin + at * 37 % (len(body) - begin)
    return (
        body[:place] + " " + body[place:],
        body[:place] + "é" + body[place:],
        body[:place] + "X" + body[place + 1 :],
        body.replace("sendbuff", "sendbuf "),
        body.replace("sendbuff ", "sendbuff  "),
        body.replace("opCount ", "opCount +"),
        body.replace("stream 0x9", "stream 0x9g"),
        body[:place] + "\r" + body[place:],
    )[at % 8]


@pytest.mark.parametrize("prefix", ["", "[rank3]: ", "\t", "2026-01-31T10:11:12.5Z stdout F "], ids=repr)
@pytest.mark.parametrize("others", [0, 1, 3])
def test_odd_lines_are_the_same_by_columns_and_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, others: int
) -> None:
    bodies = []
    for at in range(2 * COUNT):
        bodies.append(line(at, prefix) if at % 25 else mangled(line(at, prefix), at // 25))
        bodies += [f"seen {at} of {number}" for number in range(others)]  # which nobody reads: that costs the most
    (tmp_path / "job.log").write_text("\n".join(bodies) + "\n", newline="")
    monkeypatch.setattr(dense, "PIECE", 1 << 16)  # what a piece has numbered holds for the next one
    by_columns = read(str(tmp_path)).tables
    monkeypatch.setattr(dense, "FEWEST", 10**9)
    by_lines = read(str(tmp_path)).tables
    assert spelled(by_columns["operations"]).equals(spelled(by_lines["operations"]))


STAMP = "2026-01-31T10:11:12.5Z"
PREFIXES = ("", "[rank3]:", "[default2]:", "0: ", "12: ", "node3: ", "worker-1  | ", "[1,12]<stdout>:", "\x1b[31m", "\t",
            f"{STAMP} stdout F ", f"{STAMP} stdout P ", f"{STAMP} stderr F ", "[2026-01-31 10:11:12] ", "some words ")  # fmt: skip
Damage = tuple[int, int, str]  # begin, length of what is lost, what stands there instead


def written(prefixes: list[str], hosts: list[str], damages: dict[int, Damage]) -> list[str]:
    """Lines of collectives behind launchers' prefixes, some with a damage before the call; a plain line among each eleven."""
    bodies = []
    for at in range(120):
        whole = line(at, prefixes[at % len(prefixes)]).replace("n1:", hosts[at // 2 % len(hosts)] + ":")
        if at in damages:
            begin, lost, instead = damages[at]
            begin %= whole.index("opCount")
            whole = whole[:begin] + instead + whole[min(begin + lost, whole.index("opCount") - 2) :]
        bodies += [whole, f"step {at}"] if at % 10 == 9 else [whole]
    return bodies


@given(
    prefixes=st.lists(st.sampled_from(PREFIXES), min_size=1, max_size=4),
    hosts=st.lists(st.sampled_from(["n1", "g183", "gpu-node12", "a.b.c"]), min_size=1, max_size=3),
    damages=st.dictionaries(
        st.integers(0, 119),
        st.tuples(
            st.integers(0, 60), st.integers(0, 12), st.sampled_from(["", "l", ":", " ", "9", "é", "|", "\r", "g1:4:9 "])
        ),
        max_size=40,
    ),
)
@example(
    [""], ["g183"], {70: (0, 0, "rest of something el")}
)  # glued to the name of a host that other lines begin with
@example(["0: "], ["g183"], {70: (0, 3, "rest of something el"), 71: (12, 5, "")})  # … and the library's name is lost
@example([f"{STAMP} stdout F "], ["n1"], {7: (30, 1, "P"), 9: (30, 1, "P"), 10: (30, 1, "P")})  # pieces of lines
@example([""], ["n1"], {0: (24, 0, "é"), 9: (24, 8, "\r")})  # another operation, none
@example(["[default2]:"], ["n1"], {70: (11, 2, "")})  # a number where the host stands
@example(["\x1b[31m", "node3: "], ["n1"], {75: (5, 0, ":")})  # last lines, handed out beside what the columns left
@settings(max_examples=40)
def test_damaged_prefixes_are_the_same_by_columns_and_line_by_line(
    prefixes: list[str], hosts: list[str], damages: dict[int, Damage]
) -> None:
    assert are_the_same(prefixes, hosts, damages)


def are_the_same(prefixes: list[str], hosts: list[str], damages: dict[int, Damage]) -> bool:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        bodies = written([*prefixes, ""], hosts, damages)  # some lines begin with their hosts
        (Path(folder) / "job.log").write_text("\n".join(bodies) + "\n", newline="")
        for fewest in (8, 10**9):
            with patch.multiple(dense, FEWEST=fewest, ALIKE=2, PIECE=1 << 12):
                found.append(spelled(read(folder).tables["operations"]))
    return bool(found[0].equals(found[1]))


def test_the_habits_of_a_file_are_those_of_its_first_lines() -> None:
    reader = DenseReader((DENSE,), PATH)
    bare = [f"node3: {line(number)[line(number).index('NCCL') :]}\n" for number in range(COUNT)]
    for window in ("node3: begins\n" * 30, "50%\n" * 30 + "".join(bare)):
        if reader.wants(window.encode(), len(window)):
            reader.take(window.encode(), len(window), 1)
    assert reader.tables()["operations"]["host"].to_list() == ["node3"] * COUNT


@pytest.mark.parametrize(
    ("prefix", "column", "value"),
    [
        ("[default3]:", "rank", None),
        ("[rank5]: ", "rank", 5),
        ("2026-01-31T10:11:12.5Z stdout F ", "time_created_ns", 1769854272_500000000),
        ("[2026-01-31 10:11:12] ", "time_created_ns", 1769854272_000000000),
    ],
)
def test_what_stands_before_a_line_is_read(prefix: str, column: str, value: int | None) -> None:
    left, rows = take("".join(line(number, prefix) + "\n" for number in range(COUNT)))
    assert not left.strip() and rows.height == COUNT
    assert rows[column].unique().to_list() == [value]


FOREIGN = [
    "Traceback (most recent call last):",
    "",
    line(1)[:-20],
    line(1) + line(2),
    line(1).replace("n1:41:91 [1]", "n1:41:91n1:42:91 [2] NCCL INFO Conn1:41:91 [1]"),
    "50%\r" + line(1),
    line(1).replace("opCount 1 ", "opCount x "),
    line(1).replace("NCCL INFO", "NCCL WARN"),
    "talk of : opCount 1 sendbuff 2 recvbuff 3 count 4",
]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_other_lines_are_left_where_they_are(foreign: str) -> None:
    bodies = [line(number) for number in range(COUNT)]
    bodies[500] = foreign
    left, rows = take("\n".join(bodies))
    assert left.decode().split("\n") == [foreign if number == 500 else "" for number in range(COUNT)]
    assert rows["line"].to_list() == [number for number in range(1, COUNT + 1) if number != 501]


def test_invalid_bytes_cost_only_their_line() -> None:
    bodies = [line(number).encode() for number in range(COUNT)]
    bodies[3] = b"\xff\xfe broken"
    left, rows = take(b"\n".join(bodies) + b"\n")
    assert rows.height == COUNT - 1 and left.strip() == b"\xff\xfe broken"


def test_lines_of_the_form_are_taken_from_among_others() -> None:
    bodies = [line(at) if at % 7 == 0 else f"step {at}" for at in range(7 * COUNT)]
    left, rows = take("".join(body + "\n" for body in bodies), first=5)
    assert left.decode().split("\n") == ["" if at % 7 == 0 else body for at, body in enumerate(bodies)] + [""]
    assert rows.equals(PARSER.parse(lines("\n".join(bodies[::7])))["operations"].with_columns(rows["line"]))
    assert rows["line"].to_list() == list(range(5, 7 * COUNT + 5, 7))


@pytest.mark.parametrize("count", [12, COUNT], ids=["line by line", "by columns"])
def test_the_task_of_a_line_is_its_rank_where_the_file_proves_it(tmp_path: Path, count: int) -> None:
    init = "n1:4{0}:91 [{0}] NCCL INFO comm 0x1 rank {0} nranks 8 cudaDev {0} busId 5d000 - Init COMPLETE"
    bodies = [f"{at}: {init.format(at)}" for at in range(8)] + [line(at, f"{at % 8}: ") for at in range(count)]
    (tmp_path / "job.log").write_text("\n".join(bodies) + "\n")
    rows = read(str(tmp_path)).tables["operations"]
    assert rows["rank"].to_list() == [at % 8 for at in range(count)]


def test_a_window_with_few_of_them_is_left_alone() -> None:
    text = ("step 1\n" * 9 + line(1) + "\n") * 200
    left, rows = take(text)
    assert left == text.encode() and rows.is_empty()


def test_the_middle_is_lost_beyond_the_limit_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "ROWS", 2 * COUNT)
    reader = DenseReader((DENSE,), PATH)
    for window in range(8):
        block = "".join(line(number) + "\n" for number in range(COUNT)).encode()
        reader.take(block, len(block), 1 + window * COUNT)
    tables = reader.tables()
    kept = (tables["operations"]["line"] - 1) // COUNT
    assert kept.is_in([0, 6, 7]).all() and kept[0] == 0 and (kept == 7).sum() == COUNT
    assert tables["unread"]["reason"][0].startswith(f"{8 * COUNT - kept.len()} lines ")
    assert reader.parsers() == {"nccl"}
