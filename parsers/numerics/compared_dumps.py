"""What two ranks dumped of one step, compared by diff or cmp: the same, or not.

    === diff <(show dumps/step0088/rank1.bin) <(show dumps/step0088/rank3.bin)
    185c185                                                     or nothing, where they are the same
    --- state/step_40/rank_1.txt                                Files w/step40/r1.bin and w/step40/r3.bin differ
    +++ state/step_40/rank_3.txt                                w/it40/rank1 w/it40/rank3 differ: byte 81, line 2

Two names that are the same but for the rank, with a step in them. Events: `replica_mismatch`, code pair_differs; `other`, code pair_same, of a
heading behind which nothing differs. forensics/facts/figures/compared_pairs.py asks for pairs that were the same before.

Printed by: diff, cmp, and scripts that call them.
Versions: diffutils 3.
Source: the manual of diffutils, "Output formats", "Invoking cmp".
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex
from parsers.text.step_marks import IN_PATH, RANK_IN_PATH

DIFFERS, SAME = "pair_differs", "pair_same"
_PATH = regex(r"[\w./+-]{1,400}")
_HEAD = regex(r"(?:^|[\s=])diff\s")
_SAYS = regex(r"(?:^|\s)differ(?:$|[:\s])")
_HUNK = regex(r"\d{1,9}(?:,\d{1,9})?[acd]\d{1,9}(?:,\d{1,9})?|@@ .*|[<>] .*")
_LEFT, _RIGHT = "--- ", "+++ "
_BEHIND = 3  # lines between a heading and the first that differs


def parse(lines: pl.DataFrame) -> Tables:
    """events replica_mismatch, other."""
    rows = lines.sort("file", "line").to_dicts()
    return {"events": table("events", [one for at in range(len(rows)) if (one := _compared(rows, at)) is not None])}


def _compared(rows: Sequence[dict[str, Any]], at: int) -> dict[str, Any] | None:
    row, text = rows[at], rows[at]["text"][:LINE_CHARACTERS]
    if text.startswith(_RIGHT) and at and rows[at - 1]["text"].startswith(_LEFT):
        text, differs = f"{rows[at - 1]['text'][:LINE_CHARACTERS]} {text}", True
    elif _SAYS.search(text):
        differs = True
    elif _HEAD.search(text):
        after = [one for one in rows[at + 1 : at + 1 + _BEHIND] if one["file"] == row["file"]]
        behind = [str(one["text"]) for one in after if one["line"] - row["line"] <= _BEHIND]
        ends = next((n for n, one in enumerate(behind) if _HEAD.search(one)), len(behind))
        if any(one.startswith(_LEFT) or _SAYS.search(one) for one in behind[:ends]):
            return None  # these say it
        differs = any(_HUNK.fullmatch(one) for one in behind[:ends])
    else:
        return None
    paths = [path for path in _PATH.findall(text) if RANK_IN_PATH.search(path) and IN_PATH.search(path)]
    if len(paths) != 2 or RANK_IN_PATH.sub("#", paths[0]) != RANK_IN_PATH.sub("#", paths[1]):
        return None
    ranks = [int(RANK_IN_PATH.findall(path)[-1]) for path in paths]
    step = IN_PATH.search(paths[0])
    if ranks[0] == ranks[1] or step is None:
        return None
    said = {"severity": "error", "code": DIFFERS} if differs else {"severity": "info", "code": SAME}
    kind = "replica_mismatch" if differs else "other"
    named = {"names_ranks": ranks, "names_rank_space": "global", "step": int(step["step"])}
    return event(row, kind, **said) | named


PARSER = LineParser(
    name="compared_dumps", anchors=(b"diff ", b" differ", b"+++ ", b"--- "), parse=parse, after=_BEHIND, leftover=True
)
