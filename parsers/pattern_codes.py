"""Regular expressions as the code that they are compiled to, kept where Python keeps byte code of modules, so that only the
first process pays for the compiler: of a few lines it takes as long as the parsers that ask them.

A file in `__pycache__` beside this one, or where PYTHONPYCACHEPREFIX says; nothing is kept where PYTHONDONTWRITEBYTECODE forbids
it or nobody may write there. Only patterns of this program are given here, none that a bundle tells. Code of another Python or
of another way to write patterns is made anew.
"""

import _sre  # type: ignore[import-not-found]
import atexit
import marshal
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from re import _compiler, _parser  # type: ignore[attr-defined]
from typing import Any

_Key = tuple[str | bytes, int]  # a pattern as it stands in the program, its flags
_MOST = 4096  # patterns that are kept
_new: dict[_Key, bytes] = {}


def _place() -> str:
    return cache_from_source(__file__, optimization="codes")


def _made_by() -> tuple[Any, ...]:
    """Whose code it is: another Python, or another version of this module or of the one that asks it, writes other code."""
    stands = [os.stat(os.path.join(os.path.dirname(__file__), name)) for name in ("pattern_codes.py", "patterns.py")]
    return sys.version, _sre.MAGIC, _sre.CODESIZE, *((one.st_mtime_ns, one.st_size) for one in stands)


@cache
def _kept() -> dict[_Key, bytes]:
    """Pattern → its code; nothing where there is no file, or one that is something else."""
    atexit.register(_keep)
    with suppress(OSError, ValueError, EOFError, TypeError), open(_place(), "rb") as stream:
        made_by, codes = marshal.load(stream)
        if made_by == _made_by():
            return dict(codes)
    return {}


def compiled(pattern: str | bytes, flags: int, write: Callable[[str | bytes], str | bytes]) -> re.Pattern[Any]:
    """As `re.compile(write(pattern), flags)`."""
    code = _kept().get((pattern, flags))
    if code is not None:
        return _sre.compile(*marshal.loads(code))  # type: ignore[no-any-return]
    text = write(pattern)
    parsed = _parser.parse(text, flags)
    state = parsed.state
    names: list[str | None] = [None] * state.groups
    for name, number in state.groupdict.items():
        names[number] = name
    words = _compiler._code(parsed, flags)
    made = (text, int(flags | state.flags), list(map(int, words)), state.groups - 1, state.groupdict, tuple(names))
    _new[pattern, flags] = marshal.dumps(made)
    return _sre.compile(*made)  # type: ignore[no-any-return]


def _keep() -> None:
    """Writes what is new beside what was kept, whole or not at all."""
    if not _new or sys.dont_write_bytecode or len(_kept()) > _MOST:
        return
    place = _place()
    fresh = f"{place}.{os.getpid()}"
    with suppress(OSError):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        try:
            with open(fresh, "wb") as stream:
                marshal.dump((_made_by(), _kept() | _new), stream)
            os.replace(fresh, place)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(fresh)
