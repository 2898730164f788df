"""Large Parquet files of tensor statistics are read in part; the answer stays."""

from pathlib import Path

import polars as pl
import pytest

from forensics import analyze
from parsers import read
from parsers.numerics import stats_window


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
    found = stats_window.reduced(frame.lazy(), frame.schema, [frame.height])
    kept = found.frame
    whole = kept.group_by("rank", "step").len().filter(pl.col("len") == 9)
    assert (set(whole["step"].to_list()), found.left_out) == ({6, 7, 8}, {})
    assert kept.filter(pl.col("phase") == "grad_sync").height == 24
    assert kept["record"].is_sorted()
    joined = frame.with_row_index("record").join(kept, on="record", how="semi").drop("record")
    assert joined.equals(kept.drop("record"))


def test_of_a_clean_file_the_last_step_is_whole() -> None:
    frame = statistics(bad_from=None, skipped=None)
    kept = stats_window.reduced(frame.lazy(), frame.schema, [frame.height]).frame
    whole = kept.group_by("rank", "step").len().filter(pl.col("len") == 9)
    assert whole["step"].unique().to_list() == [11]
    assert kept["step"].n_unique() == 12


@pytest.mark.parametrize("skipped", [None, 3])
def test_the_answer_is_that_of_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skipped: int | None
) -> None:
    statistics(skipped=skipped).write_parquet(tmp_path / "tensor_stats.parquet")
    whole = analyze(tmp_path).incidents[0]
    rows = read(str(tmp_path)).tables["tensors"].height
    monkeypatch.setattr(stats_window, "ROWS", 10)
    assert read(str(tmp_path)).tables["tensors"].height < rows
    part = analyze(tmp_path).incidents[0]
    assert part.verdict.ranks == whole.verdict.ranks
    assert part.verdict.first_anomaly == whole.verdict.first_anomaly


def test_first_bad_rows() -> None:
    frame = statistics(skipped=None)
    found = stats_window.first_bad(frame.lazy(), frame.schema).collect().sort("rank")
    assert found["step"].to_list() == [7, 7]
    assert frame[found["place"][1]]["module"][0] == "m2"


def test_text_is_not_reduced() -> None:
    assert not stats_window.can_reduce(pl.Schema({"rank": pl.Int64(), "step": pl.Int64(), "absmax": pl.String()}))
    assert not stats_window.can_reduce(pl.Schema({"step": pl.Int64(), "absmax": pl.Float64()}))
