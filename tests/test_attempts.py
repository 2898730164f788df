"""Several launches in one bundle: told apart by folders, job ids, restarts inside a log and times; never merged."""

from typing import Any

import polars as pl
import pytest

from forensics.analyze import conclude_evidence
from forensics.assemble.runs.attempts import Attempts, attempts_of
from forensics.assemble.runs.restarts import restarts
from parsers.schema.evidence import Evidence
from parsers.schema.tables import TABLE_NAMES, TableName, table
from tests.hang_tables import Rows, call, idle, waiting

NOW = 1_763_000_000_000_000_000
MINUTE = 60_000_000_000


class Bundle:
    """Rows of evidence, file by file, line by line."""

    def __init__(self) -> None:
        self.rows: dict[TableName, list[dict[str, Any]]] = {name: [] for name in TABLE_NAMES}

    def file(self, name: str, launch: str | None = None, attempt: int | None = None) -> "Bundle":
        self.rows["files"].append({"file": name, "launch": launch, "attempt": attempt, "bytes": 1})
        return self

    def step(self, file: str, line: int, step: int, rank: int | None = None, minute: int | None = None) -> "Bundle":
        return self.add("steps", file, line, minute, step=step, rank=rank, phase="train", framework="plain")

    def event(self, file: str, line: int, kind: str, minute: int | None = None, **more: Any) -> "Bundle":
        if more.get("rank") is not None:
            more = {"rank_space": "global", **more}
        return self.add("events", file, line, minute, kind=kind, **more)

    def rendezvous(self, file: str, line: int, count: int, world: int = 8, host: str | None = None) -> "Bundle":
        self.add("settings", file, line, None, name="restart_count", value=str(count), scope="launcher", host=host)
        return self.add("ranks", file, line, None, rank=0, world_size=world, how="elastic rendezvous")

    def dump(self, file: str, rank: int, minute: int, **more: Any) -> "Bundle":
        row = {"rank": rank, "record": 0, "file": file, "seq": 1, "time_created_ns": NOW + minute * MINUTE}
        self.rows["operations"].append(row | more)
        return self

    def add(self, into: TableName, file: str, line: int, minute: int | None, /, **row: Any) -> "Bundle":
        if minute is not None:
            row |= {"time_ns": NOW + minute * MINUTE, "time_basis": row.get("time_basis", "utc")}
        self.rows[into].append({"file": file, "line": line} | row)
        return self

    def tables(self) -> dict[TableName, pl.DataFrame]:
        return {name: table(name, rows) for name, rows in self.rows.items()}

    def split(self) -> Attempts:
        return attempts_of(self.tables())


def _steps(attempts: Attempts) -> dict[int, list[int]]:
    return {number: tables["steps"]["step"].to_list() for number, tables in attempts.tables.items()}


def _files(attempts: Attempts, name: TableName) -> dict[int, list[str]]:
    return {number: sorted(tables[name]["file"].unique()) for number, tables in attempts.tables.items()}


def test_one_attempt_is_passed_on_as_it_is() -> None:
    tables = Bundle().file("a/attempt_3/0/out.log", "a", 3).step("a/attempt_3/0/out.log", 1, 5).tables()
    found = attempts_of(tables)
    assert list(found.tables) == [3]
    assert all(found.tables[3][name] is tables[name] for name in TABLE_NAMES)
    assert not found.doubts
    assert list(Bundle().split().tables) == [0]


def test_folders_are_attempts_and_a_dump_without_a_time_belongs_to_the_newest() -> None:
    bundle = Bundle()
    for attempt in (0, 1):
        name = f"run/attempt_{attempt}/0/out.log"
        bundle.file(name, "run", attempt).step(name, 1, 10 * attempt, rank=0)
    found = bundle.file("fr/rank_0").dump("fr/rank_0", 0, 5).split()
    assert _steps(found) == {0: [0], 1: [10]}
    assert _files(found, "operations") == {0: [], 1: ["fr/rank_0"]}
    assert not found.doubts


def test_folders_of_one_run_id_with_other_ranks_are_hosts_of_one_launch() -> None:
    bundle = Bundle()
    for rank, launch in enumerate(("job_aaaaaaaa", "job_bbbbbbbb")):
        for attempt in (0, 1):
            name = f"{launch}/attempt_{attempt}/0/out.log"
            bundle.file(name, launch, attempt).step(name, 1, 10 * attempt + rank, rank=rank)
    assert _steps(bundle.split()) == {0: [0, 1], 1: [10, 11]}


def _twice(minutes: tuple[int, int] | None, ranks: tuple[int, int] = (0, 0)) -> Bundle:
    bundle = Bundle()
    for at, launch in enumerate(("job_aaaaaaaa", "job_bbbbbbbb")):
        name = f"{launch}/attempt_0/0/out.log"
        minute = None if minutes is None else minutes[at]
        bundle.file(name, launch, 0).step(name, 1, at, rank=ranks[at], minute=minute)
    return bundle


def test_folders_that_share_a_rank_are_launches_in_order_of_time() -> None:
    found = _twice((50, 10)).split()
    assert _steps(found) == {0: [1], 1: [0]}
    assert not found.doubts


def test_launches_without_a_time_are_kept_apart_and_the_doubt_is_said() -> None:
    found = _twice(None).split()
    assert _steps(found) == {0: [0], 1: [1]}
    assert "which launch came first" in found.doubts[0]
    report = conclude_evidence(Evidence("b", _twice(None).tables()))
    assert report.limits[0].startswith("attempts: it cannot be told which launch came first")
    assert all("mixed_attempts" in incident.verdict.undecided for incident in report.incidents)
    assert report.coverage.attempts == 2


def test_scheduler_job_ids_are_launches_in_order_of_number() -> None:
    bundle = Bundle()
    for name, step in (("slurm-1001.out", 7), ("slurm-999.out", 3)):
        bundle.file(name).step(name, 1, step, rank=0)
    found = bundle.split()
    assert _steps(found) == {0: [3], 1: [7]}
    assert not found.doubts


def _tasks(job: str, *ranks: tuple[int, ...], minutes: tuple[int, ...] | None = None) -> Bundle:
    bundle = Bundle()
    for task, own in enumerate(ranks):
        name = f"{job}_{task}.out"
        bundle.file(name)
        if minutes is not None:
            begun = NOW + minutes[task] * MINUTE
            bundle.rows["files"][-1] |= {"time_first_ns": begun, "time_last_ns": begun + 9 * MINUTE}
        for line, rank in enumerate(own):
            bundle.step(name, line + 1, 7, rank=rank)
    return bundle


def test_the_number_behind_a_job_counts_its_tasks_where_each_speaks_of_ranks_of_its_own() -> None:
    assert list(_tasks("slurm-4711", (0,), (1,), (2,)).split().tables) == [0]
    assert list(_tasks("logs/job_4711", (0, 1), (), (2, 3)).split().tables) == [0]  # a task without a word
    assert list(_tasks("slurm-4711", (0,), (1,), minutes=(0, 3)).split().tables) == [0]
    both = _tasks("slurm-4711", (0,), (1,)).file("slurm-4711.err").event("slurm-4711.err", 1, "scheduler")
    assert list(both.split().tables) == [0]


def test_members_of_an_array_stay_apart() -> None:
    assert list(_tasks("slurm-4711", (0, 1), (0, 1)).split().tables) == [0, 1]
    assert list(_tasks("slurm-4711", (3,), (5,), minutes=(0, 30)).split().tables) == [0, 1]  # one after the other
    assert list(_tasks("slurm-4711", (3,), ()).split().tables) == [0, 1]  # nothing tells


def test_the_output_of_a_job_beside_attempt_folders_is_no_launch() -> None:
    bundle = Bundle().file("slurm-1001.out").file("r/attempt_0/0/out.log", "r", 0)
    assert list(bundle.event("slurm-1001.out", 1, "scheduler").split().tables) == [0]


def _log(*lines: tuple[Any, ...], **more: Any) -> dict[str, list[int]]:
    bundle = Bundle().file("a.log")
    for line, (what, *args) in enumerate(lines, 1):
        if what == "step":
            bundle.step("a.log", line, *args)
        elif what == "rendezvous":
            bundle.rendezvous("a.log", line, *args, **more)
        else:
            known = dict(zip(("rank", "pid"), args, strict=False)) if what == "job_start" else {}
            known |= dict(zip(("local_rank", "pid"), args, strict=False)) if what == "comm_init_start" else {}
            known |= {"code": args[0]} if what == "membership" else {}
            known |= {"text": args[0]} if what == "scheduler" else {}
            bundle.event("a.log", line, what, **known)
    return restarts(bundle.tables())


STARTS = [("comm_init_start", 0, 11), ("comm_init_start", 1, 12)]
ANEW = [("comm_init_start", 0, 21), ("comm_init_start", 1, 22)]


@pytest.mark.parametrize(
    ("lines", "begins"),
    [
        pytest.param([("step", 1), ("step", 2), ("step", 3)], [], id="steps rise"),
        pytest.param([("step", n) for _ in range(3) for n in (1, 50, 100)], [], id="epochs begin anew"),
        pytest.param([("step", n) for n in (10, 20, 18, 19, 30)], [], id="ranks interleave"),
        pytest.param([("step", n) for n in (10, 50, 57, 50, 57, 60)], [4], id="the same numbers again"),
        pytest.param(
            [("step", 7), ("exception",), ("job_start",), ("step", 1)], [3], id="an error and a start between"
        ),
        pytest.param([("step", 7), ("exit",), ("step", 1), ("step", 2)], [3], id="an exit between"),
        pytest.param([("step", 7), ("exit",), ("step", 6), ("step", 7)], [], id="late lines of other ranks"),
        pytest.param([("step", 9), ("checkpoint_load",), ("step", 8)], [2], id="a checkpoint loaded again"),
        pytest.param([("job_start", 0, 11), ("step", 5, 0), ("job_start", 0, 12), ("step", 6, 0)], [3], id="a new pid"),
        pytest.param([("job_start", 0, 11), ("job_start", 0, 11), ("step", 5, 0)], [], id="the same pid again"),
        pytest.param([("job_start", 0, 11), ("job_start", 1, 12), ("step", 5, 0)], [], id="two ranks start"),
        pytest.param([*STARTS, ("closing_signal",), *ANEW], [4], id="a pod's log goes on with new processes"),
        pytest.param([*STARTS, *ANEW], [], id="two worlds share devices"),
        pytest.param([*STARTS, ("exit",), *ANEW[:1]], [], id="one engine of several comes back"),
        pytest.param([*STARTS, ("exit",), *ANEW, STARTS[0]], [], id="an old process still speaks"),
        pytest.param([("rendezvous", 0), ("rendezvous", 0), ("step", 1)], [], id="agents of two hosts"),
        pytest.param(
            [("rendezvous", 0), ("rendezvous", 0), ("rendezvous", 1), ("rendezvous", 1)], [3], id="both restart"
        ),
        pytest.param([("rendezvous", 0), ("rendezvous", 1), ("rendezvous", 2)], [2, 3], id="a crash loop"),
        pytest.param([("rendezvous", 0, 16), ("step", 4), ("rendezvous", 0, 8), ("step", 5)], [3], id="it shrinks"),
        pytest.param(
            [("rendezvous", 0), ("step", 9), ("membership", "failed"), ("membership", "failed"), ("rendezvous", 1),
             ("job_start", 0, 12), ("step", 1)], [5], id="every sign of one restart",
        ),
        pytest.param([("step", 9), ("membership", "failed")], [], id="announced, but nothing followed"),
        pytest.param([("membership", "failed"), ("step", 9)], [], id="nothing ran before"),
        pytest.param(
            [("step", 9), ("scheduler", "JOB 11 CANCELLED DUE TO JOB REQUEUE"), ("step", 9), ("step", 10)], [3],
            id="put back into the queue",
        ),
        pytest.param([("step", 9), ("scheduler", "srun: terminating"), ("step", 10)], [], id="another word of it"),
    ],
)  # fmt: skip
def test_where_a_log_begins_anew(lines: list[tuple[Any, ...]], begins: list[int]) -> None:
    assert _log(*lines) == ({"a.log": begins} if begins else {})


def test_a_restart_of_many_ranks_in_one_log_is_one() -> None:
    bundle = Bundle().file("a.log")
    for line in range(40):
        launch, rank = divmod(line, 20)
        bundle.step("a.log", line + 1, 50 + rank // 4 if launch == 0 else 40 + rank // 4, rank=rank % 4)
    assert restarts(bundle.tables()) == {"a.log": [21]}


def _resumed() -> Bundle:
    bundle = Bundle()
    for rank in range(2):
        name = f"rank_{rank}.log"
        bundle.file(name).event(name, 15, "exit", code="1", rank=rank).event(name, 19, "job_start", rank=rank)
        for line, step in ((10, 11), (11, 12), (20, 12), (30, 13)):
            bundle.step(name, line, step, rank=rank)
    return bundle


def test_the_same_steps_twice_in_one_log_are_two_attempts_and_what_stands_between_is_shared_out() -> None:
    found = _resumed().split()
    assert _steps(found) == {0: [11, 12, 11, 12], 1: [12, 13, 12, 13]}
    assert {number: set(tables["events"]["kind"]) for number, tables in found.tables.items()} == {
        0: {"exit"}, 1: {"job_start"},
    }  # fmt: skip
    assert _files(found, "files") == {0: ["rank_0.log", "rank_1.log"], 1: ["rank_0.log", "rank_1.log"]}


def _two_by_time(basis: str) -> Bundle:
    """Attempts at minutes 0 to 20 and 60 to 80."""
    bundle = Bundle()
    for attempt, minutes in ((0, (0, 20)), (1, (60, 80))):
        name = f"run/attempt_{attempt}/0/out.log"
        bundle.file(name, "run", attempt)
        for line, minute in enumerate(minutes):
            bundle.step(name, line, minute, rank=0, minute=minute)
            bundle.rows["steps"][-1]["time_basis"] = basis
    return bundle


@pytest.mark.parametrize(
    ("basis", "minute", "attempt"),
    [
        ("utc", 5, 0), ("utc", 40, 0), ("utc", 60, 1), ("utc", 500, 1),
        ("local", 15, 0), ("local", 75, 1), ("local", 300, 1), ("local", -400, 1),
    ],
)  # fmt: skip
def test_a_dump_belongs_to_the_attempt_of_its_newest_entry(basis: str, minute: int, attempt: int) -> None:
    found = _two_by_time(basis).file("fr/rank_0").dump("fr/rank_0", 0, minute).split()
    assert _files(found, "operations")[attempt] == ["fr/rank_0"]
    assert found.tables[1 - attempt]["operations"].is_empty()


def test_a_dump_that_an_older_launch_left_is_not_read_with_the_new_ones() -> None:
    """Rank 1 wrote no dump in the second launch: its old one must not make it look absent."""
    bundle = Bundle()
    for rank, minutes in ((0, (3, 40)), (1, (2,)), (2, (1, 41))):
        for launch, minute in enumerate(minutes):
            for number in (0, 1):
                bundle.dump(f"dumps{launch}/rank_{rank}", rank, minute + number, op_id=number, record=number)
    found = bundle.split()
    assert _files(found, "operations") == {
        0: ["dumps0/rank_0", "dumps0/rank_1", "dumps0/rank_2"], 1: ["dumps1/rank_0", "dumps1/rank_2"],
    }  # fmt: skip
    assert not found.doubts


def test_two_dumps_of_one_process_and_the_record_of_another_backend_are_one_attempt() -> None:
    bundle = Bundle()
    for at, minute in enumerate((1, 30)):
        bundle.dump(f"dumps{at}/rank_0", 0, minute, op_id=at * 100)
    assert list(bundle.split().tables) == [0]
    bundle.dump("gloo/rank_0", 0, 60, op_id=0, backend="gloo")
    assert list(bundle.split().tables) == [0]


def test_a_kernel_log_follows_the_time_of_its_lines_and_its_clock_holds_for_all() -> None:
    bundle = _two_by_time("utc").file("syslog_node1.txt")
    for line, minute in ((3, 10), (5, 70)):
        bundle.event("syslog_node1.txt", line, "gpu_error", minute, code=f"xid:{line}")
    bundle.event("syslog_node1.txt", 4, "other", code="no time")
    bundle.add("settings", "syslog_node1.txt", 1, None, name="boot_time_ns", value="5", scope="clock")
    found = bundle.split()
    assert {n: t["events"]["code"].sort().to_list() for n, t in found.tables.items()} == {
        0: ["no time", "xid:3"], 1: ["xid:5"],
    }  # fmt: skip
    assert all(tables["settings"].height == 1 for tables in found.tables.values())
    assert all("syslog_node1.txt" in files for files in _files(found, "files").values())


def test_a_training_log_that_nothing_places_is_a_doubt() -> None:
    found = _two_by_time("utc").file("train.log").step("train.log", 1, 3).split()
    assert "train.log" in found.doubts[0]
    assert not _two_by_time("utc").file("notes.txt").split().doubts


def test_the_order_of_rows_does_not_matter() -> None:
    bundle = _resumed()
    tables = bundle.tables()
    turned = {name: frame.reverse() for name, frame in tables.items()}
    straight, other = attempts_of(tables), attempts_of(turned)
    assert list(straight.tables) == list(other.tables) == [0, 1]
    for number, part in straight.tables.items():
        assert part["steps"].sort("file", "line").equals(other.tables[number]["steps"].sort("file", "line"))


def test_each_attempt_has_its_own_ranks_and_its_own_incident() -> None:
    """Rank 3 hangs on node0 in the first launch; in the second, rank 1 does, and ranks live on other hosts."""
    job = Rows(4, per_host=4)
    job = idle(waiting(job, (0, 1, 2), "world", 57), (3,), "world", 56)
    first = len(job.rows["operations"]), len(job.rows["groups"]), len(job.rows["progress"])
    job = idle(waiting(job, (0, 2, 3), "world", 30), (1,), "world", 29)
    for name, count in zip(("operations", "groups", "progress"), first, strict=True):
        for at, row in enumerate(job.rows[name]):  # type: ignore[index]
            row["file"] = f"run/attempt_{int(at >= count)}/{row['file']}"
    for name in sorted({row["file"] for row in job.rows["operations"]}):
        job.add("files", file=name, attempt=int("attempt_1" in name), launch="run", bytes=1)
    for attempt in (0, 1):
        job.add("ranks", rank=1, host=f"host{attempt}", how="log", file=f"run/attempt_{attempt}/fr/rank_1", line=None)
    report = job.report()
    assert [(one.attempt, one.verdict.ranks) for one in report.incidents] == [(0, [3]), (1, [1])]
    assert report.primary == 1
    assert [[host.host for host in one.views.hosts] for one in report.incidents] == [["host0"], ["host1"]]


def test_the_first_anomaly_of_a_hang_is_when_the_first_peer_began_to_wait() -> None:
    job = Rows(3)
    for rank, late in ((0, 2), (1, 1)):
        job.dump(
            rank,
            call("world", 4, done=True, time_created_ns=NOW),
            call("world", 5, time_created_ns=NOW + late * MINUTE),
        )
    anomaly = idle(job, (2,), "world", 4).verdict().first_anomaly
    assert (anomaly.rank, anomaly.time_utc) == (2, "2025-11-13T02:14:20.000000Z")


@pytest.mark.parametrize(
    ("events", "stalled"),
    [
        ([("collective_timeout", 12), ("exit", 3)], 600.0),
        ([("exit", 5)], 180.0),
        ([("collective_timeout", 1)], None),
        ([], None),
    ],
    ids=["the first time-out", "no time-out, an end", "before the last step", "nothing"],
)
def test_how_long_nothing_went_on(events: list[tuple[str, int]], stalled: float | None) -> None:
    bundle = Bundle().file("a.log").step("a.log", 1, 6, minute=1).step("a.log", 2, 7, minute=2)
    for line, (kind, minute) in enumerate(events, 3):
        bundle.event("a.log", line, kind, minute, severity="error")
    lost = conclude_evidence(Evidence("b", bundle.tables())).incidents[0].lost
    assert (lost.last_completed_step, lost.stalled_s) == (7, stalled)


def test_a_checkpoint_that_is_only_announced_or_failed_is_not_saved() -> None:
    bundle = Bundle().file("a.log")
    for line, (step, phase, severity) in enumerate(
        [(100, "end", "info"), (200, "begin", "info"), (300, "end", "error")]
    ):
        bundle.event("a.log", line, "checkpoint_save", step=step, severity=severity, detail=f'{{"phase": "{phase}"}}')
    bundle.event("a.log", 9, "checkpoint_persist", step=50, severity="info")
    lost = conclude_evidence(Evidence("b", bundle.tables())).incidents[0].lost
    assert (lost.last_saved_step, lost.last_persisted_step) == (100, 50)


def _statistics(steps: dict[int, list[int]], **more: Any) -> Bundle:
    bundle = Bundle()
    for rank, told in steps.items():
        bundle.file(f"rank_{rank}.jsonl")
        for line, step in enumerate(told, 1):
            bundle.add(
                "tensors", f"rank_{rank}.jsonl", line, None, **{"rank": rank, "step": step, "phase": "forward"} | more
            )
    return bundle


@pytest.mark.parametrize(
    ("steps", "more", "expected"),
    [
        ({0: [0, 0, 1, 2, 0, 1], 1: [0, 1, 1, 0, 1, 2]}, {}, {"rank_0.jsonl": [5], "rank_1.jsonl": [4]}),
        ({0: [5, 6, 2, 3, 3, 1], 1: [5, 2, 3, 0]}, {}, {"rank_0.jsonl": [3, 6], "rank_1.jsonl": [2, 4]}),
        ({0: [0, 1, 0], 1: [0, 1, 2]}, {}, {}),
        ({0: [0, 1, 0], 1: [0, 1, 0, 1, 0]}, {}, {}),
        ({0: [0, 1, 0], 1: [0, 1, 0]}, {"seq": 7}, {}),
        ({0: [0, 1, 0], 1: [0, 1, 0]}, {"phase": "eval"}, {}),
        ({0: [0, 1], 1: [0, 1]}, {}, {}),
        ({}, {}, {}),
    ],
    ids=["once", "twice", "one rank only", "not equally often", "another order", "evaluation", "no fall", "nothing"],
)
def test_steps_of_statistics_that_fall_for_every_rank(
    steps: dict[int, list[int]], more: dict[str, Any], expected: dict[str, list[int]]
) -> None:
    assert restarts(_statistics(steps, **more).tables()) == expected


def test_statistics_of_two_launches_come_apart() -> None:
    found = _statistics({0: [0, 1, 2, 0, 1], 1: [0, 1, 0]}).split()
    told = {at: tables["tensors"]["step"].to_list() for at, tables in found.tables.items()}
    assert told == {0: [0, 1, 2, 0, 1], 1: [0, 1, 0]}
    assert found.doubts == ()


@pytest.mark.parametrize(
    ("bars_in", "expected"),
    [
        pytest.param("train.log", {0: [None, 1200, None, 1201, None, 1202]}, id="the log prints steps itself"),
        pytest.param("bars.log", {0: [1200, 1201, 1202, 276, 297, 299]}, id="a log of bars alone"),
    ],
)
def test_a_bar_counts_no_steps_where_its_log_prints_them(bars_in: str, expected: dict[int, list[int | None]]) -> None:
    """A bar drawn before each line, of another loop; its loss stays."""
    bundle = Bundle().file("train.log").file(bars_in)
    for at, count in enumerate((276, 297, 299)):
        bundle.step("train.log", 2 * at + 2, 1200 + at, rank=0)
        bundle.add("steps", bars_in, 2 * at + 1, None, step=count, phase="train", framework="tqdm", loss=2.5)
    attempts = attempts_of(
        {**bundle.tables(), "steps": bundle.tables()["steps"].sort("file", "line", descending=[True, False])}
    )
    assert _steps(attempts) == expected
    assert attempts.tables[0]["steps"]["loss"].drop_nulls().len() == 3


@pytest.mark.parametrize(("rank", "kept"), [(0, False), (1, True)], ids=["its own rank", "another rank"])
def test_a_bar_of_its_own_log_counts_no_steps_where_another_record_of_the_rank_tells_them(
    rank: int, kept: bool
) -> None:
    bundle = Bundle().file("history.csv").file("output.log")
    for at, count in enumerate((248, 249, 250)):
        bundle.step("history.csv", at + 1, 1500 + at, rank=0)
        bundle.add(
            "steps", "output.log", at + 1, None, rank=rank, step=count, phase="train", framework="tqdm", loss=2.5
        )
    steps = attempts_of(bundle.tables()).tables[0]["steps"].filter(file="output.log")
    assert steps["step"].to_list() == ([248, 249, 250] if kept else [None] * 3)


def _again(*ranks: int, between: str = "exit") -> dict[str, list[int]]:
    """Ranks 0 and 1 print step 40; then these print it again."""
    return _log(("step", 40, 0), ("step", 40, 1), (between,), *(("step", 40, rank) for rank in ranks))


def test_all_ranks_that_begin_at_their_last_step_after_an_end_are_a_launch() -> None:
    assert _again(0, 1) == {"a.log": [4]}
    assert _again(0) == {}
    assert _again(0, 1, between="job_end") == {}


HOUR = 60  # minutes


@pytest.mark.parametrize(
    ("begun", "ended", "older"),
    [
        ([1800, 1800, 1800, 1800, 0, 0, 0, 0], [1830] * 4 + [10] * 4, [4, 5, 6, 7]),
        ([1800, 1801, 0, 0], [1900, 1900, 500, 600], [2, 3]),
        ([1800, 0, 0, 5], [1801, None, None, 9], [1, 2, 3]),
        ([10 * HOUR, 10 * HOUR, 0, 0], [11 * HOUR] * 2 + [9] * 2, []),
        ([1800, 1800, 0, 0], [1830, 1830, 1820, 10], []),
        ([0, 0, 1800, 1800], [9, 9, 1830, 1830], []),
        ([1800, 0, 1800, 0], [1830, 9, 1830, 9], []),
        ([1800, 0, 1800, 1800], [1830, 9, 1830, 1830], []),
    ],
    ids=["half as many ranks a day later", "two of four", "one alone", "hours may be a zone", "one of them ran on", "the higher are the newer",
         "not from 0 on", "one rank is missing in between"],
)  # fmt: skip
def test_files_that_a_smaller_launch_left_lying(begun: list[int], ended: list[int | None], older: list[int]) -> None:
    job = Bundle()
    for rank, (first, last) in enumerate(zip(begun, ended, strict=True)):
        span = {"time_first_ns": NOW + first * MINUTE, "time_last_ns": None if last is None else NOW + last * MINUTE}
        job.rows["files"].append({"file": f"rank_{rank}.log", "rank": rank, "bytes": 1, **span})
        job.step(f"rank_{rank}.log", 3, 7, rank, first)
    ranks = [tables["steps"]["rank"].to_list() for tables in job.split().tables.values()]
    assert ranks[0] == older if older else len(ranks) == 1
