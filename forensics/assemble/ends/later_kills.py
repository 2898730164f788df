"""Who was killed after it had come to its end: whoever began the processes of a job ends what is slow to go once the results are in.

    rank 3 finished 60 steps, loss 2.322          results [(0, 2.3), (1, 2.3), …]          Worker process 12290 was killed by signal 9          exit 0

All ranks have come to an end by their own words: a `job_end` of each, or lines alike but for one number, which are just the ranks; or, where the whole ended with code 0 behind the
kills, whatever line each of their logs ends with, alike in all, once in each, behind the same last step. No kill is stamped, by a clock of theirs, before the last of these. Then it ended nobody who
was at work: `other`, code `ended_after`. So is an error of nobody that the same file tells behind all of them, where the whole ended with code 0: those who are left lose who goes first.
"""

from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from forensics.assemble.starts.apart import kind_of, numbered_lines, own_logs
from parsers.schema.tables import TableName, Tables, table
from parsers.text.patterns import regex
from parsers.text.signals import ASKING

AFTER = "ended_after"
_KILLS = ("SIGKILL", "Out Of Memory", "SIGTERM", "SIGINT", "-9", "-15", "-2", "137", "143", "130", *ASKING)
_ZERO = regex(r"(?i)(?:\b(?:exit|exited|rc|status|code|returned|return|returncode)|退出码|返回码)[\s:=(\[]{0,3}(?:(?:with )?(?:code|status)[\s:=(\[]{1,3})?0(?![\w.])")  # fmt: skip
_DIGITS = regex(r"\d+")


def with_later_kills(tables: Tables, identity: pl.DataFrame) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global, and who is who → the same, in which such ends are none."""
    events = tables["events"]
    ranks = {*identity["rank"].drop_nulls(), *tables["steps"]["rank"].drop_nulls()}
    is_kill = ((pl.col("kind") == "exit") & pl.col("code").is_in(_KILLS)).fill_null(False)
    kills = events.filter(is_kill)
    if len(ranks) < 2 or not kills.height:
        return dict(tables)
    files = kills["file"].unique().to_list()
    zeros = [row["file"] for row in tables["files"].iter_rows(named=True) if row["file"] in files and _ends_well(row)]
    ends = _told_ends(events, ranks)
    closed = _last_lines(tables, ranks) if not ends and zeros and kills.height >= len(ranks) else {}
    ends = ends or list(closed.values())
    lost = events.filter(_OF_RANKS & (pl.col("kind") != "exit") & pl.col("severity").is_in(["error", "fatal"]))
    # What is told elsewhere of ranks that ended well has ended none of them (facts/ends/recovered_errors.py).
    lost = lost if closed else lost.filter(pl.col("file").cast(pl.String).is_in({file for file, _, _ in ends}))
    if not ends or lost.height or _goes_on(tables["steps"], ends):
        return dict(tables)
    at = max((when for _, _, when in ends if when is not None), default=None)
    # Stamps of others have no order with these.
    clocks = events.filter(pl.col("kind") == "job_end")["time_basis"].unique()
    is_stamped = pl.col("time_ns").is_not_null() & pl.lit(at is not None) & pl.col("time_basis").is_in(clocks.implode())
    is_later = pl.when(is_stamped).then(pl.col("time_ns") >= pl.lit(at, pl.Int64)).otherwise(statement=True)
    until = pl.col("file").cast(pl.String).replace_strict(_behind(ends), default=0, return_dtype=pl.Int64)
    is_below = (pl.col("line") > until).fill_null(True)
    if not kills.select((is_later & is_below).all()).item():
        return dict(tables)
    nobodys = pl.col("rank").is_null() & pl.col("local_rank").is_null() & pl.col("line").is_not_null()
    is_echo = (pl.col("kind") == "exception") & nobodys & pl.col("file").is_in(zeros) & (pl.col("line") > until)
    is_after = is_kill | (is_echo & is_later & (until > 0)).fill_null(False)
    changed = events.with_columns(
        pl.when(is_after).then(pl.lit("other")).otherwise(pl.col("kind").cast(pl.String)).alias("kind"),
        pl.when(is_after).then(pl.lit(AFTER)).otherwise(pl.col("code").cast(pl.String)).alias("code"),
        pl.when(is_after).then(pl.lit("info")).otherwise(pl.col("severity").cast(pl.String)).alias("severity"),
    )
    own = [
        {"kind": "job_end", "severity": "info", "rank": rank, "rank_space": "global", "file": file, "line": line}
        for rank, (file, line, _) in sorted(closed.items())
    ]
    return {**tables, "events": pl.concat([changed.cast(events.schema), table("events", own)])}


def _goes_on(steps: pl.DataFrame, ends: list[tuple[str, int, int | None]]) -> bool:
    """Is there a step behind what somebody says of its end? Then that was the end of a part."""
    last = dict(steps.drop_nulls("line").group_by(pl.col("file").cast(pl.String)).agg(pl.col("line").max()).iter_rows())
    return any(last.get(file, 0) > line for file, line in _behind(ends).items())


def _behind(ends: list[tuple[str, int, int | None]]) -> dict[str, int]:
    """File → the line of the last end in it: one that all print into holds the last steps of some behind the ends of others."""
    behind: defaultdict[str, int] = defaultdict(int)
    for file, line, _ in ends:
        behind[file] = max(behind[file], line)
    return behind


_OF_RANKS = (pl.col("rank").is_not_null() & (pl.col("rank_space") == "global")).fill_null(False)


def _told_ends(events: pl.DataFrame, ranks: set[int]) -> list[tuple[str, int, int | None]]:
    """(file, line, time) of what each rank says of its end; none where one of them says nothing."""
    told = events.filter((pl.col("kind") == "job_end") & pl.col("line").is_not_null())
    own = told.filter(_OF_RANKS)
    if ranks <= set(own["rank"]):
        return list(own.select(pl.col("file").cast(pl.String), "line", "time_ns").iter_rows())
    alike: defaultdict[str, list[tuple[list[str], tuple[str, int, int | None]]]] = defaultdict(list)
    for file, line, at, text in told.select(pl.col("file").cast(pl.String), "line", "time_ns", "text").iter_rows():
        numbers = _DIGITS.findall(text or "")
        alike[_DIGITS.sub("#", text or "")].append((numbers, (file, line, at)))
    for rows in alike.values():
        slots = zip(*(numbers for numbers, _ in rows), strict=False)
        if len(rows) == len(ranks) and any({int(number) for number in slot} == ranks for slot in slots):
            return [place for _, place in rows]
    return []


def _last_lines(tables: Tables, ranks: set[int]) -> dict[int, tuple[str, int, int | None]]:
    """Rank → the same by the last line of its log, whatever its words."""
    steps = tables["steps"].filter(pl.col("rank").is_in(sorted(ranks)) & pl.col("line").is_not_null())
    last = steps.group_by("rank").agg(pl.col("step").max(), pl.col("line").max())
    if set(last["rank"]) != ranks or last["step"].n_unique() != 1:
        return {}
    reached = dict(last.select("rank", "line").iter_rows())
    found: dict[int, tuple[str, int, int | None]] = {}
    words: set[str] = set()
    logs = own_logs(tables).filter(pl.col("rank").is_in(sorted(ranks)) & pl.col("file").is_in(steps["file"].unique().implode()))  # fmt: skip
    for row in logs.iter_rows(named=True):
        told = [(number, line) for number, line in numbered_lines(row) if line.strip()]
        if not told or told[-1][0] <= reached[row["rank"]]:
            return {}
        kind = [kind_of(line) for _, line in told]
        if kind.count(kind[-1]) > 1:
            return {}
        words.add(kind[-1])
        found[row["rank"]] = (str(row["file"]), told[-1][0], None)
    return found if found.keys() == ranks and len(words) == 1 else {}


def _ends_well(row: Mapping[str, object]) -> bool:
    """Does the last line of a file say that the whole ended with code 0?"""
    lines = [line for _, line in numbered_lines(row) if line.strip()]
    return bool(lines) and _ZERO.search(lines[-1]) is not None
