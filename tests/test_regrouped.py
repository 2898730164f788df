"""A roster from before a group was formed anew gives no ranks; one of that same time does."""

from pathlib import Path

import pytest

from forensics import analyze

OWN = 'Traceback (most recent call last):\n  File "/w/reader.py", line 31, in read\n    raise BadShard(name)\nreader.BadShard: shard 7 ends early'
LOST = "RuntimeError: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5"
TORCH = (
    "I0305 09:50:00.100000 71 torch/distributed/elastic/agent/server/api.py:525] [default] Rendezvous complete for workers. Result:\n"
    "  restart_count=2\n  group_rank=0\n  group_world_size=2\n  local_ranks=[0, 1]\n  global_ranks=[0, 1]\n  global_world_sizes=[4, 4]\n"
)
HOROVOD = "[1]<stderr>: HostsUpdatedInterrupt: hosts were added, resetting the job\n"
OWN_AGENT = "agent: gang formed, generation 3, node rank 0 of 2\n"
STATIC = "rdzv_backend     : static\n"


def node(place: dict[int, bool]) -> str:
    """The log of a node: two processes, each behind its local rank; the marked one fails."""
    lines = [f"[default{at}]:10:00:{second:02} fit it {second} nll 2.1" for second in range(6) for at in place]
    for at, fails in place.items():
        lines += [f"[default{at}]:{line}" for line in (OWN if fails else LOST).split("\n")]
    return "\n".join(lines) + "\n"


def roster(column: str = "", cell: str = "") -> str:
    rows = [("oak", 0, 0), ("oak", 1, 1), ("elm", 0, 2), ("elm", 1, 3)]
    head = f"host,local_rank,rank,world_size{column}\n"
    return head + "".join(f"{host},{local},{rank},4{cell}\n" for host, local, rank in rows)


@pytest.mark.parametrize(
    ("before", "table", "ranks"),
    [
        ("", roster(), [3]),
        (TORCH, roster(), []),
        (HOROVOD, roster(), []),
        (OWN_AGENT, roster(), []),
        (TORCH, roster(",restart_count", ",2"), [3]),
        (TORCH, roster(",restart_count", ",1"), []),
        (STATIC + TORCH, roster(), [3]),
    ],
    ids=["once", "torchrun", "Horovod", "another agent", "of that time", "of the time before", "static"],
)
def test_a_roster_tells_ranks_until_they_are_given_anew(
    tmp_path: Path, before: str, table: str, ranks: list[int]
) -> None:
    (tmp_path / "roster.csv").write_text(table)
    (tmp_path / "oak.log").write_text(before + node({0: False, 1: False}))
    (tmp_path / "elm.log").write_text(node({0: False, 1: True}))
    assert analyze(tmp_path).verdict.ranks == ranks


def test_what_one_node_says_of_its_local_ranks_holds_of_no_other_node(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(TORCH + node({0: False, 1: False}))
    (tmp_path / "b.log").write_text(node({0: False, 1: True}))
    assert analyze(tmp_path).verdict.ranks == []
