"""Rates of hops between ranks: the one host whose hops are all slow is named, and never an end of a single slow hop."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from parsers.timing.hop_rates import PARSER
from tests.lines import lines

HOSTS = "start world=16 hosts=n1:0-3,n2:4-7,n3:8-11,n4:12-15\n"
FORMS = {
    "a table": ("ring sends   src -> dst   bytes   ms   GB/s\n", "   {a} ->  {b}   1342177280   {ms:.1f}   {rate:.2f}\n"),
    "words": ("", "[p2p] rank {a} -> rank {b}: {rate:.2f} GB/s\n"),
    "pairs": ("", "probe hop {a}->{b} bw={mb:.0f}MB/s\n"),
}  # fmt: skip


def _verdict(folder: Path, form: str, slow: set[tuple[int, int]], hosts: str = HOSTS) -> Verdict:
    head, row = FORMS[form]
    text = hosts
    for step in range(400, 406):
        text += f"2026-05-04 10:00:{step - 400:02} step {step} loss 1.7 step_time 6.9s\n{head}"
        for a in range(16):
            hop = a, (a + 1) % 16
            rate = (3.0 if hop in slow else 22.0 if a % 4 == 3 else 85.0) + step % 3 / 10
            text += row.format(a=a, b=hop[1], rate=rate, ms=1342 / rate, mb=1000 * rate)
    (folder / "rank0.log").write_text(text)
    return analyze(folder).verdict


@pytest.mark.parametrize("form", FORMS)
def test_the_host_whose_hops_are_all_slow(tmp_path: Path, form: str) -> None:
    verdict = _verdict(tmp_path, form, {(7, 8), (11, 12)})
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("slow", "straggler_network", [], ["n3"])


@pytest.mark.parametrize(
    ("slow", "hosts"),
    [
        (set(), HOSTS),
        ({(7, 8)}, HOSTS),
        ({(8, 9), (9, 10)}, HOSTS),
        ({(3, 4), (7, 8), (11, 12), (15, 0)}, HOSTS),
        ({(7, 8), (11, 12)}, ""),
    ],
    ids=["nothing", "one hop has two ends", "within a host", "all alike", "nobody says who is where"],
)
def test_what_names_nobody(tmp_path: Path, slow: set[tuple[int, int]], hosts: str) -> None:
    verdict = _verdict(tmp_path, "words", slow, hosts)
    assert (verdict.ranks, verdict.hosts) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "n1:41:90 [0] NCCL INFO init.cc:1388 -> 6",
        "n1:41:90 [0] NCCL INFO Channel 00/02 : 0[0] -> 1[1] via P2P/IPC",
        "lr 3 -> 4 at step 7",
        "hosts=n1:8,n2:8",
        "hosts=n1:4-7,n2:8-11",
    ],
)
def test_other_arrows_and_lists_are_none(text: str) -> None:
    read = PARSER.parse(lines(text))
    assert not read["timings"].height and not read["ranks"].height
