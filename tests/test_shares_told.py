"""Processes that say which of how many they are, in a field of every record: `"dp": "2/4"`, whatever it is called and however the files are."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze

STEPS, FIRST = 9, 6
Write = Callable[[Path, int, int], None]


def _values(rank: int, step: int, odd: int) -> tuple[float, float]:
    """What is its own, and what all have reduced."""
    own = 2 - step / 9 + rank / 40
    return (float("inf") if (rank, step) == (odd, FIRST) else own if step <= FIRST else float("nan")), (
        1.5 - step / 9 if step < FIRST else float("nan")
    )


def _write(text: dict[Path, list[str]]) -> None:
    for path, lines in text.items():
        path.write_text("\n".join(lines) + "\n")


def _objects(field: str, name: str, form: str = "{r}/{w}", *, first: bool = False, base: int = 0) -> Write:
    def write(folder: Path, world: int, odd: int) -> None:
        text: dict[Path, list[str]] = {}
        for step, rank in ((step, rank) for step in range(-1, STEPS) for rank in range(world)):
            at: object = form.format(r=rank + base, w=world)
            for part in reversed(field.split(".")):
                at = {part: at}
            assert isinstance(at, dict)
            own, mean = _values(rank, step, odd)
            said = {"event": "iter", **({} if first else at), "n": step}
            told = said | {"local": {"mse": own}, "reduced": {"mse": mean}, "lr": 0.003}
            path = folder / name.format(r=rank, l="qkzvab"[rank])
            text.setdefault(path, []).append(json.dumps(told if step >= 0 else {"event": "boot", **at}))
        _write(text)

    return write


def _lines(form: str, name: str, head: str = "") -> Write:
    def write(folder: Path, world: int, odd: int) -> None:
        text: dict[Path, list[str]] = {}
        for step in range(STEPS):
            for rank in range(world):
                own, mean = _values(rank, step, odd)
                path = folder / name.format(r=rank, l="qkzvab"[rank])
                lines = text.setdefault(path, [head] if head else [])
                lines.append(form.format(r=rank, w=world, s=step, own=own, mean=mean))
        _write(text)

    return write


FORMS: dict[str, Write] = {
    "inside another field": _objects("ctx.dp", "worker-{r}.jsonl"),
    "of names without numbers": _objects("ctx.dp", "trace_{l}.jsonl"),
    "flat": _objects("member", "worker-{r}.jsonl"),
    "in words": _objects("proc", "p{r}.jsonl", "{r} of {w}"),
    "from 1": _objects("replica", "trace_{l}.jsonl", base=1),
    "in one file": _objects("replica", "all.jsonl"),
    "once": _objects("ctx.worker", "worker-{r}.jsonl", first=True),
    "commas": _lines("{s},{r}/{w},{own:.4f},{mean:.4f}", "m{l}.csv", "step,member,local_mse,reduced_mse"),
    "commas in one file": _lines("{s},{r}/{w},{own:.4f},{mean:.4f}", "all.csv", "step,member,local_mse,reduced_mse"),
    "tabs": _lines("{s}\t{r}/{w}\t{own:.4f}\t{mean:.4f}", "m{l}.tsv", "step\treplica\tlocal_mse\treduced_mse"),
    "logfmt": _lines("level=info replica={r}/{w} step={s} local_mse={own:.4f} reduced_mse={mean:.4f}", "run_{l}.log"),
    "a table in one file": _lines(
        "| {s} | {r}/{w} | {own:.4f} | {mean:.4f} |",
        "all.md",
        "| step | worker | local_mse | reduced_mse |\n|---|---|---|---|",
    ),
    "brackets": _lines("[{r}/{w}] step {s} local_mse={own:.4f} reduced_mse={mean:.4f}", "run_{l}.log"),
    "brackets in one file": _lines("[{r}/{w}] step {s} local_mse={own:.4f} reduced_mse={mean:.4f}", "run.log"),
}


@pytest.mark.parametrize("form", FORMS)
def test_who_it_was_is_named(tmp_path: Path, form: str) -> None:
    world = 4 + list(FORMS).index(form) % 2
    FORMS[form](tmp_path, world, 2)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, list(verdict.ranks)) == ("numerics", [2])
    assert verdict.first_anomaly is not None and verdict.first_anomaly.step == FIRST


@pytest.mark.parametrize(
    "form",
    [
        _objects("ctx.pp", "worker-{l}.jsonl"),  # a stage
        _objects("ctx.dp", "worker-{l}.jsonl", "{r}/8"),  # of more than left a file
        _objects("ctx.dp", "worker-{l}.jsonl", "1/{w}"),  # of all alike
        _objects("epoch", "worker-{l}.jsonl", "{r}/{w}"),
        _lines("[1/4] step {s} local_mse={own:.4f} reduced_mse={mean:.4f}", "run_{l}.log"),
    ],
)
def test_what_counts_something_else_names_nobody(tmp_path: Path, form: Write) -> None:
    form(tmp_path, 4, 2)
    assert not analyze(tmp_path).verdict.ranks


def test_a_rank_that_is_told_otherwise_stands(tmp_path: Path) -> None:
    for rank in range(4):
        rows = []
        for step in range(STEPS):
            own, mean = _values(rank, step, 2)
            at = {"rank": rank, "member": f"{3 - rank}/4", "step": step}
            rows.append(json.dumps({**at, "local_mse": own, "reduced_mse": mean}))
        (tmp_path / f"trace_{'qkzv'[rank]}.jsonl").write_text("\n".join(rows) + "\n")
    assert analyze(tmp_path).verdict.ranks == [2]


@pytest.mark.parametrize("says", ["{k} of {w} n1 {pid}", "rank {k}/{w}", "process {k} of {w} up"])
@pytest.mark.parametrize("label", ["[stdout:{l}]", "[engine {l}]", "e{l} |"])
def test_labels_that_each_say_once_which_of_all_they_are_count_otherwise(tmp_path: Path, label: str, says: str) -> None:
    ranks = (3, 0, 2, 1)  # by label
    lines = [f"{label} {says}".format(l=at, k=rank, w=4, pid=41006 + at) for at, rank in enumerate(ranks)]
    for step in range(STEPS):
        for at, rank in enumerate(ranks):
            own, _ = _values(rank, step, 2)
            lines.append(f"{label} it {step} own loss {own:.5f}".format(l=at))
    (tmp_path / "run.log").write_text("\n".join(lines) + "\n")
    assert analyze(tmp_path).verdict.ranks == [2]
