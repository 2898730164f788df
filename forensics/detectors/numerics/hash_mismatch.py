"""Did a check of the job itself find that replicas of the weights differ?

Each rank compares with the first rank of its group. Where few differ from it these are wrong; where half or more do it
may be the first rank itself, and nobody is named. Nor is anybody where only the error is left that all ranks raise afterwards; but where it comes
with what each rank of the job had, one value on more than half of them, the others are wrong.
"""

from collections.abc import Mapping, Sequence
from math import isclose
from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.durations.checkpoints import before_step
from forensics.facts.figures.compared_pairs import apart
from forensics.facts.rows.event_rows import detail, refs
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.middle import median
from forensics.model.said import sentence
from forensics.model.texts import ranks_text
from forensics.words import advice
from forensics.words import numerics as words
from parsers.forms.reading import real
from parsers.numerics.compared_dumps import DIFFERS
from parsers.numerics.replica_hashes import COMPARED

_BEHIND = 10  # lines between a check that failed and what it shows
_ALIKE = 1e-6  # of a figure, between replicas: sums in another order


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding."""
    if (parted := apart(case.events)) is not None:
        return (_found(parted.rows, parted.odd, parted.ranks, parted.step),)
    events = case.events.filter((pl.col("kind") == "replica_mismatch") & (pl.col("code") != DIFFERS))
    events = events.sort("file", "line", nulls_last=True)
    rows = events.filter(pl.col("code") == "differs").to_dicts()
    named = tuple(sorted({rank for row in rows for rank in row["names_ranks"] or ()}))
    last = case.step_in_progress()
    # Weights are looked at when a step is done, gradients in it.
    is_of_gradients = (events["code"] == "raised_of_gradients").any()
    step = last if last is None or is_of_gradients else last - 1
    step = min(events["step"].drop_nulls().to_list(), default=step)
    if not named:
        rows = _lists(case, events)
        odd = _odd(case, rows)
        return (_found(rows, odd, (), step),) if odd else _of_some(events.to_dicts(), step)
    job = case.job_told_of | set(named)
    few = 2 * len(named) < len(job)
    others = tuple(sorted(job - set(named)))
    return (_found(rows, named if few else (), others or named, step),)


def _lists(case: Case, events: pl.DataFrame) -> list[dict[str, Any]]:
    """What the ranks had, as lists right behind a check that failed show it."""
    checks = events.to_dicts()
    if own := [row for row in checks if "figures" in detail(row) and row["names_ranks"]]:
        return own
    failed = [(row["file"], row["line"]) for row in checks]
    told = case.events.filter((pl.col("kind") == "other") & (pl.col("code") == COMPARED)).sort("file", "line")
    return [
        row
        for row in told.to_dicts()
        if any(file == row["file"] and 0 < row["line"] - line <= _BEHIND for file, line in failed)
    ]


def _odd(case: Case, lists: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """The ranks, at most a few, that had another value than most, by lists that say the same and hold all ranks of the job, and no other place of a group."""
    told = [detail(row)["figures"] for row in lists]
    if not told or any(one != told[0] for one in told):
        return ()
    figures = {int(rank): text for rank, text in told[0].items()}
    values = {rank: real(text) for rank, text in figures.items()}
    job = case.job_told_of
    if len(job) < 3 or figures.keys() != job:
        return ()
    numbers = [value for value in values.values() if value is not None]
    usual = median(numbers) if len(numbers) == len(figures) else None
    most = max(figures.values(), key=[*figures.values()].count)
    odd = {
        rank for rank, text in figures.items()
        if (text != most if usual is None else not isclose(values[rank] or 0.0, usual, rel_tol=_ALIKE))
    }  # fmt: skip
    return tuple(sorted(odd)) if 2 * len(odd) < len(job) else ()


def _found(
    rows: Sequence[Mapping[str, Any]], named: tuple[int, ...], suspects: tuple[int, ...], step: int | None
) -> Finding:
    parameter = detail(rows[0]).get("parameter")
    who = named or tuple(sorted({rank for row in rows for rank in row["names_ranks"] or ()}))
    is_listed = "figures" in detail(rows[0]) and rows[0]["code"] != "differs"
    text = words.FIGURES_DIFFER(who=ranks_text(who)) if is_listed else words.WEIGHTS_DIFFER(who=ranks_text(who))
    if detail(rows[0]).get("said") and not is_listed:
        text = advice.SAID_TO_DIFFER(who=ranks_text(who), step=step)
    if rows[0]["code"] == DIFFERS:
        text = (words.DUMPS_LEFT if named else words.DUMPS_DIFFER)(who=ranks_text(who), step=step)
    return Finding(
        cause="replica_divergence",
        ranks=named,
        suspect_ranks=() if named else suspects,
        undecided=() if named else ("replica_tie",),
        first_anomaly=FirstAnomaly(
            rank=named[0] if named else None,
            step=step,
            module=parameter,
            value="finite",
            signature="replica_divergence",
        ),
        claims=(Claim(words.BY_OWN_CHECK(what=text), "for", refs(rows[:10])),),
        severity="severe",
        actions=(
            to_do("inspect_hardware", ranks_text(named or suspects), words.DIFFER_SILENTLY),
            to_do("rollback", "job" if step is None else before_step(step), words.DIVERGED),
        ),
        summary=sentence(words.IN_PARAMETER(what=text, parameter=parameter) if parameter else text),
    )


def _of_some(rows: Sequence[Mapping[str, Any]], step: int | None) -> tuple[Finding, ...]:
    if not rows:
        return ()
    return (
        Finding(
            cause="replica_divergence",
            undecided=("replica_tie",),
            first_anomaly=FirstAnomaly(step=step, value="finite", signature="replica_divergence"),
            claims=(Claim(words.BY_OWN_CHECK(what=words.SOME_REPLICA_DIFFERS), "for", refs(rows[:10])),),
            severity="severe",
            collect=(words.EACH_REPLICAS_FIGURES,),
            summary=sentence(words.SOME_REPLICA_DIFFERS),
        ),
    )


DETECTOR = Detector("hash_mismatch", ("events",), detect, "bad_value")
