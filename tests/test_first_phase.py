"""What each rank found first, all in one step: its own on one, and on all others what was reduced over all by then."""

import json
from pathlib import Path

import pytest

from forensics import analyze

RANKS, ODD, STEP = range(4), 2, 77
OWN, SHARED = "forward", "after all-reduce"
Phases = dict[int, str]


def _toml(phases: Phases) -> dict[str, str]:
    return {
        f"rank{rank}.toml": f'[process]\nrank = {rank}\nworld_size = 4\n\n[first_bad]  # of this rank\nstep = {STEP}\nphase = "{phase}"\n'
        f'module = "blocks.{rank}.attn"\nnan = 128\n\n[clean]\nbatch = "ok"\nloss = 2.4{rank}\n'
        for rank, phase in phases.items()
    }


def _json(phases: Phases) -> dict[str, str]:
    return {
        f"first_{rank}.json": json.dumps(
            {
                "who": {"rank": rank, "pid": 70 + rank},
                "first_nonfinite": {"iter": STEP, "stage": phase, "where": "head.w"},
            },
            indent=1,
        )
        for rank, phase in phases.items()
    }


def _commas(phases: Phases) -> dict[str, str]:
    rows = "".join(f"{rank},{STEP},{phase},layers.{rank}\n" for rank, phase in phases.items())
    return {"first.csv": "rank,first_nan_step,phase,module\n" + rows}


def _judged(folder: Path, files: dict[str, str]) -> tuple[str | None, list[int]]:
    for name, text in files.items():
        (folder / name).write_text(text)
    verdict = analyze(folder).verdict
    return verdict.cause, verdict.ranks


@pytest.mark.parametrize("form", [_toml, _json, _commas])
@pytest.mark.parametrize(
    ("own", "shared"), [(OWN, SHARED), ("grads before allreduce", "grad_sync"), ("loss", "reduced gradient")]
)
def test_who_found_its_own(tmp_path: Path, form: type, own: str, shared: str) -> None:
    phases = {rank: own if rank == ODD else shared for rank in RANKS}
    assert _judged(tmp_path, form(phases)) == ("nan_birth", [ODD])


@pytest.mark.parametrize("form", [_toml, _json, _commas])
@pytest.mark.parametrize(
    "phases",
    [
        dict.fromkeys(RANKS, SHARED),
        dict.fromkeys(RANKS, OWN),
        {rank: OWN if rank < 2 else SHARED for rank in RANKS},
        {rank: OWN if rank == ODD else SHARED for rank in (0, 2, 3)} | {1: "loss"},
        {rank: "optimizer" if rank == ODD else SHARED for rank in RANKS},  # after the others'
    ],
)
def test_of_all_or_of_several_it_is_nobodys(tmp_path: Path, form: type, phases: Phases) -> None:
    assert _judged(tmp_path, form(phases))[1] == []
