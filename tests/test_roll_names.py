"""Who is missing where nobody tells who is inside: a count that stands still names beside it just the rank that left no record."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.test_roll_calls import SIZE, TRIES, Logs, verdict

STEPS = range(1, 7)


def gate(out: int, said: int) -> Logs:
    """One counts them in, one after another; the others repeat nothing of the count."""
    inside = [rank for rank in range(SIZE) if rank != out]
    logs = {f"n{rank}.log": [f"04:00:00 gate: I am rank {rank}, world {SIZE}"] for rank in inside}
    for rank in inside:
        logs[f"n{rank}.log"] += [f"04:0{n}:09 gate: shut, patience" for n in TRIES]
    leader = logs[f"n{inside[0]}.log"]
    leader += [f"04:00:0{n} gate: came {rank}, {n}/{SIZE}" for n, rank in enumerate(inside, 1)]
    leader += [f"04:1{n}:00 gate: {SIZE - 1}/{SIZE} in after {60 + 30 * n} s, no word of {said}" for n in TRIES]
    return logs


def bell(out: int, said: int) -> Logs:
    inside = [rank for rank in range(SIZE) if rank != out]
    logs = {f"p{rank}.txt": [f"[rank {rank}] Start, world_size={SIZE}"] for rank in inside}
    logs[f"p{inside[0]}.txt"] += [f"Glocke: es fehlen [{said}] ({SIZE - 1} von {SIZE} da), {90 + n} s" for n in TRIES]
    return logs


def later(out: int, said: int) -> Logs:
    """After steps, in a barrier that the counting rank then gives up."""
    inside = [rank for rank in range(SIZE) if rank != out]
    logs = {}
    for rank in inside:
        logs[f"k{rank}.out"] = [f"2026-02-03 04:00:00 rank {rank} world_size {SIZE}"] + [
            f"2026-02-03 04:00:0{step} rank {rank} step {step} loss 2.{step}" for step in STEPS
        ]
    logs[f"k{inside[0]}.out"] += [
        *(
            f"2026-02-03 04:1{n}:00 save: {SIZE - 1} of {SIZE} at the gate, no sign of {said}, {60 + 60 * n} s"
            for n in TRIES
        ),
        "2026-02-03 04:19:00 ERROR save: timed out after 600 s waiting for the barrier",
    ]
    return logs


def named(out: int, said: int) -> Logs:
    """A server calls the absent one as its log is called, and gives up in words that nobody knows."""
    inside = [rank for rank in range(SIZE) if rank != out]
    logs = {
        f"gast{rank}.log": [
            f"03:00:00 gast{rank} da, mitglied {rank}/{SIZE}",
            *(f"03:00:0{step} gast{rank} round {step} done loss=1.{step}" for step in STEPS),
            "03:00:08 eigener teil fertig",
        ]
        for rank in inside
    }
    logs["haus.log"] = [
        *(f"haus 03:00:0{step}.512 round={step} voll ({SIZE}/{SIZE})" for step in STEPS),
        f"haus 03:00:10.104 round=7 {SIZE - 1}/{SIZE} sind da",
        *(
            f"haus 03:{5 * n:02}:10.104 round=7 {SIZE - 1}/{SIZE} nach {300 * n}s; es fehlt gast{said}"
            for n in range(1, 5)
        ),
        "haus 03:20:10.104 round=7 aufgegeben nach 1200s",
    ]
    return logs


FORMS: Mapping[str, tuple[str, Callable[[int, int], Logs]]] = {
    "counted in": ("launch", gate),
    "a list": ("launch", bell),
    "a barrier": ("hang", later),
    "a name": ("hang", named),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("out", [2, 5])
def test_a_rank_without_a_record_whom_the_count_names_is_missing(tmp_path: Path, form: str, out: int) -> None:
    kind, logs = FORMS[form]
    found = verdict(tmp_path, logs(out, out))
    assert (found.kind, found.ranks) == (kind, [out])


@pytest.mark.parametrize("form", FORMS)
def test_another_number_beside_the_count_names_nobody(tmp_path: Path, form: str) -> None:
    """Of a stage, a try, a room: or the log of another rank was not collected."""
    found = verdict(tmp_path, FORMS[form][1](2, 4))
    assert found.ranks == []


@pytest.mark.parametrize("form", FORMS)
def test_where_two_left_no_record_the_count_of_one_names_nobody(tmp_path: Path, form: str) -> None:
    logs = FORMS[form][1](2, 2)
    found = verdict(tmp_path, {name: lines for name, lines in logs.items() if "4" not in name})
    assert found.ranks == []


@pytest.mark.parametrize("form", FORMS)
def test_a_count_that_became_whole_names_nobody(tmp_path: Path, form: str) -> None:
    logs = FORMS[form][1](2, 2)
    for lines in logs.values():
        if any(f"{SIZE - 1}/{SIZE}" in line or f"{SIZE - 1} von" in line or f"{SIZE - 1} of" in line for line in lines):
            last = max(n for n, line in enumerate(lines) if f"{SIZE - 1}" in line and f"{SIZE}" in line)
            lines.insert(last + 1, lines[last].replace(f"{SIZE - 1}", f"{SIZE}"))
    assert verdict(tmp_path, logs).ranks == []


def test_a_job_that_went_on_after_the_count_names_nobody(tmp_path: Path) -> None:
    logs = later(2, 2)
    for name, lines in logs.items():
        lines[:] = [line for line in lines if "timed out" not in line]
        lines += [f"2026-02-03 04:20:0{step} rank {name[1]} step 1{step} loss 1.{step}" for step in STEPS]
    assert verdict(tmp_path, logs).ranks == []
