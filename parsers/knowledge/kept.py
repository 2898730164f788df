"""What is dear to make, kept where Python keeps the byte code of modules: whole or not at all.

A `__pycache__` beside what it was made of, or where PYTHONPYCACHEPREFIX says; nothing is kept where PYTHONDONTWRITEBYTECODE forbids
it or nobody may write there.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path


def keep(path: str, made: bytes) -> None:
    """Keep it in this file."""
    if sys.dont_write_bytecode:
        return
    fresh = Path(f"{path}.{os.getpid()}")
    with suppress(OSError):
        fresh.parent.mkdir(parents=True, exist_ok=True)
        try:
            fresh.write_bytes(made)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
