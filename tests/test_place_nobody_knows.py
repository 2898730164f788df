"""Two looks show one process at one unmoved place that no row of knowledge knows, and all others in communication."""

from pathlib import Path

import pytest

from forensics import analyze

WAIT = ("all_reduce (torch/distributed/distributed_c10d.py:2501)", "handle (/srv/job/rounds.py:88)")
OTHER_WAIT = ("broadcast (torch/distributed/distributed_c10d.py:2198)", "share (/srv/job/train.py:91)")
PLACE = ("put (/srv/job/ledger.py:47)", "note (/srv/job/ledger.py:71)", "handle (/srv/job/rounds.py:86)")
FURTHER = ("put (/srv/job/ledger.py:52)", "note (/srv/job/ledger.py:71)", "handle (/srv/job/rounds.py:86)")
GAVE_UP = "[rank{rank}]:[E131 10:30:05.0 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600001 milliseconds before timing out."


def look(folder: Path, name: str, places: list[tuple[str, ...]]) -> None:
    """One py-spy dump of every rank's main thread."""
    text = ""
    for rank, frames in enumerate(places):
        text += f"# rank {rank}\nProcess {4100 + rank}: python train.py\nPython v3.11.9 (/opt/env/bin/python3.11)\n\n"
        text += f'Thread {4100 + rank} (idle): "MainThread"\n' + "".join(f"    {frame}\n" for frame in frames)
        text += "    <module> (/srv/job/begin.py:120)\n\n"
    (folder / name).write_text(text)


def bundle(folder: Path, first: list[tuple[str, ...]], second: list[tuple[str, ...]], gave_up: tuple[int, ...]) -> Path:
    look(folder, "pyspy_1.txt", first)
    look(folder, "pyspy_2.txt", second)
    if gave_up:
        (folder / "train.log").write_text("".join(GAVE_UP.format(rank=rank) + "\n" for rank in gave_up))
    return folder


@pytest.mark.parametrize("gave_up", [(), (0, 1, 3, 4)])
def test_the_one_that_is_elsewhere_in_both_looks_is_absent(tmp_path: Path, gave_up: tuple[int, ...]) -> None:
    places = [WAIT, WAIT, PLACE, WAIT, WAIT]
    verdict = analyze(bundle(tmp_path, places, places, gave_up), hung=not gave_up).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_absent", [2])


@pytest.mark.parametrize(
    ("first", "second", "gave_up"),
    [
        ([WAIT, WAIT, PLACE, PLACE, WAIT], None, ()),  # two are elsewhere
        ([WAIT, OTHER_WAIT, PLACE, WAIT, WAIT], None, ()),  # the others are in two calls
        ([WAIT, WAIT, PLACE, WAIT, WAIT], None, (0, 1, 2)),  # it gave up a wait itself
        ([WAIT, PLACE], None, ()),  # one against one
        ([WAIT, WAIT, PLACE, WAIT, WAIT], [WAIT, WAIT, FURTHER, WAIT, WAIT], ()),  # it went on
    ],
)
def test_else_nobody_is_absent(
    tmp_path: Path, first: list[tuple[str, ...]], second: list[tuple[str, ...]] | None, gave_up: tuple[int, ...]
) -> None:
    verdict = analyze(bundle(tmp_path, first, second or first, gave_up), hung=not gave_up).verdict
    assert verdict.cause != "rank_absent" or verdict.ranks == []
