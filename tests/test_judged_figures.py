"""Whether a figure is a number is told in many forms behind it, beside it, or by a count of any name: one rank's alone is named by all of them."""

from pathlib import Path

import pytest

from forensics import Report, analyze

RANKS, STEPS, FIRST, ODD = 4, 12, 7, 2


def _number(rank: int, step: int) -> str:
    return f"{1 + rank / 10 + (7 * rank + step) % 5 / 100:.4f}"


def _report(folder: Path, form: str, fine: str, bad: str, first: str = "", *, mask: bool = False) -> Report:
    for rank in range(RANKS):
        rows = [first] if first else []
        for step in range(STEPS):
            is_odd = step > FIRST or (step == FIRST and rank == ODD)
            lost = step > FIRST and not mask
            number = _number(rank, step)
            told = {"step": step, "rank": rank, "n": number, "v": bad if is_odd or mask else fine}
            rows.append(form.format(**told, x="nan" if is_odd and not mask else number, loss="nan" if lost else number))
        (folder / f"rank_{rank}.{'csv' if first else 'log'}").write_text("\n".join(rows) + "\n")
    return analyze(folder)


HOOK = "[rank {rank}] it={step} layers.1.fc2 in absmax {n} (finite) out absmax {x} {v}\n[rank {rank}] it={step} loss {loss}"


@pytest.mark.parametrize(
    ("form", "fine", "bad", "module"),
    [
        (HOOK, "(finite)", "(3 inf 0 nan)", "layers.1.fc2"),
        (HOOK, "(all finite)", "(NON-FINITE!)", "layers.1.fc2"),
        (HOOK, "finite", "nonfinite", "layers.1.fc2"),
        (HOOK, "finite=True", "finite=False", "layers.1.fc2"),
        (
            '{{"it": {step}, "rank": {rank}, "mod": "h.1.mlp", "ev": "fwd", "fin_in": true, "fin_out": {v}}}\n'
            '{{"it": {step}, "rank": {rank}, "loss": "{loss}"}}',
            "true",
            "false",
            "h.1.mlp",
        ),
        (
            '{{"it": {step}, "rank": {rank}, "mod": "h.1.mlp", "in_ok": 1, "out_ok": {v}}}\n'
            '{{"it": {step}, "rank": {rank}, "loss": "{loss}"}}',
            "1",
            "0",
            "h.1.mlp",
        ),
        ("[rank {rank}] step {step} loss {loss} nan_after_dequant {v} gain {n}", "0", "12", None),
        ("[rank {rank}] round {step} pulled nan 0 features nan {v} loss {loss}", "0", "12", None),
        ('{{"step": {step}, "rank": {rank}, "loss": "{loss}", "nonfinite_before_reduce": {v}}}', "0", "12", None),
    ],
)
def test_who_alone_lost_it(tmp_path: Path, form: str, fine: str, bad: str, module: str | None) -> None:
    verdict = _report(tmp_path, form, fine, bad).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [ODD])
    assert verdict.first_anomaly is not None
    assert verdict.first_anomaly.step == FIRST
    assert module in (None, verdict.first_anomaly.module)


@pytest.mark.parametrize("name", ["nan_after_quant", "nan_grads", "quant_nan"])
def test_a_column_that_counts_by_any_name(tmp_path: Path, name: str) -> None:
    verdict = _report(tmp_path, "{step},{loss},{v},{n}", "0", "12", f"step,loss,{name},gain").verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [ODD])


@pytest.mark.parametrize(
    ("form", "bad"),
    [
        ("[rank {rank}] it={step} layers.0.mask out -inf {v}\n[rank {rank}] it={step} loss {loss}", "(768 inf 0 nan)"),
        ("[rank {rank}] it={step} raw nan {v} imputed nan 0 loss {loss}", "7"),
    ],
)
def test_what_all_have_from_the_beginning(tmp_path: Path, form: str, bad: str) -> None:
    assert _report(tmp_path, form, "(finite)", bad, mask=True).verdict.kind != "numerics"


SERVED = ["server rank 0, trainers ranks 1..3", "rank 0 is the learner; actors are ranks 1-3"]


@pytest.mark.parametrize(("head", "named"), [*((head, [3]) for head in SERVED), ("", [2])])
def test_who_serves_is_none_of_those_that_count_off(tmp_path: Path, head: str, named: list[int]) -> None:
    if head:
        (tmp_path / "server.log").write_text(f"{head}\n" + "".join(f"round {step} applied\n" for step in range(STEPS)))
    for rank in (1, 2, 3):
        rows = [f"10:02:3{rank}.1{rank} trainer rank {rank} of 3"]
        for step in range(STEPS):
            odd, lost = step == FIRST and rank == 3, step > FIRST
            loss = "nan" if odd or lost else _number(rank, step)
            rows.append(f"round {step} pulled nan {9 * lost} features nan {int(odd)} loss {loss}")
        (tmp_path / f"trainer_{rank}.log").write_text("\n".join(rows) + "\n")
    assert analyze(tmp_path).verdict.ranks == named
