"""What is advised where ranks stand still: a look that can show something of what is waited for."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Incident
from reports.answer import actions
from reports.answer import answer as english
from reports.chinese import answer as chinese
from reports.summary import cause_text
from tests.analysed import primary

WORLD = 4
HEAD = "2026-02-03 08:00:0{rank}.000 [rank{rank}] INFO train: init done rank={rank} world_size=4 local_rank={rank} host=cn7 pid=5{rank}0 backend=nccl\n"
STEP = "2026-02-03 08:01:0{step}.000 [rank{rank}] INFO train: step {step} loss 1.5\n"
CUT = "[rank{rank}]:[E203 08:11:40.02 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600011 milliseconds before timing out.\n"
WAITS = "    all_reduce (torch/distributed/distributed_c10d.py:2806)\n    loop (fit.py:40)\n"


def told(folder: Path, odd: str, *, line: str = "", kernel: str = "", cut: bool = True) -> Incident:
    """Rank 2 of four stands at other frames than the rest. `line`: the last one that every rank prints; `kernel`: where rank 2 stands there."""
    for rank in range(WORLD):
        log = HEAD.format(rank=rank) + "".join(STEP.format(rank=rank, step=step) for step in (1, 2)) + line
        (folder / f"rank_{rank}.log").write_text(log + (CUT.format(rank=rank) if cut and rank != 2 else ""))
        frames = odd if rank == 2 else WAITS
        stack = f'Process 5{rank}0: python fit.py\nPython v3.11.9\n\nThread 5{rank}0 (idle): "MainThread"\n{frames}'
        (folder / f"rank_{rank}.pyspy.txt").write_text(stack)
    if kernel:
        (folder / "proc_520.txt").write_text(
            f"==> /proc/520/status <==\nName:\tpython\nState:\tS (sleeping)\nTgid:\t520\nPid:\t520\n\n==> /proc/520/stack <==\n{kernel}"
        )
    return primary(folder)


def commands(incident: Incident) -> str:
    return "\n".join(action.command or "" for action in incident.actions)


SAVES = "    write (fsspec/implementations/{client}.py:190)\n    _save (torch/serialization.py:1210)\n    save_checkpoint (keep.py:48)\n    loop (fit.py:44)\n"
READS = "    read (fsspec/spec.py:190)\n    next_shard (feed.py:48)\n    loop (fit.py:44)\n"
TO = "2026-02-03 08:01:03.000 saving checkpoint at iteration       2 to {url} in torch format\n"


@pytest.mark.parametrize(
    ("url", "look"),
    [
        ("hdfs://nn1:8020/c/run", "hdfs dfsadmin -fs hdfs://nn1:8020 -report"),
        ("s3://bucket/c/run", "aws s3 ls s3://bucket/c/run"),
        ("gs://bucket/c", "gcloud storage ls gs://bucket/c"),
        ("cosn://bucket/c", None),
        ("hdfs://nn/c;reboot", None),
    ],
)
def test_a_store_is_asked_itself(tmp_path: Path, url: str, look: str | None) -> None:
    incident = told(tmp_path, SAVES.format(client="arrow"), line=TO.format(url=url))
    assert incident.verdict.ranks == [2]
    assert "df -h;" not in commands(incident) and "timeout 20 df" not in commands(incident)
    first = incident.actions[0]
    assert url in first.target and ((first.command is None) if look is None else look in (first.command or ""))


@pytest.mark.parametrize(
    ("odd", "url"), [(SAVES.format(client="local"), "/mnt/c/run"), (READS, "hdfs://nn/c"), (READS, "/mnt/c")]
)
def test_what_a_host_mounts_is_looked_at_there(tmp_path: Path, odd: str, url: str) -> None:
    incident = told(tmp_path, odd, line=TO.format(url=url))
    assert "timeout 20 df -h" in commands(incident) and "hdfs" not in commands(incident)


PIPE = "[<0>] {inner}+0x5c/0x100\n[<0>] {outer}+0x2d9/0x330\n[<0>] do_dentry_open+0x1a6/0x430\n[<0>] do_sys_openat2+0x6e/0xd0\n"
OWN = "    take_batch (feed.py:24)\n    <module> (fit.py:45)\n"


@pytest.mark.parametrize("inner", ["wait_for_partner", "fifo_open"])
@pytest.mark.parametrize("own", ["feed.py", "/srv/j/feed.py"])
def test_who_opens_a_pipe_waits_for_a_process_and_no_disk(tmp_path: Path, inner: str, own: str) -> None:
    kernel = PIPE.format(inner=inner, outer="fifo_open")
    incident = told(tmp_path, OWN.replace("feed.py", own), kernel=kernel)
    assert incident.verdict.ranks == [2] and incident.verdict.code is not None
    assert (incident.verdict.code.file, incident.verdict.code.line) == (own, 24)
    assert "other end of a pipe" in incident.verdict.summary and "df -h" not in commands(incident)
    assert "管道" in chinese(incident).sentence
    assert "py-spy dump --locals --pid 520" in commands(incident) or f"{own}:24" in incident.actions[0].target


def test_who_waits_for_pages_waits_for_storage(tmp_path: Path) -> None:
    kernel = "[<0>] folio_wait_bit_common+0x5c/0x100\n[<0>] filemap_read+0x2d9/0x330\n"
    incident = told(tmp_path, OWN, kernel=kernel)
    assert incident.verdict.code is not None and incident.verdict.code.line == 24
    assert "waiting for storage" in " ".join(one.claim for one in incident.evidence)
    assert "df -h" in commands(incident)


def test_a_lock_on_a_file_is_asked_at_its_host_for_the_own_line(tmp_path: Path) -> None:
    kernel = "[<0>] locks_lock_inode_wait+0x82/0x180\n[<0>] __do_sys_flock+0x1a3/0x1e0\n"
    incident = told(tmp_path, OWN, kernel=kernel)
    assert any("feed.py:24" in action.target and "lslocks" in (action.command or "") for action in incident.actions)


IDLE = "    Worker.main_loop (ray/_private/worker.py:1069)\n    <module> (ray/_private/workers/default_worker.py:323)\n"
GLOO = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 15000ms for recv operation to complete\n"
RAISED = 'Traceback (most recent call last):\n  File "/srv/j/fit.py", line 40, in loop\n    dist.all_reduce(g)\n'


def counted(folder: Path, own: str, others: str, *, odd: str = IDLE, words: str = GLOO) -> Incident:
    """Rank 2 is not in the others' call; these gave up."""
    for rank in range(WORLD):
        text = f"trainer rank {rank} of 4: {own if rank == 2 else others}\n"
        (folder / f"rank_{rank}.log").write_text(text if rank == 2 else text + RAISED + words)
        stack = f'Process 5{rank}0: python fit.py\nPython v3.11.9\n\nThread 5{rank}0 (idle): "MainThread"\n'
        (folder / f"rank_{rank}.pyspy.txt").write_text(stack + (odd if rank == 2 else WAITS))
    return primary(folder)


@pytest.mark.parametrize(("own", "others"), [("lap 6/6", "lap 6/9"), ("Batch: 6/6", "Batch: 6/12")])
def test_whose_work_is_done_is_told_with_both_counts(tmp_path: Path, own: str, others: str) -> None:
    incident = counted(tmp_path, own, others)
    assert incident.verdict.ranks == [2]
    assert "counted to its last" in incident.actions[0].reason and incident.actions[0].kind == "check_code"
    assert "its task has returned" in incident.verdict.summary or any(
        "its task has returned" in one.claim for one in incident.evidence
    )


@pytest.mark.parametrize(("own", "others"), [("lap 4/9", "lap 6/9"), ("lap 6/6", "shard 6/9"), ("lap 6/6", "lap 2/9")])
def test_counts_that_may_be_of_anything_are_not_told(tmp_path: Path, own: str, others: str) -> None:
    assert not any("counted to its last" in action.reason for action in counted(tmp_path, own, others).actions)


def test_gloo_has_no_settings_of_nccl(tmp_path: Path) -> None:
    assert "NCCL" not in commands(counted(tmp_path, "lap 6/6", "lap 6/9"))


def test_a_group_of_gloo_in_a_job_of_nccl_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "other.log").write_text(CUT.format(rank=0))
    incident = counted(tmp_path, "lap 6/6", "lap 6/9")
    assert incident.verdict.kind == "hang" and ("TORCH_NCCL" in commands(incident) or "dump" in commands(incident))


BARRIER = "jaxlib.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out.{name} This usually happens because a task triggered the barrier too early.\n# of tasks that reached the barrier: {came}/4.\nThe first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n/job:jax_worker/replica:0/task:2\n"


@pytest.mark.parametrize(("name", "called"), [(" Id: save.400.1.", "barrier save.400.1"), ("", "barrier")])
def test_a_barrier_goes_by_its_own_name_and_tells_how_many_came(tmp_path: Path, name: str, called: str) -> None:
    for rank in range(WORLD):
        steps = "".join(STEP.format(rank=rank, step=step) for step in (1, 2))
        (tmp_path / f"rank_{rank}.log").write_text(HEAD.format(rank=rank) + steps + BARRIER.format(name=name, came=3))
    report = analyze(tmp_path)
    incident = report.incidents[report.primary]
    assert incident.verdict.ranks == [2] and incident.blast_radius.ranks_waiting == 3
    assert f"did not reach {called}; 3 of 4 did" in incident.verdict.summary
    told = english(incident).sentence
    assert f"never entered {called}" in told and "barrier barrier" not in told and "3 ranks wait" in told
    assert called in chinese(incident).sentence and "barrier 的 barrier" not in chinese(incident).sentence
    assert cause_text(incident.verdict) == "never entered the collective"  # nothing shows that its process lived


def test_who_is_seen_by_a_stack_lives(tmp_path: Path) -> None:
    assert "process alive" in cause_text(told(tmp_path, READS).verdict)


STALL = "[1,0]<stderr>:[2025-03-04 09:25:40.31: W horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. This may indicate that different ranks are trying to submit different tensors.\n[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:2: [allreduce.w1]\n"


def test_all_that_no_list_misses_wait(tmp_path: Path) -> None:
    steps = "".join(f"[1,{rank}]<stdout>:step {step} loss 1.5\n" for step in (1, 2, 3) for rank in range(WORLD))
    (tmp_path / "run.log").write_text(steps + STALL)
    report = analyze(tmp_path)
    incident = report.incidents[report.primary]
    assert incident.verdict.ranks == [2] and incident.blast_radius.ranks_waiting == 3


BAR = "Packing (num_proc=8):  {percent}%|████▏| 880/1000 [{spent}<{left}, 4.59 examples/s]"
STORE = "[rank1]:[W516 14:34:56.85 socket.cpp:464] [c10d] waitForInput: poll for socket SocketImpl(fd=79, addr=[localhost]:41170, remote=[localhost]:29500) returned 0, likely a timeout\n[rank1]:[W516 14:34:56.86 socket.cpp:489] [c10d] waitForInput: socket SocketImpl(fd=79, addr=[localhost]:41170, remote=[localhost]:29500) timed out after {limit}ms\n"


@pytest.mark.parametrize(
    ("percent", "spent", "left", "limit", "is_told"),
    [
        (88, "29:50", "04:10", 1800000, True),
        (61, "59:58", "38:00", 3600000, True),
        (100, "29:50", "00:00", 1800000, False),
        (3, "00:40", "21:00", 1800000, False),
        (88, "4:29:50", "04:10", 1800000, False),
    ],
)
def test_work_that_outlasts_the_wait_of_others(
    tmp_path: Path, percent: int, spent: str, left: str, limit: int, is_told: bool
) -> None:
    (tmp_path / "train.log").write_text(BAR.format(percent=percent, spent=spent, left=left) + STORE.format(limit=limit))
    report = analyze(tmp_path)
    incident = report.incidents[report.primary]
    assert (f"at {percent}% after {spent}" in actions(incident)[0].reason) is is_told
    assert any("longer timeout" in f"{one.target} {one.reason}" for one in incident.actions)


LISTED = "trace-cn1\n" + 8 * "    all_reduce\n" + "trace-cn2\n" + 7 * "    all_reduce\n" + "    wait\n"
LOADER = 'Thread 41 (idle): "MainThread"\n    {at} (threading.py:306)\n    get (queue.py:179)\n    _try_get_data (torch/utils/data/dataloader.py:1011)\n    fetch (fit.py:904)\n'


@pytest.mark.parametrize(("at", "number"), [("wait", "1 process "), ("join", "2 processes ")])
def test_a_process_that_a_list_and_its_stack_tell_of_counts_once(tmp_path: Path, at: str, number: str) -> None:
    (tmp_path / "groups.txt").write_text(
        LISTED + "\nProcess 41: python fit.py\nPython v3.8.12\n\n" + LOADER.format(at=at)
    )
    report = analyze(tmp_path)
    assert number in report.incidents[report.primary].verdict.summary


LAGS = "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=8000) ran for 8097 milliseconds before timing out.\n - [0] Timeout at collective: ALLREDUCE, #3\n - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n     [1] finished collective #2, but didn't join collective #3 (count from 1)\n"
CALLED = "Stack trace of the failed collective:\n#0 all_reduce from {lib}/torch/distributed/distributed_c10d.py:2501\n#1 push from {file}:31\n"


@pytest.mark.parametrize("file", ["fit.py", "/srv/j/fit.py"])
def test_the_line_that_a_log_names_is_passed_on(tmp_path: Path, file: str) -> None:
    (tmp_path / "run.log").write_text(LAGS + CALLED.format(lib="/opt/env/lib/python3.11/site-packages", file=file))
    report = analyze(tmp_path)
    incident = report.incidents[report.primary]
    first = actions(incident)[0]
    assert (first.kind, first.target) == ("check_code", f"{file}:31") and not incident.verdict.ranks


@pytest.mark.parametrize(
    "called", ["", CALLED.format(lib="/a/site-packages", file="/a/site-packages/deepspeed/comm.py")]
)
def test_a_library_s_line_is_no_place_to_look_at(tmp_path: Path, called: str) -> None:
    (tmp_path / "run.log").write_text(LAGS + called)
    report = analyze(tmp_path)
    assert not any(one.kind == "check_code" for one in report.incidents[report.primary].actions)


AT = (
    "[rank{rank}]:[E203 08:11:40.02 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={number}, "
    "OpType={kind}, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600011 milliseconds before timing out.\n"
    "[rank{rank}]:[E203 08:11:40.03 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work "
    "sequence id: {number} PG status: last enqueued work: 990, last completed work: {done}\n"
)


def cut_at(folder: Path, calls: list[tuple[int, str]]) -> Incident:
    told_by = [
        AT.format(rank=rank, number=number, kind=kind, done=number - 1) for rank, (number, kind) in enumerate(calls)
    ]
    (folder / "train.log").write_text("".join(told_by))
    return primary(folder)


@pytest.mark.parametrize("kinds", [("_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"), ("ALLREDUCE", "ALLREDUCE")])
def test_who_gave_up_at_another_call_of_a_group_is_told_apart(tmp_path: Path, kinds: tuple[str, str]) -> None:
    verdict = cut_at(tmp_path, [(611, kinds[0]), (613, kinds[1])]).verdict
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("hang", [], [])
    assert (
        "rank 0 timed out waiting in" in verdict.summary
        and "#611; rank 1 timed out" in verdict.summary
        and "#613" in verdict.summary
    )


def test_who_gave_up_at_one_call_is_told_together(tmp_path: Path) -> None:
    verdict = cut_at(tmp_path, [(611, "ALLREDUCE")] * 2).verdict
    assert "anks 0-1 timed out in all_reduce" in verdict.summary and "not all stood" not in verdict.summary.lower()


SAW = (
    "[rank{rank}]: RuntimeError: Detected mismatch between collectives on ranks. Rank {rank} is running collective: CollectiveFingerPrint(SequenceNumber=41, "
    "OpType=ALLREDUCE, TensorShape=[], TensorDtypes=Float), but Rank 3 is running collective: CollectiveFingerPrint(SequenceNumber=0OpType=GATHER)."
    "Collectives differ in the following aspects:\n"
)
TRACE = (
    "[rank1]: Traceback (most recent call last):\n"
    '[rank1]:   File "/srv/j/fit.py", line 114, in main\n[rank1]:     engine.step()\n'
    '[rank1]:   File "/opt/env/lib/python3.10/site-packages/deepspeed/runtime/engine.py", line 2490, in step\n[rank1]:     self.take(1)\n'
)


@pytest.mark.parametrize("trace", [TRACE, ""])
def test_a_call_that_one_alone_saw_to_differ_is_told_with_its_number(tmp_path: Path, trace: str) -> None:
    (tmp_path / "train.log").write_text(SAW.format(rank=2) + trace)
    incident = analyze(tmp_path).incidents[0]
    assert (incident.verdict.cause, incident.verdict.ranks) == ("collective_mismatch", [])
    assert "ank 2 announced all_reduce #41" in incident.verdict.summary and "rank 3" in incident.verdict.summary
    assert incident.blast_radius.ranks_waiting == 0
    first = actions(incident)[0]
    assert ("/srv/j/fit.py:114" in first.target, "sed -n" in (first.command or "")) == (bool(trace), bool(trace))
    assert sum(one.kind == "check_code" for one in incident.actions) == 1


OLD = "[E ProcessGroupNCCL.cpp:821] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1803457 milliseconds before timing out.\n"


@pytest.mark.parametrize(
    ("who", "says"),
    [
        ((0, 3), "anks 0 and 3, as the group counts them, timed out"),
        ((5,), "ank 5, as the group counts them, timed out"),
    ],
)
def test_who_gave_up_is_told_as_the_group_counts(tmp_path: Path, who: tuple[int, ...], says: str) -> None:
    (tmp_path / "train.log").write_text("".join(OLD.format(rank=rank) for rank in who))
    verdict = analyze(tmp_path).incidents[0].verdict
    assert says in verdict.summary and (verdict.ranks, verdict.suspects.ranks) == ([], [])


def test_members_of_several_groups_of_one_number_are_counted_alone(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.log").write_text(OLD.format(rank=0))
    assert "as the group counts" not in analyze(tmp_path).incidents[0].verdict.summary
