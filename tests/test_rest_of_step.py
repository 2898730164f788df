"""A rank that spends its time in what no named phase accounts for: it is slow where the others wait for it, and where that is no habit."""

import json
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from forensics import analyze

STEPS = 40
Row = tuple[int, float, float, float, float, float]  # step, forward, backward, wait, something, whole


def csv(rank: int, rows: Collection[Row], name: str) -> tuple[str, str]:
    lines = [
        f"step,fwd_s,bwd_s,allreduce_s,{name}_s,total_s",
        *(",".join(f"{one:.3f}" if at else str(one) for at, one in enumerate(row)) for row in rows),
    ]
    return f"rank{rank}.csv", "\n".join(lines) + "\n"


def records(rank: int, rows: Collection[Row], name: str) -> tuple[str, str]:
    names = ("step", "forward_ms", "backward_ms", "grad_sync_ms", f"{name}_ms", "step_ms")
    lines = [
        json.dumps({"rank": rank} | dict(zip(names, (row[0], *(1000 * one for one in row[1:])), strict=True)))
        for row in rows
    ]
    return f"timing_{rank}.jsonl", "\n".join(lines) + "\n"


FORMS: dict[str, Callable[[int, Collection[Row], str], tuple[str, str]]] = {"csv": csv, "records": records}


def write(
    folder: Path,
    form: str,
    slow: Collection[int],
    at: Collection[int],
    *,
    name: str = "qux",
    world: int = 8,
    waits: bool = True,
    longer: float = 2.0,
) -> Path:
    """Ranks `slow` spend two seconds more in a phase that nobody knows, at these steps, and the others wait for them."""
    for rank in range(world):
        rows = []
        for step in range(STEPS):
            noise = ((7 * rank + 3 * step) % 5) / 1000
            extra = longer if step in at else 0.0
            own, other = (extra, 0.0) if rank in slow else (0.0, extra)
            work, wait = (0.0, other) if waits else (other, 0.0)
            parts = (0.4 + noise + work, 0.7 - noise, 0.05 + wait, 0.013 + own)
            rows.append((500 + step, *parts, sum(parts)))
        file, text = FORMS[form](rank, rows, name)
        (folder / file).write_text(text)
    return folder


LATER = range(12, STEPS, 3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["qux", "housekeeping", "other"])
def test_who_is_waited_for_in_what_has_no_name_is_named(tmp_path: Path, form: str, name: str) -> None:
    verdict = analyze(write(tmp_path, form, (5,), LATER, name=name)).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("slow", "straggler_host", [5])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("slow", "at", "world", "waits"),
    [
        (range(8), LATER, 8, True),  # all alike
        (range(4), LATER, 8, True),  # half of them
        ((1,), LATER, 2, True),  # two ranks
        ((5,), (), 8, True),  # nobody, never
        ((0,), range(0, STEPS, 5), 8, True),  # a habit from the first step to the last
        ((5,), LATER, 8, False),  # it waits itself while the others work
    ],
)
def test_else_nobody_is(
    tmp_path: Path, form: str, slow: Collection[int], at: Collection[int], world: int, waits: bool
) -> None:
    assert analyze(write(tmp_path, form, slow, at, world=world, waits=waits)).verdict.ranks == []
