"""What shows of the one rank that did not time out, where all others of its job did in one wait, that it was elsewhere in the program.

- Its work ended: it raised a failure of its own in the very thread, by where that begins in the program, in which all others gave up. Python ends
  no process for it, and services go on answering.
- It counted on: behind the last step, the same of all, it alone prints a count towards a total, rising and not at its end when its log stops.
  Nobody counts so who waits for ranks; a bar that runs along with the steps, or that stood there before, tells nothing.
- It came late: what every rank's log says last, and once, it says later than all others by more than these waited.
- One stack of nobody: as many processes as the job has ranks were looked at, and one of these, which no line joins to a rank, stood at each look in a
  place that is no wait for ranks, all others in waits for them. Who gave up in a wait is none that stood elsewhere to the last.
- A sidecar's beats: it stood in another phase to the last than all others (told_states.py).

None of these is a word of a rank about another; each asks that the ranks' records are alike in form.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import msgspec
import polars as pl

from forensics.assemble.starts.apart import numbered_lines, own_logs
from forensics.facts.ends.failure_roles import role_of
from forensics.facts.ends.process_ends import in_thread
from forensics.facts.rows.event_rows import detail, reference
from forensics.facts.waits.rank_stacks import stack_ref
from forensics.facts.waits.stacks import classify, to_frames
from forensics.facts.waits.told_states import odd_state
from forensics.model.frames import is_own_file
from forensics.model.names import Site
from forensics.model.ref import Ref
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.whole_numbers import whole_numbers
from parsers.who.lines.prefixes import strip

How = Literal["raised", "counted", "late", "stack", "state"]
_Lines = Sequence[tuple[int, str]]
_Logs = Mapping[int, tuple[str, _Lines]]  # rank → file and last lines
_OTHERS, _COUNTS = 2, 2  # ranks, and lines of a count
_MS_NS = 1_000_000
_TOTAL = regex(r"(?<![\d.:/-])(\d{1,12})\s?(?:/|\bof\b)\s?(\d{1,12})(?![\d.:/-])")
_OF_WAITS = regex(
    r"(?i)wait|barrier|all_?(?:reduce|gather|to_?all)|reduce_?scatter|broadcast|collective|nccl|gloo|\bsync|heartbeat|watchdog|\balive\b|peers?\b|joined"
)


class Away(msgspec.Struct, frozen=True):
    """How it shows, and where. `row`: the stack that shows it; `site`: where a beat does."""

    how: How
    refs: tuple[Ref, ...]
    row: dict[str, Any] | None = None
    site: Site | None = None


def away_alone(
    tables: Tables, waits: Sequence[dict[str, Any]], rank: int, others: Collection[int], host_sites: Collection[str]
) -> Away | None:
    """Tables of one attempt, the time-outs of the `others`, the one rank of the job that had none → where it was instead. `host_sites`: sites of a
    process that waits for nobody."""
    if len(others) < _OTHERS:
        return None
    if (found := _raised(tables, waits, rank, others)) is not None:
        return found
    logs = _logs(tables, rank, others)
    if (state := odd_state(tables, rank, others)) is not None:
        return Away("state", state.refs, site=state.site)
    by_logs = (_counted(tables, logs, rank) or _late(tables, waits, logs, rank)) if logs else None
    return by_logs or _stack(tables, others, host_sites)


def _raised(tables: Tables, waits: Sequence[dict[str, Any]], rank: int, others: Collection[int]) -> Away | None:
    stacks = tables["stacks"].filter((pl.col("source") == "traceback") & pl.col("thread_name").is_not_null())
    entries = {
        one: _entry([[frame["function"], frame["file"]] for frame in frames])
        for one, frames in stacks.select("rank", "frames").iter_rows()
        if one in others
    }
    if entries.keys() < frozenset(others) or len(where := {*entries.values()}) != 1 or None in where:
        return None
    own = tables["events"].filter((pl.col("kind") == "exception") & (pl.col("rank") == rank)).sort("file", "line")
    for row in own.iter_rows(named=True):
        is_same = in_thread(row) and _entry(detail(row).get("frames") or []) in where
        if is_same and _is_before(row, waits) and role_of(row).state == "own":
            return Away("raised", (reference(row),))
    return None


def _entry(frames: Sequence[Any]) -> tuple[str, str] | None:
    """The outermost frame of the job's own code; frames: innermost first."""
    own = [(str(frame[0]), str(frame[1])) for frame in frames if is_own_file(frame[1])]
    return own[-1] if own else None


def _is_before(row: Mapping[str, Any], waits: Sequence[dict[str, Any]]) -> bool:
    """In one file by its lines; else by stamps, where there are any."""
    for wait in waits:
        if wait["file"] == row["file"] and (wait["line"] or 0) < (row["line"] or 0):
            return False
        stamped = wait["time_ns"] is not None and row["time_ns"] is not None and wait["time_basis"] == row["time_basis"]
        if stamped and wait["file"] != row["file"] and wait["time_ns"] < row["time_ns"]:
            return False
    return True


def _counted(tables: Tables, logs: _Logs, rank: int) -> Away | None:
    trained = tables["steps"].filter((pl.col("phase") == "train").fill_null(True)).drop_nulls(["rank", "step", "line"])
    last = trained.group_by("rank").agg(pl.col("step").max(), pl.col("step").n_unique().alias("steps"))
    told = {one: step for one, step, steps in last.select("rank", "step", "steps").iter_rows() if steps > 1}
    if not logs.keys() <= told.keys() or len({told[one] for one in logs}) != 1:
        return None
    file, lines = logs[rank]
    steps = trained.filter((pl.col("rank") == rank) & (pl.col("file") == file))["line"].unique().sort().to_list()[-2:]
    said = [(number, text) for number, text in lines if text.strip()]
    if len(steps) < _COUNTS or not said or lines[0][0] > steps[0]:
        return None  # it may have counted between steps, too
    done = steps[-1]
    kind = _template(said[-1][1])
    counts = [(number, text) for number, text in said if _template(text) == kind]
    if len(counts) < _COUNTS or counts[0][0] <= done or _OF_WAITS.search(counts[-1][1]):
        return None
    rising = [
        max(((int(a), int(b)) for a, b in _TOTAL.findall(strip(text).text)), key=lambda c: c[1], default=None)
        for _, text in counts
    ]
    pairs = [pair for pair in rising if pair is not None]
    is_rising = all(one[0] < other[0] and one[1] == other[1] for one, other in pairwise(pairs))
    if len(pairs) < len(counts) or not is_rising or pairs[-1][0] >= pairs[-1][1]:
        return None
    if any(_template(text) == kind for one, (_, log) in logs.items() if one != rank for _, text in log):
        return None
    step = next(Ref(file=file, line=number, text=text) for number, text in lines if number == done)
    begun, reached = (Ref(file=file, line=number, text=text) for number, text in (counts[0], counts[-1]))
    return Away("counted", (reached, begun, step))


def _late(tables: Tables, waits: Sequence[dict[str, Any]], logs: _Logs, rank: int) -> Away | None:
    limits = {row["value"] for row in waits if row["value"]}
    if len(limits) != 1:
        return None
    limit = int(max(limits) * _MS_NS)
    spoke = {one: _last_said(log) for one, (_, log) in logs.items()}
    said = {one: last for one, last in spoke.items() if last is not None}
    if len(said) < len(spoke) or len({(kind, basis) for kind, _, basis, _ in said.values()}) != 1:
        return None
    first = own_logs(tables).select("rank", "time_first_ns").drop_nulls().sort("time_first_ns", descending=True)
    began = dict(first.iter_rows())
    if not said.keys() <= began.keys():
        return None
    kind, at, _, ref = said.pop(rank)
    after = min(at - time for _, time, _, _ in said.values())
    since = min((at - began[rank]) - (time - began[one]) for one, (_, time, _, _) in said.items())
    if min(after, since) <= limit or not all(_says_once(log, kind) for _, log in logs.values()):
        return None
    left = tables["stacks"].filter((pl.col("source") == "traceback") & (pl.col("rank") == rank))
    came = tuple(stack_ref(row) for row in left.iter_rows(named=True))  # to where the others had been
    return Away("late", (Ref(file=logs[rank][0], line=ref[0], text=ref[1]), *came))


def _last_said(log: _Lines) -> tuple[str, int, str, tuple[int, str]] | None:
    """(template, stamp, its basis, place and text) of the last stamped line of a log; none where it has no words."""
    for number, text in reversed(log):
        if (line := strip(text)).time_ns is not None:
            kind = _template(text)
            return (kind, line.time_ns, str(line.time_basis), (number, text)) if kind else None
    return None


def _says_once(log: _Lines, kind: str) -> bool:
    """Is one of its stamped lines of this template, and no more?"""
    return sum(strip(text).time_ns is not None for _, text in log if _template(text) == kind) == 1


def _logs(tables: Tables, rank: int, others: Collection[int]) -> _Logs | None:
    """Rank → file and last lines of its log, the longest that it has; none where one of them has none."""
    job = {rank, *others}
    rows = own_logs(tables).filter(pl.col("rank").is_in(sorted(job)) & (pl.col("last_lines").list.len() > 0))
    logs = {row["rank"]: row for row in rows.sort("lines", "file").iter_rows(named=True)}
    return {one: (row["file"], list(numbered_lines(row))) for one, row in logs.items()} if logs.keys() == job else None


def _template(text: str) -> str:
    said = whole_numbers(strip(text).text)[1].strip()
    return said if any(map(str.isalpha, said)) else ""


def _stack(tables: Tables, others: Collection[int], host_sites: Collection[str]) -> Away | None:
    main = tables["stacks"].filter(pl.col("is_main").fill_null(False) & pl.col("parent_pid").is_null())
    is_end = pl.col("source").is_in(["traceback", "interrupt"])
    gave_up = {_stood(row)[0] for row in main.filter(is_end & pl.col("rank").is_in(list(others))).iter_rows(named=True)}
    looks = main.filter(~is_end).sort("file", "line")
    if looks["rank"].drop_nulls().len():
        return None
    processes: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in looks.iter_rows(named=True):
        if (who := row["pid"] or row["thread"]) is None:
            return None
        processes.setdefault((row["host"], row["file"], who), []).append(row)
    if len(processes) != len(others) + 1 or any(len(own) == 1 for own in processes.values()):
        return None
    stood = {who: [_stood(row) for row in own] for who, own in processes.items()}
    away = [who for who, at in stood.items() if all(line not in gave_up and site in host_sites for line, site in at)]
    waiting = [at for at in stood.values() if all(line in gave_up or site == "communication" for line, site in at)]
    if len(away) != 1 or len(waiting) != len(others) or len({line for line, _ in stood[away[0]]}) != 1:
        return None
    last = processes[away[0]][-1]
    return Away("stack", (stack_ref(last),), last)


def _stood(row: Mapping[str, Any]) -> tuple[tuple[str, int | None] | None, str]:
    """The innermost line of the job's own code in a stack, and the site."""
    found = classify(to_frames(row["frames"]))
    return None if found.user is None else (found.user.file, found.user.line), found.site
