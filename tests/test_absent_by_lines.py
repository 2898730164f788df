"""Lines of enqueued collectives: who is one behind all others, who issued another call, and when neither is proof."""

from collections.abc import Callable
from typing import Any

import pytest

from forensics.case import Case
from forensics.detectors.ranks import absent, mismatch
from forensics.model.finding import Finding
from tests.log_cases import Judged, case, judged


class Job:
    """Ranks 0, 1, …, one process each, in communicators with an id; `issue` adds the lines of one rank in one of them."""

    def __init__(self, size: int, **comms: tuple[int, ...]) -> None:
        self.comms = {"world": tuple(range(size)), **comms}
        self.ranks = [{"rank": r, "host": "n", "pid": 100 + r, "world_size": size, "how": "init"} for r in range(size)]
        self.groups = [
            {"group": f"n:{100 + rank}:{name}", "comm": f"id-{name}", "size": len(members)}
            for name, members in self.comms.items()
            for rank in members
        ]
        self.operations: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = [
            {"kind": "comm_init_complete", "group": f"id-{name}", "host": "n", "pid": 100 + rank, "rank": rank}
            for name, members in self.comms.items()
            for rank in members
        ]

    def issue(self, rank: int, last: int, comm: str = "world", **more: Any) -> "Job":
        for seq in range(max(last - 2, 0), last + 1):
            row = {"host": "n", "pid": 100 + rank, "comm": f"n:{100 + rank}:{comm}", "seq": seq, "kind": "all_reduce"}
            row |= {"is_p2p": False, "input_sizes": "[[64]]", "input_dtypes": '["float32"]', "state": "scheduled"}
            self.operations.append(row | {"file": f"{rank}.log"} | (more if seq == last else {}))
        return self

    def unnumbered(self) -> "Job":
        """As NCCL 2.27 and later prints calls on one node: all lines from the first one, and each with number 0."""
        whole: list[dict[str, Any]] = []
        begun: set[tuple[Any, ...]] = set()
        for row in self.operations:
            if (row["comm"], row["file"]) not in begun:
                begun.add((row["comm"], row["file"]))
                whole += [row | {"kind": "all_reduce", "input_sizes": "[[64]]"}] * row["seq"]
            whole.append(row)
        self.operations = [row | {"seq": 0} for row in whole]
        return self

    def timed_out(self, *ranks: int) -> "Job":
        self.events += [{"kind": "collective_timeout", "rank": rank, "seq": 7} for rank in ranks]
        return self

    def case(self) -> Case:
        return case(self.events, operations=self.operations, groups=self.groups, ranks=self.ranks, files=[])

    def find(self) -> tuple[Finding, ...]:
        whole = self.case()
        return (*absent.DETECTOR.detect(whole), *mismatch.DETECTOR.detect(whole))

    def judge(self) -> Judged:
        return judged(self.case(), absent.DETECTOR, mismatch.DETECTOR)


def behind(size: int = 5, last: int = 31) -> Job:
    """The last rank stands at `last`, all others at 32."""
    job = Job(size)
    for rank in range(size - 1):
        job.issue(rank, 32)
    return job.issue(size - 1, last)


def test_one_behind_is_named_where_the_others_timed_out() -> None:
    found = behind().timed_out(0, 1, 2, 3).judge()
    assert (found.cause, found.ranks, found.is_proven, found.undecided) == ("rank_absent", (4,), True, ())
    anomaly = found.finding.first_anomaly
    assert (anomaly.rank, anomaly.op, anomaly.seq) == (4, "all_reduce", 32)


def test_without_time_outs_it_is_a_suspect() -> None:
    found = behind().judge()
    assert (found.kind, found.ranks, found.suspects, found.is_proven) == ("hang", (), (4,), False)
    assert "single_snapshot" in found.undecided


@pytest.mark.parametrize("kind", ["exit", "closing_signal", "job_end", "comm_destroy"])
def test_logs_of_a_job_that_ended_are_uneven(kind: str) -> None:
    job = behind()
    job.events.append({"kind": kind, "rank": 0})
    assert job.find() == ()


def test_ranks_of_a_moving_job_stand_in_many_places() -> None:
    assert behind().issue(0, 33).find() == ()


def test_who_timed_out_itself_is_not_behind() -> None:
    assert behind().timed_out(0, 1, 2, 3, 4).find() == ()


def test_a_shared_log_may_lack_its_end() -> None:
    job = behind()
    for row in job.operations:
        row["file"] = "job.log"
    assert job.find() == ()
    assert job.timed_out(0, 1, 2, 3).find()[0].ranks == (4,)


def test_two_logs_without_their_end() -> None:
    job = behind(7)
    job.operations = [row for row in job.operations if row["pid"] != 101 or row["seq"] < 32]
    assert job.find() == ()


def test_who_timed_out_is_no_suspect_though_its_log_ends_early() -> None:
    job = behind(7).timed_out(0, 1, 2, 3, 4, 5)
    job.operations = [row for row in job.operations if row["pid"] != 101 or row["seq"] < 32]
    (found,) = job.find()
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (6,), ("culprit_among_missing",))


def test_a_cut_line_was_issued() -> None:
    job = behind().timed_out(0, 1, 2, 3)
    cut = {"host": "n", "pid": 104, "comm": None, "seq": 32, "kind": "all_reduce", "file": "4.log", "line": 99}
    job.operations.append(cut)
    (found,) = job.find()
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (4,), ("culprit_among_missing",))


def test_of_two_nobody_is_named() -> None:
    (found,) = behind(2).timed_out(0).find()
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (0, 1), ("two_member_mismatch",))


def test_a_member_without_lines_may_be_the_one() -> None:
    job = Job(5)
    for rank in range(3):
        job.issue(rank, 32)
    (found,) = job.issue(3, 31).timed_out(0, 1, 2).find()
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (3, 4), ("culprit_among_missing",))


def test_who_waits_for_another_is_not_named() -> None:
    job = Job(6, pair=(4, 5))
    for rank in range(4):
        job.issue(rank, 32)
    job.issue(4, 31).issue(4, 8, "pair").issue(5, 31).issue(5, 7, "pair")
    (found,) = job.timed_out(0, 1, 2, 3).find()
    assert (found.ranks, found.cause) == ((5,), "rank_absent")


def test_a_message_may_hold_back_who_is_behind() -> None:
    job = behind().timed_out(0, 1, 2, 3)
    job.groups += [{"group": f"n:{100 + rank}:pp", "comm": "id-pp", "size": 2} for rank in (3, 4)]
    job.issue(3, 2, "pp", is_p2p=True, kind="send").issue(4, 1, "pp", is_p2p=True, kind="recv")
    (found,) = job.find()
    assert (found.ranks, found.undecided) == ((), ("culprit_among_missing",))


def test_the_same_log_twice_changes_nothing() -> None:
    job = behind().timed_out(0, 1, 2, 3)
    job.operations += [row | {"file": "copy.log"} for row in job.operations if row["pid"] == 100]
    assert job.find()[0].ranks == (4,)


def test_silent_where_all_stand_together() -> None:
    assert behind(last=32).timed_out(0, 1, 2, 3).find() == ()


@pytest.mark.parametrize(
    ("odd", "waits", "ranks", "proven"),
    [
        ({"input_sizes": "[[63]]"}, True, (4,), True),
        ({"kind": "broadcast", "root": 0}, True, (4,), True),
        ({"input_dtypes": '["float16"]'}, False, (4,), False),
    ],
    ids=["size", "operation", "type, no time-out"],
)
def test_another_call_under_the_same_number(
    odd: dict[str, Any], waits: bool, ranks: tuple[int, ...], proven: bool
) -> None:
    job = behind(last=-1).issue(4, 32, **odd)
    found = (job.timed_out(0, 1, 2, 3, 4) if waits else job).judge()
    assert (found.cause, found.ranks, found.is_proven) == ("collective_mismatch", ranks, proven)


def test_half_against_half_names_nobody() -> None:
    job = Job(4)
    for rank in range(4):
        job.issue(rank, 32, input_sizes=f"[[{64 + rank // 2}]]")
    (found,) = job.timed_out(0, 1, 2, 3).find()
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (0, 1, 2, 3), ("tied_explanations",))


@pytest.mark.parametrize(
    ("last", "seq", "op"), [(31, 32, "all_gather"), (30, 31, "all_reduce"), (20, 32, "all_gather")]
)
def test_the_call_that_is_named_is_the_first_that_it_has_not_made(last: int, seq: int, op: str) -> None:
    """The others have launched more since, if their lines tell what call that was."""
    job = Job(5)
    for rank in range(4):
        job.issue(rank, 32, kind="all_gather")
    (found,) = job.issue(4, last).find()
    assert (found.first_anomaly.seq, found.first_anomaly.op) == (seq, op)


SCENES: dict[str, Callable[[], Job]] = {
    "one behind": lambda: behind().timed_out(0, 1, 2, 3),
    "no time-out": behind,
    "all together": lambda: behind(last=32).timed_out(0, 1, 2, 3),
    "a moving job": lambda: behind().issue(0, 33),
    "of two": lambda: behind(2).timed_out(0),
    "who waits for another": lambda: (
        Job(4, pair=(2, 3))
        .issue(0, 32)
        .issue(1, 32)
        .issue(2, 31)
        .issue(2, 8, "pair")
        .issue(3, 31)
        .issue(3, 7, "pair")
        .timed_out(0, 1)
    ),
    "another size": lambda: behind(last=-1).issue(4, 32, input_sizes="[[63]]").timed_out(0, 1, 2, 3, 4),
}


@pytest.mark.parametrize("scene", SCENES)
def test_lines_are_counted_where_they_have_no_number(scene: str) -> None:
    """The answer is the same as with numbers."""

    def answer(job: Job) -> list[tuple[Any, ...]]:
        return [(one.cause, one.ranks, one.suspect_ranks, one.undecided) for one in job.find()]

    assert answer(SCENES[scene]().unnumbered()) == answer(SCENES[scene]())


def test_a_count_says_that_it_is_one() -> None:
    (found,) = behind().timed_out(0, 1, 2, 3).unnumbered().find()
    assert any("opCount 0, line 33" in ref.text for claim in found.claims for ref in claim.refs)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda row: {"file": f"{row['file']}.{row['line'] % 2}"} if row["pid"] == 104 else {},
        lambda row: {"is_p2p": True, "kind": "send"} if row["line"] == 3 else {},
    ],
    ids=["the log of a process in two files", "a message among them"],
)
def test_what_cannot_be_counted(spoil: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    job = behind().timed_out(0, 1, 2, 3).unnumbered()
    numbered = [row | {"line": line} for line, row in enumerate(job.operations, 1)]
    job.operations = [row | spoil(row) for row in numbered]
    assert job.find() == ()


def test_a_file_that_lost_lines_is_not_counted() -> None:
    job = behind().timed_out(0, 1, 2, 3).unnumbered()
    lost = [{"file": "4.log", "reason": "9 lines of nccl beyond the limit of 5 rows were not kept"}]
    tables = {"operations": job.operations, "groups": job.groups, "ranks": job.ranks, "unread": lost}
    assert absent.DETECTOR.detect(case(job.events, **tables)) == ()
