"""Digests and figures of one rank, behind what a logger sets before them and however a line strings them together: who left the others is named;
where two hold different ones, or only one prints, nobody is."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze

RANKS, STEPS, ODD, SINCE = 5, range(10, 22), 3, 16
Form = Callable[[int, int, bool], str]  # rank, step, whether it is another one → its line
LEVELS = "2026-01-31 10:11:12,689 INFO    "


def _sum(step: int, *, odd: bool, name: str = "w") -> str:
    text = hashlib.sha256(f"{name} {step} {odd}".encode()).hexdigest()
    return f"a{text[:3]}7{text[3:6]}"  # letters and digits


def _loss(rank: int, step: int) -> str:
    return f"{2 + rank / 10 - step / 100:.4f}"


def _order(step: int, ranks: int) -> list[int]:
    return [(one * 2 + step) % ranks for one in range(ranks)] if ranks % 2 else [*range(ranks)][:: 1 - 2 * (step % 2)]


def _said(rank: int, step: int, odd: bool, who: str = "worker", count: str = "update") -> dict[str, object]:
    own = {who: rank, count: step, "return_mean": float(_loss(rank, step)), "policy_crc": _sum(step, odd=odd)}
    return own | {"entropy": 1.25}


ONE_LOG: Mapping[str, Form] = {
    "mpirun, pairs with colons": lambda r, s, o: (
        f"[1,{r}]<stdout>: it {s:02} mse {_loss(r, s)}  W1:{_sum(s, odd=o)} b1:{_sum(s, odd=False, name='b')}"
    ),
    "labels, equals signs": lambda r, s, o: (
        f"[rank{r}]: iter {s} | loss {_loss(r, s)} | fc={_sum(s, odd=o)} head={_sum(s, odd=False, name='b')}"
    ),
    "labels, words apart": lambda r, s, o: (
        f"[rank{r}]: step {s}  loss {_loss(r, s)}  emb {_sum(s, odd=o)} out {_sum(s, odd=False, name='b')}"
    ),
    "commas, capitals": lambda r, s, o: (
        f"[rank{r}]: step {s}, loss {_loss(r, s)}, A:{_sum(s, odd=o)} B:{_sum(s, odd=False, name='b')}"
    ),
    "literals behind a logger": lambda r, s, o: f"INFO:grid.learner:{_said(r, s, o)}",
    "JSON behind a logger": lambda r, s, o: f"{LEVELS}learner: {json.dumps(_said(r, s, o, 'proc', 'step'))}",
    "JSON behind a stamp": lambda r, s, o: f"2026-01-31T10:11:12Z {json.dumps(_said(r, s, o, 'replica', 'it'))}",
    "literals in brackets": lambda r, s, o: f"[train] {_said(r, s, o, 'trainer', 'iteration')}",
    "an index by another word": lambda r, s, o: f"DEBUG:x:{_said(r, s, o, 'worker_id', 'step')}",
}
FILES: Mapping[str, Form] = {
    "a logger with a share": lambda r, s, o: (
        f"{LEVELS}asr.train (worker {r} of {RANKS}): update {s}: my batch [a-1 b-2], my loss {_loss(r, s)}, weights crc {_sum(s, odd=o)}"
    ),
    "a level alone": lambda r, s, o: f"INFO: step {s}: loss {_loss(r, s)}, crc32 {_sum(s, odd=o)}",
    "a name in brackets": lambda r, s, o: f"[trainer]: it {s}, loss {_loss(r, s)}, sha {_sum(s, odd=o)}",
    "a logger, bars": lambda r, s, o: (
        f"{LEVELS}nlp.fit: step {s} | loss {_loss(r, s)} | w:{_sum(s, odd=o)} b:a7{s}c0ffee"
    ),
    "words behind the count": lambda r, s, o: (
        f"iteration {s}: own shard [x y], loss {_loss(r, s)}, params {_sum(s, odd=o)}"
    ),
}


def _write(
    folder: Path, form: Form, *, is_log: bool, ranks: int = RANKS, odd: frozenset[int] = frozenset((ODD,))
) -> Path:
    for step in STEPS:
        for rank in _order(step, ranks):
            path = folder / ("train.log" if is_log else f"logs/rank_{rank}.log")
            path.parent.mkdir(exist_ok=True)
            with path.open("a") as file:
                file.write(form(rank, step, rank in odd and step >= SINCE) + "\n")
    return folder


FORMS = {
    **{name: (form, True) for name, form in ONE_LOG.items()},
    **{name: (form, False) for name, form in FILES.items()},
}


@pytest.mark.parametrize("name", FORMS)
def test_who_left_the_others_is_named(tmp_path: Path, name: str) -> None:
    form, is_log = FORMS[name]
    verdict = analyze(_write(tmp_path, form, is_log=is_log)).verdict
    assert (verdict.cause, verdict.ranks) == ("replica_divergence", [ODD])
    assert verdict.first_anomaly is not None
    assert verdict.first_anomaly.step == SINCE


TWO = ("mpirun, pairs with colons", "literals behind a logger", "a logger with a share")


@pytest.mark.parametrize("name", TWO)
def test_of_two_nobody_is(tmp_path: Path, name: str) -> None:
    form, is_log = FORMS[name]
    verdict = analyze(_write(tmp_path, form, is_log=is_log, ranks=2, odd=frozenset((1,)))).verdict
    assert (verdict.cause, verdict.ranks) == ("replica_divergence", [])


def test_what_one_process_counts_is_no_rank(tmp_path: Path) -> None:
    """Layers in their order, one of which is another from some step on: nothing tells ranks."""
    for step in STEPS:
        for layer in range(RANKS):
            told = _said(layer, step, layer == ODD and step >= SINCE, "layer", "step")
            with (tmp_path / "train.log").open("a") as file:
                file.write(f"INFO:grid.learner:{told}\n")
    assert analyze(tmp_path).verdict.ranks == []


def test_without_the_record_of_the_odd_one_nobody_is(tmp_path: Path) -> None:
    form, is_log = FORMS["a logger with a share"]
    _write(tmp_path, form, is_log=is_log)
    (tmp_path / f"logs/rank_{ODD}.log").unlink()
    assert analyze(tmp_path).verdict.ranks == []


BAD: Mapping[str, Callable[[int, int, str], str]] = {
    "a logger with a share": lambda r, s, x: (
        f"{LEVELS}asr.train (worker {r} of {RANKS}): update {s}: my batch [a-1 b-2], energy from {x} to 2.7, my loss {x}"
    ),
    "a level alone": lambda r, s, x: f"WARNING: step {s}: own loss {x}, read 4 of shard {r}",
    "a name in brackets": lambda r, s, x: f"[trainer]: it {s}: local batch [k l], local loss {x}",
}


def _figures(folder: Path, name: str, since: Mapping[int, int]) -> Path:
    for rank in range(RANKS):
        lines = (BAD[name](rank, step, "nan" if step >= since[rank] else _loss(rank, step)) for step in STEPS)
        (folder / f"rank_{rank}.log").write_text("".join(f"{line}\n" for line in lines))
    return folder


@pytest.mark.parametrize("name", BAD)
def test_who_alone_came_to_a_bad_figure_is_told(tmp_path: Path, name: str) -> None:
    verdict = analyze(_figures(tmp_path, name, {rank: SINCE + (rank != ODD) for rank in range(RANKS)})).verdict
    suspects = [] if verdict.suspects is None else verdict.suspects.ranks
    assert (verdict.kind, [*verdict.ranks, *suspects]) == ("numerics", [ODD])


@pytest.mark.parametrize("name", BAD)
def test_where_all_came_to_it_at_once_nobody_is(tmp_path: Path, name: str) -> None:
    verdict = analyze(_figures(tmp_path, name, dict.fromkeys(range(RANKS), SINCE))).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [])
