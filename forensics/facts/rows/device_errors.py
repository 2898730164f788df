"""What runtimes and drivers say when a device itself failed: whole messages and names of error codes, never single words.

Data: forensics/data/device_errors.csv, columns message, runtime, source. Not in it: what a program can bring about as well
(illegal address or instruction, unspecified launch failure, hardware stack error, a contained error of a peer).
"""

import csv
import re
from functools import cache
from importlib.resources import files

from parsers.text.patterns import regex


@cache
def _messages() -> "re.Pattern[str]":
    text = files("forensics.data").joinpath("device_errors.csv").read_text(encoding="utf-8")
    listed = "|".join(re.escape(row["message"]) for row in csv.DictReader(text.splitlines()))
    return regex(rf"(?<![A-Za-z0-9_])(?:{listed})(?![A-Za-z0-9_])", re.IGNORECASE)


def is_device_error(text: str) -> bool:
    """Does an error's text hold a message that proves a fault of the device?"""
    return _messages().search(text) is not None
