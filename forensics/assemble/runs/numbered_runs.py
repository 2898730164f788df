"""Which folders or files of one name but for a number are runs of the job one after the other: run1/, run2/; train_1.log, train_2.log.

A number tells nothing by itself: it may be a rank's, a host's, a seed's. Runs hold the same, under the same names (of the same ranks,
where ranks are told), and the later one follows the earlier in every file that both have: by stamps that do not overlap; where there are
none, it goes on from within the steps of the earlier one and not from its first, and either says that it loaded a checkpoint or is
of several ranks that are the same. Files beside each other must say so, whatever their stamps.

Folders of whatever names (a tracker's runs) are runs where each holds the steps of one rank alone, every rank has as many, and all of the first are over, by stamps, before any of the second
begins, which goes on from within the steps of the first.

A file and what was put aside of it (`job.out` and `job.out.1`) are runs where the stamps do not overlap, the later one goes on from
within the steps of the earlier one, and that one tells the end of every rank that speaks in it, or that a scheduler stopped the job, or a
checkpoint was loaded: a log that was cut for its length goes on without any of these.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec
import polars as pl

from parsers.schema.tables import Tables, spelled
from parsers.text.patterns import regex

_NUMBER = regex(r"\d{1,6}")
_STOPS = ("time_limit", "preemption", "cancelled")
_ASIDE = regex(r"\.\d{1,3}$")
_RUNS = 200  # of a job in one bundle
_Spans = Mapping[str, Mapping[str, tuple[int, int]]]


class _Own(msgspec.Struct, frozen=True):
    """What one file shows: its steps, its ranks, by a name or a line, and whether it loaded a checkpoint."""

    first: int
    last: int
    every: int
    ranks: frozenset[int]
    loads: bool


def numbered_runs(tables: Tables, spans: _Spans) -> dict[str, list[str]]:
    """Tables and the stamps of each file (basis → first, last) → number → the files of that run, oldest first; none where nothing
    shows runs."""
    own = _shown(tables)
    named = dict(tables["files"].select("file", "rank").iter_rows())
    for is_folder, runs in _groups(sorted(named)):
        order = sorted(runs, key=int)
        is_rank = all(named[file] == int(run) for run in order for file in runs[run].values())
        shown = [own[file] for run in order for file in runs[run].values() if file in own]
        is_step = all(one.first == one.last for one in shown)  # dumps of a step each
        if not 1 < len(order) <= _RUNS or is_rank or is_step:
            continue
        if all(_follows(runs[one], runs[two], own, spans, is_folder) for one, two in pairwise(order)):
            return {run: sorted(runs[run].values()) for run in order}
    return {}


def rotated_runs(tables: Tables, spans: _Spans) -> dict[str, list[str]]:
    """The same → name of a file → that file, oldest first, of a log and what was put aside of it; none where nothing shows runs."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    files = tables["files"]["file"].to_list()
    for file in files:
        base = _ASIDE.sub("", file)
        if base != file and base in files:
            found[base].append(file)
    if len(found) != 1:
        return {}
    [(base, aside)] = found.items()
    own, ended = _shown(tables), _ended(tables)
    is_stop = (pl.col("kind") == "scheduler") & pl.col("code").is_in(_STOPS)
    stopped = {*tables["events"].filter(is_stop.fill_null(False))["file"].to_list()}
    stamped = [file for file in (base, *aside) if file in own and spans.get(file)]
    order = sorted(stamped, key=lambda file: min(span[0] for span in spans[file].values()))
    if len(order) != 1 + len(aside):
        return {}
    for one, two in pairwise(order):
        before, after = own[one], own[two]
        goes_on = before.first < after.first <= before.last + before.every
        has_ended = len(before.ranks) > 0 and before.ranks <= ended.get(one, frozenset())
        is_over = after.loads or one in stopped or has_ended
        if not (goes_on and is_over and before.ranks == after.ranks and _is_after(spans[one], spans[two])):
            return {}
    return {file: [file] for file in order}


def runs_of_each(tables: Tables, spans: _Spans) -> dict[str, list[str]]:
    """The same → number → the files of that run, of folders of each rank; none where nothing shows runs."""
    own = {file: one for file, one in _shown(tables).items() if "/" in file}
    if any(len(one.ranks) != 1 for one in own.values()):
        return {}
    for depth in range(1, 1 + max((file.count("/") for file in own), default=0)):
        folders: defaultdict[str, list[str]] = defaultdict(list)
        for file in own:
            folders["/".join(file.split("/")[:depth])].append(file)
        of_rank: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        for folder, files in folders.items():
            ranks = frozenset[int].union(*(own[file].ranks for file in files))
            began = [span[0] for file in files for span in spans.get(file, {}).values()]
            if len(ranks) == 1 and began:
                of_rank[min(ranks)].append((min(began), folder))
        count = len(folders) // max(1, len(of_rank))
        if not (len(of_rank) > 1 < count <= _RUNS and all(len(had) == count for had in of_rank.values())):
            continue
        order = [{sorted(had)[nth][1] for had in of_rank.values()} for nth in range(count)]
        shown = [[file for folder in run for file in folders[folder]] for run in order]
        are_all = len(folders) == count * len(of_rank)
        if are_all and all(_all_after(one, two, own, spans) for one, two in pairwise(shown)):
            every = tables["files"]["file"].to_list()
            inside = [[f"{folder}/" for folder in sorted(run)] for run in order]
            return {str(nth): [one for one in every if one.startswith(tuple(run))] for nth, run in enumerate(inside)}
    return {}


def _all_after(one: Sequence[str], two: Sequence[str], own: Mapping[str, _Own], spans: _Spans) -> bool:
    """Does all of the second begin after all of the first is over, and go on from within its steps?"""
    is_over = _is_after(_whole(one, spans), _whole(two, spans))
    last = max(own[file].last + own[file].every for file in one)
    return is_over is True and max(own[file].first for file in one) < min(own[file].first for file in two) <= last


def _whole(files: Sequence[str], spans: _Spans) -> dict[str, tuple[int, int]]:
    """The stamps of several files together."""
    told = [(basis, span) for file in files for basis, span in spans.get(file, {}).items()]
    return {
        basis: (min(one[0] for of, one in told if of == basis), max(one[1] for of, one in told if of == basis))
        for basis in dict(told)
    }


def _ended(tables: Tables) -> dict[str, frozenset[int]]:
    """File → the ranks whose ends it tells."""
    told = tables["events"].filter((pl.col("kind") == "exit") & (pl.col("rank_space") == "global")).drop_nulls("rank")
    return {file: frozenset(ranks) for file, ranks in told.group_by("file").agg("rank").iter_rows()}


def _groups(files: Sequence[str]) -> Iterator[tuple[bool, dict[str, dict[str, str]]]]:
    """(is it a folder's, number → name below or beside it → file) for each place of a number in a path, outer ones first."""
    found: defaultdict[tuple[int, str], dict[str, dict[str, str]]] = defaultdict(dict)
    for file in files:
        parts = file.split("/")
        for depth, part in enumerate(parts):
            for number in _NUMBER.finditer(part):
                shape = "/".join((*parts[:depth], f"{part[: number.start()]}#{part[number.end() :]}"))
                rest = "/".join(parts[depth + 1 :])
                found[depth, shape].setdefault(number[0], {})[rest] = file
    for (_, shape), runs in sorted(found.items()):
        is_folder = not any("" in names for names in runs.values())
        if len(runs) > 1 and len({*map(int, runs)}) == len(runs) and shape:
            yield is_folder, runs


def _shown(tables: Tables) -> dict[str, _Own]:
    """File → what it shows, of files with steps of a training."""
    steps = tables["steps"].filter((pl.col("phase") == "train").fill_null(True)).select("file", "rank", "step")
    counted = tables["tensors"].filter(pl.col("phase").ne_missing("eval")).select("file", "rank", "step")
    told = pl.concat([spelled(steps), spelled(counted)]).filter(pl.col("step").is_not_null())
    loads = {*tables["events"].filter(pl.col("kind") == "checkpoint_load")["file"].to_list()}
    step = pl.col("step")
    each = told.group_by("file").agg(
        step.min().alias("first"),
        step.max().alias("last"),
        step.unique().sort().diff().max().fill_null(1).alias("every"),
        pl.col("rank").drop_nulls().unique().alias("ranks"),
    )
    return {
        file: _Own(first, last, every, frozenset(ranks), file in loads)
        for file, first, last, every, ranks in each.iter_rows()
    }


def _follows(
    one: Mapping[str, str], two: Mapping[str, str], own: Mapping[str, _Own], spans: _Spans, is_folder: bool
) -> bool:
    """Does the second run follow the first? Both: name below the folder → file."""
    both = [(one[name], two[name]) for name in one.keys() & two.keys()]
    pairs = [(before, after) for before, after in both if before in own and after in own]
    if not pairs or any(own[before].ranks.isdisjoint(own[after].ranks) for before, after in pairs if own[before].ranks):
        return False
    apart = [_is_after(spans.get(before, {}), spans.get(after, {})) for before, after in pairs]
    if False in apart:
        return False
    goes_on = all(
        own[before].first < own[after].first <= own[before].last + own[before].every for before, after in pairs
    )
    loads = any(own[after].loads for _, after in pairs)
    if not is_folder:
        return loads and goes_on
    is_of_same_ranks = len(pairs) > 1 and all(own[before].ranks for before, _ in pairs)
    return (None not in apart and (is_of_same_ranks or goes_on)) or (goes_on and (loads or is_of_same_ranks))


def _is_after(before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> bool | None:
    """By stamps of one basis; null where there are none."""
    shared = before.keys() & after.keys()
    return all(before[basis][1] < after[basis][0] for basis in shared) if shared else None
