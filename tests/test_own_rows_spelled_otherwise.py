"""Rows of tensors whose figures, inputs and modules are called otherwise than the project's own format calls them."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS, STEPS, AT, ODD = 4, 8, 5, 2
Row = dict[str, object]


def _rows(rank: int, count: str, entrance: Row, made: str) -> Iterator[Row]:
    """Stages of a pipeline; one makes NaN in its second part, the next ones are given it, and a step later all have it."""
    for step in range(STEPS):
        taken = step > AT or (step == AT and rank > ODD)
        parts = [(entrance, taken and rank > 0)]
        parts += [(_of(made, 2 * rank + one), taken or (step == AT and rank == ODD and one == 1)) for one in range(2)]
        for said, bad in parts:
            yield {"rank": rank, "step": step} | said | {"absmax": 3.0 + step / 100, count: 64 * bad}


def _of(made: str, number: int) -> Row:
    return {"module": f"h.{number}.mlp", "tensor": "output"} if made == "module" else {"tensor": made.format(number)}


def _written(folder: Path, form: str, count: str, entrance: Row, made: str) -> Verdict:
    for rank in range(RANKS):
        rows = [*_rows(rank, count, entrance, made)]
        path = folder / f"rank{rank}.{form}"
        if form == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif form == "csv":
            pl.DataFrame(rows, infer_schema_length=None).write_csv(path)
        else:
            pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    return analyze(folder).verdict


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("count", ["nan_count", "nan", "n_nan", "nonfinite"])
def test_a_count_is_read_by_any_of_its_names(tmp_path: Path, count: str, form: str) -> None:
    """Were it left out, nothing would be bad here."""
    verdict = _written(tmp_path, form, count, {"module": "stage", "tensor": "input"}, "module")
    assert (verdict.kind, [*verdict.ranks]) == ("numerics", [ODD])


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    "entrance", [{"tensor": "in"}, {"tensor": "input"}, {"module": "stage", "tensor": "input"}], ids=str
)
def test_whose_entrance_is_called_alike_is_given_it_by_the_stage_before(
    tmp_path: Path, entrance: Row, form: str
) -> None:
    made = "module" if "module" in entrance else "h.{}.mlp"
    assert [*_written(tmp_path, form, "nan_count", entrance, made).ranks] == [ODD]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("made", ["mlp{}", "acts"])
def test_nobody_where_no_row_tells_the_module(tmp_path: Path, made: str, form: str) -> None:
    verdict = _written(tmp_path, form, "nan_count", {"tensor": "in"}, made)
    assert (verdict.kind, [*verdict.ranks]) == ("numerics", [])


def test_a_bad_batch_of_replicas_is_whose_it_is(tmp_path: Path) -> None:
    """All run the same modules: what came into one alone, nobody gave it."""
    for rank in range(RANKS):
        rows: list[Row] = []
        for step in range(STEPS):
            for module, tensor in (("stem", "input"), ("stem", "output"), ("head", "input"), ("head", "output")):
                bad = step > AT or (step == AT and rank == ODD)
                said = {"module": module, "tensor": tensor, "phase": "forward"}
                is_clean = module == "stem" and tensor == "input" and not (step == AT and rank == ODD)
                rows.append(
                    {"rank": rank, "step": step} | said | {"absmax": 2.0, "nan_count": 0 if is_clean else 8 * bad}
                )
        (tmp_path / f"rank{rank}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [*analyze(tmp_path).verdict.ranks] == [ODD]
