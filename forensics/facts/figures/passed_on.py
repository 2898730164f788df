"""Who gave away a bad value and had been given good ones, where ranks tell what they received and what they sent.

    step 204 mb 5 recv act absmax 5.03 nan 0          rank 3, a stage of a pipeline
    step 204 mb 5 send act absmax nan nan 18432       the same, behind it
    step 204 mb 5 recv act absmax nan nan 18432       rank 5, the next one

    | micro-batch | max abs in | max abs out | gradient from next |      or both in a record
    |           1 |     0.3766 |         nan |                nan |

Whose first bad figure of the step is of something received was told it by others. If every rank of the job shows figures of the step, just one
began with something that it gave, and all that it had received in that step until then were numbers, it made the value. Two such ranks may hold
copies of one value that a reduction gave to both, and then neither is told.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from forensics.facts.figures.before_steps import placed
from forensics.facts.figures.evaluations import without_judging
from forensics.facts.figures.given_out import given_out
from forensics.facts.figures.held_parts import Key
from forensics.facts.figures.odd_values import OddValue, lost_losses, odd_value, told_values
from forensics.facts.figures.own_values import counts_apart, has_experts
from forensics.facts.figures.told_once import told_once
from parsers.schema.tables import Tables
from parsers.text.sides import GIVEN, TAKEN, side_of
from parsers.text.vocabulary import words_of

_WAY = frozenset(("to", "from", "via", "next", "prev", "previous", "of"))


def lost_first(tables: Tables, job: frozenset[int]) -> OddValue | None:
    """Whose figure was bad first: what one line tells of both sides proves most, then who lost it alone, then what goes from rank to rank."""
    values = without_judging(told_once(tables["values"]), tables["steps"], job)
    told = {**tables, "values": placed(values, tables["steps"], job)}, job
    found = given_out(*told) or odd_value(*told) or passed_on(*told)
    is_apart = found is not None and found.rank in counts_apart(tables["steps"], job)
    return None if is_apart else found


class _Record:
    """A row of `values`: which of its figures are bad among those that count, and what of it was taken or given."""

    def __init__(self, row: Mapping[str, Any], known: frozenset[Key]) -> None:
        of = str(row["of"] or "")
        told = [pair.partition("=") for pair in str(row["bad"] or "").split()]
        self.row = row
        self.bad = [(of, name, value) for name, _, value in told if (of, name) in known]
        self.fine = [(of, name) for name in str(row["fine"] or "").split()]
        self._lost = {one for name, _, _ in told if (one := _sided(of, name))[0]}

    @property
    def gave(self) -> list[tuple[str, str, str]]:
        """What it gave that is bad, where nothing bad of the same thing had been taken by it."""
        return [one for one in self.bad if self._is_own(*one[:2])]

    @property
    def took(self) -> bool:
        return not self.gave and any(side == "taken" for side, _ in self._lost)

    def took_well(self, thing: str) -> bool:
        """Is what it took of that thing a number?"""
        return any(_sided(*key) == ("taken", thing) for key in self.fine)

    def _is_own(self, of: str, name: str) -> bool:
        side, thing = _sided(of, name)
        return side == "given" and ("taken", thing) not in self._lost


def passed_on(tables: Tables, job: frozenset[int]) -> OddValue | None:
    """Tables of an attempt, and its ranks → the first bad figure of the one that gave it, `is_proven`."""
    values = tables["values"]
    if len(job) < 2 or not values["bad"].is_not_null().any() or has_experts(tables):
        return None  # what they give was made where they are
    own = values.filter(pl.col("rank").is_in(sorted(job)) & pl.col("step").is_not_null())
    told = told_values(own)
    bad = told.filter("bad")
    step = bad["step"].min()
    if not isinstance(step, int) or any(before < step for before in lost_losses(tables["steps"], job)):
        return None
    if _was_lost_before(own, step):
        return None
    later = told.filter(pl.col("step") > step).group_by("step").agg(pl.col("rank").n_unique(), pl.col("bad").any())
    if later.select(((pl.col("rank") == len(job)) & ~pl.col("bad")).any()).item():
        return None  # they came back to numbers: nothing was taken over
    rows = own.filter(pl.col("step") == step).with_columns(pl.col("of").cast(pl.String)).sort("rank", "file", "line")
    if set(rows["rank"].to_list()) != job or _lacks_a_row(own, step):
        return None
    known = frozenset((str(of), str(name)) for of, name in bad.select("of", "name").iter_rows())
    records = [_Record(row, known) for row in rows.iter_rows(named=True)]
    first = {one.row["rank"]: one for one in reversed(records) if one.bad}
    makers = [one for one in first.values() if one.gave]
    if len(makers) != 1 or not any(one.took for one in first.values()):
        return None
    [maker] = makers
    of, name, value = maker.gave[0]
    _, thing = _sided(of, name)
    same = [one for one in records if (one.row["rank"], one.row["file"]) == (maker.row["rank"], maker.row["file"])]
    until = same[: same.index(maker) + 1]
    alike = [one for one in until if one.took_well(thing)]
    # What it took is told before anything bad, of the same thing that it gave; who lost something else gave that very thing as a number.
    others = [rank for rank, one in first.items() if one is not maker and not one.took]
    if not alike or not all(_gives_well(records, rank, (of, name)) for rank in others):
        return None
    columns = ("rank", "step", "microbatch", "file", "line", "time_ns")
    row = {column: maker.row[column] for column in columns} | {"of": of, "name": name, "value": value}
    beside = {**alike[-1].row, "name": ""}
    return OddValue(maker.row["rank"], step, of, name, value, (f"{of} {name}",), (), row, beside, is_proven=True)


def _was_lost_before(own: pl.DataFrame, step: int) -> bool:
    """Was something that was taken or given no number in an earlier step, though it never was one? A mask is Inf from its beginning on, what nobody told otherwise was
    lost in the first step of all."""
    earlier = told_values(own.filter(pl.col("step") < step), at_first=True).filter("bad")
    lost = earlier.filter(~pl.col("value").str.contains("inf")).select("of", "name").unique()
    return any(_sided(str(of), str(name))[0] for of, name in lost.iter_rows())


def _lacks_a_row(own: pl.DataFrame, step: int) -> bool:
    """Does any rank tell less of the step than of the one before, and not only as the end of all that it tells? What it does not tell may be what was bad first."""
    rows = own.with_columns(pl.col("of").cast(pl.String)).sort("rank", "file", "line")
    told = rows.group_by("rank", "step", maintain_order=True).agg(pl.struct("microbatch", "of").alias("_rows"))
    for (rank,), found in told.group_by("rank"):
        last = {at: own_rows for _, at, own_rows in found.sort("step").iter_rows()}
        usual = [own_rows for at, own_rows in last.items() if at < step][-1:]
        now = last.get(step, [])
        is_end = max(last) <= step and bool(usual) and now == usual[0][: len(now)]
        if rank is not None and usual and len(now) < len(usual[0]) and not is_end:
            return True
    return False


def _gives_well(records: Sequence[_Record], rank: int, key: Key) -> bool:
    own = [one for one in records if one.row["rank"] == rank]
    return any(key in one.fine for one in own) and not any(key == lost[:2] for one in own for lost in one.bad)


def _sided(of: str, name: str) -> tuple[str, str]:
    """Which side a figure is of, and of what; in a line all of its words are of it, but where these tell of both sides: then those right before it, and of what, where
    they say it no more, those before them (`absmax in 2.1 out nan`)."""
    if not name.isdigit() or side_of(of, of_ways=True):
        said = of if not name or name.isdigit() else f"{of} {name}"
        return side_of(said, of_ways=True), _thing(said)
    *before, own = [*of.split("#"), ""][: min(int(name), of.count("#")) + 1]
    return side_of(own, of_ways=True), next(filter(None, map(_thing, (own, *reversed(before)))), "")


def _thing(of: str) -> str:
    """What is given or taken, without which of both, and to or from whom."""
    return " ".join(word for word in map(str.lower, words_of(of)) if word not in TAKEN | GIVEN | _WAY)
