"""Ends of processes as launchers of all kinds tell them, and of whom they are."""

from pathlib import Path
from typing import Any

import pytest

from forensics.analyze import analyze
from parsers.logs.failures import PARSER
from tests.lines import lines
from tests.log_cases import case


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("process 3: exit status -9", ("SIGKILL", None, None)),
        ("process 3 (pid 4711): exit status 0", ("0", None, 4711)),
        ("rank 3 (node7) returned -9", ("SIGKILL", 3, None)),
        ("[launch] rank 3 exited with status -11", ("SIGSEGV", 3, None)),
        ("system       | trainer.1 stopped (rc=-9)", ("SIGKILL", None, None)),
        ("worker.1 stopped (rc=-9)", ("SIGKILL", None, None)),
        ("INFO exited: rank3 (terminated by SIGKILL; not expected)", ("SIGKILL", 3, None)),
        ("INFO exited: rank3 (exit status 1; not expected)", ("1", 3, None)),
        ("INFO exited: rank3 (terminated by SIGABRT (core dumped); not expected)", ("SIGABRT", 3, None)),
        ("INFO stopped: rank3 (terminated by SIGKILL)", None),  # supervisord was asked to stop it
        ("WARN stopped: job:rank3 (exit status 1)", None),
        ("train@3.service: Main process exited, code=killed, status=9/KILL", ("SIGKILL", None, None)),
        ("train@3.service: Main process exited, code=exited, status=1/FAILURE", ("1", None, None)),
        ("worker-3 exited with code 137", ("137", None, None)),
        ("trainer 2 returned 2", None),
        ("task 2: unable to get exit = 3", None),  # what failed to tell has a code of its own
        ("worker 3: could not read the exit code: 2", None),
        ("worker 3: could not write, exit code: 2", ("2", None, None)),
        ("rank 2 returned 2", None),
        ("rank 2 returned a loss of -9", None),
        ("DataLoader worker exited with code 0", None),
        (
            "Worker tcp://10.0.0.5:40331 (pid=4711) exceeded 95% memory budget. Restarting...",
            ("Out Of Memory", None, 4711),
        ),
        (
            "distributed.nanny - WARNING - Worker (pid=4711) exceeded 80% memory budget. Restarting",
            ("Out Of Memory", None, 4711),
        ),
        ("Worker tcp://10.0.0.5:40331 (pid=4711) exceeded 80% memory budget. Pausing", None),
        ("Worker (pid=4711) is at 95% memory usage. Process memory: 3.1 GiB", None),
    ],
)
def test_words(text: str, expected: tuple[Any, ...] | None) -> None:
    found = PARSER.parse(lines(text))["events"].filter(kind="exit").select("code", "rank", "pid").rows()
    assert found == ([expected] if expected else [])
    assert expected is None or any(anchor in text.encode() for anchor in PARSER.anchors), (
        "no such line would come to it"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("system   | sending SIGKILL to rank3.1 (pid 4713)", [("SIGKILL", 3, 4713)]),
        ("sending SIGTERM to trainer.1 (pid 4713)", [("SIGTERM", None, 4713)]),
        ("WARN killing 'rank3' (4713) with SIGKILL", [("SIGKILL", 3, 4713)]),
        ("sending SIGTERM to all processes", [("SIGTERM", None, None)]),
        ("train@3.service: Killing process 4713 (python) with signal SIGKILL.", [("SIGKILL", None, 4713)]),
        ("request to all processes sent", []),
    ],
)
def test_a_launcher_ends_what_still_runs(text: str, expected: list[tuple[Any, ...]]) -> None:
    found = PARSER.parse(lines(text))["events"].filter(kind="closing_signal")
    assert found.select("code", "rank", "pid").rows() == expected


def test_whom_the_launcher_killed_is_no_culprit(tmp_path: Path) -> None:
    said = [f"10:00:00 system | rank{rank}.1 started (pid={4710 + rank})" for rank in range(4)]
    said += [f"10:00:05 rank{rank}.1 | step 1 loss 2.0 rank={rank} world_size=4" for rank in range(4)]
    said += ["10:01:00 system | rank1.1 stopped (rc=1)"]
    said += [f"10:01:00 system | sending SIGTERM to rank{rank}.1 (pid {4710 + rank})" for rank in (0, 2, 3)]
    said += ["10:01:01 system | rank2.1 stopped (rc=-15)", "10:01:01 system | rank0.1 stopped (rc=-15)"]
    said += ["10:01:05 system | sending SIGKILL to rank3.1 (pid 4713)", "10:01:05 system | rank3.1 stopped (rc=-9)"]
    (tmp_path / "honcho.log").write_text("\n".join(said) + "\n")
    assert 3 not in analyze(tmp_path).verdict.ranks


@pytest.mark.parametrize(
    ("asked", "killed", "ended"),
    [
        (
            "system  | sending SIGTERM to all processes",
            "system  | sending SIGKILL to all processes",
            "rank{rank}.1 | terminated by SIGKILL",
        ),
        (
            "[launch] Sending SIGINT to all workers",
            "[launch] Sending SIGKILL to all workers",
            "rank {rank} (node7) returned -9",
        ),
        ("Sending SIGTERM to all ranks", "Sending SIGKILL to all ranks", "[launch] rank {rank} was killed by signal 9"),
        (
            "sending SIGTERM to all children",
            "sending SIGKILL to all children",
            "[launch] rank {rank} exited with status -9",
        ),
        ("sending SIGTERM to all processes", "", "rank{rank}.1 | exited with code 143"),
    ],
    ids=["foreman", "of one's own", "another", "children", "by the request alone"],
)
def test_who_is_killed_with_all_is_no_culprit_and_who_went_before_is(
    tmp_path: Path, asked: str, killed: str, ended: str
) -> None:
    said = [f"rank{rank}.1 | step 1 loss 2.0 rank={rank} world_size=4" for rank in range(4)]
    last = ended.format(rank=1)
    (tmp_path / "after.log").write_text("\n".join([*said, asked, killed, ended.format(rank=3)]) + "\n")
    assert 3 not in analyze(tmp_path).verdict.ranks
    (tmp_path / "after.log").unlink()
    (tmp_path / "before.log").write_text("\n".join([*said, last, asked, killed, ended.format(rank=3)]) + "\n")
    found = analyze(tmp_path).verdict
    assert 3 not in {*found.ranks, *found.suspects.ranks}
    assert not killed or found.ranks == [1]


def ends(codes: dict[int, str], of: str = "process", world: int | None = 4) -> dict[int, str]:
    """Rank → code, of a launcher's list of processes by number, in a job of four."""
    listed = [
        {"kind": "exit", "code": code, "detail": f'{{"number": {number}, "of": "{of}"}}', "file": "exits.txt"}
        for number, code in codes.items()
    ]
    ranks = [{"rank": rank, "pid": 4711 + rank, "world_size": world, "how": "init"} for rank in range(3)]
    return {rank: end.code for rank, end in case(listed, ranks=ranks).ends.items()}


def test_a_list_of_all_processes_tells_ranks() -> None:
    assert ends({0: "SIGABRT", 1: "SIGABRT", 2: "SIGABRT", 3: "SIGKILL"})[3] == "SIGKILL"


@pytest.mark.parametrize(
    ("codes", "world"),
    [
        ({0: "1", 1: "1", 2: "SIGKILL"}, 4),
        ({1: "1", 2: "1", 3: "1", 4: "SIGKILL"}, 4),
        ({0: "1", 1: "1", 2: "1", 3: "SIGKILL", 4: "0"}, 4),
        ({0: "1", 1: "1", 2: "1", 3: "SIGKILL"}, None),
    ],
    ids=["one is not in the list", "counted from one", "more than the job has", "the size of the job is not told"],
)
def test_numbers_of_something_else(codes: dict[int, str], world: int | None) -> None:
    assert ends(codes, world=world) == {}


@pytest.mark.parametrize(("hosts", "named"), [(("w-1", "w-2"), [1]), (("w-2", "w-2"), [])], ids=["alone", "two in it"])
def test_the_end_of_a_container_is_that_of_its_only_rank(hosts: tuple[str, str], named: list[int]) -> None:
    ranks = [{"rank": rank, "host": host, "how": "init"} for rank, host in enumerate(("w-1", *hosts)) if rank]
    ended = {"kind": "exit", "code": "137", "host": hosts[0], "text": f"{hosts[0]} exited with code 137"}
    assert sorted(case([ended], ranks=ranks).ends) == named


def named_ends(*names: str, **columns: Any) -> dict[int, str]:
    """Rank → code, of a table of pods and their nodes, where each rank knows itself by the name of its pod."""
    listed = [
        {"kind": "exit", "code": "137", "host": "node1", "detail": f'{{"name": "{name}"}}', "file": "pods.txt"}
        | columns
        for name in names
    ]
    ranks = [{"rank": rank, "host": f"mlm-{rank}", "world_size": 4, "how": "init"} for rank in range(4)]
    return {rank: end.code for rank, end in case(listed, ranks=ranks).ends.items()}


def test_a_pod_ends_as_the_only_rank_that_runs_in_it() -> None:
    assert named_ends("mlm-2", "redis-0", "mlm") == {2: "SIGKILL"}
    assert named_ends("mlm-2", pid=9) == {}


OUT_OF_MEMORY = {"kind": "host_oom", "code": "OOMKilled", "severity": "fatal", "host": "mlm-1", "file": "pods.txt"}


@pytest.mark.parametrize(
    ("detail", "others", "rank"),
    [
        ('{"containers": 1, "is_earlier": false}', [], 1),
        ('{"containers": 2, "is_earlier": false}', [], None),
        ('{"containers": 1, "is_earlier": true}', [], None),
        ('{"containers": 1, "is_earlier": false}', [{"kind": "remote_error", "rank": 1}], None),
    ],
    ids=["all that runs in the pod", "a sidecar, perhaps", "an earlier run", "it lived and lost others"],
)
def test_a_pod_killed_for_memory(detail: str, others: list[dict[str, Any]], rank: int | None) -> None:
    ranks = [{"rank": rank, "host": f"mlm-{rank}", "world_size": 4, "how": "init"} for rank in range(4)]
    found = case([OUT_OF_MEMORY | {"detail": detail}, *others], ranks=ranks).events.filter(kind="host_oom")
    assert found["rank"].to_list() == [rank]
