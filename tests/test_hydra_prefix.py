"""The rank that Hydra puts before each line is told by its command, where several of its processes are on a node (parsers/who/lines/prefixes.py)."""

from pathlib import Path

import pytest

from tests.sources import raised

TRACE = [
    "Traceback (most recent call last):",
    '  File "/job/fit.py", line 9, in run',
    "    step(batch)",
    "KeyError: 'ids'",
]


def log(command: str) -> list[str]:
    lines = [f"+ {command}", *(f"[{rank}] model ready" for rank in (0, 3))]
    lines += [f"[0] 2026-03-04 05:06:{at} it {at}/400 loss 2.{at}" for at in range(10, 30)]
    return [*lines, *(f"[3] {line}" for line in TRACE)]


@pytest.mark.parametrize(
    "command",
    [
        "mpiexec -n 4 -ppn 2 -f nodes -prepend-rank ./bind.sh python fit.py",
        "mpirun -l -n 4 -perhost 2 python fit.py",
        "mpiexec.hydra -prepend-rank -ppn=16 -n 4 python 训练.py",
    ],
)
def test_the_command_tells_whose_the_numbers_are(tmp_path: Path, command: str) -> None:
    assert raised(tmp_path, {"job.out": log(command)}) == [3]


@pytest.mark.parametrize(
    "command",
    [
        "mpiexec -n 4 -ppn 1 -f nodes -prepend-rank ./start_node.sh",  # one of each node: it may begin others
        "mpiexec -n 4 -f nodes -prepend-rank ./start.sh",
        "mpiexec -n 4 -ppn 2 -f nodes python fit.py",  # nothing says what the numbers are
    ],
)
def test_what_the_command_does_not_tell_is_nobodys(tmp_path: Path, command: str) -> None:
    assert raised(tmp_path, {"job.out": log(command)}) == [None]
