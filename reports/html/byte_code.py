"""Templates as byte code, kept where Python keeps that of modules, so that a page pays for the compiler once.

A `__pycache__` beside the templates, or where PYTHONPYCACHEPREFIX says; nothing is kept where PYTHONDONTWRITEBYTECODE forbids
it or nobody may write there. Byte code of another text, version of Jinja or of Python is made anew.
"""

import os
import sys
from contextlib import suppress
from hashlib import sha256
from importlib import resources
from importlib.util import cache_from_source
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, BytecodeCache


class ByteCode(BytecodeCache):
    """Of one environment, by its name: a language changes what is compiled."""

    def __init__(self, environment: str) -> None:
        self._environment = environment

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The file that keeps it."""
        template = str(resources.files("reports.html").joinpath(name))
        return cache_from_source(template, optimization=self._environment)

    def get_source_checksum(self, source: str) -> str:
        """What the byte code was made of, and by whom."""
        return sha256(f"{jinja2.__version__} {source}".encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        """What is kept; a file that holds something else is none."""
        with suppress(Exception), open(bucket.key, "rb") as kept:
            bucket.load_bytecode(kept)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keeps it, whole or not at all."""
        if sys.dont_write_bytecode:
            return
        fresh = Path(f"{bucket.key}.{os.getpid()}")
        with suppress(OSError):
            fresh.parent.mkdir(parents=True, exist_ok=True)
            try:
                fresh.write_bytes(bucket.bytecode_to_string())
                fresh.replace(bucket.key)
            finally:
                fresh.unlink(missing_ok=True)
