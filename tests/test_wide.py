"""Tables with a column for each process: of what, and of whom, in the ways in which they are exported."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from parsers.forms.wide import wide_names, wide_rows
from tests.sources import source, written

COUNT, SLOW, FROM = 6, 4, 12
ROSTER = ["| position | host | gpu | rank |", "|---|---|---|---|"]
ROSTER += [
    f"| {name} | n{at // 2} | {at % 2} | {5 - at} |" for at, name in enumerate(("A1", "A2", "B1", "B2", "C1", "C2"))
]
NAMES = {
    "rank": [f"rank {at}" for at in range(COUNT)],
    "r": [f"worker{at}" for at in range(COUNT)],
    "positions": ["C2", "C1", "B2", "B1", "A2", "A1"],
    "devices": ["n2/gpu1", "n2/gpu0", "n1/gpu1", "n1/gpu0", "n0/gpu1", "n0/gpu0"],
}


def _table(heads: Sequence[str], times: tuple[int, int], mark: str, unit: str = "") -> list[str]:
    """`times`: of the slow one from FROM on, and of all else."""
    late, usual = times
    rows = [
        [str(100 + step), *(f"{(late if at == SLOW and step >= FROM else usual) + (7 * step + at) % 5}{unit}" for at in range(COUNT))]
        for step in range(40)
    ]  # fmt: skip
    return [mark.join(row) for row in (["step", *heads], *rows)]


def _waits(heads: Sequence[str], mark: str, unit: str = "") -> list[str]:
    rows = [
        [str(100 + step), *(f"{(240 if at != SLOW and step >= FROM else 30) + (5 * step + at) % 4}{unit}" for at in range(COUNT))]
        for step in range(40)
    ]  # fmt: skip
    return [mark.join(row) for row in (["step", *heads], *rows)]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("names", ["rank", "positions", "devices"])
def test_whose_column_leaves_the_others_is_slow(names: str, mark: str, tmp_path: Path) -> None:
    files = {
        "week 24 - compute ms.csv": _table(NAMES[names], (520, 310), mark),
        "week 24 - allreduce ms.csv": _waits(NAMES[names], mark),
        "roster.md": ROSTER,
    }
    told = analyze(written(tmp_path, files)).incidents[0].verdict
    assert (told.kind, told.cause, told.ranks) == ("slow", "straggler_compute", [SLOW])
    assert told.first_anomaly.step == 100 + FROM


def _panel(metric: str, lines: list[str]) -> list[str]:
    heads = [f'"{metric}{{instance=""10.0.0.{at}:9100"", rank=""{at}""}}"' for at in range(COUNT)]
    rows = (line.partition(",")[2] for line in lines[1:])
    return [",".join(['"Time"', *heads]), *(f"2026-01-05 10:{at:02}:00,{row}" for at, row in enumerate(rows))]


@pytest.mark.parametrize("metrics", [("compute_ms", "allreduce_ms"), ("", "")])
def test_a_panel_of_gauges_is_of_no_step(metrics: tuple[str, str], tmp_path: Path) -> None:
    files = {
        "forward+backward per worker-data-2026-01-05.csv": _panel(metrics[0], _table([], (520, 310), ",", " ms")),
        "time in allreduce per worker-data-2026-01-05.csv": _panel(metrics[1], _waits([], ",", " ms")),
    }
    told = analyze(written(tmp_path, files)).incidents[0].verdict
    assert (told.kind, told.ranks, told.first_anomaly.step) == ("slow", [SLOW], None)


def test_a_loss_of_each(tmp_path: Path) -> None:
    """Who is called so, another file tells."""
    table = ["step,C2,C1,B2", *(f"{step},2.{step},{'nan' if step > 4 else 2.5},2.{9 - step}" for step in range(8))]
    steps = read(str(written(tmp_path, {"local_loss.csv": table, "roster.md": ROSTER}))).tables["steps"]
    assert steps.filter(steps["loss"].is_nan()).select("rank", "step").rows() == [(1, 5), (1, 6), (1, 7)]


@pytest.mark.parametrize(
    ("path", "head", "row"),
    [
        ("compute_ms.csv", "step,part1,part2", "1,2.5,3.5"),  # nobody: who reads them finds no rank
        ("compute_ms.csv", "step,red,blue", "1,2.5,3.5"),
    ],
)
def test_columns_of_nobody_name_nobody(path: str, head: str, row: str, tmp_path: Path) -> None:
    lines = [head, *(row.replace("2.5", str(2.5 if at < 9 else 25)).replace("1,", f"{at},", 1) for at in range(20))]
    assert wide_names(path, lines)
    found = analyze(written(tmp_path, {path: lines, "rank0.log": ["rank 0 of 2 world_size=2"]}))
    assert not found.incidents[0].verdict.ranks and not found.incidents[0].verdict.suspects.ranks


@pytest.mark.parametrize(
    ("path", "head", "row"),
    [
        ("notes.csv", "step,A1,A2", "1,2.5,3.5"),  # of what, nothing says
        ("compute_ms.csv", "step,loss,grad_norm", "1,2.5,3.5"),
        ("compute_ms.csv", "step,total,mean", "1,2.5,3.5"),
        ("compute_ms.csv", "A1,A2,A3", "1,2.5,3.5"),  # no step, no time
        ("compute_ms.csv", "step,A1,A2", "1,yes,no"),
        ("compute_ms.csv", "step,A1,A1", "1,2.5,3.5"),
        ("compute_ms.csv", 'Time,"{pod=""a""}","{pod=""a""}"', "1,2.5,3.5"),
    ],
)
def test_what_is_no_such_table(path: str, head: str, row: str) -> None:
    assert wide_names(path, [head, row]) == []
    assert [said for _, _, said in wide_rows(source(f"{head}\n{row}\n", path))] == [None, None]
