"""Bundles of a few lines in which one process died: who it was, and where the same rule must name nobody."""

from pathlib import Path

import pytest

from forensics.model.incident import Verdict
from tests.analysed import primary

AT = "2026-03-01"


def verdict(tmp_path: Path, **files: str) -> Verdict:
    """Files by their names, `__` for a folder and the last `_` for a dot."""
    for name, text in files.items():
        path = tmp_path / Path(*name.split("__"))
        stem, _, suffix = path.name.rpartition("_")
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / f"{stem}.{suffix}").write_text(text)
    return primary(tmp_path).verdict


def deepspeed(host: str, node: int, first: int) -> str:
    place = f"{host}: [{AT} 02:31:04,100] [INFO] [launch.py:"
    lines = [
        f"{place}151:main] nnodes=2, num_local_procs=2, node_rank={node}",
        f"{place}162:main] global_rank_mapping=defaultdict(<class 'list'>, {{'ds-w0': [0, 1], 'ds-w1': [2, 3]}})",
        f"{place}163:main] dist_world_size=4",
        *(
            f"{place}253:main] process {first + local} spawned with command: ['python', '-u', 'a.py', '--local_rank={local}']"
            for local in (0, 1)
        ),
    ]
    return "\n".join(lines) + "\n"


def launched() -> str:
    last = "['python', '-u', 'a.py', '--local_rank=1']"
    return (
        deepspeed("ds-w0", 0, 48208)
        + deepspeed("ds-w1", 1, 61133)
        + f"ds-w1: [{AT} 03:11:11,604] [INFO] [launch.py:316:sigkill_handler] Killing subprocess 61133\n"
        + f"ds-w1: [{AT} 03:11:12,604] [INFO] [launch.py:316:sigkill_handler] Killing subprocess 61134\n"
        + f"ds-w1: [{AT} 03:11:14,022] [ERROR] [launch.py:322:sigkill_handler] {last} exits with return code = -9\n"
    )


def killed(clock: str, pid: int) -> str:
    return (
        f"Mar  1 {clock} ds-w1 kernel: [91902.700000] Out of memory: Killed process {pid} (python3) total-vm:244019820kB, "
        "anon-rss:124448004kB, file-rss:71204kB, shmem-rss:9127332kB, UID:1003 pgtables:225696kB oom_score_adj:0\n"
    )


@pytest.mark.parametrize(
    ("clock", "pid", "cause", "ranks"),
    [
        ("03:11:09", 61134, "host_oom", [3]),
        ("11:11:09", 61134, "host_oom", [3]),
        ("06:25:09", 61134, "killed", []),
        ("03:11:09", 70001, "host_oom", []),
    ],
    ids=["one clock", "the host keeps another zone", "a number of hours ago", "a process of somebody else"],
)
def test_a_kernel_kills_what_deepspeed_started(
    tmp_path: Path, clock: str, pid: int, cause: str, ranks: list[int]
) -> None:
    found = verdict(tmp_path, job_log=launched(), ds_w1__messages_log=killed(clock, pid))
    assert (found.kind, found.ranks) == ("crash", ranks)
    assert not ranks or found.cause == cause


RAY = "(Worker pid={pid}, ip=10.20.4.12) "


def ray(*pids: int) -> str:
    """Ranks 4 and up, each once; the second of them dies."""
    warned = "[rank{rank}]:[W301 07:21:04.118112400 ProcessGroupNCCL.cpp:4843] [PG ID 0 PG GUID 0 Rank {rank}]  using GPU 0\n"
    died = "Fatal Python error: Segmentation fault\n"
    return (
        "".join(RAY.format(pid=pid) + warned.format(rank=rank) for rank, pid in enumerate(pids, 4))
        + f"{RAY.format(pid=88207)}{died}"
        + "(raylet, ip=10.20.4.12) A worker died or was killed while executing a task by an unexpected system error. Worker IP "
        "address: 10.20.4.12 Worker port: 10402 Worker PID: 88207 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker "
        "unexpectedly exits with a connection error code 2. End of file.\n"
    )


def test_a_worker_of_ray_says_its_rank_by_its_number(tmp_path: Path) -> None:
    found = verdict(tmp_path, driver_log=ray(88201, 88207, 88213))
    assert (found.kind, found.cause, found.ranks) == ("crash", "segfault", [5])


def test_a_worker_of_ray_that_prints_for_several_ranks_is_none_of_them(tmp_path: Path) -> None:
    found = verdict(tmp_path, driver_log=ray(88207, 88207, 88207))
    assert (found.kind, found.cause, found.ranks) == ("crash", "segfault", [])


HERE = "(Worker pid=88207) [rank1]:[W301 07:21:09.118112400 TCPStore.cpp:125] [c10d] recvValue failed: got 0 bytes\n"


def test_a_worker_beside_the_driver_of_ray_is_none_of_another_place(tmp_path: Path) -> None:
    assert verdict(tmp_path, driver_log=ray(88201, 88213) + HERE).ranks == []
    assert (
        verdict(
            tmp_path, driver_log=(ray(88207, 88213) + HERE).replace(f"{RAY.format(pid=88207)}F", "(Worker pid=88207) F")
        ).ranks
        == []
    )


@pytest.mark.parametrize(
    ("name", "head", "row"),
    [
        ("workers_jsonl", "", '{{"event": "up", "ip": "10.20.4.{host}", "pid": {pid}, "rank": {rank}, "world_size": 4}}\n'),
        ("members_csv", "machine,pid,rank\n", "10.20.4.{host},{pid},{rank}\n"),
        ("workers_yaml", "workers:\n", "  - address: 10.20.4.{host}\n    pid: {pid}\n    global_rank: {rank}\n"),
    ],
)  # fmt: skip
def test_a_list_of_numbers_at_addresses_tells_which_worker_of_ray(
    tmp_path: Path, name: str, head: str, row: str
) -> None:
    who = [(11, 88207, 1), (12, 88213, 2), (11, 88201, 0), (12, 88207, 3)]
    listed = head + "".join(row.format(host=host, pid=pid, rank=rank) for host, pid, rank in who)
    assert verdict(tmp_path, driver_log=HERE + ray(), **{name: listed}).ranks == [3]


LIMIT = f"slurmstepd: error: *** JOB 77123 ON gpu-a12 CANCELLED AT {AT}T04:00:11 DUE TO TIME LIMIT ***\n"
LOST = (
    "6: [rank6]:[W301 04:00:12.210113442 TCPStore.cpp:115] [c10d] recvVector failed on SocketImpl(fd=72, "
    "addr=[gpu-a13]:51002, remote=[gpu-a12]:17123): failed to recv, got 0 bytes\n"
    '6: [rank6]:[W301 04:00:12.210918833 ProcessGroupNCCL.cpp:1250] [PG ID 0 PG GUID 0(default_pg) Rank 6] Failed to check the "should '
    'dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: failed to recv, got 0 bytes\n'
    "srun: error: gpu-a12: task 3: Killed\n"
)
STARTED = "".join(f"{rank}: Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/8\n" for rank in range(8))
RAISED = "3: [rank3]: Traceback (most recent call last):\n3: [rank3]:   File \"/app/train.py\", line 9, in <module>\n3: [rank3]: KeyError: 'eos'\n"


@pytest.mark.parametrize(
    ("lines", "cause", "ranks"),
    [(STARTED + LIMIT + LOST, "time_limit", []), (STARTED + RAISED + LIMIT + LOST, "exception", [3])],
    ids=["nothing before the limit", "a failure before it"],
)
def test_what_breaks_after_the_time_limit_broke_for_it(
    tmp_path: Path, lines: str, cause: str, ranks: list[int]
) -> None:
    found = verdict(tmp_path, slurm_out=lines)
    assert (found.kind, found.cause, found.ranks) == ("crash", cause, ranks)


def scaled(rank: int, last: str) -> str:
    return (
        f"[rank{rank}]: Traceback (most recent call last):\n"
        f'[rank{rank}]:   File "/opt/deepspeed/runtime/fp16/loss_scaler.py", line 175, in update_scale\n'
        f"[rank{rank}]:     raise Exception(\n[rank{rank}]: {last}\n"
    )


FELL = "".join(
    f"[loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {1 << at}, reducing to {1 << at - 1}\n"
    for at in range(8, 0, -1)
)
MINIMUM = "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run."


def test_all_ranks_raise_that_the_scale_cannot_fall(tmp_path: Path) -> None:
    found = verdict(tmp_path, job_log=FELL + "".join(scaled(rank, MINIMUM) for rank in (0, 2, 1, 3)))
    assert (found.kind, found.cause, found.ranks) == ("numerics", "loss_scale_collapse", [])


def test_an_error_of_its_own_while_the_scale_falls_is_a_crash(tmp_path: Path) -> None:
    found = verdict(tmp_path, job_log=FELL + scaled(2, "KeyError: 'eos'"))
    assert (found.kind, found.cause, found.ranks) == ("crash", "exception", [2])


def composer(*exits: tuple[int, int], between: str = "") -> str:
    """Rank 1 logs what it raised; the launcher says with which code each rank exited."""
    names = (
        f"{AT} 13:37:29,116: rank{rank}[{31 + rank}][MainThread]: DEBUG: composer.utils.dist: Initializing torch.dist: "
        f"global_rank={rank}, local_rank={rank}, world_size=4, local_world_size=4, node_rank=0\n"
        for rank in range(4)
    )
    raised = (
        f"{AT} 14:09:29,611: rank1[32][MainThread]: ERROR: __main__: training failed\n{between}"
        'Traceback (most recent call last):\n  File "/app/train.py", line 9, in <module>\n    train()\n'
        "RuntimeError: DataLoader worker (pid 3977) is killed by signal: Bus error. It is possible that\n"
    )
    told = (f"ERROR:composer.cli.launcher:Rank {rank} crashed with exit code {code}.\n" for rank, code in exits)
    return "".join((*names, raised, *told))


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        (composer((1, 1)), True),
        (composer((2, 1)), False),
        (composer((1, 1), (2, 1)), False),
        (composer((1, 1), between="a line of somebody else\n"), True),
    ],
    ids=["the launcher agrees", "it says another rank", "it says two", "it alone ended by an error"],
)
def test_an_exception_below_a_record_is_of_its_rank_if_the_launcher_agrees(
    tmp_path: Path, text: str, is_named: bool
) -> None:
    found = verdict(tmp_path, n1_log=text)
    assert (found.cause == "exception" and found.ranks == [1]) is is_named


def called(call: str, device: str) -> str:
    """A worker runs out of memory, its caller prints that, and Ray's own process tells of another worker that went."""
    workers = "".join(
        f"(Worker pid={pid}, ip=10.0.0.7) n0:{pid}:{pid} [{rank}] NCCL INFO ncclCommInitRank comm 0x55 rank {rank} nranks 2 "
        f"cudaDev {rank} nvmlDev {rank} busId {rank + 1}b000 commId 0x7a - Init COMPLETE\n"
        for rank, pid in enumerate((70, 71))
    )
    return workers + (
        "Traceback (most recent call last):\n"
        '  File "/job/main.py", line 64, in main\n'
        "    fit()\n"
        f"ray.exceptions.RayTaskError(OutOfMemoryError): ray::Worker.step() ({call}actor_id=77ac02, repr=<main.Worker object at 0x7e>)\n"
        '  File "/job/actor.py", line 412, in step\n'
        "    loss.backward()\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.63 GiB. "
        f"{device}\n"
        "(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, "
        "check the logs for the dead worker. RayTask ID: ff Worker ID: 51 Node ID: 8a Worker IP address: 10.0.0.7 Worker port: 10 "
        "Worker PID: 70 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2.\n"
    )


@pytest.mark.parametrize(
    ("call", "device", "ranks"),
    [
        ("pid=71, ip=10.0.0.7, ", "", [1]),  # the process that the call ran in
        ("", "GPU 1 has a total capacity of 79.11 GiB.", [1]),  # the one that uses this device
        ("", "", []),  # of an unknown process: then who went without a word may have been its victim
    ],
)
def test_rays_caller_prints_the_exception_of_the_process_it_called(
    tmp_path: Path, call: str, device: str, ranks: list[int]
) -> None:
    found = verdict(tmp_path, job_log=called(call, device))
    assert (found.kind, found.cause, found.ranks) == ("crash", "gpu_oom", ranks)


def appended(*ends: str) -> str:
    """Two launches in one file, of two ranks each: the first failed at step 40, from which the second goes on."""
    told = [f"{AT} 11:{at:02}:07 rank{rank}: step {at} loss 2.{at}\n" for at in (20, 40) for rank in (0, 1)]
    failed = "".join(
        f"[rank1]: {line}\n"
        for line in ("Traceback (most recent call last):", '  File "a.py", line 9, in f', "KeyError: 'eos'")
    )
    died = f"[{AT} 11:41:00,100] [INFO] [launch.py:318:sigkill_handler] Killing subprocess 71\n"
    again = [f"{AT} 12:{at - 40:02}:07 rank{rank}: step {at} loss 2.{at}\n" for at in (40, 60) for rank in (0, 1)]
    return "".join([*told, failed, died, *again, *ends])


def test_the_newest_launch_in_a_file_ended_well(tmp_path: Path) -> None:
    ends = [f"{AT} 12:21:00 rank{rank}: Finished 60 of 60 steps, leaving\n" for rank in (0, 1)]
    assert verdict(tmp_path, job_log=appended(*ends)).kind == "healthy"


@pytest.mark.parametrize("last", ["Finished 59 of 60 steps", "Epoch 3 finished: 60 of 60 steps"])
def test_a_part_of_the_steps_is_no_end(tmp_path: Path, last: str) -> None:
    ends = [f"{AT} 12:21:00 rank{rank}: {last}\n" for rank in (0, 1)]
    assert verdict(tmp_path, job_log=appended(*ends)).kind != "healthy"


@pytest.mark.parametrize(("many", "named"), [(5, []), (1, [3])], ids=["most of them", "one alone"])
def test_whom_a_launcher_stopped_for_the_first_of_those_that_failed_alike(
    tmp_path: Path, many: int, named: list[int]
) -> None:
    """All of eight ask one service that has stopped to answer; the first whose wait is over ends the launcher's patience with the rest."""
    raised = "".join(
        f'[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File "/code/grpo.py", line 126, in score\n[rank{rank}]:     reply = ask(url)\n'
        f"[rank{rank}]: ValueError: the service gave no score\n"
        for rank in (3, 0, 6, 1, 5)[:many]
    )
    start = "".join(
        f"[rank{rank}] INFO {AT} 14:20:0{rank} run.py:10 rank {rank} of 8, pid {6120 + rank}, is up\n"
        for rank in range(8)
    )
    head = "W0301 14:36:08.601651 6071 torch/distributed/elastic/multiprocessing/api.py:900]"
    closing = "".join(
        f"{head} Sending process {6120 + rank} closing signal SIGTERM\n" for rank in range(8) if rank != 3
    )
    failed = f"E{head[1:]} failed (exitcode: 1) local_rank: 3 (pid: 6123) of binary: /usr/bin/python\n"
    found = verdict(tmp_path, job_log=start + raised + closing + failed)
    assert (found.kind, found.ranks) == ("crash", named)
