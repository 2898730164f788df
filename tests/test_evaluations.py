"""What a validation shows that is no number: the job is not well then, and whose it is, only where all others' own were numbers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze

RANKS, ODD, LAST = 4, 2, 30
NAN = float("nan")


def _hf(lost: bool) -> list[str]:
    bars = [
        line
        for step in range(1, LAST + 1)
        for line in (
            f"{{'loss': {3 - step / 50:.4f}, 'grad_norm': 0.91, 'learning_rate': 1e-05, 'epoch': {step / LAST:.2f}}}",
            f" {step * 3}%|###  | {step}/{LAST} [00:10<00:20, 1.00it/s]",
        )
    ]
    return [*bars, f"{{'eval_loss': {'nan' if lost else 2.5}, 'eval_runtime': 3.4, 'epoch': 1.0}}"]


def _quoted(lost: bool) -> list[str]:
    lines = [
        f'INFO | inner | {{"loss": "{3 - step / 50:.3f}", "num_updates": "{step}"}}' for step in range(1, LAST + 1)
    ]
    value = "nan" if lost else "2.51"
    return [*lines, f'INFO | valid | {{"valid_loss": "{value}", "valid_ppl": "{value}", "valid_best_loss": "inf"}}']


def _records(lost: bool) -> list[str]:
    told = [{"step": step, "loss": 3 - step / 50} for step in range(LAST + 1)]
    return [json.dumps(one) for one in (*told, {"step": LAST, "split": "val", "loss": NAN if lost else 2.5})]


def _columns(lost: bool) -> list[str]:
    """Every ten steps from the beginning, in the line of the training."""
    return [
        f"step={step} train_loss={3 - step / 50:.4f} val_loss={'nan' if lost and step > 15 else f'{3 - step / 60:.4f}'}"
        for step in range(0, LAST + 1, 5)
    ]


def _filled(at: int) -> list[str]:
    """A table that has NaN where nothing was evaluated, as before the first one and behind the last."""
    return [
        "step,loss,val_loss",
        *(f"{step},{3 - step / 50:.4f},{2.8 if step % 10 == at else NAN}" for step in range(LAST)),
    ]


@pytest.mark.parametrize("form", [_hf, _quoted, _records, _columns])
@pytest.mark.parametrize("lost", [True, False])
def test_a_validation_that_is_no_number_is_no_healthy_job(
    tmp_path: Path, form: Callable[[bool], list[str]], lost: bool
) -> None:
    (tmp_path / "train.log").write_text("\n".join([*form(lost), "Training completed."]) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics" if lost else "healthy", [])


@pytest.mark.parametrize("at", [0, 5])
def test_what_fills_in_for_no_evaluation_says_nothing(tmp_path: Path, at: int) -> None:
    (tmp_path / "history.csv").write_text("\n".join(_filled(at)) + "\n")
    (tmp_path / "train.log").write_text(f"step {LAST} loss 2.4\nTraining completed.\n")
    assert analyze(tmp_path).verdict.kind == "healthy"


def _of_rank(form: str, rank: int, lost: bool) -> str:
    value = "nan" if lost else f"{4.5 + rank / 7:.4f}"
    return form.format(s=LAST, r=rank, v=value)


FORMS = [
    "update={s} rank={r} tokens=100 local_valid_loss={v}",
    '{{"step": {s}, "rank": {r}, "eval/loss": {v}}}',
    "iter {s} own val_loss {v}",
]


def _write(path: Path, form: str, lost: set[int], told: set[int], reduced: bool) -> None:
    train = [f"step {step} loss {3 - step / 50:.4f}" for step in range(LAST + 1)]
    ends = [f"step {LAST} val_loss {'nan' if lost else 2.5}"] if reduced else []
    (path / "train.log").write_text("\n".join([f"world_size: {RANKS}", *train, *ends, "Training completed."]) + "\n")
    for rank in told:
        said = _of_rank(form, rank, rank in lost).replace("nan}", "NaN}")
        (path / f"eval_rank{rank}.txt").write_text(f"evaluation of rank {rank}\n{said}\n")


@pytest.mark.parametrize("form", FORMS)
def test_whose_own_validation_was_no_number_while_all_others_were(tmp_path: Path, form: str) -> None:
    _write(tmp_path, form, {ODD}, {*range(RANKS)}, reduced=True)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [ODD])
    assert verdict.first_anomaly.step == LAST


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("lost", "told"), [({ODD}, {0, ODD}), ({0, ODD}, {*range(RANKS)}), ({*range(RANKS)}, {*range(RANKS)})]
)
def test_nobody_where_one_is_not_seen_or_many_are_bad(
    tmp_path: Path, form: str, lost: set[int], told: set[int]
) -> None:
    _write(tmp_path, form, lost, told, reduced=True)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [])


@pytest.mark.parametrize(
    "line",
    [
        "eval @ step {step}: val_loss={loss} val_loss_ema={copy}",
        "step {step} | val/loss: {loss} | val/swa_loss: {copy}",
        '{{"step": {step}, "val_loss": {loss}, "teacher_val_loss": {copy}}}',
        "step={step} train_loss={loss} val_loss={loss} ema_val_loss={copy}",
    ],
)
@pytest.mark.parametrize("lost", [True, False])
def test_a_copy_of_the_weights_that_is_no_number_beside_sound_ones(tmp_path: Path, line: str, lost: bool) -> None:
    for rank in range(2):
        lines = [f"[rank {rank}] step {step}/{LAST} loss={3 - step / 50:.4f}" for step in range(1, LAST + 1)]
        for step in (25, 15, 5):
            copy = "NaN" if lost and (step > 20 or "train" not in line) else "2.5"
            lines.insert(step, line.format(step=step, loss="2.51", copy=copy))
        (tmp_path / f"rank_{rank}.out").write_text("\n".join([*lines, "training finished"]) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics" if lost else "healthy", [])


@pytest.mark.parametrize("beside", ["best_val_loss=nan", "val_auc=nan", "val_loss_std=nan", "max_val_loss=inf"])
def test_what_has_no_value_beside_a_sound_loss(tmp_path: Path, beside: str) -> None:
    lines = [f"step {step}/{LAST} loss={3 - step / 50:.4f}" for step in range(1, LAST + 1)]
    lines.insert(20, f"eval @ step 20: val_loss=2.5 {beside}")
    (tmp_path / "train.log").write_text("\n".join([*lines, "training finished"]) + "\n")
    assert analyze(tmp_path).verdict.kind == "healthy"


@pytest.mark.parametrize("name", ["recall", "recall_rare", "precision", "loss_class_3", "train/iou", "f1"])
@pytest.mark.parametrize("kept", [True, False])
def test_what_only_judges_is_nobodys_fault_while_all_losses_are_numbers(tmp_path: Path, name: str, kept: bool) -> None:
    for rank in range(4):
        rows = []
        for step in range(14):
            lost = step > 8 or (step == 8 and rank == ODD)
            own = round(2 + 0.07 * ((5 * rank + 3 * step) % 11), 4)
            loss = own if kept or not lost else float("nan")
            rows.append(json.dumps({"rank": rank, "step": step, "loss": loss, name: float("nan") if lost else own}))
        (tmp_path / f"{rank}.jsonl").write_text("\n".join(rows) + "\n")
    assert analyze(tmp_path).verdict.ranks == ([] if kept else [ODD])
