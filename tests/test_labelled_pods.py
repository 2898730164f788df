"""Pods that a collector labels, and nothing else of Kubernetes is there: they are reached as pods."""

import json
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written


def _log(label: str, name: str) -> list[str]:
    """Four processes, one of which computes twice as long as the others from some step on, which wait for it."""
    lines = []
    for step in range(40):
        for rank in range(4):
            odd = rank == 2 and step > 15
            text = f"step {step} compute_ms {620 if odd else 310 + (7 * step + rank) % 5} allreduce_ms {30 if odd or step < 16 else 340}"
            fields = {"time": f"2026-03-01T10:{step:02}:00Z", label: f"{name}-{rank}", "log": f"[rank {rank}/4] {text}"}
            lines.append(json.dumps(fields))
    return lines


@pytest.mark.parametrize(
    ("label", "name", "begins"),
    [
        ("pod", "lm-worker", "kubectl exec lm-worker-2 "),
        ("pod_name", "lm-worker", "kubectl exec lm-worker-2 "),
        ("host", "lm-worker", "ssh lm-worker-2 "),
        ("hostname", "gn", "ssh gn-2 "),
    ],
)
def test_where_a_slow_process_is_looked_at(label: str, name: str, begins: str, tmp_path: Path) -> None:
    incident = analyze(written(tmp_path, {"collected.json": _log(label, name)})).incident
    assert (incident.verdict.kind, incident.verdict.ranks) == ("slow", [2])
    commands = [action.command for action in incident.actions if action.kind.startswith("inspect")]
    assert commands and all(one is None or one.startswith(begins) for one in commands), commands
