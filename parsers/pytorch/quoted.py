"""How launchers say whose traceback they quote next."""

import re
from typing import Any

from parsers.forms.reading import integers
from parsers.text.patterns import regex

# Whose traceback a launcher quotes next: multiprocessing.spawn by its number on the host, Ray Train by its rank, Ray's caller by
# the process that the call ran in, with its class before it or not (where the caller prints what it caught).
QUOTED = regex(
    r"^-- Process (?P<local_rank>\d{1,4}) terminated with the following error|\[Ranks? (?P<rank>\d{1,7})(?P<also>(?:, ?\d{1,7})*)[^\]\n]{0,40} Error Snippet\]|\bworld_rank=(?P<world>\d{1,7})\b.{0,80}(?:error|failed|exception):?\s*$"
    r"|(?:RayTaskError(?:\([\w.]{1,80}\))?: |^)ray::\S{1,200} \(pid=(?P<pid>\d{1,10}), ip=(?P<host>[\w.:-]{1,60})[,)]"
)


def whose_of(found: re.Match[str]) -> dict[str, Any]:
    """Columns of whose traceback it is that a launcher quotes."""
    if found["pid"]:
        return {"process": int(found["pid"]), "host": found["host"]}
    if found["local_rank"]:
        return {"local_rank": int(found["local_rank"])}
    ranks = integers((found["rank"] or found["world"]) + (found["also"] or ""))
    return {"rank": ranks[0]} if len(ranks) == 1 else {"rank": None, "quoted": ranks}
