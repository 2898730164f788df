"""Whom a list of pods tells to have been killed for memory: the list of pods is what people gather first, and often all that they gather.

    sft-master-0   0/1   Error       0   3h41m
    sft-worker-2   0/1   OOMKilled   0   3h41m

A list tells no time, and names of pods come again in other namespaces, other clusters and other attempts. So it is heard only where it is of a
whole job that ended: the pods of all ranks stand in it, each of one rank, once, in one namespace, begun together and never again; one alone was killed for
memory, all others failed, and nothing else of that name goes on. No other list, no document and no line may tell otherwise of any of them.

And it names nobody that the logs do not leave alone: all others lost a peer, or, where most did, left no record; nobody waited in vain, failed by
itself or was stopped; and the log of the one that was killed stops without an error or an end, before the others lost it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import Any

import polars as pl

from forensics.assemble.starts.apart import kinds, own_logs
from forensics.facts.ends.process_ends import ProcessEnd
from forensics.facts.rows.event_rows import detail, of_kinds, own_rank, reference
from parsers.schema.event_kinds import POD_LISTED
from parsers.schema.tables import TableName
from parsers.text.patterns import regex
from parsers.text.stamps import SECOND_NS

_KILLED, _FAILED, _DONE = "OOMKilled", "Error", "Completed"
_LOST = ("peer_closed", "remote_error")
_OWN_ENDS = ("closing_signal", "job_end")
_TOGETHER_S = 600  # between the beginnings of the pods of one job
_STEPS = 1  # that those who print the same steps may print more, or it: all take part in each
_NAME = regex(r".*[-.]")
_PART = regex(r"(\d+)([smhdy])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
Row = Mapping[str, Any]


def with_listed_pods(
    ends: Mapping[int, ProcessEnd],
    events: pl.DataFrame,
    tables: Mapping[TableName, pl.DataFrame],
    waited: Collection[int],
    expected: frozenset[int],
) -> dict[int, ProcessEnd]:
    """Ends by rank; events of one attempt; `waited`: ranks whose watchdogs gave up; `expected`: all of the job → ends, with that of the
    one rank whose pod lists tell to have been killed for memory."""
    listed = events.filter((pl.col("code") == POD_LISTED).fill_null(False))
    if waited or not listed.height:
        return dict(ends)
    rows = [{**detail(row), "row": row, "ranks": row["names_ranks"] or []} for row in listed.iter_rows(named=True)]
    own = _of_ended_job(rows, expected)
    rank = next((one["ranks"][0] for one in own if one["status"] == _KILLED), None)
    if rank is None or _is_told_otherwise(own, events):
        return dict(ends)
    if not (
        _is_left_alone(rank, ends, events, tables["steps"], expected)
        and _stops_first(rank, own, events, tables["steps"])
        and _stops_amid(rank, tables)
    ):
        return dict(ends)
    row = next(one["row"] for one in own if one["status"] == _KILLED)
    end = ProcessEnd(rank, "died", "host_oom", _KILLED, None, (reference(row),), None, "launcher")
    return dict(sorted({**ends, rank: end}.items()))


def _of_ended_job(rows: Sequence[Row], expected: frozenset[int]) -> Sequence[Row]:
    """The rows of the job's pods, of all lists, where these are of a whole job that ended; else none."""
    pods = {str(one["listed"]) for one in rows if one["ranks"]}
    same = takewhile(lambda pair: pair[0] == pair[1], zip(min(pods, default=""), max(pods, default=""), strict=False))
    name = _NAME.match("".join(one for one, _ in same))
    own = [one for one in rows if name is None or one["listed"].startswith(name[0])]
    said: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    for one in own:
        said[one["listed"]].add((one["status"], one["restarts"]))
    places = [(one["row"]["file"], one["list"], one["listed"]) for one in own]
    is_one = len({one["namespace"] for one in own} - {None}) <= 1 and len(places) == len(set(places))
    is_still = all(len(told) == 1 and not next(iter(told))[1] for told in said.values())
    statuses = {pod: next(iter(told))[0] for pod, told in said.items()}
    killed = [pod for pod, status in statuses.items() if status == _KILLED]
    of_pod = {one["listed"]: one["ranks"] for one in own if one["ranks"]}
    ranks = sorted(rank for here in of_pod.values() for rank in here)
    is_whole = len(of_pod) == len(ranks) > 1 and ranks == sorted(expected)
    is_ended = all(
        status in (_FAILED, _KILLED) if pod in of_pod else status == _DONE for pod, status in statuses.items()
    )
    is_single = all(one["containers_of_pod"] == 1 for one in own if one["listed"] in killed)
    is_all = is_one and is_still and is_whole and is_ended and is_single
    return own if is_all and len(killed) == 1 and killed[0] in of_pod and _are_together(own, of_pod) else []


def _are_together(own: Sequence[Row], of_pod: Collection[str]) -> bool:
    """Were the pods of each list begun together, as far as their ages tell?"""
    ages: defaultdict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for one in own:
        if one["listed"] in of_pod:
            ages[one["row"]["file"], one["list"]].append(_age(one["age"]))
    return all(max(here)[0] - min(here)[0] <= max(_TOGETHER_S, *(unit for _, unit in here)) for here in ages.values())


def _age(text: str) -> tuple[int, int]:
    """Seconds, and those of the smallest unit that is told."""
    parts = [(int(count) * _UNITS[unit], _UNITS[unit]) for count, unit in _PART.findall(text)]
    return sum(seconds for seconds, _ in parts), min(unit for _, unit in parts)


def _is_told_otherwise(own: Sequence[Row], events: pl.DataFrame) -> bool:
    """Does anything else tell another end of one of these pods, or that somebody stopped the job?"""
    killed = {one["listed"] for one in own if one["status"] == _KILLED}
    pods = {one["listed"] for one in own}
    for row in of_kinds(events, "exit", "host_oom", "scheduler").iter_rows(named=True):
        pod = str(detail(row).get("object") or "").removeprefix("pod/")
        places = str(row["file"]), str(row["host"])
        if row["kind"] == "scheduler":
            is_told = row["severity"] == "fatal"
        else:
            is_told = pod in pods and (row["code"] == _KILLED) != (pod in killed)
        if is_told or (row["kind"] == "host_oom" and any(one in at for one in pods - killed for at in places)):
            return True
    return False


def _is_left_alone(
    rank: int, ends: Mapping[int, ProcessEnd], events: pl.DataFrame, steps: pl.DataFrame, expected: frozenset[int]
) -> bool:
    """Did all others lose a peer, or most, and the rest left no record, and does no word of this one tell of an error or an end?"""
    others = expected - {rank}
    lost = others & {
        one for row in of_kinds(events, *_LOST).iter_rows(named=True) if (one := own_rank(row)) is not None
    }
    if rank in ends or not lost or any(end.how not in ("gave_up", "failed") for end in ends.values()):
        return False
    speaks = events.filter((pl.col("rank_space") == "global") & (pl.col("kind") != "exit"))
    heard = {*speaks["rank"], *steps["rank"]}
    is_silent = others - lost
    if is_silent and (is_silent & heard or 2 * len(lost) <= len(expected)):
        return False
    words = speaks.filter(pl.col("rank") == rank)
    return not words.filter(pl.col("severity").is_in(["error", "fatal"]) | pl.col("kind").is_in(_OWN_ENDS)).height


def _stops_first(rank: int, own: Sequence[Row], events: pl.DataFrame, steps: pl.DataFrame) -> bool:
    """Does its log stop where all others came to, no later than that they lost it, and is its pod as old as its steps?"""
    printed: defaultdict[int, set[int]] = defaultdict(set)
    for one, step in steps.select("rank", "step").drop_nulls().iter_rows():
        printed[one].add(step)
    mine = printed.pop(rank, set())
    if mine and printed:
        alike = [others for others in printed.values() if {step for step in others if step <= max(mine)} == mine]
        is_behind = any(len(others - mine) > _STEPS for others in alike)
        if is_behind or max(mine) > max(map(max, printed.values())) + _STEPS:
            return False
    timed = steps.filter(pl.col("rank") == rank).drop_nulls("time_ns")
    lost = of_kinds(events, *_LOST).filter(pl.col("time_basis").is_in(timed["time_basis"].unique().implode()))
    times, oldest = timed["time_ns"].to_list(), min(sum(_age(one["age"])) for one in own if one["status"] == _KILLED)
    is_alive = bool(times) and lost["time_ns"].count() > 0 and max(times) > max(lost["time_ns"].drop_nulls())
    return not is_alive and (not times or max(times) - min(times) <= oldest * SECOND_NS)


def _stops_amid(rank: int, tables: Mapping[TableName, pl.DataFrame]) -> bool:
    """Is the last line of its log of a kind that it, or another rank, prints again and again? Else it may say in any words how it ended."""
    logs = own_logs(tables).select("rank", "last_lines").drop_nulls()
    others = kinds(line for one, lines in logs.iter_rows() if one != rank for line in lines)
    for one, lines in logs.iter_rows():
        told = [line for line in lines if kinds([line])]
        if one == rank and told and not kinds(told[-1:]) <= others | kinds(told[:-1]):
            return False
    return True
