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

from forensics.assemble.identity import short_host
from forensics.case import Case, Detector
from forensics.facts.event_rows import detail, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.texts import listed, ranks_text

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


def _idle(case: Case, setup: _Setup) -> list[str]:
    """Processes that looked for their network and then began nothing, as `host, process 16`."""
    claims = case.tables["ranks"].filter(pl.col("how").str.contains("address") & pl.col("pid").is_not_null())
    began = {(short_host(row["host"] or ""), row["pid"]) for row in setup.began.values()}
    seen = {(short_host(host or ""), pid) for host, pid in claims.select("host", "pid").unique().iter_rows()}
    return [f"{host or 'an unnamed host'}, process {pid}" for host, pid in sorted(seen - began)]


def _finding(case: Case, name: str, setup: _Setup) -> Finding:
    missing = tuple(sorted(set(range(setup.size)) - setup.began.keys()))
    is_world = setup.size == len(case.expected)
    few = _DEAD_AFTER * len(missing) <= setup.size
    idle = _idle(case, setup)
    reason: Reason = "culprit_among_missing" if missing else "all_entered_no_counters"
    who = ranks_text(missing) if is_world else f"members {listed(missing)}"
    if missing:
        text = f"{len(setup.began)} of {setup.size} members of communicator {name} began its initialisation and none completed it; {who} never printed that they began"
        if len(idle) == len(missing):
            text += f" ({'; '.join(idle[:4])})"
    else:
        text = f"all {setup.size} members of communicator {name} began its initialisation and none completed it"
    return Finding(
        detector=DETECTOR.name,
        cause="missing_ranks" if missing else None,
        suspect_ranks=missing if is_world and few else (),
        undecided=(reason, "single_snapshot"),
        claims=(Claim(text, "for", refs(setup.began.values())),),
        first_anomaly=FirstAnomaly(op="init", group=name, signature="init_never_completed"),
        blast_radius=BlastRadius(ranks_waiting=len(setup.began), groups=[name]),
        collect=(f"log and py-spy dump of {who}" if missing else "py-spy dumps of all ranks; a test of the network",),
        summary=f"The job never started: {text}.",
    )


DETECTOR = Detector("init_never_completed", ("events",), detect, "never_started")
