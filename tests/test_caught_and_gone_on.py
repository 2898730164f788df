"""An error that a program caught and printed, where the job came to many more steps: it ended nobody."""

from pathlib import Path

import pytest

from forensics import analyze

LABELS = ("{}: ", "[rank{}]: ", "{}| ")


def _log(label: str, *, more: int, frame: str) -> str:
    steps = [label.format(0) + f"step {at}/500 loss 2.{at}" for at in range(20, 20 + 5 + more)]
    raised = [
        "Traceback (most recent call last):",
        f'  File "/srv/tidy.py", line 91, in {frame}',
        "    os.rmdir(folder)",
        "OSError: [Errno 39] Directory not empty: '/ckpt/step_20'",
    ]
    begun = [label.format(rank) + f"rank {rank} of 8 up" for rank in range(8)]
    ended = ["slurmstepd: error: *** JOB 4711 ON n12 CANCELLED AT 2026-05-12T08:00:21 DUE TO TIME LIMIT ***"]
    return "\n".join([*begun, *steps[:5], *(label.format(3) + line for line in raised), *steps[5:], *ended]) + "\n"


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    ("more", "frame", "named"),
    [(40, "cleanup", False), (0, "cleanup", True), (2, "cleanup", True), (40, "<module>", True)],
)
def test_the_job_came_to_many_more_steps(tmp_path: Path, label: str, more: int, frame: str, named: bool) -> None:
    (tmp_path / "slurm-4711.out").write_text(_log(label, more=more, frame=frame))
    verdict = analyze(tmp_path).verdict
    assert (3 in verdict.ranks) == named
    assert named or (verdict.cause, verdict.ranks) == ("time_limit", [])
