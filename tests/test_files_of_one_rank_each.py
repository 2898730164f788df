"""Files that call themselves one rank again and again are these ranks' own, whatever their names and their other lines are: what a keeper says there of its
process is of that rank."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

_KILLED = (
    "2026-01-05 10:52:47,322 - nanny.memory - WARNING - Worker tcp://10.4.7.18:40213 (pid=2217) exceeded 95% memory budget. Restarting...",
    "2026-01-05 10:52:48,322 - nanny - INFO - Worker process 2217 was killed by signal 15",
)
_NAMES = ("dk-01-a", "dk-01-b", "dk-02-a", "dk-02-b", "dk-03-a", "dk-03-b", "dk-04-a", "dk-04-b")


def _files(
    form: str, number: int = 8, gone: int = 4, names: Sequence[str] = _NAMES, noise: int = 40, times: int = 12
) -> dict[str, list[str]]:
    """A log of each process among others' lines; one ends at its keeper's word, the others fail behind it. Ranks are in no order of the names."""
    ranks = [(5 * at + 2) % number for at in range(number)] if number % 5 else [*range(number)]
    files: dict[str, list[str]] = {}
    for at, rank in enumerate(ranks):
        own = [
            f"2026-01-05 10:00:{line % 60:02},219 - gc - INFO - full garbage collection released {200 + line} MiB"
            for line in range(noise)
        ]
        own += [
            f"2026-01-05 10:{10 + step}:17,235 - app - INFO - " + form.format(rank=rank, step=step)
            for step in range(times)
        ]
        own += [*_KILLED] if rank == gone else ["2026-01-05 10:52:49,233 - worker - ERROR - Compute Failed"]
        files[f"workers/{names[at]}.log"] = own
    return files


def _verdict(folder: Path, files: dict[str, list[str]]) -> Verdict:
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize(
    ("form", "number", "gone"),
    [
        ("rank={rank} round={step} rss=65.6GiB", 8, 4),
        ("rank: {rank}, boosting round: {step}", 4, 3),
        ("round {step} (rank {rank})", 8, 7),
        ("global_rank={rank} iteration={step}", 5, 1),
        ("mpi rank {rank} | sweep {step} | rss 70G", 6, 2),
        ("[{step}] rank={rank} train-loss 0.31", 8, 5),
        ("i am rank {rank}; round {step}", 4, 1),
        ("world_rank={rank} tree={step} depth=8", 7, 6),
        ("rank_id={rank} pass={step}", 4, 2),
        ("tree {step}, rank={rank}, gain 0.4", 6, 5),
    ],
)
def test_a_keeper_s_word_is_of_the_rank_of_its_file(tmp_path: Path, form: str, number: int, gone: int) -> None:
    found = _verdict(tmp_path, _files(form, number, gone))
    assert (found.kind, found.cause, found.ranks) == ("crash", "host_oom", [gone])


@pytest.mark.parametrize(
    "form",
    [
        "lost the connection to rank {rank}, retry {step}",
        "[ckpt] rank {rank} stored our copy of round {step}",
        "buddy rank {rank}: stored round {step}",
        "upstream rank {rank}, round {step}",
        "sent block {step} to rank {rank}",
        "waiting for rank {rank} in round {step}",
        "local_rank={rank} round={step}",
        "tp rank {rank} round {step}",
        "peer rank={rank} round={step}",
        "got chunk {step} from rank {rank}",
        "round {step}: rank {rank} failed to answer",
    ],
)
def test_a_rank_that_is_spoken_of_is_not_who_speaks(tmp_path: Path, form: str) -> None:
    assert _verdict(tmp_path, _files(form)).ranks == []


def test_files_of_several_or_of_a_part_are_nobody_s(tmp_path: Path) -> None:
    both = _files("rank={rank} round={step}")
    path = next(path for path, own in both.items() if _KILLED[0] in own)
    assert _verdict(tmp_path / "a", both | {path: ["app - INFO - rank=2 round=0", *both[path]]}).ranks == []
    rest = {path: own for at, (path, own) in enumerate(both.items()) if at != 2}
    assert _verdict(tmp_path / "b", rest).ranks == []
    once = _files("rank={rank} round={step}", times=1)
    assert _verdict(tmp_path / "c", once).ranks == []


def test_where_two_say_they_are_one_nobody_is(tmp_path: Path) -> None:
    files = _files("rank={rank} round={step}")
    again = {path.replace("workers", "old"): own[:-2] for path, own in files.items()}
    twice = {path: [line.replace("rank=3", "rank=4") for line in own] for path, own in files.items()}
    assert _verdict(tmp_path / "a", twice).ranks == []
    assert {*_verdict(tmp_path / "b", files | again).ranks} <= {4}
