"""Whom do desync reports call lagging?

PyTorch compares the counters of all ranks of a group when one times out. Its numbers count within the group. Believed in
groups of three and more, unless it blames most members: then the few that reported may be the ones ahead.
"""

import re
from typing import Any

from forensics.case import Case, Detector
from forensics.facts.event_rows import Row, detail, own_rank, refs, rows
from forensics.facts.progress import step_in_progress
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.texts import listed, ranks_text

_REPORTER = re.compile(r"\[(\d{1,9})\] Timeout at collective")
_COLLECT = "flight-recorder dumps (TORCH_FR_BUFFER_SIZE) and py-spy dumps of all ranks"


def _said(row: Row) -> tuple[set[int], set[int]]:
    """(lagging, all mentioned) in the numbers of the report."""
    said = detail(row)
    lagging = {rank for entry in said.get("lagging", []) for rank in entry["ranks"]} or set(row["names_ranks"] or ())
    others = {rank for entry in said.get("snapshot", []) for rank in entry["ranks"]}
    own = {row["rank"]} if row["rank"] is not None and row["rank_space"] == "group" else set()
    return lagging, lagging | others | own


def _same_numbers(row: Row) -> bool:
    """A reporter above 0 whose number in the group is its global rank: then the group begins with ranks 0, 1, …"""
    number = _REPORTER.search(row["text"] or "")
    rank = own_rank(row)
    return number is not None and rank is not None and rank > 0 and int(number[1]) == rank


def _mapped(case: Case, row: Row, assume: bool) -> tuple[set[int], set[int]] | None:
    lagging, mentioned = _said(row)
    known = case.memberships.to_global(row, sorted(mentioned), assume=assume)
    if known is None:
        return None
    own = own_rank(row)
    return {known[rank] for rank in lagging}, {known[rank] for rank in mentioned} | (
        {own} if own is not None else set()
    )


def _missing(row: Row) -> str:
    entry: dict[str, Any] = next(iter(detail(row).get("lagging", [])), {})
    if entry.get("missing") is None:
        return "never joined the operation that others timed out in"
    return f"finished collective #{entry['count']} and never joined #{entry['missing']}"


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding over all reports."""
    found = rows(case.events, "desync")
    if not found:
        return ()
    sure = any(_same_numbers(row) for row in found)
    mapped = [pair for row in found if (pair := _mapped(case, row, sure)) is not None]
    if not mapped:
        guessed = [pair for row in found if (pair := _mapped(case, row, True)) is not None]
        return (_unmapped(case, found, guessed),)
    lagging = set.intersection(*(pair[0] for pair in mapped))
    everybody = set().union(*(pair[1] for pair in mapped))
    accused = set().union(*(pair[0] for pair in mapped))
    if len(everybody) <= 2:
        return (_undecided(case, found, everybody, "two_member_mismatch"),)
    if 2 * len(accused) >= len(everybody):  # either side may have called too much or too little
        return (_undecided(case, found, everybody, "tied_explanations"),)
    if not lagging:
        return (_undecided(case, found, accused, "tied_explanations"),)
    return (_named(case, found, tuple(sorted(lagging)), everybody),)


def _anomaly(case: Case, row: Row, rank: int | None) -> FirstAnomaly:
    group, desc = case.memberships.group_of(row)
    entry: dict[str, Any] = next(iter(detail(row).get("lagging", [])), {})
    return FirstAnomaly(
        rank=rank,
        step=step_in_progress(case.tables["steps"], rank),
        op=row["op"],
        group=desc or group,
        seq=entry.get("missing") if isinstance(entry.get("missing"), int) else None,
        signature=f"desync:{row['op']}",
    )


def _named(case: Case, found: list[dict[str, Any]], lagging: tuple[int, ...], everybody: set[int]) -> Finding:
    waiting = sorted(everybody - set(lagging))
    text = f"{ranks_text(lagging)} {_missing(found[0])}; {ranks_text(waiting)} went on"
    return Finding(
        detector=DETECTOR.name,
        cause="rank_absent",
        ranks=lagging,
        claims=(Claim(text, "for", refs(found)),),
        first_anomaly=_anomaly(case, found[0], lagging[0]),
        blast_radius=BlastRadius(ranks_waiting=len(waiting)),
        collect=(f"py-spy dump of {ranks_text(lagging)}",),
        summary=f"{ranks_text(lagging).capitalize()} {_missing(found[0])}; a desync report says so.",
    )


def _undecided(case: Case, found: list[dict[str, Any]], suspects: set[int], reason: Any) -> Finding:
    two = reason == "two_member_mismatch"
    why = (
        "in a group of two, one call too many on one side looks like one too few on the other"
        if two
        else "the reports disagree, or blame half of the group and more: the few may be the ones that made an extra call"
    )
    return Finding(
        detector=DETECTOR.name,
        suspect_ranks=tuple(sorted(suspects)),
        undecided=(reason,),
        claims=(Claim(f"desync report: {why}", "for", refs(found)),),
        first_anomaly=_anomaly(case, found[0], None),
        collect=(_COLLECT,),
        summary=f"Undecided: the collectives of {ranks_text(suspects)} are out of step; {why}.",
    )


def _unmapped(case: Case, found: list[dict[str, Any]], guessed: list[tuple[set[int], set[int]]]) -> Finding:
    """`guessed`: (lagging, all) if the group were that of all ranks; good enough for a suspicion, not for a name."""
    lagging = sorted(set().union(*(_said(row)[0] for row in found)))
    everybody = set().union(*(pair[1] for pair in guessed))
    two = len(everybody) == 2
    suspects = everybody if two else set().union(*(pair[0] for pair in guessed))
    text = f"a desync report calls {listed(lagging)} lagging, counted within a group whose members are not known"
    return Finding(
        detector=DETECTOR.name,
        suspect_ranks=tuple(sorted(suspects)),
        undecided=("two_member_mismatch", "membership_unknown") if two else ("membership_unknown",),
        claims=(Claim(text, "for", refs(found)),),
        first_anomaly=_anomaly(case, found[0], None),
        collect=("flight-recorder dumps, which hold the members of every group",),
        summary=f"Undecided: {text}.",
    )


DETECTOR = Detector("desync_report", ("events",), detect, "waiting")
