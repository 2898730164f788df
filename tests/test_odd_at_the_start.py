"""Who alone does not come to a start that the others reach, and who was given another size of the world."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.detectors.launch.bad_config import DETECTOR
from forensics.model.incident import Verdict
from parsers.comm import cann
from parsers.comm.hccl_faults import OWN_PORT
from tests.lines import lines
from tests.log_cases import case

BARRIER = "DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]Wait_for_all_tasks_to_register::0."
NAMED = "# of tasks that reached the barrier: {came}/4.\nThe first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n"
LOST = (
    "W0504 10:00:15.1 7 coordination_service_agent.cc:310] RegisterTask attempt 1 failed: UNAVAILABLE: DNS resolution failed for head-0.train:1234: C-ares status is not ARES_SUCCESS",
    "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.9:1234: Failed to connect to remote host: Connection refused",
)


def _started(folder: Path, lost: str, late: tuple[int, ...]) -> Verdict:
    for rank in range(4):
        said = (
            f"INFO:absl:JAX process initialization: process_id={rank} num_processes=4 coordinator=head-0.train:1234\n"
        )
        if rank in late:
            said += f"{lost}\n"
        else:
            tasks = "".join(f"/job:jax_worker/replica:0/task:{one}\n" for one in late)
            named = NAMED.format(came=4 - len(late)) + tasks if rank == 0 else ""
            said += f"E0504 10:05:15.1 7 coordination_service.cc:1131] {BARRIER}\n{named}XlaRuntimeError: {BARRIER}\n"
        (folder / f"worker-{rank}.log").write_text(said)
    return analyze(folder).verdict


@pytest.mark.parametrize("lost", LOST, ids=["its name is not resolved", "it refuses"])
def test_who_alone_does_not_reach_the_service_is_named(tmp_path: Path, lost: str) -> None:
    verdict = _started(tmp_path, lost, (3,))
    assert (verdict.kind, verdict.ranks, verdict.hosts) == ("launch", [3], [])
    assert verdict.cause in ("network_fault", "store_timeout", "missing_ranks")


@pytest.mark.parametrize("lost", LOST, ids=["its name is not resolved", "it refuses"])
def test_where_as_many_did_not_nobody_is(tmp_path: Path, lost: str) -> None:
    verdict = _started(tmp_path, lost, (2, 3))
    assert (verdict.ranks, verdict.hosts) == ([], [])


REFUSED = {
    "kind": "config_error",
    "code": "rank_count_mismatch",
    "rank": 0,
    "text": "Bootstrap Root : mismatch in rank count from procs 16 : 12",
}


def _members(sizes: dict[int, int], per_host: int = 4, comm: str = "0x1") -> list[dict[str, Any]]:
    return [
        {
            "kind": "comm_init_start", "rank": rank, "host": f"n{rank // per_host}", "severity": "info",
            "detail": f'{{"comm_id": "{comm}", "group_rank": {rank}, "size": {size}}}',
        }
        for rank, size in sizes.items()
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("odd", "ranks", "hosts"),
    [
        ({8, 9, 10, 11}, (), ("n2",)),
        ({5}, (5,), ()),
        ({4, 5, 6, 7, 12, 13, 14, 15}, (), ()),
        (set(), (), ()),
    ],
    ids=["a host", "one of a host", "half of them", "nobody"],
)
def test_who_was_given_another_size(odd: set[int], ranks: tuple[int, ...], hosts: tuple[str, ...]) -> None:
    events = [REFUSED, *_members({rank: 12 if rank in odd else 16 for rank in range(16)})]
    (found,) = DETECTOR.detect(case(events))
    assert (found.cause, found.ranks, found.hosts) == ("config_drift", ranks, hosts)


def test_sizes_of_several_communicators_are_not_compared() -> None:
    events = [REFUSED, *_members(dict.fromkeys(range(16), 16)), *_members(dict.fromkeys(range(4), 4), comm="0x2")]
    (found,) = DETECTOR.detect(case(events))
    assert (found.ranks, found.hosts) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        "EJ0003: [PID: 4711] 2026-05-04-10:00:43.959.714 Failed to bind the IP port. Reason: The IP address and port have been bound already.",
        "EJ9999: [PID: 4711] 2026-05-04-10:00:43.959.714 listen fail, bind port[60003]: address already in use",
    ],
)
def test_a_port_of_its_own_that_another_process_holds(text: str) -> None:
    row = cann.PARSER.parse(lines(text))["events"].select("kind", "code").row(0)
    assert row == ("config_error", OWN_PORT)


@pytest.mark.parametrize(
    ("held", "ranks"), [([5], (5,)), ([5, 6], (5, 6)), ([0, 1, 2, 3], ())], ids=["one", "two", "half of them"]
)
def test_who_cannot_listen_while_most_could(held: list[int], ranks: tuple[int, ...]) -> None:
    events = [
        {"kind": "config_error", "code": OWN_PORT, "rank": rank, "text": "Failed to bind the IP port"} for rank in held
    ]
    (found,) = DETECTOR.detect(case([*events, *_members(dict.fromkeys(range(8), 8))]))
    assert (found.cause, found.ranks, found.hosts) == ("config_drift", ranks, ())


def _lacks(rank: int | None, text: str = "Bootstrap : no socket interface found") -> dict[str, Any]:
    return {"kind": "config_error", "code": "no_interface", "rank": rank, "text": text}


@pytest.mark.parametrize(
    ("lacking", "began", "ranks"),
    [([3], range(8), (3,)), ([3, 4], range(8), (3, 4)), ([0], range(1), ()), ([0, 1, 2, 3], range(4, 8), ()), ([None], range(8), ())],
    ids=["one", "two", "the first to look", "half of them", "nobody's line"],
)  # fmt: skip
def test_who_finds_no_interface_while_most_found_theirs(
    lacking: list[int | None], began: range, ranks: tuple[int, ...]
) -> None:
    events = [*_members({rank: 8 for rank in began if rank not in lacking}), *map(_lacks, lacking)]
    claims = [{"rank": rank, "world_size": 8} for rank in range(8)]
    (found,) = DETECTOR.detect(case(events, ranks=claims))
    assert (found.cause, found.ranks, found.hosts) == ("wrong_interface", ranks, ())


def test_a_container_that_its_compose_file_gave_another_interface(tmp_path: Path) -> None:
    names = {"left": 2, "mid": 0, "right": 1}
    services = [f"  {name}:\n    environment: {{RANK: '{rank}', WORLD_SIZE: '3'}}" for name, rank in names.items()]
    (tmp_path / "compose.yaml").write_text("services:\n" + "\n".join(services) + "\n")
    heads = {name: f"{name}-1  | {ident}:7:7 [0]" for name, ident in zip(names, ("aa10", "bb11", "cc12"), strict=True)}
    said = [f"{name}-1  | loading the sentences" for name in names]
    said += [f"{heads[name]} NCCL INFO Bootstrap : Using eth1:10.9.0.{at}<0>" for at, name in enumerate(names) if name != "left"]  # fmt: skip
    said += [f"{heads['left']} bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found"]
    (tmp_path / "compose.log").write_text("\n".join(said) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("launch", "wrong_interface", [2])


def _barrier(folder: Path, late: tuple[int, ...], size: int = 5) -> Verdict:
    """PyTorch's own barrier at the store, which whoever waits at it has reached."""
    for rank in range(size):
        said = [f"RANK={rank}", f"WORLD_SIZE={size}", "MASTER_ADDR=head-0", "MASTER_PORT=23456"]
        if rank in late:
            said.append(
                "[E929 08:01:12.7 socket.cpp:1011] [c10d] The client socket has timed out after 1800s while trying to connect to (head-0, 23456)."
            )
        else:
            said.append(
                f"torch.distributed.DistStoreError: Timed out initializing process group in store based barrier on rank {rank}, for key: "
                f"store_based_barrier_key:1 (world_size={size}, num_workers_joined={size - len(late)}, timeout=0:30:00)"
            )
        (folder / f"pod-{rank}.log").write_text("\n".join(said) + "\n")
    return analyze(folder).verdict


def test_who_alone_does_not_reach_the_store_where_others_wait_at_a_barrier_of_it(tmp_path: Path) -> None:
    verdict = _barrier(tmp_path, (3,))
    assert (verdict.kind, verdict.ranks) == ("launch", [3])


def test_where_more_than_those_at_the_barrier_did_not_reach_the_store_nobody_is_named(tmp_path: Path) -> None:
    verdict = _barrier(tmp_path, (1, 2, 3))
    assert (verdict.kind, verdict.ranks) == ("launch", [])
