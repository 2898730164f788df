"""A slow rank that nothing but a table of phases tells, in whatever form and words; and tables that accuse nobody."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from forensics import analyze

RANKS, STEPS, ODD, ONSET = range(4), 40, 2, 14
Row = tuple[int, int, float, float, float, float]  # step, rank, and ms of data, work, wait, optimizer
Rows = list[Row]


def rows(slow: tuple[int, ...] = (ODD,)) -> Rows:
    """Some work far longer from a step on, and all others wait for them."""
    chance, made = random.Random(5), []
    for step in range(STEPS):
        work = {rank: chance.uniform(80, 140) for rank in RANKS}
        work |= {rank: chance.uniform(700, 1100) for rank in slow if step >= ONSET}
        late = max(work.values())
        for rank in RANKS:
            wait = late - work[rank] + chance.uniform(15, 30)
            made.append((step, rank, chance.uniform(0.1, 0.4), work[rank], wait, chance.uniform(0.2, 0.4)))
    return made


def cells(row: Row) -> list[str]:
    return [*map(str, row[:2]), *(f"{cell:.1f}" for cell in row[2:])]


def one(name: str, head: str, sep: str = ",") -> Callable[[Rows], dict[str, str]]:
    return lambda made: {name: f"{head}\n" + "".join(sep.join(cells(row)) + "\n" for row in made)}


def each(head: str, of: slice = slice(0, 6)) -> Callable[[Rows], dict[str, str]]:
    def write(made: Rows) -> dict[str, str]:
        return {
            f"steps/rank{rank}.csv": f"{head}\n" + "".join(",".join([cells(row)[0], *cells(row)[of]]) + "\n" for row in made if row[1] == rank)
            for rank in RANKS
        }  # fmt: skip

    return write


def objects(made: Rows) -> dict[str, str]:
    return {
        f"rank{rank}.jsonl": "".join(
            json.dumps({"step": row[0], "rank": rank, "t": {"data": row[2], "fwd_bwd": row[3], "comm": row[4]}}) + "\n" for row in made if row[1] == rank
        )
        for rank in RANKS
    }  # fmt: skip


def lines(made: Rows) -> dict[str, str]:
    return {
        f"rank{rank}.log": f"rank {rank}/4 up\n"
        + "".join(f"12:00:{row[0]:02} step {row[0]} fwd_bwd={row[3]:.1f}ms sync={row[4]:.1f}ms opt={row[5]:.1f}ms\n" for row in made if row[1] == rank)
        for rank in RANKS
    }  # fmt: skip


def markdown(made: Rows) -> dict[str, str]:
    head = "| step | rank | data ms | compute ms | wait ms | opt ms |\n|---|---|---|---|---|---|\n"
    return {"steps.md": head + "".join("| " + " | ".join(cells(row)) + " |\n" for row in made)}


def wide(made: Rows) -> dict[str, str]:
    head = ",".join(["step", *(f"rank{rank}_compute_ms" for rank in RANKS)])
    told = (",".join([str(step), *(f"{row[3]:.1f}" for row in made if row[0] == step)]) for step in range(STEPS))
    return {"compute.csv": "\n".join([head, *told]) + "\n"}


def work_alone(made: Rows) -> dict[str, str]:
    return {"steps.csv": "step,rank,compute_ms\n" + "".join(f"{row[0]},{row[1]},{row[3]:.1f}\n" for row in made)}


FORMS: Mapping[str, Callable[[Rows], dict[str, str]]] = {
    "a file each": each("step,data_ms,fwd_bwd_ms,sync_ms,opt_ms", slice(2, 6)),
    "one file": one("steps.csv", "step,rank,data_ms,fwd_bwd_ms,sync_ms,opt_ms"),
    "tabs": one("steps.tsv", "step\trank\tdata_ms\tfwd_bwd_ms\tsync_ms\topt_ms", "\t"),
    "objects": objects,
    "lines of logs": lines,
    "Markdown": markdown,
    "a column for each rank": wide,
    "the work alone": work_alone,
    "work in a word of nobody": one("steps.csv", "step,rank,a_ms,zorp_ms,sync_ms,opt_ms"),
    "the wait in a word of nobody": one("steps.csv", "step,rank,a_ms,compute_ms,zorp_ms,opt_ms"),
    "work in German": one("steps.csv", "schritt,rang,laden_ms,rechnen_ms,allreduce_ms,opt_ms"),
    "work in Chinese": one("steps.csv", "step,rank,数据_ms,计算_ms,allreduce_ms,opt_ms"),
    "a file each, and a word of nobody": each("step,a_ms,zorp_ms,sync_ms,opt_ms", slice(2, 6)),
}


def named(folder: Path, files: Mapping[str, str]) -> tuple[str, list[int]]:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    verdict = analyze(folder).verdict
    return verdict.kind, verdict.ranks


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_who_is_slow_by_phases_alone(tmp_path: Path, form: Callable[[Rows], dict[str, str]]) -> None:
    assert named(tmp_path, form(rows())) == ("slow", [ODD])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("slow", [(), (0, 1, 2, 3)], ids=["nobody", "all"])
def test_nobody_is_slow_where_all_are_alike(
    tmp_path: Path, form: Callable[[Rows], dict[str, str]], slow: tuple[int, ...]
) -> None:
    assert named(tmp_path, form(rows(slow)))[1] == []


def odd(head: str, slow: tuple[int, ...]) -> Iterator[str]:
    yield from one("steps.csv", head)(rows(slow)).values()


@pytest.mark.parametrize(
    ("head", "slow"),
    [
        ("step,rank,a_ms,zorp_ms,blip_ms,c_ms", (0, 1, 3)),  # one waits for all others: neither word tells
        ("step,rank,a_ms,zorp_ms,blip_ms,c_ms", (ODD,)),
        ("step,rank,a_ms,zorp_ms,sync_ms,opt_ms", (0, 1, 3)),
    ],
)
def test_who_is_fast_is_not_slow(tmp_path: Path, head: str, slow: tuple[int, ...]) -> None:
    assert named(tmp_path, {"steps.csv": "".join(odd(head, slow))})[1] == []
