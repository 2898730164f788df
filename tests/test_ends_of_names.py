"""Who is who by addresses with ports: whatever tells the rank of one, and however people cut it where they call files, folders and cells by it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from parsers import read
from tests.sources import written

HOSTS = ("10.66.4.11", "10.66.4.12")
PORTS = (38241, 45118, 38241, 40917)  # one of them on both hosts
AT = [(HOSTS[at // 2], PORTS[at]) for at in range(4)]
RANKS = (3, 1, 0, 2)
Files = dict[str, list[str]]


def one(at: int) -> str:
    return f"{AT[at][0]}:{AT[at][1]}"


def each(name: str, line: Callable[[int], str], *head: str) -> Files:
    return {name: [*head, *(line(at) for at in range(4))]}


# what tells the ranks
TOLD: dict[str, Files] = {
    "a dictionary of pairs": each("out.txt", lambda at: f"{'{ '[at > 0]}'tcp://{one(at)}': ({RANKS[at]}, 4){',}'[at == 3]}"),
    "in one line": {"out.txt": ["{" + ", ".join(f"'tcp://{one(at)}': ({RANKS[at]}, 4)" for at in range(4)) + "}"]},
    "lists": each("out.txt", lambda at: f"{'{ '[at > 0]}'{one(at)}': [{RANKS[at]}, 4]{',}'[at == 3]}"),
    "arrows": each("out.txt", lambda at: f"{one(at)} -> ({RANKS[at]}, 4)"),
    "a part of all": each("out.txt", lambda at: f"{one(at)}  {RANKS[at]}/4"),
    "pairs first": each("out.txt", lambda at: f"({RANKS[at]}, 4) {one(at)}"),
    "a log": each("run.log", lambda at: f"2026-10-22 09:58:0{at},316 - driver - INFO - worker tcp://{one(at)} joined as ({RANKS[at]}, 4)"),
    "a word": each("run.log", lambda at: f"2026-10-22 09:58:0{at},316 INFO worker {one(at)} pid 71{at}3 has rank {RANKS[at]} of 4"),
    "a table with marks": each("ranks.csv", lambda at: f"tcp://{one(at)},{RANKS[at]}", "worker,rank"),
    "a table with bars": each("ranks.md", lambda at: f"| {one(at)} | {RANKS[at]} |", "| worker | rank |", "|---|---|"),
    "a table": each("ranks.txt", lambda at: f"{one(at):<24}{RANKS[at]:<8}up", f"{'WORKER':<24}{'RANK':<8}STATE"),
    "an object": {"ranks.json": [json.dumps({f"tcp://{one(at)}": {"rank": RANKS[at], "world_size": 4} for at in range(4)})]},
    "objects": {"ranks.json": [json.dumps([{"address": one(at), "rank": RANKS[at], "size": 4} for at in range(4)])]},
    "entries": {"ranks.yaml": [line for at in range(4) for line in (f"- address: tcp://{one(at)}", f"  rank: {RANKS[at]}")]},
    "sections": each("ranks.txt", lambda at: f"== {one(at)}\nRANK={RANKS[at]}\nWORLD_SIZE=4\n"),
}  # fmt: skip
# what processes write: a file each
CALLED: dict[str, str] = {
    "the last number and the port": "parts/w_{last}_{port}.csv",
    "with a hyphen": "parts/worker-{last}-{port}.log",
    "dots": "parts/{last}.{port}.out",
    "the whole address": "parts/{host}_{port}.log",
    "hyphens in the address": "parts/{dashed}-{port}.txt",
    "a folder": "parts/{last}_{port}/stderr",
    "two numbers of it": "parts/run.4_{last}_{port}.err",
}


def name(form: str, at: int) -> str:
    host, port = AT[at]
    return CALLED[form].format(host=host, dashed=host.replace(".", "-"), last=host.rpartition(".")[2], port=port)


def ranks(folder: Path, files: Files, paths: Sequence[str]) -> list[int | None]:
    found = read(str(written(folder, files))).tables["files"].filter(pl.col("file").is_in([*paths]))
    own = dict(found.select("file", "rank").iter_rows())
    return [own[path] for path in paths]


def logs(form: str, at_: Sequence[int] = range(4)) -> Files:
    return {name(form, at): [f"mixing block {at}7", "cache is warm"] for at in at_}


def split(files: Files) -> Files:
    return {path: "\n".join(lines).split("\n") for path, lines in files.items()}


@pytest.mark.parametrize("told", TOLD)
def test_a_file_is_of_whom_its_name_cuts(told: str, tmp_path: Path) -> None:
    own = logs("the last number and the port")
    assert ranks(tmp_path, split(TOLD[told]) | own, [*own]) == [*RANKS]


@pytest.mark.parametrize("called", CALLED)
def test_names_are_cut_in_any_way(called: str, tmp_path: Path) -> None:
    own = logs(called)
    assert ranks(tmp_path, TOLD["a dictionary of pairs"] | own, [*own]) == [*RANKS]


def test_cells_are_cut_as_files_are(tmp_path: Path) -> None:
    rows = [
        f"{step},w_{AT[at][0].rpartition('.')[2]}_{AT[at][1]},{2.5 - step / 100}"
        for step in range(3)
        for at in range(4)
    ]
    files = TOLD["a dictionary of pairs"] | {"loss.csv": ["step,worker,loss", *rows]}
    steps = read(str(written(tmp_path, files))).tables["steps"].filter(pl.col("step") == 0).sort("line")
    assert steps["rank"].to_list() == [*RANKS]


def numbered(pairs: Sequence[tuple[int, int]]) -> Files:
    return each("out.txt", lambda at: f"{one(at)} -> {pairs[at]}")


@pytest.mark.parametrize(
    "files",
    [
        numbered([(at, 4) for at in range(4)]),
        numbered([(rank, 8) for rank in RANKS]),
        numbered([(rank, 4) for rank in (3, 1, 1, 2)]),
        numbered([(rank, 4) for rank in (4, 1, 2, 3)]),
        each("out.txt", lambda at: f"{one(at)} holds shard {RANKS[at]} of 4"),
        each("out.txt", lambda at: f"{one(at)} uses gpu {RANKS[at]}/4"),
        each("out.txt", lambda at: f"{one(at)} asks {one(at - 1)}: ({RANKS[at]}, 4)"),
        {"out.txt": [f"{one(at)} -> ({RANKS[at]}, 4)" for at in range(3)]},
    ],
    ids=["in their order", "of more", "one twice", "from one", "shards", "devices", "a peer beside it", "cut off"],
)  # fmt: skip
def test_numbers_beside_addresses_that_are_no_ranks(files: Files, tmp_path: Path) -> None:
    own = logs("the last number and the port")
    assert ranks(tmp_path, files | own, [*own]) == [None] * 4


def test_a_port_of_two_hosts_names_nobody(tmp_path: Path) -> None:
    own = {f"parts/w_{port}.log": ["mixing block 7"] for port in {*PORTS}}
    assert ranks(tmp_path, TOLD["arrows"] | own, ["parts/w_38241.log"]) == [None]
