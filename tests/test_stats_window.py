"""Large files of tensor statistics are read in part; the answer stays."""

import io
import json
from functools import partial
from pathlib import Path
from typing import Literal

import polars as pl
import pytest

from forensics import analyze
from parsers.numerics import stats_window, tensor_stats
from parsers.schema.parser import Source
from samples.simulator import Job
from samples.simulator.numerics import Form, Model, NumericFault, NumericNoise, simulate_numerics
from samples.simulator.numerics.faults import NumericKind


def statistics(steps: int = 12, bad_from: int | None = 7, skipped: int | None = 3) -> pl.DataFrame:
    """Two ranks, four modules; rank 1's module m2 makes the NaN, the gradient sum carries it over."""
    rows = []
    for rank in range(2):
        for step in range(steps):
            late = bad_from is not None and step >= bad_from
            for module in range(4):
                bad = late and (step > (bad_from or 0) or (rank == 1 and module >= 2))
                nans = 3 if bad or (step == skipped and rank == 0 and module == 3) else 0
                for tensor, count in (
                    ("input", nans if module > 2 or (late and step > (bad_from or 0)) else 0),
                    ("output", nans),
                ):
                    rows.append((rank, step, "forward", f"m{module}", "Linear", tensor, count, None))
            rows.append((rank, step, "grad_sync", "norm", "all_reduce", "grad_out", 3 if late else 0, "0-1"))
    names = ("rank", "step", "phase", "module", "op", "tensor", "nan_count", "group_ranks")
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(absmax=pl.lit(1.0))


def test_kept_rows() -> None:
    frame = statistics(skipped=None)
    found = stats_window.reduced(frame.lazy, frame.schema, [frame.height])
    kept = found.frame
    whole = kept.group_by("rank", "step").len().filter(pl.col("len") == 9)
    assert (set(whole["step"].to_list()), found.left_out) == ({6, 7, 8}, {})
    assert kept.filter(pl.col("phase") == "grad_sync").height == 24
    assert kept["record"].is_sorted()
    joined = frame.with_row_index("record").join(kept, on="record", how="semi").drop("record")
    assert joined.equals(kept.drop("record"))


def test_of_a_clean_file_the_last_step_is_whole() -> None:
    frame = statistics(bad_from=None, skipped=None)
    kept = stats_window.reduced(frame.lazy, frame.schema, [frame.height]).frame
    whole = kept.group_by("rank", "step").len().filter(pl.col("len") == 9)
    assert whole["step"].unique().sort().to_list() == [11]
    assert kept["step"].n_unique() == 12


@pytest.mark.parametrize("form", ["parquet", "ndjson", "csv"])
@pytest.mark.parametrize("skipped", [None, 3])
def test_the_answer_is_that_of_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skipped: int | None, form: str
) -> None:
    getattr(statistics(skipped=skipped), f"write_{form}")(tmp_path / f"tensor_stats.{form}")
    whole = analyze(tmp_path)
    monkeypatch.setattr(stats_window, "ROWS", 10)
    part = analyze(tmp_path)
    assert part.tables["tensors"].height < whole.tables["tensors"].height
    assert part.incidents[0].verdict.ranks == whole.incidents[0].verdict.ranks
    assert part.incidents[0].verdict.first_anomaly == whole.incidents[0].verdict.first_anomaly


KINDS = ("nan_forward", "nan_recompute", "two_roots", "warm_up", "skipped_then_root", "underflow", "bad_batch", "restart",
         "recompute_differs", "comm_one", "bad_weight", "tie")  # fmt: skip


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
@pytest.mark.parametrize("kind", KINDS)
def test_simulated_incidents_have_the_answer_of_the_whole_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: NumericKind, form: Literal["parquet", "jsonl"]
) -> None:
    """Attempts, suspects and what is said of them included; prefilled buffers and masks must not hide the onset."""
    job = Job(tp=1, pp=2, dp=2, steps=9, microbatches=2, layers=1)
    noise = NumericNoise(form=Form(prefilled=True, gradients=True))
    model = Model(dtype="float16", recompute=kind.startswith(("recompute", "nan_re")), masks=True)
    incident = simulate_numerics(job, NumericFault(kind), 5, noise, model)
    incident.write(tmp_path, form)
    bundle = str(tmp_path / "bundle")
    monkeypatch.setattr(stats_window, "NEAR", 8)
    found = []
    for rows in (1_000_000, 0):
        monkeypatch.setattr(stats_window, "ROWS", rows)
        report = analyze(bundle)
        found.append((report.tables["tensors"].height, [(one.verdict, one.severity) for one in report.incidents]))
    (whole, expected), (part, answer) = found
    assert answer == expected
    assert part <= whole


def test_files_together_are_read_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of ranks with and without the column rank, small ones and a broken one between."""
    monkeypatch.setattr(stats_window, "ROWS", 60)
    frame = statistics()
    made = {"a": frame, "b": frame.drop("rank"), "c": frame.head(20), "d": frame.with_columns(pl.col("rank") + 2)}
    content = {name: io.BytesIO() for name in made}
    for name, stream in content.items():
        made[name].write_parquet(stream)
    data = {name: stream.getvalue() for name, stream in content.items()} | {"e": b"PAR1 broken"}
    sources = [Source(name, len(raw), partial(io.BytesIO, raw), rank=9) for name, raw in data.items()]
    together = tensor_stats.together(sources)
    alone = [tensor_stats.parse(source) for source in sources]
    for table in ("tensors", "unread"):
        expected = pl.concat([part[table] for part in alone]).sort("file", "record")
        assert together[table].sort("file", "record").equals(expected), table
    assert together["unread"]["file"].to_list() == ["e"]


def test_rows_of_text_keep_their_lines_and_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is no row, one without a step, and rows whose rank the path tells."""
    monkeypatch.setattr(stats_window, "ROWS", 60)
    lines = statistics(skipped=None).filter(pl.col("rank") == 1).drop("rank").write_ndjson().splitlines()
    lines[60:60] = ["no row", '{"module": "m0", "tensor": "input", "nan_count": 0}']
    raw = "\n".join(lines).encode()
    kept = tensor_stats.parse(Source("rank_1.jsonl", len(raw), partial(io.BytesIO, raw), rank=1))["tensors"]
    assert 0 < kept.height < 108 and kept["rank"].unique().to_list() == [1]
    assert (kept["line"] - kept["record"]).unique().sort().to_list() == [1, 2]
    told = [json.loads(lines[line - 1]) for line in kept["line"]]
    assert [row["step"] for row in told] == kept["step"].to_list()
    assert [row["module"] for row in told] == kept["module"].to_list()


def test_of_very_many_calls_those_far_from_any_bad_value_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats_window, "ROWS", 10)
    frame = statistics(steps=60, bad_from=50, skipped=None)
    kept = stats_window.reduced(frame.lazy, frame.schema, [frame.height])
    assert kept.left_out == {0: 82}  # two ranks: all but the steps 41 to 59
    assert kept.frame["step"].n_unique() == 60


def test_first_bad_rows() -> None:
    frame = statistics(skipped=None)
    found = stats_window.first_bad(frame.lazy(), frame.schema).sort("rank")
    assert found["step"].to_list() == [7, 7]
    assert frame[found["place"][1]]["module"][0] == "m2"


def test_text_is_not_reduced() -> None:
    assert not stats_window.can_reduce(pl.Schema({"rank": pl.Int64(), "step": pl.Int64(), "absmax": pl.String()}))
    assert not stats_window.can_reduce(pl.Schema({"step": pl.Int64(), "absmax": pl.Float64()}))


def test_a_frame_of_several_chunks_is_read_as_one_of_one() -> None:
    """As blocks of text make it."""
    frame = statistics()
    pieces = pl.concat([frame.slice(at, 7) for at in range(0, frame.height, 7)], rechunk=False)
    assert pieces["rank"].n_chunks() > 1
    runs = [stats_window._runs(one.lazy(), pl.Series([0, 50]), frame.height) for one in (frame.rechunk(), pieces)]
    assert runs[0].equals(runs[1]) and 50 in runs[0]["first"]
