"""Trainings for the tests of the probe: scripts in processes of their own, and the rows that they left."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
Row = dict[str, Any]


def run(script: str, folder: Path, *arguments: str, world: int = 1, port: int = 29617) -> list[int]:
    """Exit codes of `world` processes that run `script`, with `folder` as first argument."""
    path = folder / "train.py"
    path.write_text(script)
    shared = {
        "PYTHONPATH": ":".join([str(ROOT), *[entry for entry in sys.path if entry.endswith("site-packages")]]),
        "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
        "PATH": os.environ["PATH"],
    }  # fmt: skip
    with ExitStack() as files:
        started = [
            subprocess.Popen(
                [sys.executable, str(path), str(folder), *arguments],
                env={**shared, "RANK": str(rank)},
                stderr=files.enter_context((folder / f"stderr_{rank}").open("w")),
            )
            for rank in range(world)
        ]
        return [process.wait(timeout=300) for process in started]


def complaints(folder: Path) -> str:
    """What the processes wrote to standard error."""
    return "\n".join(path.read_text() for path in sorted(folder.glob("stderr_*")))


def rows(folder: Path, rank: int = 0) -> list[Row]:
    """Rows of a rank's JSON Lines, in program order."""
    lines = [line for path in sorted(folder.glob(f"rank_{rank}*.jsonl")) for line in path.read_text().splitlines()]
    return sorted((json.loads(line) for line in lines), key=lambda row: (row.get("attempt", 0), row["seq"]))


def brief(found: Sequence[Row], *names: str) -> list[tuple[Any, ...]]:
    """Only some columns of each row."""
    return [tuple(row.get(name) for name in names) for row in found]
