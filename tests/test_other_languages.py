"""What the runtime of a language raises of itself is its process's own failure, as a class of Python is."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

SIZE, WHO = 4, 2
OWN = {
    "julia": "ERROR: DimensionMismatch: a has length 48, b has length 49\nStacktrace:\n [1] fit!(s::Fox.S)\n   @ Fox /opt/fox/fit.jl:67",
    "julia, loaded": "ERROR: LoadError: BoundsError: attempt to access 48-element Vector{Float32} at index [49]",
    "go": "panic: runtime error: index out of range [49] with length 48\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:19 +0x2f",
    "c++": "terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::_M_range_check: __n (which is 49) >= this->size() (which is 48)",
    "rust": "thread 'main' panicked at src/feed.rs:141:9:\nindex out of bounds: the len is 48 but the index is 49",
}
NOT = {
    "a word about it": "note: DimensionMismatch: would be raised for other lengths",
    "another thread of rust": "thread 'reader-7' panicked at src/feed.rs:141:9:\nindex out of bounds: the len is 48 but the index is 49",
    "a panic of a peer": "panic: exchange with 3: connection lost",
    "what a library throws": "terminate called after throwing an instance of 'fox::PeerGone'\n  what():  peer 3 left",
}


def verdict(tmp_path: Path, said: str) -> Verdict:
    for rank in range(SIZE):
        begun = [
            f"10:00:0{rank} rank {rank} of {SIZE} on k{rank}, pid {700 + rank}",
            *(f"10:0{k}:00 round {k}" for k in range(1, 4)),
        ]
        (tmp_path / f"out.{rank}.log").write_text("\n".join([*begun, *([said] if rank == WHO else [])]) + "\n")
    return analyze(tmp_path).verdict


@pytest.mark.parametrize("form", OWN)
def test_it_names_its_process(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, OWN[form])
    assert (found.kind, found.cause, found.ranks) == ("crash", "exception", [WHO])


@pytest.mark.parametrize("form", NOT)
def test_it_names_nobody(tmp_path: Path, form: str) -> None:
    assert verdict(tmp_path, NOT[form]).ranks == []
