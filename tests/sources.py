"""Builds a member of a bundle from bytes, as file parsers get it, and bundles from lines."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parsers import read
from parsers.schema.parser import Source


def source(content: bytes | str, path: str = "a.txt", **columns: Any) -> Source:
    """A Source over `content`; further columns are what the path tells (rank, host, …)."""
    data = content.encode() if isinstance(content, str) else content
    return Source(path=path, size=len(data), open=lambda: io.BytesIO(data), **columns)


def written(folder: Path, files: Mapping[str, Sequence[str]]) -> Path:
    """A bundle below `folder`, of the lines of each file by its path."""
    for name, lines in files.items():
        path = folder / "bundle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    return folder / "bundle"


def raised(folder: Path, files: Mapping[str, Sequence[str]]) -> list[int | None]:
    """The ranks of who raised an exception in such a bundle."""
    events = read(str(written(folder, files))).tables["events"]
    return [rank for kind, rank in events.select("kind", "rank").iter_rows() if kind == "exception"]


def py_spy_dump(pid: int, frame: str, line: int) -> str:
    """What py-spy prints of a process whose main thread stands in `frame`, called at a line of the job."""
    return f"""Process {pid}: python fit.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
    {frame}
    step (fit.py:{line})
    <module> (fit.py:90)

Thread {pid + 100} (idle): "pin memory"
    wait (threading.py:320)
    run (threading.py:975)
"""
