"""What the words of an error tell: sizes of memory, versions that differ, a device that failed, the place in the user's own code.

Detectors read no text; what several parsers leave in a message, or in a traceback's frames, is taken out of it here.
Of devices: whole messages of runtimes and drivers and names of error codes, never single words (forensics/data/device_errors.csv, columns
message, runtime, source). Not among them: what a program can bring about as well (illegal address or instruction, unspecified launch failure,
hardware stack error, a contained error of a peer).
"""

import csv
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from forensics.facts.rows.event_rows import detail
from forensics.model.frames import LIBRARY
from forensics.model.incident import Code
from forensics.model.said import Said
from forensics.words import facts as words
from parsers.text.patterns import regex

# "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.25 GiB is free" (torch 2.1 and later),
# "(GPU 0; 39.59 GiB total capacity; 36.22 GiB already allocated; 1.19 GiB free; …)" (before): torch, CUDACachingAllocator.
_ASKED = regex(r"Tried to allocate (?P<asked>[\d.]+ ?[KMGT]i?B)", re.IGNORECASE)
_FREE = regex(r"of which (?P<is>[\d.]+ ?[KMGT]i?B) is free|(?P<was>[\d.]+ ?[KMGT]i?B) free", re.IGNORECASE)
_DIGITS = regex(r"[0-9]+")
_XID = regex(r"^.*?\bS?Xid \([^)]*\): \d+, (?:pid=[^,]*, )?(?:name=[^,]*, )?")
_VERSION = regex(r"[Mm]ismatched \w+ version|version (?:mismatch|conflict)|different versions|incompatible with")
_SETTING = regex(
    r"Duplicate GPU|no socket interface|already checked in|mismatch in rank count|[Mm]ismatch|No NVML|port_in_use"
    r"|executable file not found|error: execve\(\)|[Ee]xec format error"
)
# The interpreter, what PyTorch calls its own processes (pt_main_thread, pt_data_worker), Ray's workers, programs of a job's own.
_TRAINS = regex(r"python|pt_|ray::|\S*train")
# Words that may tell of another process or of the way to it, known or not.
_OF_OTHERS_WORDS = regex(
    r"(?i)time[d -]?out|deadline|connect|\bpeers?\b|remote|socket|\branks?\b|abort|network|closed|reset\b|unreachable|\blinks?\b|commun|collective|heartbeat|cancel|shut ?down|other (?:end|side|process|worker)"
)
_BRIDGE = regex(r"\b(?:docker0|virbr\d|veth\w+|lo):")


def memory_sizes(text: str) -> Said | None:
    """What an allocation that failed asked for, and what was free: "2.00 GiB requested, 1.25 GiB free"; None: not told."""
    if (asked := _ASKED.search(text)) is None:
        return None
    if (free := _FREE.search(text)) is None:
        return words.REQUESTED(asked=asked["asked"])
    return words.REQUESTED_FREE(asked=asked["asked"], free=free["is"] or free["was"])


@cache
def _of_devices() -> "re.Pattern[str]":
    text = files("forensics.data").joinpath("device_errors.csv").read_text(encoding="utf-8")
    listed = "|".join(re.escape(row["message"]) for row in csv.DictReader(text.splitlines()))
    return regex(rf"(?<![A-Za-z0-9_])(?:{listed})(?![A-Za-z0-9_])", re.IGNORECASE)


def is_device_error(text: str) -> bool:
    """Does an error's text hold a message that proves a fault of the device itself?"""
    return _of_devices().search(text) is not None


def without_numbers(text: str) -> str:
    """The words that processes share which failed alike."""
    return _DIGITS.sub("#", text)[:120]


def driver_words(text: str) -> str:
    """A driver's line without what stands before its words."""
    return _XID.sub("", text).strip().rstrip(".")


def tells_versions(text: str) -> bool:
    """Does a library say that versions differ?"""
    return _VERSION.search(text) is not None


def tells_setting(text: str) -> bool:
    """Does a library say which setting cannot work?"""
    return tells_versions(text) or _SETTING.search(text) is not None


def may_be_rank(program: object) -> bool:
    """May a process that a kernel names so be one that trains, or one of its children? So may one whose name is not told."""
    return not isinstance(program, str) or _TRAINS.match(program) is not None


def names_bridge(text: str) -> bool:
    """Does a line name an interface that never leaves its host?"""
    return _BRIDGE.search(text) is not None


def is_library(file: str) -> bool:
    """Is it a file of the standard library or of an installed package, and none of the job's own code?"""
    return LIBRARY.search(file.replace("\\", "/")) is not None


def users_code(row: Mapping[str, Any]) -> Code | None:
    """Where an exception's traceback ends: the innermost line outside libraries, else the innermost. Of what a child raised
    its own traceback tells."""
    told = detail(row)
    child = told.get("original")
    listed = [*((child.get("frames") or []) if isinstance(child, dict) else []), *(told.get("frames") or [])]
    frames = [frame for frame in listed if len(frame) == 3 and frame[1]]
    own = [frame for frame in frames if not is_library(frame[1])] or frames
    return Code(file=own[0][1], line=own[0][2], function=own[0][0]) if own else None


def tells_of_others(text: str) -> bool:
    """Are there words in it that may tell of another process, or of the way to it?"""
    return _OF_OTHERS_WORDS.search(text) is not None
