"""Numbers beyond all measure: a rank, a size or a time that cannot be ends nothing and is believed by nobody."""

import json
from pathlib import Path
from time import process_time
from typing import Any

import polars as pl
import pytest

import parsers
from forensics.analyze import analyze
from forensics.facts.rows.event_rows import detail
from parsers.forms import reading
from parsers.schema.bounds import bounded
from parsers.schema.tables import TableName, table
from parsers.text.rank_list import RANKS, rank_list
from parsers.text.stamps import LATEST_NS
from parsers.who.lines.prefixes import strip

GOOD = "2026-01-02 03:04:05 [rank0]: KeyError: 7\n"
XID = "NVRM: Xid (PCI:0000:17:00): 79, pid=1234, GPU has fallen off the bus."
NCCL = "node1:1:2 [0] NCCL INFO comm 0x1 rank {} nranks {} cudaDev 0 nvmlDev 0 busId 1000 commId 0x1 - Init COMPLETE\n"


def _statistics(*ranks: int) -> str:
    fixed = {"step": 1, "module": "m", "op": "Linear", "tensor": "output", "nan_count": 1}
    return "".join(json.dumps({"rank": rank} | fixed) + "\n" for rank in ranks)


def _dump(ranks: object) -> str:
    entry = {
        "profiling_name": "nccl:all_reduce",
        "collective_seq_id": 1,
        "state": "scheduled",
        "process_group": ["7", "tp"],
    }
    config = {"7": {"name": "7", "desc": "tp", "ranks": ranks}}
    return json.dumps({"version": "2.10", "nccl_version": "2.27", "pg_config": config, "entries": [entry]})


def _bundle(at: Path, name: str, text: str) -> str:
    (at / "good.log").write_text(GOOD)
    (at / name).write_text(text)
    return str(at)


HUGE = {
    "nccl world": ("a.log", NCCL.format(0, 999_999_999)),
    "nccl rank": ("a.log", NCCL.format(999_999_998, 999_999_999)),
    "statistics": ("stats.jsonl", _statistics(0, 999_999_999)),
    "statistics, 64 bits": ("stats.jsonl", _statistics(0, 2**62)),
    "members as text": ("nccl_trace_rank_0.json", _dump("[0, 999999999]")),
    "members as list": ("nccl_trace_rank_0.json", _dump([0, 4_294_967_295])),
    "file name": ("rank_9999999.log", GOOD.replace("[rank0]: ", "")),
}


@pytest.mark.parametrize(("name", "text"), HUGE.values(), ids=HUGE)
def test_a_rank_or_size_beyond_all_measure_is_refused_and_said(tmp_path: Path, name: str, text: str) -> None:
    bundle = _bundle(tmp_path, name, text)
    tables = parsers.read(bundle).tables
    reasons = tables["unread"].filter(file=name)["reason"].to_list()
    assert any("not believed" in reason for reason in reasons), reasons
    report = analyze(bundle)
    assert report.coverage.ranks_expected is None or report.coverage.ranks_expected <= RANKS
    assert report.incidents[0].verdict.ranks == [0]


ROWS: dict[TableName, dict[str, Any]] = {
    "ranks": {"rank": 1, "world_size": RANKS},
    "groups": {"rank": 1, "members": [0, RANKS - 1], "size": RANKS},
    "events": {"rank": RANKS - 1, "kind": "other", "names_ranks": [RANKS - 1], "time_ns": LATEST_NS},
    "timings": {"min_rank": 0, "max_rank": 3},
}
BEYOND: dict[TableName, list[dict[str, Any]]] = {
    "ranks": [{"rank": RANKS + 1}, {"world_size": RANKS + 1}, {"tp": RANKS + 1}],
    "groups": [{"members": [RANKS, 0]}, {"size": 1 << 40}],
    "events": [{"rank": 1 << 62}, {"names_ranks": [RANKS]}],
    "timings": [{"max_rank": 1 << 30}],
}


@pytest.mark.parametrize("name", ROWS)
def test_only_rows_beyond_the_bound_are_refused(name: TableName) -> None:
    good = {"file": "a", "line": 1} | ROWS[name]
    odd = [good | {"line": line} | changes for line, changes in enumerate(BEYOND[name], 2)]
    found = bounded({name: table(name, [good, *odd])})
    assert found[name]["line"].to_list() == [1]
    assert found["unread"]["line"].to_list() == [row["line"] for row in odd]
    assert bounded({name: table(name, [good])})[name].equals(table(name, [good]))


def test_an_impossible_time_is_no_time() -> None:
    rows = [{"file": "a", "line": 1, "kind": "other", "time_ns": time} for time in (1, LATEST_NS + 1, None)]
    assert bounded({"events": table("events", rows)})["events"]["time_ns"].to_list() == [1, None, None]


@pytest.mark.parametrize("text", [f"0,{RANKS}", f"0-{RANKS}", "0-999999999", "999999999"])
def test_lists_of_ranks_end_at_the_bound(text: str) -> None:
    assert rank_list(text) is None
    assert rank_list(f"0,{RANKS - 1}") == (0, RANKS - 1)


STAMPED = {
    **{f"json, {n} digits": json.dumps({"log": XID, "time": "9" * n}) for n in (10, 13, 16, 19, 20, 5000)},
    **{f"kmsg, {n} digits": f"6,3973,{'9' * n},-;{XID}" for n in (18, 19, 20, 400, 5000)},
    "boot": f"[999999999.999999] {XID}",
    "zone": f"2200-12-31T23:59:59-99:99 {XID}",
}


@pytest.mark.parametrize("line", STAMPED.values(), ids=STAMPED)
def test_a_time_beyond_all_measure_costs_no_more_than_itself(tmp_path: Path, line: str) -> None:
    assert (strip(line).time_ns or 0) <= LATEST_NS
    tables = parsers.read(_bundle(tmp_path, "a.log", line + "\n")).tables
    assert tables["events"].filter(file="good.log", kind="exception").height == 1
    assert tables["events"].filter(file="a.log")["time_ns"].drop_nulls().max() in (None, 999_999_999_999_999_000)
    assert not tables["unread"].filter(pl.col("reason").str.contains("failed"))["reason"].to_list()


def test_steps_that_fall_in_every_row_are_no_attempts(tmp_path: Path) -> None:
    rows = [
        {"rank": 0, "step": 3000 - at, "module": "m", "tensor": "o", "role": "out", "absmax": 1.0} for at in range(3000)
    ]
    report = analyze(_bundle(tmp_path, "stats_rank_0.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    assert len(report.incidents) == 1
    assert any("begin anew 2999 times" in limit for limit in report.limits)


def test_the_highest_rank_that_is_believed_costs_what_its_ranks_do(tmp_path: Path) -> None:
    row = f"rank,step,module,op,tensor,nan_count\n{RANKS - 1},{RANKS - 1},m,o,output,{RANKS - 1}\n"
    report = analyze(
        _bundle(tmp_path, "stats_rank_0.csv", row)
    )  # in the square of its ranks this takes more than an hour
    assert report.bundle.files == 2


def test_a_name_beyond_all_measure_is_cut(tmp_path: Path) -> None:
    row = f"rank,step,module,op,tensor,nan_count\n0,1,{'m' * 900_000},o,output,1\n"
    tables = parsers.read(_bundle(tmp_path, "stats_rank_0.csv", row)).tables
    assert tables["tensors"]["module"].to_list() == ["m" * 1024]


def test_cells_that_no_column_can_hold_become_null_or_a_question_mark() -> None:
    row = {"file": "a\ud800", "rank": 10**30, "members": [1, -(2**70)], "size": 2}
    assert table("groups", [row]).select("file", "rank", "members", "size").row(0) == ("a?", None, [1, None], 2)
    frames = [{"function": "f\udfff", "file": None, "line": 10**40}]
    found = table("stacks", [{"file": "a", "frames": frames}])["frames"].to_list()
    assert found == [[{"function": "f?", "file": None, "line": None}]]
    with pytest.raises(TypeError):  # a defect stays one
        table("groups", [{"rank": "one"}])


def test_many_groups_of_the_same_ranks_are_one_set_of_them(tmp_path: Path) -> None:
    fixed = {"rank": 0, "step": 1, "module": "m", "op": "all_reduce", "tensor": "input", "nan_count": 1}
    rows = [fixed | {"group": f"g{at}", "group_ranks": "0-4095", "call": at} for at in range(4000)]
    began = process_time()
    report = analyze(_bundle(tmp_path, "stats_rank_0.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    assert report.bundle.files == 2 and process_time() - began < 12  # rank by rank it takes half a minute


WATCHDOG = "[rank5]:[E1120 10:00:00.0 ProcessGroupNCCL.cpp:607] [Rank 5] Watchdog caught collective operation timeout: "
WORK = "WorkNCCL(SeqNum={0}, OpType=ALLREDUCE, NumelIn={0}, NumelOut={0}, Timeout(ms)={0}) ran for 9 milliseconds before timing out.\n"


@pytest.mark.parametrize("number", ["9" * 18, "9" * 20, "9" * 5000, "²", "٣", "-1"], ids=lambda text: text[:20])
def test_a_count_beyond_all_measure_ends_nothing(tmp_path: Path, number: str) -> None:
    bundle = _bundle(tmp_path, "a.log", WATCHDOG + WORK.format(number))
    assert "failed" not in " ".join(parsers.read(bundle).tables["unread"]["reason"])
    assert "rank 5 timed out in all_reduce" in analyze(bundle).incidents[0].verdict.summary


def test_what_64_bits_do_not_hold_is_no_integer_of_a_detail() -> None:
    said = detail({"detail": json.dumps({"numel_in": 2**63, "numel_out": 2**63 - 1, "ranks": [-(10**30), 3]})})
    assert said == {"numel_in": 2.0**63, "numel_out": 2**63 - 1, "ranks": [-1e30, 3]}
    assert [type(one) for one in said["ranks"]] == [float, int]


GAUGE = "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n" + 'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 40\n' * 9

LEFT_OUT = {
    "a text longer than the limit": ("FILE_BYTES", 100, GAUGE, "not read beyond byte 100: 100 bytes are the limit"),
    "a text of just that length": ("FILE_BYTES", len(GAUGE), GAUGE, None),
    "a line longer than the limit": ("LINE_BYTES", 50, GAUGE + "# " + "x" * 90 + "\n", "were cut, line 11 first"),
    "a line of just that length": ("LINE_BYTES", 50, GAUGE + "x" * 50 + "\r\n", None),
}


@pytest.mark.parametrize(("limit", "most", "text", "reason"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_a_parser_of_its_own_file_leaves_out_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, text: str, reason: str | None
) -> None:
    monkeypatch.setattr(reading, limit, most)
    unread = parsers.read(_bundle(tmp_path, "dcgm.prom", text)).tables["unread"].filter(pl.col("line").is_null())
    assert [reason in said for said in unread["reason"]] == ([True] if reason else [])
