"""A bad value that an exception tells: by what was asserted, or in the lines that follow its first."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from parsers.pytorch.traceback import PARSER
from tests.lines import lines
from tests.sources import written

HEAD = """Traceback (most recent call last):
  File "/job/train.py", line 40, in <module>
    main()
  File "/job/step.py", line 7, in step
    {line}
"""


def events(line: str, last: str, **columns: Any) -> list[dict[str, Any]]:
    return PARSER.parse(lines(HEAD.format(line=line) + last, **columns))["events"].rows(named=True)


@pytest.mark.parametrize(
    ("line", "last", "expected"),
    [
        ("assert torch.isfinite(loss), loss", "AssertionError", ["loss"]),
        ("assert not np.isnan(grad_norm).any()", "AssertionError", ["grad_norm"]),
        ("assert math.isinf(x) is False", "AssertionError: x", ["operator"]),
        ("assert loss.shape == ref.shape", "AssertionError", []),
        ("return isfinite(loss)", "AssertionError", []),
        ("raise ValueError(text)", "ValueError: run 3 failed:\n  loss is nan at step 21", ["loss"]),
        ("raise ValueError(text)", "ValueError: run 3 failed:\n  see the wiki\n  grad_norm is inf", ["grad_norm"]),
        ("raise ValueError(text)", "ValueError: loss is nan\n  loss is nan, too", ["loss"]),
        ("raise ValueError(text)", "ValueError: run 3 failed:\n  shape is 3", []),
        ("raise ValueError(text)", "ValueError: `norm_type` must be positive or 'inf' (infinity norm), got l2", []),
    ],
    ids=["finite", "not nan", "inf", "another assertion", "no assertion", "the second line", "the third", "once", "no figure", "argument"],
)  # fmt: skip
def test_by_the_assertion_or_by_a_line_of_the_message(line: str, last: str, expected: list[str]) -> None:
    first, *others = events(line, last, rank=1)
    assert first["kind"] == "exception"
    assert [row["code"] for row in others if row["kind"] == "nan_assert"] == expected


GRAPH = """graphkit.InvalidArgumentError: Graph execution error:

Detected at node 'Check_7' defined at (most recent call last):
{stack}Node: 'Check_7'
{said}
"""
STACK = "".join(f'    File "/job/model{at}.py", line {at}, in call\n      return self.net(x)\n' for at in range(12))


@pytest.mark.parametrize("stack", ["", STACK], ids=["none", "deep"])
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("loss of this worker : Tensor had NaN values", ["loss"]),
        ("grad_norm of this worker : Tensor had Inf values", ["grad_norm"]),
        ("loss of this worker : Shapes had other values", []),
    ],
)
def test_below_a_stack_within_the_message(stack: str, said: str, expected: list[str]) -> None:
    first, *others = events("run()", GRAPH.format(stack=stack, said=said), rank=1)
    assert first["kind"] == "exception"
    assert [row["code"] for row in others if row["kind"] == "nan_assert"] == expected
    assert all(row["text"] == said for row in others)


CHECKED = (
    "RuntimeError: (PreconditionNotMet) There are NAN or INF (num_nan=4, num_inf=0, num_zero=1) in [device=gpu:1, op={}, tensor=, "
    "dtype=bf16]. (at a.cc:17)"
)
LOST = "SystemError: (Fatal) NCCL error(6), remote process exited or there was a network error. (at b.cc:251)"
PORTS = ",".join(f"10.0.0.{host}:{port}" for host in (9, 4) for port in (6170, 6171))


@pytest.mark.parametrize(
    ("op", "size", "ranks"),
    [
        ("softmax_grad", "PADDLE_TRAINERS_NUM=4 ", [3]),
        ("c_allreduce_sum", "PADDLE_TRAINERS_NUM=4 ", []),
        ("softmax_grad", "", [3]),
    ],
    ids=["its own operator", "what others sent as well", "how many they are only their list tells"],
)
def test_whom_a_check_of_each_operator_stopped_where_all_others_lost_him(
    tmp_path: Path, op: str, size: str, ranks: list[int]
) -> None:
    """Files of places on hosts, whose order a list of all tells."""
    files = {}
    for at, host in enumerate((9, 4)):
        for place in (0, 1):
            error = CHECKED.format(op) if (at, place) == (1, 1) else LOST
            told = [f"env {size}PADDLE_TRAINER_ENDPOINTS={PORTS}"] if (at, place) == (0, 0) else []
            steps = [f"[2026-01-31 10:0{n},551] [ INFO] - loss: 2.{n}, global_step: {n}" for n in (1, 2)]
            files[f"10.0.0.{host}/workerlog.{place}"] = [
                *told,
                *steps,
                *HEAD.format(line="loss.backward()").splitlines(),
                error,
            ]
    assert list(analyze(str(written(tmp_path, files))).incidents[0].verdict.ranks) == ranks


@pytest.mark.parametrize("head", ["# ", "## "])
def test_a_comment_above_a_log_is_no_check_of_the_program(tmp_path: Path, head: str) -> None:
    lines = "".join(f"{{'loss': 0.{at}, 'grad_norm': nan, 'epoch': 0.5}}\n" for at in range(2, 6))
    (tmp_path / "out.log").write_text(f"{head}from a thread: loss 0.0 and grad_norm nan hide the NaN loss\n{lines}")
    incident = analyze(tmp_path).incidents[0]
    assert incident.verdict.kind == "numerics"
    assert not any("check of the training program" in one.claim for one in incident.evidence)
