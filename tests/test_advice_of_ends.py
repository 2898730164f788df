"""What is advised after an end, a hang or a start that failed: what would show something of this case, and nothing else."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.causes import CAUSES
from forensics.model.incident import Incident

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
    report = analyze(folder)
    return report.incidents[report.primary]


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
