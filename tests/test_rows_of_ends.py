"""Hooks that write a record for each module, with what goes in beside what comes out."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forensics import analyze

RANKS, STEPS, ODD, SINCE, WHERE = range(4), range(11, 15), 1, 14, "blocks.2.attn"
MODULES = ("embed", "blocks.1.attn", "blocks.1.mlp", "blocks.2.attn", "blocks.2.mlp", "head.1")
_Row = tuple[str, str, int, int, float]  # phase, module, bad values in, out, the largest


def _rows(step: int, *, bad: bool) -> Iterator[_Row]:
    """Forward, backward, and the gradients after they were averaged over all."""
    is_bad = bad and step == SINCE
    at = MODULES.index(WHERE)
    for number, module in enumerate(MODULES):
        yield "forward", module, 64 * (is_bad and number > at), 64 * (is_bad and number >= at), 3.0 + number
    for number, module in enumerate(reversed(MODULES)):
        yield "backward", module, 64 * is_bad, 64 * is_bad, 0.1 + number
    yield "grad_sync", "(all)", 900 * is_bad, 900 * (step == SINCE), 0.3


def _drawn(rank: int, step: int, rows: Iterator[_Row]) -> str:
    head = f"\n==== rank {rank} step {step} ====\n| phase | module | in nan/inf | out nan/inf | out absmax |\n|---|---|---|---|---|\n"
    return head + "".join(
        f"| {phase} | {module} | {given}/0 | {made}/0 | {'nan' if made else most} |\n"
        for phase, module, given, made, most in rows
    )


def _objects(rank: int, step: int, rows: Iterator[_Row]) -> str:
    names = ("where", "layer", "input_nan", "output_nan", "output_absmax")
    told = ({"rank": rank, "step": step, **dict(zip(names, row, strict=True))} for row in rows)
    return "".join(json.dumps(one) + "\n" for one in told)


def _cells(rank: int, step: int, rows: Iterator[_Row]) -> str:
    head = "rank,iteration,phase,layer,in_nonfinite,out_nonfinite,out_amax\n" if step == STEPS[0] else ""
    return head + "".join(f"{rank},{step}," + ",".join(map(str, row)) + "\n" for row in rows)


FORMS = [(_drawn, "txt"), (_objects, "jsonl"), (_cells, "csv")]


def _write(folder: Path, form: Callable[[int, int, Iterator[_Row]], str], end: str, odd: set[int]) -> Path:
    for rank in RANKS:
        text = "".join(form(rank, step, _rows(step, bad=rank in odd)) for step in STEPS)
        (folder / f"rank{rank}.{end}").write_text(text)
    return folder


@pytest.mark.parametrize(("form", "end"), FORMS)
def test_where_clean_values_became_bad(
    tmp_path: Path, form: Callable[[int, int, Iterator[_Row]], str], end: str
) -> None:
    verdict = analyze(_write(tmp_path, form, end, {ODD})).verdict
    first = verdict.first_anomaly
    assert (verdict.cause, verdict.ranks, first.step, first.module) == ("nan_birth", [ODD], SINCE, WHERE)


@pytest.mark.parametrize(("form", "end"), FORMS)
def test_on_all_alike_it_is_nobodys(tmp_path: Path, form: Callable[[int, int, Iterator[_Row]], str], end: str) -> None:
    assert analyze(_write(tmp_path, form, end, {*RANKS})).verdict.ranks == []
