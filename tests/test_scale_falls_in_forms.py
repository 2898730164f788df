"""A loss scale that falls to nothing, told in any form of change, is why the job gave up: nobody is named, whoever left first."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

Files = Mapping[str, Sequence[str]]
WORLD, FIRST, LAST = 4, 14, 41


def scales() -> dict[int, tuple[float, float]]:
    """Step → the scale before and after, of the steps that were left out: the first are how it finds its level."""
    found, scale = {}, 65536.0
    for step in (1, 2, 6, *range(FIRST, LAST + 1)):
        found[step] = (scale, scale / 2)
        scale /= 2
    return found


def told(form: str, prefix: str = "[rank{}]: ", loss: str = "step {}/60 loss={}") -> Files:
    lines = [f"{prefix.format(rank)}rank {rank} of {WORLD}" for rank in range(WORLD)]
    for step in range(1, LAST + 1):
        lines.append(prefix.format(0) + loss.format(step, "nan" if step >= FIRST else f"{14 - step / 9:.4f}"))
        if (change := scales().get(step)) is not None:
            said = form.format(step=step, old=f"{change[0]:g}", new=f"{change[1]:g}")
            lines += [prefix.format(rank) + said for rank in range(WORLD)]
    lines += [f"{prefix.format(rank)}nothing left to halve. stopping." for rank in range(WORLD)]
    ends = [
        f"E1130 05:41:52.815000 849 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 3) local_rank: {rank} (pid: {883 + rank}) of binary: /opt/python"
        for rank in (0, 1, 3)
    ]
    return {"torchrun.log": lines + ends}


def objects(form: Callable[[int, float, float], dict[str, object]]) -> Files:
    def made(rank: int) -> list[str]:
        own: list[dict[str, object]] = [{"event": "start", "rank": rank, "world_size": WORLD}]
        for step in range(1, LAST + 1):
            value = float("nan") if step >= FIRST else 14 - step / 9
            own.append({"event": "train", "rank": rank, "step": step, "loss": value})
            if (change := scales().get(step)) is not None:
                own.append({"rank": rank, "step": step} | form(step, *change))
        return [json.dumps(one) for one in own]

    return {f"w{rank}.jsonl": made(rank) for rank in range(WORLD)}


FORMS: Mapping[str, Callable[[], Files]] = {
    "arrow": lambda: told("step {step}: inf in grads, skipped optimizer step, GradScaler scale {old} -> {new}"),
    "of all": lambda: told("step {step}: inf in grads, skipped, scaler {old} -> {new}", loss="05:41:45 step {}/60 train_loss(avg over workers)={}"),
    "of the mean": lambda: told("scaler {old} -> {new}", loss="step {} loss (mean of all ranks): {}"),
    "averaged": lambda: told("scaler {old} -> {new}", loss="it {} | train loss (averaged over dp) {} | 0.4 s"),
    "global": lambda: told("scaler {old} -> {new}", loss="step={} loss(global)={} lr=0.001"),
    "drawn arrow": lambda: told("loss scale {old} → {new} (overflow at step {step})"),
    "from to": lambda: told("step {step} scale reduced from {old} to {new}"),
    "fat arrow": lambda: told("amp: found inf at step {step}, scale {old} => {new}", prefix="{}: "),
    "halved": lambda: told("iteration {step} | scale halved: {old} -> {new}", prefix="[default{}]:"),
    "was": lambda: told("step {step} GradScaler: scale now {new} (was {old})"),
    "lowered": lambda: told("step {step}: overflow, lowering loss scale to {new}"),
    "pairs": lambda: told("step={step} event=backoff scale_before={old} scale_after={new}"),
    "pair": lambda: told("step={step} skipped=1 loss_scale={new}"),
    "backing off": lambda: told("step {step}: backing off the grad scale from {old} to {new}", prefix="[1,{}]<stdout>:"),
    "records": lambda: objects(lambda _step, old, new: {"event": "scaler", "old_scale": old, "new_scale": new}),
    "records of one": lambda: objects(lambda _step, _old, new: {"event": "skip", "amp_scale": new}),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_scale_is_why_it_ended(tmp_path: Path, form: str) -> None:
    said = analyze(str(written(tmp_path, FORMS[form]()))).verdict
    assert (said.kind, said.ranks) == ("numerics", [])
    assert said.cause in ("loss_scale_collapse", "overflow", "nan_birth")
