"""Who fell silent for a collector of heartbeats."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from parsers.scheduling.heartbeat import PARSER
from tests.hang_tables import SECOND_NS, START_NS, Rows
from tests.sources import source


def beats(ends: dict[int, int], steps: dict[int, int] | None = None, state: str = "running", **more: Any) -> Rows:
    """Eight ranks whose last beat is at second 1000, but for those that ended before."""
    job = Rows(8, per_host=4).placed()
    for rank in range(8):
        job.event("other", code="heartbeat", severity="info", rank=rank, host=job.host(rank), value=15.0,
                  step=(steps or {}).get(rank, 40), time_ns=START_NS + ends.get(rank, 1000) * SECOND_NS,
                  detail=f'{{"state": "{state}"}}', file="heartbeats.csv", **more)  # fmt: skip
    return job


def test_the_silent_rank_is_a_suspect_of_a_wait() -> None:
    verdict = beats({5: 300}).verdict()
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks, verdict.status) == ("hang", [], [5], "hypothesis")
    assert "700 s older" in verdict.summary


@pytest.mark.parametrize(
    "job",
    [
        beats({5: 980}),
        beats(dict.fromkeys(range(5), 300)),
        beats({5: 300}, state="finished"),
        beats({5: 300}, steps={5: 12}),
    ],
    ids=["within some intervals", "most are silent", "it had ended", "the others completed later steps with it"],
)
def test_silence_that_accuses_nobody(job: Rows) -> None:
    assert job.verdict().suspects.ranks == []


def every_beat(ends: dict[int, int]) -> Rows:
    """As a parser gives them that makes a row of each beat: every 10 s, and tells no time between two."""
    job = Rows(4, per_host=4).placed()
    for rank in range(4):
        for second in range(0, ends.get(rank, 900), 10):
            job.event("other", code="heartbeat", severity="info", rank=rank, host=job.host(rank),
                      step=40, time_ns=START_NS + second * SECOND_NS, file="pulse.log")  # fmt: skip
    return job


def test_a_row_of_each_beat_is_no_member_of_its_own() -> None:
    assert every_beat({}).verdict().suspects.ranks == []
    silent = every_beat({2: 300}).verdict()
    assert (silent.kind, silent.suspects.ranks, silent.summary.count("4 members")) == ("hang", [2], 1)


@pytest.mark.parametrize(("lost", "silent"), [(0, []), (20, [4, 5, 6, 7])], ids=["another clock", "silent, too"])
def test_a_clock_that_stands_elsewhere_is_no_silence(lost: int, silent: list[int], tmp_path: Path) -> None:
    """One host's clock is five minutes behind: its beats begin so much earlier, too."""
    rows = [
        f"{rank},node{rank // 4},{1740669000 + 30 * beat - 300 * (rank > 3)},{7 + beat // 30}"
        for rank in range(8)
        for beat in range(30 - lost * (rank > 3))
    ]
    (tmp_path / "heartbeats.csv").write_text("\n".join(["rank,host,last_heartbeat,step", *rows]) + "\n")
    assert analyze(tmp_path).verdict.suspects.ranks == silent


def test_the_time_between_beats() -> None:
    text = "time,rank,step\n1740669002,3,1\n1740669017,3,2\n1740669032,3,3\n1740669002,4,1\n"
    rows = PARSER.parse(source(text, "heartbeats.csv"))["events"].sort("rank")
    assert rows["value"].to_list() == [15.0, None]
