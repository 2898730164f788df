"""One node's agent tells of its own processes; the folder of another node's holds others with the same local ranks."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

API = "torch/distributed/elastic/agent/server/api.py"
LOST = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.2.0.7]:4411"
OWN = "IndexError: index out of range in self"


def head(second: int) -> str:
    return f"I0816 01:45:{second:02d}.466000 4700 {API}:553] "


def agent(first: int, world: int, each: int = 2, *, nodes: int | None = None) -> list[str]:
    ranks = [*range(first, first + each)]
    told = [
        "[default] Rendezvous complete for workers. Result:", "  restart_count=0", "  master_addr=moa-2", "  master_port=38599",
        f"  group_rank={first // each}", f"  group_world_size={nodes or world // each}", f"  local_ranks={[*range(each)]}",
        f"  role_ranks={ranks}", f"  global_ranks={ranks}", f"  role_world_sizes={[world] * each}", f"  global_world_sizes={[world] * each}",
    ]  # fmt: skip
    return [head(13) + line for line in told]


def process(host: str, local: int, last: str) -> list[str]:
    told = [f"2026-08-16 01:46:0{local},100 I fit.py:44] host={host} local_rank={local} of 2"]
    told += [f"2026-08-16 01:46:{10 + step},100 I fit.py:55] it={step} loss={3 - step / 10:.2f}" for step in range(6)]
    return [
        *told,
        "Traceback (most recent call last):",
        '  File "/home/u/fit.py", line 61, in main',
        "    step()",
        last,
    ]


def folder(host: str, where: str, fails: int | None) -> dict[str, list[str]]:
    return {
        f"{where}/run_x81k/attempt_0/{local}/stderr.log": process(host, local, OWN if local == fails else LOST)
        for local in range(2)
    }


def named(tmp_path: Path, files: dict[str, list[str]]) -> list[int]:
    return list(analyze(written(tmp_path, files)).verdict.ranks)


@pytest.mark.parametrize("where", ["moa-7", "moa-7/logs", "run/moa-7"])
def test_what_is_left_of_the_world_is_the_other_hosts(tmp_path: Path, where: str) -> None:
    files = {"moa-2.log": agent(0, 4), **folder("moa-7", where, fails=1)}
    assert named(tmp_path, files) == [3]


def test_the_same_hosts_folder_is_the_agents(tmp_path: Path) -> None:
    assert named(tmp_path, {"moa-2.log": agent(0, 4), **folder("moa-2", "moa-2", fails=1)}) == [1]


@pytest.mark.parametrize(
    "files",
    [
        {"moa-2.log": agent(0, 8), **folder("moa-7", "moa-7", fails=1)},
        {"moa-2.log": agent(2, 8), **folder("moa-7", "moa-7", fails=0)},
        {"moa-2.log": agent(0, 6), "moa-4.log": agent(2, 6), **folder("moa-7", "moa-9", fails=1)},
    ],
    ids=["of four hosts two are known", "the second of four", "a folder called as another host than its lines"],
)
def test_nobody_of_the_agents_host_is_named(tmp_path: Path, files: dict[str, list[str]]) -> None:
    assert not {*named(tmp_path, files)} & {0, 1, 2, 3}
