"""Curves saved from a dashboard: which column is the training's loss, and which files are none of ours."""

import math

import pytest

from parsers.timing.step_records import PARSER
from tests.sources import source

HISTORY = "_step,_timestamp,val/loss,loss_metrics/global_avg_loss,loss_metrics/global_max_loss,grad_norm\n"
CHART = '"Step","tidy-fog-7 - train/loss","tidy-fog-7 - train/loss__MIN","tidy-fog-7 - train/loss__MAX"\n'
CURVE = "Wall time,Step,Value\n"


@pytest.mark.parametrize(
    ("path", "text", "rows"),
    [
        ("wandb.csv", HISTORY + "120,1790000000.5,,2.31,2.5,0.38\n125,1790000030.5,3.0,NaN,NaN,NaN\n",
         [(120, 2.31, 0.38, 1_790_000_000_500_000_000), (125, math.nan, math.nan, 1_790_000_030_500_000_000)]),
        ("wandb.csv", HISTORY + "121,1790000001,3.5,,,\n", []),  # an evaluation's row
        ("wandb.csv", HISTORY + "120,1790000000,3.0,NaN,NaN,NaN\n121,1790000000,,2.5,2.5,\n",
         [(121, 2.5, None, 1_790_000_000_000_000_000)]),  # NaN for what was not logged
        ("chart.csv", CHART + '"7","2.5","2.4","2.6"\n', [(7, 2.5, None, None)]),
        ("own.csv", "rank,step,loss\n3,40,1.5\n", [(40, 1.5, None, None)]),
        ("own.csv", "step,loss,local_loss,local_grad_norm\n40,1.5,nan,0.5\n", [(40, math.nan, None, None)]),
        ("run-rank3-tag-train_local_loss.csv", CURVE + "1790000000,40,nan\n", [(40, math.nan, None, 1_790_000_000_000_000_000)]),
        ("tb/run-a-tag-train_loss.csv", CURVE + "1790000000.5,40,1.5\n", [(40, 1.5, None, 1_790_000_000_500_000_000)]),
        ("tb/run-a-tag-grad_norm.csv", CURVE + "1790000000,40,inf\n", [(40, None, math.inf, 1_790_000_000_000_000_000)]),
    ],
)  # fmt: skip
def test_rows(path: str, text: str, rows: list[tuple[int, float | None, float | None, int | None]]) -> None:
    assert PARSER.accepts(path, text.encode())
    steps = PARSER.parse(source(text, path))["steps"].filter(phase="train")
    assert repr([*steps.select("step", "loss", "grad_norm", "time_ns").iter_rows()]) == repr(rows)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("scalars.csv", CURVE),  # of what, nothing tells
        ("wandb.csv", "_step,_timestamp,val/loss,actor/pg_loss\n"),
        ("wandb.csv", "_step,a/loss,b/loss\n"),  # either may be it
        ("stats.csv", "rank,step,module,loss\n"),
        ("own.csv", "step,lr\n"),
        ("a.jsonl", '{"step": 1, "loss": 2.0}\n'),
    ],
)
def test_other_files(path: str, text: str) -> None:
    assert not PARSER.accepts(path, text.encode())


def test_a_row_of_another_kind_costs_itself_alone() -> None:
    read = PARSER.parse(source('rank,step,loss\n3,40,1.5\n{}\n{"step": 41}\n3,42,1.4\n', "own.csv"))
    assert read["steps"]["step"].to_list() == [40, 42]
    assert read["unread"]["line"].to_list() == [3, 4]


def test_runs_that_nothing_joins_to_processes_tell_nothing() -> None:
    read = PARSER.parse(source('"Step","tidy-fog-7 - loss","wild-sun-8 - loss"\n7,2.5,nan\n8,2.4,nan\n', "chart.csv"))
    assert read["steps"].is_empty() and read["unread"]["line"].to_list() == [2, 3]
