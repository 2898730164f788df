"""Which hosts does the scheduler call failed?

Slurm says "Node failure on HOST" when a node stops answering, sacct NODE_FAIL, Kubernetes NodeNotReady, Ray that it marked a node
dead: they name hosts or their addresses, never ranks, and explain that the ranks there are silent. They say nothing of why. So do rows
of knowledge that claim it of a host (parsers/knowledge, `node_lost`), unless a rank there went on to tell how it ended.

A scheduler speaks of hosts of other jobs, too. Of the job is a host that its processes spoke from, or that they name as the
other end of a connection that broke, or that they asked in vain (facts/ends/lost_hosts.py): whoever held the key-value store, or a server on a node of its own, may have left no line. So is one
that the job's controller names where it misses the heartbeat of a member, or itself calls lost beside that. A node that is taken away (a preemption) failed in nothing.
"""

from collections.abc import Iterable

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.ends.taken_places import NODE_FAILED
from forensics.facts.rows.event_rows import Row, detail, of_kinds, refs, rows
from forensics.graph.hang.blame import blames
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.said import joined, sentence
from forensics.words import hardware as words
from parsers.text.patterns import regex

_SHUT = "NodeShutdown"  # Kubernetes of a pod whose node is shut down in order
_TAKEN = "preemption"  # such a node stops answering because somebody takes it away
_BROKEN = ("peer_closed", "remote_error", "completion_error")
_SHOWN, _LINES = 3, 64
_WORDS = regex(r"[A-Za-z0-9][\w.-]{1,252}")


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding over all such hosts of the job."""
    said = [row for row in rows(case.events, "scheduler") if row["code"] in NODE_FAILED]
    heard = [row for row in rows(case.events, "other") if row["code"] == "node_lost" and row["names_hosts"]]
    taken = _taken(case.events)
    names = _names(case)
    by_scheduler, by_row = (
        frozenset(host if host in case.job_hosts else names.get(host, host) for host in found - taken)
        for found in (_hosts(said), frozenset(short_host(host) for row in heard for host in row["names_hosts"] or ()))
    )
    if not by_scheduler | by_row:
        return ()
    lost, broken = _lost(case, by_scheduler | by_row)
    clients = [case.ends[rank] for rank in case.asked_in_vain]
    lost |= frozenset().union(*case.asked_in_vain.values())
    of_job = case.job_hosts | lost | _missed(case.events, heard)
    told_their_end = case.waited_ranks | {rank for rank, end in case.ends.items() if end.by == "process"}
    speaking = {short_host(case.host_of_rank.get(rank) or "") for rank in told_their_end}
    hosts = tuple(sorted((by_scheduler & of_job if case.job_hosts else by_scheduler) | (by_row & of_job - speaking)))
    if not hosts:
        return ()
    listed = joined(hosts, ", ")
    text = words.SCHEDULER_SAYS(hosts=listed)
    ends = joined(sorted(lost), ", ")
    shown = (*refs(broken), *(ref for end in clients[:_SHOWN] for ref in end.refs[:1]))
    followed = [Claim(words.CONNECTIONS_LOST(hosts=ends), "for", shown)] if shown else []
    return (
        Finding(
            cause="rank_died",
            hosts=hosts,
            domain="infrastructure",
            claims=(Claim(text, "for", refs([*said, *heard])), *followed),
            first_anomaly=FirstAnomaly(
                host=hosts[0] if len(hosts) == 1 else None, step=case.step_in_progress(), signature="node_failure"
            ),
            actions=tuple(to_do("inspect_hardware", host, words.NODE_SILENT) for host in hosts),
            collect=(words.CONSOLE_LOGS(hosts=listed),),
            summary=sentence(text, words.RANKS_ENDED_WITH),
        ),
    )


def _taken(events: pl.DataFrame) -> frozenset[str]:
    """Nodes that a preemption is said of, in whatever words, and those that shut down in order under pods of a job that was told of one."""
    by_scheduler = rows(events, "scheduler")
    said = [row for row in by_scheduler if row["code"] == _TAKEN]
    words_of = {short_host(word.strip(".-")) for row in said[:_LINES] for word in _WORDS.findall(row["text"] or "")}
    shut = {str(detail(row).get("object")) for row in by_scheduler if said and row["code"] == _SHUT}
    told = map(detail, by_scheduler)
    nodes = {str(one["node"]) for one in told if one.get("node") and one.get("object") in shut}
    return _hosts(said) | words_of | {short_host(node) for node in nodes}


def _missed(events: pl.DataFrame, lost: Iterable[Row]) -> frozenset[str]:
    """Of hosts that rows call lost, those that somebody who misses a heartbeat names, or calls lost in the same log."""
    missed = events.filter(pl.col("kind") == "heartbeat_lost").select("file", "text").drop_nulls()
    files = {*missed["file"]}
    named = {short_host(word.strip(".-")) for text in missed["text"].head(_LINES) for word in _WORDS.findall(text)}
    hosts = ((row, short_host(host)) for row in lost for host in row["names_hosts"] or ())
    return frozenset(host for row, host in hosts if host in named or row["file"] in files)


def _names(case: Case) -> dict[str, str]:
    """What else ranks call a host, an address → the name that most of them give it."""
    claims = case.tables["ranks"]
    said = pl.concat([claims.select("rank", name=column).drop_nulls() for column in ("host", "address")])
    place = case.host_of_rank
    return {
        short_host(name): place[rank] for rank, name in said.unique(maintain_order=True).iter_rows() if rank in place
    }


def _hosts(said: Iterable[Row]) -> frozenset[str]:
    return frozenset(short_host(host) for row in said for host in (*(row["names_hosts"] or ()), row["host"]) if host)


def _lost(case: Case, named: frozenset[str]) -> tuple[frozenset[str], list[Row]]:
    """Of these hosts those that the job's own processes lost a connection to, and the lines that write their names."""
    broken = of_kinds(case.events, *_BROKEN).filter(pl.col("names_hosts").list.len() > 0)
    known = case.job_hosts | named
    ends = named & {blame.named for blame in blames(case.tables, case.identity, known, broken)}
    telling = broken.filter(pl.col("names_hosts").list.eval(pl.element().is_in(sorted(ends))).list.any())
    return ends, list(telling.head(_SHOWN).iter_rows(named=True))


DETECTOR = Detector("node_failure", ("events",), detect, "waiting")
