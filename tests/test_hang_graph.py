"""The wait-for graph over groups: one stall, several, a circle, lost dumps, pipelines, links, devices; and its properties."""

import random
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forensics.analyze import case_of, conclude_evidence
from forensics.graph.hang.next_call import order_of_next
from forensics.model.incident import Verdict
from forensics.model.texts import ranges
from parsers.schema.evidence import Evidence
from parsers.schema.tables import TABLE_NAMES, TableName, table
from samples.simulator import Fault, Job, Noise, simulate
from samples.simulator.outcome import Incident
from tests.hang_tables import SECOND_NS, START_NS, Rows, call, idle, order_inversion, two_stalls, waiting

RECORDS = Noise(sources=frozenset({"fr"}), unrelated_xid=False)
Frames = dict[TableName, pl.DataFrame]


def conclude(tables: Frames) -> Verdict:
    report = conclude_evidence(Evidence("simulated", tables), hung=True)
    return report.incidents[report.primary].verdict


@pytest.mark.scale
def test_t2a_one_stall_among_10240() -> None:
    incident = simulate(
        Job(tp=8, pp=8, dp=160, microbatches=2, layers=1, steps=1),
        Fault("rank_absent", ranks=(4711,), site="lock"),
        1,
        RECORDS,
    )
    verdict = conclude(incident.evidence())
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_absent", [4711])


@pytest.mark.parametrize("seed", range(3))
def test_t2b_a_tenth_lost_and_the_culprit_among_them(seed: int) -> None:
    noise = replace(RECORDS, lost_recorders=0.1, culprit_lost=True)
    incident = simulate(Job(tp=4, pp=2, dp=4), Fault("rank_absent", site="data_loading"), seed, noise)
    (culprit,) = incident.truth["ranks_any"][1]
    lost = set(range(incident.job.world)) - incident.draw.kept.recorders
    verdict = conclude(incident.evidence())
    assert verdict.ranks == []
    assert verdict.undecided == ["culprit_among_missing"]
    assert culprit in verdict.suspects.ranks
    assert set(verdict.suspects.ranks) <= lost


def test_t2c_two_stalls_in_different_replicas_are_both_named() -> None:
    """Their waiters are disjoint, and together they are all waiters."""
    job = two_stalls()
    assert job.verdict().ranks == [3, 4]
    case = case_of(job.evidence().tables, 0)
    assert case.roots is not None
    assert case.roots.free == {3: 3, 4: 3}
    assert sum(case.roots.free.values()) == len(case.roots.waiters)
    assert not case.roots.unexplained


def test_t2d_two_communicators_in_another_order() -> None:
    incident = order_inversion().incident()
    verdict = incident.verdict
    assert (verdict.cause, verdict.ranks, verdict.cycle) == ("deadlock_cycle", [], [3, 7])
    text = " ".join(evidence.claim for evidence in incident.evidence)
    assert "train.py:10" in text
    assert "train.py:21" in text


def test_a_circle_in_the_records_of_a_job_that_may_run_names_nobody() -> None:
    """Dumps of a running job, taken at slightly different moments, show circles, too."""
    verdict = order_inversion().verdict(hung=False)
    assert (verdict.kind, verdict.ranks, verdict.cycle, verdict.suspects.ranks) == ("hang", [], [], [3, 7])
    assert (verdict.status, verdict.undecided) == ("hypothesis", ["no_time_witness"])


def receiving(peer: int | None) -> Rows:
    """Rank 0 receives, rank 1 waits for rank 0 in a collective; ranks 2 and 3 run."""
    job = Rows(4, pair=(0, 1))
    job.dump(0, call("world", 5, "recv", peer=peer)).dump(1, call("pair", 4))
    return idle(job, (2, 3), "world", 4)


def test_t2e_a_receive_from_anybody_closes_no_circle() -> None:
    """Any of the others may still send: blocked only if all alternatives are."""
    verdict = receiving(None).verdict()
    assert (verdict.ranks, verdict.cycle, verdict.cause) == ([], [], None)


def test_t2e_the_same_from_the_one_that_waits_for_it_does() -> None:
    assert receiving(1).verdict().cycle == [0, 1]


@pytest.mark.parametrize(
    ("history", "order"),
    [
        ("", {}),
        ("abc", {}),
        ("abcdabc", {"d": 1, "a": 2, "b": 3, "c": 4}),
        ("aab", {}),
        ("xaby" + "zabw" + "zab", {"w": 1, "z": 2, "a": 3, "b": 4}),
    ],
    ids=["empty", "nothing repeats", "second round", "an end without a likeness", "the longest likeness wins"],
)
def test_the_next_call_follows_from_the_history(history: str, order: dict[str, int]) -> None:
    assert order_of_next(history) == order


@pytest.mark.parametrize("seed", range(4))
def test_the_operation_named_is_the_one_that_the_culprit_would_have_called_first(seed: int) -> None:
    """Others wait for it in later ones as well, and more of them."""
    incident = simulate(Job(tp=2, pp=2, dp=2), Fault("rank_absent", site="lock"), seed, RECORDS)
    first = incident.truth["first_op"]
    anomaly = conclude(incident.evidence()).first_anomaly
    assert anomaly.group is not None
    assert f"({first['group']})" in anomaly.group or first["group"] == "0"
    assert anomaly.group_ranks == ranges(first["members"])


def pipeline(stop: int, stages: int = 8) -> Rows:
    """Stage `stop` never comes: those behind it wait to receive forwards, those before it to receive backwards."""
    job = Rows(stages, pp=tuple(range(stages)))
    for stage in range(stages):
        if stage != stop:
            job.dump(stage, call("pp", 30, "recv", peer=stage - 1 if stage > stop else stage + 1))
    return idle(job, (stop,), "world", 1)


@pytest.mark.parametrize("stop", [0, 3, 7])
def test_t7_both_sides_of_a_pipeline_point_at_the_stage(stop: int) -> None:
    verdict = pipeline(stop).verdict()
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_absent", [stop])


@pytest.mark.parametrize("seed", range(2))
def test_t7_simulated_schedule(seed: int) -> None:
    incident = simulate(
        Job(tp=1, pp=8, dp=1, microbatches=8), Fault("rank_absent", ranks=(3,), site="lock"), seed, RECORDS
    )
    assert conclude(incident.evidence()).ranks == [3]


@pytest.mark.parametrize("seed", range(2))
def test_t7b_virtual_stages(seed: int) -> None:
    job = Job(tp=1, pp=4, dp=2, microbatches=8, schedule="interleaved")
    incident = simulate(job, Fault("rank_absent", ranks=(5,), site="lock"), seed, RECORDS)
    assert conclude(incident.evidence()).ranks == [5]


def test_t7c_a_message_that_both_ends_are_in_blames_the_link() -> None:
    job = Rows(4, pp=(0, 1, 2, 3))
    job.dump(2, call("pp", 8, "send", peer=3)).dump(3, call("pp", 8, "recv", peer=2))
    job.dump(0, call("pp", 9, "recv", peer=1)).dump(1, call("pp", 9, "recv", peer=2))
    verdict = job.verdict()
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", None, [])
    assert (verdict.suspects.ranks, verdict.links) == ([2, 3], [[2, 3]])
    assert verdict.undecided == ["all_entered_no_counters"]


def test_t7c_a_batch_that_also_waits_for_a_lost_rank_does_not_end_at_its_peer() -> None:
    """Ranks 0 and 1 are in each other's message; the batch of rank 1 needs rank 2, too, which left no record."""
    job = Rows(3, pp=(0, 1, 2))
    job.dump(0, call("pp", 8, "send", peer=1))
    job.dump(1, call("pp", 8, "recv", peer=0), call("pp", 8, "recv", peer=2), call("pp", 8, "coalesced", is_p2p=True))
    verdict = job.verdict(expected=3)
    assert verdict.ranks == []
    assert 2 in verdict.suspects.ranks


def test_all_members_in_and_none_done() -> None:
    verdict = waiting(Rows(4), range(4), "world", 9).verdict()
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", None, [])
    assert (verdict.suspects.ranks, verdict.undecided) == ([0, 1, 2, 3], ["all_entered_no_counters"])


def test_all_but_one_done() -> None:
    """The host ran on, the device did not: its tail of calls says nothing."""
    job = idle(Rows(4), (0, 1, 2), "world", 9)
    job.dump(3, call("world", 8, done=True), call("world", 9), call("world", 10), call("world", 11))
    for rank in (0, 1, 2):
        job.dump(rank, call("world", 9, done=True), call("world", 10))
    verdict = job.verdict()
    assert (verdict.cause, verdict.ranks) == ("kernel_stuck", [3])


@pytest.mark.parametrize(("kind", "named"), [("all_reduce", [6]), ("broadcast", [])])
def test_a_lost_dump_clears_nobody_of_a_stopped_device(kind: str, named: list[int]) -> None:
    """An all-reduce that five completed had everybody in it, the lost rank, too; a broadcast need not have had."""
    job = Rows(8, dp=range(8))
    for rank in (0, 1, 2, 4, 5, 7):
        job.dump(rank, call("dp", 30, kind, done=True), call("dp", 31))
    job.dump(6, call("dp", 29, done=True), call("dp", 30, kind), call("dp", 31))
    assert job.verdict(expected=8).ranks == named


def stalled(**event: object) -> Rows:
    """16 ranks on two hosts; rank 15 never comes, and a kernel has something to say."""
    job = Rows(16, dp=tuple(range(16))).placed()
    idle(waiting(job, range(15), "dp", 9), (15,), "dp", 8)
    for rank in range(15):
        job.timeout(rank, "dp", 9, time_ns=START_NS + 660 * SECOND_NS, time_basis="utc")
    return job.event(
        **{"kind": "gpu_error", "host": "node0", "pci": "0000:03:00", "time_basis": "utc", "severity": "error"} | event
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "event",
    [
        {"code": "xid:79", "severity": "fatal", "time_ns": START_NS + 60 * SECOND_NS},
        {"code": "xid:79", "severity": "fatal", "host": "node99", "time_ns": START_NS + 60 * SECOND_NS},
        {"code": "xid:94", "time_ns": START_NS - 7140 * SECOND_NS},
        {"kind": "memory_error", "code": "correctable", "severity": "warning", "time_ns": START_NS},
    ],
    ids=["same minute", "host outside the job", "two hours before", "correctable"],
)
def test_t10_the_graph_outranks_a_kernel(event: dict[str, object]) -> None:
    verdict = stalled(**event).verdict()
    assert (verdict.cause, verdict.ranks, verdict.hosts) == ("rank_absent", [15], ["node1"])


def test_t10_the_same_without_timeouts_in_the_log() -> None:
    """What the graph shows waiting is not accused by its device, whatever its log is silent about."""
    job = Rows(16, dp=tuple(range(16))).placed()
    idle(waiting(job, range(15), "dp", 9), (15,), "dp", 8)
    job.event("gpu_error", code="xid:79", host="node0", pci="0000:03:00", severity="fatal")
    assert job.verdict().ranks == [15]


def test_t10_an_error_on_the_stopped_device_is_its_cause() -> None:
    job = Rows(4).placed()
    for rank in (0, 1, 2):
        job.dump(rank, call("world", 9, done=True), call("world", 10))
    job.dump(3, call("world", 8, done=True), call("world", 9), call("world", 10))
    verdict = job.event("gpu_error", code="xid:79", host="node0", pci="0000:03:00", severity="fatal").verdict()
    assert (verdict.cause, verdict.ranks, verdict.status) == ("gpu_fault", [3], "established")


@pytest.mark.parametrize(
    ("second", "cause"),
    [(9.5, "gpu_fault"), (-8 * 86_400, "kernel_stuck"), (600, "kernel_stuck")],
    ids=["just before", "last week", "during the wait"],
)
def test_t10_an_error_of_another_time_is_not_its_cause(second: float, cause: str) -> None:
    job = Rows(4).placed()
    for rank in (0, 1, 2):
        job.dump(rank, call("world", 9, done=True), call("world", 10))
    job.dump(3, call("world", 8, done=True), call("world", 9), call("world", 10))
    at = {"time_ns": START_NS + int(second * SECOND_NS), "time_basis": "utc", "severity": "fatal"}
    verdict = job.event("gpu_error", code="xid:79", host="node0", pci="0000:03:00", **at).verdict()
    assert (verdict.cause, verdict.ranks) == (cause, [3])


def test_t10_a_dead_device_of_a_member_decides_where_all_have_entered() -> None:
    job = waiting(Rows(4).placed(), range(4), "world", 9)
    for rank in range(4):
        job.timeout(rank, "world", 9, time_ns=START_NS + 609 * SECOND_NS, time_basis="utc")
    job.event("gpu_error", code="xid:79", host="node0", pci="0000:03:00", severity="fatal",
              time_ns=START_NS + 8 * SECOND_NS, time_basis="utc")  # fmt: skip
    verdict = job.verdict()
    assert (verdict.cause, verdict.ranks, verdict.hosts, verdict.suspects.ranks) == ("gpu_fault", [3], ["node0"], [])


@pytest.mark.parametrize(
    ("silent", "address", "cause"),
    [(17, 1, "gpu_fault"), (17, 2, "kernel_stuck"), (9, 1, "kernel_stuck")],
    ids=["where its like are", "a neighbour's device", "its like are not alike"],
)
def test_t10_the_device_of_a_rank_that_printed_no_address(silent: int, address: int, cause: str) -> None:
    """Ranks 1, 9 and 17 have local number 1 on three hosts. On node0 it stands for another device in the last case."""
    job = Rows(24).placed()
    for row in job.rows["ranks"]:
        if row["rank"] == silent:
            row |= {"pci": None, "device_index": None, "uuid": None}
        if silent == 9 and row["rank"] == 1:
            row["pci"] = "0000:77:00.0"
    for rank in range(24):
        job.dump(rank, call("world", 8, done=True), call("world", 9, done=rank != silent), call("world", 10))
    job.event("gpu_error", code="xid:94", host=f"node{silent // 8}", pci=f"0000:{address:02x}:00", severity="error")
    assert (job.verdict().cause, job.verdict().ranks) == (cause, [silent])


def test_members_that_one_rank_alone_states_are_those_of_all() -> None:
    """A group's row without members says nothing of them, and makes no group of its own."""
    job = idle(waiting(Rows(6), range(5), "world", 9), (5,), "world", 8)
    for row in job.rows["groups"]:
        if row["rank"]:
            row["members"] = None
    case = case_of(job.evidence().tables, 0)
    assert case.states is not None
    assert case.states.groups["members"].to_list() == [list(range(6))]
    assert job.verdict().ranks == [5]


def test_healthy_and_silent_bundles() -> None:
    """Completed work is healthy; nothing at all is unknown."""
    job = idle(Rows(4), range(4), "world", 9)
    for rank in range(4):
        job.event("job_end", rank=rank, severity="info")
    assert (job.verdict().kind, job.verdict().undecided) == ("healthy", ["no_hang"])
    nothing = Rows(4).verdict()
    assert (nothing.kind, nothing.status, nothing.undecided) == ("unknown", "unknown", ["nothing_found"])


# Properties. Small jobs, few examples: the accuracy benchmark runs the same over many more.

SMALL = (Job(tp=2, pp=2, dp=2), Job(tp=1, pp=2, dp=3), Job(tp=2, pp=1, dp=3), Job(tp=1, pp=1, dp=6, schedule="zero3"))
FAULTS = ("rank_absent", "deadlock_cycle", "collective_mismatch", "kernel_stuck", "all_entered", "rank_died")
FEW = settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def drawn(job: int, fault: str, seed: int) -> Incident | None:
    try:
        return simulate(SMALL[job], Fault(fault), seed, Noise(unrelated_xid=False, ecc_hosts=0))  # type: ignore[arg-type]
    except ValueError:
        return None  # this job has no place for this fault


def shuffled(tables: Frames, rng: random.Random) -> Frames:
    """Rows in another order, files under names that sort the other way round."""
    names = sorted(
        {name for frame in tables.values() if "file" in frame.columns for name in frame["file"].drop_nulls().to_list()}
    )
    order = rng.sample(range(len(names)), len(names))
    renamed = {
        name: "/".join([*name.split("/")[:-1], f"{place:04d}_{name.split('/')[-1]}"])
        for name, place in zip(names, order, strict=True)
    }
    result: Frames = {}
    for name, frame in tables.items():
        mixed = frame.sample(fraction=1.0, shuffle=True, seed=rng.randrange(1 << 20)) if frame.height else frame
        result[name] = mixed.with_columns(pl.col("file").replace(renamed)) if "file" in mixed.columns else mixed
    return result


def answer(verdict: Verdict) -> tuple[object, ...]:
    """What must not depend on the order of rows or files."""
    return (verdict.kind, verdict.cause, verdict.status, verdict.ranks, verdict.cycle, verdict.suspects.ranks,
            verdict.undecided, verdict.first_anomaly.group, verdict.first_anomaly.seq)  # fmt: skip


@FEW
@given(job=st.integers(0, 3), fault=st.sampled_from(FAULTS), seed=st.integers(0, 999))
def test_the_order_of_rows_and_files_never_changes_the_verdict(job: int, fault: str, seed: int) -> None:
    if incident := drawn(job, fault, seed):
        tables = dict(incident.evidence())
        assert answer(conclude(shuffled(tables, random.Random(seed)))) == answer(conclude(tables))


@FEW
@given(data=st.data(), fault=st.sampled_from(FAULTS), seed=st.integers(0, 999))
def test_taking_a_source_away_names_nobody_else(data: st.DataObject, fault: str, seed: int) -> None:
    """Less evidence may weaken the answer; it never accuses a rank that has no part in the fault."""
    if incident := drawn(data.draw(st.integers(0, 3)), fault, seed):
        rank = data.draw(st.integers(0, incident.job.world - 1))
        source: tuple[TableName, ...] = data.draw(
            st.sampled_from([("operations", "progress", "groups"), ("stacks",), ("events", "steps")])
        )
        tables = dict(incident.evidence())
        for name in source:
            tables[name] = tables[name].filter((pl.col("rank") != rank).fill_null(True))
        truth = incident.truth
        allowed = {*truth["ranks"], *truth["cycle"], *truth["fault"]["culprits"]}.union(*truth.get("ranks_any", []))
        verdict = conclude(tables)
        assert {*verdict.ranks, *verdict.cycle} <= allowed


def renumbered(job: Rows, order: dict[int, int]) -> Rows:
    """The same records with other numbers for the ranks."""
    other = Rows(job.world, job.per_host)
    for name in TABLE_NAMES:
        for row in job.rows[name]:
            moved = {"rank": order[row["rank"]]} if row.get("rank") is not None else {}
            lists = {"members": [order[rank] for rank in row["members"]]} if row.get("members") else {}
            other.rows[name].append(row | moved | lists)
    return other


@pytest.mark.parametrize(
    "build", [two_stalls, order_inversion, lambda: pipeline(3)], ids=["stalls", "circle", "pipeline"]
)
@pytest.mark.parametrize("seed", range(3))
def test_other_numbers_for_the_ranks_change_the_names_alone(build: object, seed: int) -> None:
    job: Rows = build()  # type: ignore[operator]
    order = dict(enumerate(random.Random(seed).sample(range(job.world), job.world)))
    before, after = job.verdict(), renumbered(job, order).verdict()
    assert after.cause == before.cause
    assert after.ranks == sorted(order[rank] for rank in before.ranks)
    assert after.cycle == sorted(order[rank] for rank in before.cycle)


def test_tables_of_the_builder_have_the_declared_columns() -> None:
    """The builder writes rows of today's schema: `table` refuses any other key."""
    job = two_stalls()
    assert all(table(name, job.rows[name]).height == len(job.rows[name]) for name in TABLE_NAMES)


@pytest.mark.parametrize(
    ("why", "said"), [("no peer", "whose peers are not recorded"), ("no record", "are not in the bundle")]
)
def test_what_a_further_wait_is_for_is_not_recorded_or_lost(why: str, said: str) -> None:
    """Ranks 0 to 2 wait for rank 3. Of 4 and 5 either the record tells no peer, or only a stack shows that they wait."""
    job = Rows(6, dp=(0, 1, 2, 3), pp=(4, 5))
    idle(waiting(job, range(3), "dp", 57), (3,), "dp", 56)
    for rank in (4, 5):
        job.dump(rank, call("pp", 8, "recv")) if why == "no peer" else job.stack(rank, "communication")
    incident = job.incident()
    assert incident.verdict.ranks == [3]
    (claim,) = [one.claim for one in incident.evidence if "3 of 5 waiting ranks" in one.claim]
    assert said in claim and ("ranks 4-5 wait" in claim)
