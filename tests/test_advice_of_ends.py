"""What is advised after an end, a hang or a start that failed: what would show something of this case, and nothing else."""

from pathlib import Path

import pytest

from forensics.model.causes import CAUSES
from forensics.model.incident import Incident
from tests.analysed import primary

RAISED = """Traceback (most recent call last):
  File "/srv/app/serve.py", line 41, in loop
    dist.broadcast_object_list(box)
  File "/opt/env/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py", line 2600, in broadcast_object_list
    torch.sum(object_sizes_tensor).item(),
RuntimeError: ACL stream synchronize failed.
"""
INNER = "EI9999: Inner Error!\n"
STUCK = "EI9999: 2025-02-03-10:11:12.476.613  The error from device(chipId:1, dieId:0), serial number is 3, hccl {}task timeout occurred during task execution, stream_id:5, stuck notify num:1, timeout:30min(default).\n"


def told(folder: Path, text: str, name: str = "train.log") -> Incident:
    (folder / name).write_text(text)
    return primary(folder)


@pytest.mark.parametrize("task", ["", "fftsplus ", "aicpu "])
@pytest.mark.parametrize("speaker", ["", "[rank2]: "])
def test_an_exception_whose_next_lines_tell_of_a_time_out_is_a_wait(tmp_path: Path, task: str, speaker: str) -> None:
    text = "2025-02-03 10:11:12,336 - app - ERROR - serve.py:9 - worker failed.\n" + RAISED + INNER + STUCK.format(task)
    incident = told(tmp_path, "".join(speaker + line for line in text.splitlines(True)))
    assert (incident.verdict.kind, incident.verdict.cause, incident.verdict.suspects.ranks) == ("hang", None, [])
    assert "conflicting_evidence" not in incident.verdict.undecided


def test_an_exception_whose_next_lines_tell_of_its_own_device_is_none(tmp_path: Path) -> None:
    own = "EI9999: 2025-02-03-10:11:12.476.613  The error from device(chipId:1, dieId:0), serial number is 3, an invalid address was read, stream_id:5.\n"
    assert told(tmp_path, RAISED + INNER + own).verdict.kind == "crash"


def test_calls_that_differ_are_not_tried_on_one_process_alone() -> None:
    for cause in ("collective_mismatch", "deadlock_cycle"):
        steps = [one for one in CAUSES[cause].runbook if one.command == "source"]
        assert steps and all("at least two ranks" in one.then and "one process" not in one.then for one in steps)


def test_what_one_rank_raises_is_tried_on_one_process() -> None:
    steps = [one for one in CAUSES["exception"].runbook if one.command == "source"]
    assert steps and all("run that input on one process" in one.then for one in steps)


FAULT = "[86700.1] trainer[{pid}]: segfault at 10 ip 00007f3c1a20b4c2 sp 00007ffd1 error 4 in {library}[7f3c1a000000+400000]\n"
XID = "[86600.5] NVRM: Xid (PCI:0000:5e:00): {said}\n"
LOST = "79, pid=41, GPU has fallen off the bus."


@pytest.mark.parametrize(
    ("said", "look"),
    [
        ("120, pid=77, name=python, GSP task timeout", "reset it once nothing runs there"),
        ("95, pid=77, name=python, Uncontained ECC error", "reset it once nothing runs there"),
        (LOST, "power-cycle"),
    ],
)
def test_a_device_that_needs_its_host_is_not_hidden_by_a_crash_of_nobody(tmp_path: Path, said: str, look: str) -> None:
    (tmp_path / "a.dmesg.txt").write_text(FAULT.format(pid=4107, library="libnccl.so.2"))
    incident = told(tmp_path, XID.format(said=said), "b.dmesg.txt")
    first, *others = incident.actions
    assert incident.verdict.cause in ("segfault", "gpu_fault") and first.kind == "inspect_hardware"
    assert "0000:5e:00" in first.target and look in (first.then or "")
    core = [one for one in others if "coredumpctl info 4107" in (one.command or "")]
    assert incident.verdict.cause != "segfault" or (len(core) == 1 and "libnccl.so.2" in core[0].reason)


@pytest.mark.parametrize(
    "said", ["13, pid=77, name=python, Graphics SM Warp Exception", "94, pid=77, Contained ECC error"]
)
def test_a_device_that_works_on_leads_nowhere_before_a_crash(tmp_path: Path, said: str) -> None:
    (tmp_path / "a.dmesg.txt").write_text(FAULT.format(pid=4107, library="libucp.so.0"))
    incident = told(tmp_path, XID.format(said=said), "b.dmesg.txt")
    assert "called trainer" in incident.verdict.summary and "launcher" not in incident.verdict.summary
    assert (incident.actions[0].kind, "libucp.so.0" in incident.actions[0].reason) == ("check_code", True)


@pytest.mark.parametrize(
    "error",
    [
        "CUDA error: uncorrectable ECC error encountered",
        "cudaErrorECCUncorrectable: uncorrectable ECC error encountered",
    ],
)
def test_a_look_at_memory_asks_for_memory_and_not_for_the_bus(tmp_path: Path, error: str) -> None:
    text = f"iteration 7/ 90 | lm loss: 2.1\nRuntimeError: transform: failed to synchronize: {error}\n"
    first = told(tmp_path, text).actions[0]
    assert (
        "ROW_REMAPPER" in (first.command or "") and "uncorrectable errors" in first.look and "rev ff" not in first.look
    )


@pytest.mark.parametrize("bus", ["0000:04:00", "0000:b3:00.0"])
def test_a_look_at_the_bus_says_what_it_shows(tmp_path: Path, bus: str) -> None:
    first = told(
        tmp_path,
        f"[86694.01] NVRM: Xid (PCI:{bus}): {LOST}\n[86695.01] NVRM: GPU {bus} is on the bus no more\n",
        "dmesg.txt",
    ).actions[0]
    assert (
        bus in (first.command or "")
        and "lspci" in (first.command or "")
        and "rev ff" in first.look
        and "power-cycle" in first.then
    )
