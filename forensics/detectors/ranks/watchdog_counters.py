"""Without flight records: what do the watchdogs' own lines prove?

Whoever times out waited, and is a victim. A rank that printed smaller counters for the group that others wait in, and did
not wait itself, is the one they wait for. Ranks that printed nothing are unknown, never absent. If every member waits in
the same operation, link, adapter, switch and kernel look alike.
"""

from collections import defaultdict
from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.event_rows import own_rank, refs, rows
from forensics.facts.memberships import is_default, label
from forensics.facts.progress import step_in_progress
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.ref import Ref
from forensics.model.texts import listed, ranks_text

_Group = tuple[str | None, str | None]


def _waits(case: Case) -> list[dict[str, Any]]:
    return [
        row for row in rows(case.events, "collective_timeout") if row["seq"] is not None or own_rank(row) is not None
    ]


def _first_waits(found: list[dict[str, Any]]) -> dict[int, int]:
    """rank → smallest sequence number it timed out in."""
    result: dict[int, int] = {}
    for row in found:
        rank = own_rank(row)
        if rank is not None and row["seq"] is not None:
            result[rank] = min(row["seq"], result.get(rank, row["seq"]))
    return result


def _behind(case: Case, group: _Group, waits: dict[int, int], timed_out: set[int]) -> dict[int, tuple[int, Ref]]:
    """rank → (last enqueued, where it says so): ranks whose own counter stands before what others wait in."""
    name, desc = group
    counters = case.tables["progress"].filter(
        pl.col("group").eq_missing(pl.lit(name, pl.String))
        & pl.col("desc").eq_missing(pl.lit(desc, pl.String))
        & pl.col("rank").is_not_null()
        & pl.col("last_enqueued").is_not_null()
    )
    result = {}
    for row in counters.sort("last_enqueued", "file", "line").iter_rows(named=True):
        if row["rank"] not in timed_out and row["last_enqueued"] < min(waits.values()):
            text = f"rank {row['rank']}: last enqueued {row['last_enqueued']}, last completed {row['last_completed']}"
            result[row["rank"]] = (row["last_enqueued"], Ref(file=row["file"], line=row["line"], text=text))
    return result


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no record of operations tells more."""
    if case.has_open_operations:
        return ()
    found = _waits(case)
    if not found:
        return ()
    timed_out = {rank for row in found if (rank := own_rank(row)) is not None}
    by_group: dict[_Group, list[dict[str, Any]]] = defaultdict(list)
    for row in found:
        by_group[case.memberships.group_of(row)].append(row)
    for group, waiting in sorted(by_group.items(), key=lambda item: (-len(item[1]), str(item[0]))):
        waits = _first_waits(waiting)
        if group != (None, None) and waits and (behind := _behind(case, group, waits, timed_out)):
            return (_lagging(case, group, waiting, waits, behind),)
    return (_victims(case, by_group, found, timed_out),)


def _anomaly(case: Case, row: dict[str, Any], group: _Group, rank: int | None) -> FirstAnomaly:
    return FirstAnomaly(
        rank=rank,
        step=step_in_progress(case.tables["steps"], rank),
        op=row["op"],
        group=group[1] or group[0],
        seq=row["seq"],
        signature=f"watchdog:{row['op']}:{group[1] or group[0]}",
    )


def _lagging(
    case: Case,
    group: _Group,
    waiting: list[dict[str, Any]],
    waits: dict[int, int],
    behind: dict[int, tuple[int, Ref]],
) -> Finding:
    least = min(count for count, _ in behind.values())
    last = tuple(sorted(rank for rank, (count, _) in behind.items() if count == least))
    members = case.memberships.members_of(*group)
    named = last if len(waits) >= 2 and 2 * len(behind) < (len(members) or len(behind) + len(waits)) else ()
    both = tuple(sorted({*behind, *waits}))
    two: Reason = "two_member_mismatch" if len(both) == 2 else "tied_explanations"
    text = f"{ranks_text(last)} enqueued {least} operations of {label(group)}; {ranks_text(waits)} wait in number {min(waits.values())}"
    return Finding(
        detector=DETECTOR.name,
        cause="rank_absent" if named else None,
        ranks=named,
        suspect_ranks=() if named else both,
        undecided=() if named else (two,),
        claims=(Claim(text, "for", (*(behind[rank][1] for rank in last[:2]), *refs(waiting, 2))),),
        first_anomaly=_anomaly(case, waiting[0], group, named[0] if named else None),
        blast_radius=BlastRadius(ranks_waiting=len(waits), groups=[label(group)]),
        collect=(f"py-spy dump of {ranks_text(last)}",),
        summary=f"{text[:1].upper()}{text[1:]}.",
    )


def _victims(
    case: Case, by_group: dict[_Group, list[dict[str, Any]]], found: list[dict[str, Any]], timed_out: set[int]
) -> Finding:
    """Nobody can be named: everybody seen waits."""
    group, waiting = max(
        by_group.items(), key=lambda item: (len(item[1]), bool(case.memberships.members_of(*item[0])), str(item[0]))
    )
    members = case.memberships.members_of(*group)
    silent = tuple(sorted(set(members) - timed_out)) if members else ()
    numbers = {(row["seq"], row["op"]) for row in waiting}
    here = {own_rank(row) for row in waiting}
    launched = _launched(case, group, waiting)
    stuck = _stuck_watchdogs(case, timed_out)
    reason: Reason
    if launched or (members and set(members) <= here and len(numbers) == 1):
        reason, suspects = "all_entered_no_counters", members
        why = "all members wait in the same operation" + (", says RAS;" if launched else ";")
        why += " a link, an adapter, a switch and a stuck kernel look alike here"
    elif silent and 2 * len(silent) <= len(members):
        reason, suspects = "culprit_among_missing", silent
        why = f"{ranks_text(silent)} of the group printed no time-out; that does not prove that they were absent"
    elif members:
        reason, suspects = ("culprit_among_missing", ()) if silent else ("tied_explanations", ())
        why = "most members of the group left no line" if silent else "the members wait in different operations"
    elif stuck and 2 * len(stuck) < len(timed_out):
        reason, suspects = "membership_unknown", tuple(stuck)
        why = f"the watchdog of {ranks_text(stuck)} got stuck, and the lines do not say who else belongs to the group"
    else:
        reason, suspects = "membership_unknown", ()
        why = "whoever times out waited for others, and the lines do not say who else belongs to the group"
    who = (
        ranks_text(timed_out)
        if timed_out
        else f"ranks {listed({r['rank'] for r in found if r['rank'] is not None})} of their group"
    )
    claims = [Claim(f"{who} timed out waiting in {waiting[0]['op'] or 'a collective'}", "for", refs(waiting))]
    claims += launched
    if stuck:
        text = f"the watchdog of {ranks_text(stuck)} made no progress: a lock or a call to the device holds it"
        claims.append(Claim(text, "for", refs(stuck.values())))
    return Finding(
        detector=DETECTOR.name,
        suspect_ranks=tuple(suspects),
        undecided=(reason,),
        claims=tuple(claims),
        first_anomaly=_anomaly(case, waiting[0], group, None),
        blast_radius=BlastRadius(ranks_waiting=len(timed_out), groups=[label(group)]),
        collect=("flight-recorder dumps and py-spy dumps of all ranks; NCCL RAS status",),
        summary=f"Undecided: {who} timed out in {waiting[0]['op'] or 'a collective'} of {label(group)}; {why}.",
    )


def _stuck_watchdogs(case: Case, timed_out: set[int]) -> dict[int, dict[str, Any]]:
    """Ranks that timed out in nothing, and whose monitor says that their watchdog got stuck → where."""
    result: dict[int, dict[str, Any]] = {}
    for row in rows(case.events, "heartbeat_lost"):
        rank = own_rank(row)
        if rank is not None and rank not in timed_out:
            result.setdefault(rank, row)
    return result


def _launched(case: Case, group: _Group, waiting: list[dict[str, Any]]) -> list[Claim]:
    """What RAS says of the job, where it was asked: healthy communicators speak against an absent rank."""
    status = rows(case.events, "ras_status")
    fine = bool(status) and all(row["code"] == "OK" for row in status)
    if not fine or not (is_default(*group) or group == (None, None)) or not waiting:
        return []
    return [Claim("RAS reports no missing rank and no mismatch", "for", refs(status))]


DETECTOR = Detector("watchdog_counters", ("events",), detect, "waiting")
