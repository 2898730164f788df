"""Traces of every operation with its start, as they are written: names, units, stamps, forms."""

import json
from collections.abc import Callable

import polars as pl
import pytest

from parsers import read
from parsers.registry import PARSERS
from parsers.timing import operation_times
from tests.sources import source

# rank, step, operation, start in milliseconds, length, replica, stage
ROWS = [
    (16, 21, "forward-recv", 135.792, 735.238, 0, 1),
    (16, 21, "forward-compute", 871.043, 215.153, 0, 1),
    (20, 21, "forward-compute", 870.5, 214.0, 1, 1),
]
EPOCH_MS = 1_772_359_200_000
Form = Callable[[], str]


def table(
    names: str, scale: float, *, end: bool = False, offset: float = 0.0, whole: bool = True, sep: str = ","
) -> str:
    """Rows under the names `rank step what start length-or-end dp pp`; times are `scale` of a millisecond."""

    def number(ms: float) -> str:
        return str(round(ms / scale)) if whole else repr(ms / scale)

    lines = [sep.join(names.split())]
    for rank, step, what, start, took, dp, pp in ROWS:
        last = start + took + offset if end else took
        lines.append(sep.join(map(str, (rank, step, what, number(start + offset), number(last), dp, pp))))
    return "\n".join(lines) + "\n"


def objects(names: str, scale: float, **more: float) -> str:
    keys = names.split()
    rows = (
        dict(zip(keys, (rank, step, what, (start + more.get("offset", 0)) / scale, took / scale, dp, pp), strict=True))
        for rank, step, what, start, took, dp, pp in ROWS
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


FORMS: dict[str, Form] = {
    "published names": lambda: table("rank step optype start_ts duration dp_rank stage", 1e3, whole=False),
    "microseconds and an end": lambda: table("rank step op start_us end_us dp_rank pp_rank", 1e-3, end=True),
    "milliseconds": lambda: table("rank iteration operation start_ms duration_ms dp pp", 1, whole=False),
    "nanoseconds": lambda: table("rank step op_type start_ns duration_ns dp_rank pp_stage", 1e-6),
    "profiler's integers": lambda: table("rank step name start dur data_parallel_rank pipeline_stage", 1e-3),
    "seconds since 1970": lambda: table("rank step op start_time end_time dp_rank pipeline_rank", 1e3, end=True, whole=False, offset=EPOCH_MS),
    "nanoseconds since 1970": lambda: table("rank step op begin end dp_rank pp_rank", 1e-6, end=True, offset=EPOCH_MS),
    "tabs": lambda: table("global_rank step op begin_ms dur_ms dp_index pp_index", 1, whole=False, sep="\t"),
    "semicolons": lambda: table("rank global_step phase start_s duration_s dp_rank stage_id", 1e3, whole=False, sep=";"),
    "camel case": lambda: table("rank step opType startTs duration dpRank ppRank", 1e3, whole=False),
    "capitals": lambda: table("Rank Step Op Start_us Duration_us DP_Rank PP_Rank", 1e-3),
    "begin and finish": lambda: table("rank step op t_start t_end dp_rank stage", 1e3, end=True, whole=False),
    "elapsed": lambda: table("rank step op begin_us elapsed_us dp pp", 1e-3),
    "JSON lines": lambda: objects("rank step op start_ms dur_ms dp_rank pp_rank", 1),
    "JSON lines in seconds": lambda: objects("rank step optype start_ts duration dp_rank stage", 1e3),
    "JSON lines, long names": lambda: objects(
        "rank iteration operation_type start_ms duration_ms data_parallel_rank pipeline_parallel_rank", 1
    ),
    "an array": lambda: json.dumps([json.loads(line) for line in objects("rank step op start_ms dur_ms dp pp", 1).splitlines()]),
    "columns of JSON": lambda: json.dumps(
        dict(zip(("rank", "step", "op", "start_ms", "dur_ms", "dp", "pp"), map(list, zip(*ROWS, strict=True)), strict=True))
    ),
    "pairs": lambda: "".join(
        f"rank={rank} step={step} op={what} start_ms={start} dur_ms={took} dp_rank={dp} pp_rank={pp}\n"
        for rank, step, what, start, took, dp, pp in ROWS
    ),
    "a drawn table": lambda: "| rank | step | op | start_ms | dur_ms | dp | pp |\n|---|---|---|---|---|---|---|\n" + "".join(
        "| " + " | ".join(map(str, row)) + " |\n" for row in ROWS
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(form: str) -> None:
    text = FORMS[form]().encode()
    accepts = [one.name for one in PARSERS if hasattr(one, "accepts") and one.accepts("trace.txt", text)]
    assert accepts[0] == "operation_times"
    told = operation_times.parse(source(text, "trace.txt"))
    base = told["timings"]["start_ms"].min()
    assert isinstance(base, float)
    rows = told["timings"].select("rank", "step", "phase", pl.col("start_ms") - base + 135.792, "value_ms").rows()
    for row, (rank, step, what, start, took, _, _) in zip(rows, ROWS, strict=True):
        assert row[:3] == (rank, step, what)
        assert row[3:] == pytest.approx((start, took), abs=2e-3)
    assert told["ranks"].sort("rank").select("rank", "dp", "pp").rows() == [(16, 0, 1), (20, 1, 1)]
    assert told["unread"].is_empty()


def test_parquet_of_operations_is_no_table_of_statistics(tmp_path) -> None:  # type: ignore[no-untyped-def]
    names = ("rank", "step", "optype", "start_ts", "duration", "dp_rank", "stage")
    rows = [(rank, step, what, start / 1e3, took / 1e3, dp, pp) for rank, step, what, start, took, dp, pp in ROWS]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    frame.with_columns(pl.col("optype").cast(pl.Categorical), pl.col("rank").cast(pl.Int16)).write_parquet(
        tmp_path / "t.parquet"
    )
    told = read(tmp_path / "t.parquet").tables
    assert told["timings"].select("rank", "phase", "value_ms").rows() == [
        (16, "forward-recv", pytest.approx(735.238)), (16, "forward-compute", pytest.approx(215.153)),
        (20, "forward-compute", pytest.approx(214.0)),
    ]  # fmt: skip
    assert told["tensors"].is_empty() and told["timings"]["record"].to_list() == [0, 1, 2]


@pytest.mark.parametrize(
    "line",
    ["x,21,op,1,2,0,1", "3,,op,1,2,0,1", "3,21,,1,2,0,1", "3,21,op,nan,2,0,1", "3,21,op,1,-2,0,1", "3,21,op,1,inf,0,1"],
)
def test_rows_that_do_not_fit_are_said(line: str) -> None:
    text = FORMS["milliseconds"]() + line + "\n"
    told = operation_times.parse(source(text.encode(), "trace.csv"))
    assert told["timings"].height == 3
    assert told["unread"]["line"].to_list() == [5]


@pytest.mark.parametrize(
    "head",
    [
        "rank,step,phase,ms",
        "rank,step,tensor,start,duration,op,min",
        "step,loss,start,duration,name",
        "rank,start,end,op",
    ],
)
def test_other_tables_are_left_to_others(head: str) -> None:
    assert not operation_times.accepts("x.csv", f"{head}\n{','.join('1' for _ in head.split(','))}\n".encode())


def test_nothing_raises_on_content() -> None:
    row = {"rank": [1], "step": {"a": 1}, "op": None, "start_ms": "1e999", "dur_ms": 10**30, "dp": True}
    text = "".join(
        json.dumps(one) + "\n" for one in (row, {"rank": 1, "step": 2, "op": "x", "start_ms": 1, "dur_ms": 2})
    )
    assert operation_times.parse(source(text.encode(), "t.jsonl"))["timings"].height <= 1
