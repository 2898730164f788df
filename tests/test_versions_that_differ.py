"""Whose version alone differs where anybody says that versions do: a launcher beside its number, or processes at their end; never a number that differs by itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS, OUT = 6, 4
Tell = Callable[[int, str], str]
TELLS: dict[str, Tell] = {
    "pairs": lambda rank, version: f"09:00:1{rank} fingerprint jax={version} abi=v3",
    "prose": lambda rank, version: f"09:00:1{rank} starting runtime {version}+cu124",
    "Chinese": lambda rank, version: f"09:00:1{rank} 通信库版本 {version}",
}


def start(
    folder: Path,
    tell: str,
    *,
    odd: dict[int, str] | None = None,
    launcher: str = "",
    end: str = "stop asked, leaving",
    began: bool = False,
) -> Verdict:
    odd = {OUT: "0.4.35"} if odd is None else odd
    for rank in range(RANKS):
        lines = [f"09:00:0{rank} rank {rank} of {RANKS}", TELLS[tell](rank, odd.get(rank, "0.5.0"))]
        lines += [f"09:0{n}:00 step {n} loss 2.{n}" for n in range(1, 5)] if began else []
        (folder / f"rank{rank}.log").write_text("\n".join([*lines, f"09:00:5{rank} {end}"]) + "\n")
    if launcher:
        (folder / "launcher.log").write_text(
            f"09:00:00 starting {RANKS} agents\n09:00:30 {launcher}\n09:00:40 failed\n"
        )
    return analyze(folder).verdict


SAYS = {
    "a launcher": {"launcher": f"ERROR agreement failed: 5 of 6 have [0.5.0], process {OUT} has [0.4.35]"},
    "processes": {"end": "RuntimeError: handshake with peer failed, protocol version differs"},
    "a launcher without a number": {"launcher": "FATAL refusing to start with incompatible builds: versions mismatch"},
    "Chinese": {"end": "错误：与对端版本不一致，退出"},
}


@pytest.mark.parametrize("tell", TELLS)
@pytest.mark.parametrize("says", SAYS)
def test_whose_version_alone_differs(tmp_path: Path, tell: str, says: str) -> None:
    found = start(tmp_path, tell, **SAYS[says])  # type: ignore[arg-type]
    assert (found.kind, found.cause, found.ranks) == ("launch", "version_mismatch", [OUT])


@pytest.mark.parametrize("tell", TELLS)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"end": "RuntimeError: connection refused"},
        {"odd": {1: "0.4.35", 2: "0.4.36", 3: "0.4.35"}, "end": "protocol version differs"},
        {"odd": {}, "end": "protocol version differs"},
        {"launcher": "INFO process 2 asked for [0.5.0], cache has [0.4.35]"},
    ],
    ids=["nobody says so", "another failure", "three of six", "none differs", "another process"],
)
def test_a_version_that_nobody_speaks_of_accuses_nobody(tmp_path: Path, tell: str, how: dict[str, object]) -> None:
    assert start(tmp_path, tell, **how).ranks == []  # type: ignore[arg-type]
