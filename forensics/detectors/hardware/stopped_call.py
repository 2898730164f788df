"""Without flight records: does one member wait in a call that all others have completed, by the counters they print?

Its device stopped in it, unless it gave up long before the others began to wait, for then they may wait for its end.
`gpu_fault` where a hardware record of its own device agrees, else `kernel_stuck`. Where a member is not heard of, or the
waits cannot be compared, it is a suspect.
"""

from typing import Any

import msgspec
import polars as pl

from forensics.case import Case, Detector
from forensics.facts.hosts.hardware import device_records
from forensics.facts.rows.event_rows import reference, refs
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.said import sentence
from forensics.model.texts import group_text, ranges, ranks_text
from forensics.words import hardware as words

_TOGETHER_NS = 60_000_000_000  # waits that began within it are of one stall
_Row = dict[str, Any]


class _Last(msgspec.Struct, frozen=True):
    """The member that waits in the earliest call of a group. `ahead`: those that wait in later ones. `members`: all, empty
    where not known. `completed`: rank → last number that it completed."""

    label: str
    rank: int
    own: _Row
    ahead: dict[int, _Row]
    members: frozenset[int]
    completed: dict[int, int]

    @property
    def passed(self) -> frozenset[int]:
        """Ranks that completed the call it waits in: by their counter, else for the first call that a watchdog gives up is
        the oldest that is open."""
        number = self.own["number"]
        told = {rank for rank, last in self.completed.items() if last >= number}
        return frozenset(told | (self.ahead.keys() - self.completed.keys())) - {self.rank}

    @property
    def silent(self) -> frozenset[int]:
        return self.members - self.ahead.keys() - {self.rank}

    @property
    def apart_ns(self) -> list[int | None]:
        """How long before or after it the others began to wait; null where a time is missing."""
        began = self.own["since_ns"]
        starts = [row["since_ns"] for row in self.ahead.values()]
        return [None if start is None or began is None else abs(start - began) for start in starts]

    @property
    def is_of_another_stall(self) -> bool:
        far = any(apart is not None and apart > _TOGETHER_NS for apart in self.apart_ns)
        return far or 2 * len(self.silent) > len(self.members)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no record of operations tells more."""
    if case.has_open_operations:
        return ()
    said = case.positions.filter(pl.col("source") == "watchdog").drop_nulls(["group", "rank"])
    groups = said.partition_by("group")
    for rows in sorted(groups, key=lambda part: -part.filter(pl.col("state") == "timed_out")["rank"].n_unique()):
        last = _last(rows)
        if last is not None and not last.is_of_another_stall:
            return (_finding(case, last),)
    return ()


def _last(rows: pl.DataFrame) -> _Last | None:
    waits = rows.filter((pl.col("state") == "timed_out") & pl.col("number").is_not_null())
    first = waits.sort("number", "file", "line").unique("rank", keep="first", maintain_order=True)
    by_rank = {row["rank"]: row for row in first.iter_rows(named=True)}
    at = sorted(row["number"] for row in by_rank.values())
    if len(at) < 3 or at[0] == at[1]:
        return None
    rank = next(rank for rank, row in by_rank.items() if row["number"] == at[0])
    own = by_rank.pop(rank)
    done = rows.filter(pl.col("state") == "completed").group_by("rank").agg(pl.col("number").min())
    members = frozenset(rows["rank"].to_list())
    members = members if own["size"] is not None and len(members) == own["size"] else frozenset()
    return _Last(str(own["label"]), rank, own, by_rank, members, dict(done.iter_rows())) if own["call"] else None


def _finding(case: Case, last: _Last) -> Finding:
    rank, number = last.rank, last.own["number"]
    everybody = bool(last.members) and last.passed | {rank} >= last.members
    named = everybody and None not in last.apart_ns and last.completed.get(rank, -1) < number
    who = ranks_text([rank])
    wait, others = (words.PASSED, last.passed) if last.passed else (words.WAITS_EARLIER, frozenset(last.ahead))
    text = wait(who=who, number=number, group=group_text(last.label), others=ranks_text(others))
    records = device_records(case.hardware, rank) if named else []
    claims = [Claim(text, "for", (*refs([last.own], 1), *refs(last.ahead.values(), 2)))]
    if records:
        places = tuple(reference(one.row) for one in records[:2])
        claims.append(Claim(words.DEVICE_REPORTED(rank=rank), "for", places))
    reason: Reason = "tied_explanations" if last.members and not last.silent else "culprit_among_missing"
    return Finding(
        cause=("gpu_fault" if records else "kernel_stuck") if named else None,
        ranks=(rank,) if named else (),
        suspect_ranks=() if named else tuple(sorted({rank, *last.silent})),
        domain="infrastructure" if records else "unknown",
        undecided=() if named else (reason,),
        claims=tuple(claims),
        first_anomaly=FirstAnomaly(
            rank=rank if named else None, step=case.step_in_progress(rank), op=last.own["kind"], group=last.label,
            group_ranks=ranges(last.members) if last.members else None, seq=number, signature=f"stopped:{last.own['kind']}:{last.label}",
        ),
        blast_radius=BlastRadius(ranks_waiting=len(last.ahead), groups=[last.label]),
        collect=(words.INSIDE_OF_RANK(who=who),),
        summary=sentence(text),
    )  # fmt: skip


DETECTOR = Detector("stopped_call", ("events",), detect, "waiting")
