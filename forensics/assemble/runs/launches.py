"""Which folders and job ids of a bundle are one launch of the job.

Every agent of torchrun makes a folder of its own (run id and eight random characters), so that the folders of several
hosts are one launch: they share the run id and no rank. Folders that share a rank, or differ in the run id, are
launches of their own; unless they ran at once below folders of their own, as the programs of one job do (register.py). A scheduler's job id (`slurm-4711.out`, `job_4711/`) stands for a run id, and so does a number in names of
one shape where it is such an id in one of them (`train-4711_0.log`), or where the other numbers come again beside it and the times of
its files do not overlap; folders and files that are numbered otherwise are judged by what they hold (numbered_runs.py). Files of ranks that a launch of fewer ranks left lying are of an older one: the lower ranks, complete from
0, all begin more than `DAY_NS` after everything in the files of the higher ones, which no zone explains.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise, permutations

import msgspec
import polars as pl

from forensics.assemble.runs.numbered_runs import numbered_runs, rotated_runs, runs_of_each
from forensics.model.said import Said, joined
from forensics.words import views as words
from parsers.schema.tables import TableName, Tables, spelled
from parsers.text.patterns import regex
from parsers.text.stamps import DAY_NS

_RANDOM = regex(r"_[a-z0-9_]{8}$")
_JOB = regex(r"(?:^|[/._-])(?:slurm|job|jobid)[-_]?(\d{3,12}(?:_\d{1,6})?)(?=$|[/._-])", re.I)
_NUMBER = regex(r"(\d+)(?:_(\d+))?")
_DIGITS = regex(r"\d+")
_ID = 3  # digits of a job's id, at least
_MOSTLY = 0.5
_SPOKEN: tuple[TableName, ...] = ("steps", "events", "ranks", "stacks", "operations", "tensors")


class Launch(msgspec.Struct):
    """Files of one launch, its run ids, the ranks that speak in them, and (first, last) time by basis; `lasted`: the same by the stamps
    of all its lines."""

    names: set[str]
    files: list[str]
    ranks: set[int] = msgspec.field(default_factory=set)
    spans: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    lasted: tuple[int, int] | None = None

    @property
    def places(self) -> set[str]:
        """The folders that its own folders stand in."""
        return {file.partition(f"/{name}/")[0] for file in self.files for name in self.names if f"/{name}/" in file}


def spans_of(tables: Tables) -> pl.DataFrame:
    """file, line, basis, time: every stamp of a log that counts from 1970, in order of place."""
    parts = [
        tables[name]
        .filter(pl.col("time_ns").is_not_null() & pl.col("time_basis").is_in(["utc", "local"]))
        .select("file", "line", pl.col("time_basis").alias("basis"), pl.col("time_ns").alias("time"))
        for name in ("events", "steps")
    ]
    return pl.concat(parts).sort("file", "line", nulls_last=True)


def launches(tables: Tables) -> tuple[list[Launch], tuple[Said, ...]]:
    """(launches in order of time, what could not be decided). Files that name no launch are in none."""
    named: dict[str, Launch] = {}
    has_folders = tables["files"]["attempt"].is_not_null().any()
    for file, launch, attempt in tables["files"].select("file", "launch", "attempt").iter_rows():
        job = None if has_folders else _JOB.search(file)  # the output of a job holds all that its agents launch
        name = launch or ("" if attempt is not None else job[1] if job else None)
        if name is not None:
            named.setdefault(name, Launch({name}, [])).files.append(file)
    spans = _spans(spans_of(tables))
    if not has_folders:
        _add_numbered(named, tables["files"]["file"].to_list(), spans)
        if not named:
            runs = numbered_runs(tables, spans) or runs_of_each(tables, spans)
            named = {run: Launch({run}, files) for run, files in runs.items()} or _left_lying(tables["files"])
    if len(named) < 2 and (runs := rotated_runs(tables, spans)):
        named = {run: Launch({run}, files) for run, files in runs.items()}
    if len(named) < 2:
        return list(named.values()), ()
    ranks = _ranks(tables)
    stamps = tables["files"].select("file", "time_first_ns", "time_last_ns")
    lasted = {file: (first, last) for file, first, last in stamps.iter_rows()}
    for one in named.values():
        one.ranks = {rank for file in one.files for rank in ranks.get(file, ())}
        one.spans = _joined(spans.get(file, {}) for file in one.files)
        one.lasted = widest(lasted[file] for file in one.files if file in lasted)
    named = _without_tasks(named)
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


def _without_tasks(named: Mapping[str, Launch]) -> dict[str, Launch]:
    """The same, where the number behind a job's id counts its tasks (`slurm-%j_%t.out`) and not the members of an array: those that speak in the
    files are other ranks each, and none was over before another began. Each member of an array begins from rank 0."""
    found = dict(named)
    parts: dict[str, list[str]] = {}
    for name in named:
        job, mark, _ = name.partition("_")
        if mark and job.isdigit():
            parts.setdefault(job, []).append(name)
    for job, names in parts.items():
        told = [found[name].ranks for name in names if found[name].ranks]
        is_shared = sum(map(len, told)) > len(set().union(*told))
        times = [lasted for name in names if (lasted := found[name].lasted) is not None]
        if len(told) < 2 or is_shared or any(one[1] < two[0] for one, two in permutations(times, 2)):
            continue
        for name in names:
            _merge(found.setdefault(job, Launch({job}, [])), found.pop(name))
        found[job].names = {job}
    return found


def _add_numbered(
    named: dict[str, Launch], files: Iterable[str], spans: Mapping[str, Mapping[str, tuple[int, int]]]
) -> None:
    """Files whose names hold the number of a job go to its launch."""
    placed = {file for one in named.values() for file in one.files}
    shapes: dict[str, list[str]] = {}
    for file in files:
        if file not in placed:
            shapes.setdefault(_DIGITS.sub("#", file), []).append(file)
    for own in shapes.values():
        numbers = [_DIGITS.findall(file) for file in own]
        for place in range(len(numbers[0])):
            parts: dict[str, list[str]] = {}
            for file, found in zip(own, numbers, strict=True):
                parts.setdefault(found[place], []).append(file)
            is_id = min(map(len, parts)) >= _ID and 1 < len(parts) < len(own)
            if is_id and (parts.keys() & named.keys() or _apart(parts, place, spans)):
                for job, part in parts.items():
                    named.setdefault(job, Launch({job}, [])).files += part
                break


def _left_lying(files: pl.DataFrame) -> dict[str, Launch]:
    """Table `files` → the files of ranks as an older and a newer launch, where a smaller one wrote over the lower ranks' files."""
    told = files.filter(pl.col("rank").is_not_null() & pl.col("time_first_ns").is_not_null())
    last = pl.coalesce("time_last_ns", "time_first_ns")
    span = told.select("file", "rank", first="time_first_ns", last=last).sort("rank")
    by_rank = span.group_by("rank", maintain_order=True).agg(pl.col("first").min(), pl.col("last").max())
    ranks, begun, ended = (by_rank[name].to_list() for name in ("rank", "first", "last"))
    for count in range(1, len(ranks)):
        if ranks[:count] == list(range(count)) and max(ended[count:]) + DAY_NS < min(begun[:count]):
            newer = pl.col("rank") < count
            older, own = (span.filter(one)["file"].to_list() for one in (~newer, newer))
            return {"before": Launch({"before"}, older), "newest": Launch({"newest"}, own)}
    return {}


def _apart(parts: Mapping[str, list[str]], place: int, spans: Mapping[str, Mapping[str, tuple[int, int]]]) -> bool:
    """Do the other numbers of the names come again, and the times not overlap?"""
    others = [
        {(*found[:place], *found[place + 1 :]) for found in map(_DIGITS.findall, part)} for part in parts.values()
    ]
    if not set.intersection(*map(set, others)):
        return False
    for basis in ("utc", "local"):
        told = [_joined(spans.get(file, {}) for file in part).get(basis) for part in parts.values()]
        if all(told):
            ordered = sorted(span for span in told if span is not None)
            return all(before[1] < after[0] for before, after in pairwise(ordered))
    return False


def _name(launch: Launch) -> str:
    return ", ".join(sorted(launch.names))


def _is_one(one: Launch, other: Launch) -> bool:
    """One run id and no rank in common; other run ids only where they ran at once, rank beside rank. What shares ranks, and ran at once below other
    folders, are programs of one job."""
    if one.ranks & other.ranks:
        return bool(one.places and other.places) and not one.places & other.places and _were_together(one, other)
    if {_RANDOM.sub("", name) for name in one.names} & {_RANDOM.sub("", name) for name in other.names}:
        return True
    both = [(one.spans[basis], other.spans[basis]) for basis in one.spans.keys() & other.spans.keys()]
    at_once = any(mine[0] <= theirs[1] and theirs[0] <= mine[1] for mine, theirs in both)
    return bool(one.ranks and other.ranks and at_once)


def _were_together(one: Launch, other: Launch) -> bool:
    """For half of the time, at least, that the shorter one lasted? A restart meets no more than the end of what went before."""
    if one.lasted is None or other.lasted is None:
        return False
    (first, last), (begun, ended) = one.lasted, other.lasted
    shorter = min(last - first, ended - begun)
    return shorter > 0 and min(last, ended) - max(first, begun) >= _MOSTLY * shorter


def _merge(into: Launch, other: Launch) -> None:
    into.names |= other.names
    into.files += other.files
    into.ranks |= other.ranks
    into.spans = _joined([into.spans, other.spans])
    into.lasted = widest(one.lasted for one in (into, other) if one.lasted is not None)


def widest(spans: Iterable[tuple[int | None, int | None]]) -> tuple[int, int] | None:
    """From the first of them to the last, of those that are told."""
    own = [(first, last) for first, last in spans if first and last]
    return (min(first for first, _ in own), max(last for _, last in own)) if own else None


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


def _ranks(tables: Tables) -> dict[str, list[int]]:
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


def _spans(stamps: pl.DataFrame) -> dict[str, dict[str, tuple[int, int]]]:
    per_file: dict[str, dict[str, tuple[int, int]]] = {}
    ends = stamps.group_by("file", "basis").agg(pl.col("time").min().alias("first"), pl.col("time").max().alias("last"))
    for file, basis, first, last in ends.iter_rows():
        per_file.setdefault(file, {})[basis] = (first, last)
    return per_file
