"""Reports of watchdogs, read by columns or one by one: the same rows, whatever stands between them."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.pytorch import watchdog_reports
from parsers.pytorch.process_group import PARSER
from parsers.schema.merging import merge
from parsers.schema.tables import Tables
from tests.lines import lines

WORK = "Watchdog caught collective operation timeout: Work"
RAN = "ran for 9 milliseconds before timing out."
REPORTS = (
    f"[rank3]:[E131 10:11:12.123456 ProcessGroupNCCL.cpp:633] [Rank 1] {WORK}NCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=4, "
    f"NumelOut=4, Timeout(ms)=5) {RAN}",
    f"[E ProcessGroupNCCL.cpp:475] [Rank 2] {WORK}NCCL(OpType=_ALLGATHER_BASE, TensorShape=[4, 2], Timeout(ms)=05) {RAN}",
    f"[PG 0 (default_pg) Rank 3] {WORK}HCCL(SeqNum=8, OpType=odd_1, NumelIn=0, NumelOut=9, Timeout(ms)=5) {RAN}  ",
    f"[PG ID 2 PG GUID 9(dp) Rank 4] ended with exception: [Rank 4] {WORK}NCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=5) {RAN}",
)
OTHERS = (
    f"  what():  [Rank 2] {WORK}NCCL(OpType=ALLGATHER, TensorShape=[4, 2], Timeout(ms)=5) {RAN}",
    f"  what():  [Rank 1] {WORK}NCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=5) {RAN}",
    f"last enqueued work: 9, last completed work: 6 {WORK}NCCL(SeqNum=1, OpType=SEND, Timeout(ms)=5) {RAN}",
    f"WorkNCCL(SeqNum=2, {WORK}NCCL(SeqNum=1, OpType=SEND, Timeout(ms)=5) {RAN}",
    f"[Rank 1] {WORK}NCCL(SeqNum=7, OpTy",
    f"[Rank 1] {WORK}NCCL(SeqNum=7, OpType=SEND, Timeout(ms)=5) ran for 1 milliseconds, ran for 2 milliseconds",
    "[PG 0 Rank 1] Timeout at NCCL work: 7, last enqueued NCCL work: 9, last completed NCCL work: 6.",
    "RuntimeError: NCCL error in: ../a.cpp:12, unhandled cuda error, NCCL version 2.19",
    "Last error:",
    "plain",
)
PRINTERS = ((None, None, None), (3, None, None), (None, "n1", 40), (5, "n2", None))


def _read(given: pl.DataFrame, fewest: int) -> Tables:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watchdog_reports, "FEWEST", fewest)
        return merge([PARSER.parse(given)])


@given(st.lists(st.tuples(st.sampled_from(REPORTS + OTHERS), st.sampled_from(PRINTERS), st.booleans()), max_size=12))
def test_by_columns_as_one_by_one(said: list[tuple[str, tuple[int | None, str | None, int | None], bool]]) -> None:
    texts, printers, _ = zip(*said, strict=True) if said else ((), (), ())
    ranks, hosts, processes = (list(column) for column in zip(*printers, strict=True)) if said else ([], [], [])
    given = lines("\n".join(texts), rank=ranks, host=hosts, process=processes, path_rank=2)
    number = pl.Series([index - is_piece for index, (_, _, is_piece) in enumerate(said)], dtype=pl.Int64)
    given = given.with_columns(line=number.cum_max() if said else number)
    one_by_one, by_columns = _read(given, 1000), _read(given, 0)
    assert {name: frame.to_dicts() for name, frame in by_columns.items()} == {
        name: frame.to_dicts() for name, frame in one_by_one.items()
    }


def test_reports_are_read_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog_reports, "FEWEST", 1)
    found = watchdog_reports.reports(lines("\n".join([*REPORTS, *OTHERS])), near=0)
    assert found.events["line"].to_list() == [1, 2, 3, 4]
    assert found.left["text"].to_list() == list(OTHERS)
    assert found.events.select("op", "seq", "group", "rank", "rank_space", "value").rows() == [
        ("all_reduce", 7, None, 1, "group", 9.0),
        ("all_gather", None, None, 2, "group", 9.0),
        ("odd_1", 8, None, 3, "global", 9.0),
        ("all_reduce", 7, "9", 4, "group", 9.0),
    ]


@pytest.mark.parametrize(
    ("columns", "are_read"),
    [
        pytest.param({"process": 7, "time_basis": "boot"}, False, id="kernel"),
        pytest.param({"process": 7, "time_basis": "utc"}, True, id="process"),
        pytest.param({"time_basis": "boot"}, True, id="no process"),
    ],
)
def test_what_a_kernel_may_have_printed_is_left(
    columns: dict[str, Any], are_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog_reports, "FEWEST", 1)
    given = lines(f"x [Rank 1] {REPORTS[0].partition('[Rank 1] ')[2]}", **columns)
    assert watchdog_reports.reports(given, near=0).left.is_empty() is are_read
