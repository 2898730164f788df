"""Which folders and job ids of a bundle are one launch of the job.

Every agent of torchrun makes a folder of its own (run id and eight random characters), so that the folders of several
hosts are one launch: they share the run id and no rank. Folders that share a rank, or differ in the run id, are
launches of their own. A scheduler's job id (`slurm-4711.out`, `job_4711/`) stands for a run id.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec
import polars as pl

from forensics.model.said import Said, joined
from forensics.words import views as words
from parsers.patterns import regex
from parsers.tables import TableName, spelled

_RANDOM = regex(r"_[a-z0-9_]{8}$")
_JOB = regex(r"(?:^|[/._-])(?:slurm|job|jobid)[-_]?(\d{3,12}(?:_\d{1,6})?)(?=$|[/._-])", re.I)
_NUMBER = regex(r"(\d+)(?:_(\d+))?")
_SPOKEN: tuple[TableName, ...] = ("steps", "events", "ranks", "stacks", "operations", "tensors")


class Launch(msgspec.Struct):
    """Files of one launch, its run ids, the ranks that speak in them, and (first, last) time by basis."""

    names: set[str]
    files: list[str]
    ranks: set[int] = msgspec.field(default_factory=set)
    spans: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)


def spans_of(tables: Mapping[TableName, pl.DataFrame]) -> pl.DataFrame:
    """file, line, basis, time: every stamp of a log that counts from 1970, in order of place."""
    parts = [
        tables[name]
        .filter(pl.col("time_ns").is_not_null() & pl.col("time_basis").is_in(["utc", "local"]))
        .select("file", "line", pl.col("time_basis").alias("basis"), pl.col("time_ns").alias("time"))
        for name in ("events", "steps")
    ]
    return pl.concat(parts).sort("file", "line", nulls_last=True)


def launches(tables: Mapping[TableName, pl.DataFrame]) -> tuple[list[Launch], tuple[Said, ...]]:
    """(launches in order of time, what could not be decided). Files that name no launch are in none."""
    named: dict[str, Launch] = {}
    has_folders = tables["files"]["attempt"].is_not_null().any()
    for file, launch, attempt in tables["files"].select("file", "launch", "attempt").iter_rows():
        job = None if has_folders else _JOB.search(file)  # the output of a job holds all that its agents launch
        name = launch or ("" if attempt is not None else job[1] if job else None)
        if name is not None:
            named.setdefault(name, Launch({name}, [])).files.append(file)
    if len(named) < 2:
        return list(named.values()), ()
    ranks, spans = _ranks(tables), dict(_spans(spans_of(tables)))
    for one in named.values():
        one.ranks = {rank for file in one.files for rank in ranks.get(file, ())}
        one.spans = _joined(spans.get(file, {}) for file in one.files)
    found: list[Launch] = []
    doubts: list[Said] = []
    for _, one in sorted(named.items()):
        mates = [other for other in found if _is_one(one, other)]
        if mates:
            _merge(mates[0], one)
            if not mates[0].ranks or not one.ranks:
                doubts.append(words.IS_ONE_LAUNCH(name=_name(mates[0])))
        else:
            found.append(one)
    order, why = _ordered(found)
    return order, (*dict.fromkeys(doubts), *why)


def _name(launch: Launch) -> str:
    return ", ".join(sorted(launch.names))


def _is_one(one: Launch, other: Launch) -> bool:
    """One run id and no rank in common; other run ids only where they ran at once, rank beside rank."""
    if one.ranks & other.ranks:
        return False
    if {_RANDOM.sub("", name) for name in one.names} & {_RANDOM.sub("", name) for name in other.names}:
        return True
    at_once = any(
        one.spans[basis][0] <= other.spans[basis][1] and other.spans[basis][0] <= one.spans[basis][1]
        for basis in one.spans.keys() & other.spans.keys()
    )
    return bool(one.ranks and other.ranks and at_once)


def _merge(into: Launch, other: Launch) -> None:
    into.names |= other.names
    into.files += other.files
    into.ranks |= other.ranks
    into.spans = _joined([into.spans, other.spans])


def _joined(spans: Iterable[Mapping[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    whole: dict[str, tuple[int, int]] = {}
    for span in spans:
        for basis, (first, last) in span.items():
            known = whole.get(basis, (first, last))
            whole[basis] = (min(first, known[0]), max(last, known[1]))
    return whole


def _ordered(found: list[Launch]) -> tuple[list[Launch], tuple[Said, ...]]:
    """By time where all have a time of one basis; else by the scheduler's running number; else by name, and that is said."""
    for basis in ("utc", "local"):
        if all(basis in one.spans for one in found):
            return sorted(found, key=lambda one: one.spans[basis]), ()
    numbers = [_NUMBER.fullmatch(min(one.names)) for one in found]
    if all(numbers):
        keys = {id(one): (int(n[1]), int(n[2] or 0)) for one, n in zip(found, numbers, strict=True) if n}
        return sorted(found, key=lambda one: keys[id(one)]), ()
    order = sorted(found, key=_name)
    return order, (words.WHICH_LAUNCH_FIRST(launches=joined(map(_name, order), "; ")),)


def _ranks(tables: Mapping[TableName, pl.DataFrame]) -> dict[str, list[int]]:
    parts = []
    for name in _SPOKEN:
        frame = tables[name]
        narrow = frame.select("file", "rank") if name in ("operations", "tensors") else frame  # they are the long ones
        frame = narrow.filter(pl.col("rank").is_not_null())
        if name == "events":  # a rank that a launcher's table names has not spoken there
            frame = frame.filter((pl.col("rank_space") == "global") & ~pl.col("kind").is_in(["exit", "first_failure"]))
        elif name == "ranks":
            frame = frame.filter(pl.col("how") != "elastic failure table")
        parts.append(spelled(frame.select("file", "rank").unique()))
    return dict(pl.concat(parts).unique().group_by("file").agg("rank").iter_rows())


def _spans(stamps: pl.DataFrame) -> Iterable[tuple[str, dict[str, tuple[int, int]]]]:
    per_file: dict[str, dict[str, tuple[int, int]]] = {}
    ends = stamps.group_by("file", "basis").agg(pl.col("time").min().alias("first"), pl.col("time").max().alias("last"))
    for file, basis, first, last in ends.iter_rows():
        per_file.setdefault(file, {})[basis] = (first, last)
    return per_file.items()
