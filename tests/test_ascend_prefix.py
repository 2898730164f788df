"""Whose lines of MindSpore and CANN are, by the pid in their own form."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.who.lines.prefixes import strip

STAMP = "2026-02-03-04:05:0{s}.120.345"


@pytest.mark.parametrize(
    ("raw", "pid"),
    [
        ("[ERROR] ME(771:281473,MainProcess):2026-02-03-04:05:06.120.345 [a/b.py:3] words", 771),
        ("[INFO] DISTRIBUTED(772,ffff3bb4c904,python):2026-02-03-04:05:06.120.345 [a.cc:3] f] words", 772),
        ("[EVENT] HCCL(773,python):2026-02-03-04:05:06.120.345 [a.cc:3] [774]words", 773),
        ("[ERROR] ME(771): words", None),
        ("[error] me(771,x):2026-02-03-04:05:06.120.345 words", None),
        ("see [ERROR] ME(771,x):2026-02-03-04:05:06.120.345 words", None),
    ],
)
def test_the_form_tells_pid_and_time_and_stays(raw: str, pid: int | None) -> None:
    line = strip(raw)
    assert (line.text, line.process, line.time_ns is not None) == (raw, pid, pid is not None)


def stream(raiser: int, joined: str) -> str:
    """Four processes in one stream, of which one raises."""
    lines = [
        f"[INFO] DISTRIBUTED({900 + at},ffff3b{at}4c90{at},python):{STAMP.format(s=1)} [m.cc:9] "
        + joined.format(rank=(at + 2) % 4)
        for at in range(4)
    ]
    lines += [
        f"[INFO] ME({900 + at}:2814,MainProcess):{STAMP.format(s=s)} [cb.py:3] step:[ {s}/ 9], loss: 2.{s}"
        for s in (2, 3)
        for at in range(4)
    ]
    raised = (
        "Traceback (most recent call last):",
        '  File "/job/run.py", line 9, in main',
        "    pairs[key]",
        "KeyError: 'w'",
    )
    lines += [f"[ERROR] ME({raiser}:2814,MainProcess):{STAMP.format(s=4)} {line}" for line in raised]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "joined", ["Get rank id {rank}, device id {rank}, rank size 4 of world", "rank {rank} of 4 joined"]
)
def test_an_error_is_that_of_the_process_which_prints_it(tmp_path: Path, joined: str) -> None:
    (tmp_path / "screen.log").write_text(stream(901, joined))
    assert analyze(str(tmp_path)).verdict.ranks == [3]


def test_an_error_of_a_process_that_told_no_rank_is_nobody_s(tmp_path: Path) -> None:
    (tmp_path / "screen.log").write_text(stream(950, "rank {rank} of 4 joined"))
    assert analyze(str(tmp_path)).verdict.ranks == []
