"""Stages that tell what they received and what they sent: who gave a bad value for good ones, and of which micro-batch."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from forensics import analyze

RANKS, LAST, MICRO, ODD, SINCE, BAD = 4, 8, 3, 1, 5, 2
Told = tuple[int, int, str, str, int, str, int]  # step, micro-batch, which way, of what, the peer, absmax, how many bad


def _story(rank: int, *, odd: int = ODD, takes: bool = True) -> Iterator[Told]:
    """Forward, then backward, of every micro-batch of a step; without `takes` nothing is told of what came."""
    for step in range(LAST):
        for mb in range(MICRO):
            bad = step > SINCE or (step == SINCE and mb == BAD)
            if rank and takes:
                yield step, mb, "recv", "forward", rank - 1, f"3.{step}{mb}", 512 * (bad and rank > odd)
            if rank < RANKS - 1:
                yield step, mb, "send", "forward", rank + 1, f"3.{step}{mb}", 512 * (bad and rank >= odd)
        for mb in range(MICRO):
            bad = step > SINCE or (step == SINCE and mb == BAD)
            if rank < RANKS - 1 and takes:
                yield step, mb, "recv", "backward", rank + 1, f"0.0{step}{mb}", 900 * bad
            if rank:
                yield step, mb, "send", "backward", rank - 1, f"0.0{step}{mb}", 900 * bad


def _prose(rank: int, told: Told) -> str:
    step, mb, way, what, peer, size, bad = told
    link = "to" if way == "send" else "from"
    return (
        f"[pp rank {rank}/{RANKS}] step {step} mb {mb} {way}_{what} {link} stage {peer} absmax={size} nan={bad} inf=0"
    )


def _pairs(rank: int, told: Told) -> str:
    step, mb, way, what, peer, size, bad = told
    side = "out" if way == "send" else "in"
    return f"rank={rank} step={step} micro_batch={mb} {side}.{what} peer={peer} amax={size} nonfinite={bad}"


def _record(rank: int, told: Told) -> str:
    step, mb, way, what, peer, size, bad = told
    return json.dumps(
        {"rank": rank, "step": step, "microbatch": mb, "event": f"{way}_{what}", "peer": peer}
        | {"absmax": float(size), "nan": bad}
    )


FORMS: Mapping[str, tuple[str, Callable[[int, Told], str]]] = {
    "prose": ("stage{rank}.log", _prose),
    "pairs": ("worker_{rank}.log", _pairs),
    "records": ("p2p/rank{rank}.jsonl", _record),
}


def _written(folder: Path, form: str, *, odd: int = ODD, takes: bool = True) -> Path:
    name, line = FORMS[form]
    for rank in range(RANKS):
        lines = [f"[pp rank {rank}/{RANKS}] schedule gpipe"] * (form == "prose")
        lines += [line(rank, told) for told in _story(rank, odd=odd, takes=takes)]
        file = folder / name.format(rank=rank)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_who_gave_it_and_in_which_part_of_the_step(tmp_path: Path, form: str) -> None:
    told = analyze(_written(tmp_path, form)).verdict
    assert (told.kind, told.ranks) == ("numerics", [ODD])
    assert (told.first_anomaly.step, told.first_anomaly.microbatch) == (SINCE, BAD)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("odd", "takes"), [(0, True), (ODD, False)])
def test_where_nobody_tells_what_came_nobody_is_named(tmp_path: Path, form: str, odd: int, takes: bool) -> None:
    """The first stage receives nothing that is told, and is at most named as who probably has it, for nobody stands before it; nor do those
    that print only what they send."""
    told = analyze(_written(tmp_path, form, odd=odd, takes=takes)).verdict
    assert told.ranks == [] or (told.ranks == [odd] == [0] and told.status == "hypothesis")
