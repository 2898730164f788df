"""Several programs in one bundle: whose rank is named, who killed whom, and who lost a node."""

import tarfile
import tracemalloc
from io import BytesIO
from pathlib import Path

import pytest

from forensics import analyze
from tests.test_speakers import written

_RAISED = [
    "Traceback (most recent call last):",
    '  File "/srv/serve.py", line 7, in <module>',
    "    serve()",
    '  File "/srv/pick.py", line 33, in pick',
    "    return table[index]",
    "IndexError: list index out of range",
]
# The file of a trainer's rank, that of an engine's, and what the engine is called.
PLACES = [
    ("logs/rank_{}.trainer.log", "logs/rank_{}.engine.log", "engine"),
    ("trainer-rank{}.txt", "rollout-rank{}.txt", "rollout"),
    ("run/actor.{}.out", "run/critic.{}.out", "critic"),
    ("train/rank{}.log", "infer/rank{}.log", "infer"),
    ("job/train/stdout_{}.log", "job/reward/stdout_{}.log", "reward"),
    ("policy.rank{}.log", "reference.rank{}.log", "reference"),
]


def _two(folder: Path, trainer: str, engine: str, *, later: int = 0, pid: int = 5000) -> Path:
    """A trainer of four that waited until a time-out, and an engine of two, whose rank 1 raised before."""
    files = {
        place.format(rank): [
            f"2026-11-23 0{5 + hours}:40:1{rank},000 | rank {rank} of {world} is up, pid {first + rank} on node7",
            f"2026-11-23 0{5 + hours}:41:0{rank},000 | ready",
        ]
        for place, world, first, hours in ((trainer, 4, 4000, 0), (engine, 2, pid, later))
        for rank in range(world)
    }
    for rank in range(4):
        files[trainer.format(rank)] += [
            f"2026-11-23 05:51:0{rank},000 | [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=45, "
            "OpType=BROADCAST, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600045 milliseconds before timing out."
        ]
    files[engine.format(1)] += _RAISED
    return written(folder, files)


@pytest.mark.parametrize(("trainer", "engine", "name"), PLACES)
def test_a_rank_of_one_program_is_none_of_the_other(tmp_path: Path, trainer: str, engine: str, name: str) -> None:
    verdict = analyze(_two(tmp_path, trainer, engine)).verdict
    assert (verdict.kind, verdict.ranks, verdict.program) == ("crash", [1], name)


@pytest.mark.parametrize("differs", [{"pid": 4000}, {"later": 2}])
def test_the_same_processes_and_launches_one_after_the_other_are_one_program(
    tmp_path: Path, differs: dict[str, int]
) -> None:
    assert analyze(_two(tmp_path, *PLACES[0][:2], **differs)).coverage.programs == []


def test_the_number_that_a_tracer_knows_a_process_by_makes_no_program(tmp_path: Path) -> None:
    files = {
        f"log.rank{rank}.txt": [f"2026-11-23 05:40:10 rank {rank} of 2 is up, pid {rank + 4}"] * 2 for rank in range(2)
    }
    files |= {
        f"stack.rank{rank}.txt": [f"Process {70_000 + rank}: python train.py", "Python v3.11.4 (/usr/bin/python3.11)", "",
                                  f'Thread {70_000 + rank} (active): "MainThread"', "    step (train.py:3)"]
        for rank in range(2)
    }  # fmt: skip
    assert analyze(written(tmp_path, files)).coverage.programs == []


# Folders below which torchrun makes its own, what a file beside them is called, minutes between the beginnings.
TORCHRUN = {
    "two programs": ("policy", "rollout", "rollout.log", 0, "rollout"),
    "other words": ("trainer", "vllm", "logs/vllm-launcher.txt", 1, "vllm"),
    "a restart": ("trainer", "trainer", "trainer.log", 10, None),
    "one after the other": ("a/run", "b/run", "run.log", 10, None),
}


@pytest.mark.parametrize("form", TORCHRUN)
def test_launches_of_torchrun_that_ran_at_once_are_programs(tmp_path: Path, form: str) -> None:
    trainer, engine, beside, minutes, name = TORCHRUN[form]
    files: dict[str, list[str]] = {}
    for place, run, world, begun in ((trainer, "none_a1b2c3d4", 4, 40), (engine, "none_e5f6a7b8", 2, 40 + minutes)):
        for rank in range(world):
            files[f"{place}/{run}/attempt_0/{rank}/stderr.log"] = [
                f"2026-11-23 05:{begun + at}:1{rank},000 INFO rank {rank} of {world} pid {70 * world + rank} handled {at}"
                for at in range(5)
            ]
    files[f"{engine}/none_e5f6a7b8/attempt_0/1/stderr.log"] += _RAISED
    files[f"{trainer}/none_a1b2c3d4/attempt_0/2/stderr.log"] += [
        "2026-11-23 05:44:59,000 ERROR the answer did not come"
    ]
    files[beside] = ["2026-11-23 05:45:02 launcher: local_rank 1 (pid: 141) exited with exit code 1"]
    report = analyze(written(tmp_path, files))
    assert (report.verdict.ranks, report.verdict.program) == ([1], name)
    assert [one.name for one in report.coverage.programs] == sorted({trainer.rpartition("/")[2], name} if name else ())


SHARD = "2026-01-30T10:26:57.{at:06}Z {level} shard-manager: text_generation_launcher: {what} rank={rank}"


@pytest.mark.parametrize(("shard", "signal"), [(2, 9), (0, 9), (1, 11), (3, 7), (2, 4)])
def test_a_shard_that_a_signal_ended_is_a_rank_of_the_engine(tmp_path: Path, shard: int, signal: int) -> None:
    lost = f"Shard process was signaled to shutdown with signal {signal}"
    said = [SHARD.format(at=rank, level="INFO", what="Starting shard", rank=rank) for rank in range(4)]
    files = {"tgi.log": [*said, SHARD.format(at=900, level="ERROR", what=lost, rank=shard)]}
    for rank in range(4):
        up = f"2026-01-30 10:10:10 rank {rank} of 4 is up, pid {400 + rank} on n1"
        files[f"distill/rank{rank}.log"] = [up, *_RAISED[:3], "TeacherDown: 502"]
    verdict = analyze(written(tmp_path, files)).verdict
    assert (verdict.kind, verdict.ranks, verdict.program) == ("crash", [shard], "tgi")


NODE = (
    "2026-09-03 12:23:21,526 WARNING worker.py:2106 -- The node with node id: 77d2e8c0 and address: {address} and node name: {name} "
    "has been marked dead because the detector has missed too many heartbeats from it."
)


@pytest.mark.parametrize(
    ("said", "name"),
    [("(Worker pid={pid}, ip=10.31.0.{node}) rank {rank} of 4 pid={pid} host=ray-{node}", "10.31.0.2"),
     ("(TrainWorker pid={pid}, ip=10.31.0.{node}) host ray-{node}: rank {rank}/4 up, pid {pid}", "ray-2"),
     ("(RayTrainWorker pid={pid}, ip=10.31.0.{node}) started rank={rank} world_size=4 pid={pid} host=ray-{node}", "10.31.0.2"),
     ("(W pid={pid}, ip=10.31.0.{node}) rank {rank} of 4 is up, pid {pid} on ray-{node}", "gpu-2"),
     ("(A pid={pid}, ip=10.31.0.{node}) process {rank} of 4 starting, pid {pid} on ray-{node}", "10.31.0.2")],
)  # fmt: skip
def test_the_address_of_a_node_that_ray_lost_is_the_host_that_says_its_name(
    tmp_path: Path, said: str, name: str
) -> None:
    up = [said.format(rank=rank, pid=5000 + rank, node=1 + rank // 2) for rank in range(4)]
    lost = [
        f"(W pid={5000 + rank}, ip=10.31.0.1) [rank{rank}]:[E0903 12:23:22.5276 ProcessGroupNCCL.cpp:629] [Rank {rank}] Work WorkNCCL("
        "SeqNum=9911, OpType=ALLREDUCE, NumelIn=26, NumelOut=26, Timeout(ms)=1800000) raised an exception: NCCL error: remote process "
        "exited or there was a network error, NCCL version 2.26.2"
        for rank in range(2)
    ]
    verdict = analyze(
        written(tmp_path, {"driver.log": [*up, NODE.format(address="10.31.0.2", name=name), *lost]})
    ).verdict
    assert (verdict.hosts, verdict.ranks) == (["ray-2"], [])


@pytest.mark.parametrize("thread", ["[thread=MainThread]", "[thread=async_save]", ""])
def test_orbax_says_which_process_could_not_write(tmp_path: Path, thread: str) -> None:
    def stamp(at: int) -> str:
        return f"I0409 18:12:{at:02}.000001 1395 async_checkpointer.py:76]"

    files = {}
    for number in range(4):
        says = [f"{stamp(at)} [process={number}]{thread} Background save thread started." for at in range(3)]
        full = [*_RAISED[:3], "OSError: [Errno 28] No space left on device: '/ssd/ckpt/120'"]
        late = [*_RAISED[:3], "TimeoutError: Timed out while waiting for async_write_complete barrier."]
        files[f"host_{number}.log"] = says + (full if number == 3 else late)
    verdict = analyze(written(tmp_path, files)).verdict
    assert (verdict.cause, verdict.ranks) == ("disk_full", [3])


def test_a_name_of_many_folders_costs_what_it_is_long(tmp_path: Path) -> None:
    """All beginnings of it would be its square, some hundred megabytes here."""
    with tarfile.open(tmp_path / "deep.tar", "w", format=tarfile.GNU_FORMAT) as archive:
        member = tarfile.TarInfo("a/" * 20_000 + "rank_3.log")
        member.size = len(b"step 1 loss 2.0\n")
        archive.addfile(member, BytesIO(b"step 1 loss 2.0\n"))
    tracemalloc.start()
    try:
        analyze(tmp_path / "deep.tar")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def _client(line: str) -> list[str]:
    return [
        "Traceback (most recent call last):",
        '  File "/srv/train.py", line 40, in <module>',
        "    answer = ask(prompt)",
        '  File "/usr/lib/python3.11/http/client.py", line 294, in _read_status',
        '    raise RemoteDisconnected("Remote end closed connection without"',
        line,
    ]


LOST = "http.client.RemoteDisconnected: Remote end closed connection without response"


@pytest.mark.parametrize("clients", [1, 4])
@pytest.mark.parametrize("fails", [True, False])
def test_who_lost_the_service_that_it_asked_is_no_culprit(tmp_path: Path, clients: int, fails: bool) -> None:
    """Nobody is, where no process of the engine failed by itself."""
    files = {
        f"{place}/rank{rank}.log": [
            f"2026-11-23 05:40:1{rank},000 | rank {rank} of {world} is up, pid {first + rank} on node7",
            f"2026-11-23 05:41:0{rank},000 | ready",
        ]
        for place, world, first in (("trainer", 4, 4000), ("engine", 2, 5000))
        for rank in range(world)
    }
    for rank in range(clients):
        files[f"trainer/rank{rank}.log"] += _client(LOST)
    files["engine/rank1.log"] += _RAISED * fails
    verdict = analyze(written(tmp_path, files)).verdict
    assert (verdict.ranks, verdict.program if fails else None) == (([1], "engine") if fails else ([], None))


def _thread(pid: int, *frames: str) -> list[str]:
    return [f"Process {pid}: python serve.py", "Python v3.11.4 (/usr/bin/python3.11)", "", f'Thread {pid} (idle): "MainThread"', *(f"    {frame}" for frame in frames), ""]  # fmt: skip


WAITS = ("all_reduce (torch/distributed/distributed_c10d.py:3252)", "serve (serve.py:8)")
READS = ("read (storage/nfs.py:20)", "load_batch (serve.py:6)")
ASKED = ("Condition.wait (threading.py:327)", "Queue.get (queue.py:171)", "next_request (serve.py:9)")
IDLE = ("select (selectors.py:415)", "BaseServer.serve_forever (socketserver.py:233)", "main (serve.py:3)")


@pytest.mark.parametrize(
    ("looks", "first", "second", "ranks"),
    [
        (2, WAITS, READS, [1]),
        (1, WAITS, READS, []),
        (2, WAITS, WAITS, []),
        (2, READS, READS, []),
        (2, WAITS, ASKED, []),
    ],
)
def test_of_two_the_one_that_does_not_come_in_two_looks(
    tmp_path: Path, looks: int, first: tuple[str, ...], second: tuple[str, ...], ranks: list[int]
) -> None:
    files = {
        f"rank{rank}.log": [f"2026-11-23 05:40:1{rank},000 | rank {rank} of 2 is up, pid {7000 + rank} on node7"] * 2
        for rank in range(2)
    }
    for look in range(looks):
        files |= {
            f"look{look}/serve-{7000 + at}.txt": _thread(7000 + at, *one) for at, one in enumerate((first, second))
        }
    assert analyze(written(tmp_path, files)).verdict.ranks == ranks


def test_a_server_that_nobody_asks_is_late_for_nothing(tmp_path: Path) -> None:
    files = {f"look{look}/900.txt": _thread(900, *IDLE) for look in range(2)}
    files |= {f"look{look}/{at}.txt": _thread(at, *WAITS) for look in range(2) for at in (901, 902, 903)}
    verdict = analyze(written(tmp_path, files)).verdict
    assert (verdict.cause, verdict.ranks, verdict.hosts) == (None, [], [])
