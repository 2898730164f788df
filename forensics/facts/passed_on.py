"""Who gave away a bad value and had been given good ones, where ranks tell what they received and what they sent.

    step 204 mb 5 recv act absmax 5.03 nan 0          rank 3, a stage of a pipeline
    step 204 mb 5 send act absmax nan nan 18432       the same, behind it
    step 204 mb 5 recv act absmax nan nan 18432       rank 5, the next one

Whose first bad figure of the step is of something received was told it by others. If every rank of the job shows figures of the step, just one
began with something that it gave, and all that it had received in that step until then were numbers, it made the value. Two such ranks may hold
copies of one value that a reduction gave to both, and then neither is told.
"""

from collections.abc import Mapping

import polars as pl

from forensics.facts.given_out import given_out
from forensics.facts.odd_values import OddValue, lost_losses, odd_value, told_values
from forensics.facts.own_values import has_experts
from parsers.schema.tables import TableName
from parsers.text.sides import GIVEN, TAKEN, side_of
from parsers.text.vocabulary import words_of

_WAY = frozenset(("to", "from", "via", "next", "prev", "previous"))
_OF_EXPERTS = r"(?i)(?:^|[^a-z])(?:moe|experts?|router)(?:[^a-z]|$)"  # what they give was made where they are


def lost_first(tables: Mapping[TableName, pl.DataFrame], job: frozenset[int]) -> OddValue | None:
    """Whose figure was bad first: what one line tells of both sides proves most, then who lost it alone, then what goes from rank to rank."""
    told = tables, job
    return given_out(*told) or odd_value(*told) or passed_on(*told)


def passed_on(tables: Mapping[TableName, pl.DataFrame], job: frozenset[int]) -> OddValue | None:
    """Tables of an attempt, and its ranks → the first bad figure of the one that gave it, `is_proven`."""
    values = tables["values"]
    if len(job) < 2 or not values["bad"].is_not_null().any() or has_experts(tables):
        return None
    if values["of"].cast(pl.String).str.contains(_OF_EXPERTS).any():
        return None
    own = values.filter(pl.col("rank").is_in(sorted(job)) & pl.col("step").is_not_null())
    told = told_values(own)
    bad = told.filter("bad")
    step = bad["step"].min()
    if not isinstance(step, int) or any(before < step for before in lost_losses(tables["steps"], job)):
        return None
    later = told.filter(pl.col("step") > step).group_by("step").agg(pl.col("rank").n_unique(), pl.col("bad").any())
    if later.select(((pl.col("rank") == len(job)) & ~pl.col("bad")).any()).item():
        return None  # they came back to numbers: nothing was taken over
    rows = own.filter(pl.col("step") == step).with_columns(pl.col("of").cast(pl.String)).sort("rank", "file", "line")
    first = bad.filter(pl.col("step") == step).sort("rank", "file", "line", "place").unique("rank", keep="first")
    sides = {row["rank"]: side_of(row["of"]) for row in first.iter_rows(named=True)}
    makers = [rank for rank, side in sides.items() if side == "given"]
    if (
        set(rows["rank"].to_list()) != job
        or len(makers) != 1
        or len(sides) < 2
        or set(sides.values()) != {"given", "taken"}
    ):
        return None
    made = first.filter(pl.col("rank") == makers[0]).row(0, named=True)
    before = rows.filter(
        (pl.col("rank") == makers[0])
        & (pl.col("file").cast(pl.String) == made["file"])
        & (pl.col("line") < made["line"])
    )
    taken = before.filter(pl.col("of").map_elements(side_of, pl.String) == "taken")
    alike = taken.filter(pl.col("of").map_elements(_thing, pl.String) == _thing(made["of"]))
    # What it took is told before anything bad, of the same thing that it gave.
    if not alike.height or taken["bad"].is_not_null().any():
        return None
    row = {
        name: made[name] for name in ("rank", "step", "microbatch", "of", "name", "value", "file", "line", "time_ns")
    }
    lost = (f"{made['of']} {made['name']}",)
    beside = alike.row(-1, named=True)
    return OddValue(
        makers[0], step, made["of"], made["name"], made["value"], lost, (), row, beside | {"name": ""}, is_proven=True
    )


def _thing(of: str) -> str:
    """What is given or taken, without which of both, and to or from whom."""
    return " ".join(word for word in map(str.lower, words_of(of)) if word not in TAKEN | GIVEN | _WAY)
