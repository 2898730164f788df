"""What is advised where a figure is bad: no older state where none was spoiled, the steps that a line stands for, and how a run begins."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import Report, analyze
from forensics.model.incident import Action

RANKS, EVERY = 4, 10


def kinds(report: Report) -> list[str]:
    return [action.kind for action in report.incidents[0].actions]


def of_kind(report: Report, kind: str) -> Action:
    return next(action for action in report.incidents[0].actions if action.kind == kind)


def logs(folder: Path, lines: Callable[[int], Sequence[str]], ranks: int = RANKS) -> Report:
    for rank in range(ranks):
        (folder / f"rank_{rank}.log").write_text("\n".join(lines(rank)) + "\n")
    return analyze(folder)


def trained(step: int, rank: int = 0) -> str:
    return f"step {step} loss {3 - step / 50 + rank / 100 + step * 7 % 5 / 100:.4f} grad_norm 0.7{step % 10}"


# --- evaluations ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "eval step {s}: val_loss nan",
        "validation at step {s} | val_loss = nan | ppl nan",
        "[eval] step {s} eval_loss=nan",
    ],
)
def test_a_bad_evaluation_beside_sound_training_sends_nobody_back(tmp_path: Path, said: str) -> None:
    def lines(rank: int) -> list[str]:
        return [
            line
            for step in range(30)
            for line in (trained(step, rank), *([said.format(s=step)] if step % 10 == 9 else []))
        ]

    report = logs(tmp_path, lines)
    assert (report.verdict.kind, report.verdict.ranks) == ("numerics", [])
    assert not {"rollback", "skip_data", "restart_job"} & set(kinds(report))
    assert "evaluation" in report.verdict.summary and "step 29" in report.verdict.summary


def test_where_the_training_went_bad_as_well_the_state_is_bad(tmp_path: Path) -> None:
    def lines(rank: int) -> list[str]:
        told = [trained(step, rank) for step in range(9)] + ["eval step 9: val_loss nan"]
        return told + [f"step {step} loss nan grad_norm nan" for step in range(9, 14)]

    report = logs(tmp_path, lines)
    assert (report.verdict.kind, "rollback" in kinds(report)) == ("numerics", True)


# --- what ended before the update ----------------------------------------------------------------------------------------

FORWARD = (
    "/opt/torch/autograd/graph.py:824: UserWarning: Error detected in {op}. Traceback of forward call that caused the error:\n"
    '  File "/job/model.py", line 36, in forward\n    return self.scale * hidden\n'
    '  File "/opt/lib/python3.11/site-packages/torch/nn/functional.py", line 7, in linear\n    return f(x)\n'
)
RAISED = 'Traceback (most recent call last):\n  File "/job/train.py", line 9, in <module>\n    loss.backward()\n{error}'


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.",
        "AssertionError: Rank 2: found NaN in local grad norm in backward pass before data-parallel communication collective. Device: 2",
        "FloatingPointError: local grad norm is nan",
    ],
)
def test_a_check_of_gradients_that_ended_the_step_spoiled_no_state(tmp_path: Path, error: str) -> None:
    def lines(rank: int) -> list[str]:
        return [trained(step, rank) for step in range(12)] + ([RAISED.format(error=error)] if rank == 2 else [])

    report = logs(tmp_path, lines)
    assert report.verdict.kind == "numerics"
    assert "rollback" not in kinds(report)
    assert "newest checkpoint" in of_kind(report, "restart_job").target


@pytest.mark.parametrize(
    "error", ["FloatingPointError: local loss is nan", "ValueError: NaN in the loss of this batch"]
)
def test_a_bad_loss_may_be_of_parameters_that_were_bad(tmp_path: Path, error: str) -> None:
    def lines(rank: int) -> list[str]:
        return [trained(step, rank) for step in range(12)] + ([RAISED.format(error=error)] if rank == 2 else [])

    assert "rollback" in kinds(logs(tmp_path, lines))


@pytest.mark.parametrize("op", ["MulBackward0", "LogSoftmaxBackward0", "PowBackward1"])
def test_autograds_check_shows_the_line(tmp_path: Path, op: str) -> None:
    def lines(rank: int) -> list[str]:
        error = FORWARD.format(op=op) + RAISED.format(
            error=f"RuntimeError: Function '{op}' returned nan values in its 0th output."
        )
        return [trained(step, rank) for step in range(12)] + ([error] if rank == 2 else [])

    report = logs(tmp_path, lines)
    action = of_kind(report, "check_code")
    assert "/job/model.py:36" in action.target and op in action.reason
    assert action.command is not None and "/job/model.py" in action.command
    assert "does not show where" not in report.verdict.summary


def test_without_its_forward_call_a_log_does_not_show_where(tmp_path: Path) -> None:
    def lines(rank: int) -> list[str]:
        error = RAISED.format(error="RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.")
        return [trained(step, rank) for step in range(12)] + ([error] if rank == 2 else [])

    assert "does not show where" in logs(tmp_path, lines).verdict.summary


# --- the steps that a line stands for ------------------------------------------------------------------------------------


def spiked(every: int, *, back: bool) -> list[str]:
    """Twenty lines, of which that of two is far above all others; with `back` those after them are as before."""
    lines = []
    for at in range(1, 21):
        high = at in (14, 15) or (at > 15 and not back)
        loss = (40 if high else 2.5) + at * 7 % 5 / 100
        lines.append(f"step {at * every} loss {loss:.4f} grad_norm {30 if high else 0.5}")
    return lines


@pytest.mark.parametrize("every", [1, 5, 10])
def test_the_data_of_a_spike_are_those_of_all_steps_that_its_lines_stand_for(tmp_path: Path, every: int) -> None:
    report = logs(tmp_path, lambda rank: spiked(every, back=True), ranks=1)
    first, last = 13 * every + 1, 15 * every
    assert f"steps {first}-{last}" in of_kind(report, "check_data").target
    assert kinds(report).count("rollback") == 0 and "recovered" in report.verdict.summary


@pytest.mark.parametrize("every", [1, 5, 10])
def test_one_that_does_not_come_back_needs_a_state_before_all_of_them(tmp_path: Path, every: int) -> None:
    report = logs(tmp_path, lambda rank: spiked(every, back=False), ranks=1)
    assert f"before step {13 * every + 1}" in of_kind(report, "rollback").target


@pytest.mark.parametrize("every", [1, 5, 10])
@pytest.mark.parametrize("saved", [None, "within", "before"])
def test_nan_may_be_as_old_as_the_line_before(tmp_path: Path, every: int, saved: str | None) -> None:
    lines = [trained(at * every) for at in range(1, 9)]
    steps = {"within": 8 * every + every - 1, "before": 8 * every}
    if saved is not None:
        lines.append(
            f"saving checkpoint at iteration {steps[saved]} to /ckpt\n  successfully saved checkpoint at iteration {steps[saved]} to /ckpt"
        )
    lines += [f"step {at * every} loss nan grad_norm nan" for at in range(9, 15)]
    report = logs(tmp_path, lambda rank: lines, ranks=1)
    target = of_kind(report, "rollback").target
    assert target in (f"a checkpoint before step {8 * every + 1}", f"the checkpoint of step {8 * every} (/ckpt)")


# --- how a run begins ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("value", ["nan", "9.1e29"])
def test_before_the_first_step_there_is_nothing_to_load(tmp_path: Path, first: int, value: str) -> None:
    def lines(rank: int) -> list[str]:
        steps = range(first, first + 12)
        bad = {step: rank == 2 or step > first for step in steps} if value == "nan" else dict.fromkeys(steps, rank == 2)
        told = [f"step {step} loss {value}" if bad[step] else trained(step, rank) for step in steps]
        return ["world 4 dp 4, every rank a replica", *told]

    report = logs(tmp_path, lines)
    assert (report.verdict.kind, report.verdict.ranks) == ("numerics", [2])
    assert "rollback" not in kinds(report)
    assert "rank 2 begins with" in of_kind(report, "check_code").target


def test_a_run_that_went_on_has_a_state_to_go_back_to(tmp_path: Path) -> None:
    def lines(rank: int) -> list[str]:
        told = [f"step {step} loss nan" if rank == 2 or step > 500 else trained(step, rank) for step in range(500, 512)]
        return ["world 4 dp 4, every rank a replica", *told]

    assert "rollback" in kinds(logs(tmp_path, lines))


# --- the batch that a rank was given -------------------------------------------------------------------------------------

CHECKED = 'Traceback (most recent call last):\n  File "/job/train.py", line 9, in <module>\n    {source}\n{error}'
ASSERTED = "assert torch.isfinite(x).all(), where"


def read_bad(
    folder: Path, error: str, who: tuple[int, ...], source: str = ASSERTED, ranks: int = 6, gone: int = 0
) -> Report:
    def lines(rank: int) -> list[str]:
        told = [f"rank {rank} of {ranks + gone}"] + [trained(step, rank) for step in range(12)]
        return told + ([CHECKED.format(source=source, error=error)] if rank in who else [])

    return logs(folder, lines, ranks)


@pytest.mark.parametrize("who", [(2,), (1, 4), (0, 2, 5)])
@pytest.mark.parametrize(
    "error",
    [
        "AssertionError: non-finite values in input batch, url=/data/a.tar",
        "AssertionError: this batch has nan",
        "AssertionError: NaN in the images",
    ],
)
def test_who_was_given_a_bad_batch_is_named(tmp_path: Path, error: str, who: tuple[int, ...]) -> None:
    report = read_bad(tmp_path, error, who)
    assert (report.verdict.cause, report.verdict.ranks) == ("bad_input", list(who))
    assert "check_data" in kinds(report) and "rollback" not in kinds(report)


@pytest.mark.parametrize(
    ("error", "who", "gone"),
    [
        ("AssertionError: non-finite values in input batch", (0, 1, 2, 3), 0),  # most: the data of all
        ("AssertionError: non-finite values in input batch", (1, 4), 1),  # one left no record
        ("AssertionError: non-finite values in the micro-batch", (1, 4), 0),  # an earlier stage may have sent it
        ("AssertionError: non-finite values in the inputs", (1, 4), 0),
        ("AssertionError: non-finite output of this batch", (1, 4), 0),
        ("AssertionError: NaN in the loss of this batch", (1, 4), 0),
    ],
)
def test_another_check_names_nobody_by_the_batch(tmp_path: Path, error: str, who: tuple[int, ...], gone: int) -> None:
    report = read_bad(tmp_path, error, who, gone=gone)
    assert report.verdict.cause != "bad_input" and not report.verdict.ranks


# --- a module's output ---------------------------------------------------------------------------------------------------

FRAMES = (
    "Detected inf/nan during batch_number={step}\nLast 3 forward frames:\nabs min  abs max  metadata\n"
    "                  encoder.3.wo Linear\n1.01e-06 6.44e+00 weight\n0.00e+00 1.12e+04 input[0]\n3.18e-04      {value} output"
)


@pytest.mark.parametrize(("value", "cause"), [("inf", "overflow"), ("nan", "nan_birth")])
@pytest.mark.parametrize(("own", "named"), [(True, [2]), (False, [])])
def test_a_module_that_gave_it_of_finite_values(
    tmp_path: Path, value: str, cause: str, own: bool, named: list[int]
) -> None:
    """Where ranks print losses of their own they are replicas; where they print one loss, they may be parts of a layer."""

    def lines(rank: int) -> list[str]:
        told = [f"batch_number={step} local_loss={trained(step, rank if own else 0).split()[3]}" for step in range(11)]
        return [
            f"rank {rank} of 4",
            *told,
            *([FRAMES.format(step=11, value=value)] if rank == 2 else ["batch_number=11 local_loss=2.9"]),
        ]

    verdict = logs(tmp_path, lines).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", cause, named)


# --- a loss that stays where a spike took it -----------------------------------------------------------------------------


def _stood(after: int, *, scale: bool = False, back: bool = False) -> Callable[[int], list[str]]:
    def lines(rank: int) -> list[str]:
        told = [trained(step, rank) for step in range(40)]
        for n in range(after):
            more = f" loss_scale {65536 / 2**n:.0f}" if scale else ""
            told.append(f"step {40 + n} loss {5.3 + n % 3 / 50:.4f} grad_norm 0.8{more}")
        return told + [trained(step, rank) for step in range(40 + after, 50 + after) if back]

    return lines


@pytest.mark.parametrize("scale", [False, True])
def test_a_loss_that_stays_up_over_many_batches_is_not_laid_to_one(tmp_path: Path, scale: bool) -> None:
    report = logs(tmp_path, _stood(8, scale=scale), ranks=1)
    assert (report.verdict.cause, kinds(report)) == ("loss_spike", ["check_code", "rollback"])
    first = report.incidents[0].actions[0]
    assert (
        "changed before step 40" in first.target
        and "resume" in first.look
        and report.incidents[0].decision.do == "cannot_tell"
    )
    assert "all 8 lines from step 40 to step 47" in report.verdict.summary
    assert ("65,536 to 512" in report.verdict.summary) is scale


@pytest.mark.parametrize(("after", "back"), [(3, False), (8, True)])
def test_a_spike_of_few_lines_and_one_that_came_back_are_still_of_their_batches(
    tmp_path: Path, after: int, back: bool
) -> None:
    report = logs(tmp_path, _stood(after, back=back), ranks=1)
    assert (report.verdict.cause, kinds(report)[0]) == ("loss_spike", "check_data")
    assert ("skip_data" in kinds(report)) is not back


@pytest.mark.parametrize(("norm", "is_over"), [("9.{}", False), ("0.7{}", True)])
def test_a_loss_that_came_back_without_its_norm_is_not_over(tmp_path: Path, norm: str, is_over: bool) -> None:
    steps = [f"step {step} loss {2 + step % 5 / 100:.4f} grad_norm 0.7{step % 10}" for step in range(40)]
    high = [f"step {step} loss {loss} grad_norm 9.1" for step, loss in ((40, 6.1), (41, 5.2), (42, 3.4))]
    calm = [f"step {step} loss {2 + step % 5 / 100:.4f} grad_norm {norm.format(step % 10)}" for step in range(43, 60)]
    report = logs(tmp_path, lambda _: [*steps, *high, *calm], ranks=1)
    assert report.verdict.cause == "loss_spike"
    assert (report.incidents[0].decision.do == "wait", "norm did not" in report.verdict.summary) == (
        is_over,
        not is_over,
    )
