"""Servers that count all processes of a job and wait for more: nobody is missing, whatever they call it; what ranks count, and what does not hold the whole job, says nothing of that."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

JOB, MORE = 8, 16
FORMS = (
    "rpc_server {s}: group 0 waits for clients, {n} of {m} registered",
    "waiting for workers: {n}/{m}",
    "scheduler: {n} of {m} nodes have joined",
    "[server {s}] clients {n} expected {m}",
    "have {n} members, need {m}",
    "hall: {n} present, {m} wanted",
    "only {n} out of {m} trainers are connected, waiting",
    "quorum {n}/{m} not reached",
    "connected={n} required={m}",
    "已注册 {n}，共需 {m}",
)


def verdict(
    folder: Path, form: str, *, counts: tuple[int, ...] = (JOB, JOB), more: tuple[int, ...] = (MORE, MORE), lost: int | None = None, steps: int = 0, by_ranks: bool = False
) -> Verdict:  # fmt: skip
    said = [
        [f"2026-11-26 09:{20 + at}:00 {form.format(s=server, n=count, m=of)}" for at in range(5)]
        for server, (count, of) in enumerate(zip(counts, more, strict=True))
    ]
    files = {f"servers/server-{'abc'[server]}.log": ["listening", *lines] for server, lines in enumerate(said)}
    if by_ranks:
        files = {}
    for rank in range(JOB):
        own = [f"2026-11-26 09:20:00 rank {rank} of {JOB} pid {4000 + rank}"]
        own += [f"2026-11-26 09:20:1{step} step {step} loss {3 - step / 9:.4f}" for step in range(steps)]
        own += said[0] if by_ranks else [f"2026-11-26 09:{20 + at}:10 still waiting for an id" for at in range(5)]
        if rank != lost:
            files[f"trainers/rank_{rank}.log"] = own
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize("form", FORMS)
def test_all_came_and_more_are_waited_for(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, form)
    assert (found.kind, found.cause, found.ranks, found.suspects.ranks) == ("launch", "config_drift", [], [])


@pytest.mark.parametrize("form", FORMS[:2])
def test_what_says_nothing_of_that(tmp_path: Path, form: str) -> None:
    """What ranks count; one server alone; two that differ; not all of them; a job that had begun; a rank of which nothing is heard."""
    assert verdict(tmp_path / "ranks", "loaded shard {n} of {m}", by_ranks=True).cause != "config_drift"
    assert verdict(tmp_path / "one", form, counts=(JOB,), more=(MORE,)).cause != "config_drift"
    assert verdict(tmp_path / "two", form, more=(MORE, 3 * JOB)).cause != "config_drift"
    assert verdict(tmp_path / "few", form, counts=(JOB - 1, JOB - 1)).cause != "config_drift"
    assert verdict(tmp_path / "begun", form, steps=6).cause != "config_drift"
    assert verdict(tmp_path / "lost", form, lost=3).cause != "config_drift"
