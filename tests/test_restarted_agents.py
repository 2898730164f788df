"""Agents that start their workers again may be given other ranks: who fails then is named by what his agent said last."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HOSTS = ("gx-04", "gx-09", "gx-15")
API = "torch.distributed.elastic.agent.server.api: [INFO] [default]"
STOPPED = "torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: {local} (pid: {pid}) of binary: /usr/bin/python"


def rendezvous(at: str, count: int, group: int) -> list[str]:
    ranks = [2 * group, 2 * group + 1]
    return [
        f"[2026-04-21 {at},000] {API} Rendezvous complete for workers. Result:",
        f"  restart_count={count}", "  master_addr=gx-04", f"  master_port={41231 + count}", f"  group_rank={group}",
        "  group_world_size=3", "  local_ranks=[0, 1]", f"  role_ranks={ranks}", f"  global_ranks={ranks}",
        "  role_world_sizes=[6, 6]", "  global_world_sizes=[6, 6]", "",
    ]  # fmt: skip


def failed(at: str, local: int, line: str) -> list[str]:
    return [
        f"[default{local}]:Traceback (most recent call last):",
        f'[default{local}]:  File "/repo/train.py", line 166, in main',
        f"[default{local}]:    loss.backward()",
        f"[default{local}]:{line}",
        f"[2026-04-21 {at},000] {STOPPED.format(local=local, pid=44210)}",
    ]


def logs(**without: int) -> dict[str, list[str]]:
    """In the first attempt gx-09 misses a file, in the second gx-15, which has other ranks by then, an ECC error."""
    files: dict[str, list[str]] = {}
    for first, second, host in zip((0, 1, 2), (0, 2, 1), HOSTS, strict=True):
        lines = rendezvous("10:00:00", 0, first)
        lines += failed("11:17:38", 1, "FileNotFoundError: [Errno 2] No such file: 'b.bin'") if host == "gx-09" else []
        lines += [f"[2026-04-21 11:17:42,000] {API} Worker group FAILED. 3/3 attempts left; will restart worker group"]
        lines += rendezvous("11:26:10", 1, second) if without.get(host.replace("-", ""), 0) == 0 else []
        if host == "gx-15":
            lines += failed("15:03:53", 1, "RuntimeError: CUDA error: uncorrectable ECC error encountered")
        files[f"agent_{host}.log"] = lines
    return files


def test_the_rank_of_the_last_attempt_is_named(tmp_path: Path) -> None:
    verdict = analyze(written(tmp_path, logs())).verdict
    assert (verdict.cause, verdict.ranks) == ("gpu_fault", [3])


@pytest.mark.parametrize(
    "files",
    [logs(gx09=1), {"agents.log": [line for lines in logs().values() for line in lines]}],
    ids=["an agent did not say it", "one log of all"],
)
def test_nobody_is_named_by_a_local_rank_alone(tmp_path: Path, files: dict[str, list[str]]) -> None:
    assert not {*analyze(written(tmp_path, files)).verdict.ranks} - {3}
