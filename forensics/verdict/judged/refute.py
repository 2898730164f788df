"""Statements that cannot be so together with a finding. A missing witness refutes nothing, and nothing is deleted."""

import polars as pl

from forensics.case import Case
from forensics.model.finding import Finding
from forensics.model.names import Kind
from forensics.model.said import Said
from forensics.model.told import values
from forensics.words import verdict as words


def refuted_by(case: Case, finding: Finding, kind: Kind) -> Said | None:
    """Why a finding cannot be so, as a sentence; None where nothing speaks against it for certain."""
    if case.ended_well and kind in ("hang", "crash", "launch"):
        return words.ALL_ENDED_WELL
    if kind == "launch" and case.has_begun:
        return words.HAD_BEGUN
    if finding.cause == "rank_absent" and (was_in := _timed_out_there(case, finding)) is not None:
        return words.TIMED_OUT_THERE(rank=was_in)
    if finding.cause == "rank_absent" and (with_all := _timed_out_with_all(case, finding)) is not None:
        return words.TIMED_OUT_WITH_ALL(rank=with_all)
    if finding.cause == "rank_died" and (shown := _shown(case, finding)) is not None:
        return words.STACK_SHOWS_ALIVE(rank=shown)
    return None


def _timed_out_there(case: Case, finding: Finding) -> int | None:
    at = finding.first_anomaly
    if at.seq is None:
        return None
    rows = case.events.filter(
        (pl.col("kind") == "collective_timeout") & (pl.col("rank_space") == "global") & pl.col("rank").is_in(finding.ranks)
        & (pl.col("seq") == at.seq)
    )  # fmt: skip
    for group, name, rank in rows.select("group", "op", "rank").iter_rows():
        if (at.group in (None, group) or group is None) and (at.op in (None, name) or name is None):
            return int(rank)
    return None


def _timed_out_with_all(case: Case, finding: Finding) -> int | None:
    """A rank that is missed where no operation is told (at a barrier, by its stack), and that waited in one operation with
    more than half of the job."""
    if finding.first_anomaly.seq is not None or not finding.ranks:
        return None
    waited = case.events.filter((pl.col("kind") == "collective_timeout") & (pl.col("rank_space") == "global"))
    calls = (
        waited.drop_nulls("seq").group_by("op", "seq", maintain_order=True).agg(pl.col("rank").drop_nulls().unique())
    )
    job = len(case.expected | case.seen)
    for ranks in calls["rank"].to_list():
        if set(finding.ranks) <= set(ranks) and 2 * len(ranks) > job:
            return min(finding.ranks)
    return None


def _shown(case: Case, finding: Finding) -> int | None:
    """A rank that is said not to answer, and whose stack was taken from outside."""
    if not case.stacks.height:
        return None
    live = values(case.stacks.filter(pl.col("source") != "traceback")["rank"])
    unended = [rank for rank in finding.ranks if rank not in case.ends and rank in live]
    return unended[0] if unended and len(unended) == len(finding.ranks) else None
