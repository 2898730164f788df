"""When a bad value is its rank's own: the layout is plain data parallel, by what ranks print or by arguments."""

from collections.abc import Callable
from typing import Any

import pytest

from forensics.facts.own_values import is_data_parallel
from parsers.tables import TableName, Tables, empty, table

JOB = frozenset(range(8))
Loss = Callable[[int, int], float | None]


def _tables(loss: Loss, *, ranks: frozenset[int] = JOB, settings: tuple[tuple[str, str], ...] = ()) -> Tables:
    rows = [
        {"rank": rank, "step": step, "loss": value, "file": f"{rank}.log", "line": step}
        for rank in sorted(ranks)
        for step in range(1, 9)
        if (value := loss(rank, step)) is not None
    ]
    names: dict[TableName, Any] = {"steps": table("steps", rows)}
    names["settings"] = table(
        "settings", [{"name": name, "value": value, "file": "a", "line": 1} for name, value in settings]
    )
    return names


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda rank, step: 2 + 0.01 * rank + 0.1 * step, True),
        (lambda rank, step: 2 + 0.01 * (rank // 2) + 0.1 * step, False),
        (lambda rank, step: 2 + 0.1 * step, False),
        (lambda rank, step: 2 + 0.01 * rank + 0.1 * step if rank >= 4 else None, False),
        (lambda rank, step: 2 + 0.01 * rank if step < 4 else None, False),
        (lambda rank, step: 2 + 0.01 * (0 if (rank, step) == (1, 3) else rank) + 0.1 * step, True),
    ],
    ids=["all differ", "tensor-parallel pairs", "averaged", "only the last stage prints", "too few steps", "once alike"],
)  # fmt: skip
def test_losses_tell_the_layout(loss: Loss, expected: bool) -> None:
    assert is_data_parallel(_tables(loss), JOB) is expected


def test_a_lost_log_leaves_the_proof_and_half_of_the_logs_do_not() -> None:
    def own(rank: int, step: int) -> float:
        return 2 + 0.01 * rank + 0.1 * step

    assert is_data_parallel(_tables(own, ranks=JOB - {6}), JOB)
    assert not is_data_parallel(_tables(own, ranks=frozenset({0, 2, 4, 6})), JOB)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ((("tensor_model_parallel_size", "1"), ("pipeline_model_parallel_size", "1")), True),
        ((("world_size", "8"), ("data_parallel_size", "8")), True),
        ((("world_size", "8"), ("data_parallel_size", "4")), False),
        ((("tensor_model_parallel_size", "2"), ("pipeline_model_parallel_size", "1")), False),
        ((("tensor_model_parallel_size", "1"),), False),
    ],
)
def test_arguments_tell_the_layout(settings: tuple[tuple[str, str], ...], expected: bool) -> None:
    assert is_data_parallel(_tables(lambda *_: None, settings=settings) | {"events": empty("events")}, JOB) is expected
