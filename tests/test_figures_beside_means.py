"""What one rank's own figures say first, beside what rank 0 prints of all in the same step."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze

RANKS, STEPS, ODD, SINCE = range(4), range(30, 46), 2, 40
_Told = Mapping[str, str | float | int]


def _records(step: int, rank: int) -> list[_Told]:
    """What is read is bad on one rank, then its loss; the mean of all in the same step, all from the next one on."""
    bad = 9 if rank == ODD and step == SINCE else 0
    loss = "nan" if bad or step > SINCE else round(2 + rank / 100 - step / 997, 5)
    own: list[_Told] = [
        {"event": "read", "rank": rank, "step": step, "x_max": 3.0 + rank / 7, "x_nan": bad},
        {"event": "backward", "rank": rank, "step": step, "loss_local": loss},
    ]
    mean = "nan" if step >= SINCE else round(2 - step / 997, 5)
    return [*own, *([{"event": "reduce", "rank": 0, "step": step, "loss_mean": mean}] if rank == 0 else [])]


def _lines(form: Callable[[_Told], str]) -> str:
    return "".join(form(one) + "\n" for step in STEPS for rank in RANKS for one in _records(step, rank))


def _prose(said: _Told) -> str:
    own = "  ".join(f"{name} {cell}" for name, cell in said.items() if name not in ("event", "rank", "step"))
    return f"[rank {said['rank']}] step {said['step']} {said['event']}: {own}"


def _pairs(said: _Told) -> str:
    return " ".join(f"{name}={cell}" for name, cell in said.items())


@pytest.mark.parametrize("form", [json.dumps, _pairs, _prose])
def test_the_mean_of_all_is_not_its_printers(tmp_path: Path, form: Callable[[_Told], str]) -> None:
    (tmp_path / "train.log").write_text(_lines(form))
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("bad_input", [ODD], SINCE)


@pytest.mark.parametrize("form", [json.dumps, _pairs, _prose])
def test_a_mean_that_is_bad_alone_accuses_nobody(tmp_path: Path, form: Callable[[_Told], str]) -> None:
    text = _lines(lambda said: form({name: 0 if name == "x_nan" else cell for name, cell in said.items()}))
    own = [line for line in text.splitlines() if "loss_local" not in line]
    (tmp_path / "train.log").write_text("\n".join(own) + "\n")
    assert analyze(tmp_path).verdict.ranks == []


_REMARKS = (
    "2026-01-31 10:11:{at} | h{rank} | rank {rank}/4 | INFO | step {step:3}  loss(this rank) {own}  ||g||(after all-reduce) {mean}",
    "[rank {rank}] it {step}: loss (local) = {own}, |grad| (reduced) = {mean}",
    "10:11:{at} worker-{rank} rank={rank} step {step} | loss(own shard) {own} | ‖g‖ (after the mean) {mean}",
)


def _remarked(folder: Path, form: str, ahead: set[int]) -> tuple[str, list[int], int | None]:
    """`ahead`: whose own loss is NaN in the step in which the norm of all is; from then on all are."""
    for rank in RANKS:
        text = ""
        for step in STEPS:
            is_lost = step > SINCE or (step == SINCE and rank in ahead)
            own = "nan" if is_lost else f"{2 + rank / 100 - step / 997:.5f}"
            mean = "nan" if step >= SINCE else f"{0.4 + step % 5 / 90:.4f}"
            text += form.format(at=step, rank=rank, step=step, own=own, mean=mean) + "\n"
        (folder / f"rank_{rank}.log").write_text(text)
    verdict = analyze(folder).verdict
    return verdict.kind, list(verdict.ranks), verdict.first_anomaly.step if verdict.first_anomaly else None


@pytest.mark.parametrize("form", _REMARKS)
@pytest.mark.parametrize(("ahead", "named"), [({ODD}, [ODD]), (set(), []), ({0, 1, 3}, [])])
def test_remarks_say_whose_a_figure_is(tmp_path: Path, form: str, ahead: set[int], named: list[int]) -> None:
    assert _remarked(tmp_path, form, ahead) == ("numerics", named, SINCE)
