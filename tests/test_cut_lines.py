"""Lines that end in the middle, as a few thousand characters of somebody's log do, are heard as far as they go, and name nobody for it."""

from pathlib import Path

import pytest

from tests.pasted import verdict_of

DIFFER = (
    "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=9, OpType=ALLREDUCE, "
    "TensorShape=[4, 2], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)), but Rank 3 is running collective: "
    "CollectiveFingerPrint(SequenceNumber=9, OpType=ALLREDUCE, TensorShape=[6, 2], TensorDtypes=Float).Collectives differ in the following aspects: \t Tensor shapes"
)


@pytest.mark.parametrize(
    "end",
    ["on ranks", "OpType=ALLR", "device=cuda", "but Rank 3 is run", "[6, ", "TensorDtypes=Float)", ".Coll", " differ"],
)
def test_calls_that_differ_are_heard_wherever_the_line_ends(tmp_path: Path, end: str) -> None:
    verdict = verdict_of(tmp_path, DIFFER[: DIFFER.rindex(end) + len(end)])
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "collective_mismatch", [])


MARIAN = "[2026-01-31 10:1{at}:12] Ep. 1 : Up. {at}00 : Sen. 45,912 : Cost {cost} : Time 36.01s : 5408.30 words/s : gNorm 19.1\n"


@pytest.mark.parametrize(
    "form",
    [
        MARIAN,
        MARIAN.replace("{cost}", "{cost} * 1,861,324 @ 2,624 after 1,861,324"),
        "Iter {at}00, Minibatch Cost= {cost}, Training Accuracy= 0.5\n",
        "Cost after iteration {at}00: {cost}\n",
        "step {at}00, train cost: {cost}\n",
    ],
)
def test_a_cost_that_is_no_number_is_a_loss(tmp_path: Path, form: str) -> None:
    verdict = verdict_of(
        tmp_path, "".join(form.format(at=at, cost=cost) for at, cost in ((1, "318.27"), (2, "nan"), (3, "nan")))
    )
    assert (verdict.kind, verdict.first_anomaly and verdict.first_anomaly.step) == ("numerics", 200)


@pytest.mark.parametrize("form", ["step {at} cost {cost}\n", "step {at}, time cost: {cost}\n"])
def test_a_cost_that_is_a_number_may_be_a_time(tmp_path: Path, form: str) -> None:
    costs = (0.31, 0.3, 0.3, 0.29, 9.2, 0.3)
    text = "".join(form.format(at=at, cost=cost) for at, cost in enumerate(costs))
    assert verdict_of(tmp_path, text).kind != "numerics"


def test_a_cost_of_an_evaluation_is_none_of_the_training(tmp_path: Path) -> None:
    text = "".join(f"step {at}, val cost: nan, loss: 2.0\n" for at in (100, 200, 300))
    assert verdict_of(tmp_path, text).kind == "unknown"


UNUSED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that"
)


@pytest.mark.parametrize(
    "text",
    [
        f"untimeError: {UNUSED} your module has parameters\n",
        f"[2026-01-31 10:11:12.227][ERROR](some.engine.Trainer) - Exception: {UNUSED}\n",
        "making sure all `forward` function outputs participate in calculating loss.\nParameter indices which did not receive grad for rank 2: 4 5\n",
        "Parameters which did not receive grad for rank 2: layer.1.weight\n",
        "Parameter at index 23 with name layer.1.weight has been marked as ready twice. This means that\n",
        "[2026-01-31 10:11:12.227][ERROR](some.engine.Trainer) - Exception: Expected to mark a variable ready only once. This\n",
    ],
)
def test_what_a_framework_checks_itself_is_heard_without_its_class(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [])


@pytest.mark.parametrize(
    "text", ["parameters which receive no grad: frozen for 3 steps\n", "Exception: ignored, going on\n"]
)
def test_a_remark_of_parameters_is_no_failure(tmp_path: Path, text: str) -> None:
    assert verdict_of(tmp_path, text).kind == "unknown"


VLLM = "(Worker pid=412, ip=10.1.3.21) ERROR 02-06 13:09:51 worker_base.py:467]"


@pytest.mark.parametrize(
    "text",
    [
        '    return step(batch)\n  File "/job/shapes.py", line 9, in step\n    raise ValueError(shape)\nValueError: bad shape\n',
        f'{VLLM}   File "/job/shapes.py", line 9, in step\n{VLLM}     raise ValueError(shape)\n{VLLM} ValueError: bad shape\n',
        'ray.exceptions.RayTaskError(Exception): ray::score() (pid=31, ip=10.0.0.7)\n  File "/job/score.py", line 9, in score\n    raise Exception("no answer")\nException: no answer\n',
        'ray.exceptions.RayTaskError: ray::score() (pid=31, ip=10.0.0.7)\n  File "/job/score.py", line 9, in score\n    raise Exception("no answer")\nException: no answer\n',
    ],
)
def test_a_traceback_whose_head_is_cut_off_tells_where_it_was_raised(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [])


@pytest.mark.parametrize(
    "text",
    [
        '  File "/job/shapes.py", line 9, in step\n    work.wait()\nstep 3 loss 2.0\nstep 4 loss 1.9\n',
        '  File "/job/shapes.py", line 9, in step\n  File "/job/shapes.py", line 10, in ste',
    ],
)
def test_frames_of_which_nothing_was_raised_are_no_failure(tmp_path: Path, text: str) -> None:
    assert verdict_of(tmp_path, text).kind == "unknown"


WATCHDOG = "[rank5]:[E703 04:12:57.19 ProcessGroupNCCL.cpp:{at}] [PG ID 0 PG GUID 0(default_pg) Rank 5] "
FAILED = f"{WATCHDOG} failure detected by watchdog at work sequence id: 984 PG status: last enqueued work: 986, last completed work: 983\n"


@pytest.mark.parametrize(
    "rest", ["", WATCHDOG + "ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1\n"]
)
def test_what_the_watchdog_calls_a_failure_is_a_wait_given_up(tmp_path: Path, rest: str) -> None:
    verdict = verdict_of(tmp_path, (FAILED + rest).format(at=2268))
    assert (verdict.kind, verdict.ranks) == ("hang", [])


def test_what_the_watchdog_calls_a_failure_is_the_error_that_it_tells(tmp_path: Path) -> None:
    error = "Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered\n"
    assert verdict_of(tmp_path, (FAILED + WATCHDOG + error).format(at=2268)).kind == "crash"


@pytest.mark.parametrize(
    "text",
    [
        "Failed to download s3://corpus/train/index.json -> /tmp/x/index.json. Got errors:\n[ClientError('Object not found!')]",
        "failed to download gs://corpus/shard.00001.mds: 404",
        "Failed to upload /ckpt/step5 to oci://runs/step5: 403",
    ],
)
def test_who_cannot_fetch_from_a_store_of_objects_is_its_own_failure(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(
        tmp_path, f"RuntimeError: {text}\nERROR:composer.cli.launcher:Rank 0 crashed with exit code 1.\n"
    )
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [0])


def test_a_download_that_is_tried_again_is_no_failure(tmp_path: Path) -> None:
    text = "WARNING: Failed to download s3://corpus/train/index.json, retrying\nstep 3 loss 2.0\nstep 4 loss 1.9\n"
    assert verdict_of(tmp_path, text).kind == "unknown"


@pytest.mark.parametrize(
    "words", ["internal error - please report this", "unhandled system error (run with NCCL_DEBUG=INFO"]
)
def test_what_a_wrapper_of_a_library_raises_ends_its_process(tmp_path: Path, words: str) -> None:
    text = f'{VLLM}   File "/opt/nccl_wrapper.py", line 9, in CHECK\n{VLLM}     raise RuntimeError(f"NCCL error: {{text}}")\n{VLLM} RuntimeError: NCCL error: {words}\n'
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.ranks) == ("crash", [])


EPOCH = "Epoch: [1][{at}/5005]\tTime {time} (0.3)\tData {data} (0.2)\tLoss 1.2 (1.1)\n"


@pytest.mark.parametrize("form", [EPOCH, "step {at} | loss 1.2 | step time {time}s\n"])
def test_a_few_steps_that_all_take_many_times_as_long_are_slow(tmp_path: Path, form: str) -> None:
    times = (0.42, 0.2, 0.17, 0.17, 8.6, 8.9, 8.5)
    text = "".join(form.format(at=20 * at, time=time, data=round(time - 0.1, 2)) for at, time in enumerate(times))
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("slow", "throughput_drop", [])


@pytest.mark.parametrize(
    "times",
    [(0.42, 0.2, 0.17, 0.17, 8.6, 8.9, 0.2), (0.2, 0.2, 0.2, 0.2, 0.3, 8.9, 8.8), (9.0, 8.8, 8.7, 0.2, 0.2, 0.2)],
)
def test_a_few_steps_are_not_slow_by_two_of_them(tmp_path: Path, times: tuple[float, ...]) -> None:
    text = "".join(EPOCH.format(at=20 * at, time=time, data=0.1) for at, time in enumerate(times))
    assert verdict_of(tmp_path, text).kind == "unknown"
