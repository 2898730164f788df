"""Files that say their own number again and again, where nobody says who he is in any other way; and what only looks like them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.assemble.who.identity import identify
from parsers import read
from tests.sources import raised, written

FULL = " forrtl: No space left on device"
Line = Callable[[int, int], str]  # of a file's number and a round


def files(name: str, line: Line, count: int = 4, lines: int = 8) -> dict[str, list[str]]:
    return {name.format(own): [line(own, at) for at in range(lines)] for own in range(count)}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("executor-{}.log", lambda own, at: f"INFO Learner: [partition {own}] round {at} auc 0.71"),
        ("out.{}", lambda own, at: f" PE {own} OF 4  TIMESTEP {at}  RESID 0.03"),
        ("m{}.txt", lambda own, at: f"12:0{at}:00 member={own} clock {at}"),
        (
            "workerlog.{}",
            lambda own, at: f"checker(trainer_id={own}) is on" if at == 0 else f"global step {at}, loss: 1.25",
        ),
        ("worker_{}.log", lambda own, at: f"12:0{at}:00 worker {own} clock {at} loss 1.25"),
    ],
)
def test_a_number_in_a_name_that_the_process_says_of_itself(tmp_path: Path, name: str, line: Line) -> None:
    bundle = files(name, line)
    bundle[name.format(2)].append(FULL)
    verdict = analyze(written(tmp_path, bundle)).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "disk_full", [2])


@pytest.mark.parametrize(
    "bundle",
    [
        pytest.param(files("agent-{}.log", lambda own, at: f"agent {own} heartbeat {at}"), id="what runs on a node"),
        pytest.param(files("n{}.log", lambda own, at: f"gpu {own} util {at}"), id="devices"),
        pytest.param(files("n{}.log", lambda own, at: f"node_id={own} node rank {own} gpu_id={own} is up"), id="of nodes"),
        pytest.param(files("cn{}.log", lambda own, at: f"Mar  4 12:00:0{at} cn{own} kernel: eth0 up"), id="names of hosts"),
        pytest.param(files("w{}.log", lambda own, at: f"part {own + at} of the corpus"), id="numbers of other things"),
        pytest.param(files("w{}.log", lambda own, at: f"member {own} clock {at} world_size=16"), id="another world"),
        pytest.param(files("w{}.log", lambda own, at: f"member {own} clock {at}", 2), id="only two"),
        pytest.param(
            files("w{}.log", lambda own, at: f"member {own} clock {at}") | {"main.log": ["rank 7 of 8 pid 4711 is up"]},
            id="somebody says who he is",
        ),
    ],
)  # fmt: skip
def test_what_is_no_number_of_a_process(tmp_path: Path, bundle: dict[str, list[str]]) -> None:
    first = min(bundle)
    tables = read(str(written(tmp_path, bundle | {first: [*bundle[first], FULL]}))).tables
    assert tables["files"].filter(file=first)["rank"].to_list() == [None]
    assert 0 not in tables["ranks"].filter(file=first)["rank"].to_list()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            lambda own, at: f"[{4000 + 10 * own + at % 2}] procno {own} of 4 events {at}00",
            id="two processes take turns",
        ),
        pytest.param(lambda own, at: f"local index {own} of 4, epoch {at}", id="of a host"),
        pytest.param(lambda own, at: f"slotno {own} of 4 on this host, epoch {at}", id="on a host"),
    ],
)
def test_what_counts_hosts_or_within_one_is_no_number_of_a_process(tmp_path: Path, line: Line) -> None:
    tables = read(str(written(tmp_path, files("out.{}", line)))).tables
    assert tables["files"]["rank"].drop_nulls().is_empty() and tables["ranks"]["rank"].drop_nulls().is_empty()


def _said(word: str) -> dict[str, list[str]]:
    """Four files, of which each says its own number again and again; the third fails."""
    ends = ["Traceback (most recent call last):", '  File "t.py", line 3, in <module>', "KeyError: 'shard'"]
    return {
        f"{word}_{at}.log": [f"12:00:0{step} [{word} {at}] it {step} loss 2.{at}" for step in range(1, 5)]
        + (ends if at == 2 else [])
        for at in range(4)
    }


RANKS = (1, 0, 3, 2)


@pytest.mark.parametrize(
    ("word", "document"),
    [
        ("unit", {"u.json": [json.dumps([{"unit": at, "env": {"RANK": str(RANKS[at])}} for at in range(4)])]}),
        ("task", {"layout.csv": ["task,rank,host", *(f"{at},{RANKS[at]},oak{at + 7}" for at in range(4))]}),
        ("trial", {"t.yaml": ["trials:", *(f"- trial_index: {at}\n  env: {{RANK: {RANKS[at]}}}" for at in range(4))]}),
    ],
)
def test_what_a_document_pairs_with_ranks_is_none_itself(
    tmp_path: Path, word: str, document: dict[str, list[str]]
) -> None:
    assert raised(tmp_path, _said(word) | document) == [RANKS[2]]


def test_a_number_is_nobodys_where_a_document_gives_ranks_to_other_names(tmp_path: Path) -> None:
    hosts = json.dumps([{"hostname": f"oak{at + 7}", "env": {"RANK": str(RANKS[at])}} for at in range(4)])
    assert raised(tmp_path, _said("unit") | {"u.json": [hosts]}) == [None]


def test_seeds_of_runs_are_no_processes(tmp_path: Path) -> None:
    seeds = json.dumps([{"seed": at, "hostname": f"oak{at}", "RANK": RANKS[at], "WORLD_SIZE": 4} for at in range(4)])
    assert raised(tmp_path, _said("seed") | {"u.json": [seeds]}) == [None]


@pytest.mark.parametrize("said", ["member {rank} of 3 pid {pid}", "участник {rank}/3 (pid={pid})"])
def test_who_counts_off_tells_its_pid_beside_it(tmp_path: Path, said: str) -> None:
    """Then a dump that knows the pid alone is of that rank."""
    for rank in range(3):
        (tmp_path / f"log{rank}.txt").write_text(said.format(rank=rank, pid=4700 + rank) + "\nstep 0 loss 2.1\n")
    told = identify(read(str(tmp_path)).tables)
    assert dict(told.select("rank", "pid").iter_rows()) == {0: 4700, 1: 4701, 2: 4702}
