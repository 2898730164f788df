"""A loss that is no number because nothing was computed: before the first step, in a stage that has none, in a line of no step."""

from typing import Any

import pytest

from forensics.detectors.numerics import loss_log
from parsers.schema.tables import empty, table
from tests.tensor_rows import case_of

NAN = float("nan")
WELL = {"phase": "train", "loss": 2.0, "grad_norm": 1.0, "loss_seen": True}


def bad_steps(rows: list[dict[str, Any]]) -> list[int | None]:
    """Where each finding begins."""
    lines = [WELL | {"file": "train.log", "line": at, "step": at} | row for at, row in enumerate(rows)]
    found = loss_log.DETECTOR.detect(case_of(empty("tensors"), steps=table("steps", lines)))
    return [one.first_anomaly.step if one.first_anomaly else None for one in found]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ({"loss": NAN, "grad_norm": NAN}, {}, []),
        ({"grad_norm": NAN}, {}, []),
        ({"loss": NAN}, {"loss": NAN}, [7]),
        ({}, {"loss": NAN, "step": None}, []),
        ({}, {"loss": NAN}, [7]),
    ],
    ids=["no loss yet", "no norm yet", "it goes bad later", "a line without a step", "its last step"],
)
def test_what_stands_before_the_first_figures(first: Any, last: Any, expected: list[int]) -> None:
    assert bad_steps([first, {}, {}, {}, {}, {}, {}, last]) == expected


@pytest.mark.parametrize("losses", [[NAN, 2.0, 2.0], [NAN, NAN, NAN]], ids=["too few to tell", "none at all"])
def test_a_run_that_does_not_go_on_well(losses: list[float]) -> None:
    assert bad_steps([{"loss": loss} for loss in losses]) == [0]


@pytest.mark.parametrize(("lasts", "expected"), [(20, []), (3, [0])], ids=["others go on", "soon all others, too"])
def test_ranks_that_never_show_a_loss_hold_none(lasts: int, expected: list[int]) -> None:
    """The last stage of a pipeline alone has one; who shares gradients with them would have gone bad a step later."""
    rows = [
        {"step": step, "rank": rank, "loss": 2.5 if rank > 1 and step < lasts else NAN, "file": f"{rank}.jsonl"}
        for rank in range(4)
        for step in range(20)
    ]
    assert bad_steps(rows) == expected
