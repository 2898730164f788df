"""Who gave out a bad value and was given a good one, where one line or record tells what went into a part of the model and what came out of it.

    fwd block.5  step 9 mb 1 absmax in=2.858 out=nan          rank 2, a stage of a pipeline
    fwd block.6  step 9 mb 1 absmax in=nan out=nan            rank 3, behind it

Every other rank of the job shows as many such rows in that step as in the one before, and all of theirs that are bad were given something bad; the rank's
own first one was not. So no other rank made it, whatever the layout. Experts compute on what other ranks send, and what a layer of them gives is made
elsewhere: where there are any, the row must be an expert's own.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

from forensics.facts.figures.odd_values import OddValue, lost_losses
from forensics.facts.figures.own_values import has_experts
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.sides import GIVEN, side_of

_BECOMES = regex(r"(?:-{1,2}>|=>|→|⇒)\s*$")
_TELLS = rf"(?i){'|'.join(sorted(GIVEN))}|->|=>|→|⇒"  # of all rows, those that may
AN_EXPERT = regex(
    r"(?i)(?:^|[^a-z])experts?[ ._:#/=(\[-]{0,3}[#\d…]"
)  # one of them: what it gives was made where it is
_TOLD = ("rank", "step", "microbatch", "of", "file", "line", "time_ns")


def given_out(tables: Tables, job: frozenset[int]) -> OddValue | None:
    """Tables of an attempt, and its ranks → the first bad figure of the one that gave it, `is_proven`."""
    values = tables["values"]
    if len(job) < 2 or not values["bad"].is_not_null().any():
        return None
    words = (pl.col(name).cast(pl.String).fill_null("") for name in ("of", "fine", "bad"))
    own = values.filter(pl.col("rank").is_in(sorted(job)) & pl.col("step").is_not_null())
    own = own.filter(pl.concat_str(*words, separator=" ").str.contains(_TELLS))
    rows = list(_two_sided(own.sort("rank", "file", "line")))
    if not rows:
        return None
    step = min((row["step"] for row in rows if row["given"] or row["taken"]), default=None)
    before = max((row["step"] for row in rows if step is not None and row["step"] < step), default=None)
    if step is None or before is None or any(lost < step for lost in lost_losses(tables["steps"], job)):
        return None
    shown = Counter((row["step"], row["rank"]) for row in rows)
    if any(shown[before, rank] == 0 or shown[step, rank] < shown[before, rank] for rank in job):
        return None
    first: dict[int, dict[str, Any]] = {}
    for row in rows:
        if row["step"] == step and (row["given"] or row["taken"]):
            first.setdefault(row["rank"], row)
    makers = [row for row in first.values() if not row["taken"]]
    later = [row for row in rows if row["step"] > step]
    if len(makers) != 1 or _is_back(later, job):
        return None
    [made] = makers
    if has_experts(tables) and not AN_EXPERT.search(made["of"]):
        return None
    name, value = made["given"][0]
    row = {column: made[column] for column in _TOLD} | {"name": name, "value": value}
    lost = (f"{made['of']} {name}",)
    return OddValue(made["rank"], step, made["of"], name, value, lost, (), row, row | {"name": ""}, is_proven=True)


def _two_sided(values: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows that tell both what went in and what came out, with the (name, value) of those that are bad of each."""
    for row in values.with_columns(pl.col("of", "fine", "file").cast(pl.String)).iter_rows(named=True):
        bad = [tuple(pair.split("=", 1)) for pair in (row["bad"] or "").split()]
        names = [*(row["fine"] or "").split(), *(one[0] for one in bad)]
        sides = {name: _side(row["of"] or "", name) for name in names}
        if {"taken", "given"} <= set(sides.values()):
            found = {side: [one for one in bad if sides[one[0]] == side] for side in ("taken", "given")}
            yield {column: row[column] for column in _TOLD} | found


def _side(of: str, name: str) -> str:
    """Whether a figure is of what was taken or given, by its name; in a line by the words before it, or by an arrow between two."""
    if not name.isdigit():
        return side_of(name)
    parts, at = of.split("#"), int(name)
    if at >= len(parts):
        return ""
    if told := side_of(parts[at]):
        return told
    if _BECOMES.search(parts[at]):
        return "given"
    return "taken" if at + 1 < len(parts) and _BECOMES.search(parts[at + 1]) else ""


def _is_back(later: list[dict[str, Any]], job: frozenset[int]) -> bool:
    """Is there a later step in which all were numbers on every rank? Then nothing was taken over."""
    told: dict[int, set[int]] = {}
    bad = set()
    for row in later:
        told.setdefault(row["step"], set()).add(row["rank"])
        if row["given"] or row["taken"]:
            bad.add(row["step"])
    return any(ranks == job for step, ranks in told.items() if step not in bad)
