"""The simulator against itself (its records follow from its final state) and against the real parsers."""

import dataclasses
import json
import runpy
from collections import Counter
from pathlib import Path

import networkx as nx
import polars as pl
import pytest
from click.testing import CliRunner

from parsers import read
from samples.simulator import KINDS, Fault, Job, Noise, Settings, simulate
from samples.simulator.engine import NEVER
from samples.simulator.outcome import Incident
from samples.simulator.program import Call
from samples.simulator.waits import cycle_ranks, wait_graph

PLAIN = Job(tp=2, pp=2, dp=4, ep=2)
JOBS = {
    "1f1b": PLAIN,
    "single transfers": Job(tp=2, pp=4, dp=2, batched=False),
    "synchronous": Job(tp=1, pp=4, dp=2, p2p_sync=True, run_ahead=4, gpus_per_host=4),
    "interleaved": Job(tp=2, pp=2, dp=4, schedule="interleaved"),
    "zero3": Job(tp=1, pp=1, dp=12, schedule="zero3"),
    "three stages, odd": Job(tp=1, pp=3, dp=3, microbatches=5, layers=1, checkpoint_step=119, gpus_per_host=4),
}
STOPS = ("data_loading", "lock", "compile", "gpu_sync", "logging", "unresponsive", "storage_io", "compute")
HANGS = [kind for kind in KINDS if kind not in ("none", "slow", "store_timeout")]


def incident(job: Job, fault: Fault, seed: int = 3, noise: Noise | None = None) -> Incident:
    try:
        return simulate(job, fault, seed, noise)
    except ValueError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
@pytest.mark.parametrize("run_ahead", [1, 3, 48])
def test_healthy_job_ends_with_nothing_open(job: Job, run_ahead: int) -> None:
    """No schedule may deadlock by itself, however far hosts run ahead."""
    healthy = simulate(dataclasses.replace(job, run_ahead=run_ahead))
    assert all(rank.finished for rank in healthy.engine.ranks)
    assert all(op.completed != NEVER for rank in healthy.engine.ranks for op in rank.ops)
    assert healthy.truth["kinds"] == ["healthy"]
    assert healthy.truth["ranks"] == []


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_every_rank_waits_for_the_absent_one(job: Job) -> None:
    """The culprit has not enqueued what others wait in, and is the one root that every waiting host leads to."""
    for seed, site in enumerate(STOPS):
        hung = simulate(job, Fault("rank_absent", site=site), seed)
        (culprit,) = hung.truth["ranks"]
        graph, root = wait_graph(hung.engine), ("host", culprit)
        assert graph.out_degree(root) == 0
        waiting = [number for number, rank in enumerate(hung.engine.ranks) if not rank.finished and number != culprit]
        assert waiting
        leads = nx.ancestors(graph, root)
        assert all(("host", number) in leads for number in waiting)
        first = hung.truth["first_op"]
        assert culprit in first["members"]
        entered = {
            (hung.job.groups[op.group].name, op.ordinal, op.call.kind)
            for op in hung.engine.ranks[culprit].ops
            if isinstance(op.call, Call)
        }
        assert first["phase"] in ("load", "forward", "backward", "grads", "optimizer", "checkpoint")
        if first["op"] not in ("coalesced", "send", "recv"):  # ordinals of transfers count otherwise at each end
            assert (first["group"], first["ordinal"], first["op"]) not in entered


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_bundle(kind: str) -> None:
    noise = Noise(lost=0.2, skew_s=5, early=0.1)
    one, two = (incident(PLAIN, Fault(kind), 11, noise) for _ in range(2))  # type: ignore[arg-type]
    assert dict(one.files()) == dict(two.files())
    assert one.truth == two.truth
    json.dumps(one.truth)


def test_other_seeds_hit_other_ranks() -> None:
    assert len({tuple(simulate(PLAIN, Fault("rank_absent"), seed).truth["ranks"]) for seed in range(12)}) > 4


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
@pytest.mark.parametrize("kind", HANGS)
def test_records_never_contradict_each_other(job: Job, kind: str) -> None:
    """Equal counters mean equal operations: with nothing lost, what completed at one member was entered by all, and
    members disagree on a call only where the fault is a mismatch or another order."""
    hung = incident(job, Fault(kind))  # type: ignore[arg-type]
    operations = hung.evidence()["operations"].filter(~pl.col("is_p2p"))
    sizes = {group.name: len(group.members) for group in hung.job.groups}
    calls = operations.group_by("group", "seq").agg(
        pl.len(), pl.struct("kind", "input_sizes").n_unique().alias("kinds"), (pl.col("state") == "completed").any()
    )
    for group, _, count, kinds, completed in calls.iter_rows():
        assert count <= sizes[group]
        if completed:
            assert count == sizes[group] or kind == "rank_died"  # the dead leave no records
            assert kinds == 1
        if kinds > 1:
            assert kind in ("collective_mismatch", "deadlock_cycle")


@pytest.mark.parametrize("how", ["op", "size", "extra", "missing"])
def test_mismatch_is_seen_in_the_records(how: str) -> None:
    """One call of the group where the culprit alone differs from all the others."""
    hung = simulate(Job(tp=4, pp=2, dp=2), Fault("collective_mismatch", how=how), 5)
    (culprit,) = hung.truth["ranks"]
    calls = hung.evidence()["operations"].filter(~pl.col("is_p2p")).partition_by("group", "seq")
    odd = []
    for call in calls:
        shapes = Counter(call.select("kind", "input_sizes").rows())
        if len(shapes) > 1:
            minority = min(shapes, key=lambda shape: shapes[shape])
            odd.append([row[0] for row in call.select("rank", "kind", "input_sizes").rows() if row[1:] == minority])
    assert [culprit] in odd


def test_mismatch_of_two_names_nobody() -> None:
    truth = simulate(PLAIN, Fault("collective_mismatch", pair=True), 2).truth
    assert truth["ranks"] == []
    assert len(truth["suspects_must_include"]) == 2
    assert truth["undecided"] == ["two_member_mismatch"]


@pytest.mark.parametrize("seed", range(5))
def test_cycle_is_closed_and_holds_the_culprit(seed: int) -> None:
    hung = simulate(PLAIN, Fault("deadlock_cycle"), seed)
    cycle = cycle_ranks(wait_graph(hung.engine))
    assert len(cycle) > 1
    assert cycle == hung.truth["cycle"]
    assert set(hung.plan.culprits) <= set(cycle)


@pytest.mark.parametrize("kind", ["kernel_stuck", "gpu_fault"])
def test_stopped_gpu_has_an_operation_that_all_others_completed(kind: str) -> None:
    hung = simulate(PLAIN, Fault(kind), 4)  # type: ignore[arg-type]
    (culprit,), first = hung.truth["ranks"], hung.truth["first_op"]
    states: dict[int, dict[int, str]] = {}
    for rank, group, seq, state in (
        hung.evidence()["operations"].filter(~pl.col("is_p2p")).select("rank", "group", "seq", "state").iter_rows()
    ):
        if group == first["group"]:
            states.setdefault(seq, {})[rank] = state
    alone = [seq for seq, by_rank in states.items() if [r for r, s in by_rank.items() if s != "completed"] == [culprit]]
    assert len(alone) == 1


def test_all_entered_leaves_one_operation_open_at_all_members() -> None:
    hung = simulate(PLAIN, Fault("all_entered"), 6)
    place = hung.plan.places[0]
    meeting = next(m for m in hung.engine.meetings.values() if m.hung)
    assert place in {(op.rank, op.index) for op in meeting.ops}
    assert {op.rank for op in meeting.ops} == set(hung.truth["suspects_must_include"])
    assert hung.truth["ranks"] == []


def test_network_fault_stops_only_what_crosses_the_host() -> None:
    job = Job(tp=2, pp=2, dp=4)
    hung = simulate(job, Fault("network_fault"), 1)
    stuck = [meeting for meeting in hung.engine.meetings.values() if meeting.hung]
    assert stuck
    for meeting in stuck:
        hosts = {job.host(op.rank) for op in meeting.ops}
        assert len(hosts) > 1
        assert set(hung.truth["hosts"]) <= hosts


def test_two_culprits_are_two_roots() -> None:
    hung = simulate(PLAIN, Fault("rank_absent", ranks=(1, 14), site="lock"), 0)
    graph = wait_graph(hung.engine)
    assert hung.truth["ranks"] == [1, 14]
    assert all(graph.out_degree(("host", rank)) == 0 for rank in (1, 14))


def test_lost_culprit_is_a_suspect() -> None:
    truth = simulate(PLAIN, Fault("rank_absent", ranks=(5,)), 0, Noise(culprit_lost=True)).truth
    assert not truth["culprit_dump_present"]
    assert truth["suspects_must_include"] == [5]
    assert [] in truth["ranks_any"]
    assert not truth["decidable"]


@pytest.mark.parametrize("how", ["sigkill", "host_oom", "exception"])
def test_dead_rank_leaves_no_dump_and_no_stack(how: str) -> None:
    dead = simulate(PLAIN, Fault("rank_died", ranks=(9,), how=how), 0)
    names = [name for name, _ in dead.files()]
    assert not [name for name in names if name.endswith(("rank_9", "rank_9.txt"))]
    exits = dead.evidence()["events"].filter(pl.col("kind") == "exit", pl.col("rank") == 9)
    assert exits["code"].to_list() == ["1" if how == "exception" else "SIGKILL"]


def test_settings_of_the_recorder() -> None:
    """Timing off never shows `started`; members of a batch stay `scheduled`; a ring keeps the newest."""
    fault = Fault("rank_absent", site="lock")
    off = simulate(PLAIN, fault, 1).evidence()["operations"]
    on = simulate(PLAIN, fault, 1, Noise(recorder=Settings(timing=True))).evidence()["operations"]
    assert set(off["state"]) == {"scheduled", "completed"}
    assert "started" in set(on["state"])
    assert set(off.filter(pl.col("kind").is_in(["send", "recv"]))["state"]) == {"scheduled"}
    assert "completed" in set(off.filter(pl.col("kind") == "coalesced")["state"])
    ring = simulate(PLAIN, fault, 1, Noise(recorder=Settings(ring=20))).evidence()["operations"]
    whole = off.filter(pl.col("rank") == 0)["op_id"].to_list()
    assert ring.filter(pl.col("rank") == 0)["op_id"].to_list() == whole[-20:]
    active = simulate(PLAIN, fault, 1, Noise(recorder=Settings(active=True))).evidence()["operations"]
    assert "completed" not in set(active["state"])


COMPARED = {
    "operations": None,
    "groups": ["group", "members", "size", "comm", "backend", "how", "file", "line"],
    "progress": None,
    "stacks": ["rank", "pid", "thread", "thread_name", "is_main", "status", "frames", "source", "line", "file"],
    "steps": ["step", "loss", "file", "line"],
    "ranks": ["rank", "host", "pid", "local_rank", "device_index", "pci", "world_size", "file", "line"],
    "events": [
        "kind",
        "rank",
        "code",
        "pci",
        "group",
        "seq",
        "names_hosts",
        "host",
        "time_ns",
        "time_basis",
        "attempt",
        "file",
        "line",
    ],
}


@pytest.mark.parametrize("kind", KINDS)
def test_evidence_equals_what_the_parsers_read(kind: str, tmp_path: Path) -> None:
    """Both ways out of an incident tell the same; the parsers may read more events than the short way gives, and learn from what
    processes say of themselves whose a file is."""
    noise = Noise(lost_recorders=0.1, truncated=0.05, skew_s=2, recorder=Settings(timing=True))
    hung = incident(Job(tp=2, pp=2, dp=4, ep=2, layers=1, microbatches=2), Fault(kind), 5, noise)  # type: ignore[arg-type]
    hung.write(tmp_path / "one")
    found = read(str(tmp_path / "one" / "bundle")).tables
    made = hung.evidence()
    damaged = [f"fr/nccl_trace_rank_{rank}" for rank in hung.draw.truncated]
    for name, columns in COMPARED.items():
        mine, theirs = made[name], found[name].filter(~pl.col("file").is_in(damaged))  # type: ignore[index]
        if name == "stacks":
            theirs = theirs.filter(pl.col("source") == "py-spy")  # a traceback in a log is one, too
        if name == "ranks":
            told = pl.col("rank").is_not_null() & ~pl.col("how").str.contains(
                "introduction|address|process table|chain of records"
            )
            theirs = theirs.filter(told)  # addresses are claims of hosts
        mine, theirs = (frame.select(columns or frame.columns) for frame in (mine, theirs))
        if "rank" in mine.columns:  # of a file whose rank was learnt more is known
            theirs = (
                pl.concat([theirs, theirs.with_columns(rank=pl.lit(None, pl.Int64))]) if name == "events" else theirs
            )
        missing = set(map(repr, mine.rows())) - set(map(repr, theirs.rows()))
        assert not missing, (name, sorted(missing)[:3], theirs.head(3).rows())
        if name != "events":
            assert mine.height == theirs.height, name


def test_bad_jobs_are_refused() -> None:
    for bad in ({"tp": 0}, {"dp": 4, "ep": 3}, {"schedule": "zero3", "tp": 2}, {"schedule": "interleaved", "pp": 1}):
        with pytest.raises(ValueError):
            Job(**bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="two hosts"):
        simulate(Job(tp=1, pp=1, dp=2), Fault("network_fault"))


@pytest.mark.scale
def test_ten_thousand_ranks() -> None:
    hung = simulate(Job(tp=8, pp=8, dp=160, layers=1, steps=1), Fault("rank_absent", site="data_loading"), 1)
    assert len(hung.truth["ranks"]) == 1


def test_command_writes_bundle_and_truth(tmp_path: Path) -> None:
    script = Path(__file__).parents[1] / "samples" / "simulate.py"
    main = runpy.run_path(str(script))["main"]
    result = CliRunner().invoke(main, [str(tmp_path / "x"), "--fault", "kernel_stuck", "--seed", "3"])
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "x" / "truth.json").read_text())["fault"]["kind"] == "kernel_stuck"
    assert (tmp_path / "x" / "bundle" / "fr" / "nccl_trace_rank_15").stat().st_size > 1000
    assert CliRunner().invoke(main, [str(tmp_path / "y"), "--tp", "0"]).exit_code == 2


def test_recorders_are_dumped_after_all_that_ends_has_ended() -> None:
    """Also where hosts have enqueued many calls behind the last one that a GPU finished."""
    hung = simulate(Job(tp=1, pp=1, dp=8, schedule="zero3", microbatches=8), Fault("kernel_stuck"), 1)
    for number, rank in enumerate(hung.engine.ranks):
        assert all(op.completed <= hung.until(number) for op in rank.ops if op.completed != NEVER)
