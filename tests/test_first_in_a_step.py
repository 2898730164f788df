"""Ranks that print what each module gave, in one order: who shows the first bad figure of a step made it, though mates show what came of it in the same step."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

Files = Mapping[str, Sequence[str]]
WORLD, MATES, ODD, STEP, STEPS = 8, 4, 5, 7, 11  # a part of 4 mates shares what `down` gave; two parts share gradients
MODULES = ("emb", "b0.ln", "b0.up", "b0.down", "b0", "b1.ln", "b1.up", "b1.down", "b1", "head")


def size(step: int, module: str, rank: int, bad: str) -> str:
    """The largest figure that a module gave on a rank."""
    at = MODULES.index(module)
    is_own = rank == ODD and module in ("b1.up", "b1.down")
    is_mate = rank // MATES == ODD // MATES and module in ("b1", "head")
    if step > STEP or (step == STEP and (is_own or is_mate)):
        return "nan" if step > STEP else bad
    return f"{1.5 + 0.1 * at + 0.013 * ((step * 5 + rank * 3) % 7):.4g}"


def loss(step: int, rank: int, bad: str) -> str:
    is_lost = step > STEP or (step == STEP and rank // MATES == ODD // MATES)
    return bad if is_lost else f"{4 - 0.1 * step + 0.01 * (rank // MATES):.4f}"


def told(rank: int, bad: str) -> Iterator[tuple[int, str, str]]:
    for step in range(STEPS):
        for module in MODULES:
            yield step, module, size(step, module, rank, bad)
        yield step, "", loss(step, rank, bad)


def each(path: str, made: Callable[[int, int, str, str], str], bad: str, head: str = "rank {} of 8") -> Files:
    return {
        path.format(rank): [head.format(rank), *(made(rank, *one) for one in told(rank, bad))] for rank in range(WORLD)
    }


def count(value: str) -> int:
    return 192 if "n" in value else 0


def prose(rank: int, step: int, module: str, value: str) -> str:
    rest = f"act {module}: mean=0.01 absmax={value} nan={count(value)}" if module else f"loss {value}"
    return f"[2026-11-30 07:30:{step:02d}] [rank {rank}] it {step} {rest}"


def logfmt(rank: int, step: int, module: str, value: str) -> str:
    what = f"module={module} absmax={value} nonfinite={count(value)}" if module else f"loss={value}"
    return f"rank={rank} step={step} {what}"


def objects(rank: int, step: int, module: str, value: str) -> str:
    cell = json.loads(value.replace("nan", "NaN").replace("inf", "Infinity"))
    what = {"module": module, "absmax": cell, "bad": count(value)} if module else {"loss": cell}
    return json.dumps({"rank": rank, "step": step} | what)


def bars(rank: int, step: int, module: str, value: str) -> str:
    return f"step {step} | {module or 'loss'} | max|x| {value}" if module else f"step {step} | loss {value}"


def colons(rank: int, step: int, module: str, value: str) -> str:
    rest = f"{module} output: std 0.98, largest {value}, {count(value)} bad" if module else f"train loss: {value}"
    return f"p{rank} | iteration {step} - {rest}"


def short(rank: int, step: int, module: str, value: str) -> str:
    return f"{step:4d}  {module:<8} peak {value}" if module else f"step {step} loss {value}"


def merged(made: Callable[[int, int, str, str], str], prefix: str) -> Callable[[str], Files]:
    def one(bad: str) -> Files:
        lines = [
            prefix.format(rank) + made(rank, *row)
            for rows in zip(*(told(rank, bad) for rank in range(WORLD)), strict=True)
            for rank, row in enumerate(rows)
        ]
        return {"job.log": [*(prefix.format(r) + f"rank {r} of 8 started" for r in range(WORLD)), *lines]}

    return one


FORMS: Mapping[str, Callable[[str], Files]] = {
    "prose": lambda bad: each("rank_{}.log", prose, bad),
    "logfmt": lambda bad: each("w{}.log", logfmt, bad),
    "objects": lambda bad: each("r{}.jsonl", objects, bad, '{{"event": "start", "rank": {}, "world": 8}}'),
    "bars": lambda bad: each("out/rank{}.txt", bars, bad),
    "colons": lambda bad: each("p{}.log", colons, bad),
    "short": lambda bad: each("hooks.rank{}", short, bad),
    "default": merged(prose, "[default{}]:"),
    "torchrun": merged(logfmt, "[rank{}]: "),
    "srun": merged(bars, "{}: "),
    "mpi": merged(colons, "[1,{}]<stdout>:"),
    "docker": merged(prose, "worker-{}  | "),
    "one log": merged(logfmt, ""),
}


@pytest.mark.parametrize(("form", "bad"), [*((form, "nan") for form in FORMS), ("prose", "4.1e37"), ("srun", "4.1e37")])
def test_who_shows_it_first_is_named(tmp_path: Path, form: str, bad: str) -> None:
    said = analyze(str(written(tmp_path, FORMS[form](bad)))).verdict
    assert (said.kind, said.ranks) == ("numerics", [ODD])
    assert said.first_anomaly is not None and said.first_anomaly.step == STEP


def _without(files: Files, rank: int, words: str) -> Files:
    return {path: [one for one in lines if f"{rank}" not in path or words not in one] for path, lines in files.items()}


def _turned(files: Files) -> Files:
    """The lines of each step from the last to the first, as of a list that is no order of what was computed."""
    block = len(MODULES) + 1
    turned = {}
    for path, (head, *lines) in files.items():
        turned[path] = [head, *(one for at in range(0, len(lines), block) for one in reversed(lines[at : at + block]))]
    return turned


def _in_one_record(bad: str) -> Files:
    lines = [
        f"rank={rank} step={step} loss={loss(step, rank, bad)} "
        + " ".join(f"{module}={size(step, module, rank, bad)}" for module in reversed(MODULES))
        for step in range(STEPS)
        for rank in range(WORLD)
    ]
    return {"all.log": lines}


def _stages(taken: str, given: str) -> Files:
    """Four stages of a pipeline: stage 2 gives a bad value, which only the last one is given in that step."""

    def made(rank: int) -> list[str]:
        lines = [f"rank {rank} of 4"]
        for step in range(STEPS):
            was_given = step > STEP or (step == STEP and rank > 2)
            gives = step > STEP or (step == STEP and rank > 1)
            lines.append(f"step {step} weights absmax {'nan' if step > STEP else 1.1 + rank / 10}")
            lines.append(f"step {step} {taken} absmax {'nan' if was_given else 1.3 + rank / 10}")
            lines.append(f"step {step} {given} absmax {'nan' if gives else 1.4 + rank / 10}")
            lines.append(f"step {step} back absmax {'nan' if step >= STEP else 1.5 + rank / 10}")
        return lines

    return {f"stage{rank}.log": made(rank) for rank in range(4)}


@pytest.mark.parametrize("names", [("recv", "send"), ("in", "out"), ("x0", "x1"), ("left", "right")])
def test_who_was_given_it_first_is_not_named(tmp_path: Path, names: tuple[str, str]) -> None:
    assert analyze(str(written(tmp_path, _stages(*names)))).verdict.ranks in ([], [2])


NOBODY: Mapping[str, Callable[[str], Files]] = {
    "another's record of it is lost": lambda bad: _without(each("rank_{}.log", prose, bad), 6, "b1.up"),
    "a mate's record is lost": lambda bad: {
        path: lines for path, lines in each("rank_{}.log", prose, bad).items() if path != "rank_4.log"
    },
    "listed from the end": lambda bad: _turned(each("rank_{}.log", prose, bad)),
    "in one record": _in_one_record,
}


@pytest.mark.parametrize("form", NOBODY)
def test_where_no_order_shows_who_nobody_is_named(tmp_path: Path, form: str) -> None:
    assert analyze(str(written(tmp_path, NOBODY[form]("nan")))).verdict.ranks == []
