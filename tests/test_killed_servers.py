"""The kernel kills a server of the job, which is no rank, for memory; all ranks lose it: its host is named, and no rank, whoever failed first."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

HOSTS, PER_HOST, THERE = 4, 2, 1
RANKS = HOSTS * PER_HOST
SERVER = 20417
KILL = [
    "Apr 11 16:24:41 {host} kernel: python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
    "Apr 11 16:24:41 {host} kernel: oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice,task=python3,pid=20417,uid=1001",
    "Apr 11 16:24:41 {host} kernel: Out of memory: Killed process 20417 (python3) total-vm:488732096kB, anon-rss:480110220kB, file-rss:1204kB, shmem-rss:0kB, UID:1001 pgtables:955120kB oom_score_adj:0",
    "Apr 11 16:24:44 {host} kernel: oom_reaper: reaped process 20417 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
]
# What the clients of a server say when it is gone.
LOST = {
    "dgl": "dgl._ffi.base.DGLError: [16:24:4{second}] /opt/dgl/src/rpc/rpc.cc:163: Got rpc error: peer {at}:30050 closed the connection",
    "grpc": 'grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with: status = StatusCode.UNAVAILABLE details = "failed to connect to all addresses; last error: ipv4:{at}:2222: Connection refused">',
    "tensorflow": "tensorflow.python.framework.errors_impl.UnavailableError: Connection reset by peer Additional GRPC error information from remote target /job:ps/replica:0/task:1",
    "python": "ConnectionResetError: [Errno 104] Connection reset by peer",
    "own": "feast.client.GoneAway: shard 1 at {at}:7070 answers no more",
    "rpc": "RuntimeError: Encountered exception in ProcessGroupAgent::enqueueSend: connection closed by peer, node graph_server_1",
}
# What a launcher says of the end of the server.
TOLD = {
    "ssh": "subprocess.CalledProcessError: Command 'ssh -o StrictHostKeyChecking=no -p 22 {at} 'cd /ws; (export ROLE=server SERVER_ID=1; python3 fit.py)'' returned non-zero exit status 137.",
    "spawner": "spawn: server 1 (pid 20417) on {at} died with signal 9",
    "supervisor": "2026-04-11 16:24:42,102 WARN exited: graph_server_01 (terminated by SIGKILL; not expected)",
    "shell": "/ws/serve.sh: line 12: 20417 Killed                  python3 fit.py --role server --id 1",
    "nothing": "",
}
ADDRESSES = [f"10.20.5.{11 + place}" for place in range(HOSTS)]
NAMES = [f"gnn-0{1 + place}" for place in range(HOSTS)]


def job(
    folder: Path,
    lost: str,
    told: str,
    hosts: Sequence[str],
    *,
    table: bool = True,
    gathered: bool = False,
    kernel: Mapping[str, object] = {},
    raised: int | None = None,
) -> Verdict:
    """Eight ranks on four hosts, each with a server; `hosts`: how the job calls them; `kernel`: what is another in its log; `raised`: who failed by
    itself, and before."""
    kill = NAMES[THERE]
    files: dict[str, list[str]] = {"launch.log": []}
    for rank in range(RANKS):
        at = hosts[rank // PER_HOST]
        second = 2 + rank % 3
        lines = [f"2026-04-11 16:00:01 up rank {rank} of {RANKS} pid {20730 + rank} host {at}"]
        lines += [
            f"2026-04-11 16:{minute:02}:00 rank {rank} | Step {minute} | Loss 1.{60 - minute:02}"
            for minute in range(1, 25)
        ]
        lines += [
            "Traceback (most recent call last):",
            '  File "/ws/fit.py", line 266, in run',
            "    blocks = sampler.sample_blocks(g, seeds)",
            '  File "/usr/lib/python3.10/site-packages/graphs/rpc.py", line 641, in recv_response',
            "    msg = recv_rpc_message(timeout=0)",
            LOST[lost].format(at=hosts[THERE], second=second),
        ]
        if rank == raised:
            lines[-3:] = ['    raise ValueError("label 71 of 64")', "ValueError: label 71 of 64"]
        if gathered:
            files["launch.log"] += [f"[{at}] {line}" for line in lines]
        else:
            files[f"logs/{at}/rank{rank}.log"] = lines
    files["launch.log"] += [line for line in (TOLD[told].format(at=hosts[THERE]),) if line]
    told_by_kernel = [line.format(host=kill) for line in KILL]
    told_by_kernel += [line.replace("20417", "20555") for line in told_by_kernel] if "twice" in kernel else []
    for old, new in (
        (" 16:", f" {kernel.get('hour', '16')}:"),
        ("python3", str(kernel.get("task", "python3"))),
        ("20417", str(kernel.get("pid", SERVER))),
    ):
        told_by_kernel = [line.replace(old, new) for line in told_by_kernel]
    files[f"{kill}_journal_k.txt"] = told_by_kernel
    if table:
        files[f"{kill}_ps.txt"] = [
            "# ps -eo lstart,pid,rss,args --sort=-rss",
            f"16:14  {SERVER}  310000000  python3 fit.py   [ROLE=server SERVER_ID=1]",
            *(f"16:14  {20730 + rank}  4841263  python3 -u fit.py   [ROLE=client RANK={rank}]" for rank in (2, 3)),
        ]
    return analyze(written(folder, files)).verdict


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("told", TOLD)
def test_its_host_is_named_and_no_rank(tmp_path: Path, lost: str, told: str) -> None:
    verdict = job(tmp_path, lost, told, ADDRESSES if len(lost + told) % 2 else NAMES)
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("crash", "host_oom", [], [NAMES[THERE]]), (
        verdict.summary
    )


@pytest.mark.parametrize("hosts", [ADDRESSES, NAMES])
@pytest.mark.parametrize("lost", ["dgl", "own"])
def test_so_where_all_lines_stand_in_one_log(tmp_path: Path, lost: str, hosts: Sequence[str]) -> None:
    verdict = job(tmp_path, lost, "ssh", hosts, table=False, gathered=True)
    assert (verdict.cause, verdict.ranks, verdict.hosts) == ("host_oom", [], [NAMES[THERE]]), verdict.summary


@pytest.mark.parametrize(
    "how",
    [{"hour": "11"}, {"task": "jupyter-lab"}, {"twice": True}, {"pid": 20732}],
    ids=["hours before", "another program", "one of two", "a rank's own process"],
)
def test_a_kill_that_ended_no_server_of_the_job(tmp_path: Path, how: dict[str, object]) -> None:
    """Neither its host is at fault, nor are the ranks: but the one whose own process it was."""
    verdict = job(tmp_path, "own", "nothing", NAMES, table=False, kernel=how)
    assert verdict.cause != "host_oom" or (verdict.ranks == [2] and "pid" in how), verdict.summary
    assert not verdict.ranks or "pid" in how


def test_who_failed_by_itself_beside_it_is_named(tmp_path: Path) -> None:
    verdict = job(tmp_path, "own", "nothing", NAMES, table=False, raised=5)
    assert (verdict.cause, verdict.ranks) != ("host_oom", []) and set(verdict.ranks) <= {5}, verdict.summary
