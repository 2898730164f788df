"""Speakers of one log that each say once which of how many they are, in whatever words, and lines that look like it and count something else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
HOSTS = ("ka", "kb", "kc")


def _log(
    head: str,
    said: str,
    *,
    hosts: int = 2,
    each: int = 3,
    base: int = 0,
    number: Callable[[int, int], int] | None = None,
) -> list[str]:
    """Processes of some hosts, which come in no order and say something once, then what they do; the fourth fails."""
    size = hosts * each
    come = [(rank * 5 + 2) % size if size % 5 else (rank * 3 + 2) % size for rank in range(size)]

    def of(rank: int) -> dict[str, object]:
        host, place = HOSTS[rank // each], rank % each
        return {"h": host, "p": 4100 + 97 * (rank // each) + 3 * place, "l": place}

    lines = []
    for at, rank in enumerate(come):
        told = number(rank, at) if number else rank + base
        lines.append(head.format(**of(rank)) + said.format(r=told, w=size, e=each, **of(rank)))
    for step in range(3):
        lines += [
            head.format(**of(rank)) + f"part {step:02d}/40 utts {20000 + rank * 7 + step} ctc {3 - step / 7:.3f}"
            for rank in come
        ]
    return [*lines, head.format(**of(3)) + ERROR]


def _failed(tmp_path: Path, lines: list[str]) -> list[int]:
    events = read(str(written(tmp_path, {"job.log": lines}))).tables["events"]
    return events.filter(events["text"].str.contains("out of memory"))["rank"].drop_nulls().unique().sort().to_list()


FORMS = [
    ("{h}:{p} | ", "up, {r} of {w}, gpu {l}, tf 2.12.1", 2, 3, 0),
    ("{h}:{p} | ", "hvd ready: {r}/{w} (gpu {l})", 2, 4, 0),
    ("[{h}/{p}] ", "hello from {r} of {w}", 3, 2, 0),
    ("{h}@{p}: ", "initialised as {r} out of {w}", 2, 3, 0),
    ("{h}:{p} | ", "ready; number {r} of {w}", 2, 3, 1),
    ("[{h}:{p}] ", "comm {r}/{w} on {h}", 3, 3, 0),
    ("{h}-{p}> ", "我是 {r}/{w}, 卡 {l}, cuda:{l}", 2, 3, 0),
    ("{h}:{p} - ", "start (me {r} of {w}, device {l})", 2, 4, 0),
    ("{p} | ", "up, {r} of {w}", 1, 4, 0),
    ("pid={p} ", "joined the job as {r}/{w}", 1, 6, 0),
    ("{h}:{p} | ", "{r} of {w}, gpu {l}", 2, 3, 0),
    ("{h}.{l} | ", "up, {r} of {w}, gpu {l}", 2, 3, 0),
]


@pytest.mark.parametrize(("head", "said", "hosts", "each", "base"), FORMS)
def test_who_says_once_which_of_how_many_he_is_is_that_rank(
    tmp_path: Path, head: str, said: str, hosts: int, each: int, base: int
) -> None:
    assert _failed(tmp_path, _log(head, said, hosts=hosts, each=each, base=base)) == [3]


OTHERS: dict[str, list[str]] = {
    "who has come, in the order of lines": _log("{h}:{p} | ", "arrived, {r} of {w}", number=lambda _, at: at),
    "who has come, elsewhere counted": _log("{h}:{p} | ", "arrived, {r} of {w}", number=lambda rank, _: (rank * 5 + 1) % 6),
    "a stage": _log("{h}:{p} | ", "runs stage {r} of {w}"),
    "a step": _log("{h}:{p} | ", "resumes, step {r} of {w}"),
    "a device of a host": _log("{h}:{p} | ", "uses gpu {l} of {e}"),
    "a device of all": _log("{h}:{p} | ", "uses gpu {r} of {w}"),
    "a shard": _log("{h}:{p} | ", "reads shard {r} of {w}"),
    "more than speak": [one for one in _log("{h}:{p} | ", "up, {r} of {w}") if "ka:4103" not in one],
    "two of one number": _log("{h}:{p} | ", "up, {r} of {w}", number=lambda rank, _: max(rank, 1)),
    "said again after a restart": [*_log("{h}:{p} | ", "up, {r} of {w}")[:-1], *_log("{h}:5{p} | ", "up, {r} of {w}", number=lambda rank, _: 5 - rank)],
    "a gap on each host": _log("{h}:{p} | ", "up, {r} of {w}, gpu {l}", number=lambda rank, _: rank % 3 * 2 + rank // 3),
    "against the devices": _log("{h}-{l} | ", "up, {r} of {w}, gpu {l}", number=lambda rank, _: rank // 3 * 3 + 2 - rank % 3),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_what_counts_something_else_names_nobody(tmp_path: Path, what: str) -> None:
    assert _failed(tmp_path, OTHERS[what]) == []
