"""Did the network between hosts fail, and where?

An adapter or port that reports itself is a witness of its own. A failed completion (retries exceeded) blames the peer or
the way to it: the blame graph says host, link, rail or network; where ports of several hosts say so themselves and these are
where all reports meet, all of them. A connection that the peer closed is only an echo: the
other process died, or the network between broke, and nobody is named for it.
"""

from collections.abc import Sequence

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.ends.refused_transfers import refusal_of
from forensics.facts.rows.event_rows import Row, detail, host_of, of_kinds, refs
from forensics.facts.rows.locations import listed
from forensics.facts.waits.busy_bars import open_bars
from forensics.graph.hang.blame import (
    UNKNOWN_HOST,
    Blame,
    Root,
    are_cut_off,
    blames,
    canonical,
    find_root,
    with_the_silent,
)
from forensics.model.commands import kernel_log, link_test
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly, to_do
from forensics.model.said import Said, joined
from forensics.words import hardware as words
from forensics.words import launch
from parsers.text.connections import is_within_a_host

_RDMA = r"NET/IB|\bibv_|\bIBV_WC|\bmlx[45]_|(?i:infiniband|\broce\b)"
_SAYS_CLOSED = r"(?i)clos(?:ed|ing)|\breset\b|broken pipe|refused|disconnect|hung up|end of file|\bEOF\b|exited"
# NCCL's words for any broken connection: whether a process or the network is at fault is just what they leave open.
_EITHER = r"(?i)remote process (?:has )?exit(?:ed|ing)(?: prematurely)?(?: or there was a network error)?"
_UNTOLD = r"got completion with error:"  # of libmlx5, whose next lines hold the status in bytes
_FLUSHED = ("5", "IBV_WC_WR_FLUSH_ERR")  # work requests dropped after another one failed: secondary


def _local(case: Case) -> list[Row]:
    """Adapters, ports and links that failed by their own host's word; kernels of hosts outside the job do not count, nor
    does what is of another time than the anomaly."""
    links = [one for one in case.hardware if one.kind in ("link_down", "port_error") and one.when != "apart"]
    said = [one.row for one in links if one.kind == "port_error" and detail(one.row).get("library")]
    grave = [one.row for one in links if one.severity in ("warning", "error", "fatal") and one.on_job]
    return [*said, *(row for row in grave if not detail(row).get("library"))]


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding."""
    failed = of_kinds(case.events, "completion_error")
    origins = failed.filter(~pl.col("code").is_in(_FLUSHED).fill_null(False))
    first = origins if origins.height else failed
    local = _local(case)
    if failed.height:
        reports = blames(case.tables, case.identity, case.job_hosts, first)
        return (_fault(case, with_the_silent(reports, *_hosts_of_all(case), _telling(case)), local, first),)
    if any(detail(row).get("library") for row in local):
        return (_fault(case, (), local, failed),)
    closed = of_kinds(case.events, "peer_closed", "remote_error")
    if case.has_begun:
        refused = of_kinds(case.events, "connect_failed").filter(pl.col("names_hosts").list.len() > 0)
        closed = pl.concat([closed, refused])
    ended = [end for end in case.ends.values() if end.how in ("died", "bad_loss")]
    if closed.height and not ended and not case.has_waited:
        return (_closed(case, find_root(blames(case.tables, case.identity, case.job_hosts, closed)), local, closed),)
    return ()


def _telling(case: Case) -> list[str]:
    """Hosts that tell an address of their own."""
    told = case.tables["ranks"].filter(pl.col("address").is_not_null() & (pl.col("how") != "document"))
    return sorted({canonical(host, ()) for host in told["host"].drop_nulls().to_list()})


def _hosts_of_all(case: Case) -> tuple[dict[str, set[int]], frozenset[int]]:
    """The hosts of the job with their ranks, where all of them are known, and the ranks that tell of no end and no wait in their own records."""
    hosts: dict[str, set[int]] = {}
    for rank, host in case.host_of_rank.items():
        hosts.setdefault(host, set()).add(rank)
    is_whole = case.is_world_told and case.expected <= case.host_of_rank.keys()
    return (hosts if is_whole else {}), case.seen - case.ends.keys() - case.waited_ranks


def _own_hosts(case: Case, local: Sequence[Row]) -> list[str]:
    return sorted({host for row in local if (host := host_of(case.identity, row))})


def _hosts(root: Root | None, own: Sequence[str]) -> tuple[str, ...]:
    """A port that reports itself is surer than what others say of the way to it."""
    if len(own) == 1 or (len(own) == 2 and root is not None and root.where == "link"):
        return tuple(own)
    if root and root.where == "host" and root.hosts[0] != UNKNOWN_HOST and (not own or root.hosts[0] in own):
        return (root.hosts[0],)
    return ()


def _cut_off(root: Root | None, reports: Sequence[Blame], own: Sequence[str]) -> tuple[str, ...]:
    """Several hosts whose own ports went down, if these together, and no single host, are where all reports meet: what they
    share (a switch, its power) failed."""
    is_one = root is None or root.where in ("link", "reporter") or (root.where == "host" and root.hosts[0] in own)
    return tuple(own) if len(own) > 1 and not is_one and are_cut_off(own, reports) else ()


def _fault(case: Case, reports: Sequence[Blame], local: Sequence[Row], failed: pl.DataFrame) -> Finding:
    root = find_root(reports)
    own = _own_hosts(case, local)
    cut_off = _cut_off(root, reports, own)
    hosts = cut_off or _hosts(root, own)
    met = tuple(host for host in root.hosts if host != UNKNOWN_HOST) if root else ()
    ends = met if root and root.where in ("link", "reporter") else ()
    if not ends and 1 < len(own) < len(case.job_hosts):
        ends = tuple(sorted({*own, *met}))
    links = ((ends[0], ends[1]),) if root and root.where == "link" and len(ends) == 2 and not hosts else ()
    claims = []
    refusal = refusal_of(failed["code"]) if not local else None
    is_untold = failed.height > 0 and bool(failed["text"].str.contains(_UNTOLD).all())
    if failed.height:
        what = words.REFUSED(code=refusal) if refusal else words.FAILED if is_untold else words.AFTER_RETRIES
        text = words.TRANSFERS_FAILED(transfers=words.TRANSFERS(failed.height), what=what, where=_where(root))
        claims.append(Claim(text, "for", refs(failed.iter_rows(named=True))))
    if local:
        names = sorted({host_of(case.identity, row) or words.A_HOST for row in local})
        claims.append(Claim(words.PORTS_REPORTED(hosts=joined(names, ", ")), "for", refs(local)))
    why = words.TRANSFERS_FAIL if is_untold else words.RETRIES_EXCEEDED if failed.height else words.PORT_SAID_SO
    where = hosts[0] if len(hosts) == 1 else (_together(case, cut_off) if cut_off else _where(root))
    return Finding(
        cause="network_fault",
        hosts=hosts,
        links=links,
        suspect_hosts=() if hosts else ends,
        domain="infrastructure",
        undecided=() if hosts or not ends else ("tied_explanations",),
        claims=tuple(claims),
        first_anomaly=FirstAnomaly(step=case.step_in_progress(), host=hosts[0] if hosts else None, signature="network"),
        actions=(*_actions(hosts or ends, refusal), *_link_test(links, refusal, failed)),
        collect=() if hosts else (words.LOGS_OF_THE_ENDS,) if refusal else (words.BOTH_ENDS,),
        summary=words.REFUSED_WHERE(where=where, code=refusal)
        if refusal
        else words.NETWORK_FAILED(where=where, what=why),
    )


def _actions(ends: Sequence[str], refusal: str | None) -> tuple[Action, ...]:
    """A transfer that was answered passed every link: then the two programs do not fit, or one of them is gone."""
    if refusal is not None:
        target = joined(ends, ", ") or words.BOTH_OF_THEM
        return (to_do("check_config", target, words.OTHER_END_REFUSED),)
    return tuple(to_do("inspect_network", name, words.TRANSFERS_OF_IT) for name in (ends or (words.FABRIC,)))


def _link_test(links: Sequence[tuple[str, str]], refusal: str | None, failed: pl.DataFrame) -> tuple[Action, ...]:
    """Of a link of which neither end is known to be at fault: whether it carries anything; only where it is one of RDMA."""
    is_rdma = failed["text"].str.contains(_RDMA).any()
    command = link_test(*links[0]) if links and refusal is None and is_rdma else None
    if command is None:
        return ()
    target = words.LINK_BETWEEN(one=links[0][0], other=links[0][1])
    return (
        Action(
            kind="inspect_network", target=target, command=command, reason=words.NOTHING_RUNS_THERE, look=words.LOOK_AT_TEST,
            then=words.THEN_OF_TEST, source="perftest: ib_write_bw(1)",
        ),
    )  # fmt: skip


def _where(root: Root | None) -> Said:
    """Where the reports meet, in words."""
    if root is None:
        return words.ENDS_UNNAMED
    if root.where == "host":
        return words.AN_END_OF_ALL(host=root.hosts[0], reporters=root.reporters)
    if root.where == "reporter":
        return words.ONLY_REPORTER(host=root.hosts[0])
    if root.where == "link" and UNKNOWN_HOST in root.hosts:
        return words.WAY_TO(host=next((host for host in root.hosts if host != UNKNOWN_HOST), words.A_HOST))
    if root.where == "link":
        return words.LINK_BETWEEN(one=root.hosts[0], other=root.hosts[1])
    if root.where == "rail":
        return words.RAIL(rail=root.rail)
    return words.MANY_PAIRS


def _together(case: Case, hosts: Sequence[str]) -> Said:
    """Whose ports went down, and what they share where a map tells."""
    shared = case.locations.shared(hosts)
    if shared is None or not shared.is_likely or len(shared.things) < len(hosts):
        return words.PORTS_OF(number=len(hosts), hosts=listed(hosts))
    return words.PORTS_AT(number=len(hosts), hosts=listed(hosts), place=shared.name, there=shared.there)


def _closed(case: Case, root: Root | None, local: Sequence[Row], closed: pl.DataFrame) -> Finding:
    ends = [host for host in (root.hosts if root else ()) if host != UNKNOWN_HOST]
    if root is None:
        named = {blame.named for blame in blames(case.tables, case.identity, case.job_hosts, closed)}
        ends = sorted(named - {UNKNOWN_HOST})
    texts = closed["text"].str.replace_all(_EITHER, "")
    is_said = bool((closed["kind"] == "peer_closed").any() or texts.str.contains(_SAYS_CLOSED).any())
    no_answer = _at_barrier(closed) or words.NO_ANSWER
    claims = [Claim(words.CLOSED if is_said else no_answer, "for", refs(closed.iter_rows(named=True)))]
    if local:
        claims.append(Claim(words.LINK_WENT_DOWN, "for", refs(local)))
    names = joined(ends[:8], ", ")
    other_end = words.OTHER_ENDS_CLOSED(ends=names) if ends else words.OTHER_END_CLOSED
    if not is_said:
        other_end = words.NO_ANSWER_OF(ends=names) if ends else no_answer
    bar = next(open_bars(row for row in closed.iter_rows(named=True) if row["code"] == "barrier"), None)
    shown = bar and launch.BAR_STANDS_THERE(percent=bar.percent, spent=bar.spent, left=bar.left)
    claims += [Claim(shown, "for", (bar.ref,))] if bar and shown else []
    other, said = (None, None) if ends else _other_end(case, closed)
    if other is not None:
        other_end = words.OTHER_END_AT(address=other, said=said)
        claims[0] = Claim(other_end, "for", refs(closed.iter_rows(named=True)))
    return Finding(
        cause="network_fault" if local else None,
        hosts=_hosts(None, _own_hosts(case, local)),
        # Of a message that failed, either end may be at fault.
        suspect_hosts=tuple(ends[:8]) if is_said or len(ends) > 1 else (),
        undecided=("tied_explanations",),
        claims=tuple(claims),
        first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="peer_closed"),
        actions=_of_wait(shown) if shown else _at_other_end(case, other) if other else (),
        collect=(
            words.LOGS_AND_KERNELS(who=names or words.ALL_OTHER_RANKS),
            *([words.BOTH_ENDS] if closed["text"].str.contains(_RDMA).any() else []),
        ),
        summary=words.UNDECIDED(
            what=joined((other_end, shown or (words.DEAD_OR_BROKEN if is_said else words.DEAD_LATE_OR_BROKEN)), "; ")
        ),
    )


def _of_wait(shown: Said) -> tuple[Action, ...]:
    """Work that goes on beside a wait that others gave up needs a longer wait, or an earlier place."""
    return (
        Action(
            kind="check_config", target=launch.TIMEOUT_OF_GROUP, command=None, reason=shown, look=launch.LOOK_AT_BAR,
            then=launch.THEN_OF_BAR, source="PyTorch: torch.distributed, monitored_barrier",
        ),
    )  # fmt: skip


def _other_end(case: Case, closed: pl.DataFrame) -> tuple[str | None, str | None]:
    """(the one address at the other end, what the library said last), where that alone tells of the other end."""
    beside = (pl.col("code") == "other_end") & pl.col("file").is_in(closed["file"].unique().to_list())
    rows = [*closed.iter_rows(named=True), *of_kinds(case.events, "other").filter(beside).iter_rows(named=True)]
    ends = (said for row in rows if "other_end" in (said := detail(row)))
    told = {said["other_end"]: " ".join(str(said.get("last_error")).split()) for said in ends}
    found = [address for address in told if not is_within_a_host(address)]
    return (found[0], told[found[0]]) if len(found) == 1 else (None, None)


def _at_other_end(case: Case, address: str) -> tuple[Action, ...]:
    """Whose process is at that address, and what its host says: where it died, that is told there."""
    return (
        Action(
            kind="collect_more", target=words.KERNEL_AT(address=address), command=kernel_log(address, case.around), reason="",
            look=words.LOOK_AT_OTHER_END, then=words.THEN_OF_OTHER_END, source="dmesg(1)", setup=("kernel", "log"),
        ),
    )  # fmt: skip


def _at_barrier(closed: pl.DataFrame) -> Said | None:
    """Who came to a monitored barrier and had no answer there, and of whom, where lines tell one pair."""
    told = {(said.get("own"), said.get("peer")) for row in closed.iter_rows(named=True) if (said := detail(row))}
    own, peer = told.pop() if len(told) == 1 else (None, None)
    return words.NO_ANSWER_AT_BARRIER(own=own, peer=peer) if own and peer else None


DETECTOR = Detector("network", ("events",), detect, "ended")
