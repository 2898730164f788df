"""What the writers of our own tables write, our parsers read."""

from pathlib import Path

import pytest

from forensics.probe.rows import heartbeat, node_check, phase_time
from parsers import read


def test_heartbeats(tmp_path: Path) -> None:
    for step in (1, 2):
        heartbeat(tmp_path / "heartbeats.jsonl", rank=3, host="n1", step=step)
    (row,) = read(str(tmp_path)).tables["events"].iter_rows(named=True)
    assert (row["code"], row["rank"], row["host"], row["step"]) == ("heartbeat", 3, "n1", 2)


def test_node_checks(tmp_path: Path) -> None:
    node_check(tmp_path / "preflight.jsonl", host="n1", ok=False, test="allgather", round=1, peers=("n2",), seconds=9.5)
    (row,) = read(str(tmp_path)).tables["events"].iter_rows(named=True)
    assert (row["kind"], row["host"]) == ("node_check", "n1")


def test_times_of_phases(tmp_path: Path) -> None:
    phase_time(tmp_path / "phases.jsonl", rank=3, step=7, phase="forward", ms=12.5)
    (row,) = read(str(tmp_path)).tables["timings"].iter_rows(named=True)
    assert (row["rank"], row["step"], row["phase"]) == (3, 7, "forward")


def test_a_heartbeat_of_nobody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rank or a host"):
        heartbeat(tmp_path / "heartbeats.jsonl")
