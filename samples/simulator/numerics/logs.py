"""The training log of a numeric incident: Megatron's line per step, and the rows that its parser makes of it."""

import random
from typing import Any

from samples.simulator.numerics.run import NumericRun

PATH = "logs/train.log"
_STEPS, _ONSET = 80, 60


def _series(run: NumericRun) -> list[dict[str, Any]]:
    """One dict per step: loss (None = left out), grad_norm, loss_scale, skipped."""
    rng = random.Random(f"log:{run.seed}")
    kind, first = run.fault.kind, run.job.first_step
    if kind in ("loss_spike", "scale_collapse"):
        return [_step(kind, first, number, rng) for number in range(_STEPS)]
    if not run.noise.form.log:
        return []
    found = []
    flow = run.flows[-1]
    for number, step in enumerate(flow.steps):
        loss, norm = flow.losses.get(step), flow.norms.get(step)
        bad = norm is not None and bool(norm.bad)
        row: dict[str, Any] = {
            "step": step,
            "loss": round(2.31 - number * 0.001 + rng.uniform(-0.01, 0.01), 4),
            "grad_norm": 0.412,
        }
        row |= {"loss_scale": 1.0, "skipped": int(step in flow.skipped)}
        if bad:
            row["grad_norm"] = float("nan")
        if step in flow.skipped or (loss is not None and loss.bad):
            row["loss"] = None
        found.append(row)
    return found


def _step(kind: str, first: int, number: int, rng: random.Random) -> dict[str, Any]:
    loss = 3.0 - number * 0.005 + rng.uniform(-0.03, 0.03)
    row: dict[str, Any] = {
        "step": first + number,
        "loss": round(loss, 4),
        "grad_norm": round(0.5 + rng.uniform(-0.05, 0.05), 3),
    }
    row |= {"loss_scale": 1.0, "skipped": 0}
    late = number - _ONSET
    if kind == "loss_spike" and late >= 0:
        row |= {"loss": round(loss + 4.0 * min(late + 1, 3), 4), "grad_norm": 25.0}
    if kind == "scale_collapse":
        row["loss_scale"] = 65536.0 if late < 0 else max(1.0, 65536.0 / 2 ** (late + 1))
        row["skipped"] = int(late >= 0)
    return row


def text(run: NumericRun) -> str:
    """The log; empty where none was kept."""
    out = []
    for row in _series(run):
        step, skipped = row["step"], row["skipped"]
        loss = "" if row["loss"] is None else f" lm loss: {row['loss']:.6E} |"
        out.append(
            f" iteration {step:8d}/  500000 | consumed samples: {step * 512:12d} | elapsed time per iteration (ms): 3010.4 |"
            f" learning rate: 3.000E-04 | global batch size:   512 |{loss} loss scale: {row['loss_scale']:.1f} |"
            f" grad norm: {row['grad_norm']:.3f} | number of skipped iterations: {skipped:3d} |"
            f" number of nan iterations:   0 |\n"
        )  # fmt: skip
    return "".join(out)


def rows(run: NumericRun) -> list[dict[str, Any]]:
    """Rows of the table `steps`."""
    found = []
    for line, row in enumerate(_series(run), 1):
        more = {
            "phase": "train",
            "elapsed_ms": 3010.4,
            "samples": row["step"] * 512,
            "framework": "megatron",
            "nan_iterations": 0,
        }
        found.append({**row, **more, "loss_seen": row["loss"] is not None, "file": PATH, "line": line})
    return found
