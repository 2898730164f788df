"""Ledgers of pending calls of one's own: who waits for whom, a row for each process; a circle is one, whatever its fields are called."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS = 8
Calls = Mapping[
    int, tuple[str, int, str]
]  # rank → message, its other end, group; all others stand in a collective of the world
CIRCLE: Calls = {1: ("recv", 4, "halo"), 4: ("recv", 6, "halo"), 6: ("recv", 1, "halo")}


def mpi(calls: Calls, since: int) -> str:
    rows = ["# pending calls   columns: rank host pid call args since_s"]
    for rank in range(RANKS):
        if rank in calls:
            op, peer, group = calls[rank]
            end = "dst" if op == "send" else "src"
            what = f"MPI_{op.capitalize()}      {end}={peer} tag=311 count=18432 MPI_FLOAT comm={group}"
        else:
            what = f"MPI_Allreduce  count=1 MPI_DOUBLE op=MAX comm=world({RANKS})"
        rows.append(f"r{rank}  grace{rank // 2:02}  {5120 + 7 * rank}  {what}    {since}")
    return "\n".join(rows) + "\n"


def _fields(calls: Calls, rank: int, since: int) -> dict[str, object]:
    op, peer, group = calls.get(rank, ("barrier", "", "world"))
    return {"rank": rank, "call": op, "peer": peer if peer != "" else None, "comm": group, "open_s": since}


def lines(calls: Calls, since: int) -> str:
    return "".join(json.dumps(_fields(calls, rank, since)) + "\n" for rank in range(RANKS))


def table(calls: Calls, since: int) -> str:
    rows = [_fields(calls, rank, since) for rank in range(RANKS)]
    return "rank,op,peer,comm,waiting_s\n" + "".join(
        f"{one['rank']},{one['call']},{'' if one['peer'] is None else one['peer']},{one['comm']},{since}\n"
        for one in rows
    )


def quoted(calls: Calls, since: int) -> str:
    """A sampler writes what it likes into a cell, commas too."""
    rows = table(calls, since).splitlines()
    return "".join(f"{row},{'note' if not at else chr(34) + 'seen, again' + chr(34)}\n" for at, row in enumerate(rows))


FORMS: dict[str, tuple[str, Callable[[Calls, int], str]]] = {
    "MPI": ("pending_{}.txt", mpi),
    "JSON": ("open_{}.jsonl", lines),
    "CSV": ("calls_{}.csv", table),
    "quoted CSV": ("calls_{}.csv", quoted),
}


def looks(folder: Path, form: str, calls: Calls, count: int = 2) -> Verdict:
    name, write = FORMS[form]
    for look in range(1, count + 1):
        (folder / name.format(look)).write_text(write(calls, 900 * look))
    (folder / "run.log").write_text("".join(f"09:0{n}:00 step {n} loss 2.{n}\n" for n in range(1, 6)))
    return analyze(folder).verdict


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("op", ["recv", "send"])
def test_a_circle_of_messages_in_two_looks(tmp_path: Path, form: str, op: str) -> None:
    found = looks(tmp_path, form, {rank: (op, peer, group) for rank, (_, peer, group) in CIRCLE.items()})
    assert (found.kind, found.cause, found.cycle, found.ranks) == ("hang", "deadlock_cycle", [1, 4, 6], [])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "calls",
    [
        {1: ("recv", 4, "halo"), 4: ("send", 1, "halo")},
        {1: ("recv", 4, "halo"), 4: ("recv", 6, "halo")},
        {2: ("recv", 1, "pp1"), 3: ("recv", 0, "pp1"), 0: ("recv", 3, "pp0"), 1: ("send", 0, "pp0")},
    ],
    ids=["a message on its way", "a chain", "numbers within groups"],
)
def test_what_is_no_circle_names_none(tmp_path: Path, form: str, calls: Calls) -> None:
    found = looks(tmp_path, form, calls)
    assert (found.cycle, found.ranks) == ([], [])


@pytest.mark.parametrize("form", FORMS)
def test_one_look_proves_no_standstill(tmp_path: Path, form: str) -> None:
    found = looks(tmp_path, form, CIRCLE, count=1)
    assert found.cycle == [] and found.suspects.ranks in ([], [1, 4, 6])
