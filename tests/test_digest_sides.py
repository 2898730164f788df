"""Digests of both sides of something: a repeat, a reduction, a message, in whatever form; and what looks like a fault there and is none."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze

RANKS, STEPS, LAYERS, ODD = 4, 6, 4, 2
Record = Mapping[str, Any]
Form = Callable[[Record], str]


def digest(*of: object) -> str:
    return hashlib.md5(repr(of).encode()).hexdigest()[:8]


def as_json(said: Record) -> str:
    return json.dumps({name: cell for name, cell in said.items() if cell is not None})


def as_pairs(said: Record) -> str:
    return " ".join(f"{name}={cell}" for name, cell in said.items()) + " checked"


def as_cells(said: Record) -> str:
    return "\t".join(str(cell) for cell in said.values())


def written(folder: Path, records: Callable[[int], Iterator[Record]], form: Form, name: str) -> Any:
    for rank in range(RANKS):
        said = [*records(rank)]
        head = ["\t".join(said[0])] if form is as_cells else []
        path = folder / name.format(r=rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*head, *map(form, said)]) + "\n")
    return analyze(folder).incidents[0].verdict


FORMS = (as_json, as_pairs, as_cells)

# --- computed again


def repeated(first: str, again: str, differs: Callable[[int, int, int], bool]) -> Callable[[int], Iterator[Record]]:
    def records(rank: int) -> Iterator[Record]:
        for step in range(STEPS):
            for layer in range(LAYERS):
                one = digest(rank, step, layer)
                other = digest(one) if differs(rank, step, layer) else one
                yield {"step": step, "mb": 0, "module": f"h.{layer}.mlp", first: one, again: other}

    return records


def once(rank: int, step: int, layer: int) -> bool:
    return (rank, step, layer) == (ODD, 4, 1)


@pytest.mark.parametrize(
    "names", [("fwd_crc", "recompute_crc"), ("hash_forward", "hash_recomputed"), ("forward", "recomp")]
)
@pytest.mark.parametrize("form", FORMS)
def test_whose_repeat_differs_once_is_named(tmp_path: Path, form: Form, names: tuple[str, str]) -> None:
    verdict = written(tmp_path, repeated(*names, once), form, "audit/rank_{r}.txt")
    first = verdict.first_anomaly
    assert (verdict.cause, verdict.ranks, first.step, first.module) == ("replica_divergence", [ODD], 4, "h.1.mlp")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "differs", [lambda *_: True, lambda rank, step, layer: step == 3, lambda rank, *_: rank == ODD]
)
def test_repeats_that_are_alike_nowhere_name_nobody(
    tmp_path: Path, form: Form, differs: Callable[[int, int, int], bool]
) -> None:
    assert written(tmp_path, repeated("fwd_crc", "recompute_crc", differs), form, "audit/rank_{r}.txt").ranks == []


# --- before and after a reduction


def reduced(before: str, after: str, bad: Callable[[int, int, int], bool]) -> Callable[[int], Iterator[Record]]:
    def records(rank: int) -> Iterator[Record]:
        for step in range(STEPS):
            for bucket in range(3):
                is_bad, is_after = bad(rank, step, bucket), step == STEPS - 1
                yield {
                    "step": step, "bucket": bucket, f"{before}_nan": 0, f"{before}_crc": digest(rank, step, bucket),
                    f"{after}_nan": 3 if is_bad else 64 if is_after else 0, f"{after}_crc": digest(step, bucket, is_bad and rank),
                }  # fmt: skip

    return records


@pytest.mark.parametrize("names", [("in", "out"), ("pre", "post"), ("before", "after")])
@pytest.mark.parametrize("form", FORMS)
def test_who_alone_got_a_nan_out_of_a_reduction_is_named(tmp_path: Path, form: Form, names: tuple[str, str]) -> None:
    verdict = written(tmp_path, reduced(*names, lambda *at: at == (ODD, 4, 1)), form, "cc/rank{r}.log")
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("comm_corruption", [ODD], 4)


@pytest.mark.parametrize("form", FORMS)
def test_a_nan_that_all_got_out_of_a_reduction_names_nobody(tmp_path: Path, form: Form) -> None:
    verdict = written(
        tmp_path, reduced("in", "out", lambda _, step, bucket: (step, bucket) == (4, 1)), form, "cc/rank{r}.log"
    )
    assert verdict.ranks == []


# --- messages

SENT = {"as words": ("send", "recv"), "spelled": ("sent", "received")}


def messages(
    differs: Callable[[int, int], bool], words: tuple[str, str] = ("send", "recv")
) -> Callable[[int], Iterator[Record]]:
    def records(rank: int) -> Iterator[Record]:
        for step in range(STEPS):
            for batch in range(3):
                common = {"step": step, "mb": batch}
                if rank:
                    one = digest(rank - 1, step, batch)
                    one = digest(one) if rank == ODD and differs(step, batch) else one
                    yield common | {"op": words[1], "peer": rank - 1, "crc": one, "absmax": 1.5}
                if rank < RANKS - 1:
                    yield common | {"op": words[0], "peer": rank + 1, "crc": digest(rank, step, batch), "absmax": 1.5}

    return records


def as_line(said: Record) -> str:
    return f"12:00:01 it={said['step']} mb={said['mb']} {said['op']} dst={said['peer']} n=64 crc32={said['crc']} absmax={said['absmax']}"


@pytest.mark.parametrize("name", ["p2p/rank_{r}.log", "p2p/stage{r}.log"])
@pytest.mark.parametrize(
    ("form", "words"), [*((form, words) for form in (as_json, as_cells) for words in SENT), (as_line, "as words")]
)
def test_a_message_that_arrived_otherwise_names_neither_end(tmp_path: Path, form: Form, name: str, words: str) -> None:
    verdict = written(tmp_path, messages(lambda *at: at == (4, 1), SENT[words]), form, name)
    first = verdict.first_anomaly
    assert (verdict.cause, verdict.ranks, first.step, first.microbatch) == ("comm_corruption", [], 4, 1)


def test_a_checker_tells_both_ends_in_one_record(tmp_path: Path) -> None:
    def records(rank: int) -> Iterator[Record]:
        for step in range(STEPS):
            sent = digest(rank, step)
            got = digest(sent) if (rank, step) == (1, 4) else sent
            yield {"step": step, "src": rank, "dst": (rank + 1) % RANKS, "sent_crc": sent, "recv_crc": got}

    verdict = written(tmp_path, records, as_json, "check_{r}.jsonl")
    assert (verdict.cause, verdict.ranks, verdict.suspects.ranks) == ("comm_corruption", [], [1, 2])


@pytest.mark.parametrize("form", [as_json, as_line])
def test_messages_that_mostly_differ_tell_nothing(tmp_path: Path, form: Form) -> None:
    assert written(tmp_path, messages(lambda step, batch: True), form, "p2p/rank_{r}.log").cause is None


def test_a_tensor_s_own_column_says_which_side_it_is(tmp_path: Path) -> None:
    """What a call is given to write into holds anything: this project's own rows say so, whatever the first ones of a file are."""

    def records(rank: int) -> Iterator[Record]:
        for step in range(STEPS):
            message = {
                "rank": rank,
                "step": step,
                "phase": "comm",
                "module": "p2p",
                "op": "recv",
                "peer": (rank - 1) % RANKS,
                "call": step,
            }
            yield {**message, "tensor": "input", "nan_count": 64}
            yield {**message, "tensor": "output", "min": -1.0, "max": 1.0, "nan_count": 0, "inf_count": 0}

    verdict = written(tmp_path, records, as_json, "rank_{r}.jsonl")
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("unknown", [], [])
