"""Stacks: what each rank's main thread does (its site), in classes of equal stacks.

Method: STAT (prefix tree with rank sets) and ByteRobust (singular leaf classes). The rules that turn frames into a site
are data: forensics/data/stack_sites.csv, columns strength (strong rules first; within a strength the innermost frame
wins; idle: a loop that waits for work, idle inside: what it waits in), site, op (for communication), function and file (regular expressions; empty = any). Between the first two stands
what parsers/knowledge knows to wait for ranks.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec
import polars as pl

from forensics.facts.rows.series import in_order, series
from forensics.facts.waits.fed_threads import with_fed
from forensics.model.frames import LIBRARY, is_own_file
from forensics.model.told import told_by
from parsers.knowledge import waits
from parsers.schema.tables import FRAME, Tables
from parsers.text.patterns import regex


class Frame(NamedTuple):
    function: str
    file: str
    line: int | None

    def text(self) -> str:
        """function (file:line), as py-spy prints it."""
        return f"{self.function} ({self.file}:{self.line})" if self.file else self.function


class Site(msgspec.Struct, frozen=True):
    """What a stack is doing: `site` of the contract, for communication the operation (None = cannot be told)."""

    site: str
    op: str | None
    frame: Frame | None  # the frame that told
    user: Frame | None  # innermost frame outside libraries


class _Rule(NamedTuple):
    strength: str
    site: str
    op: str
    function: re.Pattern[str]
    file: re.Pattern[str]


@cache
def _rules() -> tuple[_Rule, ...]:
    text = files("forensics.data").joinpath("stack_sites.csv").read_text(encoding="utf-8")
    return tuple(
        _Rule(row["strength"], row["site"], row["op"], regex(row["function"]), regex(row["file"]))
        for row in csv.DictReader(text.splitlines())
    )


@lru_cache(maxsize=1 << 14)  # the frames of a recursion are few kinds, and ranks of a job stand in the same code
def _told(strength: str, function: str, file: str) -> _Rule | None:
    """The first rule of this strength that a frame fulfils; py-spy prints qualified names since 0.4: rules speak of the
    last part."""
    plain = function.rsplit(".", 1)[-1]
    rules = (rule for rule in _rules() if rule.strength == strength)
    return next((rule for rule in rules if rule.function.search(plain) and rule.file.search(file)), None)


def classify(frames: Sequence[Frame]) -> Site:
    """Frames, innermost first → Site. Nothing known: site "unknown"."""
    # What the kernel or a shared object says has no source file, and is no line that anybody may change.
    user = _own_code(frame for frame in frames if "." in frame.file) or _own_code(frames)
    frame, rule = _first("strong", frames)
    if rule is None:  # a row of knowledge says more than the lock or the poll that every wait ends in
        frame = next((one for one in frames if waits(one.file, one.function) == "ranks"), None)
        if frame is not None:
            return Site("communication", None, frame, user)
        frame, rule = _first("weak", frames)
    if rule is not None:
        return Site(rule.site, rule.op or _call_around(rule, frames), frame, user)
    return Site("unknown", None, frames[0] if frames else None, user)


def _own_code(frames: Iterable[Frame]) -> Frame | None:
    return next((frame for frame in frames if not LIBRARY.search(frame.file)), None)


def _first(strength: str, frames: Sequence[Frame]) -> tuple[Frame | None, _Rule | None]:
    """The innermost frame that fulfils a rule of this strength, and that rule."""
    told = ((frame, _told(strength, frame.function, frame.file)) for frame in frames)
    return next(((frame, rule) for frame, rule in told if rule is not None), (None, None))


def _call_around(rule: _Rule, frames: Sequence[Frame]) -> str | None:
    """The collective that a wait without a name of its own is part of: the innermost one that a frame names."""
    if rule.site != "communication":
        return None
    told = (_told("strong", frame.function, frame.file) for frame in frames)
    return next((one.op for one in told if one is not None and one.site == rule.site and one.op), None)


_KEY = ["rank", "host", "pid"]
SAMPLERS = ("proc status", "ps", "top")
# What the kernel says of a process whose own frames tell nothing; who yields in a loop waits.
_HELD = ("storage_io", "lock", "communication")
_MAIN = {
    "rank": pl.Int64(), "host": pl.String(), "pid": pl.Int64(), "frames": pl.List(FRAME), "site": pl.String(),
    "op": pl.String(), "status": pl.String(), "moving": pl.Boolean(), "count": pl.Int64(), "peer": pl.Int64(), "source": pl.String(), "file": pl.String(),
    "line": pl.Int64(), "record": pl.Int64(),
}  # fmt: skip


@told_by("stacks", nothing=partial(pl.DataFrame, schema=_MAIN))
def main_stacks(tables: Tables) -> pl.DataFrame:
    """The last main-thread stack of each training process: columns of _MAIN.

    Child processes (parent_pid set) are left out. A dump of a live process outranks a traceback, which only shows where
    the process was when it gave up. `moving`: True where two snapshots of the same process differ, False where they agree,
    null with a single one. Snapshots are dumps in one file, or files whose paths differ by a number or a word of order."""
    frame = _with_kernel_sites(tables["stacks"]).filter(
        pl.col("is_main").fill_null(False)
        & pl.col("parent_pid").is_null()
        & (pl.col("frames").list.len() > 0)
        & (~_is_sampled() | _is_stopped_alone() | (pl.col("_kernel").is_in(_HELD) & pl.col("rank").is_not_null()))
    )
    source_order = {"py-spy": 0, "faulthandler": 1, "gdb": 2, "traceback": 9}
    frame = frame.with_columns(
        pl.col("source").replace_strict(source_order, default=5, return_dtype=pl.Int64).alias("_trust"),
        pl.when(pl.col("rank").is_null() & pl.col("pid").is_null()).then(pl.int_range(pl.len())).alias("_lone"),
    )
    key = [*_KEY, "_lone"]
    ranked = frame.filter(pl.col("rank").is_not_null()).with_columns(
        pl.lit(None, pl.String).alias("host"), pl.lit(None, pl.Int64).alias("pid")
    )
    nobodys = frame.filter(pl.col("rank").is_null())
    works = [not waits_for_work(to_frames(frames)) for frames in nobodys["frames"].to_list()]
    whole = _once(pl.concat([ranked, nobodys.filter(pl.Series(works, dtype=pl.Boolean))]))
    paths = whole["file"].unique().to_list()
    whole = whole.with_columns(
        pl.col("file").replace_strict(paths, [series(path) for path in paths], return_dtype=pl.String).alias("_series"),
        pl.col("file").replace_strict(paths, [in_order(path) for path in paths], return_dtype=pl.String).alias("_nth"),
    )
    live = whole.filter(pl.col("_trust") < 9)
    moving = _moving(live, key, pl.col("frames"))
    # Who polls stands at the same call all the same: where that holds of all that are seen twice, none moved.
    if moving["moving"].any():
        outer = _moving(live.with_columns(_from_call(live).alias("_call")), key, pl.col("_call"))
        moving = moving if outer["moving"].any() else outer
    last = whole.sort(
        [*key, "_trust", "time_ns", "_series", "_nth", "snapshot"],
        descending=[False] * 5 + [True, False, True, True],
        nulls_last=True,
    ).unique(key, keep="first", maintain_order=True)
    last = last.join(moving, on=key, how="left", nulls_equal=True, maintain_order="left")
    sites = _classify_distinct(last)
    told = last.with_columns(
        pl.Series("site", [site.site for site in sites], dtype=pl.String),
        pl.Series("op", [site.op for site in sites], dtype=pl.String),
        pl.col("count").fill_null(1),
    )
    told = with_fed(told, tables["stacks"], lambda frames: classify(to_frames(frames)).site)
    return _in_kernel(_in_messages(told), whole, key).select(_MAIN.keys())


def _in_messages(told: pl.DataFrame) -> pl.DataFrame:
    """Whose innermost call is a message of the program's own, by its name and by the other end that its arguments tell, waits for that one."""
    name = pl.col("frames").list.first().struct.field("function").str.to_lowercase().str.extract(r"(send|recv|receive)")
    is_own = pl.col("peer").is_not_null() & (pl.col("site") != "communication") & name.is_not_null()
    return told.with_columns(
        pl.when(is_own).then(pl.lit("communication")).otherwise("site").alias("site"),
        pl.when(is_own).then(name.replace("receive", "recv")).otherwise("op").alias("op"),
    )


def _once(whole: pl.DataFrame) -> pl.DataFrame:
    """Without what a list of innermost functions says of processes whose whole stack the same file shows."""
    inner = pl.col("frames").list.first().struct
    key = ["file", "host", inner.field("function").alias("_inner")]
    nobodys = pl.col("rank").is_null() & pl.col("host").is_not_null()
    is_whole = nobodys & pl.col("pid").is_not_null() & inner.field("file").is_not_null()
    is_one = (pl.col("frames").list.len() == 1) & (pl.col("count").fill_null(1) == 1)
    is_bare = nobodys & pl.col("pid").is_null() & inner.field("file").is_null() & is_one
    is_told = is_bare & (is_bare.cum_sum().over(key) <= is_whole.sum().over(key))
    return whole.filter(~is_told.fill_null(False))


def waits_for_work(frames: Sequence[Frame]) -> bool:
    """Does it stand in the loop of a server that nobody asks, or of a launcher that watches its workers? It is no rank, and late for nothing."""
    outer = next((at for at, one in enumerate(frames) if _told("idle", one.function, one.file) is not None), None)
    return outer is not None and all(_told("idle inside", one.function, one.file) is not None for one in frames[:outer])


def _moving(live: pl.DataFrame, key: list[str], place: pl.Expr) -> pl.DataFrame:
    """key, `moving`: whether a process is at different places in the looks of one source; null of a single look."""
    return (
        live.group_by(*key, "source", "_series")
        .agg(pl.struct("file", "snapshot").n_unique().alias("_n"), place.n_unique().alias("_kinds"))
        .group_by(key)
        .agg(pl.when((pl.col("_n") > 1).any()).then((pl.col("_kinds") > 1).any()).alias("moving"))
    )


def _from_call(live: pl.DataFrame) -> pl.Series:
    """Stacks without what is inside a call of communication."""
    told: list[str] = []
    for frames, site in zip(live["frames"].to_list(), _classify_distinct(live), strict=True):
        own = to_frames(frames)
        calls = [at for at, frame in enumerate(own) if site.site == "communication" and _is_call(frame)]
        told.append(repr(own[max(calls, default=0) :]))
    return pl.Series(told, dtype=pl.String)


def _is_call(frame: Frame) -> bool:
    rule = _told("strong", frame.function, frame.file)
    return rule is not None and rule.site == "communication"


def _is_stopped_alone() -> pl.Expr:
    """Of ranks whose process the kernel calls stopped, where it says of most that they are not: who stops all of them, to
    keep what they show, stops those that wait, too. A tracer's stop is another word, and says nothing."""
    told = _is_sampled()
    stopped = told & (pl.col("status") == "stopped")
    ranks = pl.col("rank").filter
    return stopped & pl.col("rank").is_not_null() & (2 * ranks(stopped).n_unique() < ranks(told).n_unique())


def _is_sampled() -> pl.Expr:
    return pl.col("source").is_in(SAMPLERS)


def _with_kernel_sites(stacks: pl.DataFrame) -> pl.DataFrame:
    """With `_kernel`: the site of a main thread's kernel stack, or of the function that a sampler says it sleeps in."""
    is_told = stacks["source"].is_in(["kernel", *SAMPLERS]).to_list()
    sites = iter(_classify_distinct(stacks.filter(pl.Series(is_told, dtype=pl.Boolean))))
    told = [next(sites).site if is_own else None for is_own in is_told] if any(is_told) else [None] * stacks.height
    return stacks.with_columns(pl.Series("_kernel", told, dtype=pl.String))


def _in_kernel(last: pl.DataFrame, frame: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Last stacks whose own frames tell nothing, with what the kernel says of the same process before them: its code called there."""
    held = frame.filter(pl.col("_kernel").is_in(_HELD))
    if not held.height:
        return last
    held = held.sort("file", "line").unique(key, keep="first", maintain_order=True)
    held = held.select(*key, pl.col("frames").alias("_held"), pl.col("_kernel").alias("_site"))
    joined = last.join(held, on=key, how="left", nulls_equal=True, maintain_order="left")
    is_open = (pl.col("site") == "unknown") & pl.col("_site").is_not_null()
    return joined.with_columns(
        pl.when(is_open).then(pl.concat_list("_held", "frames")).otherwise("frames").alias("frames"),
        pl.when(is_open).then("_site").otherwise("site").alias("site"),
    )


def to_frames(frames: Sequence[Mapping[str, Any]]) -> list[Frame]:
    """Structs of the stacks table → Frame."""
    return [Frame(str(f["function"] or ""), str(f["file"] or ""), f["line"]) for f in frames]


def own_line(frames: Sequence[Mapping[str, Any]]) -> Frame | None:
    """Structs of the stacks table → the innermost line of the job's own code."""
    return next((one for one in to_frames(frames) if is_own_file(one.file) and one.line), None)


def _classify_distinct(last: pl.DataFrame) -> list[Site]:
    """10,240 ranks have few distinct stacks: each is classified once."""
    known: dict[tuple[Frame, ...], Site] = {}
    result = []
    for frames in last["frames"].to_list():
        key = tuple(to_frames(frames))
        if key not in known:
            known[key] = classify(key)
        result.append(known[key])
    return result
