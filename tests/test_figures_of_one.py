"""Curves of norms alone, figures of parts, the last step that anybody records: whose a bad value is, and where nobody's."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forensics import Report, analyze
from forensics.detectors.numerics.loss_lines import first_nan
from parsers.forms import documents, framings, pairs
from parsers.forms.curves import name_of
from parsers.text import vocabulary
from parsers.training.steps import PARSER
from parsers.training.told_values import rows_of_lines
from tests.lines import lines

RANKS, ODD = 4, 2
LAYOUT = "world 4, data parallel 4, every rank a replica\n"
nan, inf = math.nan, math.inf


# --- norms without losses ------------------------------------------------------------------------------------------------


def curve(*norms: float, loss: float | None = None) -> list[dict[str, Any]]:
    columns = {
        "loss_seen": None,
        "skipped": None,
        "nan_iterations": None,
        "loss_scale": None,
        "framework": None,
        "rank": 0,
    }
    return [columns | {"step": at, "loss": loss, "grad_norm": norm} for at, norm in enumerate(norms)]


@pytest.mark.parametrize("loss", [None, 2.5])
def test_an_infinite_norm_before_norms_that_are_numbers_is_a_step_left_out(loss: float | None) -> None:
    assert first_nan(curve(1.0, inf, 1.1, 0.9, 1.0, 0.8, 1.2, loss=loss)) is None


@pytest.mark.parametrize("norms", [(1.0, nan, 1.1, 0.9, 1.0, 0.8), (1.0, 1.1, 0.9, inf), (1.0, inf, inf, inf)])
def test_one_that_is_nan_or_last_is_bad(norms: tuple[float, ...]) -> None:
    found = first_nan(curve(*norms))
    assert found is not None and found.row["step"] == next(at for at, one in enumerate(norms) if not math.isfinite(one))


# --- whose a line is -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("rank=2 step=7 probe absmax=nan", 2),
        ("step 7 | rank 2/4 | probe absmax nan", 2),
        ("hook says rank 2 step 7 absmax nan", 2),
        ("step 7 got from rank 2 absmax nan", None),
        ("step 7 tp rank 2 absmax nan", None),
    ],
)
def test_a_line_tells_whose_it_is_as_a_record_does(text: str, rank: int | None) -> None:
    found = list(rows_of_lines(lines(text).iter_rows(named=True)))
    assert [row["rank"] for row in found] == [rank] * len(found) and found


# --- steps as two more frameworks print them -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "completed step: 240, seconds: 11.913, TFLOP/s/device: 139.1, total_weights: 524288, loss: 4.306",
            (240, 4.306, 11913.0),
        ),
        ("epoch: 1 step: 212, loss is 2.3124", (212, 2.3124, None)),
        ("step: 7, loss: 2.5, sec: 0.5", (7, 2.5, 500.0)),
        ("step 7 loss is nan", (7, nan, None)),
    ],
)
def test_steps_told_otherwise(text: str, said: tuple[int, float, float | None]) -> None:
    found = PARSER.parse(lines(text))["steps"].rows(named=True)
    assert repr([(row["step"], row["loss"], row["elapsed_ms"]) for row in found]) == repr([said])


@pytest.mark.parametrize(
    "text",
    [
        "the loss is what counts after step 7",
        "step 7 seconds left: 12, loss is unknown",
        "if loss is nan, lower the rate",
    ],
)
def test_sentences_of_a_loss_are_no_steps(text: str) -> None:
    assert PARSER.parse(lines(text))["steps"].is_empty()


# --- figures of parts ----------------------------------------------------------------------------------------------------


def parts(folder: Path, form: str, bad: Callable[[int, int, int], bool]) -> Report:
    """In each step a row for each of three parts."""
    head, row, title = {
        "commas": ("step,layer,absmax,l2\n", "{s},enc.{p},{v},0.5{p}\n", ""),
        "objects": ("", '{{"it": {s}, "site": "enc.{p}", "hi": {v}, "ratio": 0.5{p}}}\n', ""),
        "headings": ("", "enc.{p}   {v}  0.5{p}\n", "\n== step {s} rank {r} ==\nlayer   absmax   l2\n"),
    }[form]  # fmt: skip
    for rank in range(RANKS):
        text = head
        for step in range(12):
            text += title.format(s=step, r=rank)
            for part in range(3):
                lost = bad(rank, step, part)
                value = (
                    ("NaN" if form == "objects" else "nan") if lost else f"{1 + rank / 8 + part / 4 + step / 64:.4f}"
                )
                text += row.format(s=step, p=part, v=value, r=rank)
        (folder / f"parts_rank{rank}.{'jsonl' if form == 'objects' else 'csv' if head else 'txt'}").write_text(text)
    (folder / "run.txt").write_text(LAYOUT)
    return analyze(folder)


FORMS = ("commas", "objects", "headings")


@pytest.mark.parametrize("form", FORMS)
def test_what_a_part_had_in_a_step(tmp_path: Path, form: str) -> None:
    found = parts(tmp_path, form, lambda rank, step, part: step > 7 or (step == 7 and rank == ODD and part > 0))
    assert (found.verdict.kind, found.verdict.ranks, found.verdict.first_anomaly.step) == ("numerics", [ODD], 7)


@pytest.mark.parametrize("form", FORMS)
def test_at_the_end_of_all_records_who_lost_one_after_another(tmp_path: Path, form: str) -> None:
    found = parts(tmp_path, form, lambda rank, step, part: step == 11 and rank == ODD and part > 0)
    assert (found.verdict.kind, found.verdict.ranks, found.verdict.first_anomaly.step) == ("numerics", [ODD], 11)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "bad",
    [
        lambda rank, step, part: step == 11 and rank == ODD and part == 1,  # what it computed afterwards was a number
        lambda rank, step, part: step in (4, 11) and rank == ODD and part > 0,  # and it went on after the first time
        lambda rank, step, part: step == 10 and rank == ODD and part > 0,
        lambda rank, step, part: step == 11 and rank in (0, ODD) and part > 0,
        lambda rank, step, part: step == 11 and part > 0,
    ],
    ids=["back", "before", "went on", "two", "all"],
)  # fmt: skip
def test_nobody_is_named_at_the_end_for_less(tmp_path: Path, form: str, bad: Callable[[int, int, int], bool]) -> None:
    assert not parts(tmp_path, form, bad).verdict.ranks


# --- what a document says of all its records -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"step": 7, "rank": 2, "layers": [{"name": "a", "absmax": 1.5}, {"name": "b", "absmax": 2.5}]}',
            {"step": 7, "rank": 2},
        ),
        ('{"epoch": 3, "host": "n1", "rows": [{"loss": 2.5, "lr": 0.1}]}', {"epoch": 3, "host": "n1"}),
        ('{"iteration": 7, "ranks": [{"rank": 0, "loss": 2.5}, {"rank": 1, "loss": 2.25}]}', {"iteration": 7}),
    ],
)
def test_what_stands_beside_the_list_is_of_all_its_records(text: str, said: dict[str, Any]) -> None:
    found = list(documents.records(json.loads(text)))
    assert found and all(said.items() <= row.items() for row in found)


def test_a_figure_beside_the_list_is_not(tmp_path: Path) -> None:
    (only,) = documents.records({"step": 7, "loss": 2.5, "lr": 0.1, "rows": [{"name": "a", "absmax": 1.5}]})
    assert only == {"step": 7, "name": "a", "absmax": 1.5}


@pytest.mark.parametrize("own", [{"step": 6}, {"iteration": 6}, {"global_step": 6}])
def test_what_a_record_says_itself_goes_first(own: dict[str, int]) -> None:
    (only,) = documents.records({"step": 7, "rows": [own | {"absmax": 1.5}]})
    assert only == own | {"absmax": 1.5}


# --- curves by the name of their file ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "loss_by_rank.csv",
        "per_rank/loss_rank3.csv",
        "grad_norm.per_rank.txt",
        "train_loss_all_ranks.dat",
        "metrics/loss-7",
    ],
)
def test_whose_a_curve_is_is_no_part_of_its_name(path: str) -> None:
    assert name_of(path) is not None


@pytest.mark.parametrize("path", ["val_loss_by_rank.csv", "ranks.csv", "per_rank.txt", "learning_rate_by_rank.csv"])
def test_another_name_is_no_curve_of_a_loss(path: str) -> None:
    assert name_of(path) is None


# --- pairs between bars --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "step 7 lr 3.0e-04 bad 0 | loss 2.5 | t_data 0.013 t_fb 0.573",
        "step 7 lr 1e-3 | loss: 2.5 | gnorm 0.5 clipped 0",
        "step: 7 | loss 2.5 aux 0.25 | lr 0.1",
    ],
)
def test_a_part_between_bars_may_hold_more_than_one_pair(text: str) -> None:
    said = vocabulary.told(framings.record(text) or {})
    assert (str(said["step"]), str(said["loss"])) == ("7", "2.5")


def test_a_value_with_words_behind_it_stays_one() -> None:
    assert pairs.prose("step: 7 | time: 3.2 s elapsed | loss: 2.5") == {
        "step": "7",
        "time": "3.2 s elapsed",
        "loss": "2.5",
    }


@pytest.mark.parametrize(
    "text",
    [
        "step 7 in[min/max] -3.2/3.5 bad 0 | local_loss 2.5 | t_data 0.013 t_fb 0.573",
        "step 7 act(absmax) 3 x[lo/hi] 0/1 loss 2.5",
    ],
)
def test_a_range_before_the_loss_of_a_step(text: str) -> None:
    (row,) = PARSER.parse(lines(text.replace("act(absmax) 3 ", "")))["steps"].rows(named=True)
    assert (row["step"], row["loss"]) == (7, 2.5)


@pytest.mark.parametrize("metric", ["grad_norm_local", "loss_local", "local_grad_norm"])
def test_a_folder_for_each_rank_holds_its_curves(tmp_path: Path, metric: str) -> None:
    for rank in range(RANKS):
        for name in {metric, "loss_local"}:
            path = tmp_path / f"mlruns/0/abc/metrics/rank_{rank}/{name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            first = 7 if name == metric else 8
            told = (
                "NaN" if step > first or (step == first and rank == ODD) else f"{2 + rank / 8 + step / 64:.4f}"
                for step in range(12)
            )
            path.write_text("".join(f"17900000{step:02}123 {value} {step}\n" for step, value in enumerate(told)))
    (tmp_path / "run.txt").write_text(LAYOUT)
    found = analyze(tmp_path).verdict
    assert (found.kind, found.ranks, found.first_anomaly.step) == ("numerics", [ODD], 7)


@pytest.mark.parametrize("name", ["batch_number", "batch index", "step no", "iter_num", "iteration number"])
def test_a_number_of_a_step_is_the_step(name: str) -> None:
    assert str(vocabulary.told(framings.record(f"{name}=7 loss=2.5") or {}).get("step")) == "7"


@pytest.mark.parametrize("name", ["num_batch", "batch_count", "batch_size", "number_of_steps", "step_size"])
def test_how_many_there_are_is_none(name: str) -> None:
    assert "step" not in vocabulary.told({name: "7", "loss": "2.5"})
