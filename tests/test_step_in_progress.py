"""Which step was in progress, by what each of the steps before it has told."""

from pathlib import Path

import pytest

from forensics import analyze

RAISED = (
    "{who}/opt/torch/autograd/graph.py:824: UserWarning: Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n"
    '{who}  File "/app/pairs.py", line 16, in distance\n{who}    return d.sqrt()\n'
)
BOTH = "{who}iter {s} loss 0.0{s}2\n{who}iter {s} grad_norm 0.17{s}\n"


@pytest.mark.parametrize(
    ("each", "last", "step"),
    [
        (BOTH, "{who}iter {s} loss 0.0{s}2\n", 12),  # its norm was still to come
        (BOTH, BOTH, 13),
        ("{who}iter {s} loss 0.0{s}2\n", "{who}iter {s} loss 0.0{s}2\n", 13),
    ],
    ids=["half of it", "all of it", "one line each"],
)
def test_a_step_that_is_told_by_half_is_in_progress(tmp_path: Path, each: str, last: str, step: int) -> None:
    for rank in range(2):
        who = f"[rank {rank}] "
        text = "".join(each.format(who=who, s=at) for at in range(2, 12)) + last.format(who=who, s=12)
        (tmp_path / f"rank_{rank}.log").write_text(text + (RAISED.format(who=who) if rank else ""))
    assert analyze(tmp_path).verdict.first_anomaly.step == step
