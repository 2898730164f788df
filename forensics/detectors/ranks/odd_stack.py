"""Without records of operations: which process is elsewhere while the others stand in communication?

Method: STAT classes and FLARE's rule (a hung rank shows a non-communication frame). A majority proves nothing by itself:
the odd ones must be few, and in a place of the host that is no wait for a device or for peers (graph/hang/outside.py). Of two
snapshots, one that computes and moved on while all the others stood still is slow; one that stood still, too, is absent. Who
waited among the others in one of them was seen elsewhere by chance: the job went on. One look is enough where every other rank
of the job gave up its wait: a time-out is the second look.
"""

from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.waits.held_alone import held_alone
from forensics.facts.waits.rank_stacks import place_of, stack_ref
from forensics.facts.waits.stacks import classify, to_frames, waits_for_work
from forensics.graph.hang.outside import WAITS, places
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, Code, FirstAnomaly
from forensics.model.names import Cause
from forensics.model.said import joined, sentence
from forensics.model.texts import doing, ranks_text
from forensics.words import ranks as words


def _code(row: dict[str, Any]) -> Code | None:
    site = classify(to_frames(row["frames"]))
    frame = site.user or site.frame
    return Code(file=frame.file or None, line=frame.line, function=frame.function) if frame else None


def _waited_once(stacks: pl.DataFrame, odd: pl.DataFrame) -> bool:
    """Did one of those that moved wait among the others in another look?"""
    key = ["rank"] if odd["rank"].null_count() == 0 else ["host", "pid"]
    own = stacks.filter(pl.col("is_main").fill_null(False)).join(odd.filter("moving"), on=key, how="semi")
    return any(classify(to_frames(frames)).site in WAITS for frames in own["frames"].to_list())


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no operation is recorded as open."""
    if case.states.open.height:
        return ()
    seen = places(case.stacks, case.waited_ranks, case.expected)
    waiting, odd = seen.waiting, seen.outside
    if not odd.height or _waited_once(case.tables["stacks"], odd):
        return ()
    rows = list(odd.sort("rank", "host", "pid", "file", "line").iter_rows(named=True))
    runs_nothing = {
        one.rank if one.rank is not None else one.pid for one in held_alone(case.tables) if one.how != "blocked"
    }
    if {row["rank"] if row["rank"] is not None else row["pid"] for row in rows} <= runs_nothing:
        return ()  # what its host says of it is why it stands there
    ranks = tuple(sorted({row["rank"] for row in rows if row["rank"] is not None}))
    whole = len(ranks) == len(rows)
    hosts = tuple(sorted({row["host"] for row in rows if row["host"]}))
    site = rows[0]["site"]
    alone = len(rows) == 1
    on_hosts = words.ON_HOSTS(who=words.PROCESSES(len(rows)), hosts=joined(hosts, ", ") or words.UNNAMED_HOST)
    idle = all(waits_for_work(to_frames(row["frames"])) for row in rows)
    where = words.IN_ITS_LOOP if idle else words.OUTSIDE if site == "unknown" else doing(site, place_of(rows[0]))
    standing = words.IS_AT[alone](who=ranks_text(ranks) if whole else on_hosts, site=where)
    ops = sorted({op for op in waiting["op"].to_list() if op})
    others = int(waiting["count"].sum())
    wait = words.THEY_WAIT_IN(number=others, ops=joined(ops, ", ") or words.KIND_UNKNOWN)
    claim = Claim(joined((standing, wait), "; "), "for", tuple(stack_ref(row) for row in rows[:3]))
    # Somebody's Ctrl-C does not prove that the job hung: a running one shows the same for a moment.
    by_chance = whole and (odd["source"] == "interrupt").all() and not case.has_waited
    moving = bool(odd["moving"].fill_null(False).any())
    repeated = odd["moving"].null_count() < odd.height
    decided = repeated or (whole and case.is_world_told and case.waited_ranks >= case.expected - set(ranks))
    named = ranks if whole and not by_chance else ()
    while_others = words.WHILE_OTHERS_WAIT(doing=standing, number=others)
    slow = joined((while_others, words.MOVED_ON[alone] if moving else ""), ": ")
    straggler: Cause = "straggler_compute" if site == "compute" else "straggler_host"
    return (
        Finding(
            cause=None if by_chance else straggler if moving else "rank_absent",
            # it may have loaded data before, or have been caught by chance
            ranks=named,
            suspect_ranks=ranks if by_chance else (),
            hosts=() if whole else hosts,
            site=site,
            code=_code(rows[0]),
            claims=(claim,),
            undecided=() if decided else ("single_snapshot",),
            first_anomaly=FirstAnomaly(
                rank=named[0] if named else None,
                host=hosts[0] if len(hosts) == 1 else None,
                step=case.step_in_progress(ranks[0] if whole else None),
                op="/".join(ops) or None,
                signature=f"odd_stack:{site}",
            ),
            blast_radius=BlastRadius(ranks_waiting=seen.waiters),
            collect=(words.DUMPS if decided else words.SECOND_STACKS,),
            summary=words.UNDECIDED(what=words.AT_CTRL_C(text=while_others)) if by_chance else sentence(slow),
        ),
    )


DETECTOR = Detector("odd_stack", ("stacks",), detect, "waiting")
