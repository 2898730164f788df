"""Reports whose parts are called after a step and what of it they are: a stage that gave a bad value, and was given none, is named with its micro-batch."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from tests.sources import written

Files = Mapping[str, Sequence[str]]
WORLD, STEPS, MICRO, ODD, STEP, MB = 4, 8, 3, 2, 5, 1
Part = tuple[int, int | None, dict[str, Any]]


def parts(rank: int) -> list[Part]:
    """What a stage tells of each micro-batch of each step, and of the update: (step, micro-batch, figures)."""
    told: list[Part] = []
    for step in range(1, STEPS + 1):
        for mb in range(MICRO):
            size = round(1.2 + 0.05 * rank + 0.01 * ((step * 3 + mb) % 5), 3)
            is_born = (step, mb) == (STEP, MB)
            given = 64 if step > STEP or (is_born and rank > ODD) else 0
            made = 1 if is_born and rank == ODD else given
            told.append(
                (step, mb, {"in_absmax": "nan" if given else size, "in_nonfinite": given, "out_absmax": "nan" if made > 1 else size, "out_nonfinite": made})
            )  # fmt: skip
        norm = "nan" if step >= STEP else 1.1 + rank
        told.append((step, None, {"grad_norm": norm, "weight_norm_after": norm}))
    return told


def ini(name: str, update: str, before: str = "", *, mark: str = " = ") -> Files:
    def made(rank: int) -> list[str]:
        lines = ["[run]", f"rank{mark}{rank}", f"world_size{mark}{WORLD}"]
        for step, mb, said in parts(rank):
            lines += ["", before + (name.format(step, mb) if mb is not None else update.format(step))]
            lines += [f"{one}{mark}{value}" for one, value in said.items()]
        return lines

    return {f"stage{rank}.ini": made(rank) for rank in range(WORLD)}


def yaml(name: str, update: str) -> Files:
    def made(rank: int) -> list[str]:
        lines = [f"rank: {rank}", f"world_size: {WORLD}"]
        for step, mb, said in parts(rank):
            lines.append((name.format(step, mb) if mb is not None else update.format(step)) + ":")
            lines += [f"  {one}: {'.nan' if value == 'nan' else value}" for one, value in said.items()]
        return lines

    return {f"stage{rank}.yaml": made(rank) for rank in range(WORLD)}


def document(name: str, update: str) -> Files:
    def made(rank: int) -> list[str]:
        said: dict[str, Any] = {"rank": rank, "world_size": WORLD}
        for step, mb, one in parts(rank):
            cells = {name: float("nan") if value == "nan" else value for name, value in one.items()}
            said[name.format(step, mb) if mb is not None else update.format(step)] = cells
        return [json.dumps(said, indent=1)]

    return {f"stage{rank}.json": made(rank) for rank in range(WORLD)}


FORMS: Mapping[str, Callable[[], Files]] = {
    "words": lambda: ini("[step 9{} mb {}]", "[step 9{} update]"),
    "commas": lambda: ini("[step 9{}, mb {}]", "[step 9{}, update]"),
    "equal": lambda: ini("[step=9{} mb={}]", "[step=9{} update]"),
    "iterations": lambda: ini("[iteration 9{} microbatch {}]", "[iteration 9{} optimizer]"),
    "micro": lambda: ini("[iter 9{} / micro_batch {}]", "[iter 9{} / end]"),
    "lines": lambda: ini("[step_9{}_mb_{}]", "[step_9{}_update]"),
    "dashes": lambda: ini("[step-9{}-mb-{}]", "[step-9{}-update]", mark="="),
    "colons": lambda: ini("[step 9{} mb {}]", "[step 9{} update]", mark=": "),
    "yaml": lambda: yaml("step_9{}_mb_{}", "step_9{}_update"),
    "yaml in words": lambda: yaml("step 9{} mb {}", "step 9{} update"),
    "json": lambda: document("step_9{}_mb_{}", "step_9{}_update"),
    "json in words": lambda: document("step 9{} mb {}", "step 9{} optimizer"),
    "json, iterations": lambda: document("iteration 9{} micro {}", "iteration 9{}"),
}


@pytest.mark.parametrize("form", FORMS)
def test_who_gave_it_is_named_with_its_micro_batch(tmp_path: Path, form: str) -> None:
    said = analyze(str(written(tmp_path, FORMS[form]()))).verdict
    assert (said.kind, said.cause, said.ranks) == ("numerics", "nan_birth", [ODD])
    assert said.first_anomaly is not None
    assert (said.first_anomaly.step, said.first_anomaly.microbatch) == (int(f"9{STEP}"), MB)


@pytest.mark.parametrize("form", ["words", "yaml", "json"])
def test_where_its_report_is_lost_nobody_is(tmp_path: Path, form: str) -> None:
    files = {path: lines for path, lines in FORMS[form]().items() if f"{ODD}" not in path}
    assert analyze(str(written(tmp_path, files))).verdict.ranks == []
