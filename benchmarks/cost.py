"""What a command costs: processor seconds, wall seconds and peak memory, of it and of the processes that it starts."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
_WAITS = (
    "import resource, subprocess, sys, time; begin = time.perf_counter();"
    "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE); wall = time.perf_counter() - begin;"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN); sys.stdout.buffer.write(done.stdout);"
    "print(done.returncode, used.ru_utime + used.ru_stime, wall, used.ru_maxrss, file=sys.stderr)"
)


class Cost(NamedTuple):
    """Processor seconds, wall seconds, peak bytes of the largest process, and what was printed."""

    seconds: float
    wall: float
    peak: int
    output: bytes


def cost(command: list[str], **environment: str) -> Cost:
    """Runs a command below a process of its own, so that the figures are its alone. SystemExit where it fails."""
    given = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, "-c", _WAITS, *command], capture_output=True, check=True, env=given)
    status, seconds, wall, peak = done.stderr.splitlines()[-1].split()
    if status != b"0":
        raise SystemExit(f"{command[0]} failed: {done.stderr.decode(errors='replace')[-500:]}")
    return Cost(float(seconds), float(wall), int(peak) * (1 if sys.platform == "darwin" else 1024), done.stdout)


def least(*commands: list[str], runs: int) -> list[Cost]:
    """The cheapest run of each command, by processor time; they take turns."""
    rounds = [[cost(command) for command in commands] for _ in range(runs)]
    return [min(found, key=lambda one: one.seconds) for found in zip(*rounds, strict=True)]
