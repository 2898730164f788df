"""The scale of the loss in the line of a step, whatever it is called, and what its search leaves out."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.pasted import verdict_of
from tests.sources import written

SKIPPED = "GradScaler: inf in gradients, skipped optimizer step, scale {a} -> {b}"


def _run(folder: Path, left_out: str, fine: str, falls_to_the_end: bool = False) -> str:
    for rank in range(2):
        scale, lines = 2**24, []
        for step in range(40):
            is_bad = step < 5 or step == 17 or (falls_to_the_end and step > 20)
            before, scale = scale, scale // 2 if is_bad else scale
            told = (left_out if is_bad else fine).format(a=before, b=scale)
            lines.append(
                f"rank {rank} step {step} loss {4.7 - step / 20:.4f} grad_norm {'inf' if is_bad else 0.51} {told}"
            )
        end = "" if falls_to_the_end else f"rank {rank}: training complete, 40/40 steps\n"
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + f"\n{end}")
    return analyze(folder).verdict.kind


FORMS = [
    (SKIPPED, "scale {b}"),
    ("amp_scale={a}->{b} (step skipped)", "amp_scale={b}"),
    ("| scaler: {a} => {b} | skipping update", "| scaler: {b} |"),
    ("overflow, skipping this step; loss scale {a} to {b}", "loss scale {b}"),
]


@pytest.mark.parametrize(("left_out", "fine"), FORMS)
def test_the_search_for_a_scale_is_no_fault(tmp_path: Path, left_out: str, fine: str) -> None:
    assert _run(tmp_path, left_out, fine) == "healthy"


@pytest.mark.parametrize(("left_out", "fine"), FORMS)
def test_a_scale_that_falls_to_the_end_is_one(tmp_path: Path, left_out: str, fine: str) -> None:
    assert _run(tmp_path, left_out, fine, falls_to_the_end=True) == "numerics"


BELOW = [
    "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {scale}\n",
    "| WARNING: overflow detected, setting loss scale to: {scale}\n",
    "[zero_optim.py:91:step] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1, reducing to {scale}\n",
]


@pytest.mark.parametrize("form", BELOW)
@pytest.mark.parametrize(
    ("rest", "found"),
    [
        pytest.param("[1] 1690 || B: 5.4 | T: 17.5 || timer: 2.1\n", ("numerics", "loss_scale_collapse"), id="lines of no known form"),
        pytest.param("".join(f"step {n} loss 2.{n}\n" for n in range(20, 60)), ("unknown", None), id="steps go on"),
        pytest.param("No overflow for consecutive 1000 steps, the loss scale is adjusted to 4.0\n", ("unknown", None), id="it rose"),
    ],
)  # fmt: skip
def test_gradients_that_overflow_without_a_scale(tmp_path: Path, form: str, rest: str, found: tuple[str, str]) -> None:
    verdict = verdict_of(tmp_path, form.format(scale="0.0625") + rest)
    assert (verdict.kind, verdict.cause, verdict.ranks) == (*found, [])


def test_a_scale_that_is_not_low_is_looked_for(tmp_path: Path) -> None:
    assert verdict_of(tmp_path, BELOW[0].format(scale="32768.0")).kind == "unknown"


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ("step_loss=nan", "numerics"),
        ("diffusion_loss=nan, td=0.1s", "numerics"),
        ("best_loss=inf", "unknown"),  # a place that is yet to be filled
        ("val_loss=nan", "unknown"),
        ("prior_loss=nan, kl_loss=0.3", "unknown"),  # parts, of which nobody says how they are taken
    ],
)
def test_the_only_loss_of_a_bar_is_its_loss(tmp_path: Path, told: str, kind: str) -> None:
    bars = [f"Steps:   0%|          | {n}/3000 [00:{n}6<13:26:40, 16.14s/it, lr=1e-5, {told}]\n" for n in range(1, 5)]
    assert verdict_of(tmp_path, "".join(bars)).kind == kind


def told(fall: list[tuple[int, float]], last: int) -> list[str]:
    """A line a step, and before it that of an overflow: of these steps, with the scale that was tried."""
    lines = []
    tried = dict(fall)
    for step in range(2001, last + 1):
        if step in tried:
            lines.append(
                f"OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {tried[step]:g}, reducing to {tried[step] / 2:g}"
            )
        lines.append(f"iter {step} lm_loss 2.{step}")
    return lines


SOON = [(2200 + at, 65536.0 / 2**at) for at in range(16)]
SLOW = [(2000 + 20 * at, 65536.0 / 2**at) for at in range(1, 17)]


@pytest.mark.parametrize(
    ("fall", "first"),
    [
        (SOON, 2200),
        ([(2040, 131072.0), *SOON], 2200),
        ([(2040, 131072.0), (2150, 131072.0), *SOON], 2200),
        (SLOW, 2020),
    ],
    ids=["at once", "fallen and risen", "twice so", "slowly to the end"],
)
def test_a_collapse_begins_where_falls_come_one_after_the_other(
    tmp_path: Path, fall: list[tuple[int, float]], first: int
) -> None:
    lines = [
        *told(fall, fall[-1][0]),
        "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
    ]
    found = analyze(written(tmp_path, {"run.log": lines})).verdict
    assert (found.cause, found.first_anomaly.step) == ("loss_scale_collapse", first)
