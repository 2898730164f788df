"""Files of figures that nobody in them says are whose, numbered as the files of the same processes are that say it; far figures name that rank then."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

Files = Mapping[str, Sequence[str]]
WORLD, ODD, STEP = 4, 2, 19


def loss(step: int, rank: int) -> float:
    is_far = (rank, step) == (ODD, STEP)
    return 2.99085e16 if is_far else round(0.8 + 0.01 * ((step * 7 + rank * 13) % 17), 5)


def norm(step: int, rank: int = 0) -> float:
    """Of what was reduced, all tell the same."""
    return round(0.2 + 0.003 * ((step * 5) % 11) + 0.01 * rank, 5) if step != STEP else 19392000.0


def rows(rank: int, mark: str, *, is_own: bool = False) -> list[str]:
    norms = [norm(step, rank if is_own else 0) for step in range(40)]
    return [
        mark.join(("step", "loss_local", "grad_norm")),
        *(mark.join((str(step), str(loss(step, rank)), str(norms[step]))) for step in range(40)),
    ]


def outputs(name: str, words: str = "rank {}: 1089 parameters") -> Files:
    return {name.format(r): [words.format(r), words.format(r).split(":")[0] + ": finished"] for r in range(WORLD)}


def figures(name: str, mark: str = ",", count: int = WORLD, start: int = 0, *, is_own: bool = False) -> Files:
    return {name.format(r + start): rows(r, mark, is_own=is_own) for r in range(count)}


FORMS: Mapping[str, Callable[[], Files]] = {
    "dots": lambda: {**outputs("out.{}"), **figures("stats.{}.tsv", "\t")},
    "folders": lambda: {**outputs("logs/out.{}"), **figures("stats/{}.csv")},
    "ranks": lambda: {**outputs("rank{}.log"), **figures("m.{}.csv")},
    "padded": lambda: {**outputs("o_{}.txt", "rank {} of 4: up"), **figures("metrics-0{}.csv")},
    "workers": lambda: {**outputs("worker-{}.out", "I am rank {} of 4: hello"), **figures("curves_{}.csv", ";")},
    "nodes of a name": lambda: {**outputs("stdout.{}"), **figures("train_stats_{}.txt", " ")},
    "pairs": lambda: {
        **outputs("out.{}"),
        **{f"fig.{r}.log": [f"step={s} loss={loss(s, r)} gnorm={norm(s)}" for s in range(40)] for r in range(WORLD)},
    },
    "lines": lambda: {
        **outputs("out.{}"),
        **{
            f"fig.{r}.log": [f"step {s} | loss {loss(s, r)} | gnorm {norm(s)} | t 0.5 s" for s in range(40)]
            for r in range(WORLD)
        },
    },
    "objects": lambda: {
        **outputs("err_{}", "rank {}/4: started"),
        **{
            f"hist-{r}.jsonl": [f'{{"step": {s}, "loss": {loss(s, r)}, "gnorm": {norm(s)}}}' for s in range(40)]
            for r in range(WORLD)
        },
    },
    "drawn": lambda: {
        **outputs("out.{}"),
        **{
            f"t{r}.md": [
                "| step | loss | gnorm |",
                "|---|---|---|",
                *(f"| {s} | {loss(s, r)} | {norm(s)} |" for s in range(40)),
            ]
            for r in range(WORLD)
        },
    },
    "each in its folder": lambda: {**outputs("p{}/out"), **figures("p{}/history.csv")},
    "a launcher's": lambda: {**outputs("{}/stdout.log", "rank {} of 4: ready"), **figures("{}/loss.csv")},
}


@pytest.mark.parametrize("form", FORMS)
def test_whose_figure_is_far_is_named(tmp_path: Path, form: str) -> None:
    said = analyze(str(written(tmp_path, FORMS[form]()))).verdict
    assert (said.kind, said.ranks) == ("numerics", [ODD])
    assert said.first_anomaly is not None and said.first_anomaly.step == STEP


OTHERS: Mapping[str, Callable[[], Files]] = {
    "more than ranks": lambda: {**outputs("out.{}"), **figures("stats.{}.tsv", "\t", count=5)},
    "from 1 on": lambda: {**outputs("out.{}"), **figures("stats.{}.tsv", "\t", start=1)},
    "layers": lambda: {**outputs("out.{}"), **figures("layer_{}.csv", is_own=True)},
    "of nobody": lambda: figures("fold{}.csv"),
    "seeds": lambda: {**outputs("out.{}"), **figures("seed_{}.csv", is_own=True)},
}


@pytest.mark.parametrize("form", OTHERS)
def test_what_else_is_numbered_names_nobody(tmp_path: Path, form: str) -> None:
    assert analyze(str(written(tmp_path, OTHERS[form]()))).verdict.ranks == []
