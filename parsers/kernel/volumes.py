"""Volumes without room, as a table of `df` shows them: of blocks, or of inodes (`df -i`).

    Filesystem      Size  Used Avail Use% Mounted on
    tmpfs           3.0M  3.0M     0 100% /scratch/ckpt/a
    /dev/vdb1      ext4   98G   98G   0 100% /data                     (df -T)

Events: `other`, code `full_volume`, detail `mount`; of no rank. Images that are always full (loop devices, snaps, squashfs, CDs) are none.

Printed by: df of coreutils and busybox.
Versions: any.
Source: src/df.c of coreutils.
"""

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

CODE = "full_volume"
_SIZE = r"\d[\d.,]{0,18}[KMGTPE]?i?B?"


RULES = (
    Rule(
        regex(
            rf"^(?!/dev/(?:loop|sr)\d)[\w./:@-]{{1,200}}\s+(?!squashfs|iso9660|erofs)(?:[a-z][\w.]{{1,20}}\s+)?{_SIZE}\s+{_SIZE}\s+0[KMGTPE]?B?\s+100%"
            r"\s+(?P<mount>/(?!snap/|var/lib/snapd/|media/|cdrom)[^\s:]{0,300})\s*$"
        ),
        "other", "info", CODE, lambda groups: {"detail": {"mount": groups["mount"]}, "rank": None, "local_rank": None},
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events other, code full_volume."""
    return read_rules(lines, RULES)


PARSER = LineParser(name="volumes", anchors=(b"100% /",), parse=parse, of_host=True)
