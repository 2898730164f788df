"""The one rank that gave up in nothing while all others of the job did: stopped by a signal, or blocked as its kernel says; and hosts and
pods whose silence somebody else explains."""

from typing import Any

import pytest

from forensics.assemble.who.blocked_threads import with_blocked_threads
from forensics.assemble.who.identity import identify
from forensics.detectors import DETECTORS
from forensics.detectors.hardware.node_failure import DETECTOR as NODE_FAILURE
from forensics.detectors.ranks.lost_heartbeat import DETECTOR as LOST_HEARTBEAT
from forensics.detectors.ranks.silent_member import DETECTOR as SILENT
from parsers.kernel import habanalabs
from parsers.logs import failures
from tests.lines import lines
from tests.log_cases import case, judged

WORLD = [{"rank": rank, "world_size": 8, "how": "start line", "host": f"n{rank // 4}", "pid": 400 + rank} for rank in range(8)]  # fmt: skip
STOPPED = [{"function": "State: T (stopped)", "file": None, "line": None}]
Rows = list[dict[str, Any]]


def waits(*silent: int) -> Rows:
    """Time-outs in calls of several groups, whose members nobody lists."""
    return [
        {"kind": "collective_timeout", "rank": rank, "group": f"g{rank % 3}", "op": "all_reduce", "seq": 7 + rank % 2}
        for rank in range(8)
        if rank not in silent
    ]


def states(**told: str) -> Rows:
    """What a tool for processes shows of the ranks of one host: `_5="stopped"`."""
    found = {rank: told.get(f"_{rank}", "running") for rank in range(4, 8)}
    return [
        {"rank": rank, "pid": 400 + rank, "thread": str(400 + rank), "is_main": True, "status": state, "snapshot": 0,
         "frames": STOPPED if state == "stopped" else [], "source": "ps"}
        for rank, state in found.items()
    ]  # fmt: skip


def test_the_rank_that_a_signal_has_stopped() -> None:
    [found] = SILENT.detect(case(waits(5), ranks=WORLD, stacks=states(_5="stopped")))
    assert (found.cause, found.ranks, found.site) == ("rank_absent", (5,), "unresponsive")


@pytest.mark.parametrize(
    ("silent", "told"),
    [
        ((5,), {"_5": "tracing stop"}),
        ((5,), {"_5": "sleeping"}),
        ((5,), dict.fromkeys(("_4", "_5", "_6", "_7"), "stopped")),
        ((2, 5), {"_5": "stopped"}),
        ((5,), {"_6": "stopped"}),
    ],
    ids=["a debugger looks at it", "it sleeps", "all were stopped", "another is silent, too", "another is stopped"],
)
def test_what_names_nobody(silent: tuple[int, ...], told: dict[str, str]) -> None:
    [found] = SILENT.detect(case(waits(*silent), ranks=WORLD, stacks=states(**told)))
    assert found.ranks == ()


def thread(rank: int, number: int) -> dict[str, Any]:
    frames = [{"function": "read", "file": "/job/stream.py", "line": 4}]
    return {"rank": rank, "pid": 400 + rank, "thread": str(number), "is_main": False, "frames": frames, "source": "py-spy"}  # fmt: skip


BLOCKED = {"kind": "hung_task", "pid": 4990, "host": "n1", "text": "task python:4990 blocked", "detail": '{"task": "python"}'}  # fmt: skip


def test_a_thread_that_the_kernel_calls_blocked_is_its_ranks() -> None:
    [found] = SILENT.detect(case([*waits(5), BLOCKED], ranks=WORLD, stacks=[thread(5, 4990), thread(6, 4991)]))
    assert (found.cause, found.ranks, found.hosts) == ("rank_absent", (5,), ("n1",))


@pytest.mark.parametrize(
    "stacks",
    [[thread(5, 4990), thread(6, 4990)], [thread(6, 4990)], [thread(1, 4990)], []],
    ids=["two ranks have that number", "of a rank that waited", "of a rank on another host", "nobody's"],
)
def test_a_blocked_thread_of_somebody_else_names_nobody(stacks: Rows) -> None:
    [found] = SILENT.detect(case([*waits(5), BLOCKED], ranks=WORLD, stacks=stacks))
    assert found.ranks == ()


def test_numbers_of_threads_are_one_hosts() -> None:
    told = case([BLOCKED | {"host": "n0"}], ranks=WORLD, stacks=[thread(5, 4990)])
    assert with_blocked_threads(told.tables, identify(told.tables))["events"]["rank"].to_list() == [None]


def again(rank: int, times: int = 2) -> Rows:
    """A kernel's complaints of the process of a rank."""
    place = {"host": f"n{rank // 4}", "pid": 400 + rank, "file": f"n{rank // 4}.dmesg"}
    return [
        {"kind": "hung_task", "text": f"task python:{400 + rank} blocked", "line": 9 * at, **place}
        for at in range(1, times + 1)
    ]


def alike(*silent: int) -> Rows:
    return [
        {"kind": "collective_timeout", "rank": rank, "op": "all_reduce", "seq": 7}
        for rank in range(8)
        if rank not in silent
    ]


STOPS: dict[str, Rows] = {
    "srun": [{"kind": "scheduler", "code": "terminating", "severity": "info"}],
    "a launcher": [{"kind": "closing_signal", "code": "SIGTERM", "severity": "info", "pid": 401, "host": "n0"}],
    "a person": [{"kind": "scheduler", "code": "cancelled", "severity": "error"}],
}


@pytest.mark.parametrize("stop", STOPS)
def test_of_several_that_had_no_time_to_give_up_the_one_that_its_kernel_complained_of(stop: str) -> None:
    [found] = SILENT.detect(case([*alike(1, 5, 6), *again(5), *STOPS[stop]], ranks=WORLD))
    assert (found.cause, found.ranks, found.hosts) == ("rank_absent", (5,), ("n1",))


@pytest.mark.parametrize(
    "told",
    [
        [*alike(1, 5, 6), *again(5)],
        [*alike(1, 5, 6), *again(5, times=1), *STOPS["srun"]],
        [*alike(1, 5, 6), *again(5), *again(6), *STOPS["srun"]],
        [*alike(1, 5, 6), *again(4), *STOPS["srun"]],
        [*alike(0, 1, 2, 5, 6), *again(5), *STOPS["srun"]],
    ],
    ids=["nothing stopped the others", "once", "two are blocked", "it gave up itself", "most are silent"],
)
def test_of_several_silent_nobody_is_named(told: Rows) -> None:
    [found] = SILENT.detect(case(told, ranks=WORLD))
    assert found.ranks == ()


DOWN = "error: Nodes n1 not responding, setting DOWN"
CLOSED = [{"kind": "peer_closed", "rank": rank, "names_hosts": ["n1"]} for rank in range(4)]


def told_down(text: str) -> Rows:
    rows = failures.parse(lines(text, file="slurmctld.log"))["events"].to_dicts()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


@pytest.mark.parametrize("text", [DOWN, "error: Nodes n[1,7] not responding, setting DOWN"])
def test_a_node_that_a_controller_takes_down_explains_its_ranks(text: str) -> None:
    found = judged(case([*told_down(text), *CLOSED], ranks=WORLD), *DETECTORS)
    assert (found.cause, found.hosts, found.ranks) == ("rank_died", ("n1",), ())


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("error: Nodes n1 not responding", []),
        ("error: Nodes n9 not responding, setting DOWN", []),
        (DOWN, [{"kind": "collective_timeout", "rank": 6, "seq": 7}]),
    ],
    ids=["it may come back", "another job's", "a rank there waited on"],
)
def test_a_node_that_may_be_well_is_not_named(text: str, more: Rows) -> None:
    assert NODE_FAILURE.detect(case([*told_down(text), *CLOSED, *more], ranks=WORLD)) == ()


MISSED = {"kind": "heartbeat_lost", "rank": 0, "names_ranks": [6], "names_rank_space": "global"}
PODS = [{"rank": rank, "world_size": 8, "how": "start line", "host": f"w-{rank}"} for rank in range(8)]


def put(pod: str, node: str) -> dict[str, Any]:
    return {"kind": "scheduler", "code": "Scheduled", "severity": "info", "detail": f'{{"object": "pod/{pod}", "node": "{node}"}}'}  # fmt: skip


def taken(what: str, name: str) -> dict[str, Any]:
    host = {"host": name, "names_hosts": [name]} if what == "node" else {}
    return {"kind": "scheduler", "code": "preemption", "detail": f'{{"object": "{what}/{name}"}}', **host}


@pytest.mark.parametrize("event", [taken("node", "spot-a"), taken("pod", "w-6")])
def test_who_is_taken_away_is_missed_for_that(event: dict[str, Any]) -> None:
    told = [put("w-6", "spot-a"), put("w-5", "spot-b"), event, MISSED]
    assert LOST_HEARTBEAT.detect(case(told, ranks=PODS)) == ()
    found = judged(case(told, ranks=PODS), *DETECTORS)
    assert (found.cause, found.ranks) == ("preempted", ())


@pytest.mark.parametrize("event", [taken("node", "spot-b"), taken("pod", "w-5"), taken("node", "spot-z")])
def test_who_is_missed_while_another_is_taken_away_stays_a_suspect(event: dict[str, Any]) -> None:
    told = [put("w-6", "spot-a"), put("w-5", "spot-b"), event, MISSED]
    [found] = LOST_HEARTBEAT.detect(case(told, ranks=PODS))
    assert found.suspect_ranks == (6,)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31 10:11:12,000 ERROR watchdog | call seq=41 op=ALLREDUCE has not completed after 900 s",
        "2026-01-31 10:11:12,000 ERROR ring: all-gather not finished within 20 minutes",
        "2026-01-31 10:11:12,000 [3] ERROR [comm] broadcast comm 0 not completed for 600 sec, waiting for remote ranks",
    ],
)
def test_a_call_that_is_not_done_after_a_time_was_waited_for(text: str) -> None:
    [row] = failures.parse(lines(text))["events"].to_dicts()
    assert row["kind"] == "collective_timeout"
    assert row["op"] in ("all_reduce", "all_gather", "broadcast")


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31 10:11:12,000 INFO watchdog | all_reduce has not completed after 90 s",
        "2026-01-31 10:11:12,000 ERROR upload not completed after 900 s",
        "2026-01-31 10:11:12,000 ERROR all_reduce not completed",
    ],
    ids=["no error", "no call among ranks", "no time"],
)
def test_what_is_not_done_and_no_wait_for_ranks(text: str) -> None:
    assert "collective_timeout" not in failures.parse(lines(text))["events"]["kind"].to_list()


def test_a_device_that_its_driver_has_lost_is_its_ranks() -> None:
    text = "habanalabs hl5: device heartbeat failed!\nhabanalabs hl5: Going to reset device\nhabanalabs 0000:34:00.0: Failed to reset! Device is NOT usable !"  # fmt: skip
    rows = habanalabs.parse(lines(text, file="dmesg.txt"))["events"].to_dicts()
    assert [(row["kind"], row["device_index"], row["pci"]) for row in rows] == [
        ("gpu_lost", 5, None),
        ("gpu_error", 5, None),
        ("gpu_lost", None, "0000:34:00.0"),
    ]
    here = [row | {"host": "n0", "device_index": row["rank"]} for row in WORLD]
    told = [{name: value for name, value in row.items() if value is not None} for row in rows[:2]]
    found = judged(case([*told, *waits(5)], ranks=here), *DETECTORS)
    assert (found.cause, found.ranks) == ("gpu_fault", (5,))
    two = [row | {"device_index": row["rank"]} for row in WORLD]  # on which of two hosts the driver spoke is not told
    assert judged(case([*told, *waits(5)], ranks=two), *DETECTORS).ranks == ()


def test_a_driver_that_loads_is_no_record() -> None:
    assert habanalabs.parse(lines("habanalabs hl5: Successfully loaded firmware to device"))["events"].is_empty()
