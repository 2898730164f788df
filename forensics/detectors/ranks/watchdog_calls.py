"""Do the watchdogs of one group name different calls?

Two things decide by the lines alone. Members that wait under one number in another operation, or with another size where
all must bring the same: the minority is named if more than half of all members agree on the other call. And one member
that waits in an operation which all others have completed, by the counters that they print: its device stopped, unless
it gave up long before the others began to wait, for then they may wait for its end. In a group of two nobody is named.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.event_rows import detail, own_rank, reference, refs, rows
from forensics.facts.hardware import device_records
from forensics.facts.memberships import is_default, label
from forensics.facts.progress import step_in_progress
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.texts import ranges, ranks_text

_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather", "scatter",
                "barrier")  # fmt: skip
# Printed names of operations to which every member brings as many elements; others allow uneven ones.
_EVEN = ("ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE")
_OP_TYPE = re.compile(r"OpType=(\w{1,60})")
_STAMP = re.compile(r"\b[EWIF](\d\d?)(\d\d) (\d\d):(\d\d):(\d\d)\.")  # month and day, no year
_TOGETHER_S = 60.0  # waits that began within it are of one stall
_Row = dict[str, Any]


class _Wait(NamedTuple):
    """The first operations of a group that its members timed out in."""

    group: tuple[str | None, str | None]
    members: tuple[int, ...]  # empty: not known
    first: Mapping[int, _Row]  # rank → its line


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no record of operations tells more."""
    if case.has_open_operations:
        return ()
    for wait in _waits(case):
        if found := _mismatch(case, wait) or _behind(case, wait):
            return (found,)
    return ()


def _waits(case: Case) -> list[_Wait]:
    by_group: dict[tuple[str | None, str | None], dict[int, _Row]] = defaultdict(dict)
    for row in rows(case.events, "collective_timeout"):
        rank = own_rank(row)
        group = case.memberships.group_of(row)
        if rank is None or row["seq"] is None or (group[0] is None and not is_default(*group)):
            continue  # a description alone may stand for many groups
        known = by_group[group].get(rank)
        if known is None or row["seq"] < known["seq"]:
            by_group[group][rank] = row
    order = sorted(by_group.items(), key=lambda item: (-len(item[1]), str(item[0])))
    found = [_Wait(group, case.memberships.members_of(*group), first) for group, first in order]
    return [wait for wait in found if not wait.members or wait.first.keys() <= set(wait.members)]


def _size(row: _Row) -> int | None:
    """Elements that the member brought, where all must bring the same."""
    printed = _OP_TYPE.search(row["text"] or "")
    count = detail(row).get("numel_in") if printed and printed[1] in _EVEN else None
    return count if isinstance(count, int) else None


def _sides(first: Mapping[int, _Row]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(ranks whose call differs, ranks that agree) among those that wait under the commonest number."""
    numbers = Counter(row["seq"] for row in first.values() if row["op"] in _COLLECTIVES)
    if not numbers:
        return (), ()
    number = min(numbers, key=lambda seq: (-numbers[seq], seq))
    here = {rank: row for rank, row in first.items() if row["seq"] == number and row["op"] in _COLLECTIVES}
    calls: dict[int, Any] = {rank: row["op"] for rank, row in here.items()}
    if len(set(calls.values())) == 1:
        calls = {rank: size for rank, row in here.items() if (size := _size(row)) is not None}
    votes = Counter(calls.values())
    if len(votes) < 2:
        return (), ()
    usual = min(votes, key=lambda call: (-votes[call], str(call)))
    few = tuple(sorted(rank for rank, call in calls.items() if call != usual))
    return few, tuple(sorted(rank for rank, call in calls.items() if call == usual))


def _words(row: _Row) -> str:
    size = _size(row)
    return f"{row['op']}" + (f" of {size} elements" if size is not None else "")


def _mismatch(case: Case, wait: _Wait) -> Finding | None:
    few, many = _sides(wait.first)
    if not few:
        return None
    decided = len(wait.members) > 2 and 2 * len(many) > len(wait.members)
    both = tuple(sorted((*few, *many)))
    reason: Reason = (
        "two_member_mismatch" if 2 in (len(both), len(wait.members)) else
        "tied_explanations" if wait.members else "membership_unknown"
    )  # fmt: skip
    one, other = wait.first[few[0]], wait.first[many[0]]
    text = f"in number {one['seq']} of {label(wait.group)} {ranks_text(few)} called {_words(one)}, {ranks_text(many)} {_words(other)}"
    return Finding(
        detector=DETECTOR.name,
        cause="collective_mismatch",
        ranks=few if decided else (),
        suspect_ranks=() if decided else both,
        domain="workload",
        undecided=() if decided else (reason,),
        claims=(Claim(text, "for", (*refs([one], 1), *refs([other], 1))),),
        first_anomaly=_anomaly(case, wait, one, few[0] if decided else None, "mismatch"),
        blast_radius=BlastRadius(ranks_waiting=len(many), groups=[label(wait.group)]),
        collect=() if decided else ("flight-recorder dumps, which hold what every member called before",),
        summary=f"{text[:1].upper()}{text[1:]}.",
    )


def _anomaly(case: Case, wait: _Wait, row: _Row, rank: int | None, what: str) -> FirstAnomaly:
    name = wait.group[1] or wait.group[0]
    return FirstAnomaly(
        rank=rank,
        step=step_in_progress(case.tables["steps"], rank),
        op=row["op"],
        group=name,
        group_ranks=ranges(wait.members) if wait.members else None,
        seq=row["seq"],
        signature=f"{what}:{row['op']}:{name}",
    )


def _completed(case: Case, wait: _Wait) -> dict[int, int]:
    """rank → number of the last operation of the group that it completed, as its watchdog printed."""
    group, desc = wait.group
    counted = case.tables["progress"].filter(
        pl.col("group").eq_missing(pl.lit(group, pl.String)) & pl.col("desc").eq_missing(pl.lit(desc, pl.String))
        & pl.col("rank").is_not_null() & pl.col("last_completed").is_not_null() & (pl.col("how") == "watchdog line")
    )  # fmt: skip
    return dict(counted.group_by("rank").agg(pl.col("last_completed").min()).iter_rows())


def _begun_s(row: _Row) -> float | None:
    """When the wait began, in seconds of the year, by the stamp that the process printed; null without one."""
    stamp = _STAMP.search(row["text"] or "")
    if stamp is None or row["value"] is None:
        return None
    month, day, hour, minute, second = (int(part) for part in stamp.groups())
    return (((month * 31 + day) * 24 + hour) * 60 + minute) * 60 + second - float(row["value"]) / 1000


def _behind(case: Case, wait: _Wait) -> Finding | None:
    """One member waits in what the others have completed."""
    least = min(row["seq"] for row in wait.first.values())
    last = [rank for rank, row in wait.first.items() if row["seq"] == least]
    ahead = {rank: row for rank, row in wait.first.items() if row["seq"] > least}
    if len(last) != 1 or len(ahead) < 2 or wait.first[last[0]]["op"] not in _COLLECTIVES:
        return None
    rank = last[0]
    own, completed = wait.first[rank], _completed(case, wait)
    passed = {other for other, count in completed.items() if count >= least and other != rank}
    begun, others = _begun_s(own), [_begun_s(row) for row in ahead.values()]
    apart = [abs(time - begun) for time in others if time is not None and begun is not None]
    together = len(apart) == len(others)
    silent = tuple(sorted(set(wait.members) - wait.first.keys()))
    if any(seconds > _TOGETHER_S for seconds in apart) or 2 * len(silent) > len(wait.members):
        return None
    everybody = bool(wait.members) and passed | {rank} >= set(wait.members)
    named = everybody and together and completed.get(rank, -1) < least
    text = f"rank {rank} waits in number {least} of {label(wait.group)}; {ranks_text(ahead)} wait in later ones"
    if passed:
        text = f"{ranks_text(passed)} completed number {least} of {label(wait.group)}; rank {rank} timed out in it"
    records = device_records(case.hardware, rank) if named else []
    fault = bool(records)
    claims = [Claim(text, "for", (*refs([own], 1), *refs(ahead.values(), 2)))]
    if fault:
        places = tuple(reference(one.row) for one in records[:2])
        claims.append(Claim(f"the device of rank {rank} reported an error", "for", places))
    reason: Reason = "tied_explanations" if wait.members and not silent else "culprit_among_missing"
    return Finding(
        detector=DETECTOR.name,
        cause=("gpu_fault" if fault else "kernel_stuck") if named else None,
        ranks=(rank,) if named else (),
        suspect_ranks=() if named else tuple(sorted({rank, *silent})),
        domain="infrastructure" if fault else "unknown",
        undecided=() if named else (reason,),
        claims=tuple(claims),
        first_anomaly=_anomaly(case, wait, own, rank if named else None, "stopped"),
        blast_radius=BlastRadius(ranks_waiting=len(ahead), groups=[label(wait.group)]),
        collect=(f"py-spy and cuda-gdb or pstack of rank {rank}, kernel log of its host",),
        summary=f"{text[:1].upper()}{text[1:]}.",
    )


DETECTOR = Detector("watchdog_calls", ("events",), detect, "waiting")
