"""Tables of how far each rank came in each of its groups, whoever prints them: they are records of the ranks, and no witness of time."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze

# rank, group, members, enqueued, completed, open operation
Row = tuple[int, str, tuple[int, ...], int, int, str]
CYCLE: tuple[Row, ...] = (
    (0, "tp", (0, 1), 11, 10, "_ALLGATHER_BASE"), (0, "dp", (0, 2), 5, 5, "-"),
    (1, "tp", (0, 1), 10, 10, "-"), (1, "dp", (1, 3), 6, 5, "ALLREDUCE"),
    (2, "tp", (2, 3), 10, 10, "-"), (2, "dp", (0, 2), 6, 5, "ALLREDUCE"),
    (3, "tp", (2, 3), 11, 10, "_ALLGATHER_BASE"), (3, "dp", (1, 3), 5, 5, "-"),
)  # fmt: skip
BEHIND: tuple[Row, ...] = tuple(
    (rank, "world", (0, 1, 2, 3), 8 - (rank == 2), 7, "ALLREDUCE" if rank != 2 else "-") for rank in range(4)
)
NAMES = ("rank", "group", "members", "enqueued", "completed", "open_op")
OTHER_NAMES = ("global_rank", "pg", "ranks", "last_enqueued", "last_completed", "op")


def columns(rows: Sequence[Row]) -> str:
    lines = ["rank group   members       enqueued  completed  open_op"]
    lines += [f"{r:4d} {g:7s} {list(m)!s:13s} {e:8d}  {c:9d}  {o}" for r, g, m, e, c, o in rows]
    return "\n".join(lines) + "\n"


def markdown(rows: Sequence[Row]) -> str:
    head = f"| {' | '.join(NAMES)} |\n|{'---|' * len(NAMES)}\n"
    return head + "".join(f"| {r} | {g} | {list(m)} | {e} | {c} | {o} |\n" for r, g, m, e, c, o in rows)


def commas(rows: Sequence[Row]) -> str:
    return ",".join(OTHER_NAMES) + "\n" + "".join(f'{r},{g},"{list(m)}",{e},{c},{o}\n' for r, g, m, e, c, o in rows)


def objects(rows: Sequence[Row]) -> str:
    return "".join(
        json.dumps(dict(zip(NAMES, (r, g, list(m), e, c, o), strict=True))) + "\n" for r, g, m, e, c, o in rows
    )


FORMS = {"columns": columns, "markdown": markdown, "commas": commas, "objects": objects}


def verdict(folder: Path, text: str, hung: bool = True):  # type: ignore[no-untyped-def]
    (folder / "counters.txt").write_text(text)
    return analyze(folder, hung=hung).verdict


@pytest.mark.parametrize("form", FORMS)
def test_who_waits_for_whom_in_a_circle(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, FORMS[form](CYCLE))
    assert (found.kind, found.cause, found.ranks, found.cycle) == ("hang", "deadlock_cycle", [], [0, 1, 2, 3])


@pytest.mark.parametrize("form", FORMS)
def test_who_has_not_come(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, FORMS[form](BEHIND))
    assert (found.kind, found.cause, found.ranks) == ("hang", "rank_absent", [2])


@pytest.mark.parametrize("rows", [CYCLE, BEHIND])
def test_nothing_says_that_it_stood_still(tmp_path: Path, rows: Sequence[Row]) -> None:
    found = verdict(tmp_path, columns(rows), hung=False)
    assert (found.ranks, found.cycle) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        columns([(r, g, m, c, c, "-") for r, g, m, _, c, _ in CYCLE]),  # nothing is open
        columns([(7, "tp", (0, 1), 9, 8, "ALLREDUCE")]),  # no member
        "rank group enqueued completed\n0 tp 11 10\n1 tp 10 10\n",  # of whom, it does not say
    ],
)
def test_what_tells_of_no_wait(tmp_path: Path, text: str) -> None:
    found = verdict(tmp_path, text)
    assert (found.ranks, found.cycle) == ([], [])
