"""Which stage gave a bad value for a good one, where a launcher's console tells again what the log of each tells, and a stage behind it ended by that value."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

Line = Callable[[int, int, int, str, str], str]
STEPS, PARTS = 5, 3


def amount(rank: int, step: int, part: int) -> str:
    return f"{2 + (rank * 7 + step * 3 + part * 5) % 11 / 10:.4f}"


def told(stages: int, maker: int, line: Line, *, base: int = 0, last: int = STEPS - 1) -> dict[int, list[str]]:
    """The lines of each stage: in the last step the maker's second part went bad, and who was given that ended there."""
    made: dict[int, list[str]] = {rank: [] for rank in range(stages)}
    for rank in range(stages):
        for step in range(last + 1):
            for part in range(PARTS):
                is_bad = step == last and part == 1 and rank >= maker
                if step == last and rank > maker + 1 and part > 0:
                    break
                taken = "nan" if is_bad and rank > maker else amount(rank - 1, step, part)
                given = "nan" if is_bad else amount(rank, step, part)
                made[rank].append(line(rank, step + base, part + base, taken, given))
                if is_bad and rank > maker:
                    break
    return made


LINES: dict[str, Line] = {
    "stage": lambda r, s, m, i, o: f"stage {r} step {s} mb {m}: in {i} out {o}",
    "arrow": lambda r, s, m, i, o: f"step {s} mb {m} absmax input {i} -> output {o}",
    "fields": lambda r, s, m, i, o: f"step={s} mb={m} in_absmax={i} out_absmax={o}",
    "bars": lambda r, s, m, i, o: f"| step {s} | microbatch {m} | recv amax {i} | send amax {o} |",
    "iteration": lambda r, s, m, i, o: f"iteration {s}, micro-batch {m}: absmax of input {i}, of output {o}",
    "json": lambda r, s, m, i, o: (
        f'{{"step": {s}, "microbatch": {m}, "absmax_in": {i.replace("nan", "NaN")}, "absmax_out": {o.replace("nan", "NaN")}}}'
    ),
}
END = [
    "Traceback (most recent call last):",
    '  File "/w/pipe.py", line 45, in step',
    '    raise FloatingPointError(f"loss is {loss.item()}")',
    "FloatingPointError: loss is nan",
]


def own_logs(lines: dict[int, list[str]], name: str = "logs/rank_{}.log") -> dict[str, list[str]]:
    head = {rank: f"rank {rank} of {len(lines)} pid {4000 + rank}" for rank in lines}
    return {name.format(rank): [head[rank], *own] for rank, own in lines.items()}


def console(lines: dict[int, list[str]], mark: str, *, ranks: Iterable[int] | None = None) -> list[str]:
    """The lines of all, one of each in turn."""
    chosen = [lines[rank] for rank in (lines if ranks is None else ranks)]
    numbers = list(lines if ranks is None else ranks)
    return [
        mark.format(rank) + own[at]
        for at in range(max(map(len, chosen)))
        for rank, own in zip(numbers, chosen, strict=True)
        if at < len(own)
    ]


FORMS = {
    "own logs alone": (4, 2, "stage", None, 0),
    "a console of torchrun": (4, 2, "stage", "[default{}]:", 0),
    "a console with ranks": (4, 1, "stage", "[rank{}]: ", 0),
    "three stages": (3, 1, "arrow", "[rank{}]: ", 0),
    "counted from 1": (4, 2, "fields", "[rank{}]: ", 1),
    "six stages": (6, 3, "bars", "[rank{}]: ", 0),
    "the first stage": (4, 0, "iteration", "[rank{}]: ", 0),
    "records": (4, 2, "json", "[rank{}]: ", 0),
    "tasks of srun": (4, 2, "stage", "{}: ", 0),
    "tasks of mpirun": (4, 2, "stage", "[1,{}]<stdout>:", 0),
    "eight stages": (8, 5, "fields", "[rank{}]: ", 0),
    "bars of another base": (5, 2, "bars", "[default{}]:", 1),
}


def bundle(form: str) -> dict[str, list[str]]:
    stages, maker, line, mark, base = FORMS[form]
    lines = told(stages, maker, LINES[line], base=base)
    lines[maker + 1] += END
    files = own_logs(lines)
    return files if mark is None else {**files, "console.out": console(lines, mark)}


@pytest.mark.parametrize("form", FORMS)
def test_who_gave_it_is_named(tmp_path: Path, form: str) -> None:
    found = analyze(str(written(tmp_path, bundle(form)))).verdict
    assert (found.kind, found.ranks) == ("numerics", [FORMS[form][1]])


def cut(files: dict[str, list[str]], path: str, lines: int) -> dict[str, list[str]]:
    return {**files, path: files[path][:-lines]}


NOBODY = {
    "two that gave it for good ones": lambda: own_logs(
        {**told(4, 2, LINES["stage"]), 1: told(4, 1, LINES["stage"])[1]}
    ),
    "one whose log is lost": lambda: {k: v for k, v in own_logs(told(4, 2, LINES["stage"])).items() if "rank_2" not in k},
    "one whose log stops before": lambda: cut(own_logs(told(4, 2, LINES["stage"])), "logs/rank_2.log", 2),
    "one whose log stops before, in both files": lambda: {
        **cut(own_logs(told(4, 2, LINES["stage"])), "logs/rank_2.log", 2),
        "console.out": console({**told(4, 2, LINES["stage"]), 2: told(4, 2, LINES["stage"])[2][:-2]}, "[rank{}]: "),
    },
    "one whose lines are lost in between": lambda: {
        **own_logs(told(4, 2, LINES["stage"])),
        "logs/rank_1.log": own_logs(told(4, 2, LINES["stage"]))["logs/rank_1.log"][:-3],
    },
    "all were given it": lambda: own_logs(
        {r: [f"stage {r} step {s} mb 0: in {'nan' if s == 4 else '2.5'} out {'nan' if s == 4 else '2.7'}" for s in range(5)] for r in range(4)}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NOBODY)
def test_else_nobody_is_named(tmp_path: Path, case: str) -> None:
    assert analyze(str(written(tmp_path, NOBODY[case]()))).verdict.ranks == []
