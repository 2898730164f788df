"""Where a library refuses because versions differ, the hosts of the minority are named: by what their processes say, and by nothing less."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze

OLD, NEW = "2.16.5", "2.18.6"


def write(folder: Path, versions: Sequence[str | None], library: str = "NCCL", each: int = 2) -> Path:
    """Processes of hosts, each with its version, which is not told where it is None; all of them refuse."""
    lines = []
    for at, version in enumerate(versions):
        for local in range(each):
            rank, head = at * each + local, f"n{at}:81{at}{local}:91{at}{local} [{local}]"
            lines += [f"{head} {library} INFO {library} version {version}"] if version else []
            lines += [
                f"{head} init.cc:1092 {library} WARN Mismatched {library} version detected : rank {rank} 21806 rank 6 20906",
                f"[rank{rank}]: RuntimeError: {library} error: invalid usage (run with {library}_DEBUG=WARN for details)",
            ]
    (folder / "launch.log").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("library", ["NCCL", "MCCL"])
@pytest.mark.parametrize(
    ("versions", "hosts"),
    [
        ((NEW, NEW, NEW, OLD), ["n3"]),
        ((OLD, NEW, OLD, OLD, OLD), ["n1"]),
        ((NEW, OLD, NEW), ["n1"]),
        ((NEW, NEW, OLD, OLD), []),  # half of them
        ((NEW, OLD), []),  # two hosts
        ((NEW, NEW, NEW, NEW), []),  # all alike
        ((NEW, NEW, None, OLD), []),  # one does not say
    ],
)
def test_the_minority_of_hosts_is_named(
    tmp_path: Path, library: str, versions: Sequence[str | None], hosts: list[str]
) -> None:
    verdict = analyze(write(tmp_path, versions, library)).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("launch", "version_mismatch", [], hosts)


@pytest.mark.parametrize(
    ("versions", "ranks", "hosts"),
    [
        ((NEW, NEW, NEW, OLD), [3], ["n3"]),
        ((NEW, NEW, f"{OLD}+cuda11.8", NEW), [2], ["n2"]),
        ((NEW, f"{NEW}+cuda12.1", NEW, OLD), [3], ["n3"]),  # the same version, with its build
        ((NEW, NEW, OLD, OLD), [], []),
        ((NEW, f"{NEW}+cuda12.1", NEW, NEW), [], []),
    ],
)
def test_with_one_process_a_host_its_rank_is_named_too(
    tmp_path: Path, versions: Sequence[str | None], ranks: list[int], hosts: list[str]
) -> None:
    verdict = analyze(write(tmp_path, versions, each=1)).verdict
    assert (verdict.cause, verdict.ranks, verdict.hosts) == ("version_mismatch", ranks, hosts)


@pytest.mark.parametrize(("odd", "named"), [((5,), [5]), ((1, 2), [1, 2]), ((0, 1, 2, 3), [])])
def test_processes_of_one_host_may_differ(tmp_path: Path, odd: tuple[int, ...], named: list[int]) -> None:
    lines = []
    for rank in range(8):
        version = OLD if rank in odd else NEW
        lines += [
            f"[rank{rank}]: worker {rank} of world_size=8 rank={rank} pid={700 + rank} started",
            f"n0:{700 + rank}:{900 + rank} [{rank}] NCCL INFO NCCL version {version}+cuda12.1",
            f"n0:{700 + rank}:{900 + rank} [{rank}] NCCL INFO comm 0x5{rank} rank {rank} nranks 8 cudaDev {rank} busId {rank}0 commId 0x77 - Init START",
            f"n0:{700 + rank}:{900 + rank} [{rank}] init.cc:1092 NCCL WARN Mismatched NCCL version detected : rank {rank} 21806 rank 6 20906",
        ]
    (tmp_path / "launch.log").write_text("\n".join(lines) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == ("version_mismatch", named)
