"""How a process failed, as a few lines tell that somebody pastes: what other versions print is heard alike, also where it begins in the
middle or is cut, and what only looks like it is no failure and accuses nobody."""

from pathlib import Path

import pytest

from tests.pasted import verdict_of

NOBODY: list[int] = []


TENSOR = "OOM when allocating tensor with shape[64,12]"
ON_GPU = f"{TENSOR} and type float on /job:w/replica:0/task:0/device:GPU:3 by allocator GPU_3_bfc"


@pytest.mark.parametrize(
    "text",
    [
        f"  (0) Resource exhausted:  {ON_GPU}\n\t [[node a/b]]\n0 derived errors ignored.\n",
        f"2026-01-31 10:11:12.0: W tensorflow/core/framework/op_kernel.cc:14] OP_REQUIRES failed at c.cc:6 : RESOURCE_EXHAUSTED: {ON_GPU}\n",
        f"ResourceExhaustedError (see above for traceback): {TENSOR}\n\t [[Node: a/b = Sub[_device=\"/job:w/task:0/gpu:0\"](c)]]\n",
        f"framework.errors_impl.ResourceExhaustedError: 2 root error(s) found.\n  (0) RESOURCE_EXHAUSTED:  {ON_GPU}\n",
        "  (1) Internal: Failed to allocate request for 4.30GiB (4617089843B) on device ordinal 2\n",
        "RuntimeError: cuda runtime error (2) : out of memory at /w/aten/src/THC/THCStorage.cu:5\n",
        "base.MXNetError: [10:11:12] src/pooled.h:7: cudaMalloc failed: out of memory\n",
        "MemoryError: Error allocating 4096 bytes of device memory (initialization error).\n",
    ],
)  # fmt: skip
def test_memory_of_a_device_runs_out_in_many_words(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "gpu_oom", NOBODY)


@pytest.mark.parametrize(
    "text",
    [
        f"Resource exhausted: {TENSOR} and type float on /job:w/replica:0/task:0/device:CPU:0 by allocator cpu\n",
        "Resource exhausted: received trailing metadata size exceeds limit\n",
        "2026-01-31 10:11:12.0: W tensorflow/core/bfc.cc:27] Ran out of memory trying to allocate 2.2GiB. This is not a failure.\n",
    ],
)
def test_what_another_resource_lacks_is_no_memory_of_a_device(tmp_path: Path, text: str) -> None:
    assert verdict_of(tmp_path, text).cause != "gpu_oom"


TOLD = '  File "/w/train.py", line {line}, in main\n    {call}\n'
LIBRARY = '  File "/usr/lib/python3.10/site-packages/torch/nn/modules/module.py", line 11, in _call_impl\n    return forward_call(*args)\n'
HEAD = "Traceback (most recent call last):\n"
SPAWNED = f"{HEAD}{TOLD.format(line=8, call='spawn(main, 4)')}Exception: \n\n-- Process 2 terminated with the following error:\n"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + TOLD.format(line=9, call="for batch in loader:") + '  File "/usr/lib/python3.10/site-packages/torch/ut',
        SPAWNED + HEAD + TOLD.format(line=4, call="fit(model)") + LIBRARY,
        SPAWNED.replace("Exception: ", "torch.multiprocessing.spawn.ProcessRaisedException: ") + HEAD + LIBRARY,
        "    return forward_call(*args)\n" + TOLD.format(line=6, call="x = self.embed(x)") + "IndexError: index 7 is out of range\n",
        TOLD.format(line=6, call="x = self.embed(x)") + LIBRARY + "RuntimeError: mat1 and mat2 shapes cannot be multiplied (88x2",
        "  \tsize mismatch for head.weight: copying a param with shape torch.Size([7]) from checkpoint, the shape in curr",
        '\tMissing key(s) in state_dict: "a.bias", "b.bias". \n',
    ],
)  # fmt: skip
def test_an_exception_is_heard_without_its_head_or_its_end(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", NOBODY)


def test_what_is_cut_within_a_call_that_waits_may_be_of_others(tmp_path: Path) -> None:
    called = '  File "/usr/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py", line 11, in all_reduce\n    work.wait()\n'
    verdict = verdict_of(tmp_path, HEAD + TOLD.format(line=9, call="dist.all_reduce(x)") + called)
    assert (verdict.kind, verdict.cause) == ("crash", None)


@pytest.mark.parametrize(
    "text",
    [
        TOLD.format(line=9, call="watch()") + LIBRARY + "2026-01-31 10:11:12 INFO step 4 done\n",  # a stack that was printed
        "size mismatch for fc.weight: copying a param with shape torch.Size([8]) from checkpoint, the shape in current model is torch.Size([1]).\n",
    ],
)  # fmt: skip
def test_a_stack_or_a_remark_is_no_exception(tmp_path: Path, text: str) -> None:
    assert verdict_of(tmp_path, text).kind == "unknown"


@pytest.mark.parametrize(
    "words",
    [
        "synNodeCreateWithId failed for node: softmax_fwd with synStatus 1 [Invalid argument]. .",
        "synStatus=26 [Generic failure] Graph compile failed. ",
    ],
)
def test_a_graph_that_cannot_be_built_is_its_process_s_own(tmp_path: Path, words: str) -> None:
    verdict = verdict_of(tmp_path, f"[rank2]: RuntimeError: {words}\n")
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [2])


AGENT = '[ERROR] 2026-01-31 10:11:12,147 error_handler: {{\n  "message": {{\n    "message": "{words}",\n    "extr'
NO_STORE = "RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details."
ANY_ADDRESS = "The client socket has failed to connect to any network address of (node-0, 29500)."


@pytest.mark.parametrize(
    "text",
    [
        AGENT.format(words=NO_STORE),
        f"torch.distributed.elastic.rendezvous.api.{NO_STORE}\n",
        "RuntimeError: connect() timed out. Original timeout was 90000 ms.\n",
        f"[E131 10:11:12.345 socket.cpp:57] [c10d] {ANY_ADDRESS}\n",
        f"{HEAD}{LIBRARY}torch.distributed.DistNetworkError: {ANY_ADDRESS} The client socket has failed to connect to 10.0.0.7:29500 (errno: 113 - No route to host).\n",
        "WARNING:rendezvous:The node 'n1_7_0' has failed to shutdown the rendezvous 'a' due to an error of type RendezvousConnectionError.\n"
        + HEAD + LIBRARY,
    ],
)  # fmt: skip
def test_a_store_that_is_not_reached_before_anything_ran_is_of_the_launch(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("launch", "store_timeout", NOBODY, [])


def test_an_agent_s_report_of_a_worker_is_heard_though_it_is_cut(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, AGENT.format(words="KeyError: 'loss'"))
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", NOBODY)


def test_a_port_that_is_taken_is_of_the_launch(tmp_path: Path) -> None:
    text = "RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).\n"
    assert verdict_of(tmp_path, text).kind == "launch"


@pytest.mark.parametrize(
    "line",
    [
        "[W socket.cpp:6] [c10d] The client socket has failed to connect to [localhost]:29500 (errno: 99 - Cannot assign requested address).\n",
        "WARNING:rendezvous:The node 'n1_7_0' has failed to send a keep-alive heartbeat to the rendezvous 'a' due to an error of type RendezvousConnectionError.\n",
    ],
)
def test_what_is_tried_again_is_no_failed_launch(tmp_path: Path, line: str) -> None:
    assert verdict_of(tmp_path, line).kind == "unknown"


KEPT = "  0%|      | {step}/60210 [00:20<39:02,  2.2s/it][stage2.py:16:step] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale}, reducing to {scale}\n"


@pytest.mark.parametrize(
    ("text", "kind", "cause"),
    [
        ("".join(KEPT.format(step=at, scale=1) for at in range(88, 93)), "numerics", "loss_scale_collapse"),
        ("".join(KEPT.format(step=at, scale="1.0") for at in range(3)), "numerics", "loss_scale_collapse"),
        (KEPT.format(step=88, scale=1), "unknown", None),
        ("".join(KEPT.format(step=at, scale=1) for at in range(4)) + "".join(f"step {at} loss 2.{at}\n" for at in range(10, 40)), "unknown", None),
        ("".join(f" iteration {10 * at}/ 9000 | loss scale: {scale} | number of skipped iterations: {skipped} |\n" for at, scale, skipped in ((1, 8388608.0, 10), (2, 16384.0, 9))), "unknown", None),
    ],
)  # fmt: skip
def test_a_scale_is_at_its_end_where_no_overflow_can_lower_it(
    tmp_path: Path, text: str, kind: str, cause: str | None
) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause) == (kind, cause)


@pytest.mark.parametrize(
    ("losses", "step"),
    [((0.4, 41250.0, 90117.0, 33333.0), 5), ((0.4, 900.0, 1400.0, 2900.0), None), ((0.4, 41250.0, 0.5, 0.4), None)],
)
def test_one_line_before_is_enough_where_the_loss_leaps_beyond_doubt(
    tmp_path: Path, losses: tuple[float, ...], step: int | None
) -> None:
    verdict = verdict_of(
        tmp_path,
        "".join(f"INFO:global step {4 + at}: loss = {loss} (0.2 sec/step)\n" for at, loss in enumerate(losses)),
    )
    assert (verdict.first_anomaly.step if verdict.first_anomaly else None) == step


def test_an_infinite_loss_is_no_nan(tmp_path: Path) -> None:
    form = "INFO  Optimizer: [Epoch 6 36/67][Iteration {at}] Loss is {loss}. Current learning rate is 0.04.\n"
    text = "".join(form.format(at=at, loss=loss) for at, loss in ((7, 1.2), (8, 1.3), (9, "Infinity"), (10, 1.2)))
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "overflow", NOBODY)


@pytest.mark.parametrize(
    "text",
    [
        "/w/run.sh: line 18: 1918 Aborted                 (core dumped) litgpt pretrain $model --resume x\n",
        "/w/run.sh: line 18: 1918 Killed                  ./train_gpt2cu -i data\n",
        "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n",
        "2026-01-31 10:11:12.3: W tensorflow/core/framework/op_kernel.cc:13] OP_REQUIRES failed at mpi_ops.cc:42 : Aborted: Horovod has been shut down. This w",
    ],
)  # fmt: skip
def test_that_some_process_ended_is_heard_of_whoever_saw_it(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.ranks) == ("crash", NOBODY)


@pytest.mark.parametrize("command", ["tail -f train.log", "nvidia-smi dmon", "rsync -a train /backup"])
def test_what_a_script_began_beside_the_job_is_none_of_it(tmp_path: Path, command: str) -> None:
    assert verdict_of(tmp_path, f"/w/run.sh: line 8: 81 Killed                  {command}\n").kind == "unknown"


FAULT = "CUDA error: uncorrectable ECC error encountered\n"
WATCHDOG = "[E ProcessGroupNCCL.cpp:9] [Rank {rank}] NCCL watchdog thread terminated with exception: " + FAULT


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        (f"RuntimeError: {FAULT}\n{WATCHDOG.format(rank=1)}", [1]),
        (WATCHDOG.format(rank=3), [3]),
        (WATCHDOG.format(rank=1) + WATCHDOG.format(rank=3), NOBODY),
        (f"RuntimeError: {FAULT}", NOBODY),
        (f"RuntimeError: {FAULT}\n" + WATCHDOG.format(rank=1).replace("[Rank 1]", "[PG ID 2 PG GUID 7(tp_group) Rank 1]"), NOBODY),
    ],
)  # fmt: skip
def test_the_one_whose_watchdog_tells_of_its_device_is_named(tmp_path: Path, text: str, ranks: list[int]) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "gpu_fault", ranks)


RUNTIME = "[ERROR] {module}(71,fffe2a,python):2026-01-31-10:11:12.320.118 [mindspore/ccsrc/a.cc:7] {said}\n"
TASK = "DumpTaskExceptionInfo] Task fail infos task_id: 3, stream_id: 4, tid: 71, device_id: 1, retcode: {code}"


@pytest.mark.parametrize(
    ("text", "kind", "cause"),
    [
        ("        Kernel task happen error, retCode=0x26, [aicore exception].[FUNC:PreCheckTaskErr][FILE:task_in", "crash", "exception"),
        ("        Kernel task happen error, retCode=0x31, [vector core exception].\n", "crash", "exception"),
        (RUNTIME.format(module="DEVICE", said=TASK.format(code="507015 (aicore exception)")), "crash", "exception"),
        (RUNTIME.format(module="MD", said="InterruptMaster] Task is terminated with err msg(more detail in info level log):Syntax error."), "crash", "exception"),
        (RUNTIME.format(module="DEVICE", said=TASK.format(code="507048")), "unknown", None),  # it waited for others
        ("        Kernel task happen error, retCode=0x25, [aicore timeout].\n", "unknown", None),
    ],
)  # fmt: skip
def test_a_task_of_an_npu_that_failed_is_told_from_one_that_waited(
    tmp_path: Path, text: str, kind: str, cause: str | None
) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks) == (kind, cause, NOBODY)


@pytest.mark.parametrize(
    ("text", "kind", "cause"),
    [
        ("InvalidArgumentError (see above for traceback): Nan in summary histogram for: enc/kernel_0\n", "numerics", "nan_birth"),
        ("framework.errors_impl.InvalidArgumentError: LossTensor is inf or nan. : Tensor had NaN values\n", "numerics", "nan_birth"),
        ("framework.errors_impl.InvalidArgumentError: check of logits : Tensor had Inf values\n", "numerics", "overflow"),
        ("ERROR:tensorflow:Model diverged with loss = NaN.\n", "numerics", "nan_birth"),
        ("ERROR: could not read loss nan.json\n", "unknown", None),
    ],
)  # fmt: skip
def test_tensorflow_s_checks_of_numbers_are_heard(tmp_path: Path, text: str, kind: str, cause: str | None) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks) == (kind, cause, NOBODY)


NO_SYSTEM = "NCCL error in: /w/torch/lib/c10d/ProcessGroupNCCL.cpp:84, unhandled system error, NCCL version 2.7.8"


@pytest.mark.parametrize(
    "text",
    [
        f"RuntimeError: {NO_SYSTEM}\n",
        f"{HEAD}{TOLD.format(line=9, call='dist.all_reduce(x)')}RuntimeError: {NO_SYSTEM}\nncclSystemError: System call (socket, malloc) failed.\n",
    ],
)  # fmt: skip
def test_an_error_of_a_library_that_was_raised_ended_its_process(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.ranks, verdict.hosts) == ("crash", NOBODY, [])


MPIEXEC = "mpiexec noticed that process rank 3 with PID 4711 on node n07 exited{rest}"


@pytest.mark.parametrize("rest", ["\n", " on\n", " on signal"])
def test_a_launcher_that_is_cut_before_it_says_how_one_ended(tmp_path: Path, rest: str) -> None:
    verdict = verdict_of(tmp_path, MPIEXEC.format(rest=rest))
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", None, [])


def test_what_the_next_line_says_of_its_end_is_its_end(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, MPIEXEC.format(rest=" on\nsignal 9 (Killed).\n"))
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "killed", [3])


@pytest.mark.parametrize(
    "text",
    [
        "^C*** Aborted at 1767349153 (unix time) ***\n",
        "step 4 of 90\n^C^C\n",
        "^C[n07:4711] the launcher is ending\n",
        "^CKilling the rest\n",
    ],
)
def test_a_terminal_shows_that_somebody_pressed_the_key(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.cause, verdict.ranks) == ("stopped_by_hand", [])


@pytest.mark.parametrize(
    "text",
    [
        "^C to quit, ^Z to suspend\n",
        "Press ^C to stop\n",
        "RuntimeError: NCCL error in: /x.cpp:1, unhandled system error\n^CTerminated\n",
        "[rank1]: KeyError: 5\n^C\n",
    ],
)
def test_a_key_that_nobody_pressed_or_after_a_failure_explains_nothing(tmp_path: Path, text: str) -> None:
    assert verdict_of(tmp_path, text).cause != "stopped_by_hand"


@pytest.mark.parametrize(
    "command",
    [
        "$ kubectl -n ml logs -f fit-worker-0",
        "ana@bastion:~$ docker compose logs --follow trainer",
        "root@n07:/var/log# tail -n 50 -f fit.log",
        "$ ssh n07 'journalctl -fu fit'",
    ],
)
def test_the_key_ends_the_looking_and_not_what_is_looked_at(tmp_path: Path, command: str) -> None:
    assert verdict_of(tmp_path, f"{command}\nstep 3 of 90\nstep 4 of 90\n^C\n").cause != "stopped_by_hand"


@pytest.mark.parametrize(
    "text",
    [
        "$ torchrun --nproc-per-node 8 fit.py --logs out\nstep 4 of 90\n^C\n",
        "$ python fit.py | tail -f\nstep 4 of 90\n^C\n",
        "$ kubectl logs -f fit-0\nstep 3 of 90\n^C\n$ python fit.py\nstep 4 of 90\n^C\n",
    ],
)
def test_the_key_ends_what_runs_at_the_prompt(tmp_path: Path, text: str) -> None:
    assert verdict_of(tmp_path, text).cause == "stopped_by_hand"


PROCESSOR = "[  301.5] NVRM: {function}: {what}\n"


@pytest.mark.parametrize(
    ("function", "what", "cause"),
    [
        ("kfspWaitForResponse_IMPL", "FSP command timed out", "gpu_fault"),
        ("kflcnWaitForHalt_GA102", "Timeout waiting for Falcon to halt", "gpu_fault"),
        ("ksec2Boot_GH100", "SEC2 did not respond", "gpu_fault"),
        ("kfspSendCommands_GH100", "version=0x1, size=0x35c", None),
        ("kbusMap_GH100", "timed wait begins", None),
    ],
)
def test_a_processor_of_a_device_that_answers_nothing(
    tmp_path: Path, function: str, what: str, cause: str | None
) -> None:
    verdict = verdict_of(tmp_path, PROCESSOR.format(function=function, what=what), "dmesg.txt")
    assert (verdict.cause, verdict.ranks) == (cause, [])


@pytest.mark.parametrize(
    "text",
    [
        "[rank6]:[E701 22:47:05.6 ProcessGroupNCCL.cpp:1896] [PG ID 1 PG GUID 1 Rank 6] Process group watchdog thread terminated with "
        "exception: [Rank 6] Watchdog caught co",
        "[E321 02:07:08.4 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective opera",
        "[rank2]:[E ProcessGroupNCCL.cpp:607] [Rank 2] Watchdog caught collective operation\n",
    ],
)
def test_a_watchdog_whose_words_are_cut_waited_for_others(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.ranks) == ("hang", [])


def test_another_watchdog_that_caught_something_waited_for_nobody(tmp_path: Path) -> None:
    assert verdict_of(tmp_path, "[I run.py:7] Watchdog caught up with 3 heartbeats\n").kind == "unknown"
