"""A setting that cannot work as it was meant is said, and checked before any cable; it accuses nobody."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from forensics.cli import cli
from forensics.facts.settings.setting_ranges import out_of_range
from parsers.schema.tables import table
from tests.hang_tables import Rows


def _job(*values: str, name: str = "NCCL_IB_TIMEOUT") -> Rows:
    """A transfer of rank 9 failed, which runs on node1; each node says its value."""
    job = Rows(32).placed()
    job.event(
        "completion_error", rank=9, code="12", text="NET/IB : Got completion with error 12", names_hosts=["node2"]
    )
    for rank in range(32):
        job.event("collective_timeout", rank=rank, seq=7)
    for at, value in enumerate(values):
        job.add("settings", name=name, value=value, host=f"node{at}", scope="environment")
    return job


@pytest.mark.parametrize(
    ("name", "good", "bad", "within"),
    [
        ("NCCL_IB_TIMEOUT", "22", "23", "1-22"),
        ("NCCL_IB_RETRY_CNT", "7", "9", "0-7"),
        ("MCCL_IB_TIMEOUT", "20", "0", "1-22"),
    ],
)
def test_it_is_told_with_its_range_and_checked_first(name: str, good: str, bad: str, within: str) -> None:
    incident = _job(good, bad, name=name).incident(hung=False)
    assert f"{name} is {bad} on node1 (its range is {within}); elsewhere it is {good}" in [
        one.claim for one in incident.evidence
    ]
    first = incident.actions[0]
    assert (first.kind, first.target) == ("check_config", f"{name} of node1")
    without = _job(good, good, name=name).incident(hung=False)
    assert (without.verdict.ranks, without.verdict.hosts) == (incident.verdict.ranks, incident.verdict.hosts)
    assert without.verdict.status == incident.verdict.status
    assert not any(one.kind == "check_config" for one in without.actions)


@pytest.mark.parametrize("cause", ["exception", "nan_birth", "gpu_fault"])
def test_it_is_no_reason_of_what_no_transfer_brings_about(cause: str) -> None:
    rows = [{"name": "NCCL_IB_TIMEOUT", "value": "23", "host": "n1", "file": "a.env", "line": 1}]
    assert out_of_range(table("settings", rows), {}, cause) == []  # type: ignore[arg-type]
    assert len(out_of_range(table("settings", rows), {}, "network_fault")) == 1


@pytest.mark.parametrize("value", ["auto", "", "18 "])
def test_what_is_no_number_or_within_is_no_fault(value: str) -> None:
    rows = [{"name": "NCCL_IB_TIMEOUT", "value": value, "host": "n1", "file": "a.env", "line": 1}]
    assert out_of_range(table("settings", rows), {}, "network_fault") == []


@pytest.mark.parametrize(("language", "label"), [("en", "settings"), ("zh", "配置")])
def test_the_whole_text_lists_what_differs(tmp_path: Path, language: str, label: str) -> None:
    for rank in range(4):
        lines = f"NCCL_ALGO={'Tree' if rank == 3 else 'Ring'}\nNCCL_DEBUG=INFO\n"
        (tmp_path / f"rank_{rank}.env").write_text(lines)
    done = CliRunner().invoke(cli, ["analyze", str(tmp_path), "-v", "--lang", language])
    assert any(line.startswith(label) and "NCCL_ALGO" in line for line in done.output.splitlines()), done.output
