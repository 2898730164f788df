"""Lines of a step that tell, beside a loss that is of all, what a part of each rank was given and what it gave: who made the bad value is named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

STEPS, AT, ODD = 9, 6, 2
WHO = "rank {r}/{w}: expert {r} lives here"
# a line; where it tells of no expert, a rank has but one part
FORMS = {
    "a label": "step {s:>3} | loss {l} | aux 1.0{s} | expert{r}: tokens 27{s} in_absmax {i} out_absmax {o}",
    "words": "step {s} loss {l} expert {r} in {i} out {o}",
    "equal signs": "iter {s}: loss={l}, experts[{r}] input_max={i} output_max={o}",
    "no experts": "step {s} loss {l} stage part in={i} out={o}",
    "sent": "step {s}, loss: {l}, lr 0.01, received {i}, sent {o}",
    "logfmt": "level=info step={s} loss={l} in_absmax={i} out_absmax={o}",
    "an epoch": "Epoch [1/2], Step [{s}/100], Loss: {l}, in_max {i} out_max {o}",
    "bars": "update {s}/40 | loss {l} | incoming amax {i} | outgoing amax {o}",
    "a stamp": "2026-03-01 10:00:0{s} INFO train: step {s} loss {l} input absmax {i} output absmax {o}",
    "an object": '{{"step": {s}, "loss": {l}, "ffn_in_absmax": {i}, "ffn_out_absmax": {o}}}',
    "the other order": "step {s} out_absmax {o} in_absmax {i} loss {l}",
}
Sides = Callable[[int, int], tuple[str, str, str]]  # rank, step → loss, in, out


def made(rank: int, step: int) -> tuple[str, str, str]:
    """The odd one gives none from a number; the loss of that step is none on all, and so is all from the next one on."""
    number = f"{2.5 + (rank * 7 + step * 3) % 11 / 10:.3f}"
    if step < AT:
        return f"{4 - step / 9:.4f}", number, number
    return "nan", "nan" if step > AT else number, "nan" if step > AT else "inf" if rank == ODD else number


def verdict(folder: Path, form: str, sides: Sides, ranks: int = 4, lost: int | None = None) -> Verdict:
    files: dict[str, list[str]] = {}
    for rank in range(ranks):
        lines = [WHO.format(r=rank, w=ranks)]
        for step in range(STEPS):
            loss, took, gave = sides(rank, step)
            line = FORMS[form].format(s=step, l=loss, i=took, o=gave, r=rank)
            lines.append(line.replace("nan", "NaN").replace("inf", "Infinity") if line[0] == "{" else line)
        if rank != lost:
            files[f"run-{'qkzvab'[rank]}/output.log"] = lines
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize("form", FORMS)
def test_who_gave_it_is_named(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, form, made, 4 + list(FORMS).index(form) % 2)
    assert (found.kind, list(found.ranks)) == ("numerics", [ODD])
    assert found.first_anomaly is not None and found.first_anomaly.step == AT


def _both(rank: int, step: int) -> tuple[str, str, str]:
    return made(ODD if step == AT and rank == 0 else rank, step)


def _given(rank: int, step: int) -> tuple[str, str, str]:
    loss, took, gave = made(rank, step)
    return loss, "nan" if step == AT and rank == ODD else took, gave


def _lost_before(rank: int, step: int) -> tuple[str, str, str]:
    loss, took, gave = made(rank, step)
    return "nan" if step == AT - 1 else loss, took, gave


def _back(rank: int, step: int) -> tuple[str, str, str]:
    return made(rank, step if step <= AT else 1)


@pytest.mark.parametrize("sides", [_both, _given, _lost_before, _back])
@pytest.mark.parametrize("form", ["a label", "equal signs", "sent"])
def test_who_may_not_be_named(tmp_path: Path, sides: Sides, form: str) -> None:
    """Two gave it; the one was given it; the loss was lost before; all had numbers again."""
    assert not verdict(tmp_path, form, sides).ranks


@pytest.mark.parametrize("form", ["a label", "sent"])
def test_of_whom_a_record_is_lost_nothing_is_known(tmp_path: Path, form: str) -> None:
    assert not verdict(tmp_path, form, made, lost=0).ranks
    assert not verdict(tmp_path / "odd", form, made, lost=ODD).ranks
