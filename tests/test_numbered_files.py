"""A file whose number is the rank that its process tells is that rank's, where all files of its name are so."""

from collections.abc import Sequence
from typing import Any

import pytest

from forensics.assemble.who.numbered_files import numbered_files
from parsers.schema.tables import TABLE_NAMES, TableName, table

Claim = tuple[str, int, int | None]  # file, rank, pid
WORKERS: list[Claim] = [("node0/worker_0.log", 0, 70), ("node0/worker_1.log", 1, 71), ("node1/worker_2.log", 2, 70)]


def told(claims: Sequence[Claim], how: str = "MindSpore", **files: Any) -> dict[str, int]:
    """File → rank, of files that hold these claims."""
    rows: dict[TableName, list[dict[str, Any]]] = {
        "ranks": [{"file": file, "rank": rank, "pid": pid, "how": how} for file, rank, pid in claims if rank >= 0],
        "files": [{"file": file, "bytes": 9, **files} for file in dict.fromkeys(file for file, *_ in claims)],
    }
    found = numbered_files({name: table(name, rows.get(name, [])) for name in TABLE_NAMES})
    return dict(found.iter_rows())


def test_each_is_the_rank_that_its_number_and_its_process_say() -> None:
    assert told(WORKERS) == {file: rank for file, rank, _ in WORKERS}


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param(WORKERS[:1], id="one alone"),
        pytest.param([*WORKERS, ("node1/worker_3.log", 9, 72)], id="another number"),
        pytest.param([*WORKERS, ("node1/worker_7.log", -1, None)], id="one says nothing, and is not next"),
        pytest.param([WORKERS[0], *((f"node1/worker_{at}.log", -1, None) for at in (1, 2))], id="most say nothing"),
        pytest.param([*WORKERS, ("node0/worker_1.log", 5, 71)], id="two ranks in one"),
        pytest.param([*WORKERS, ("node0/worker_1.log", 1, 88)], id="two processes in one"),
        pytest.param([("node_0.log", 0, 70), ("node_1.log", 8, 71)], id="logs of nodes"),
        pytest.param([("rack1/a_0.log", 0, 70), ("rack0/a_0.log", 0, 71)], id="one rank twice"),
    ],
)
def test_where_one_is_not_none_is(claims: list[Claim]) -> None:
    assert told(claims) == {}


@pytest.mark.parametrize("local", [None, 0])
def test_one_that_says_nothing_is_the_number_that_is_left(local: int | None) -> None:
    """Where the numbers are just 0 … N-1, whatever the path calls them."""
    found = told([*WORKERS, ("node1/worker_3.log", -1, None)], local_rank=local)
    assert found == {**{file: rank for file, rank, _ in WORKERS}, "node1/worker_3.log": 3}


def test_what_a_launcher_says_of_its_processes_and_what_a_path_says_already_count_for_nothing() -> None:
    assert told(WORKERS, how="elastic failure table") == {}
    assert told(WORKERS, local_rank=0) == {}


# Known files with their ranks, others, and what is told of these.
CALLED: list[tuple[dict[str, int], dict[str, int]]] = [
    ({"t/r0.log": 0, "t/r1.log": 1}, {"t/dump_2341_r1.txt": 1, "t/dump_2355_r0.txt": 0}),
    ({"w-3/out": 9, "learner-00.out": 0, "learner-01.out": 1}, {"learner-01.pyspy": 1}),
    ({"a/w_0.log": 0, "a/w_4.log": 4}, {"a/stacks/w_4.gdb.txt": 4}),
    ({"logs/scorer-00.out": 0, "logs/scorer-01.out": 1}, {"looks/2/scorer-01.txt": 1}),
]
OTHERS: list[tuple[dict[str, int], str]] = [
    ({"t/r0.log": 0, "t/r1.log": 1}, "t/dump_r0_r1.txt"),  # of two
    ({"t/r0.log": 0, "t/r1.log": 1}, "e/dump_r1.txt"),  # of another folder
    ({"t/r0.log": 0, "t/r1.log": 1}, "t/dump_r7.txt"),  # of none that is known
    ({"t/r0.log": 4, "t/r1.log": 5}, "t/dump_r1.txt"),  # places on a later host
    ({"t/worker0.log": 0, "t/worker1.log": 1}, "e/worker1.dump"),  # as any program's may be called
    ({"t/actor0.log": 0, "t/actor1.log": 1, "e/actor0.log": 0, "e/actor1.log": 1}, "s/actor1.dump"),
    ({"t/step0.log": 0, "t/step1.log": 1}, "t/step1.dump"),
]


def _beside(known: dict[str, int], others: Sequence[str]) -> dict[str, int]:
    files = [*({"file": file, "bytes": 9, "rank": rank} for file, rank in known.items())]
    rows: dict[TableName, list[dict[str, Any]]] = {"files": [*files, *({"file": file, "bytes": 9} for file in others)]}
    found = numbered_files({name: table(name, rows.get(name, [])) for name in TABLE_NAMES})
    return dict(found.iter_rows())


@pytest.mark.parametrize(("known", "expected"), CALLED)
def test_a_file_called_as_a_ranks_files_of_its_folder_is_its_too(
    known: dict[str, int], expected: dict[str, int]
) -> None:
    assert _beside(known, [*expected]) == expected


@pytest.mark.parametrize(("known", "other"), OTHERS)
def test_a_file_that_is_called_otherwise_is_nobodys(known: dict[str, int], other: str) -> None:
    assert _beside(known, [other]) == {}


@pytest.mark.parametrize("folders", [("",), ("first/", "second/")])
@pytest.mark.parametrize(
    ("world", "pid", "numbers"), [(4, None, range(4)), (8, None, ()), (None, None, ()), (4, 900, ())]
)
def test_stacks_of_as_many_processes_as_the_world_has(
    folders: tuple[str, ...], world: int | None, pid: int | None, numbers: Sequence[int]
) -> None:
    """Who dumps them by pid may count as he likes."""
    files = [(f"{folder}pstack.{at}", at) for folder in folders for at in range(4)]
    rows: dict[TableName, list[dict[str, Any]]] = {
        "files": [{"file": file, "bytes": 9} for file, _ in files],
        "stacks": [{"file": file, "source": "gdb", "frames": [], "pid": pid and pid + at} for file, at in files],
        "settings": [{"name": "world_size", "value": str(world)}] if world else [],
    }
    found = numbered_files({name: table(name, rows.get(name, [])) for name in TABLE_NAMES})
    assert dict(found.iter_rows()) == {file: at for file, at in files if at in numbers}
