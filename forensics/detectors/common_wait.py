"""What detectors share that ask whether a fault of a host explains a wait that nobody inside the job explains."""

from collections.abc import Collection

import polars as pl

from forensics.case import Case


def waited_ranks(case: Case) -> set[int]:
    """Ranks whose own watchdog gave up on others."""
    said = case.events.filter((pl.col("kind") == "collective_timeout") & (pl.col("rank_space") == "global"))
    return set(said["rank"].drop_nulls().to_list())


def is_silence_elsewhere(case: Case, hosts: Collection[str]) -> bool:
    """Are ranks silent, and all of them on other hosts than these, while most of the job timed out? Then they are what is
    waited for, not these hosts."""
    waited = waited_ranks(case)
    silent = case.expected - waited
    if not silent or len(waited) <= len(silent) or not case.identity.height:
        return False
    place = dict(case.identity.select("rank", "host").iter_rows())
    return all(place.get(rank) is not None and place[rank] not in hosts for rank in silent)


def all_entered(case: Case) -> bool:
    """Do the records show every member in the calls that never ended, and nobody to blame for it?"""
    roots = case.roots
    return roots is not None and bool(roots.entered) and not (roots.free or roots.cycles or roots.stuck or roots.lost)
