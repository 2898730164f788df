"""Which symptoms a finding explains. Whoever waits in an operation explains no wait in it, unless its device, its link or
the call itself is what is wrong."""

from collections.abc import Iterable, Mapping
from functools import cached_property

import polars as pl

from forensics.case import Case
from forensics.graph.hang.roots import walk
from forensics.graph.hang.waits import OpNode
from forensics.model.finding import Finding
from forensics.model.ref import Ref
from forensics.model.taxonomy import CAUSES
from forensics.verdict.observers import Observers
from forensics.verdict.symptoms import STOPPED, Symptom

STOPS = ("preempted", "stopped_by_hand", "time_limit")
_AS_LATE = 1  # a log counts a step one further than the tensors in it


class Explainer:
    """Answers for one case; what needs a walk over the graph is walked once."""

    def __init__(self, case: Case, observers: Observers) -> None:
        self._case = case
        self._observers = observers
        self._reached: dict[OpNode, set[tuple[str, object]]] = {}

    def explains(self, finding: Finding, symptom: Symptom) -> bool:
        """Does this cause, on these subjects, account for the symptom?"""
        if finding.cause is not None and CAUSES[finding.cause].kinds == ("slow",) and symptom.kind != "slow":
            waits = self._holds(finding) == "process" and symptom.kind == "waiting"
            is_slow = waits and not self._case.has_waited  # a time-out ends slowness: then it is a hang
            return is_slow and self._wait(finding, symptom)
        if symptom.kind == "bad_value":
            return self._values(finding, symptom)
        if symptom.kind == "slow":
            return finding.cause is not None and "slow" in CAUSES[finding.cause].kinds
        if symptom.kind == "never_started":
            return self._start(finding)
        if symptom.kind == "ended":
            return self._end(finding, symptom)
        return self._wait(finding, symptom)

    def leads_to_lost(self, symptom: Symptom) -> bool:
        """Does this wait lead to a rank that left no record? It may be a victim itself, of whatever stopped the others."""
        if symptom.node is None or self._case.waits is None:
            return False
        status = self._case.waits.status
        return any(kind == "rank" and status.get(rank) == "lost" for kind, rank in self._walk(symptom.node))  # type: ignore[call-overload]

    def _walk(self, node: OpNode) -> set[tuple[str, object]]:
        """Everything that an operation waits for, near or far."""
        if node not in self._reached:
            assert self._case.waits is not None
            self._reached[node] = walk(self._case.waits.graph.successors, [node])
        return self._reached[node]

    # --- what a finding is about ---------------------------------------------------------------------------------

    def _holds(self, finding: Finding) -> str | None:
        return CAUSES[finding.cause].holds if finding.cause is not None else None

    @cached_property
    def _on_host(self) -> Mapping[str, frozenset[int]]:
        identity = self._case.identity
        if not identity.height:
            return {}
        placed = identity.select("host", "rank").drop_nulls().group_by("host").agg("rank")
        return {host: frozenset(ranks) for host, ranks in placed.iter_rows()}

    def _ranks_there(self, finding: Finding) -> frozenset[int]:
        """Ranks on the hosts that it is about, where it names no rank."""
        found = frozenset(rank for host in finding.places for rank in self._on_host.get(host, ()))
        ends = frozenset(end for link in finding.links for end in link if isinstance(end, int))
        return found | ends

    # --- waits ---------------------------------------------------------------------------------------------------

    def _wait(self, finding: Finding, symptom: Symptom) -> bool:
        holds = self._holds(finding)
        if holds == "value":  # bad values hold nobody up, but the check that found them ends its process
            ended = {rank for rank, end in self._case.ends.items() if end.how == "bad_loss"}
            return bool(ended) and not ended & symptom.ranks
        if holds == "job":
            return finding.cause not in STOPS
        subjects = finding.subjects
        there = subjects or self._ranks_there(finding)
        within = holds in ("device", "link", "call", None) or not subjects
        if symptom.node is not None:
            return self._in_graph(symptom.node, there, within) if there else bool(finding.places)
        if not there:
            return bool(finding.places) or self._is_cited(finding, symptom)
        if not within or holds == "process":
            return bool(there - symptom.ranks)
        return True

    def _in_graph(self, node: OpNode, subjects: frozenset[int], within: bool) -> bool:
        """Does the walk from this operation lead to a subject, or to an operation that a subject may hold from within?"""
        reached = self._walk(node)
        if any(("rank", rank) in reached for rank in subjects):
            return True
        if not within:
            return False
        ends = [("op", op) for op in self._terminal if ("op", op) in reached]
        return any(self._terminal[op] & subjects for _, op in ends)

    @cached_property
    def _terminal(self) -> dict[str, frozenset[int]]:
        """Operations that wait for nobody who is outside → the ranks inside: below the ranks something is wrong."""
        assert self._case.waits is not None and self._case.states is not None
        graph = self._case.waits.graph
        mixed = self._mixed
        return {
            str(node[1]): frozenset(rank for _, rank in graph.predecessors(node))
            for node in graph
            if node[0] == "op" and (not graph.out_degree(node) or node[1] in mixed)
        }

    @cached_property
    def _mixed(self) -> frozenset[str]:
        """Operations in which members bring different calls."""
        assert self._case.states is not None
        opened = self._case.states.open.filter(~pl.col("is_p2p"))
        kinds = opened.group_by("op").agg(pl.struct("kind", "dtype", "root", "numel").n_unique().alias("kinds"))
        return frozenset(kinds.filter(pl.col("kinds") > 1)["op"].to_list())

    # --- ends, starts, values ------------------------------------------------------------------------------------

    def _end(self, finding: Finding, symptom: Symptom) -> bool:
        if symptom.key == STOPPED:  # a job that hangs or fails is stopped for that
            told = finding.cause is not None or bool(finding.subjects) or self._case.has_waited
            return told and finding.cause != "throughput_drop"
        if finding.cause in STOPS:
            return bool(symptom.ranks) and all(self._is_stopped(rank) for rank in symptom.ranks)
        if self._holds(finding) == "job":
            return finding.cause not in ("store_timeout", "throughput_drop")
        if symptom.ranks & finding.subjects:
            return True
        if symptom.ranks and finding.domain == "workload" and not finding.is_named:
            return self._is_cited(finding, symptom) or self._holds(finding) == "process"
        if self._holds(finding) == "value":
            ends = [self._case.ends.get(rank) for rank in symptom.ranks]
            return bool(ends) and all(end is not None and end.how in ("bad_loss", "failed") for end in ends)
        if symptom.ranks and self._is_after(finding, symptom):
            return True
        if symptom.key == "connections":  # whoever died, or waited and was taken down, left connections behind
            return bool(finding.subjects or finding.places or finding.links) or self._is_cited(finding, symptom)
        there = self._ranks_there(finding) if not finding.subjects else frozenset()
        if symptom.ranks & there or symptom.hosts & finding.places:
            return True
        return self._is_cited(finding, symptom) or symptom.key.startswith("hosts,")

    def _is_stopped(self, rank: int) -> bool:
        end = self._case.ends.get(rank)
        return end is not None and end.code in ("SIGTERM", "SIGKILL", "SIGINT")

    def _is_after(self, finding: Finding, symptom: Symptom) -> bool:
        """Did these ranks wait, by their own records, in what the finding explains? Then their ends followed."""
        if self._case.waits is None:
            return False
        graph = self._case.waits.graph
        for rank in symptom.ranks:
            held = list(graph.successors(("rank", rank))) if ("rank", rank) in graph else []
            if not any(self._wait(finding, Symptom("waiting", "", frozenset((rank,)), node=op)) for op in held):
                return False
        return True

    def _is_cited(self, finding: Finding, symptom: Symptom) -> bool:
        return bool(_places(ref for claim in finding.claims for ref in claim.refs) & _places(symptom.refs))

    def _start(self, finding: Finding) -> bool:
        if finding.cause is None:
            return True
        row = CAUSES[finding.cause]
        return "launch" in row.kinds or row.kinds == ("crash",) or row.holds in ("device", "process")

    def _values(self, finding: Finding, symptom: Symptom) -> bool:
        """The first anomaly explains what went bad at its step and later."""
        if finding.severity in (None, "minor") or self._holds(finding) not in ("value", None):
            return False
        own, at = self._observers.step(finding), symptom.step
        return own is None or at is None or own <= at + _AS_LATE


def _places(refs: Iterable[Ref]) -> set[tuple[str, int | None]]:
    return {(ref.file, ref.line) for ref in refs}
