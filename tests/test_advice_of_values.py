"""What is advised of bad values passes on what the records hold: how many are bad, which samples, at which rate, what a check said, and
what is at hand before what the next run may leave."""

import json
from pathlib import Path
from typing import Any

import pytest

from forensics import Report, analyze
from forensics.detectors.hardware import odd_telemetry
from forensics.detectors.numerics import bad_scale, first_anomaly
from forensics.model.incident import Action
from reports import terminal
from reports.answer import actions
from tests.log_cases import case
from tests.tensor_rows import Job

INF = float("inf")


def first(report: Report) -> Action:
    return actions(report.incidents[report.primary])[0]


def text(report: Report, language: Any = "en") -> str:
    return " ".join(terminal.render(report, color=False, width=None, language=language).split())


def written(folder: Path, **files: str) -> Report:
    for name, lines in files.items():
        (folder / f"{name}.log").write_text(lines)
    return analyze(folder)


# --- tensors -------------------------------------------------------------------------------------------------------------


def advised(job: Job, ranks: int = 3) -> list[tuple[str, str, str]]:
    [one] = first_anomaly.DETECTOR.detect(job.case(expected=range(ranks)))
    return [(action.kind, str(action.target), str(action.reason)) for action in one.actions]


def test_who_alone_got_it_bad_has_its_memory_looked_at_before_its_links() -> None:
    job = Job(step=3)
    job.reduce({0: ("ok", "ok"), 1: ("ok", "nan"), 2: ("ok", "ok")}, members=range(3), call=7)
    told = advised(job)
    assert [kind for kind, *_ in told[:2]] == ["inspect_hardware", "inspect_network"]
    assert "ranks 0 and 2 got it finite" in told[0][2]


def test_of_a_message_with_two_ends_the_link_stays_first() -> None:
    job = Job(step=3)
    job.message(0, 1, "ok", "nan", call=2)
    assert next(kind for kind, *_ in advised(job, 2)) == "inspect_network"


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_copy_that_went_bad_is_looked_at_and_a_part_of_a_parameter_is_none(is_whole: bool) -> None:
    job = Job()
    for step in (0, 1):
        for rank in range(3):
            size = 1.0 if is_whole else 1.0 + rank
            held: dict[str, Any] = {"min": -size, "max": size, "l2norm": 4 * size, "nan_count": 0, "inf_count": 0}
            bad = rank == 1 and step == 1
            job.row(rank, "param.weight", "nan" if bad else held, module="norm", op="LayerNorm", step=step)
            job.op(rank, "norm", "ok", "nan" if bad else "ok", op="LayerNorm", step=step)
    kinds = [kind for kind, *_ in advised(job)]
    assert kinds == (["inspect_hardware", "rollback"] if is_whole else ["rollback"])


@pytest.mark.parametrize("largest", [0.25, 3e38])
def test_the_device_is_tested_for_what_no_sum_of_its_inputs_gives_though_it_was_gone(largest: float) -> None:
    job = Job()
    held: dict[str, Any] = {"min": -largest, "max": largest, "absmax": largest, "nan_count": 0, "inf_count": 0}
    for step in range(3):
        for rank in range(3):
            bad = rank == 1 and step == 1
            job.row(rank, "param.weight", held, module="fc", op="Linear", step=step, shape="[8, 8]", dtype="float32")
            job.row(rank, "input", held, module="fc", op="Linear", step=step, shape="[4, 8]", dtype="float32")
            job.row(
                rank,
                "output",
                "nan" if bad else "ok",
                module="fc",
                op="Linear",
                step=step,
                shape="[4, 8]",
                dtype="float32",
            )
    told = advised(job)
    assert told[0][0] == "ignore"
    assert [kind for kind, *_ in told[1:]] == (["inspect_hardware"] if largest < 1 else [])


def updated(is_used: bool) -> Job:
    """Rank 1's weight is bad after the update of step 1; in it, or between the updates."""
    job = Job()
    for step in range(2):
        for rank in range(3):
            held: dict[str, Any] = {
                "min": -1.0 - rank,
                "max": 1.0,
                "absmax": 1.0 + rank,
                "nan_count": 0,
                "inf_count": 0,
            }
            bad = rank == 1 and step == 1
            job.row(rank, "param.weight", "nan" if bad and not is_used else held, module="fc", op="Linear", step=step)
            job.op(rank, "fc", "ok", "nan" if bad and not is_used else "ok", op="Linear", step=step)
            job.row(rank, "param.weight", "nan" if bad else held, module="fc", op="step", phase="optimizer", step=step)
    return job


def test_what_an_update_made_bad_has_the_optimizers_state_looked_at_before_the_device() -> None:
    told = advised(updated(is_used=True))
    assert [kind for kind, *_ in told] == ["check_code", "rollback", "inspect_hardware"]
    assert "optimizer's state" in told[0][1] and "its update made it bad" in told[0][2]


def test_what_went_bad_between_two_updates_has_its_memory_looked_at() -> None:
    assert next(kind for kind, *_ in advised(updated(is_used=False))) == "inspect_hardware"


def test_how_large_the_inputs_were_and_how_many_values_are_bad_is_told() -> None:
    job = Job(step=2)
    for rank in range(3):
        job.op(rank, "norm", {"absmax": 0.25, "nan_count": 0, "inf_count": 0}, {"nan_count": 64 if rank == 1 else 0, "inf_count": 0, "absmax": 1.0}, op="L2", numel=1024)  # fmt: skip
    [(_, _, reason), *_] = advised(job)
    assert "at most 0.25" in reason and "64 of 1,024" in reason


@pytest.mark.parametrize("is_zero", [True, False])
def test_what_gives_zeros_on_one_rank_comes_before_the_recipe_of_all(is_zero: bool) -> None:
    rows = [
        {"rank": rank, "step": step, "seq": step, "phase": "forward", "module": "up", "op": "Linear", "tensor": "input", "format": "e4m3",
         "amax": 0.0 if rank == 2 and step == 3 and is_zero else 8.0, "scale": INF if rank == 2 and step == 3 else 0.5,
         "absmax": 0.0 if rank == 2 and step == 3 and is_zero else 8.0}
        for rank in range(4) for step in range(4)
    ]  # fmt: skip
    [found] = bad_scale.DETECTOR.detect(case(tensors=rows))
    assert [one.kind for one in found.actions] == (["check_code", "check_config"] if is_zero else ["check_config"])


# --- lines ---------------------------------------------------------------------------------------------------------------


def test_a_run_whose_first_step_was_finite_is_not_sent_to_its_beginning(tmp_path: Path) -> None:
    steps = [f"step {step} loss {'nan' if step else 3.1} grad_norm 0.5" for step in range(8)]
    report = written(tmp_path, rank_0="\n".join(steps))
    told = report.incidents[0].actions
    assert not any(one.kind == "rollback" or "begins with" in one.target for one in told)
    assert any("first update" in one.target and "step 0 was finite" in one.reason and one.look for one in told)


RAISED = (
    'Traceback (most recent call last):\n  File "/app/fit.py", line 88, in step\n    guard(value, batch)\n'
    '  File "/app/guard.py", line 21, in guard\n    raise ValueError(said)\n{said}\n'
)


LOST = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:41822\n"


def test_what_a_check_said_of_its_batch_is_passed_on_with_the_line_of_the_check(tmp_path: Path) -> None:
    said = "FloatingPointError: [rank2] non-finite local loss nan at step 9, shard 17 rows 40-43"
    lines = {
        f"rank_{rank}": "\n".join(f"[rank{rank}] step {step} local loss {3 - step / 9 + rank / 50:.4f}" for step in range(9)) + "\n"
        + (RAISED.format(said=said) if rank == 2 else LOST)
        for rank in range(4)
    }  # fmt: skip
    report = written(tmp_path, **lines, note="world 4 dp 4, every rank a replica\n")
    data = [one for one in report.incidents[0].actions if one.kind == "check_data"]
    assert report.verdict.ranks == [2]
    assert "shard 17 rows 40-43" in data[0].reason and "/app/guard.py" in (data[0].command or "")


@pytest.mark.parametrize("grows", [True, False])
def test_samples_of_a_spike_are_told_where_lines_count_them(tmp_path: Path, grows: bool) -> None:
    lines = [
        f" iteration {at:8d}/ 500 | consumed samples: {512 * at if grows else 512:8d} | learning rate: 3.000E-04 | lm loss: {41 if at in (14, 15) else 2.5 + at * 7 % 5 / 100:.6E} | grad norm: 0.500 |"
        for at in range(1, 30)
    ]
    told = first(written(tmp_path, train="\n".join(lines) + "\n"))
    assert told.kind == "check_data" and "learning rate was 0.0003" in told.reason
    assert ("6,656 to 7,680 consumed samples" in told.target) == grows


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_to_look_for_is_said_without_a_command_too(tmp_path: Path, language: str) -> None:
    lines = [
        f"step {at} loss {40 if at in (14, 15) else 2.5 + at * 7 % 5 / 100:.4f} grad_norm 0.5" for at in range(1, 30)
    ]
    report = written(tmp_path, train="\n".join(lines) + "\n")
    assert first(report).command is None
    assert ("all masked" if language == "en" else "全部被掩码") in text(report, language)


def test_a_scale_that_collapsed_tells_the_rate_of_that_time(tmp_path: Path) -> None:
    scale, lines = 65536.0, []
    for step in range(160):
        if step >= 110:
            scale /= 2
        lines.append(f"step {step} loss {3 - step / 100:.4f} loss_scale {scale:g} lr 2.5e-04")
    told = first(written(tmp_path, train="\n".join(lines) + "\n"))
    assert told.kind == "check_config" and "0.00025" in told.reason and told.look and told.then


AGAIN = (
    "ERROR:megatron.core.rerun_state_machine:Unexpected result nan on rank 1 at iteration #6 invocation #2 (message='found NaN in local grad "
    "norm for bucket #0 in backward pass before data-parallel communication collective')\n"
    "ERROR:megatron.core.rerun_state_machine:Rank 1, node gpu-08, device 1, iteration #6: First rerun: unexpected result is {how} within the "
    "tolerance (nan = nan). Need to rerun on a different GPU to verify correctness\n"
)


def test_a_step_that_gave_the_same_on_its_device_is_repeated_on_another(tmp_path: Path) -> None:
    told = first(written(tmp_path, train=AGAIN.format(how="reproducible")))
    assert (told.kind, told.target) == ("inspect_hardware", "gpu-08")
    assert "another one" in told.reason and "gpu-08" in (told.command or "")


def test_a_first_run_alone_sends_nobody_to_a_device(tmp_path: Path) -> None:
    report = written(tmp_path, train=AGAIN.format(how="reproducible").splitlines()[0] + "\n")
    assert not any(one.kind == "inspect_hardware" for one in report.incidents[0].actions)


FORWARD = (
    "[W python_anomaly_mode.cpp:104] Warning: Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n"
    '  File "/app/norms.py", line 51, in unit\n    return x / x.pow(2).sum().sqrt()\n (function _print_stack)\n'
)


def test_the_line_that_is_told_is_read_before_the_next_run_is_set_up(tmp_path: Path) -> None:
    told = first(written(tmp_path, train=FORWARD))
    assert told.kind == "check_code" and "/app/norms.py" in (told.command or "")


@pytest.mark.parametrize(
    "raised", ["", 'Traceback (most recent call last):\n  File "/app/fit.py", line 169, in run\n    loss.backward()\n']
)
def test_no_parameter_took_over_what_autograd_found_on_the_way_back(tmp_path: Path, raised: str) -> None:
    kinds = [one.kind for one in written(tmp_path, train=FORWARD + raised).incidents[0].actions]
    assert "restart_job" in kinds and "rollback" not in kinds


def test_without_a_line_what_the_next_run_leaves_stays_first(tmp_path: Path) -> None:
    lines = [f"step {at} loss {'nan' if at > 20 else 2.5} grad_norm 0.5" for at in range(1, 30)]
    assert first(written(tmp_path, train="\n".join(lines) + "\n")).kind == "collect_more"


def test_on_what_it_depends_whether_a_proven_bad_value_comes_back_is_told(tmp_path: Path) -> None:
    for rank in range(4):
        rows = [
            {"rank": rank, "step": step, "phase": "forward", "module": "norm", "op": "L2", "tensor": tensor, "absmax": 0.5, "inf_count": 0,
             "nan_count": 4 if rank == 2 and step == 3 and tensor == "output" else 0}
            for step in range(4) for tensor in ("input", "output")
        ]  # fmt: skip
        (tmp_path / f"rank_{rank}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    report = analyze(tmp_path)
    assert report.verdict.ranks == [2]
    assert "decision look before the next start" in text(report)
    assert "device's error with that device" in text(report) and "该设备再现" in text(report, "zh")


def test_where_nothing_is_proven_no_decision_is_told(tmp_path: Path) -> None:
    lines = [f"step {at} loss {'nan' if at > 20 else 2.5} grad_norm 0.5" for at in range(1, 30)]
    assert "look before the next start" not in text(written(tmp_path, train="\n".join(lines) + "\n"))


# --- devices and calls ---------------------------------------------------------------------------------------------------


SMI = {"file": "smi.txt", "parsers": ["nvidia_smi_q"]}


def reports_of(metric: str, odd: float, usual: float, who: tuple[int, ...] = (3, 4)) -> list[dict[str, Any]]:
    return [
        {"pci": f"0000:{number:02x}:00.0", "metric": metric, "value": odd if number in who else usual, "file": "smi.txt", "line": number + 1}
        for number in range(16)
    ]  # fmt: skip


@pytest.mark.parametrize("metric", ["remapped rows/pending", "retired pages/pending page blacklist"])
@pytest.mark.parametrize(("who", "end"), [((3,), " -i 0000:03:00.0"), ((3, 4, 9), "")])
def test_memory_that_fails_is_looked_at_on_all_that_tell_of_it(metric: str, who: tuple[int, ...], end: str) -> None:
    [found] = odd_telemetry.DETECTOR.detect(case(devices=reports_of(metric, 1.0, 0.0, who), files=[SMI]))
    assert "None" not in found.summary and found.collect == ()
    assert ("(3 alike, with 0000:04:00.0, 0000:09:00.0)" in found.summary) == (len(who) == 3)
    [action] = found.actions
    assert (action.kind, action.command) == (
        "inspect_hardware",
        "nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT" + end,
    )
    assert "smi.txt" in action.target and all(f"0000:{number:02x}:00.0" in action.target for number in who)
    assert "Retired Pages" in action.look and "Remapped Rows" in action.look


def test_heat_alone_sends_nobody_to_a_device() -> None:
    [found] = odd_telemetry.DETECTOR.detect(case(devices=reports_of("temperature.gpu", 88, 40)))
    assert found.actions == () and found.collect


@pytest.mark.parametrize("short", [(3,), (3, 4, 5, 6)])
def test_whose_records_end_before_those_of_most_is_told(tmp_path: Path, short: tuple[int, ...]) -> None:
    for rank in range(8):
        rows = [
            {"header": {"id": "0x51", "rank": rank, "n_ranks": 8, "nnodes": 1},
             "metadata": {"inspector_output_format_version": "v4.0", "dump_timestamp_us": 1772359200000000 + 1000000 * at, "hostname": "h", "pid": 40 + rank},
             "coll_perf": {"coll": "AllReduce", "coll_sn": at, "coll_msg_size_bytes": 1024, "coll_exec_time_us": 90, "coll_algobw_gbs": 1.0, "coll_busbw_gbs": 1.0}}
            for at in range(1, 20 if rank in short else 21)
        ]  # fmt: skip
        (tmp_path / f"h-pid{40 + rank}.log").write_text("\n".join(map(json.dumps, rows)) + "\n")
    report = analyze(tmp_path)
    assert (report.verdict.kind, report.verdict.ranks) == ("unknown", [])
    assert ("The records of rank 3 end before those of ranks" in report.verdict.summary) == (len(short) == 1)
