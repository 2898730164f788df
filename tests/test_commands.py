"""Advised commands: one host or none, whatever the bundle calls it."""

from pathlib import Path

import pytest

import forensics
from forensics.detectors.hardware.device_fault import DETECTOR
from forensics.model.commands import drain_node
from forensics.verdict.actions import actions_of
from tests.log_cases import case, judged


@pytest.mark.parametrize("host", ["node17", "gpu-045.rack2", "10.0.0.7", "n_1", "allnode"])
def test_a_host_is_drained_by_its_name(host: str) -> None:
    assert drain_node(host, "gpu_fault") == f"scontrol update nodename={host} state=drain reason=gpu_fault"


@pytest.mark.parametrize(
    "host",
    [
        "x;touch y",
        "$(id)",
        "`id`",
        "a*",
        "~root",
        "ALL",
        "all",
        "node[01-99]",
        "a,b",
        "a b",
        "-a",
        "n1\n",
        "ñ1",
        "",
        None,
    ],
)
def test_what_a_shell_or_scheduler_reads_otherwise_stands_in_no_command(host: str | None) -> None:
    assert drain_node(host, "gpu_fault") is None


@pytest.mark.parametrize(("host", "has_command"), [("n1", True), ("n1;id", False), ("ALL", False)])
def test_the_action_stays_without_its_command(host: str, has_command: bool) -> None:
    lost = {
        "kind": "gpu_error",
        "code": "xid:79",
        "host": host,
        "pci": "0000:2b:00",
        "text": "GPU has fallen off the bus.",
    }
    found = judged(case([lost]), DETECTOR)
    drains = [action for action in actions_of(found.finding, found.status) if action.kind == "drain_node"]
    assert [action.target for action in drains] == [host]
    assert [action.command is not None for action in drains] == [has_command]


def test_commands_are_written_in_one_place() -> None:
    root = Path(forensics.__file__).parent
    assert [path.name for path in root.rglob("*.py") if "nodename=" in path.read_text()] == ["commands.py"]
