"""Whom one launcher saw killed before any other end is whom the others lost, whatever class their error has."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze

RING = 'Traceback (most recent call last):\n  File "/w/ring.py", line 8, in turn\n    raise RingCut("a neighbour is gone")\nring.RingCut: a neighbour is gone\n'
ODD = 'Traceback (most recent call last):\n  File "/w/rows.py", line 8, in rows\n    raise BadRow("row 7")\nrows.BadRow: row 7\n'
PYTHON = 'Traceback (most recent call last):\n  File "/w/rows.py", line 8, in rows\n    x = table[k]\nKeyError: 7\n'
DEAD = 2


def systemd(name: int, killed: bool, second: int) -> str:
    how = "code=killed, status=9/KILL" if killed else "code=exited, status=1/FAILURE"
    return f"2026-03-05T10:00:{second:02}+00:00 box systemd[1]: fit@{name}.service: Main process exited, {how}\n"


def supervisord(name: int, killed: bool, second: int) -> str:
    how = "terminated by SIGKILL" if killed else "exit status 1"
    return f"2026-03-05 10:00:{second:02},000 WARN exited: fit@{name} ({how}; not expected)\n"


def bundle(folder: Path, say: object, errors: Sequence[str], order: Sequence[int]) -> list[int]:
    assert callable(say)
    (folder / "ends.log").write_text("".join(say(name, name == DEAD, 10 + 2 * at) for at, name in enumerate(order)))
    for name, error in enumerate(errors):
        steps = "".join(f"09:5{at}:00 fit it {at} nll 2.{at}\n" for at in range(8))
        (folder / f"fit@{name}.log").write_text(f"rank {name} of 5\n{steps}" + ("" if name == DEAD else error))
    return analyze(folder).verdict.ranks


@pytest.mark.parametrize("say", [systemd, supervisord])
@pytest.mark.parametrize(
    ("errors", "order", "ranks"),
    [
        ([RING] * 5, (2, 0, 1, 3, 4), [DEAD]),
        ([RING] * 5, (0, 2, 1, 3, 4), []),  # somebody ended before
        ([RING, RING, "", RING, ODD], (2, 0, 1, 3, 4), []),  # one failed otherwise
        ([RING] * 5, (2, 0, 1, 3), []),  # of one nothing is told
        ([PYTHON] * 5, (2, 0, 1, 3, 4), []),  # what nobody else brings about
    ],
    ids=["first", "second", "another error", "one untold", "a class of Python"],
)
def test_whom_a_launcher_saw_killed_first(
    tmp_path: Path, say: object, errors: Sequence[str], order: Sequence[int], ranks: list[int]
) -> None:
    assert bundle(tmp_path, say, errors, order) == ranks
