"""A pipeline of a program's own: each process says its number among as many, in its own words; its messages are functions of its own."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

PIDS = (6100, 6103, 6104, 6109)
LAUNCH = "mpirun -np {} python ring.py"
WORDS = ("stage {}/4 up on n7 pid {}", "[boot] segment {} of 4 | host n7 | pid {}", "part {}/4 lives on n7 as pid {}")
ROLES = {
    "recv_grad": ("recv_grad", "src"),
    "a class's": ("Link.receive_block", "peer"),
    "an alias": ("mpi_recv", "source"),
}


def up(words: str, order: tuple[int, ...] = PIDS, world: int = 4) -> list[str]:
    return [f"$ {LAUNCH.format(world)}", *(words.format(place, order[place]) for place in (2, 0, 3, 1))]


def ranks(tmp_path: Path, lines: list[str]) -> dict[int, int]:
    claims = read(str(written(tmp_path, {"run.log": lines}))).tables["ranks"].drop_nulls(["pid", "rank"])
    return dict(claims.select("pid", "rank").iter_rows())


@pytest.mark.parametrize("words", WORDS)
def test_a_count_of_all_that_a_launch_began_in_the_order_of_their_pids_is_the_rank(tmp_path: Path, words: str) -> None:
    assert ranks(tmp_path, up(words)) == dict(zip(PIDS, range(4), strict=True))


@pytest.mark.parametrize(
    "lines",
    [
        up(WORDS[0], PIDS[::-1]),  # stages may be dealt out in another order
        up(WORDS[0], world=8),  # each stage has two
        up(WORDS[0])[1:],  # nobody tells how many there are
        ["$ mpirun -np 4 python ring.py", *(f"stage {place}/4 up on n{place} pid {PIDS[place]}" for place in range(4))],
    ],
)
def test_a_count_of_stages_alone_is_no_rank(tmp_path: Path, lines: list[str]) -> None:
    assert ranks(tmp_path, lines) == {}


def spy(calls: dict[int, tuple[str, str]]) -> list[str]:
    found: list[str] = []
    for place, (call, arguments) in calls.items():
        found += [f"Process {PIDS[place]}: python ring.py", "Python v3.11.7 (/usr/bin/python3)", ""]
        found += [f'Thread {PIDS[place]} (active): "MainThread"', f"    {call} (ring.py:12)", "        Arguments:"]
        found += [f"            {arguments}", "    train_step (ring.py:26)", "    <module> (ring.py:33)", ""]
    return found


@pytest.mark.parametrize("form", ROLES)
def test_whose_own_messages_wait_for_each_other_are_a_cycle(tmp_path: Path, form: str) -> None:
    call, name = ROLES[form]
    peers = {0: 1, 1: 2, 2: 1, 3: 2}
    files = {"run.log": up(WORDS[0]), "spy.txt": spy({at: (call, f"{name}: {to}") for at, to in peers.items()})}
    verdict = analyze(written(tmp_path, files), hung=True).verdict
    assert (verdict.kind, verdict.cycle, verdict.ranks) == ("hang", [1, 2], [])


@pytest.mark.parametrize(
    "calls",
    [
        {0: ("recv_x", "src: 1"), 1: ("recv_x", "src: 2"), 2: ("send_x", "dst: 1"), 3: ("recv_x", "src: 2")},
        {0: ("scan", "src: 1"), 1: ("scan", "src: 2"), 2: ("scan", "src: 1"), 3: ("scan", "src: 2")},
    ],
    ids=["on its way", "no messages"],
)
def test_what_is_no_circle_of_messages_is_none(tmp_path: Path, calls: dict[int, tuple[str, str]]) -> None:
    verdict = analyze(written(tmp_path, {"run.log": up(WORDS[0]), "spy.txt": spy(calls)}), hung=True).verdict
    assert (verdict.cycle, verdict.ranks) == ([], [])
