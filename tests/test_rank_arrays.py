"""Arrays of what all ranks have, printed over several lines; and arrays of anything else."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import analyze

WORLD, STEPS, AT, ODD = 12, 9, 5, 7
Printed = Callable[[str, int, Sequence[float]], str]


def numpy(name: str, step: int, cells: Sequence[float]) -> str:
    rows = [" ".join(f"{cell:.4f}" for cell in cells[at : at + 5]) for at in range(0, len(cells), 5)]
    return f"step {step} {name}:\n[" + "\n ".join(rows) + "]\n"


def labelled(name: str, step: int, cells: Sequence[float]) -> str:
    return "".join(f"0: {line}\n" for line in numpy(name, step, cells).splitlines())


def torch(name: str, step: int, cells: Sequence[float]) -> str:
    rows = [", ".join(f"{cell:.4f}" for cell in cells[at : at + 6]) for at in range(0, len(cells), 6)]
    return (
        f"[2026-03-01 10:00:{step:02}] iteration {step} {name}: tensor(["
        + ",\n        ".join(rows)
        + "], device='cuda:0')\n"
    )


def one_line(name: str, step: int, cells: Sequence[float]) -> str:
    return f"it={step} {name} = array([{', '.join(f'{cell:.3f}' for cell in cells)}])\n"


def losses(step: int) -> list[float]:
    return [float("nan") if step > AT else 2.5 + (place * 7 + step * 3) % 37 / 90 for place in range(WORLD)]


def norms(step: int) -> list[float]:
    return [
        float("nan") if step > AT or (step, place) == (AT, ODD) else 0.9 + (place + step * 5) % 7 / 30
        for place in range(WORLD)
    ]


def written(folder: Path, form: Printed, **told: Callable[[int], list[float]]) -> tuple[Sequence[int], int | None]:
    names = {name.replace("_", " "): cells for name, cells in told.items()}
    text = "".join(form(name, step, cells(step)) for step in range(STEPS) for name, cells in names.items())
    (folder / "rank0.log").write_text(text)
    verdict = analyze(folder).verdict
    return verdict.ranks, verdict.first_anomaly.step if verdict.first_anomaly else None


@pytest.mark.parametrize("form", [numpy, labelled, torch, one_line])
@pytest.mark.parametrize(
    "names", [("loss", "gn"), ("local_losses", "local_grad_norms"), ("loss_of_all_ranks", "grad_norm")]
)
def test_whose_place_was_bad_first_is_named(tmp_path: Path, form: Printed, names: tuple[str, str]) -> None:
    assert written(tmp_path, form, **dict(zip(names, (losses, norms), strict=True))) == ([ODD], AT)


@pytest.mark.parametrize("form", [numpy, torch])
@pytest.mark.parametrize("name", ["layer_grad_norms", "grad_norm_of_each_expert", "micro_batch_losses"])
def test_places_that_are_no_ranks_name_nobody(tmp_path: Path, form: Printed, name: str) -> None:
    assert written(tmp_path, form, **{name: norms})[0] == []


def test_losses_alone_may_be_of_micro_batches(tmp_path: Path) -> None:
    def odd(step):
        return [float("nan") if step > AT or (step, place) == (AT, ODD) else 2.5 + place / 9 for place in range(WORLD)]

    assert written(tmp_path, numpy, losses=odd)[0] == []


def test_arrays_of_unlike_sizes_are_not_of_ranks(tmp_path: Path) -> None:
    assert written(tmp_path, numpy, loss=lambda step: losses(step)[:4], gn=norms)[0] == []
