"""Files that lie where another host's would: their path holds a name as a host's, with another number.

    trn-12.log tells of trn-12; trn-7/attempt_0/2/stderr.log is none of its

A place counts its processes from 0, as every other does: what is known of one says nothing of the other.
"""

import polars as pl

from parsers.text.patterns import regex

_PARTS, _DIGITS = regex(r"[/.]"), regex(r"\d+")


def of_hosts_alike(files: pl.DataFrame, hosts: set[str]) -> set[str]:
    """Files whose path holds a name as a host's, with another number, and none of these: `trn-7/2/stderr.log` beside trn-12."""
    shapes = {_DIGITS.sub("#", host) for host in hosts} - hosts
    found = set()
    for path in files["file"].cast(pl.String) if shapes else ():
        parts = {*_PARTS.split(path)}
        if not parts & hosts and shapes & {_DIGITS.sub("#", part) for part in parts}:
            found.add(path)
    return found
