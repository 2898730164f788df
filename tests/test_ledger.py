"""The ledger: where the time went, what each attempt lost, what to go back to, and how often to save."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.facts.durations.checkpoints import Checkpoint, before_step, checkpoint_before, checkpoints
from forensics.model.incident import BlastRadius, Incident, Lost, Verdict
from forensics.report import Report
from forensics.verdict.past.recurrence import mark_repeats
from forensics.views.ledger import daly, young
from parsers.schema.tables import table
from reports import html, terminal
from reports import ledger as words


def stamp(seconds: float) -> str:
    return f"2026-03-01 {10 + int(seconds) // 3600:02}:{int(seconds) // 60 % 60:02}:{seconds % 60:06.3f}"


def log(*lines: tuple[float, str]) -> str:
    """(seconds after ten, text) → a log of rank 0."""
    return "".join(f"{stamp(at)} [rank0] {text}\n" for at, text in lines)


def steps(first: int, last: int, begin: float, every: float = 2.0) -> list[tuple[float, str]]:
    return [
        (begin + every * number, f"INFO train: step {first + number} loss 2.0") for number in range(last - first + 1)
    ]


def saved(step: int) -> str:
    return f"successfully saved checkpoint from iteration {step} to /ckpt [ t 1/1, p 1/1 ]"


ENDED = "INFO train: finished training"
DIED = 'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\nRuntimeError: CUDA error: unspecified launch failure'
BEGUN = "INFO train: init done rank=0 world_size=1 local_rank=0 host=n1 pid=7"


def analyzed(folder: Path, *attempts: list[tuple[float, str]]) -> Report:
    for number, lines in enumerate(attempts):
        path = folder / f"attempt_{number}" / "n1" / "rank_0.log"
        path.parent.mkdir(parents=True)
        path.write_text(log(*lines))
    return analyze(folder)


def test_where_the_time_of_an_attempt_went(tmp_path: Path) -> None:
    lines = [(0, BEGUN), *steps(1, 10, 1002.0), (1024.0, saved(10)), *steps(11, 20, 1030.0), (1050.0, ENDED)]
    [row] = analyzed(tmp_path, lines).ledger.attempts
    assert {one.phase: one.seconds for one in row.phases} == {"launch": 1000.0, "training": 40.0, "checkpoint": 8.0}


def test_a_checkpoint_written_beside_the_work_costs_nothing(tmp_path: Path) -> None:
    lines = [(0, BEGUN), *steps(1, 10, 2.0), (20.5, saved(10)), *steps(11, 20, 22.0), (41.0, ENDED)]
    [row] = analyzed(tmp_path, lines).ledger.attempts
    assert {one.phase: one.seconds for one in row.phases} == {"training": 40.0}


def test_a_long_initialisation_is_told_by_name(tmp_path: Path) -> None:
    lines = [
        (0, BEGUN),
        (1047.0, "time to initialize megatron (seconds): 1047.000"),
        *steps(1, 5, 1060.0),
        (1070.0, ENDED),
    ]
    report = analyzed(tmp_path, lines)
    assert "init: megatron 17 min 27 s" in terminal.render(report, color=False)
    assert report.verdict.kind == "healthy"


def test_the_part_that_an_initialisation_waited_for_is_told(tmp_path: Path) -> None:
    """The bootstrap goes through one process: a rendezvous that takes so long is its bottleneck, and no hang."""
    said = "n1:7:9 [0] NCCL INFO Init timings - ncclCommInitRank: rank 0 nranks 2048 total 1047.30 (kernels 0.2, bootstrap 1046.4, rest 0.7)"
    report = analyzed(tmp_path, [(0, BEGUN), (1048.0, said), *steps(1, 5, 1060.0), (1070.0, ENDED)])
    text = terminal.render(report, color=False, width=None)
    assert "init: communicator 17 min 27 s, init: communicator, of that bootstrap 17 min 26 s" in text


def test_what_each_attempt_lost_and_what_was_kept(tmp_path: Path) -> None:
    """20 steps, a checkpoint after 10, a crash; the second attempt begins at 11 and ends well."""
    first = [*steps(1, 10, 2.0), (20.5, saved(10)), *steps(11, 20, 22.0), (41.0, DIED)]
    report = analyzed(tmp_path, first, [*steps(11, 30, 102.0), (141.0, ENDED)])
    before, after = report.ledger.attempts
    assert (before.cause, before.planned, before.lost_steps, before.lost_s) == ("exception", False, 10, 21.0)
    assert (after.resumed_from, after.planned, after.lost_steps) == (10, True, None)
    assert report.ledger.effective_s == 60.0  # 30 steps of two seconds each were kept
    assert report.ledger.wall_s == 140.0
    assert {one.phase: one.seconds for one in after.phases}["down before it"] == 59.0


def test_a_planned_end_is_no_fault(tmp_path: Path) -> None:
    stopped = (21.0, "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-01T10:00:21 DUE TO TIME LIMIT ***")
    report = analyzed(tmp_path, [*steps(1, 10, 2.0), stopped], [*steps(1, 10, 102.0), (121.0, ENDED)])
    assert [row.planned for row in report.ledger.attempts] == [True, True]
    assert report.ledger.lost_gpu_hours == {}


def test_how_often_to_save_needs_two_failures_and_the_cost_of_a_checkpoint(tmp_path: Path) -> None:
    def attempt(begin: float, end: str) -> list[tuple[float, str]]:
        return [*steps(1, 10, begin), (begin + 19, saved(10)), *steps(11, 20, begin + 28), (begin + 47, end)]

    twice = analyzed(tmp_path / "twice", attempt(0.0, DIED), attempt(1000.0, DIED), attempt(2000.0, ENDED)).ledger
    assert twice.interval is not None
    assert (twice.interval.failures, twice.interval.save_s) == (2, 8.0)
    assert twice.interval.young_s == pytest.approx((2 * 8 * twice.interval.between_failures_s) ** 0.5, abs=0.01)
    assert twice.interval.steps == round(twice.interval.daly_s / 2)
    assert words.advice(twice.interval)
    assert analyzed(tmp_path / "once", attempt(0.0, DIED), attempt(1000.0, ENDED)).ledger.interval is None


def test_daly_is_below_young_and_never_above_the_time_between_failures() -> None:
    assert young(60, 36_000) == pytest.approx(2078.5, abs=0.1)
    assert young(60, 36_000) - 60 < daly(60, 36_000) < young(60, 36_000)
    assert daly(500, 200) == 200


# --- from a failure to the next run ----------------------------------------------------------------------------------

FAILED_CHECK = [
    (60.0, "Network check rank 2 status [2: False]"),
    (60.0, "Network check rank 3 status [3: False]"),
    (90.0, "Network check rank 2 status [2: True]"),
    (90.0, "Network check rank 3 status [3: False]"),
    (92.0, "The node 3 is breakdown because the node check failed"),
]
RELAUNCHED = (95.0, "Relaunch node train-worker-3 to 8")
FIRST = [*steps(1, 10, 2.0), (20.5, saved(10)), *steps(11, 20, 22.0), (41.0, DIED)]
SECOND = [*steps(16, 30, 302.0), (341.0, ENDED)]


def recovered(folder: Path, *said: tuple[float, str], first: list[tuple[float, str]] | None = None) -> Report:
    """Two attempts, and what the master of the job printed."""
    folder.mkdir(exist_ok=True)
    (folder / "master.log").write_text("".join(f"[{stamp(at)}] [INFO] {text}\n" for at, text in said))
    return analyzed(folder, first or FIRST, SECOND)


def test_from_a_failure_to_the_next_run_is_one_chain(tmp_path: Path) -> None:
    passed = (200.0, "Network check rank 3 status [3: True]")
    report = recovered(tmp_path, (45.0, saved(15)), *FAILED_CHECK, RELAUNCHED, passed)
    failed, after = report.ledger.attempts
    assert [(link.stage, link.text) for link in failed.chain[1:]] == [
        ("saved", "step 15 saved"),
        ("checked", "node 3 failed"),
        ("evicted", "train-worker-3"),
        ("relaunched", "train-worker-8 in place of train-worker-3"),
        ("rechecked", "1 passed"),
        ("resumed", "attempt 1 from step 15"),
    ]
    assert (failed.chain[0].stage, failed.chain[0].text) == ("failed", report.incidents[0].verdict.summary)
    assert [link.ref.line for link in failed.chain if link.ref and link.ref.file == "master.log"] == [1, 2, 7, 7, 8]
    assert after.chain == []
    line = (
        "attempt 0: failed (an exception was raised, rank 0) → saved (step 15 saved) → checked (node 3 failed) → evicted "
        "(train-worker-3) → relaunched (train-worker-8 in place of train-worker-3) → rechecked (1 passed) → resumed (attempt 1 from step 15)"
    )
    assert words.chained(failed) == line
    for text in (terminal.render(report, color=False, width=None), html.render(report), report.to_markdown()):
        assert "train-worker-8 in place of train-worker-3" in " ".join(text.split())


def test_a_pod_that_was_replaced_is_told_though_it_left_no_rank(tmp_path: Path) -> None:
    [row] = [row for row in recovered(tmp_path, RELAUNCHED).environment if row.name == "pods, relaunched"]
    assert row.values == {"train-worker-3 → train-worker-8": "node 3"}


def test_a_pod_that_its_cluster_put_on_another_node_has_moved(tmp_path: Path) -> None:
    def put(pod: str, node: str, minute: int) -> str:
        return (
            f'{{"kind": "Event", "type": "Normal", "reason": "Scheduled", "message": "Successfully assigned ml/{pod} to {node}", '
            f'"involvedObject": {{"kind": "Pod", "name": "{pod}"}}, "lastTimestamp": "2026-03-01T10:{minute:02}:00Z"}}'
        )

    items = [put("w-3", "gpu-3", 0), put("w-4", "gpu-4", 0), put("w-3", "gpu-9", 2), put("w-4", "gpu-4", 2)]
    (tmp_path / "events.json").write_text(f'{{"kind": "List", "items": [{", ".join(items)}]}}')
    [row] = analyzed(tmp_path, FIRST, SECOND).environment[:1]
    assert (row.name, row.values) == ("pods, relaunched", {"gpu-3 → gpu-9": "pod w-3"})


def test_what_lies_before_the_failure_or_says_no_more_than_that_it_began_again_is_no_chain(tmp_path: Path) -> None:
    before = [(at - 59.0, text) for at, text in FAILED_CHECK]
    assert recovered(tmp_path / "before", *before).ledger.attempts[0].chain == []
    assert recovered(tmp_path / "bare").ledger.attempts[0].chain == []
    stopped = (41.0, "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-01T10:00:41 DUE TO TIME LIMIT ***")
    planned = recovered(tmp_path / "planned", RELAUNCHED, first=[*FIRST[:-1], stopped])
    assert planned.ledger.attempts[0].chain == []


# --- what to go back to ----------------------------------------------------------------------------------------------

KNOWN = tuple(Checkpoint(step, True, "/ckpt") for step in (800, 1000, 1099))


@pytest.mark.parametrize(
    ("step", "margin", "found"), [(1120, 0, 1099), (1120, 100, 1000), (850, 100, 800), (700, 100, None)]
)
def test_the_newest_checkpoint_well_before_a_step(step: int, margin: int, found: int | None) -> None:
    one = checkpoint_before(KNOWN, step, margin)
    assert (one.step if one else None) == found


def test_where_nothing_is_saved_the_words_stay_general() -> None:
    assert before_step(5) == "a checkpoint before step 5"
    assert before_step(0) == "the state that the run began from"


def _save(kind: str, step: int, rank: int, phase: str, **more: object) -> dict[str, object]:
    detail = f'{{"phase": "{phase}", "path": "/ckpt"}}'
    return {"kind": kind, "step": step, "rank": rank, "detail": detail, "file": "log", "line": step, **more}


def test_a_checkpoint_of_which_a_part_is_missing_is_none() -> None:
    """Both ranks stored step 10; of step 20 rank 1 only began."""
    rows = [_save("checkpoint_persist", 10, rank, phase) for rank in (0, 1) for phase in ("begin", "end")]
    rows += [_save("checkpoint_persist", 20, 0, "begin"), _save("checkpoint_persist", 20, 0, "end")]
    rows += [_save("checkpoint_persist", 20, 1, "begin")]
    assert [(one.step, one.name) for one in checkpoints(table("events", rows)).complete] == [
        (10, "the checkpoint of step 10 (/ckpt)")
    ]


def test_where_only_one_rank_tells_the_end_the_beginnings_of_others_owe_nothing() -> None:
    rows = [_save("checkpoint_save", 10, rank, "begin") for rank in (0, 1)] + [_save("checkpoint_save", 10, 0, "end")]
    assert [one.step for one in checkpoints(table("events", rows)).complete] == [10]


def test_who_owes_a_part_is_told_with_what_it_raised(tmp_path: Path) -> None:
    begun, done = (
        "INFO Persist state_dict of step {} to /ckpt",
        "INFO Persist state_dict of step {} to /ckpt successfully",
    )
    for rank in (0, 1):
        lines = [(2.0 * step, f"INFO train: step {step} loss 2.0") for step in range(1, 9)]
        lines += [(3.1, begun.format(1)), (3.2, done.format(1)), (9.1, begun.format(4))]
        lines += [(9.2, done.format(4))] if rank == 0 else [(9.2, "OSError: [Errno 5] Input/output error")]
        text = "".join(f"{stamp(at)} [rank{rank}] {said}\n" for at, said in sorted([*lines, (17.0, ENDED)]))
        (tmp_path / f"rank_{rank}.log").write_text(text)
    report = analyze(tmp_path)
    assert report.incident.lost.last_persisted_step == 1
    assert any("rank 1 began to store the checkpoint of step 4 and never ended" in note for note in report.ledger.notes)


def test_bad_numbers_go_back_a_hundred_steps_before_the_onset(tmp_path: Path) -> None:
    lines = [f" iteration {step:8d}/ 2000 | lm loss: {2.1 if step < 1120 else 2.1 + 5 * 0.999 ** (step - 1120):.6E} | grad norm: 0.2 |" for step in range(900, 1160)]  # fmt: skip
    for at in (1000, 1099):
        lines.insert(at - 900 + 1, f"  successfully saved checkpoint from iteration {at:7d} to /ckpt [ t 1/1, p 1/1 ]")
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    report = analyze(tmp_path)
    assert report.verdict.cause == "loss_spike"
    assert "the checkpoint of step 1000 (/ckpt)" in [one.target for one in report.incident.actions]
    assert report.incident.lost.lost_steps == 159


# --- who took part ---------------------------------------------------------------------------------------------------


def test_hosts_that_joined_left_and_returned(tmp_path: Path) -> None:
    """n2 is away in the second attempt and back in the third; in the fourth only processes are begun anew."""
    members = [("n1", "n2"), ("n1", "n3"), ("n1", "n2"), ("n1", "n2")]
    for number, hosts in enumerate(members):
        for rank, host in enumerate(hosts):
            path = tmp_path / f"attempt_{number}" / host / f"rank_{rank}.log"
            path.parent.mkdir(parents=True)
            lines = [
                f"{stamp(0)} [rank{rank}] INFO train: init done rank={rank} world_size=2 local_rank=0 host={host} pid=7"
            ]
            lines += [f"{stamp(2 + at)} [rank{rank}] INFO train: step {at} loss 2.0" for at in range(5)]
            path.write_text("\n".join(lines) + "\n")
    report = analyze(tmp_path)
    told = [(row.restarted, row.hosts_joined, row.hosts_left, row.hosts_returned) for row in report.ledger.attempts]
    assert told == [
        (None, [], [], []),
        ("hosts", ["n3"], ["n2"], []),
        ("hosts", ["n2"], ["n3"], ["n2"]),
        ("processes", [], [], []),
    ]
    text = terminal.render(report, color=False, width=None)
    assert "n3 joined as new, n2 left" in text and "n2 returned, n3 left" in text
    assert "processes restarted on the same hosts" in text


@pytest.mark.parametrize(("away", "word"), [(True, "back again"), (False, "new")])
def test_a_suspected_host_that_was_not_there_before_is_told(away: bool, word: str) -> None:
    verdict = Verdict(kind="hang", cause="rank_absent", status="supported", ranks=[3], hosts=["n2"])
    one = Incident(
        attempt=2, verdict=verdict, evidence=[], alternatives=[], blast_radius=BlastRadius(), severity=None, lost=Lost(), actions=[]
    )  # fmt: skip
    hosts = {0: frozenset({"n1", "n2"} if away else {"n1"}), 1: frozenset({"n1", "n3"}), 2: frozenset({"n1", "n2"})}
    [told] = mark_repeats([one], 0, 4, hosts)
    assert [claim.claim for claim in told.evidence] == [f"host n2 is {word} in attempt 2"]
    assert told.verdict == verdict


def test_places_have_coordinates_by_the_persons_layout() -> None:
    bundle = Path(__file__).resolve().parents[1] / "samples" / "data_loader_stall" / "bundle"
    [place] = analyze(bundle, topology={"tp": 2, "dp": 2, "pp": 2}).verdict.places
    assert (place.rank, place.coordinates.tp, place.coordinates.dp, place.coordinates.pp) == (5, 1, 0, 1)


@pytest.mark.parametrize(
    "lines",
    [
        [*steps(0, 5, 2.0, 0.5), (4.55, "INFO train: step 44 loss 2.0"), (5.0, ENDED)],
        [*steps(0, 5, 2.0, 0.5), (4.55, "INFO train: step 44 loss 2.0"), (5.0, DIED)],
        [*steps(1, 10, 2.0), (21.0, ENDED)],
    ],
    ids=["steps in a burst", "and a crash", "even"],
)
def test_no_more_was_training_than_time_went_by(tmp_path: Path, lines: list[tuple[float, str]]) -> None:
    told = analyzed(tmp_path, lines).ledger
    assert told.wall_s is not None and told.effective_s is not None
    assert 0 < told.effective_s <= told.wall_s
