"""A figure of any name, with few digits, that all ranks tell alike step after step: who tells another one from a step on left the others."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

Files = Mapping[str, Sequence[str]]
Value = Callable[[int, int], float]
WORLD, ODD, SINCE, STEPS = 4, 2, 25, 45


def common(step: int, rank: int) -> float:
    """Of what all hold; the odd rank's grows apart."""
    is_off = rank == ODD and step >= SINCE
    return round(4 + 0.0137 * ((step * 7) % 23) + (0.11 * (step - SINCE + 1) if is_off else 0), 4)


def own(step: int, rank: int) -> float:
    return round(1.4 - 0.002 * step + 0.003 * ((step * 5 + rank * 3) % 7), 4)


def each(path: str, made: Callable[[int], list[str]], world: int = WORLD) -> Files:
    return {path.format(rank): made(rank) for rank in range(world)}


def drawn(rank: int, value: Value, name: str, world: int) -> list[str]:
    def table(steps: range) -> list[str]:
        rows = [f"| {n} | {own(n, rank)} | 0.001 | {value(n, rank)} |" for n in steps]
        return ["", f"| it | D loss | lr D | {name} |", "|---:|---:|---:|---:|", *rows, ""]

    head = [f"# run, rank {rank} of {world}", "", "| setting | value |", "|---|---|", "| batch per rank | 48 |", ""]
    return [
        *head,
        "## Started 05:39:45",
        *table(range(SINCE)),
        "Saved `a.pt`.",
        "",
        "## Resumed",
        *table(range(SINCE, STEPS)),
    ]


def rows(mark: str, rank: int, value: Value, name: str) -> list[str]:
    return [
        mark.join(("step", "kappa", name)),
        *(mark.join(map(str, (n, own(n, rank), value(n, rank)))) for n in range(STEPS)),
    ]


def files(form: str, value: Value = common, name: str = "zeta", world: int = WORLD) -> Files:
    if form == "drawn":
        return each("report.rank{}.md", lambda r: drawn(r, value, name, world), world)
    if form in (",", "\t", ";"):
        return each("m_rank{}.txt", lambda r: rows(form, r, value, name), world)
    if form == "merged":
        lines = [f"{n},{r},{own(n, r)},{value(n, r)}" for n in range(STEPS) for r in range(world)]
        return {"all.csv": [f"step,rank,kappa,{name}", *lines]}
    if form == "objects":
        made = [
            json.dumps({"rank": r, "step": n, "kappa": own(n, r), name: value(n, r)})
            for n in range(STEPS)
            for r in range(world)
        ]
        return {"run.jsonl": made}
    if form == "nested":
        return each(
            "r{}.jsonl",
            lambda r: [
                json.dumps({"rank": r, "step": n, "m": {"kappa": own(n, r), name: value(n, r)}}) for n in range(STEPS)
            ],
            world,
        )
    if form == "yaml":
        return each(
            "rank{}.yaml",
            lambda r: [
                "steps:",
                *(f"  - {{step: {n}, kappa: {own(n, r)}, {name}: {value(n, r)}}}" for n in range(STEPS)),
            ],
            world,
        )
    if form == "ini":
        return each(
            "rank{}.ini",
            lambda r: [
                line
                for n in range(STEPS)
                for line in (f"[step {n}]", f"kappa = {own(n, r)}", f"{name} = {value(n, r)}", "")
            ],
            world,
        )
    text = {
        "pairs": "rank={r} step={n} kappa={own} {name}={value}",
        "bars": "[rank{r}]: step {n} | kappa {own} | {name} {value}",
        "prose": "[rank{r}]: step {n}: kappa {own}, {name} {value}",
    }[form]
    told = [
        text.format(r=r, n=n, own=own(n, r), name=name, value=value(n, r)) for n in range(STEPS) for r in range(world)
    ]
    return {"job.log": told}


FORMS = ("drawn", ",", "\t", ";", "merged", "objects", "nested", "yaml", "ini", "pairs", "bars", "prose")


@pytest.mark.parametrize("form", FORMS)
def test_who_left_the_others_is_named(tmp_path: Path, form: str) -> None:
    said = analyze(str(written(tmp_path, files(form)))).verdict
    assert (said.kind, said.cause, said.ranks) == ("numerics", "replica_divergence", [ODD])
    assert said.first_anomaly is not None and said.first_anomaly.step == SINCE


def _apart(step: int, rank: int) -> float:
    return common(step, 0) + 0.01 * rank


def _rarely(step: int, rank: int) -> float:
    """Of eighths, as a share of a small batch is: two or three are often the same."""
    return ((step * 5 + rank * rank * 3) % 7) / 8 + 0.125


def _setting(step: int, rank: int) -> float:
    return 0.75 if rank == ODD and step >= SINCE else 0.25


def _halves(step: int, rank: int) -> float:
    return common(step, ODD if rank % 2 else 0)


NOBODY: Mapping[str, Files] = {
    "each its own": files("merged", _apart),
    "eighths": files("merged", _rarely),
    "a setting": files("merged", _setting),
    "two sides": files("merged", _halves),
    "two ranks": files("merged", lambda step, rank: common(step, 2 * rank), world=2),
    "all alike": files("merged", lambda step, _rank: common(step, 0)),
}


@pytest.mark.parametrize("form", NOBODY)
def test_who_did_not_leave_is_not(tmp_path: Path, form: str) -> None:
    assert analyze(str(written(tmp_path, NOBODY[form]))).verdict.ranks == []
