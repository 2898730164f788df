"""Which hosts were lost, by the word of who runs them, and whose failure only says so: it ended because one of them answered no more.

A server may run on a node of its own (an engine that generates, a reward model, a store). Where that node is lost, the client that asked it is
no culprit, whoever of the ranks it is. Its words must name the host, be such as are said of another end, and not be older than the loss.
"""

from collections.abc import Mapping

import polars as pl

from forensics.facts.ends.process_ends import ProcessEnd
from forensics.facts.ends.taken_places import NODE_FAILED
from forensics.facts.rows.error_words import tells_of_others
from forensics.facts.rows.event_rows import Row, rows
from forensics.model.hosts import short_host
from parsers.text.patterns import regex
from parsers.text.stamps import SECOND_NS

_NAMES = regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]+")
_LATE_NS = 120 * SECOND_NS  # by which who runs a node may notice its loss after the client that asks it


def lost_hosts(events: pl.DataFrame) -> dict[str, Row]:
    """First label of each host → the first row that calls it lost."""
    told = [row for row in rows(events, "scheduler") if row["code"] in NODE_FAILED]
    told += [row for row in rows(events, "other") if row["code"] == "node_lost" and row["names_hosts"]]
    found: dict[str, Row] = {}
    for row in told:
        for host in (*(row["names_hosts"] or ()), row["host"]):
            if host and (short_host(host) not in found or found[short_host(host)]["time_ns"] is None):
                found[short_host(host)] = row
    return found


def asked_in_vain(ends: Mapping[int, ProcessEnd], events: pl.DataFrame) -> dict[int, frozenset[str]]:
    """Ends by rank → lost hosts whose silence ended a process, by its own words; without those that tell of none."""
    lost = lost_hosts(events)
    return {rank: asked for rank, end in ends.items() if lost and (asked := _asked(end, lost, events))}


def _asked(end: ProcessEnd, lost: Mapping[str, Row], events: pl.DataFrame) -> frozenset[str]:
    text = " ".join(ref.text or "" for ref in end.refs[:1])
    if end.by != "process" or not tells_of_others(text):
        return frozenset()
    named = {short_host(name.strip(".-")) for name in _NAMES.findall(text)}
    return frozenset(host for host in named & lost.keys() if not _is_older(end, lost[host], events))


def _is_older(end: ProcessEnd, loss: Row, events: pl.DataFrame) -> bool:
    """By its own stamp, else by the last one of its file."""
    if loss["time_ns"] is None:
        return False
    own = events.filter((pl.col("file") == end.refs[0].file) & (pl.col("time_basis") == loss["time_basis"]))
    last = end.time_ns if end.time_basis == loss["time_basis"] else None
    last = own["time_ns"].max() if last is None else last  # type: ignore[assignment]
    return last is not None and bool(last + _LATE_NS < loss["time_ns"])
