"""Bundles in which nothing tells of a process: it is said what they hold, and nobody is asked for stacks of a table."""

import json
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Incident

TABLE = """\
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        1024           256     float     sum      -1    19.20    0.05    0.10      0    19.01    0.05    0.10      0
        2048           512     float     sum      -1    19.90    0.10    0.19      0    19.70    0.10    0.19      0
"""
CSV = "rank,step,module,tensor,absmax,nan_count\n0,1,fc,output,2.5,0\n0,2,fc,output,2.5,0\n"
ROWS = "".join(
    json.dumps({"rank": 0, "step": step, "module": "fc", "tensor": "output", "absmax": 2.5, "nan_count": 0}) + "\n"
    for step in range(3)
)


def told(folder: Path, files: dict[str, str]) -> Incident:
    for name, text in files.items():
        (folder / name).write_text(text)
    return analyze(folder).incidents[0]


@pytest.mark.parametrize("text", ["{}", "{}\n", "[]"])
def test_a_file_that_holds_nothing_is_called_empty(tmp_path: Path, text: str) -> None:
    one = told(tmp_path, {"rank0_stack.json": text})
    assert one.verdict.kind == "unknown" and "rank0_stack.json holds nothing" in one.verdict.summary
    assert [(action.kind, action.command) for action in one.actions] == [("collect_more", None)]


@pytest.mark.parametrize("name", ["table.txt", "train.log"])
def test_no_stacks_are_asked_of_a_table_of_a_benchmark(tmp_path: Path, name: str) -> None:
    one = told(tmp_path, {name: TABLE})
    assert one.verdict.kind == "unknown" and "nccl-tests alone: 2 sizes" in one.verdict.summary
    assert "py-spy" not in str(one.actions) and "gather" not in str(one.actions)


@pytest.mark.parametrize("files", [{"stats.jsonl": ROWS}, {"stats.csv": CSV}])
def test_what_was_measured_alone_asks_for_the_log_of_its_run(tmp_path: Path, files: dict[str, str]) -> None:
    one = told(tmp_path, files)
    assert "tells of no process" in one.verdict.summary and one.actions[0].target.startswith("the log of the run")


CALLS = json.dumps(
    {"0": [["Functional.relu.0.forward"], ["File /srv/app/t.py, line 9, in step, \n relu(x)"]]}, indent=1
)
HOLDS = json.dumps({"Functional.relu.0.forward": None, "Functional.relu.1.forward": "Module.net.Net.forward.0"})


@pytest.mark.parametrize(
    "files", [{"stack.json": CALLS}, {"construct.json": HOLDS}, {"stack.json": CALLS, "construct.json": HOLDS}]
)
def test_beside_a_dump_the_dump_is_asked_for(tmp_path: Path, files: dict[str, str]) -> None:
    one = told(tmp_path, files)
    assert one.verdict.kind == "unknown" and "no value" in one.verdict.summary
    assert "dump.json" in one.actions[0].target and not {"stack", "kernel"} & {*one.actions[0].setup}


def test_a_dump_asks_for_no_dump(tmp_path: Path) -> None:
    entry = {"input_args": [], "output": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4], "Max": 1.0, "Min": 0.0, "Mean": 0.5, "Norm": 1.0}]}  # fmt: skip
    dump = {"task": "statistics", "level": "L1", "dump_data_dir": None, "data": {"Functional.relu.0.forward": entry}}
    one = told(tmp_path, {"dump.json": json.dumps(dump), "stack.json": CALLS})
    assert "dump.json" not in str(one.actions)


GAUGE = 'XPU_TIMER_COMMON_HANG{{ip="10.0.0.1",job_name="j",local_rank="{rank}",pod_name="p-0",rank="{rank}"}} {value}\n'


@pytest.mark.parametrize(("values", "is_told"), [([0, 0, 0, 0], True), ([0, 0, 1, 0], False)])
def test_a_timer_that_saw_no_kernel_hang_is_told(tmp_path: Path, values: list[int], is_told: bool) -> None:
    text = "# TYPE XPU_TIMER_COMMON_HANG gauge\n" + "".join(
        GAUGE.format(rank=rank, value=value) for rank, value in enumerate(values)
    )
    one = told(tmp_path, {"metrics.txt": text})
    assert (one.verdict.kind == "unknown" and "was 0 of ranks 0-3" in one.verdict.summary.lower()) is is_told


@pytest.mark.parametrize(
    "log",
    [
        "hello from the launcher\n",
        "step 3 loss 2.5\nstep 4 loss 2.4\n",
        "n1:41:77 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.4<0>\n",
    ],
)
def test_beside_anything_of_a_process_the_old_advice_stays(tmp_path: Path, log: str) -> None:
    one = told(tmp_path, {"table.txt": TABLE, "out.log": log})
    assert "nccl-tests alone" not in one.verdict.summary and "py-spy dumps" in one.actions[0].target


WARNS = 'n3:52:52 [0] src/init.cpp:126 NCCL WARN Missing "{name}" from environment which can lead to low performance or a hang!\n'
INFO = "n3:52:52 [0] NCCL INFO Bootstrap : Using bond0:10.9.1.2<0>\n"


@pytest.mark.parametrize("name", ["HSA_FORCE_FINE_GRAIN_PCIE=1", "iommu=pt"])
def test_what_a_library_warns_of_is_told_where_nothing_else_is(tmp_path: Path, name: str) -> None:
    one = told(tmp_path, {"n3.log": WARNS.format(name=name) * 2 + INFO})
    assert (one.verdict.kind, one.verdict.ranks) == ("unknown", [])
    assert f'a library warns: Missing "{name}"' in one.verdict.summary
    assert sum("Missing" in item.claim for item in one.evidence) == 1


@pytest.mark.parametrize("beside", ["Traceback (most recent call last):\nKeyError: 'x'\n", ""])
def test_a_warning_is_nothing_beside_an_error_and_nothing_is_none(tmp_path: Path, beside: str) -> None:
    one = told(
        tmp_path, {"n3.log": (WARNS.format(name="iommu=pt") if beside else "") + INFO, "out.log": beside or INFO}
    )
    assert "a library warns" not in one.verdict.summary
