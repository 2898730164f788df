"""Starts that never came about, told in words of nobody: whom all others call, who tells an address of its own bridge, who was given another one, and who is
elsewhere while all others come to a barrier."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS, OUT = 6, 4
Say = Callable[[int, int], str]  # who speaks, n-th time → line
CALLS: dict[str, Say] = {
    "a library of sockets": lambda rank, n: (
        f"[Links] [Warning] Connecting to rank {OUT} failed, waiting for {200 + 60 * n} ms"
    ),
    "a mesh": lambda rank, n: f"09:0{n}:10 dial worker {OUT} (h{OUT}:7700): retry",
    "Chinese": lambda rank, n: f"09:0{n}:10 等待 rank {OUT} 的连接",
}
FAILS = "09:00:07 bind 0.0.0.0:7700: address already in use"


def called(
    folder: Path, call: Say, own: list[str], among: frozenset[int] = frozenset(range(RANKS)), *, heads: bool = False
) -> Verdict:
    """`among`: who calls; `heads`: no file's name tells a rank."""
    for rank in range(RANKS):
        lines = [f"== host h{rank} rank {rank} starting" if heads else f"09:00:0{rank} rank {rank} of {RANKS}"]
        lines += (
            [f"09:00:1{rank} connected to rank {peer}" for peer in range(RANKS) if peer not in (rank, OUT)]
            if rank != OUT
            else []
        )
        lines += own if rank == OUT else [call(rank, n) for n in range(1, 5)] if rank in among else []
        (folder / (f"out{60 + rank}.txt" if heads else f"rank{rank}.log")).write_text("\n".join(lines) + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("heads", [False, True])
def test_whom_all_others_call_in_vain_is_named(tmp_path: Path, call: str, heads: bool) -> None:
    found = called(tmp_path, CALLS[call], [FAILS], heads=heads)
    assert (found.kind, found.cause, found.ranks) == ("launch", "missing_ranks", [OUT])


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("own", "among"),
    [
        (["09:00:07 waiting for the others"] * 3, frozenset(range(RANKS))),
        ([FAILS], frozenset({0, 1, 2})),
        (["09:00:08 dial worker 2: retry"] * 4, frozenset(range(RANKS))),
    ],
    ids=["it waits itself", "some call it", "it calls another one"],
)
def test_who_is_called_and_may_be_a_victim_is_not(
    tmp_path: Path, call: str, own: list[str], among: frozenset[int]
) -> None:
    assert called(tmp_path, CALLS[call], own, among).ranks == []


def test_the_first_rank_to_which_all_connect_is_none(tmp_path: Path) -> None:
    for rank in range(RANKS):
        lines = [
            f"09:00:0{rank} rank {rank} of {RANKS}",
            f"09:00:1{rank} connected to rank 0" if rank else "09:00:10 listening",
        ]
        (tmp_path / f"rank{rank}.log").write_text("\n".join([*lines, "09:10:00 nothing came, leaving"]) + "\n")
    found = analyze(tmp_path).verdict
    assert (found.ranks, found.suspects.ranks) == ([], [])


TELLS: dict[str, Callable[[str, int], str]] = {
    "fields": lambda ip, port: f"van.cc:35: Bind to role=worker, ip={ip}, port={port}",
    "an URL": lambda ip, port: f"my endpoint is tcp://{ip}:{port}",
    "Chinese": lambda ip, port: f"本机地址 {ip} 端口 {port}",
}


def announced(
    folder: Path, tell: str, wrong: dict[int, str], refused: str = "Connection refused, will retry"
) -> Verdict:
    for rank in range(RANKS):
        ip = wrong.get(rank, f"10.21.7.{41 + rank}")
        lines = [f"08:00:0{rank} rank {rank} of {RANKS}", f"08:00:1{rank} {TELLS[tell](ip, 43000 + rank)}"]
        lines += [f"08:15:0{rank} E start barrier not passed after 900 s, giving up"] if rank != OUT else []
        (folder / f"rank{rank}.log").write_text("\n".join(lines) + "\n")
    target = wrong.get(OUT, "10.21.7.45")
    (folder / "scheduler.log").write_text(f"08:00:30 zmq: connect tcp://{target}:{43000 + OUT}: {refused}\n" * 3)
    return analyze(folder).verdict


@pytest.mark.parametrize("tell", TELLS)
@pytest.mark.parametrize("address", ["172.17.0.1", "127.0.0.1"])
def test_who_tells_the_address_of_a_bridge_and_is_not_reached(tmp_path: Path, tell: str, address: str) -> None:
    found = announced(tmp_path, tell, {OUT: address})
    assert (found.kind, found.cause, found.ranks) == ("launch", "wrong_interface", [OUT])


@pytest.mark.parametrize("tell", TELLS)
def test_an_address_that_others_do_reach_or_all_have_is_not_the_wrong_one(tmp_path: Path, tell: str) -> None:
    for number, (wrong, said) in enumerate(
        [({}, "Connection refused"), (dict.fromkeys(range(RANKS), "172.17.0.1"), "Connection refused")]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert announced(folder, tell, wrong, said).cause != "wrong_interface"
    (tmp_path / "reached").mkdir()
    assert announced(tmp_path / "reached", tell, {OUT: "172.17.0.1"}, "connected").ranks in ([], [OUT])


def store(folder: Path, tried: str, reached: str) -> Verdict:
    """Five came to a store that counts them, and one did not."""
    for rank in range(RANKS):
        target = tried if rank == OUT else reached
        lines = [f"[rank{rank}]: 09:00:0{rank} coordinator={target} world={RANKS}"]
        if rank == OUT:
            host, port = tried.split(":")
            lines += [
                f"[rank{rank}]: torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to ({host}, {port})."
            ]
        elif rank == 0:
            lines += [
                f"[rank{rank}]: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. {RANKS - 1}/{RANKS} clients joined."
            ]
        else:
            lines += [f"[rank{rank}]: torch.distributed.DistNetworkError: failed to recv, got 0 bytes"]
        (folder / f"rank{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize(
    ("tried", "reached", "cause"),
    [
        ("10.9.0.11:29500", "10.9.0.11:29500", "network_fault"),
        ("10.9.0.11:29501", "10.9.0.11:29500", "config_drift"),
        ("10.9.0.12:29500", "10.9.0.11:29500", "config_drift"),
    ],
)
def test_what_others_print_tells_whether_an_address_is_the_wrong_one(
    tmp_path: Path, tried: str, reached: str, cause: str
) -> None:
    found = store(tmp_path, tried, reached)
    assert (found.kind, found.cause, found.ranks) == ("launch", cause, [OUT])


def resharding(folder: Path, own: list[str], *, trained: bool = True) -> Verdict:
    for rank in range(RANKS):
        lines = [f"2026-02-01T10:00:0{rank} rank={rank} world_size={RANKS} start"]
        lines += (
            [f"2026-02-01T10:0{n}:00 rank={rank} batch {200 * n} ne 0.8{n}160 qps 3{n}295" for n in range(1, 6)]
            if trained
            else []
        )
        waits = f"Waiting in store based barrier to initialize process group for rank: {rank}, key: store_based_barrier_key:2 (world_size={RANKS}, num_workers_joined={RANKS - 1}, timeout=0:30:00)"
        ends = f"torch.distributed.DistStoreError: Timed out initializing process group in store based barrier on rank {rank}, for key: store_based_barrier_key:2 (world_size={RANKS}, num_workers_joined={RANKS - 1}, timeout=0:30:00)"
        lines += own if rank == OUT else [f"2026-02-01T10:{n}:30 rank={rank} {waits}" for n in (10, 20, 30)] + [ends]
        (folder / f"rank{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder).verdict


def test_who_is_elsewhere_while_all_others_come_to_a_barrier_of_a_running_job(tmp_path: Path) -> None:
    own = [f"2026-02-01T10:{n}:00 rank={OUT} eval {n}/400 ne 0.83{n}" for n in range(10, 40, 5)]
    found = resharding(tmp_path, own)
    assert (found.kind, found.cause, found.ranks) == ("hang", "rank_absent", [OUT])


@pytest.mark.parametrize("trained", [False, True])
def test_whose_log_merely_ends_is_suspected(tmp_path: Path, trained: bool) -> None:
    found = resharding(tmp_path, [], trained=trained)
    assert (found.kind, found.ranks, found.suspects.ranks) == ("hang" if trained else "launch", [], [OUT])
