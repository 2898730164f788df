"""Which launch a record belongs to. Calls, ranks and steps match within one attempt only; attempts are never merged.

Attempts are told apart by torchrun's `attempt_N` folders and run ids, by a scheduler's job ids (launches.py), by restarts
inside a log (restarts.py), and by flight records of one rank that count their calls from anew. Other files follow the time of their lines where all attempts carry times of that
kind; a dump follows its newest entry. What has no usable time belongs to the newest attempt: a dump is overwritten by
the next launch. What cannot be decided is said, and is a reason of the incidents that it touches.

Fooled by: logs whose stamps have no zone beside dumps in UTC; a dump is then placed only where its newest entry was made
shortly before the end of exactly one attempt.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from forensics.assemble.figures.steps_told import with_gauged_steps, with_parts, with_placed_checks, without_bar_counts
from forensics.assemble.figures.unnamed_figures import with_unnamed
from forensics.assemble.runs.foreign_dumps import without_foreign_dumps
from forensics.assemble.runs.launches import Launch, launches, spans_of
from forensics.assemble.runs.restarts import restarts
from forensics.assemble.who.host_names import with_one_name_each
from forensics.assemble.who.path_hosts import with_hosts_of_paths
from forensics.model.said import Said, joined
from forensics.model.told import told_by
from forensics.words import views as words
from parsers.schema.tables import TableName, Tables, spelled

if TYPE_CHECKING:
    from forensics.model.incident import Incident

Rows = dict[TableName, pl.DataFrame]
_Spans = Mapping[str, Mapping[int, tuple[int, int]]]  # basis → attempt → (first, last)
_RESTARTS = 400  # of one log; months of training with several a day
_SLACK_NS = 600 * 1_000_000_000  # how much later than a time-out a log may end
_TIMEOUT_MS = 1_800_000  # where a dump does not say its own


class Attempts(msgspec.Struct, frozen=True):
    """`tables`: attempt number → its rows, oldest first. `doubts`: what could not be decided. `left_out`: what is of none."""

    tables: dict[int, Rows]
    doubts: tuple[Said, ...] = ()
    left_out: tuple[Said, ...] = ()

    @property
    def limits(self) -> list[Said]:
        """Sentences for the report's limits."""
        return [*(words.CANNOT_BE_TOLD(what=doubt) for doubt in self.doubts), *self.left_out]

    def mark(self, incident: "Incident") -> "Incident":
        """An incident with the reason `mixed_attempts`, where the attempts are not told apart for certain."""
        if not self.doubts:
            return incident
        undecided = list(dict.fromkeys([*incident.verdict.undecided, "mixed_attempts"]))
        verdict = msgspec.structs.replace(incident.verdict, undecided=undecided)
        return msgspec.structs.replace(incident, verdict=verdict)


def split_attempts(tables: Tables) -> dict[int, Rows]:
    """Attempt number → the tables of that attempt, in ascending order."""
    return attempts_of(tables).tables


def attempts_of(tables: Tables) -> Attempts:
    """Evidence tables → attempts, after the names of files told whose host they are from and a bar's count is no step
    (steps_told.py), and figures without a known name are none or stand for the loss (unnamed_figures.py), each without flight records of another launch (foreign_dumps.py)."""
    named = with_gauged_steps(with_one_name_each(with_hosts_of_paths(tables)))
    found = _told_apart(with_placed_checks(without_bar_counts(with_unnamed(with_parts(named)))))
    own = {number: without_foreign_dumps(rows) for number, rows in found.tables.items()}
    left_out = tuple(dict.fromkeys(said for _, told in own.values() for said in told))
    return Attempts({number: rows for number, (rows, _) in own.items()}, found.doubts, left_out)


def _told_apart(tables: Tables) -> Attempts:
    """A bundle with one attempt is passed on as it is."""
    found, doubts = launches(tables)
    numbers, cuts = _by_folder(tables, found)
    begun, wild = _believable(restarts(tables))
    doubts = (*doubts, *wild)
    dumped: list[int] = []
    if len(numbers) < 2:
        dumped = [] if begun else _restarts_of_dumps(tables)
        if not begun and not dumped:
            return Attempts({numbers[0] if numbers else 0: dict(tables)}, doubts)
        numbers, cuts = list(range(1 + max([len(dumped), *(len(lines) for lines in begun.values())]))), {}
    for file, lines in begun.items():
        if file not in cuts and len(lines) == len(numbers) - 1:
            cuts[file] = [(line, number) for number, line in enumerate([0, *lines])]
    cuts, more = _placed(tables, cuts, len(numbers), spans_of(tables), begun, dumped)
    return Attempts(_divided(tables, cuts, numbers), (*doubts, *more))


def _believable(begun: Mapping[str, list[int]]) -> tuple[dict[str, list[int]], tuple[Said, ...]]:
    """Restarts of the files that have no more than a job may have; (…, doubts about the others)."""
    wild = sorted(file for file, lines in begun.items() if len(lines) > _RESTARTS)
    kept = {file: lines for file, lines in begun.items() if len(lines) <= _RESTARTS}
    return kept, tuple(words.BEGINS_ANEW_TOO_OFTEN(file=file, number=len(begun[file])) for file in wild[:3])


# file → (first line, attempt), ascending; attempts are counted from 0 here.
Cuts = dict[str, list[tuple[int, int]]]


def _by_folder(tables: Tables, found: list[Launch]) -> tuple[list[int], Cuts]:
    """(numbers of the attempts, cuts of the files that a folder or a job id places). One launch keeps its numbers."""
    said = dict(tables["files"].select("file", "attempt").iter_rows())
    keys = sorted({(order, said[file] or 0) for order, one in enumerate(found) for file in one.files})
    place = {key: index for index, key in enumerate(keys)}
    cuts = {file: [(0, place[order, said[file] or 0])] for order, one in enumerate(found) for file in one.files}
    return [key[1] for key in keys] if len(found) < 2 else list(range(len(keys))), cuts


def _spans(stamps: pl.DataFrame, cuts: Cuts) -> dict[str, dict[int, tuple[int, int]]]:
    """basis → attempt → (first, last) stamp of the files that are placed."""
    marked = _marked(stamps.filter(pl.col("file").is_in(list(cuts))), cuts)
    ends = marked.group_by("basis", "_at").agg(pl.col("time").min().alias("first"), pl.col("time").max().alias("last"))
    result: dict[str, dict[int, tuple[int, int]]] = {}
    for basis, at, first, last in ends.iter_rows():
        result.setdefault(basis, {})[at] = (first, last)
    return result


def _placed(
    tables: Tables, cuts: Cuts, count: int, stamps: pl.DataFrame, begun: Iterable[str], dumped: list[int]
) -> tuple[Cuts, tuple[Said, ...]]:
    """Cuts of all files. Files that nothing places are in the newest attempt; (…, doubts about them)."""
    whole = dict(cuts)
    spans = _spans(stamps, cuts)
    starts = {basis: [of[at][0] for at in range(count)] for basis, of in spans.items() if len(of) == count}
    starts = {basis: times for basis, times in starts.items() if times == sorted(times)}
    if dumped:
        starts = {"utc": [0, *dumped]}
    near = _by_neighbours(tables["files"]["file"].to_list(), cuts)
    if _overlap(spans):  # two jobs at once: time tells nothing
        whole |= near
    whole |= _by_time(stamps.filter(~pl.col("file").is_in(list(whole)) & pl.col("line").is_not_null()), starts)
    dumps = _newest_entries(tables).filter(~pl.col("file").is_in(list(whole)))
    for file, newest, timeout in dumps.iter_rows():
        at = _dumped(newest, timeout, starts, spans, count)
        if at is not None:
            whole[file] = [(0, at)]
    whole = near | whole
    lost = sorted({*tables["steps"]["file"].unique().to_list(), *begun} - set(whole))
    return whole, (words.LINES_OF_WHICH_ATTEMPT(files=joined(lost[:3], ", ")),) if lost else ()


def _overlap(spans: _Spans) -> bool:
    """Did one attempt go on after the next had begun?"""
    ordered = (sorted(of.values()) for of in spans.values())
    return any(after[0] < before[1] for times in ordered for before, after in pairwise(times))


def _by_neighbours(files: Iterable[str], cuts: Cuts) -> Cuts:
    """Files in the attempt that all placed files of their nearest such folder belong to: what was gathered of two jobs lies
    in two folders, and a stack has no time."""
    around: dict[PurePosixPath, set[int]] = {}
    for file, lines in cuts.items():
        for folder in PurePosixPath(file).parents:
            around.setdefault(folder, set()).update(at for _, at in lines)
    found: Cuts = {}
    for file in files:
        near = next((around[folder] for folder in PurePosixPath(file).parents if folder in around), set())
        if file not in cuts and len(near) == 1:
            found[file] = [(0, at) for at in near]
    return found


def _by_time(stamps: pl.DataFrame, starts: Mapping[str, list[int]]) -> Cuts:
    """File → the lines at which the attempts begin in it: the first that is not older than an attempt's first stamp."""
    parts = []
    for basis, times in starts.items():
        rows = stamps.filter(pl.col("basis") == basis)
        begun = pl.Series(times[1:], dtype=pl.Int64).search_sorted(rows["time"], side="right")
        parts.append(rows.select("file", "line").with_columns(begun.cast(pl.Int64).alias("at")))
    if not parts:
        return {}
    marked = pl.concat(parts).sort("file", "line").with_columns(pl.col("at").cum_max().over("file"))
    found: Cuts = {}
    for file, line, at in marked.unique(["file", "at"], keep="first", maintain_order=True).iter_rows():
        own = found.setdefault(file, [])
        own.append((line if own else 0, at))  # what stands before the first stamp is of its attempt
    return found


@told_by("operations", nothing=list[int])
def _restarts_of_dumps(tables: Tables) -> list[int]:
    """Times (ns) at which a launch had begun, where nothing but flight records tells: two records of one rank and backend (each
    counts for itself) that do not overlap in time, the later of which counts its calls from anew. The fewest times that explain all such pairs."""
    recorded = tables["operations"].lazy().select("rank", "backend", "file", "op_id", "time_created_ns", "line")
    made = recorded.filter(pl.col("line").is_null()).drop_nulls(["rank", "op_id", "time_created_ns"])
    time, count = pl.col("time_created_ns"), pl.col("op_id")
    ends = spelled(
        made.group_by("rank", "backend", "file")
        .agg(time.min().alias("first"), time.max().alias("last"), count.min().alias("from"), count.max().alias("to"))
        .collect(engine="streaming")
    )
    ends = ends.sort("rank", "backend", "first", "last", "file").with_columns(
        pl.col("last", "to").shift(1).over("rank", "backend").name.prefix("before_")
    )
    pairs = ends.filter((pl.col("first") > pl.col("before_last")) & (pl.col("from") <= pl.col("before_to")))
    found: list[int] = []
    for before, first in pairs.select("before_last", "first").sort("first", "before_last").iter_rows():
        if not (found and found[-1] > before):
            found.append(first)
    return found


def _newest_entries(tables: Tables) -> pl.DataFrame:
    """file, newest, timeout (ns): when the last call of a flight record was made."""
    recorded = tables["operations"].lazy().select("file", "time_created_ns", "timeout_ms", "line")
    made = recorded.filter(pl.col("time_created_ns").is_not_null() & pl.col("line").is_null())
    timeout = pl.col("timeout_ms").max().fill_null(_TIMEOUT_MS) * 1_000_000
    newest = made.group_by("file").agg(pl.col("time_created_ns").max().alias("newest"), timeout.alias("timeout"))
    return spelled(newest.collect(engine="streaming")).sort("file")


def _dumped(newest: int, timeout: int, starts: Mapping[str, list[int]], spans: _Spans, count: int) -> int | None:
    """The attempt in which a dump was written: by time; by stamps without zone only where exactly one attempt ended
    between the last call and its time-out."""
    if "utc" in starts:
        return sum(start <= newest for start in starts["utc"][1:])
    local = spans.get("local", {})
    fits = [at for at, (_, last) in local.items() if -_SLACK_NS <= last - newest <= timeout + _SLACK_NS]
    return fits[0] if len(fits) == 1 and len(local) == count else None


def _marked(frame: pl.DataFrame, cuts: Cuts) -> pl.DataFrame:
    """`frame` with `_at`, the attempt of each row; null where its file is in no cut. A row without a line is in the
    newest attempt of its file."""
    listed = [(file, line, at) for file, lines in cuts.items() for line, at in lines]
    places = pl.DataFrame(listed, schema={"file": pl.String, "_line": pl.Int64, "_at": pl.Int64}, orient="row")
    numbered = frame.with_row_index("_row")
    line = pl.col("line") if "line" in frame.columns else pl.lit(None, pl.Int64)
    keyed = numbered.select("_row", pl.col("file").cast(pl.String), _line=line.fill_null((1 << 63) - 1)).sort("_line")
    found = keyed.join_asof(places.sort("_line"), on="_line", by="file", check_sortedness=False)
    return numbered.join(found.select("_row", "_at"), on="_row", how="left", maintain_order="left").drop("_row")


def _divided(tables: Tables, cuts: Cuts, numbers: list[int]) -> dict[int, Rows]:
    """The rows of each attempt. A file is listed in every attempt that it has lines of; a host's clock and the map of the
    hosts hold for all."""
    newest = len(numbers) - 1
    split: dict[int, Rows] = {number: {} for number in numbers}
    inside = {file: {at for _, at in lines} for file, lines in cuts.items()}
    for name, frame in tables.items():
        if name == "files":
            for at, number in enumerate(numbers):
                kept = [at in inside.get(file, {newest}) for file in frame["file"].to_list()]
                split[number][name] = frame.filter(pl.Series(kept, dtype=pl.Boolean))
            continue
        if name == "locations":
            for number in numbers:
                split[number][name] = frame
            continue
        marked = _marked(frame, cuts).with_columns(pl.col("_at").fill_null(newest))
        for at, number in enumerate(numbers):
            mine = pl.col("_at") == at
            if name == "settings":
                mine |= pl.col("scope").eq_missing(pl.lit("clock"))
            split[number][name] = marked.filter(mine).drop("_at")
    return split
