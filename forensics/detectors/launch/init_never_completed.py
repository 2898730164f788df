"""Did a communicator begin to set itself up and never complete?

NCCL prints START and COMPLETE of each initialisation, and nothing at all when a member never comes: the others wait in
silence. Members that printed no START never got there, as far as their logs are in the bundle; those are suspects, never
named. Where all began and none completed, the network between them is as likely as any of them. Only before the job
communicated: later the lines may be of a level that was switched off.
"""

from collections import defaultdict
from typing import Any

import msgspec
import polars as pl

from forensics.case import Case, Detector
from forensics.facts.rows.event_rows import detail, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.said import Said, joined
from forensics.model.texts import listed, ranks_text
from forensics.words import launch as words

_DEAD_AFTER = 2  # suspects are listed where at most one in so many is missing


class _Setup(msgspec.Struct):
    """One communicator: its size, the numbers that began, and where they say so."""

    size: int = 0
    began: dict[int, dict[str, Any]] = msgspec.field(default_factory=dict)
    completed: bool = False


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the largest communicator that never came to be."""
    if case.has_begun or any(end.how == "died" for end in case.ends.values()):
        return ()
    setups = _setups(case)
    pending = [(name, one) for name, one in setups.items() if one.began and not one.completed]
    if not pending:
        return ()
    name, setup = max(pending, key=lambda pair: (pair[1].size, len(pair[1].began), pair[0]))
    return (_finding(case, name, setup),)


def _setups(case: Case) -> dict[str, _Setup]:
    """Communicators with an id, which all members share."""
    setups: dict[str, _Setup] = defaultdict(_Setup)
    for row in rows(case.events, "comm_init_start", "comm_init_complete"):
        said = detail(row)
        number, size = said.get("group_rank"), said.get("size")
        if not said.get("comm_id") or not isinstance(number, int) or not isinstance(size, int):
            continue
        setup = setups[str(said["comm_id"])]
        setup.size = max(setup.size, size)
        if row["kind"] == "comm_init_complete":
            setup.completed = True
        else:
            setup.began.setdefault(number, row)
    return setups


def _idle(case: Case, setup: _Setup) -> list[Said]:
    """Processes that looked for their network and then began nothing, as `host, process 16`."""
    claims = case.tables["ranks"].filter(pl.col("how").str.contains("address") & pl.col("pid").is_not_null())
    began = {(short_host(row["host"] or ""), row["pid"]) for row in setup.began.values()}
    seen = {(short_host(host or ""), pid) for host, pid in claims.select("host", "pid").unique().iter_rows()}
    return [words.PROCESS_ON(host=host or words.UNNAMED_HOST, pid=pid) for host, pid in sorted(seen - began)]


def _finding(case: Case, name: str, setup: _Setup) -> Finding:
    missing = tuple(sorted(set(range(setup.size)) - setup.began.keys()))
    is_world = setup.size == len(case.expected)
    few = _DEAD_AFTER * len(missing) <= setup.size
    idle = _idle(case, setup)
    reason: Reason = "culprit_among_missing" if missing else "all_entered_no_counters"
    who = ranks_text(missing) if is_world else words.MEMBERS(numbers=listed(missing))
    began = words.SOME_BEGAN if missing else words.ALL_BEGAN
    text = began(began=len(setup.began), size=setup.size, name=name, who=who)
    if missing and len(idle) == len(missing):
        text = words.PROCESSES(text=text, processes=joined(idle[:4], "; "))
    return Finding(
        cause="missing_ranks" if missing else None,
        suspect_ranks=missing if is_world and few else (),
        undecided=(reason, "single_snapshot"),
        claims=(Claim(text, "for", refs(setup.began.values())),),
        first_anomaly=FirstAnomaly(op="init", group=name, signature="init_never_completed"),
        blast_radius=BlastRadius(ranks_waiting=len(setup.began), groups=[name]),
        collect=(words.LOG_AND_STACK(who=who) if missing else words.STACKS_AND_NETWORK,),
        summary=words.NEVER_STARTED(what=text),
    )


DETECTOR = Detector("init_never_completed", ("events",), detect, "never_started")
