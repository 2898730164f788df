"""Which symptoms a finding explains. Whoever waits in an operation explains no wait in it, unless its device, its link or
the call itself is what is wrong.

A job of thousands of ranks brings a symptom for each, and findings about each: what a finding says is looked up once, and
what leads to its subjects is one walk against the edges, so that a question costs the same however many there are."""

from collections.abc import Iterable, Mapping
from functools import cached_property

import polars as pl

from forensics.case import Case
from forensics.facts.durations.progress import step_in_progress
from forensics.graph.hang.roots import Node, walk
from forensics.model.causes import CAUSES
from forensics.model.finding import Finding
from forensics.model.ref import Ref
from forensics.verdict.judged.observers import Observers
from forensics.verdict.judged.symptoms import STOPPED, Symptom, first_stops, is_below

STOPS = frozenset(cause for cause, row in CAUSES.items() if row.from_outside)
_CHECKED_WITHIN = 100  # steps, of a check that is made now and then
_AS_LATE = 1  # a log counts a step one further than the tensors in it


class _Said:
    """What a finding says, made once for all symptoms."""

    def __init__(self, finding: Finding, observers: Observers) -> None:
        self.finding = finding  # which lives as long, so that its identity stands for it
        self._observers = observers
        self.subjects, self.places = finding.subjects, finding.places
        self.holds = CAUSES[finding.cause].holds if finding.cause is not None else None
        self.within = self.holds in ("device", "link", "call", None) or not self.subjects
        self.ends = frozenset(end for link in finding.links for end in link if isinstance(end, int))
        self.there: frozenset[int] | None = None  # ranks on its places
        self.leading: set[Node] | None = None  # nodes from which a walk leads to a subject

    @cached_property
    def step(self) -> int | None:
        return self._observers.step(self.finding)

    @cached_property
    def cited(self) -> set[tuple[str, int | None]]:
        return _places(ref for claim in self.finding.claims for ref in claim.refs)


class Explainer:
    """Answers for one case; what needs a walk over the graph is walked once."""

    def __init__(self, case: Case, observers: Observers) -> None:
        self._case = case
        self._observers = observers
        self._known: dict[int, _Said] = {}

    def _said(self, finding: Finding) -> _Said:
        if id(finding) not in self._known:
            self._known[id(finding)] = _Said(finding, self._observers)
        return self._known[id(finding)]

    def explains(self, finding: Finding, symptom: Symptom) -> bool:
        """Does this cause, on these subjects, account for the symptom?"""
        said = self._said(finding)
        if finding.cause is not None and CAUSES[finding.cause].kinds == ("slow",) and symptom.kind != "slow":
            waits = said.holds == "process" and symptom.kind == "waiting"
            is_slow = waits and not self._case.has_waited  # a time-out ends slowness: then it is a hang
            return is_slow and self._wait(said, symptom)
        if symptom.kind == "bad_value":
            return self._values(said, symptom)
        if symptom.kind == "slow":
            return finding.cause is not None and "slow" in CAUSES[finding.cause].kinds
        if symptom.kind == "never_started":
            return self._start(finding)
        if symptom.kind == "ended":
            return self._end(said, symptom)
        return self._wait(said, symptom)

    def leads_to_lost(self, symptom: Symptom) -> bool:
        """Does this wait lead to a rank that left no record? It may be a victim itself, of whatever stopped the others."""
        return symptom.node is not None and symptom.node in self._before_lost

    @cached_property
    def _before_lost(self) -> set[Node]:
        return self._before(("rank", rank) for rank, status in self._case.waits.status.items() if status == "lost")

    def _before(self, nodes: Iterable[Node]) -> set[Node]:
        """Everything that waits for one of these, near or far."""
        graph = self._case.waits.graph
        return walk(graph.predecessors, [node for node in nodes if node in graph])

    # --- what a finding is about ---------------------------------------------------------------------------------

    @cached_property
    def _on_host(self) -> Mapping[str, frozenset[int]]:
        identity = self._case.identity
        if not identity.height:
            return {}
        placed = identity.select("host", "rank").drop_nulls().group_by("host").agg("rank")
        return {host: frozenset(ranks) for host, ranks in placed.iter_rows()}

    def _ranks_there(self, said: _Said) -> frozenset[int]:
        """Ranks on the hosts that it is about, where it names no rank."""
        if said.there is None:
            said.there = frozenset(rank for host in said.places for rank in self._on_host.get(host, ())) | said.ends
        return said.there

    # --- waits ---------------------------------------------------------------------------------------------------

    def _wait(self, said: _Said, symptom: Symptom) -> bool:
        if said.holds == "value":  # bad values hold nobody up, but the check that found them ends its process
            return bool(self._bad_losses) and not self._bad_losses & symptom.ranks
        if said.holds == "job":
            # A stop explains no wait before it, but that nothing more is heard of whose machine was taken.
            is_gone = symptom.key == "heartbeat_lost" and bool(said.subjects) and not said.subjects & symptom.ranks
            return said.finding.cause not in STOPS or is_gone
        there = said.subjects or self._ranks_there(said)
        if symptom.node is not None:
            return symptom.node in self._leading(said, there) if there else bool(said.places)
        if not there:
            return bool(said.places) or self._is_cited(said, symptom)
        if not said.within or said.holds == "process":
            return not there <= symptom.ranks
        return True

    @cached_property
    def _bad_losses(self) -> frozenset[int]:
        return frozenset(rank for rank, end in self._case.ends.items() if end.how == "bad_loss")

    def _leading(self, said: _Said, subjects: frozenset[int]) -> set[Node]:
        """From where the walk leads to a subject, or to an operation that a subject may hold from within."""
        if said.leading is None:
            held = [op for op, inside in self._terminal.items() if said.within and inside & subjects]
            said.leading = self._before([*(("rank", rank) for rank in subjects), *(("op", op) for op in held)])
        return said.leading

    @cached_property
    def _terminal(self) -> dict[str, frozenset[int]]:
        """Operations that wait for nobody who is outside → the ranks inside: below the ranks something is wrong."""
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
        opened = self._case.states.open.filter(~pl.col("is_p2p"))
        kinds = opened.group_by("op").agg(pl.struct("kind", "dtype", "root", "numel").n_unique().alias("kinds"))
        return frozenset(kinds.filter(pl.col("kinds") > 1)["op"].to_list())

    # --- ends, starts, values ------------------------------------------------------------------------------------

    def _end(self, said: _Said, symptom: Symptom) -> bool:
        finding = said.finding
        if symptom.key == STOPPED:  # a job that hangs or fails is stopped for that
            told = finding.cause is not None or bool(said.subjects) or self._case.has_waited
            told &= bool(said.subjects) or not all(is_below(self._first_stops, *place) for place in said.cited)
            return told and finding.cause != "throughput_drop"
        if finding.cause in STOPS and not self._are_killed(said):
            return bool(symptom.ranks) and all(self._is_stopped(rank) for rank in symptom.ranks)
        if said.holds == "job":
            return finding.cause not in ("store_timeout", "throughput_drop")
        if symptom.ranks & said.subjects:
            return True
        if symptom.ranks and finding.domain == "workload" and not finding.is_named:
            return self._is_cited(said, symptom) or said.holds == "process" or self._stopped_alike(said, symptom)
        if said.holds == "value":
            ends = [self._case.ends.get(rank) for rank in symptom.ranks]
            if ends and all(end is not None and end.how in ("bad_loss", "failed") for end in ends):
                return True
            return bool(ends) and symptom.ranks <= self._raised_alike and self._is_soon_before_end(said)
        if symptom.ranks and self._is_after(said, symptom):
            return True
        may_be_its = finding.cause in ("host_oom", "gpu_fault")
        is_told = may_be_its and any(one.is_its for one in self._observers.backing(finding))
        is_gone = is_told or (finding.cause == "rank_died" and bool(said.places))
        if symptom.key == "connections":  # whoever died, or waited and was taken down, left connections behind
            return bool(said.subjects or said.places or finding.links) or is_told or self._is_cited(said, symptom)
        # What else ends of a job whose host is gone, whose process a kernel ended or whose device failed.
        if is_gone and not (said.subjects or symptom.ranks):
            return True
        there = self._ranks_there(said) if not said.subjects else frozenset()
        if symptom.ranks & there or symptom.hosts & said.places:
            return True
        return self._is_cited(said, symptom) or symptom.key.startswith("hosts,")

    def _stopped_alike(self, said: _Said, symptom: Symptom) -> bool:
        """Did the check whose line it points to end these ranks, too?"""
        checked = self._bad_losses
        if said.holds != "value" or not symptom.ranks <= checked:
            return False
        return any(not said.cited.isdisjoint(_places(self._case.ends[rank].refs)) for rank in checked)

    @cached_property
    def _raised_alike(self) -> frozenset[int]:
        """The ranks that raised one and the same error, where these are most of the job: a check that all of them make ends them so."""
        ends = self._case.ends.items()
        raised = {rank: end.code for rank, end in ends if end.cause == "exception" and end.by == "process"}
        most = max(raised.values(), key=[*raised.values()].count, default=None)
        alike = frozenset(rank for rank, code in raised.items() if code == most)
        return alike if 2 * len(alike) > len(self._case.job_told_of | alike) and len(alike) > 1 else frozenset()

    def _is_soon_before_end(self, said: _Said) -> bool:
        """Did what it tells begin shortly before the last step: as long as a check may take that is made now and then?"""
        last = step_in_progress(self._case.tables["steps"])
        is_grave = said.finding.severity in ("severe", "fatal") and said.finding.is_named
        return is_grave and last is not None and said.step is not None and 0 <= last - said.step <= _CHECKED_WITHIN

    def _are_killed(self, said: _Said) -> bool:
        """Is it about processes that were ended one by one, which others then lost?"""
        ends = [self._case.ends.get(rank) for rank in said.subjects]
        return bool(ends) and all(end is not None and end.how == "died" for end in ends)

    def _is_stopped(self, rank: int) -> bool:
        end = self._case.ends.get(rank)
        return end is not None and end.code in ("SIGTERM", "SIGKILL", "SIGINT")

    @cached_property
    def _first_stops(self) -> Mapping[str, int]:
        return first_stops(self._case.events)

    def _is_after(self, said: _Said, symptom: Symptom) -> bool:
        """Did these ranks wait, by their own records, in what the finding explains? Then their ends followed."""
        graph = self._case.waits.graph
        for rank in symptom.ranks:
            held = list(graph.successors(("rank", rank))) if ("rank", rank) in graph else []
            if not any(self._wait(said, Symptom("waiting", "", frozenset((rank,)), node=op)) for op in held):
                return False
        return True

    def _is_cited(self, said: _Said, symptom: Symptom) -> bool:
        return not said.cited.isdisjoint(_places(symptom.refs))

    def _start(self, finding: Finding) -> bool:
        if finding.cause is None:
            return True
        row = CAUSES[finding.cause]
        return "launch" in row.kinds or row.kinds == ("crash",) or row.holds in ("device", "process")

    def _values(self, said: _Said, symptom: Symptom) -> bool:
        """The first anomaly explains what went bad at its step and later, until it was over."""
        if said.finding.severity in (None, "minor") or said.holds not in ("value", None):
            return False
        own, at, over = said.step, symptom.step, said.finding.over_step
        if over is not None and at is not None and at >= over:
            return False
        return own is None or at is None or own <= at + _AS_LATE


def _places(refs: Iterable[Ref]) -> set[tuple[str, int | None]]:
    return {(ref.file, ref.line) for ref in refs}
