"""Stops from outside: told as what ended the job, and no rank's fault."""

import json
from typing import Any

import pytest

from forensics.detectors import DETECTORS
from forensics.detectors.ranks.stopped_from_outside import DETECTOR
from tests.log_cases import case, judged


def scheduler(code: str) -> dict[str, Any]:
    return {"kind": "scheduler", "code": code, "severity": "info"}


def interrupted(*ranks: int) -> list[dict[str, Any]]:
    return [{"kind": "exit", "code": "SIGINT", "rank": rank} for rank in ranks]


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        (interrupted(0, 1), "stopped_by_hand"),
        ([scheduler("cancelled")], "stopped_by_hand"),
        ([scheduler("time_limit")], "time_limit"),
        ([scheduler("preemption")], "preempted"),
    ],
    ids=["Ctrl-C", "cancelled", "time limit", "preempted"],
)
def test_who_stopped_it(rows: list[dict[str, Any]], cause: str) -> None:
    found = judged(case(rows), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.suspects) == ("crash", cause, (), ())


def told(code: str) -> dict[str, Any]:
    """The launcher's own line; of a process that it stops it prints the number."""
    return {"kind": "closing_signal", "code": code, "severity": "warning"}


@pytest.mark.parametrize(("code", "doubts"), [("SIGHUP", ()), ("SIGINT", ()), ("SIGTERM", ("tied_explanations",))])
def test_a_launcher_that_was_told_to_stop(code: str, doubts: tuple[str, ...]) -> None:
    found = judged(case([told(code), {**told(code), "pid": 71, "severity": "info"}]), DETECTOR)
    assert (found.kind, found.cause, found.undecided) == ("crash", "stopped_by_hand", doubts)


def test_what_a_launcher_stops_itself_is_no_stop_from_outside() -> None:
    stopped = [{**told("SIGTERM"), "pid": 71, "severity": "info"}, {"kind": "exit", "code": "1", "rank": 0}]
    assert DETECTOR.detect(case(stopped)) == ()


def test_a_job_that_failed_and_was_stopped_then_failed() -> None:
    """The agent of another node is stopped because of it."""
    raised = {"kind": "exception", "code": "KeyError", "text": "KeyError: 'eos'", "rank": 3}
    found = judged(case([raised, told("SIGTERM")]), *DETECTORS)
    assert (found.kind, found.cause, found.ranks) == ("crash", "exception", (3,))


def test_a_job_that_waits_and_is_stopped_hangs() -> None:
    found = judged(case([{"kind": "collective_timeout"}, told("SIGHUP")]), *DETECTORS)
    assert (found.kind, found.cause, found.undecided) == ("hang", None, ("membership_unknown",))


def test_a_stop_explains_no_wait() -> None:
    """Somebody stops a job that hangs: the hang is what has to be explained."""
    waits = [{"kind": "collective_timeout", "rank": rank, "seq": 7} for rank in (0, 1)]
    found = judged(case([*waits, *interrupted(0, 1)]), DETECTOR)
    assert all(symptom.kind != "waiting" for symptom in found.candidate.explained)


def test_silent_where_nobody_stopped_it() -> None:
    assert DETECTOR.detect(case([{"kind": "exit", "code": "1", "rank": 0}])) == ()


@pytest.mark.parametrize(("pod", "found"), [("w1", 1), ("other-3", 0)], ids=["of the job", "of somebody else"])
def test_whose_pod_was_preempted(pod: str, found: int) -> None:
    """Its own pods are told by name: their host names."""
    ranks = [{"rank": rank, "host": f"w{rank}", "how": "init"} for rank in range(3)]
    placed = scheduler("Scheduled") | {"detail": '{"object": "pod/w0", "node": "gn1"}'}
    taken = scheduler("Preempted") | {"detail": f'{{"object": "pod/{pod}"}}'}
    assert len(DETECTOR.detect(case([placed, taken], ranks=ranks))) == found


@pytest.mark.parametrize(("node", "found"), [("gn1", 1), ("gn7", 0)], ids=["of a pod of the job", "of nobody's"])
def test_whose_node_was_taken_away(node: str, found: int) -> None:
    placed = scheduler("Scheduled") | {"detail": '{"object": "pod/w0", "node": "gn1"}'}
    taken = scheduler("preemption") | {"detail": f'{{"object": "node/{node}"}}'}
    assert len(DETECTOR.detect(case([placed, taken]))) == found


S = 1_000_000_000


def of_pod(name: str, *ranks: int, code: str = "Preempted", **more: Any) -> dict[str, Any]:
    """A scheduler's word on a pod, of which other records tell whose it is."""
    row = {"kind": "scheduler", "code": code, "severity": "info", "detail": json.dumps({"object": f"pod/{name}"})}
    return row | {"names_ranks": list(ranks) or None, "names_rank_space": "global", **more}


SEEN = [{"rank": rank, "file": f"{rank}.log", "how": "start line"} for rank in range(6)]
STEPS = [{"rank": 3, "step": step, "time_ns": step * S, "time_basis": "utc", "file": "3.log"} for step in range(9)]


@pytest.mark.parametrize(
    ("rows", "steps", "ranks"),
    [
        pytest.param([of_pod("t-3", 3)], STEPS, (3,), id="of one pod"),
        pytest.param([of_pod("t-1", 2, 3)], [], (2, 3), id="a pod of two"),
        pytest.param([of_pod("t-3", 3), of_pod("t-4", 4, code="Preempting")], [], (3, 4), id="two pods"),
        pytest.param([of_pod("t-3", 3, time_ns=8 * S, time_basis="utc")], STEPS, (3,), id="it ended then"),
        pytest.param([of_pod("t-3", 3, time_ns=2 * S, time_basis="utc")], STEPS, (), id="it went on"),
        pytest.param([of_pod("t-3", 3), of_pod("t-9")], [], (), id="a pod of which nobody tells whose it is"),
        pytest.param([of_pod(f"t-{rank}", rank) for rank in range(3)], [], (), id="half of the job"),
        pytest.param([scheduler("preemption")], [], (), id="the job"),
        pytest.param(
            [of_pod("t-3", 3), {"kind": "gpu_oom", "rank": 1, "file": "1.log"}], [], (), id="another failed by itself"
        ),
    ],
)
def test_the_ranks_of_preempted_pods_are_named(
    rows: list[dict[str, Any]], steps: list[dict[str, Any]], ranks: tuple[int, ...]
) -> None:
    (found,) = DETECTOR.detect(case(rows, ranks=SEEN, steps=steps))
    assert (found.cause, found.ranks) == ("preempted", ranks)


@pytest.mark.parametrize("code", ["node_fail", "node_failure"])
def test_what_a_scheduler_cancels_of_a_job_whose_node_failed_no_person_stopped(code: str) -> None:
    step = scheduler("cancelled") | {"detail": json.dumps({"JobID": "7.1"})}
    assert DETECTOR.detect(case([scheduler(code), step])) == ()
    by_hand = DETECTOR.detect(case([scheduler(code), scheduler("cancelled")]))
    assert [one.cause for one in by_hand] == ["stopped_by_hand"]


@pytest.mark.parametrize(
    ("rows", "hosts"),
    [
        ([scheduler("preemption") | {"names_hosts": ["n1"]}], ("n1",)),
        ([scheduler("preemption") | {"names_hosts": [host]} for host in ("n1", "n2.cluster.local")], ("n1", "n2")),
        ([scheduler("preemption") | {"names_hosts": [f"n{host}"]} for host in range(3)], ()),
        ([scheduler("preemption") | {"names_hosts": ["n1"]}, scheduler("preemption")], ()),
        ([scheduler("time_limit") | {"names_hosts": ["n1"]}], ()),
        ([scheduler("preemption") | {"names_hosts": ["n1"]}, {"kind": "gpu_oom", "rank": 5, "file": "5.log"}], ()),
    ],
    ids=["one node", "two nodes", "all nodes", "the job, too", "a limit of time", "another failed by itself"],
)
def test_the_nodes_that_were_taken_are_named(rows: list[dict[str, Any]], hosts: tuple[str, ...]) -> None:
    ranks = [{"rank": rank, "host": f"n{rank // 2}", "how": "init", "world_size": 6} for rank in range(6)]
    (found,) = DETECTOR.detect(case(rows, ranks=ranks))
    assert (found.ranks, found.hosts) == ((), hosts)


ENDED = {"kind": "segfault", "code": "SIGSEGV", "file": "job.out"}
CANCELLED = scheduler("cancelled") | {"file": "job.out"}


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        ([CANCELLED | {"line": 7}, ENDED | {"line": 9}], "stopped_by_hand"),
        ([CANCELLED | {"line": 7}, ENDED | {"line": 3}], "segfault"),
        ([CANCELLED | {"line": 7, "file": "slurmctld.log"}, ENDED | {"line": 9}], "segfault"),
        ([CANCELLED | {"line": 7}, ENDED | {"line": 3, "pid": 5}, ENDED | {"line": 9, "pid": 4}], "segfault"),
    ],
    ids=["below it", "it failed before", "in another log", "another failed before"],
)
def test_what_ends_below_the_stop_of_its_own_log_follows_from_it(rows: list[dict[str, Any]], cause: str) -> None:
    assert judged(case(rows), *DETECTORS).cause == cause


STEP = CANCELLED | {"detail": json.dumps({"what": "STEP", "job": "4711.0"})}
TERMINATING = scheduler("terminating") | {"file": "job.out"}


@pytest.mark.parametrize(
    ("rows", "causes"),
    [
        ([TERMINATING | {"line": 5}, STEP | {"line": 7}], []),  # for how a task of it had ended
        ([STEP | {"line": 7}, TERMINATING | {"line": 9}], ["stopped_by_hand"]),
        ([TERMINATING | {"line": 5, "file": "other.out"}, STEP | {"line": 7}], ["stopped_by_hand"]),
        ([TERMINATING | {"line": 5}, CANCELLED | {"line": 7}], ["stopped_by_hand"]),  # the whole job
    ],
    ids=["by srun", "srun after it", "another log", "the job"],
)
def test_a_step_that_srun_terminates_itself_is_cancelled_by_nobody(
    rows: list[dict[str, Any]], causes: list[str]
) -> None:
    assert [found.cause for found in DETECTOR.detect(case(rows))] == causes
