"""The first thing to do has a command wherever the bundle has what it is built from."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, Place
from forensics.model.ref import Ref
from forensics.verdict.advice.actions import Known, actions_of

ECC = {
    "CUDA": ("RuntimeError: CUDA error: uncorrectable ECC error encountered", True),
    "its name": ("RuntimeError: transform: failed to synchronize: cudaErrorECCUncorrectable: uncorrectable ECC error encountered", True),
    "AMD's": ("RuntimeError: HIP error: uncorrectable ECC error encountered", False),
    "MetaX's": ("RuntimeError: CUDA error: uncorrectable ECC error encountered (maca runtime 2.27)", False),
}  # fmt: skip


@pytest.mark.parametrize("form", ECC)
def test_counters_of_memory_are_read_where_the_runtime_tells_whose_device_it_is(tmp_path: Path, form: str) -> None:
    line, is_known = ECC[form]
    trace = f'[rank3]: Traceback (most recent call last):\n[rank3]:   File "/srv/t.py", line 9, in <module>\n[rank3]: {line}\n'
    (tmp_path / "train.log").write_text("".join(f"[rank3]: step {n} loss 2.{n}\n" for n in range(5)) + trace)
    report = analyze(tmp_path)
    commands = [one.command or "" for one in report.incidents[report.primary].actions]
    assert any(one.startswith("nvidia-smi -q -d ECC") for one in commands) is is_known


def look(cause: str, kind: str = "inspect_hardware") -> Finding:
    act = Action(kind=kind, target="rank 3", command=None, reason="why")  # type: ignore[arg-type]
    claim = Claim("rank 3 failed", "for", (Ref(file="a.log", line=1, text="x"),))
    return Finding(detector="x", cause=cause, ranks=(3,), actions=(act,), claims=(claim,))  # type: ignore[arg-type]


def test_of_devices_that_nobody_calls_by_a_vendor_the_kernel_tells() -> None:
    places = Known([Place(rank=3, host="n1", pid=7)])
    first, *_ = actions_of(look("overflow"), "supported", places)
    assert first.command == "ssh -t n1 sudo dmesg -T"
    slow, *_ = actions_of(look("straggler_compute"), "supported", places)
    assert slow.command is None or "dmesg" not in slow.command  # which tells of no clocks
    nowhere, *_ = actions_of(look("overflow"), "supported", Known([Place(rank=3, pid=7)]))
    assert (nowhere.command, str(nowhere.target)) == ("sudo dmesg -T", "rank 3, on its host")
    other, *_ = actions_of(look("straggler_host", "check_data"), "supported", Known([Place(rank=3, pid=7)]))
    assert (other.command or "").startswith("sh -c 'top")


def test_a_core_is_looked_for_by_its_process_on_the_host_that_nobody_names() -> None:
    first, *_ = actions_of(
        look("segfault", "check_code"), "supported", Known([Place(rank=3, pid=4711)], has_ended=True)
    )
    assert first.command == "sudo coredumpctl info 4711" and "on the host that it ran on" in first.target
    other, *_ = actions_of(
        look("exception", "check_code"), "supported", Known([Place(rank=3, pid=4711)], has_ended=True)
    )
    assert other.command is None
