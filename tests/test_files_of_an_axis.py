"""Files called after places on the one axis of the layout that is told are those of the ranks."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze

RANKS, LAST, ODD, SINCE = range(4), 30, 2, 18
Row = Callable[[int, int], Mapping[str, float]]


def _figures(rank: int, step: int) -> Mapping[str, float]:
    """Of expert losses: one rank's aux loss is lost first, then everything of all."""
    bad, aux = float("nan"), 0.02 + rank / 1000 + step / 9999
    is_lost = step > SINCE
    return {
        "step": step,
        "lm_loss": bad if is_lost else 3.0 + rank / 100 - step / 50,
        "aux_loss": bad if is_lost or (rank == ODD and step == SINCE) else aux,
        "grad_norm": bad if is_lost else 0.4 + rank / 70,
    }


def _csv(row: Row, rank: int) -> str:
    rows = [row(rank, step) for step in range(1, LAST)]
    return "\n".join((",".join(rows[0]), *(",".join(f"{one:g}" for one in said.values()) for said in rows))) + "\n"


def _jsonl(row: Row, rank: int) -> str:
    return "".join(json.dumps(row(rank, step)) + "\n" for step in range(1, LAST))


FORMS = {
    "stats/ep_rank{rank}.csv": (_csv, "expert parallel size 4, 1 expert per rank, top-1 routing"),
    "router-ep-rank-{rank}.csv": (_csv, "MoE: 8 experts, 4-way expert parallel"),
    "log/moe_ep_rank_{rank}.jsonl": (_jsonl, "moe layer every 2, ep_size=4, capacity 1.25"),
}


def _written(folder: Path, form: str, *more: str, said: str | None = None) -> Path:
    write, words = FORMS[form]
    for rank in RANKS:
        file = folder / form.format(rank=rank)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(write(_figures, rank), encoding="utf-8")
    console = (words if said is None else said, *(f"step {step} loss 2.5 (rank 0)" for step in (5, 10, 15)), *more)
    (folder / "stdout.log").write_text("\n".join(console) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_the_place_on_that_axis_is_the_rank(tmp_path: Path, form: str) -> None:
    told = analyze(_written(tmp_path, form)).verdict
    assert (told.cause, told.ranks, told.first_anomaly.step) == ("nan_birth", [ODD], SINCE)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("world size: 16",), None),  # four such groups
        (("[rank 9] checkpoint written",) * 3 + ("rank=9 step 5 loss 2.4",), None),
        (("data-parallel size: 2, tensor-model-parallel size: 2, pipeline-model-parallel size: 1",), None),
        ((), "experts are spread"),  # nobody says over how many
    ],
)
def test_where_there_may_be_other_ranks_nobody_is_named(
    tmp_path: Path, form: str, more: tuple[str, ...], said: str | None
) -> None:
    assert analyze(_written(tmp_path, form, *more, said=said)).verdict.ranks == []
