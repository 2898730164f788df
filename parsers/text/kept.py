"""What is dear to make, kept where Python keeps the byte code of modules: whole or not at all, with a digest of what it was made of.

A `__pycache__` beside what it was made of, or where PYTHONPYCACHEPREFIX says; nothing is kept where PYTHONDONTWRITEBYTECODE forbids
it or nobody may write there.
"""

import os
import sys
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path


def place(source: str, what: str) -> str:
    """The file that keeps what is made of a source."""
    return cache_from_source(source, optimization=what)


def kept(path: str, made_of: bytes) -> bytes:
    """What a file keeps; nothing where it was made of something else."""
    with suppress(OSError), open(path, "rb") as stream:
        if stream.read(len(made_of)) == made_of:
            return stream.read()
    return b""


def keep(path: str, made_of: bytes, made: bytes) -> None:
    """Keep it in this file."""
    if sys.dont_write_bytecode:
        return
    fresh = Path(f"{path}.{os.getpid()}")
    with suppress(OSError):
        fresh.parent.mkdir(parents=True, exist_ok=True)
        try:
            fresh.write_bytes(made_of + made)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
