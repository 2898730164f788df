"""Records of steps in which a process is called by any name of it, a host and a number, or a place there: one goes bad first, and is named."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

HOSTS = ("gn05", "node12")  # what else such letters are short for
PIDS = (30211, 2204, 8127, 41877)  # by rank, two ranks on each host
NAMES = ("gil", "eve", "cat", "bob")
BAD, STEPS = 2, 12
LAYOUT = ["data_parallel_size: 4", "tensor_parallel_size: 1", "pipeline_parallel_size: 1", "world_size: 4"]
Files = dict[str, list[str]]

LAUNCHED = {
    "launcher.log": [
        f"09:59:{rank:02d} INFO launched rank {rank} on {HOSTS[rank // 2]} with pid {PIDS[rank]}"
        for rank in (2, 0, 3, 1)
    ]
}
HOSTFILE = {"hostfile": [f"{host} slots=2" for host in HOSTS]}
LISTED = {
    "members.json": json.dumps(
        {"members": [{"unit": NAMES[rank], "trainer_id": rank} for rank in (1, 3, 0, 2)]}, indent=1
    ).splitlines()
}
# what tells who is who · what the records call a process
CALLED: dict[str, tuple[Files, Callable[[int], dict[str, str]]]] = {
    "a name": (LISTED, lambda rank: {"worker": NAMES[rank]}),
    "a host and a pid": (LAUNCHED, lambda rank: {"host": HOSTS[rank // 2], "pid": str(PIDS[rank])}),
    "both in a word": (
        {"placement.csv": ["id,rank", *(f"{HOSTS[rank // 2]}:{PIDS[rank]},{rank}" for rank in (3, 1, 0, 2))]},
        lambda rank: {"process": f"{HOSTS[rank // 2]}:{PIDS[rank]}"},
    ),
    "a place on a host": (HOSTFILE, lambda rank: {"worker": f"{HOSTS[rank // 2]}:{rank % 2}"}),
    "a host and a place": (HOSTFILE, lambda rank: {"node": HOSTS[rank // 2], "local_rank": str(rank % 2)}),
}


def rows(who: Callable[[int], dict[str, str]], bad: int = BAD) -> list[tuple[dict[str, str], dict[str, str]]]:
    found = []
    for step in range(1, STEPS + 1):
        for rank in (1, 0, 3, 2):
            is_bad = step == STEPS or (step == STEPS - 1 and rank == bad)
            figures = {"step": str(step), "loss": "nan" if is_bad else f"{2.5 - step / 50 + rank / 900:.4f}"}
            found.append((who(rank), figures | {"grad_norm": "nan" if is_bad else f"{1 + rank / 10:.2f}"}))
    return found


def bare(cells: dict[str, str]) -> str:
    told = (
        f'"{name}": {"NaN" if cell == "nan" else cell if cell.replace(".", "", 1).isdigit() else json.dumps(cell)}'
        for name, cell in cells.items()
    )
    return f"{{{', '.join(told)}}}"


Rows = list[tuple[dict[str, str], dict[str, str]]]
FRAMINGS: dict[str, Callable[[Rows], Files]] = {
    "cells": lambda own: {"m.csv": [",".join(own[0][0] | own[0][1]), *(",".join((who | told).values()) for who, told in own)]},
    "a table of Markdown": lambda own: {
        "m.md": [f"| {' | '.join(own[0][0] | own[0][1])} |", "|---" * len(own[0][0] | own[0][1]) + "|", *(f"| {' | '.join((who | told).values())} |" for who, told in own)]
    },
    "objects": lambda own: {"m.jsonl": [bare(who | told) for who, told in own]},
    "objects within objects": lambda own: {"m.jsonl": [f'{{"t": {at}, "who": {bare(who)}, "metrics": {bare(told)}}}' for at, (who, told) in enumerate(own)]},
    "pairs": lambda own: {"m.log": ["ts=2026-07-09T10:00:00Z level=info " + " ".join(f"{name}={cell}" for name, cell in (who | told).items()) for who, told in own]},
}  # fmt: skip


@pytest.mark.parametrize("form", FRAMINGS)
@pytest.mark.parametrize("called", CALLED)
def test_whose_figures_were_bad_first(tmp_path: Path, called: str, form: str) -> None:
    documents, who = CALLED[called]
    verdict = analyze(written(tmp_path, documents | {"config.yaml": LAYOUT} | FRAMINGS[form](rows(who)))).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [BAD])


@pytest.mark.parametrize(
    ("form", "field"),
    [
        *((form, field) for form in ("cells", "objects within objects") for field in ("peer", "peer_host", "src_worker")),
        *(("objects within objects", field) for field in ("master", "sink", "storage", "upstream")),
    ],
)  # fmt: skip
def test_whom_it_works_with_is_not_who_tells(tmp_path: Path, form: str, field: str) -> None:
    own = rows(lambda rank: {field: NAMES[(rank + 1) % 4], "local_rank": "0"})
    steps = read(str(written(tmp_path, LISTED | FRAMINGS[form](own)))).tables["steps"]
    assert steps["rank"].drop_nulls().to_list() == []


@pytest.mark.parametrize(
    "inner", ['"upstream": {"host": "node12", "pid": 8127}', '"ring": {"host": "node12"}', '"peer_pid": 8127']
)
def test_a_process_beside_one_s_own_is_another(tmp_path: Path, inner: str) -> None:
    record = '{"time": "2026-07-09T10:00:20Z", "host": "gn05", "pid": 2204, ' + inner + ', "message": "KeyError: 1"}'
    events = read(str(written(tmp_path, LAUNCHED | {"app.jsonl": [record, record]}))).tables["events"]
    assert {*events["rank"].to_list()} == {1}


def test_a_line_that_introduces_its_process_says_what_else_it_is_called(tmp_path: Path) -> None:
    """An export of a store, which keeps the task and the machine beside each line; the figures know the machine alone."""

    def record(rank: int, text: str, at: int) -> str:
        labels = {
            "resource_name": f"job-{NAMES[rank]}-x{rank}",
            "backup": f"job-{NAMES[(rank + 1) % 4]}-x{(rank + 1) % 4}",
        }
        told = {"message": text, "attrs": {"tag": f"pool-{rank}"}}
        return json.dumps(
            {
                "jsonPayload": told,
                "labels": labels,
                "resource": {"labels": {"task_name": f"pool-{rank}"}},
                "timestamp": f"2026-07-09T10:00:{at:02d}Z",
            }
        )

    log = [record(rank, f"mesh up: process_index {rank} of process_count 4", 1) for rank in (2, 0, 1, 3)]
    log += [record(rank, f"epoch {at} begins", at) for at in range(2, 6) for rank in range(4)]
    own = FRAMINGS["cells"](rows(lambda rank: {"host": f"job-{NAMES[rank]}-x{rank}"}))
    verdict = analyze(written(tmp_path, {"export.jsonl": log, "config.yaml": LAYOUT} | own)).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [BAD])
