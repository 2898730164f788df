"""Exceptions that a program caught and printed: its process went on.

The interpreter prints a traceback from where the program begins: `<module>`, or what Python and its libraries start processes with.
One that begins inside the program was printed by whoever caught the exception, in its outermost frame; of a chain the last one tells.
Such an error ended nothing where its printer afterwards
- writes, by a later stamp of its own, a line that tells of no error, or does work;
- is one of those that all together come to many more steps, told below it in its file; or
- ends in the very place, frame by frame, in which another rank ended that had caught nothing: it stood there with the others.
What is outlived in a place is caught there again. Lines without a stamp prove nothing, for what a program has written to a file
may come out when it ends; nor do they after a traceback of the interpreter, for a process has something to clear up. After
that, or where no frame tells, only records of a logger do, and work below one.

Not those that were raised again without a logger, nor the only failure of a process that then ended with code 1, as Python
does after an exception: such a program printed what ended it. Nor what a driver says of another process, where the driver then ended by
an exception of its own: that it went on in between tells of itself.
"""

from collections.abc import Sequence

import msgspec
import polars as pl

from forensics.facts.rows.error_words import is_library
from forensics.facts.rows.event_rows import Row
from forensics.facts.rows.event_rows import detail as told_of
from forensics.model.taxonomy import EVENTS
from parsers.pytorch.traceback import MAX_FRAMES

_PRINTER = ["file", "rank"]
_PLACE = ["file", "line"]
_OF_LOGGER = '"went_on"|"introduced": "(?:ERROR|CRITICAL|FATAL)"|"relayed"'
_QUIET = ("lifecycle", "note", "symptom")
_LOUD = ("error", "fatal")
_MANY = 10  # steps; fewer may be on their way when one process ends


class _Raised(msgspec.Struct, frozen=True):
    """An exception. `frames`: function, file, line, innermost first. `head`: line of its traceback's head; `after`: of the one that it
    is chained to. `later`: lines of its printer with a later stamp. `worked`: its rank did, by a later stamp."""

    event: int
    file: str
    rank: int
    frames: tuple[tuple[str | None, ...], ...]
    head: int
    after: int | None
    later: tuple[int, ...]
    worked: bool

    @property
    def is_printed_inside(self) -> bool:
        """Does its traceback begin inside the program?"""
        if not 0 < len(self.frames) < MAX_FRAMES:
            return False
        function, file, *_ = self.frames[-1]
        return function not in (None, "<module>") and file is not None and not is_library(file)


_Chain = Sequence[_Raised]


def caught_errors(events: pl.DataFrame, steps: pl.DataFrame, kinds: Sequence[str]) -> pl.Series:
    """Events with their number `_event`, ranks global, and training steps → the numbers of the exceptions that a program caught and went
    on from, and of what else their lines tell of `kinds`, those of failures."""
    raised = events.filter(pl.col("kind") == "exception").drop_nulls(["rank", "line"])
    if not raised.height:
        return raised["_event"]
    life = _life(events, steps)
    last = life.group_by(_PRINTER).agg(pl.col("line").max().alias("_alive"))
    worked = life.group_by("rank", "time_basis").agg(pl.col("time_ns").max().alias("_worked"))
    told = raised.join(last, on=_PRINTER, how="left", nulls_equal=True)
    told = told.join(worked, on=["rank", "time_basis"], how="left").with_columns(
        pl.col("detail").fill_null(""), (pl.col("_worked") > pl.col("time_ns")).fill_null(False)
    )
    logged = pl.col("detail").str.contains('"went_on"')
    logged |= pl.col("detail").str.contains('"introduced"') & (pl.col("_alive") > pl.col("line")).fill_null(False)
    logged |= pl.col("_event").is_in(_outlived(told, events, steps))
    logged &= ~_is_of_ended_driver(events)
    caught, bare = told.filter(logged), told.filter(~logged)
    if not caught.height:
        return caught["_event"]
    caught = caught.join(bare.select("rank", "text").unique(), on=["rank", "text"], how="anti", nulls_equal=True)
    failed = events.filter(pl.col("kind").is_in(["exit", "first_failure"]) & (pl.col("code") == "1"))
    others = events.filter(pl.col("kind").is_in(kinds)).join(caught.select(_PLACE), on=_PLACE, how="anti")
    alone = failed.select("rank").drop_nulls().unique().join(others.select("rank"), on="rank", how="anti")
    caught = caught.join(alone, on="rank", how="anti")
    derived = events.filter(pl.col("kind").is_in(kinds)).join(caught.select(_PLACE).unique(), on=_PLACE, how="semi")
    return derived["_event"]


def _went_on(raised: pl.DataFrame, steps: pl.DataFrame) -> pl.Series:
    """Numbers of those below which their file tells of many steps that nobody tells above: a step takes all of a job."""
    if not steps.height:
        return raised["_event"].clear()
    told = steps.filter(
        (pl.col("phase").fill_null("train") == "train") & pl.col("file").is_in(raised["file"].implode())
    )
    told = told.select("file", "step", at="line").drop_nulls()
    told = told.group_by("file", "step").agg(pl.col("at").min().alias("first"), pl.col("at").max().alias("last"))
    reached = raised.select("_event", "file", "line").join(told, on="file")
    above = pl.col("step").filter(pl.col("first") < pl.col("line")).max()
    below = pl.col("step").filter(pl.col("last") > pl.col("line"))
    counted = reached.group_by("_event").agg((below > above).sum().alias("_steps"))
    return counted.filter(pl.col("_steps") >= _MANY)["_event"]


def _is_of_ended_driver(events: pl.DataFrame) -> pl.Expr:
    """Does a row tell what another process raised, in a file in which nobody's rank then ends by what nobody caught?"""
    said = pl.col("detail").fill_null("")
    is_own = pl.col("rank").is_null() & (pl.col("kind") == "exception")
    ended = events.filter(is_own & ~said.str.contains(_OF_LOGGER) & said.str.contains('"from_line"'))
    last = dict(ended.group_by("file").agg(pl.col("line").max()).iter_rows())
    until = pl.col("file").cast(pl.String).replace_strict(last, default=-1, return_dtype=pl.Int64)
    return said.str.contains('"relayed"') & (until > pl.col("line"))


def _life(events: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """file, rank, line, time_ns, time_basis of what shows work and no failure."""
    quiet = [kind for kind, row in EVENTS.items() if row.printer == "process" and set(row.roles) <= set(_QUIET)]
    calm = pl.col("kind").is_in(quiet) & ~pl.col("severity").is_in(_LOUD).fill_null(False)
    wanted = [*_PRINTER, "line", "time_ns", "time_basis"]
    return pl.concat([events.filter(calm).select(wanted), steps.select(wanted)])


def _outlived(told: pl.DataFrame, events: pl.DataFrame, steps: pl.DataFrame) -> list[int]:
    """Those that were caught by their form, and outlived."""
    chains = _chains([_read(row) for row in told.sort(_PLACE).iter_rows(named=True)])
    printed = [chain for chain in chains if chain[-1].is_printed_inside]
    if not printed:
        return []
    asked = told.filter(pl.col("_event").is_in([one.event for chain in printed for one in chain]))
    went_on = {*_went_on(asked, steps)}
    errors = set(events.filter(pl.col("severity").is_in(_LOUD)).select(_PLACE).iter_rows())
    places = _with_others(chains) | {
        _place(chain) for chain in printed for one in chain if one.worked or one.event in went_on or any((one.file, line) not in errors for line in one.later)
    }  # fmt: skip
    return [one.event for chain in printed if _place(chain) in places for one in chain]


def _read(row: Row) -> _Raised:
    told = told_of(row)
    listed = told.get("frames") or []
    frames = tuple(tuple(frame) for frame in listed if isinstance(frame, list) and len(frame) > 1)
    later = tuple(told.get("later") or ())
    head, after = told.get("from_line", row["line"]), told.get("continues_line")
    return _Raised(row["_event"], row["file"], row["rank"], frames, head, after, later, row["_worked"])


def _chains(listed: Sequence[_Raised]) -> list[list[_Raised]]:
    """In order of place → those that were printed as one ("During handling of the above exception, …"), each for itself."""
    chains: list[list[_Raised]] = []
    last: dict[tuple[str, int], int] = {}  # file and head → which chain it ends
    for one in listed:
        at = last.pop((one.file, one.after), None) if one.after is not None else None
        if at is None:
            at = len(chains)
            chains.append([])
        chains[at].append(one)
        last[one.file, one.head] = at
    return chains


def _place(chain: _Chain) -> tuple[int, tuple[tuple[str | None, ...], ...]]:
    return chain[-1].rank, chain[-1].frames


def _with_others(chains: Sequence[_Chain]) -> set[tuple[int, tuple[tuple[str | None, ...], ...]]]:
    """The places in which ranks caught something before they ended where others ended that had caught nothing."""
    own: dict[int, list[_Chain]] = {}
    for chain in chains:
        own.setdefault(chain[0].rank, []).append(chain)
    clean = {printed[0][-1].frames for printed in own.values() if len(printed) == 1}
    found = set()
    for printed in own.values():
        *before, last = printed
        if before and not last[-1].is_printed_inside and last[-1].frames in clean - {()}:
            found |= {_place(chain) for chain in before}
    return found
