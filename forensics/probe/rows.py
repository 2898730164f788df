"""Writers of the tables that only this project defines: heartbeats, node checks, times of phases. One JSON line a row.

For a site's own collector, self-test or training loop; nothing but the standard library. What may stand in each column is
told by the parsers that read them: parsers/scheduling/heartbeat.py, parsers/scheduling/preflight.py,
parsers/timing/phases.py.
"""

import json
import time
from os import PathLike

Path = str | PathLike[str]


def _append(path: Path, row: dict[str, object]) -> None:
    """One line, in one write: rows of several processes never mix."""
    line = json.dumps({name: value for name, value in row.items() if value is not None}) + "\n"
    with open(path, "ab", buffering=0) as out:
        out.write(line.encode())


def heartbeat(
    path: Path, *, rank: int | None = None, host: str | None = None, step: int | None = None, state: str = "running"
) -> None:
    """This rank or host is alive now. `path`: its name should say heartbeat, as in `heartbeats.jsonl`."""
    if rank is None and host is None:
        raise ValueError("a heartbeat needs a rank or a host")
    _append(path, {"time": time.time(), "rank": rank, "host": host, "step": step, "state": state})


def node_check(
    path: Path,
    *,
    host: str,
    ok: bool,
    test: str,
    round: int = 0,  # noqa: A002 - the column's name
    peers: tuple[str, ...] = (),
    seconds: float | None = None,
    gb_per_s: float | None = None,
    message: str | None = None,
) -> None:
    """The result of a test of one node before or during a job; `peers`: who was tested together with it."""
    row = {"host": host, "round": round, "peers": list(peers), "test": test, "ok": ok, "seconds": seconds}
    _append(path, {**row, "gb_per_s": gb_per_s, "message": message, "time": time.time()})


def phase_time(path: Path, *, rank: int, step: int, phase: str, ms: float, name: str | None = None) -> None:
    """How long this rank spent in a phase of a step (`forward`, `backward`, `data`, `comm`, …), or in one operation of it."""
    _append(path, {"rank": rank, "step": step, "phase": phase, "ms": ms, "name": name, "time": time.time()})
