"""Each rank holds parts of the model that no other has, as experts: the weights of one of them are no number when a step begins, what all compute is lost in
that step, and all weights after it. Told in documents, tables, sections and lines; and who may not be named."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

FIRST, STEPS, HELD = 20, 7, 2  # the first step, how many, parts of each rank
Cells = dict[str, str]
Told = tuple[
    int, int, int, str, Cells, dict[str, Cells]
]  # rank, of how many, step, its loss, shared weights, its parts
Writer = Callable[[Told], str]


def story(ranks: int, odd: frozenset[int], at: int, *, given: bool = False) -> Iterator[Told]:
    """`given`: what each of the parts takes in is lost in that step on all ranks as well."""
    for step in range(FIRST, FIRST + STEPS):
        for rank in range(ranks):
            shared = {
                name: "nan" if odd and step > at else f"{size + step / 90:.4f}"
                for name, size in (("embed", 37.8), ("head", 5.6))
            }
            parts: dict[str, Cells] = {}
            for nth in range(HELD):
                is_bad = rank in odd and nth == HELD - 1 and step >= at
                size = 4.9 + rank / 10 + nth / 100 + step / 900
                taken = (
                    "nan"
                    if (odd and step > at) or (given and step >= at)
                    else f"{2 + rank / 7 + (step * 3 + nth) % 5 / 9:.4f}"
                )
                parts[f"e{HELD * rank + nth}"] = {
                    "w_norm": "nan" if is_bad else f"{size:.4f}",
                    "in_absmax": taken,
                    "out_absmax": "nan" if is_bad or taken == "nan" else f"{0.4 + rank / 50 + step / 800:.4f}",
                }
            loss = "nan" if odd and step >= at else f"{1.8 + rank / 40 - step / 300 + (step * 7 + rank) % 5 / 90:.4f}"
            yield rank, ranks, step, loss, shared, parts


def _number(cell: str) -> float:
    return float(cell)


def _floats(cells: Mapping[str, str]) -> dict[str, float]:
    return {name: float(cell) for name, cell in cells.items()}


def _dotted(cell: str) -> str:
    return cell.replace("nan", ".nan")


def _documents(told: Told) -> str:
    rank, ranks, step, loss, shared, parts = told
    head = (
        f"---\nrun:\n  rank: {rank}\n  world_size: {ranks}\n  experts: {HELD * ranks}\n  dtype: float32\n"
        if step == FIRST
        else ""
    )
    body = "".join(f"  {name}: {_dotted(cell)}\n" for name, cell in shared.items())
    own = "".join(
        f"  {part}:\n" + "".join(f"    {name}: {_dotted(cell)}\n" for name, cell in cells.items())
        for part, cells in parts.items()
    )
    return f"{head}---\nstep: {step}\nshared:\n{body}experts:\n{own}loss_local: {_dotted(loss)}"


def _nested(told: Told) -> str:
    rank, ranks, step, loss, shared, parts = told
    own: dict[str, Any] = {part: _floats(cells) for part, cells in parts.items()}
    return json.dumps(
        {
            "rank": rank,
            "world_size": ranks,
            "step": step,
            "loss_local": _number(loss),
            "shared": _floats(shared),
            "experts": own,
        }
    )


def _flat(told: Told) -> str:
    rank, _, step, loss, shared, parts = told
    own = {f"experts/{part}/{name}": float(cell) for part, cells in parts.items() for name, cell in cells.items()}
    return json.dumps({"step": step, "rank": rank, "loss": _number(loss), **_floats(shared), **own})


def _long(told: Told) -> str:
    rank, _, step, _, _, parts = told
    return "\n".join(f"{rank},{step},{part},{','.join(cells.values())}" for part, cells in parts.items())


def _wide(told: Told) -> str:
    _, _, step, loss, shared, parts = told
    names = ["step", "loss", *shared, *(f"{part}.{name}" for part, cells in parts.items() for name in cells)]
    row = [str(step), loss, *shared.values(), *(cell for cells in parts.values() for cell in cells.values())]
    return "\n".join([*([",".join(names)] if step == FIRST else []), ",".join(row)])


def _logfmt(told: Told) -> str:
    rank, ranks, step, loss, shared, parts = told
    own = " ".join(f"{part}.{name}={cell}" for part, cells in parts.items() for name, cell in cells.items())
    return (
        f"rank={rank} world={ranks} step={step} loss={loss} "
        + " ".join(f"{name}={cell}" for name, cell in shared.items())
        + f" {own}"
    )


def _prose(told: Told) -> str:
    rank, _, step, loss, shared, parts = told
    lines = [f"step {step} shared {name} norm {cell}" for name, cell in shared.items()]
    lines += [
        f"step {step} expert {part}: weights norm {cells['w_norm']}, input absmax {cells['in_absmax']}, output absmax {cells['out_absmax']}"
        for part, cells in parts.items()
    ]
    return "\n".join(f"[rank{rank}] {line}" for line in [*lines, f"step {step} loss {loss}"])


def _sections(told: Told) -> str:
    rank, ranks, step, loss, shared, parts = told
    head = f"[process]\nrank = {rank}\nworld = {ranks}\n\n" if step == FIRST else ""
    own = "".join(
        f"expert.{part[1:]}.{name} = {cell}\n" for part, cells in parts.items() for name, cell in cells.items()
    )
    return (
        f"{head}[step {step}]\nloss = {loss}\n" + "".join(f"{name} = {cell}\n" for name, cell in shared.items()) + own
    )


def _toml(told: Told) -> str:
    rank, ranks, step, loss, shared, parts = told
    head = f"rank = {rank}\nworld_size = {ranks}\n\n" if step == FIRST else ""
    own = "".join(f"{part}.{name} = {cell}\n" for part, cells in parts.items() for name, cell in cells.items())
    return (
        f"{head}[step.{step}]\nloss = {loss}\n" + "".join(f"{name} = {cell}\n" for name, cell in shared.items()) + own
    )


def _report(told: Told) -> str:
    rank, ranks, step, loss, shared, parts = told
    head = (
        f"# Experts\n\n| item | value |\n|---|---|\n| global rank | {rank} |\n| world size | {ranks} |\n\n"
        if step == FIRST
        else ""
    )
    rows = "".join(f"| {part} | {' | '.join(cells.values())} |\n" for part, cells in parts.items())
    weights = "".join(f"* {name}: norm {cell}\n" for name, cell in shared.items())
    return f"{head}## Step {step}\n\n| expert | w norm | in absmax | out absmax |\n|---|---:|---:|---:|\n{rows}\n{weights}* loss: {loss}\n"


def _listed(told: Told) -> str:
    rank, ranks, step, loss, shared, parts = told
    head = f"rank: {rank}\nworld_size: {ranks}\nsteps:\n" if step == FIRST else ""
    own = "".join(
        f"      {part}: {{{', '.join(f'{name}: {_dotted(cell)}' for name, cell in cells.items())}}}\n"
        for part, cells in parts.items()
    )
    weights = "".join(f"    {name}: {_dotted(cell)}\n" for name, cell in shared.items())
    return f"{head}  - step: {step}\n    loss: {_dotted(loss)}\n{weights}    experts:\n{own}".rstrip("\n")


def _python(told: Told) -> str:
    rank, _, step, loss, shared, parts = told
    own: dict[str, Any] = {part: _floats(cells) for part, cells in parts.items()}
    return str({"rank": rank, "iteration": step, "train_loss": _number(loss), **_floats(shared), **own})


def _headed(told: Told) -> str:
    rank, ranks, step, _, shared, parts = told
    rows = "".join(f"{part:8}{'  '.join(cells.values())}\n" for part, cells in parts.items())
    weights = "".join(f"{name:8}{cell}  0.1  0.1\n" for name, cell in shared.items())
    return f"== step {step} rank {rank} of {ranks} ==\nlayer   w_norm  in_absmax  out_absmax\n{weights}{rows}"


# The name of a file, one for each rank where the number stands in it; what stands at its head; a record.
WRITERS: Mapping[str, tuple[str, str, Writer]] = {
    "documents": ("rank{rank}.yaml", "", _documents),
    "nested objects": ("metrics.jsonl", "", _nested),
    "flat objects": ("rank{rank}.jsonl", "", _flat),
    "rows of parts": ("experts.csv", "rank,step,expert,w_norm,in_absmax,out_absmax\n", _long),
    "columns": ("rank_{rank}.csv", "", _wide),
    "logfmt": ("train.log", "", _logfmt),
    "prose": ("train.log", "", _prose),
    "sections": ("worker-{rank}.ini", "", _sections),
    "TOML": ("worker-{rank}.toml", "", _toml),
    "a report": ("worker-{rank}.md", "", _report),
    "a list of steps": ("node0_{rank}.yaml", "", _listed),
    "python": ("rank_{rank}.log", "", _python),
    "headed tables": ("rank_{rank}.txt", "", _headed),
}  # fmt: skip
JOBS = [(form, (4, 3, 5)[at % 3], (2, 0, 4)[at % 3], FIRST + (0, 4)[at % 2]) for at, form in enumerate(WRITERS)]


def judged(
    folder: Path, form: str, ranks: int, odd: frozenset[int], at: int, *, lost: int = -1, given: bool = False
) -> Verdict:
    name, head, write = WRITERS[form]
    files: dict[str, list[str]] = {}
    for told in story(ranks, odd, at, given=given):
        if told[0] != lost:
            files.setdefault(name.format(rank=told[0]), []).append(write(told))
    for path, lines in files.items():
        (folder / path).write_text(head + "\n".join(lines) + "\n")
    (folder / "launch.txt").write_text(f"torchrun --nproc_per_node {ranks} moe.py\n")
    return analyze(folder).verdict


@pytest.mark.parametrize(("form", "ranks", "odd", "at"), JOBS)
def test_who_holds_the_part_that_was_bad_is_named(tmp_path: Path, form: str, ranks: int, odd: int, at: int) -> None:
    verdict = judged(tmp_path, form, ranks, frozenset([odd]), at)
    assert (verdict.kind, list(verdict.ranks), verdict.first_anomaly and verdict.first_anomaly.step) == (
        "numerics",
        [odd],
        at,
    )


@pytest.mark.parametrize(("form", "ranks", "odd", "at"), JOBS[::4])
def test_where_its_record_is_lost_nobody_else_is(tmp_path: Path, form: str, ranks: int, odd: int, at: int) -> None:
    assert set(judged(tmp_path, form, ranks, frozenset([odd]), at, lost=odd).ranks) <= {odd}


@pytest.mark.parametrize(("form", "ranks", "odd", "at"), JOBS[1::4])
def test_what_all_took_in_bad_accuses_nobody(tmp_path: Path, form: str, ranks: int, odd: int, at: int) -> None:
    del odd
    assert not judged(tmp_path, form, ranks, frozenset(range(ranks)), at, given=True).ranks


@pytest.mark.parametrize(("form", "ranks", "odd", "at"), JOBS[::5])
def test_a_sound_training_is_none(tmp_path: Path, form: str, ranks: int, odd: int, at: int) -> None:
    del odd
    assert judged(tmp_path, form, ranks, frozenset(), at).kind != "numerics"
