"""One rank that counts attempts at something, over the whole time in which all others waited in one call, is who they waited for."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from parsers.logs.attempts import PARSER
from tests.lines import lines
from tests.sources import written

HELD = 2
FORMS = {
    "object store": "WARNING fetch: GET s3://b/shard-{n:03}.tar attempt {n} failed: read timeout, trying again",
    "a file": "open /data/tok-17.bin: retry #{n} after 60 s",
    "ordinal": "[index] {n}th try to lock the cache",
    "Chinese": "读取分片 17 第 {n} 次重试",
}
WAITED = (
    "[rank{0}]:[E301 10:40:00.1 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, "
    "NumelIn=131, NumelOut=131, Timeout(ms)=1800000) ran for 1800001 milliseconds before timing out."
)


def tried(form: str, minutes: Sequence[int], rank: int = HELD) -> list[str]:
    return [
        f"2026-03-01T10:{minute:02}:00Z [rank{rank}]: {FORMS[form].format(n=at)}"
        for at, minute in enumerate(minutes, 1)
    ]


def job(folder: Path, more: Sequence[str], *, world: bool = True) -> tuple[str, str | None, tuple[int, ...]]:
    told = [f"2026-03-01T09:00:00Z [rank{rank}]: up rank={rank}{' world_size=4' if world else ''}" for rank in range(4)]
    steps = [f"2026-03-01T10:0{at}:00Z [rank0]: step {at} loss 2.{at}" for at in range(9)]
    waits = [f"2026-03-01T10:40:00Z {WAITED.format(rank)}" for rank in range(4) if rank != HELD]
    found = analyze(written(folder, {"job.log": [*told, *steps, *more, *waits]})).verdict
    return found.kind, found.cause, tuple(found.ranks)


@pytest.mark.parametrize("form", FORMS)
def test_who_tries_while_all_others_wait(tmp_path: Path, form: str) -> None:
    assert job(tmp_path, tried(form, range(11, 39, 4))) == ("hang", "rank_absent", (HELD,))


OTHERS = {
    "nobody tries": [],
    "another rank, too": [*tried("a file", range(11, 39, 4)), *tried("a file", range(11, 39, 4), 1)],
    "only another rank": tried("a file", range(11, 39, 4), 1),
    "before they waited": tried("a file", range(1, 9)),
    "for a while": tried("a file", range(11, 16)),
    "the count stays": [line.replace("#2", "#1").replace("#3", "#1") for line in tried("a file", (11, 20, 30))],
}


@pytest.mark.parametrize("more", OTHERS)
def test_nobody_else(tmp_path: Path, more: str) -> None:
    assert job(tmp_path, OTHERS[more])[2] == ()


def test_a_job_of_unknown_size_has_others(tmp_path: Path) -> None:
    assert job(tmp_path, tried("a file", range(11, 39, 4)), world=False)[2] == ()


def test_attempts_are_no_failure() -> None:
    text = "\n".join(FORMS["a file"].format(n=at) for at in (1, 2, 3))
    stamps = [at * 60_000_000_000 for at in (1, 2, 3)]
    rows = PARSER.parse(lines(text, time_ns=stamps, time_basis="utc"))["events"]
    assert rows.select("kind", "severity", "value").rows() == [("other", "info", 120.0)]
    assert not PARSER.parse(lines(text, time_ns=[0, 1, 2]))["events"].height
