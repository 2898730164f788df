"""Simulated numeric incidents: what is written is what the tables hold, NaN goes where the data goes, seeds repeat."""

from dataclasses import replace
from pathlib import Path

import pytest

from parsers import read
from samples.simulator import Job
from samples.simulator.numerics import NUMERIC_KINDS, Form, Model, NumericFault, NumericNoise, simulate_numerics

SMALL = Job(tp=2, pp=2, dp=4, ep=2, steps=2, microbatches=1, layers=1)
JOB = Job(tp=2, pp=2, dp=4, ep=2, steps=2, microbatches=2, layers=1)


@pytest.mark.parametrize("kind", NUMERIC_KINDS)
def test_each_kind_takes_effect_and_repeats(kind: str) -> None:
    noise = NumericNoise(form=Form(log=True))
    one, two = (simulate_numerics(SMALL, NumericFault(kind), 5, noise) for _ in range(2))  # type: ignore[arg-type]
    assert one.truth == two.truth
    if kind == "restart":
        assert repr(one.statistics) == repr(two.statistics)
    culprits = one.truth["fault"]["culprits"]
    assert bool(culprits) == (kind not in ("none", "loss_spike", "scale_collapse", "underflow"))


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("nan_backward", Form(log=True)),
        ("comm_message", Form(counts=False, prefilled=True, calls="named")),
        ("restart", Form(attempts=True, seq=True, checksum=True)),
        ("experts", Form(calls="bare", finite=True, slices=False, log=True)),
        ("loss_spike", Form()),
    ],
)
@pytest.mark.parametrize("fmt", ["jsonl", "parquet"])
def test_bytes_give_the_same_as_tables(tmp_path: Path, kind: str, form: Form, fmt: str) -> None:
    incident = simulate_numerics(JOB, NumericFault(kind), 3, NumericNoise(form=form))  # type: ignore[arg-type]
    incident.write(tmp_path / "case", fmt)  # type: ignore[arg-type]
    found, made = read(str(tmp_path / "case/bundle")).tables, incident.evidence()
    steps = [tables["steps"].drop("learning_rate") for tables in (found, made)]  # that the lines tell besides
    assert steps[0].equals(steps[1])
    order, places = ["rank", "attempt", "record"], ["file", "line"]
    tensors = [tables["tensors"].drop(places).sort(order, nulls_last=True) for tables in (found, made)]
    assert tensors[0].equals(tensors[1])
    assert found["unread"].is_empty()


def test_without_a_fault_nothing_is_bad_but_masks() -> None:
    tensors = simulate_numerics(JOB, NumericFault(), 1).evidence()["tensors"]
    bad = tensors.filter((tensors["nan_count"] > 0) | (tensors["inf_count"] > 0))
    assert set(bad["op"].unique()) <= {"masked_fill", "softmax"}
    assert bad["nan_count"].sum() == 0


def test_replicas_are_equal_where_they_must_be() -> None:
    tensors = simulate_numerics(replace(JOB, ep=1), NumericFault(), 1).evidence()["tensors"]
    params = tensors.filter((tensors["phase"] == "optimizer") & tensors["tensor"].str.starts_with("param"))
    first, second = (params.filter(params["rank"] == rank).select("module", "step", "absmax") for rank in (0, 2))
    assert first.height > 0
    assert first.equals(second)


def test_nan_spreads_by_the_gradient_norm() -> None:
    incident = simulate_numerics(JOB, NumericFault("nan_backward", step=0), 2, model=Model(clip=True))
    tensors = incident.evidence()["tensors"]
    params = tensors.filter((tensors["phase"] == "optimizer") & tensors["tensor"].str.starts_with("param"))
    assert (params["nan_count"] > 0).all()


def test_noise_takes_away_and_never_adds() -> None:
    noise = NumericNoise(every=2, modules=0.5, lost=0.5, truncated=0.5, culprit_lost=True)
    incident = simulate_numerics(JOB, NumericFault("nan_forward"), 4, noise)
    tensors = incident.evidence()["tensors"]
    assert not set(incident.truth["fault"]["culprits"]) & set(tensors["rank"].to_list())
    assert not incident.truth["decidable"]
    assert tensors["step"].n_unique() == 1


def test_no_place_for_the_fault() -> None:
    with pytest.raises(ValueError, match="no place"):
        simulate_numerics(Job(tp=1, pp=1, dp=2, steps=2), NumericFault("comm_message"))
