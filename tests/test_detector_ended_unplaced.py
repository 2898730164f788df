"""Failures in lines without a rank: the cause is known, nobody is named by a local rank."""

import json
from typing import Any

import pytest

from forensics.case import Case
from forensics.detectors import DETECTORS
from forensics.detectors.ranks.ended_unplaced import ended_unplaced
from forensics.detectors.ranks.process_ended import DETECTOR
from tests.log_cases import case, judged

_DIED_NS = 1_780_000_000 * 10**9


@pytest.mark.parametrize(
    ("row", "cause", "hosts"),
    [
        ({"kind": "gpu_oom", "host": "n1"}, "gpu_oom", ("n1",)),
        ({"kind": "disk_full", "code": "shm"}, "disk_full", ()),
        ({"kind": "cuda_error", "code": "unknown error", "local_rank": 3}, "exception", ()),
        ({"kind": "cuda_error", "code": "uncorrectable ECC error encountered"}, "gpu_fault", ()),
        (
            {"kind": "gpu_error", "severity": "fatal", "code": "hsa:hw_exception", "detail": '{"library": "ROCr"}'},
            "gpu_fault",
            (),
        ),
        ({"kind": "exception", "code": "ValueError"}, "exception", ()),
        ({"kind": "host_oom", "severity": "fatal", "host": "n1"}, "host_oom", ("n1",)),
    ],
    ids=[
        "device memory",
        "shared memory",
        "unknown error",
        "ECC",
        "the runtime's own word",
        "exception",
        "host memory",
    ],
)
def test_cause(row: dict[str, Any], cause: str, hosts: tuple[str, ...]) -> None:
    found = judged(case([row]), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.hosts) == ("crash", cause, (), hosts)


def test_the_gravest_cause_counts() -> None:
    rows = [{"kind": "cuda_error", "code": "uncorrectable ECC error encountered"}, {"kind": "gpu_oom"}]
    (found,) = ended_unplaced(case(rows))
    assert found.cause == "gpu_fault"


@pytest.mark.parametrize(
    "rows",
    [
        [{"kind": "exception", "code": "RuntimeError", "detail": '{"consequence": true}'}],
        [{"kind": "exception", "code": None}],
        [{"kind": "exception", "code": "E", "line": 1}, {"kind": "store_timeout", "line": 1}],
        [{"kind": "exception", "code": "E", "text": "same"}, {"kind": "remote_error", "text": "same"}],
        [{"kind": "disk_full", "severity": "warning"}],
        [{"kind": "host_oom", "host": "n99"}, {"kind": "job_start", "host": "n1"}],
        [{"kind": "gpu_oom"}, {"kind": "exception", "code": "ValueError", "rank": 3}],
    ],
    ids=["consequence", "cut", "same line", "same text", "warning", "foreign host", "a rank died"],
)
def test_what_is_no_failure_of_its_own(rows: list[dict[str, Any]]) -> None:
    assert ended_unplaced(case(rows)) == ()


@pytest.mark.parametrize(("killed", "named"), [([3], (3,)), ([2, 3], ())], ids=["one killed", "two killed"])
def test_the_kernel_and_the_launcher_agree(killed: list[int], named: tuple[int, ...]) -> None:
    ranks = [{"rank": rank, "host": f"n{rank // 2}"} for rank in range(4)]
    exits = [{"kind": "exit", "code": "-9", "rank": rank} for rank in killed]
    whole = case([{"kind": "host_oom", "severity": "fatal", "host": "n1"}, *exits], ranks=ranks)
    assert tuple(rank for one in ended_unplaced(whole) for rank in one.ranks) == named
    if named:
        assert judged(whole, *DETECTORS).observers == ("the kernel", "the launcher")


@pytest.mark.parametrize(
    ("kill", "named"),
    [
        ({"time_basis": "boot", "time_ns": 900 * 10**9}, ()),
        ({"time_basis": "boot", "time_ns": 900 * 10**9, "pid": 41}, (3,)),
        ({"time_basis": "boot", "time_ns": 900 * 10**9, "detail": '{"task_memcg": "/kubepods.slice/pod1/c2"}'}, (3,)),
        ({"time_basis": "boot", "time_ns": 900 * 10**9, "detail": '{"task_memcg": "/slurm/uid_7/job_12/step_0"}'}, ()),
        ({"time_basis": "local", "time_ns": _DIED_NS - 10**9}, (3,)),
        ({"time_basis": "local", "time_ns": _DIED_NS - 3600 * 10**9}, ()),
        ({}, ()),
    ],
    ids=["since boot", "its number", "of a container", "of another job", "just before", "an hour before", "no stamp"],
)
def test_an_old_kill_of_another_process_is_not_that_of_the_rank_that_a_signal_ended(
    kill: dict[str, Any], named: tuple[int, ...]
) -> None:
    ranks = [{"rank": 2, "host": "n1"}, {"rank": 3, "host": "n1", "pid": 41}]
    ended = {"kind": "exit", "code": "-9", "rank": 3, "time_basis": "local", "time_ns": _DIED_NS}
    killed = {"kind": "host_oom", "severity": "fatal", "host": "n1", "pid": 77, **kill}
    whole = case([killed, ended], ranks=ranks)
    found = judged(whole, *DETECTORS)
    assert (found.cause, found.ranks) == ("host_oom" if named else "killed", (3,))


def test_the_task_stands_in_the_text_where_its_rank_is_unknown() -> None:
    failed = {"kind": "exception", "code": "KeyError", "text": "KeyError: 5", "detail": '{"frames": [], "task": 5}'}
    [found] = ended_unplaced(case([failed]))
    assert found.ranks == () and found.summary.startswith("Task 5 of the launcher")


def _killed_on_n1(program: str, others: list[dict[str, Any]] = (), pid: int = 77) -> Case:  # type: ignore[assignment]
    """Four ranks on two hosts, pids 100 to 103; the kernel of n1 killed a process."""
    ranks = [{"rank": rank, "host": f"n{rank // 2}", "pid": 100 + rank} for rank in range(4)]
    row = {"kind": "host_oom", "severity": "fatal", "host": "n1", "pid": pid, "detail": json.dumps({"task": program})}
    return case([row, *others], ranks=ranks)


@pytest.mark.parametrize("program", ["node_exporter", "pt_data_worker", "python3"])
def test_the_kernel_ended_a_process_that_is_no_rank_whatever_its_name(program: str) -> None:
    assert ended_unplaced(_killed_on_n1(program)) == ()


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_line_that_opens_a_kernels_report_names_whom_memory_failed_and_the_one_that_ends_it_who_was_killed(
    is_whole: bool,
) -> None:
    kernel = {"kind": "host_oom", "host": "n1", "file": "dmesg.txt"}
    opens = {**kernel, "severity": "warning", "code": "invoked", "line": 7}
    ends = {**kernel, "severity": "fatal", "pid": 77, "line": 9}
    ranks = [{"rank": rank, "host": "n1", "pid": 100 + rank} for rank in range(4)]
    found = ended_unplaced(case([opens, ends] if is_whole else [opens], ranks=ranks))
    assert [one.cause for one in found] == ([] if is_whole else ["host_oom"])


def test_the_kernel_ended_another_process_than_the_rank_of_that_host_that_ended_by_a_signal() -> None:
    """A container may count its processes anew: whether it was the rank cannot be told."""
    killed = {"kind": "exit", "code": "-9", "rank": 2}
    assert ended_unplaced(_killed_on_n1("python3", [killed])) == ()


def test_the_kernel_ended_a_process_of_another_time() -> None:
    day = 86_400 * 10**9
    at = {"time_basis": "local"}
    failed = {"kind": "exception", "code": "KeyError", "rank": None, "time_ns": 100 * day, **at}
    killed = {"kind": "segfault", "host": "n1", "severity": "fatal", **at}
    assert [one.cause for one in ended_unplaced(case([killed | {"time_ns": 93 * day}, failed]))] == ["exception"]
    assert [one.cause for one in ended_unplaced(case([killed | {"time_ns": 100 * day}, failed]))] == ["segfault"]


def test_another_program_where_no_pid_is_known() -> None:
    """Whose process it was cannot be looked up: time and place are all there is."""

    def ended(program: str, *others: dict[str, Any]) -> bool:
        row = {"kind": "segfault", "severity": "fatal", "host": "n1", "pid": 7, "detail": json.dumps({"task": program})}
        return bool(ended_unplaced(case([row, *others], ranks=[{"rank": rank, "host": "n1"} for rank in (0, 1)])))

    assert ended("sidecar") and ended("my_trainer")
    assert ended("python3.11", {"kind": "job_end", "rank": 0, "severity": "info"})
    assert not ended("python3.11", *({"kind": "job_end", "rank": rank, "severity": "info"} for rank in (0, 1)))


def test_nobody_was_killed_on_a_host_of_nobody_where_every_rank_left_a_dump() -> None:
    row = {"kind": "host_oom", "severity": "fatal", "host": "n99", "pid": 7, "detail": json.dumps({"task": "python3"})}
    dumps = [{"rank": rank, "record": 1, "file": f"fr/{rank}.json", "state": "scheduled"} for rank in range(4)]
    assert ended_unplaced(case([row], expected=4, operations=dumps[:3]))
    assert not ended_unplaced(case([row], expected=4, operations=dumps))


def test_an_exception_beside_the_time_outs_of_most_ranks_may_follow_them() -> None:
    raised = {"kind": "exception", "code": "AttributeError"}
    waits = [{"kind": "collective_timeout", "rank": rank, "seq": 5} for rank in range(4)]
    found = judged(case([raised, *waits[:3]], expected=4), DETECTOR)
    assert (found.is_proven, found.undecided) == (False, ("conflicting_evidence",))
    assert judged(case([raised, *waits[:2]], expected=4), DETECTOR).undecided == ("membership_unknown",)
    early = {"time_ns": 10**18, "time_basis": "utc"}
    late = [{**row, "time_ns": 10**18 + 5 * 10**9, "time_basis": "utc", "value": 4000.0} for row in waits[:3]]
    assert judged(case([raised | early, *late], expected=4), DETECTOR).undecided == ("membership_unknown",)


def test_the_limit_of_the_jobs_own_step_is_why_processes_of_unknown_rank_were_killed() -> None:
    """A kernel of some host says so of whatever program: that explains no end of a process that it does not name."""
    killed = {"kind": "exit", "code": "SIGKILL", "pid": 4711}
    step = {"kind": "host_oom", "code": "cgroup", "severity": "fatal"}
    verdict = judged(case([killed, step]), *DETECTORS)
    assert (verdict.finding.cause, verdict.finding.ranks) == ("host_oom", ())
    assert judged(case([killed, {**step, "code": None, "host": "n7", "pid": 99}]), *DETECTORS).finding.cause == "killed"


@pytest.mark.parametrize(("program", "count"), [("redis-server", 0), ("python3", 1), ("pt_main_thread", 1)])
def test_a_kernel_that_killed_another_program_than_the_job_runs_ended_none_of_it(program: str, count: int) -> None:
    row = {"kind": "host_oom", "severity": "fatal", "host": "n1", "pid": 777, "detail": json.dumps({"task": program})}
    stack = {"source": "py-spy", "pid": 9, "count": 1, "frames": [{"function": "sync", "file": "fit.py", "line": 3}]}
    assert len(ended_unplaced(case([row], stacks=[stack]))) == count
