"""Whose memory a device was full of, by the line of an allocation that failed there.

    … Tried to allocate 3.00 GiB. GPU 6 has a total capacity of 64.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this
    process has 63.00 GiB memory in use. Of the allocated memory 51.00 GiB is allocated by PyTorch, and 8.00 GiB is reserved by PyTorch but
    unallocated.

Source: pytorch/pytorch: c10/cuda/CUDACachingAllocator.cpp (since 2.1; before: “36.00 GiB already allocated; … 38.00 GiB reserved in total”).
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from parsers.text.patterns import regex

_SIZE = r"(?P<size>[\d.]{1,12}) ?(?P<unit>[KMGT])i?B"
_ASKED = regex(rf"Tried to allocate {_SIZE}")
_CAPACITY = (regex(rf"total capacity of {_SIZE}"), regex(rf"{_SIZE} total capacity"))
_OWN = regex(rf"this process has {_SIZE} memory in use")
_OF_PROCESS = regex(rf"Process (?P<pid>\d{{1,10}}) has {_SIZE} memory in use")
_SPARE = regex(rf"{_SIZE} is reserved by PyTorch but unallocated")
_RESERVED, _ALLOCATED = regex(rf"{_SIZE} reserved in total"), regex(rf"{_SIZE} already allocated")
_UNITS = {"K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10}
_MOST = 0.9  # of a device: what others hold there would not have been enough


class Filled(NamedTuple):
    """In GiB: what was asked for, what the device has, what the process itself holds there, and what of that it only keeps in reserve."""

    asked: float
    capacity: float
    own: float
    spare: float

    @property
    def is_own(self) -> bool:
        return self.own >= _MOST * self.capacity

    @property
    def is_spare(self) -> bool:
        """Would what lies in reserve have been enough, in one piece?"""
        return self.spare >= self.asked


def filled(text: str, pids: Collection[int]) -> Filled | None:
    """`pids`: the process that says so, where its number is known. None: the line does not tell."""
    asked = _ASKED.search(text)
    capacity = next((found for form in _CAPACITY if (found := form.search(text))), None)
    if asked is None or capacity is None:
        return None
    reserved, allocated = _RESERVED.search(text), _ALLOCATED.search(text)
    own = _OWN.search(text) or next((one for one in _OF_PROCESS.finditer(text) if int(one["pid"]) in pids), None)
    own = own or reserved
    spare = _SPARE.search(text)
    in_reserve = _gib(spare) if spare else _gib(reserved) - _gib(allocated) if reserved and allocated else 0.0
    return Filled(_gib(asked), _gib(capacity), _gib(own) if own else 0.0, in_reserve)


def _gib(found: re.Match[str]) -> float:
    return float(found["size"]) * _UNITS[found["unit"]]
