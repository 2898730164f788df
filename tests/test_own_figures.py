"""The step and its own loss as people print them, NaN on one rank first: the same verdict in every form, behind every label."""

from pathlib import Path

import pytest

from forensics import analyze

RANKS, STEPS, FIRST, ODD = 4, 20, 330, 2
FORMS = (
    "it {s} local_loss {l} tok/s {t}",
    "step {s} loss {l}",
    "step={s} loss={l} gnorm={g}",
    "iter {s:05d}/10000 | loss: {l} | lr: 3.0e-04 | {t} tok/s",
    "[{s}/10000] loss {l} dt 12.4ms",
    "Step {s}: train loss {l}, norm {g}",
    "{s:>6} loss={l} tps={t}",
    "epoch 0 batch {s} rank_loss {l}",
    "(step {s}) my_loss={l}",
    "loss at step {s}: {l}",
    "#{s} loss {l} time 0.41s",
    "update {s}, loss (this rank) {l}",
    "step:{s} loss:{l} grad:{g}",
    "train: {{'step': {s}, 'loss': {l}}}",
    '{{"it": {s}, "nll": {l}, "n": {t}}}',
    "iteration={s} lm_loss={l} throughput={t}",
    "it={s};loss={l};tok_s={t}",
    "global_step {s} train/loss {l} train/local_grad_norm {g}",
    "<{s}> loss={l} gn={g}",
    "batch {s} nll {l} ppl 12.1",
    "it {s} xent {l}",
    "step {s}, loss on this rank = {l} ({t} tokens/s)",
    "Iteration {s}, Loss {l}",
    "step {s} loss before sync {l}",
)
LABELS = (
    "[rank{r}]: ",
    "[1,{r}]<stdout>: ",
    "{r}: ",
    "2026-03-01 10:00:{at:02},{r}00 INFO [rank {r}] ",
)


def _lines(form: str, label: str = "", *, since: int = 14) -> list[list[str]]:
    """A list of lines for each rank; rank ODD goes bad in a step, and all others one later."""
    made = []
    for rank in range(RANKS):
        own = []
        for at in range(STEPS):
            bad = at > since or (at == since and rank == ODD)
            loss = "nan" if bad else f"{3 - at / 20 + rank / 100 + (at * 7 + rank * 13) % 11 / 300:.4f}"
            norm = "nan" if bad else f"{0.5 + rank / 50 + (at * 5 + rank * 3) % 7 / 100:.4f}"
            said = form.format(s=FIRST + at, l=loss, g=norm, t=11000 + (at * 37 + rank * 91) % 700)
            own.append(label.format(r=rank, at=at) + said)
        made.append(own)
    return made


def _is_heard(folder: Path) -> bool:
    verdict = analyze(folder).verdict
    step = verdict.first_anomaly.step if verdict.first_anomaly else None
    return (verdict.kind, list(verdict.ranks), step) == ("numerics", [ODD], FIRST + 14)


@pytest.mark.parametrize("form", FORMS)
def test_one_log_a_rank(tmp_path: Path, form: str) -> None:
    for rank, lines in enumerate(_lines(form)):
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    assert _is_heard(tmp_path)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("form", [FORMS[0], FORMS[6], FORMS[9], FORMS[13], FORMS[21]])
def test_one_log_of_all(tmp_path: Path, form: str, label: str) -> None:
    told = zip(*_lines(form, label), strict=True)
    begun = ["srun --label --nodes=1 --ntasks=4 python train.py"] if label == "{r}: " else []
    (tmp_path / "job.out").write_text("\n".join([*begun, *(line for step in told for line in step)]) + "\n")
    assert _is_heard(tmp_path)


@pytest.mark.parametrize(
    "form", ["{r}: loss {l}", "[{r}/4] loss {l}", "worker {r} sees loss {l} today, as it was told before"]
)
def test_a_number_that_does_not_rise_is_no_step(tmp_path: Path, form: str) -> None:
    for rank in range(RANKS):
        lines = [form.format(r=rank, l="nan" if at > 14 else f"{3 - at / 20:.4f}") for at in range(STEPS)]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    assert analyze(tmp_path).verdict.first_anomaly.step is None


@pytest.mark.parametrize("form", ["step {s} val_loss {l}", "step {s} loss_scale {l}", "step {s} max loss {l}"])
def test_figures_that_are_no_loss_of_the_training(tmp_path: Path, form: str) -> None:
    for rank, lines in enumerate(_lines(form)):
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    assert not analyze(tmp_path).verdict.ranks


@pytest.mark.parametrize("name", ["loss_rank", "train/loss_worker", "loss_per_process", "train_loss_replica"])
@pytest.mark.parametrize(("mates", "lost", "named"), [(1, (), [ODD]), (2, (), []), (1, (0, 1, 3), [])])
def test_the_loss_of_the_rank_beside_that_of_all(
    tmp_path: Path, name: str, mates: int, lost: tuple[int, ...], named: list[int]
) -> None:
    """Mates that share a loss, and ranks whose files are lost, leave the odd one unnamed."""
    for rank in {*range(RANKS)} - {*lost}:
        rows = ["step,loss_mean,lr," + name]
        for at in range(STEPS):
            bad = at > 14 or (at == 14 and rank // mates == ODD // mates)
            own = "nan" if bad else f"{3 - at / 20 + (rank // mates) / 100 + at * 7 % 11 / 300:.4f}"
            rows.append(f"{FIRST + at},{'nan' if at >= 14 else f'{3 - at / 20:.4f}'},3e-4,{own}")
        (tmp_path / f"rank_{rank}.csv").write_text("\n".join(rows) + "\n")
    assert list(analyze(tmp_path).verdict.ranks) == named


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("gradients are averaged over the 4 ranks", [ODD]),
        ("grads all-reduced across all 4 workers", [ODD]),
        ("gradients are averaged over the 2 replicas", []),
        ("activations are reduced over the 4 ranks", []),
    ],
)
def test_gradients_of_all_ranks_are_averaged_where_each_is_a_replica(
    tmp_path: Path, said: str, named: list[int]
) -> None:
    for rank in range(RANKS):
        rows = ["| step | module | out.nan | out.absmax |", "|---:|:---|---:|---:|"]
        for at in range(8):
            bad = at > 5 or (at == 5 and rank == ODD)
            rows.append(f"| {at} | blocks.1.mlp | {int(bad)} | {3 + (at * 7 + rank * 5) % 11 / 10:.2f} |")
        (tmp_path / f"table_rank{rank}.md").write_text("\n".join([f"# rank {rank} of 4", "", *rows, "", said]) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (list(verdict.ranks), list(verdict.suspects.ranks)) == (named, [] if named else [ODD])
