"""Everybody waits in the same call: did a link or an adapter of one host fail just before?

Where all members entered and none finished, link, adapter, switch and kernel look alike from inside (contract, rule 8). The
kernel of one host tells them apart where it reports its link down or its adapter failed just before the wait began, no
other host does, the stalled calls pass through that host, and nobody is silent anywhere else. A link that came back may
still have broken the transfer, but that is weaker. Ranks are never named: they all waited.

Where no line tells of a wait, but every process aborted, as watchdogs end one, a link that is still down then is the only
trouble on record: the host is named, with the doubt that a program may abort for itself.
"""

from collections.abc import Collection

from forensics.case import Case, Detector
from forensics.facts.ends.waiting import is_silence_elsewhere
from forensics.facts.rows.event_rows import Row, detail, host_of, own_rank, refs, rows
from forensics.graph.hang.operations import describe
from forensics.graph.hang.roots import all_entered
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly, to_do
from forensics.model.names import Reason
from forensics.model.ref import Ref
from forensics.model.said import Said, joined
from forensics.model.texts import ranks_text
from forensics.words import hardware as words


def _failed_links(case: Case) -> dict[str, list[Row]]:
    """host of the job → what its kernel says of links and adapters just before the anomaly."""
    found: dict[str, list[Row]] = {}
    for one in case.hardware:
        is_link = one.kind in ("link_down", "port_error") and one.severity in ("warning", "error", "fatal")
        if is_link and one.on_job and one.host and one.when == "before" and not detail(one.row).get("library"):
            found.setdefault(one.host, []).append(one.row)
    return found


def _is_back(case: Case, host: str, failed: list[Row]) -> bool:
    """Did a link of this host come up again after the failure?"""
    last = max(row["time_ns"] for row in failed)
    return any(
        host_of(case.identity, row) == host and row["time_ns"] is not None and row["time_ns"] > last
        for row in rows(case.events, "link_up")
    )


def _passes_through(case: Case, host: str) -> bool:
    """Does every stalled call join this host to another one?"""
    place = case.host_of_rank
    if case.has_open_operations:
        if not all_entered(case.roots):
            return False
        members = [operation.all_ranks for operation in describe(case.states, case.roots.entered).values()]
    else:
        members = [tuple(case.waited_ranks or case.aborted_ranks)]
    return bool(members) and all(
        {place.get(rank) == host for rank in ranks if place.get(rank) is not None} == {True, False} for ranks in members
    )


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding."""
    failed = _failed_links(case)
    if len(failed) != 1 or any(end.how in ("died", "bad_loss", "ended") for end in case.ends.values()):
        return ()
    ((host, said),) = failed.items()
    if not _passes_through(case, host) or is_silence_elsewhere(case.waited_ranks, case.expected, case.identity, {host}):
        return ()
    told, is_back = case.has_waited, _is_back(case, host, said)
    if not told and is_back:
        return ()
    waited = case.waited_ranks or case.aborted_ranks or set(case.seen)
    complete = case.has_open_operations or bool(case.expected and case.expected <= waited)
    adapters = sorted({str(detail(row).get("interface") or row["pci"]) for row in said} - {"None"})
    text = words.LINK_FAILED_BEFORE(host=host)
    failed_so = words.OF_ADAPTERS(text=text, adapters=joined(adapters, ", ")) if adapters else text
    timed_out, who = _wait(case, told, complete, waited)
    return (
        Finding(
            cause="network_fault",
            hosts=(host,),
            domain="infrastructure",
            undecided=_doubts(told, complete, is_back),
            claims=(Claim(failed_so, "for", refs(said)), Claim(who, "for", timed_out)),
            first_anomaly=FirstAnomaly(
                host=host, step=case.step_in_progress(), signature=f"link:{said[0]['code'] or said[0]['kind']}"
            ),
            blast_radius=BlastRadius(ranks_waiting=len(waited)),
            actions=(to_do("inspect_network", host, words.ITS_LINK),),
            collect=(words.PORTS_AND_SWITCH,),
            summary=words.NETWORK_OF_HOST(host=host, what=joined((text, who), "; ")),
        ),
    )


def _wait(case: Case, told: bool, complete: bool, waited: Collection[int]) -> tuple[tuple[Ref, ...], Said]:
    """(where it is said, what is said) of those who waited."""
    if not told:
        ends = tuple(ref for rank in sorted(waited)[:2] for ref in case.ends[rank].refs[:1])
        return ends, words.ABORTED(who=ranks_text(waited))
    timed_out = [row for row in rows(case.events, "collective_timeout") if own_rank(row) is not None]
    return refs(timed_out), (words.ALL_WAIT if complete else words.THEY_WAIT)(who=ranks_text(waited))


def _doubts(told: bool, complete: bool, is_back: bool) -> tuple[Reason, ...]:
    """Nobody says that they waited; somebody may be missing; or the link was there again when the wait went on."""
    if not told:
        return ("tied_explanations",)
    return ("culprit_among_missing",) if not complete else ("conflicting_evidence",) if is_back else ()


DETECTOR = Detector("link_before_wait", ("events",), detect, "waiting")
