"""How Ray says that a worker process ended."""

from pathlib import Path

import pytest

from parsers import read
from parsers.scheduling.ray import PARSER
from tests.lines import lines
from tests.sources import written

_CAUSES = "Worker unexpectedly exits. Some common causes include: (1) the OOM killer, (2) it crashed due to SIGSEGV."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"A worker died … Worker IP address: 10.0.0.7 Worker port: 37083 Worker PID: 4711 Worker exit type: SYSTEM_ERROR Worker exit detail: {_CAUSES}",
            ("exit", "SYSTEM_ERROR", "error", 4711),
        ),
        (f"The actor is dead. Worker exit type: SYSTEM_ERROR Worker exit detail: {_CAUSES}", ("exit", "SYSTEM_ERROR", "error", None)),
        ("Worker PID: 4711 Worker exit type: INTENDED_SYSTEM_EXIT Worker exit detail: by ray stop", ("exit", "INTENDED_SYSTEM_EXIT", "info", 4711)),
        ("Worker IP address: 10.0.0.7 Worker port: 1 Worker PID: 4711 Worker exit type: SYSTEM_ERROR Worker exit detail: Task was killed due to the "
         "node running low on memory.", ("host_oom", "NODE_OUT_OF_MEMORY", "fatal", 4711)),
        ("Worker PID: 4711 Worker exit type: NODE_OUT_OF_MEMORY Worker exit detail: x", ("host_oom", "NODE_OUT_OF_MEMORY", "fatal", 4711)),
        ("[2026-01-31 10:11:12,5 E 7 7] (raylet) node_manager.cc:3040: 2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers "
         "crashed due to other reasons at node (ID: 0a1b, IP: 10.0.0.7)", ("host_oom", "NODE_OUT_OF_MEMORY", "fatal", None)),
    ],
)  # fmt: skip
def test_an_exit(text: str, expected: tuple[str, str, str, int | None]) -> None:
    assert PARSER.parse(lines(text))["events"].select("kind", "code", "severity", "pid").row(0) == expected


def test_workers_that_crashed_for_other_reasons_were_not_killed_for_memory() -> None:
    text = (
        "0 Workers (tasks / actors) killed due to memory pressure (OOM), 3 Workers crashed due to other reasons at node"
    )
    assert PARSER.parse(lines(text))["events"].height == 0


def test_the_monitor_of_memory_tells_whom_it_kills() -> None:
    text = (
        "[2026-01-31 10:11:12,5 I 7 7] (raylet) worker_killing_policy.cc:71: Memory on the node (IP: 10.0.0.9, ID: 6b0c) where the lease "
        "(lease ID: 81aa, name=3xWorkerDict_0:1:W.run, pid=4711, memory used=61.20GB) was running was 121.03GB / 125.10GB (0.9674), "
        "which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 77)"
    )
    row = PARSER.parse(lines(text, rank=2))["events"].select("kind", "severity", "host", "pid", "rank").row(0)
    assert row == ("host_oom", "fatal", "10.0.0.9", 4711, None)


@pytest.mark.parametrize(
    ("text", "pid"),
    [
        ("node_manager.cc:2865: Killing worker with task 51aa (actor, name=W.run), pid 4711: node running low on memory, used 61.2GB; "
         "Top 2 memory users: 4711 61.2 ray::W | 4712 9.1 ray::W", 4711),
        ("node_manager.cc:2790: Killing task because of memory pressure, pid: 4711, name=W.run", 4711),
        ("node_manager.cc:2790: Killing the worker that ran out of memory first (lease 7, pid=4711)", 4711),
        ("node_manager.cc:2888: Killing worker with task run, worker pid: 4711, kill because node memory usage above threshold", 4711),
        ("node_manager.cc:2790: Killing worker 51aa pid 4711: the job finished", None),
        ("node_manager.cc:2790: Killing idle worker, node has memory left, pid 4711", None),
    ],
)  # fmt: skip
def test_the_raylet_tells_whom_it_kills_for_memory(text: str, pid: int | None) -> None:
    rows = PARSER.parse(lines(f"[2026-01-31 10:11:12,5 I 7 7] (raylet) {text}", rank=2))["events"]
    assert rows.select("kind", "pid", "rank").rows() == ([("host_oom", pid, None)] if pid else [])


def test_where_a_driver_tells_the_address_the_kill_is_of_that_host() -> None:
    text = "Worker IP address: 10.0.0.7 Worker port: 37083 Worker PID: 4711 Worker exit type: NODE_OUT_OF_MEMORY"
    assert PARSER.parse(lines(text, host="driver"))["events"].select("host", "pid").row(0) == ("10.0.0.7", 4711)


@pytest.mark.parametrize("form", ["(Fit pid={pid}, ip={host}) ", "(Tuned Fit pid={pid}, ip={host}) "])
def test_who_introduces_itself_behind_pid_and_host_does_not_name_the_host(tmp_path: Path, form: str) -> None:
    """Rank 0 is on the driver's host at first, which Ray names nowhere, and after a restart on the other one."""
    lines: list[str] = []
    for driver, first in ((70, 880), (71, 940)):
        hosts = ("10.7.0.4", "10.7.0.5")[:: 1 if first == 880 else -1]
        seats = [(hosts[at // 2], first + 3 * at) for at in range(4)]
        heads = [form.format(host=host, pid=pid).replace(", ip=10.7.0.4", "") for host, pid in seats]
        lines.append(f"{heads[0]}Setting up process group for: env:// [rank=0, world_size=4]")
        lines.append(f"(Driver pid={driver}) Started distributed worker processes: ")
        lines += [
            f"(Driver pid={driver}) - (node_id=ab{host[-1]}, ip={host}, pid={pid}) world_rank={at}, local_rank={at % 2}, node_rank={at // 2}"
            for at, (host, pid) in enumerate(seats)
        ]
        lines += [f"{head}iter={at} ce={5 - at / 9:.3f}" for at in range(4) for head in heads]
    told = read(written(tmp_path, {"driver.log": lines})).tables["ranks"]
    expected = {(at, first + 3 * at) for first in (880, 940) for at in range(4)}
    assert {*told.select("rank", "pid").drop_nulls().iter_rows()} == expected
