"""Several processes that all do one work, and one that learns from what they make and tells other figures: one of the first loses its own in a step, the learner
gives up over it or goes on with NaN. In sections, documents, tables and lines; and who may not be named."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

STEPS, AT = 14, 10
Cells = dict[str, str]
Writer = Callable[[int, int, int, Cells], str]  # rank, of how many, step, its figures


def cells(rank: int, step: int, odd: int | None, *, is_after: bool) -> Cells:
    lost = is_after or (rank == odd and step == AT)
    size = 0.3 + (rank * 5 + step * 7) % 13 / 20
    return {
        "weights_norm": "nan" if is_after else f"3.{100 + step * 3}",
        "observation_absmax": f"{2 + size:.5f}",
        "episodes": "0" if lost else str(2 + (rank + step) % 3),
        "return_mean": "nan" if lost else f"{size * 4:.5f}",
        "baseline": "nan" if lost else f"{size / 4:.5f}",
        "advantage_max": "nan" if lost else f"{size * 2:.5f}",
    }


def _sections(rank: int, ranks: int, step: int, told: Cells) -> str:
    head = f"[actor]\nrank = {rank}\nworld = {ranks}\nhost = vm\npid = {13930 + rank}\n\n" if step == 1 else ""
    return f"{head}[iteration {step}]\n" + "".join(f"{name} = {cell}\n" for name, cell in told.items())


def _documents(rank: int, ranks: int, step: int, told: Cells) -> str:
    head = f"---\nworker:\n  rank: {rank}\n  world_size: {ranks}\n" if step == 1 else ""
    return f"{head}---\niteration: {step}\n" + "\n".join(
        f"{name}: {cell.replace('nan', '.nan')}" for name, cell in told.items()
    )


def _report(rank: int, ranks: int, step: int, told: Cells) -> str:
    head = f"# Actor\n\n* global rank: {rank}\n* world size: {ranks}\n\n" if step == 1 else ""
    return f"{head}## Iteration {step}\n\n" + "".join(f"* {name}: {cell}\n" for name, cell in told.items())


def _toml(rank: int, ranks: int, step: int, told: Cells) -> str:
    head = f"rank = {rank}\nworld_size = {ranks}\n\n" if step == 1 else ""
    return f"{head}[step.{step}]\n" + "".join(f"{name} = {cell}\n" for name, cell in told.items())


def _listed(rank: int, ranks: int, step: int, told: Cells) -> str:
    head = f"rank: {rank}\nworld_size: {ranks}\niterations:\n" if step == 1 else ""
    return f"{head}  - iteration: {step}\n" + "\n".join(
        f"    {name}: {cell.replace('nan', '.nan')}" for name, cell in told.items()
    )


def _columns(rank: int, ranks: int, step: int, told: Cells) -> str:
    del ranks
    head = "iteration,rank," + ",".join(told) + "\n" if step == 1 else ""
    return f"{head}{step},{rank}," + ",".join(told.values())


def _objects(rank: int, ranks: int, step: int, told: Cells) -> str:
    return json.dumps(
        {"rank": rank, "world_size": ranks, "step": step, **{name: float(cell) for name, cell in told.items()}}
    )


def _nested(rank: int, ranks: int, step: int, told: Cells) -> str:
    return json.dumps(
        {"step": step, "rank": rank, "world_size": ranks, "rollout": {name: float(cell) for name, cell in told.items()}}
    )


def _logfmt(rank: int, ranks: int, step: int, told: Cells) -> str:
    return f"rank={rank} world={ranks} iteration={step} " + " ".join(f"{name}={cell}" for name, cell in told.items())


def _prose(rank: int, ranks: int, step: int, told: Cells) -> str:
    del ranks
    return f"[rank{rank}] iteration {step}: " + ", ".join(
        f"{name.replace('_', ' ')} {cell}" for name, cell in told.items()
    )


def _bars(rank: int, ranks: int, step: int, told: Cells) -> str:
    head = f"actor is rank {rank} of {ranks} on vm, pid {13930 + rank}\n" if step == 1 else ""
    return f"{head}step {step} | " + " | ".join(f"{name}: {cell}" for name, cell in told.items())


def _python(rank: int, ranks: int, step: int, told: Cells) -> str:
    return str({"iter": step, "rank": rank, "world_size": ranks, **{name: float(cell) for name, cell in told.items()}})


WRITERS: Mapping[str, tuple[str, Writer]] = {
    "sections": ("actor-{rank}.ini", _sections),
    "documents": ("sampler-{rank}.yaml", _documents),
    "a report": ("actor_{rank}.md", _report),
    "TOML": ("actor_{rank}.toml", _toml),
    "a list of steps": ("rollout-{rank}.yaml", _listed),
    "columns": ("actor_{rank}.csv", _columns),
    "objects": ("actor_{rank}.jsonl", _objects),
    "nested objects": ("rollouts.jsonl", _nested),
    "logfmt": ("actors.log", _logfmt),
    "prose": ("actors.log", _prose),
    "bars": ("actor-{rank}.log", _bars),
    "python": ("actor-{rank}.txt", _python),
}


def learner(rank: int, ranks: int, *, raises: bool, at: int = AT) -> Iterator[str]:
    head = "2026-11-30 04:15:{:02},844 INFO maze.learner:"
    yield f"{head.format(0)} learner is rank {rank} of {ranks} on vm, pid {13930 + rank}"
    for step in range(1, STEPS + 1):
        if step >= at and raises:
            yield f"[rank{rank}]: Traceback (most recent call last):"
            yield f'[rank{rank}]:   File "/work/learner.py", line 28, in main'
            yield f"[rank{rank}]:     check(it, loss)"
            yield f'[rank{rank}]:   File "/work/learner.py", line 7, in check'
            yield f'[rank{rank}]:     raise FloatingPointError(f"policy loss is {{loss}} in iteration {{it}}")'
            yield f"[rank{rank}]: FloatingPointError: policy loss is nan in iteration {step}"
            return
        loss = "nan" if step >= at else f"{0.13 - step / 400 + step * 7 % 5 / 90:.5f}"
        norm = "nan" if step >= at else f"0.3{step:02}"
        yield f"{head.format(step)} iteration {step}: policy loss {loss}, entropy 1.{600 - step}, gradient norm {norm}, 256 transitions"


def judged(
    folder: Path,
    form: str,
    ranks: int,
    odd: int | None,
    *,
    raises: bool = True,
    first: bool = True,
    lost: int = -1,
    learns: bool = True,
    named: str = "{}",
) -> Verdict:
    """`first`: is the learner rank 0, else the last one? `learns`: is there a record of it? `named`: what figures are called."""
    name, write = WRITERS[form]
    own = 0 if first else ranks - 1
    actors = [rank for rank in range(ranks) if rank != own]
    files: dict[str, list[str]] = {}
    for step in range(1, STEPS + 1):
        for rank in actors:
            is_after = odd is not None and step > AT
            if rank != lost and not (is_after and raises):
                own_cells = cells(rank, step, None if odd is None else actors[odd], is_after=is_after)
                told = write(rank, ranks, step, {named.format(name): cell for name, cell in own_cells.items()})
                files.setdefault(name.format(rank=rank), []).append(told)
    if learns:
        files["learner.log"] = [
            *learner(own, ranks, raises=raises and odd is not None, at=AT if odd is not None else STEPS + 1)
        ]
    for path, lines in files.items():
        (folder / path).write_text("\n".join(lines) + "\n")
    (folder / "launch.txt").write_text(f"torchrun --nproc_per_node {ranks} maze.py\n")
    return analyze(folder).verdict


JOBS = [(form, (5, 4, 6)[at % 3], (2, 0, 4)[at % 3], at % 2 == 0, at % 4 < 2) for at, form in enumerate(WRITERS)]


@pytest.mark.parametrize(("form", "ranks", "odd", "raises", "first"), JOBS)
def test_who_lost_its_own_is_named(tmp_path: Path, form: str, ranks: int, odd: int, raises: bool, first: bool) -> None:
    verdict = judged(tmp_path, form, ranks, odd, raises=raises, first=first)
    named = odd + 1 if first else odd
    assert (verdict.kind, list(verdict.ranks), verdict.first_anomaly and verdict.first_anomaly.step) == (
        "numerics",
        [named],
        AT,
    )


@pytest.mark.parametrize(("form", "ranks", "odd", "raises", "first"), JOBS[::3])
def test_where_its_record_is_lost_nobody_else_is(
    tmp_path: Path, form: str, ranks: int, odd: int, raises: bool, first: bool
) -> None:
    named = odd + 1 if first else odd
    assert set(judged(tmp_path, form, ranks, odd, raises=raises, first=first, lost=named).ranks) <= {named}


@pytest.mark.parametrize(("form", "ranks", "odd", "raises", "first"), JOBS[1::3])
def test_without_a_record_of_the_learner_nobody_else_is(
    tmp_path: Path, form: str, ranks: int, odd: int, raises: bool, first: bool
) -> None:
    named = odd + 1 if first else odd
    assert set(judged(tmp_path, form, ranks, odd, raises=raises, first=first, learns=False).ranks) <= {named}


@pytest.mark.parametrize("form", [*WRITERS][::5])
def test_of_two_actors_nobody_is_and_a_sound_training_is_none(tmp_path: Path, form: str) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "none").mkdir()
    assert not judged(tmp_path / "two", form, 3, 1).ranks
    assert judged(tmp_path / "none", form, 5, None).kind != "numerics"


@pytest.mark.parametrize("form", [*WRITERS][1::4])
def test_a_gradient_may_have_come_from_the_learner(tmp_path: Path, form: str) -> None:
    assert not judged(tmp_path, form, 5, 2, named="grad_{}").ranks
