"""One rank's own check finds a bad value a step before those of all others; that a norm of what all have reduced is bad in the same step, says nothing of who prints it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze
from tests.sources import written

WORLD, ODD, FIRST = 4, 2, 1412
OWN = {
    "a monitor of modules": "WARNING: watch: ba={s} fwd blocks.11.ffn.up: output nan=37 inf=0 of 33554; input finite absmax=11.9; weight finite absmax=0.71",
    "with a step": "WARNING: watch: step {s} fwd blocks.11.up: output nan=37 of 33554",
    "a name alone": "WARNING: watch: step={s} forward head: output nan=12 of 8192",
    "in words": "nan in layer 11 output! step={s}",
    "counted": "step {s}: blocks.3.mlp output nonfinite 8192",
    "produced": "[check] iter {s} | blocks.3.mlp produced nan",
}
OF_ALL = {
    "after a reduction": "WARNING: watch: step {s} grad global norm nan after reduce",
    "global": "step {s}: global grad norm is nan",
    "reduced": "step {s} reduced loss is nan",
    "averaged": "step {s}: averaged loss is nan",
}


def job(own: str, of_all: str, printer: int = 0, odd: tuple[int, ...] = (ODD,), lacks: int | None = None) -> list[str]:
    text = [f"[rank{rank}]: rank {rank} of {WORLD}, pid {700 + rank}" for rank in range(WORLD)]
    text += [f"[rank0]: step {step} loss 2.7{step % 10}" for step in range(FIRST - 9, FIRST)]
    text += [f"[rank{rank}]: " + own.format(s=FIRST) for rank in odd]
    text.append(f"[rank{printer}]: " + of_all.format(s=FIRST))
    text.append(f"[rank0]: step {FIRST} loss nan")
    for rank in (3, 1, 0, 2):
        text += [f"[rank{rank}]: " + own.format(s=FIRST + 1)] if rank != lacks else []
    return text


def judged(folder: Path, text: list[str]) -> Report:
    return analyze(str(written(folder, {"run.log": text})))


PAIRS: list[tuple[str, str]] = [(own, of_all) for at, own in enumerate(OWN) for of_all in [[*OF_ALL][at % 4], [*OF_ALL][(at + 1) % 4]]]  # fmt: skip


@pytest.mark.parametrize(("own", "of_all"), PAIRS)
def test_who_found_it_in_what_is_its_own_is_named(own: str, of_all: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, job(OWN[own], OF_ALL[of_all])).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly.step) == ("numerics", [ODD], FIRST)


MONITOR: Callable[..., list[str]] = lambda **given: job(OWN["with a step"], OF_ALL["global"], **given)  # noqa: E731


@pytest.mark.parametrize(
    "text",
    [MONITOR(printer=ODD, odd=()), MONITOR(lacks=3), MONITOR(odd=(ODD, 3))],
    ids=["nothing but what is of all", "one rank tells nothing", "two together"],
)
def test_nobody_is_named(text: list[str], tmp_path: Path) -> None:
    assert judged(tmp_path, text).verdict.ranks == []
