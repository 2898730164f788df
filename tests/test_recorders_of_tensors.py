"""A recorder of one's own whose rows tell of parameters, of what goes in and comes out, and of gradients before and after they are reduced."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from forensics import Report, analyze

RANKS, STEPS, ODD, AT = 4, 4, 1, 2
LAYERS = ("emb", "enc.0.norm", "enc.0.fc", "enc.1.norm", "enc.1.fc", "head")
FORMS = {
    "plain": (("iter", "phase", "layer", "type", "what", "amax", "n_nan", "n_inf"),
              ("fwd", "bwd", "sync"), ("in", "param.weight", "param.bias", "out"), ("local", "reduced"), ","),
    "other names": (("step", "pass", "where", "kind", "io", "abs_max", "num_nan", "num_inf"),
                    ("forward", "backward", "after"), ("input", "weight", "w.bias", "output"), ("own", "all_reduced"), "\t"),
    "semicolons": (("it", "stage", "block", "cls", "tensor_kind", "max_abs", "nans", "infs"),
                   ("FWD", "BWD", "STEP"), ("inputs", "params.kernel", "params.b", "outputs"), ("pre", "synced"), ";"),
}  # fmt: skip


def _rows(form: str, rank: int, odd: Sequence[int], *, is_reduced_alone: bool) -> Iterator[str]:
    names, phases, sides, grads, mark = FORMS[form]
    yield mark.join(names)
    for step in range(STEPS):
        bad = step > AT or (step == AT and rank in odd and not is_reduced_alone)
        is_lost = step > AT
        for place, layer in enumerate(LAYERS):
            for side in sides:
                is_out = side == sides[-1]
                is_param = side in sides[1:3]
                nans = int(
                    (is_lost and (is_param or place > 0))
                    or (bad and (place > 1 or (place == 1 and is_out)) and not is_param)
                )
                size = f"{1 + place / 7 + (0 if is_param else rank / 9) + step / 99:.4f}"
                yield mark.join((str(step), phases[0], layer, "Linear", side, size, str(nans), "0"))
        for at, grad in ((1, grads[0]), (2, grads[1])):
            for layer in LAYERS:
                nans = int(bad or (at == 2 and step >= AT))
                size = f"{0.01 * (1 + step) + (rank / 999 if at == 1 else 0):.5f}"
                yield mark.join((str(step), phases[at], f"{layer}.weight", "grad", grad, size, str(nans), "0"))


def _recorded(folder: Path, form: str, odd: Sequence[int], *, is_reduced_alone: bool = False) -> Report:
    for rank in range(RANKS):
        text = "\n".join(_rows(form, rank, odd, is_reduced_alone=is_reduced_alone))
        (folder / f"rank{rank}.csv").write_text(text + "\n")
    return analyze(folder)


@pytest.mark.parametrize("form", FORMS)
def test_who_made_it_before_gradients_were_reduced_is_named(tmp_path: Path, form: str) -> None:
    verdict = _recorded(tmp_path, form, [ODD]).verdict
    assert (verdict.kind, verdict.cause, list(verdict.ranks)) == ("numerics", "nan_birth", [ODD])
    assert (verdict.first_anomaly.step, verdict.first_anomaly.module) == (AT, LAYERS[1])


@pytest.mark.parametrize("form", FORMS)
def test_what_only_the_reduction_gave_is_nobodys(tmp_path: Path, form: str) -> None:
    assert not _recorded(tmp_path, form, [], is_reduced_alone=True).verdict.ranks


@pytest.mark.parametrize("form", FORMS)
def test_the_same_place_on_all_is_nobodys(tmp_path: Path, form: str) -> None:
    assert not _recorded(tmp_path, form, range(RANKS)).verdict.ranks
