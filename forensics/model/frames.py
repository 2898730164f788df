"""Whose code a frame of a stack is: the job's own, or that of a library, of the interpreter, of the system."""

import re

# Where packages are installed, frozen modules, and paths that samplers print relative to where they found them.
LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python3|^<|^torch/|/lib[\w.+-]{1,80}\.so[\d.]*$|^(threading|queue|selectors|socket|multiprocessing/|concurrent/|asyncio/|runpy|contextlib|functools)"
)
_PLACE = re.compile(r"\((?P<file>[^()]+)\)$")
_SOURCE = re.compile(r"\.(py|pyx)(:\d+)?$")


def is_own(frame: str) -> bool:
    """Is "train (/home/a/loop.py:18)" of the job's own code? Only Python says so: what has no source file is a library's."""
    place = _PLACE.search(frame)
    return place is not None and _SOURCE.search(place["file"]) is not None and LIBRARY.search(place["file"]) is None
