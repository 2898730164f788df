"""Incidents of which one kind of evidence is left: the parsers read them, and their truth asks for no more than they prove."""

import dataclasses
import json
import runpy
from collections import Counter
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from parsers import Evidence, read
from samples.simulator import Fault, Job, LogForm, Noise, simulate
from samples.simulator.alone import EVIDENCE, Alone, EvidenceKind, looks, printed, ras, running, simulate_alone
from samples.simulator.moments import action_at, busy_moment, frames_at, launched
from samples.simulator.program import Call, Host, Sync
from samples.simulator.recorder import NS_PER_MS
from samples.simulator.watchdog import signalled, timeouts

JOBS = (
    Job(tp=2, pp=2, dp=4, steps=3),
    Job(tp=1, pp=1, dp=16, schedule="zero3", steps=3),
    Job(tp=4, pp=1, dp=4, steps=3, run_ahead=6),
    Job(tp=1, pp=4, dp=4, steps=3, run_ahead=4),
)
FAULTS = (
    "rank_absent", "rank_died", "collective_mismatch", "deadlock_cycle", "kernel_stuck", "gpu_fault", "network_fault",
    "all_entered",
)  # fmt: skip


def alone(kind: EvidenceKind, fault: str, seed: int) -> Alone:
    try:
        return simulate_alone(kind, JOBS[seed % len(JOBS)], Fault(fault), seed)  # type: ignore[arg-type]
    except ValueError as error:
        pytest.skip(str(error))


def parsed(incident: Alone, folder: Path) -> Evidence:
    incident.write(folder / "one")
    return read(str(folder / "one" / "bundle"))


@pytest.mark.parametrize(
    ("kind", "fault"),
    [(kind, fault) for kind in EVIDENCE for fault in ("none", *FAULTS) if kind != "running" or fault == "none"],
)
def test_same_seed_same_files_and_only_of_the_kind(kind: EvidenceKind, fault: str) -> None:
    one, two = (alone(kind, fault, 6) for _ in range(2))
    files = dict(one.files())
    assert files == dict(two.files())
    assert one.truth == two.truth
    json.dumps(one.truth)
    suffix = {
        "logs": ".log",
        "stacks": ".txt",
        "ras": (".json", ".txt"),
        "kernel": (".log", "dmesg.txt"),
        "running": "",
    }
    assert files
    assert all(name.endswith(suffix[kind]) for name in files)


@pytest.mark.parametrize("kind", EVIDENCE)
def test_every_line_is_read(kind: EvidenceKind, tmp_path: Path) -> None:
    for seed in range(6):
        evidence = parsed(alone(kind, "none" if kind == "running" else "rank_absent", seed), tmp_path / str(seed))
        assert evidence.tables["unread"].height == 0


@pytest.mark.parametrize("merged", [False, True], ids=["files", "merged"])
@pytest.mark.parametrize("torch", ["1.12", "2.1", "2.7"])
def test_a_timeout_per_watchdog_in_the_words_of_its_version(torch: str, merged: bool, tmp_path: Path) -> None:
    """1.12 tells no sequence number, 2.1 no group; the signal to dump is seen by all who live, the first but not itself."""
    form = LogForm(torch=torch, merged=merged, told="groups", signals=True, counters=True)  # type: ignore[arg-type]
    hung = simulate(JOBS[0], Fault("rank_absent", site="lock"), 4, Noise(sources=frozenset({"logs"}), form=form))
    hung.write(tmp_path / "one")
    events = read(str(tmp_path / "one" / "bundle")).tables["events"]
    fired = timeouts(hung)
    found = events.filter(pl.col("kind") == "collective_timeout")
    assert found.height == len(fired) == 15
    assert found["seq"].null_count() == (15 if torch == "1.12" else 0)
    assert found["group"].null_count() == (0 if torch == "2.7" else 15)
    signals = events.filter(pl.col("kind") == "dump_signal")
    assert signals.height == len(signalled(hung, fired)) == (15 if torch == "2.7" else 0)
    assert hung.plan.culprits[0] in signals["rank"].to_list() or torch != "2.7"


@pytest.mark.parametrize("form", ["json", "text"])
def test_ras_shows_who_is_behind_and_who_does_not_answer(form: str, tmp_path: Path) -> None:
    job = Job(tp=1, pp=1, dp=16, schedule="zero3", steps=3)
    hung = simulate(job, Fault("rank_absent", ranks=(5,), site="lock"), 1, Noise(sources=frozenset()))
    report = ras.Report(form=form, silent=1)  # type: ignore[arg-type]
    for name, content in ras.files(hung, report):
        (tmp_path / name).write_bytes(content)
    events = read(str(tmp_path)).tables["events"]
    behind = events.filter(pl.col("code") == "MISMATCH")
    assert {tuple(ranks) for ranks in behind["names_ranks"]} == {(5,)}
    missing = events.filter(pl.col("kind") == "missing_members")
    assert missing.height == 2  # in the group of all, and in that of the shards
    assert all(5 not in ranks for ranks in missing["names_ranks"])


@pytest.mark.parametrize("form", ["json", "text"])
def test_ras_tells_the_dead_from_those_who_only_do_not_answer(form: str) -> None:
    for fault, site, said in (("rank_died", None, True), ("rank_absent", "unresponsive", False)):
        hung = simulate(JOBS[0], Fault(fault, (5,), site), 1, Noise(sources=frozenset()))  # type: ignore[arg-type]
        report = ras.Report(form=form)  # type: ignore[arg-type]
        (content,) = (content.decode() for _, content in ras.files(hung, report))
        assert ('"considered_dead": true' in content or "considered dead" in content) == said
        assert ras.answer(hung, report)["decidable"] == said


def test_counts_of_launches_grow_and_end_with_what_the_recorder_counts() -> None:
    run = simulate(JOBS[0], Fault(), 0)
    counts = [launched(run, 3, ms) for ms in (0.0, run.draw.end_ms / 2, run.draw.end_ms)]
    for before, after in pairwise(counts):
        assert all(before[group] <= after[group] for group in after)
    for group, (enqueued, _, _) in run.status(3).items():
        if run.job.groups[group].role != "pp":
            assert counts[-1][group].total() == enqueued


def test_a_host_is_seen_at_what_it_does() -> None:
    run = simulate(JOBS[0], Fault(), 0)
    moment = busy_moment(run, 0, "load")
    assert moment is not None
    action = action_at(run.engine, 0, moment)
    assert isinstance(action, Host) and action.site == "load"
    assert "torch/utils/data/dataloader.py" in {file for _, file, _ in frames_at(run, 0, moment)}
    ops = run.engine.ranks[0].ops
    assert isinstance(action_at(run.engine, 0, ops[9].enqueued - 0.001), Call | Host | Sync)
    assert action_at(run.engine, 0, run.draw.end_ms) is None


@pytest.mark.parametrize("folders", [False, True])
def test_two_looks_at_a_hung_job_are_two_equal_snapshots(folders: bool, tmp_path: Path) -> None:
    hung = simulate(JOBS[0], Fault("rank_absent", site="lock"), 2, Noise(sources=frozenset({"stacks"})))
    for name, content in looks.files(hung, looks.Looks(count=2, folders=folders)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    stacks = read(str(tmp_path)).tables["stacks"].filter(pl.col("is_main"))
    assert stacks.height == 32
    assert stacks.group_by("rank").agg(pl.col("frames").n_unique())["frames"].unique().to_list() == [1]


@pytest.mark.parametrize("apart", running.APART_S)
def test_dumps_of_a_running_job_lie_as_far_apart_as_said(apart: float) -> None:
    job = Job(tp=2, pp=2, dp=4, steps=3)
    run = running.dumped(simulate(job, Fault(), 3, Noise(sources=frozenset({"fr"}))), running.Apart(apart))
    moments = [run.until(rank) for rank in range(job.world)]
    assert 0 < (max(moments) - min(moments)) * NS_PER_MS / 1e9 <= apart
    assert max(moments) < run.draw.end_ms
    states = Counter(record.state for rank in range(job.world) for record in run.records(rank))
    assert states["completed"] and states["scheduled"]


def test_nobody_may_be_named_in_a_running_job() -> None:
    for kind in EVIDENCE:
        truth = simulate_alone(kind, JOBS[0], Fault(), 3).truth
        assert (truth["ranks"], truth["suspects_must_include"], truth["hosts"]) == ([], [], [])
        assert "healthy" in truth["kinds"]


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_perfect_observer_takes_for_proof_never_points_at_the_innocent(fault: str) -> None:
    """The rules by which a truth is decidable, asked of every rank of every fault."""
    for seed in range(12):
        try:
            hung = simulate(JOBS[seed % 4], Fault(fault), seed)  # type: ignore[arg-type]
        except ValueError:
            continue
        culprits, counts = set(hung.plan.culprits), ras.counts_at(hung, hung.draw.end_ms)
        assert ras.left_behind(hung, counts, set()) <= culprits
        assert ras.odd_ones(counts, set()) <= culprits
        form = LogForm(told="groups", signals=True)
        told = dataclasses.replace(hung, noise=dataclasses.replace(hung.noise, form=form))
        assert printed.alive_and_missing(told, timeouts(told)) <= culprits


@pytest.mark.parametrize("kind", ["logs", "stacks", "ras", "kernel"])
def test_what_is_lost_is_not_asked_for(kind: EvidenceKind) -> None:
    """Decidable, listed and beyond telling: each occurs, and whoever must be listed is a culprit or, of all that entered,
    a member."""
    seen: Counter[str] = Counter()
    for seed in range(10):
        for fault in ("rank_absent", "rank_died", "kernel_stuck", "gpu_fault", "collective_mismatch"):
            truth = simulate_alone(kind, JOBS[seed % 3], Fault(fault), seed).truth  # type: ignore[arg-type]
            must = set(truth["suspects_must_include"])
            assert must <= set(truth["fault"]["culprits"])
            seen["decidable" if truth["decidable"] else "listed" if must else "nobody"] += 1
    assert min(seen["decidable"], seen["listed"], seen["nobody"]) > 0


def test_one_look_never_proves() -> None:
    hung = simulate(JOBS[0], Fault("rank_absent", site="lock"), 2, Noise(sources=frozenset({"stacks"})))
    once, twice = (looks.answer(hung, looks.Looks(count=count)) for count in (1, 2))
    assert (once["decidable"], once["suspects_must_include"]) == (False, list(hung.plan.culprits))
    assert (twice["decidable"], twice["ranks"]) == (True, list(hung.plan.culprits))


def test_command_writes_one_kind_alone(tmp_path: Path) -> None:
    main = runpy.run_path(str(Path(__file__).parents[1] / "samples" / "simulate.py"))["main"]
    arguments = [str(tmp_path / "x"), "--fault", "rank_absent", "--evidence", "ras"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "x" / "bundle" / "ras_0.json").stat().st_size > 1000
