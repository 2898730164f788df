"""What goes into a communication and comes out of it, in lines of a script: rows of calls, and who is told by them."""

from pathlib import Path
from typing import Any

import pytest

from forensics import Report, analyze
from parsers.numerics.comm_lines import PARSER
from tests.lines import lines
from tests.sources import written


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("step 7 rank 2 bucket 1 (head) before all_reduce: absmax=87.6 nan=0 inf=1", (2, 7, "all_reduce", "input", None, "bucket 1 (head)", 0, 1)),
        ("it=7 r2 allreduce[3] out maxabs 0.28 nonfinite 3 xxh=e6863ba8", (2, 7, "all_reduce", "output", None, None, 3, None)),
        ("r2 s1 | step 7 fwd mb 0 RECV from r4 [8,1] nan=9 inf=0 absmax(finite)=7.6", (2, 7, "recv", "output", 4, None, 9, 0)),
        ("rank 2 step 7 mb 1 bwd  recv grad <- stage 4  amax=0.25 nan=9 inf=0 of 64", (2, 7, "recv", "output", 4, None, 9, 0)),
        ("rank 2 it 7 micro 1 | sent activations to rank 4 | max_abs 0.25 nans 9", (2, 7, "send", "input", 4, None, 9, None)),
        ("rank 2 step=7 mb=1 recv_backward from=4 absmax=0.25 nan=9 inf=0", (2, 7, "recv", "output", 4, None, 9, 0)),
        ("[r2] it=7 mb=1 接收 grad <- r4 n=8 absmax=0.25 nan=9", (2, 7, "recv", "output", 4, None, 9, None)),
        ("rank 2 | step 7 | act -> rank 4 | absmax=0.25 nan=9", (2, 7, "send", "input", 4, None, 9, None)),
        ("rank 2 step 7 scale 4 -> 2 absmax=0.25 nan=9", None),  # of no other rank
        ("rank 2 step 7 received 4 batches, absmax=0.25 of them", None),
        ("step 7 rank 2 all_reduce took 3.1 ms", None),
        ("rank 2 before all_reduce: absmax=1.0 nan=0", None),  # of no step
        ("step 7 bucket 1 after all_reduce: absmax=1.0 nan=0", None),  # of nobody
    ],
)  # fmt: skip
def test_a_side_of_a_call(text: str, row: tuple[Any, ...] | None) -> None:
    columns = ("rank", "step", "op", "tensor", "peer", "module", "nan_count", "inf_count")
    assert PARSER.parse(lines(text))["tensors"].select(columns).rows() == ([] if row is None else [row])


def _job(folder: Path, after: dict[int, str]) -> Report:
    """Six ranks reduce in steps 1 to 4; what comes out of the last is told by `after` for some."""
    files = {
        f"reduce_r{rank}.txt": [f"rank {rank}/6 world group [0..5]"]
        + [
            f"step {step} bucket 0 {side} all_reduce: absmax={at} nan={nans} inf=0 crc={crc}"
            for step in range(1, 5)
            for side, at, nans, crc in (
                ("before", f"{1 + rank / 8}", 0, f"{0xA0000000 + 16 * step + rank:08x}"),
                ("after", "6.5", after.get(rank, 0) if step == 4 else 0, f"{0xB0000000 + step + bool(after.get(rank)) * (step == 4):08x}"),
            )
        ]
        for rank in range(6)
    }  # fmt: skip
    return analyze(written(folder, files))


def test_who_alone_received_what_nobody_sent(tmp_path: Path) -> None:
    verdict = _job(tmp_path, {3: "5"}).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "comm_corruption", [3])


def test_what_all_received_names_nobody(tmp_path: Path) -> None:
    verdict = _job(tmp_path, dict.fromkeys(range(6), "5")).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [])


@pytest.mark.parametrize("form", ["csv", "json"])
def test_counts_of_both_ends_of_a_message_are_sides_of_it(tmp_path: Path, form: str) -> None:
    """Who sent numbers and who got none are both suspects."""
    files = [f"p2p_rank{rank}.csv" if form == "csv" else f"rank{rank}.log" for rank in range(3)]
    told = {file: ["step,mb,op,peer,absmax,nan"] if form == "csv" else [] for file in files}
    for step in range(6):
        for source in range(2):
            for op, rank, peer in (("send", source, source + 1), ("recv", source + 1, source)):
                bad = 7 if (step, source, op) == (5, 1, "recv") else 0
                told[files[rank]].append(
                    f"{step},0,{op},{peer},{1.5 + step},{bad}" if form == "csv"
                    else f'{{"step": {step}, "mb": 0, "rank": {rank}, "op": "{op}", "peer": {peer}, "absmax": {1.5 + step}, "nan": {bad}}}'
                )  # fmt: skip
    verdict = analyze(written(tmp_path, told)).verdict
    assert (verdict.cause, verdict.ranks, verdict.suspects.ranks) == ("comm_corruption", [], [1, 2])
    assert verdict.first_anomaly is not None
    assert verdict.first_anomaly.step == 5
