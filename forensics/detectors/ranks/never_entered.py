"""Which rank never entered the operation that everybody waits in?

Method: roots of the rank-dependency graph (M1 and M2 of the design, after Aegis, FLARE and NVRx): a free rank that some
open operation needs is the culprit if it, with the other free ones, explains every observed waiter. A lost rank is
transparent. Where nothing observed explains the waiters, the lost ranks that must hold the culprit are the suspects.
"""

from collections.abc import Iterator, Mapping

import polars as pl
from msgspec import structs

from forensics.case import Case, Detector
from forensics.facts.waits.rank_stacks import codes, doings, sites, stack_claims
from forensics.graph.hang.logged import Waiting, logged_waits
from forensics.graph.hang.narrow import possible_culprits, unaccounted
from forensics.graph.hang.next_call import order_of_next
from forensics.graph.hang.operations import Operation, anomaly_at, describe
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Reason, Site
from forensics.model.ref import Ref
from forensics.model.said import Said, capital, joined, sentence
from forensics.model.texts import ranks_text
from forensics.words import ranks as words


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the absent ranks, or the list that must hold them."""
    roots, waits = case.roots, case.waits
    if not roots.waiters:
        return ()
    named = tuple(rank for rank in roots.free if waits.status[rank] == "free")
    if named:
        found = _named(case, named)
        lost = _lost_beside(case, named) if _is_by_state(case, named) else ()
        return (_among_others(found, lost) if lost else found,)
    dead = [rank for rank in roots.free if waits.status[rank] == "dead"]
    if (roots.lost or roots.outside) and not dead and not roots.cycles and not roots.stuck:
        return (_among_lost(case),)
    return ()


def _is_by_state(case: Case, named: tuple[int, ...]) -> bool:
    """Does nothing but its state show that one of them does not wait? It may have been stopped in the call."""
    where = sites(case.stacks, named)
    return any(where.get(rank) == "unresponsive" for rank in named if rank in case.waits.by_stack)


def _lost_beside(case: Case, named: tuple[int, ...]) -> tuple[int, ...]:
    """Members of the same operations of which nothing tells."""
    members = {rank for operation in _needing(case, named) for rank in operation.all_ranks}
    return tuple(sorted(rank for rank in members if case.waits.status.get(rank) == "lost"))


def _among_others(found: Finding, lost: tuple[int, ...]) -> Finding:
    """The same of those without a record, too: any of them may be the one that did not come."""
    return structs.replace(
        found,
        cause=None,
        ranks=(),
        hosts=(),
        suspect_ranks=tuple(sorted({*found.ranks, *lost})),
        undecided=("culprit_among_missing",),
        first_anomaly=structs.replace(found.first_anomaly, rank=None),
        collect=(words.DUMP_AND_STACK(who=ranks_text(lost)),),
    )


def _needing(case: Case, ranks: tuple[int, ...]) -> list[Operation]:
    """The operations that need these ranks, the one with most waiting members first; last those whose group may not even have them, and
    that miss a member of their own."""
    ops = {op for rank in ranks for kind, op in case.waits.graph.predecessors(("rank", rank)) if kind == "op"}

    def is_doubtful(op: Operation) -> bool:
        missing = {*op.members.get("absent", ())} - {*ranks}
        return bool(missing) and not op.whole and not {*ranks} & {*op.all_ranks} - {*op.members.get("unknown", ())}

    found = describe(case.states, ops).values()
    return sorted(found, key=lambda op: (is_doubtful(op), -len(op.members.get("in", ())), op.op))


def _counter_refs(case: Case, rank: int, operation: Operation) -> tuple[Ref, ...]:
    """Where this rank's own record shows how far it came in the operation's group."""
    mine = case.tables["progress"].filter(pl.col("rank") == rank)
    here = mine.filter(pl.col("group") == operation.number) if operation.number else mine
    rows = (here if here.height else mine).sort("file", "record").head(1)
    found = []
    for row in rows.iter_rows(named=True):
        counts = f"last enqueued {row['last_enqueued']}, last completed {row['last_completed']}"
        text = f"rank {rank}: group {row['desc'] or row['group'] or row['pg_id']}: {counts}"
        found.append(Ref(file=row["file"], line=row["record"] if row["line"] is None else row["line"], text=text))
    return tuple(found)


def _anomaly(case: Case, rank: int | None, operation: Operation | None) -> FirstAnomaly:
    if operation is None:
        return FirstAnomaly(rank=rank, step=case.step_in_progress(rank))
    signature = f"never_entered:{operation.kind}:{operation.group}"
    return anomaly_at(operation, case.step_in_progress(rank), signature, rank)


def _blast(case: Case, operations: list[Operation]) -> BlastRadius:
    return BlastRadius(ranks_waiting=len(case.roots.waiters), groups=sorted({op.group for op in operations}))


def _named(case: Case, named: tuple[int, ...]) -> Finding:
    roots, waits = case.roots, case.waits
    operations = _needing(case, named)
    main = operations[0]
    loose = [rank for rank in named if rank in waits.loose]
    if (len(loose) > 1 or (loose and len(named) > len(loose))) or not _outnumbered(case, named, main):
        return _tied(case, named, operations)
    explained = len(roots.waiters) - len(roots.unexplained)
    first = max(named, key=lambda rank: (roots.free[rank], -rank))
    main = _next_of(case, first, operations)
    absent = words.NEVER_ENTERED(who=ranks_text(named), call=main.label)
    claims = [
        Claim(
            joined((absent, _members(main.members.get("in", ()))), "; "),
            "for",
            (*(ref for rank in named[:3] for ref in _counter_refs(case, rank, main)), *main.refs(2)),
        ),
        _explains(case, named, explained),
        *stack_claims(case.stacks, named),
    ]
    suspects = _further(case)
    undecided: tuple[Reason, ...] = ()
    if suspects:
        claims.append(Claim(words.EITHER_WAY(who=ranks_text(suspects)), "unseen"))
        undecided = ("culprit_among_missing",)
    where = sites(case.stacks, named)
    site = where.get(first)
    shown = _shown(named, site, doings(case.stacks, (first,)).get(first, ""))
    wait = joined((absent, words.RANKS_WAIT(number=len(roots.waiters))), "; ")
    return Finding(
        cause="rank_absent",
        ranks=named,
        hosts=_shared_host(case, named, whole=True),
        suspect_ranks=suspects,
        site=site,
        code=codes(case.stacks, named).get(first),
        first_anomaly=_anomaly(case, first, main),
        undecided=undecided,
        claims=tuple(claims),
        blast_radius=_blast(case, operations),
        collect=(words.DUMP_AND_STACK(who=ranks_text(suspects)),) if suspects else (),
        summary=sentence(joined((wait, capital(shown)), ". ")),
    )


def _shown(named: tuple[int, ...], site: Site | None, what: str) -> Said | str:
    if site in (None, "unknown"):
        return ""
    who = ranks_text(named)
    return words.PROCESS_IS_STOPPED(who=who) if site == "unresponsive" else words.STACK_SHOWS(who=who, site=what)


def _further(case: Case) -> tuple[int, ...]:
    """Lost ranks that may be culprits beside the named ones; whether those hold them up, no record tells."""
    if not case.roots.lost or not case.roots.unexplained:
        return ()
    logged = logged_waits(case.events, case.states)
    return tuple(sorted(unaccounted(case.states, case.waits, case.roots, logged)))


def _next_of(case: Case, rank: int, operations: list[Operation]) -> Operation:
    """Of the operations that need this rank, the one that its own program would have called first: in a group the one of the
    lowest number; where its history does not tell which group, the one with most waiting members."""
    own = _first_of_groups([operation for operation in operations if rank in operation.all_ranks])
    if len(own) < 2:
        return own[0] if own else operations[0]
    recorded = case.tables["operations"].select("rank", "file", "record", "group", "is_p2p", "kind")
    mine = recorded.filter((pl.col("rank") == rank) & pl.col("record").is_not_null())
    file = mine.group_by("file").len().sort("len", "file", descending=[True, False])["file"].head(1)
    calls = mine.filter(pl.col("file").is_in(file.to_list())).sort("record").select("group", "is_p2p", "kind")
    order = order_of_next(calls.rows())

    def distance(operation: Operation) -> int:
        kind = None
        if operation.op.startswith("p2p:"):
            kind = "send" if operation.op.split(":")[2].split(">")[0] == str(rank) else "recv"
        same = [
            far
            for (group, is_p2p, name), far in order.items()
            if group == operation.number and is_p2p == (kind is not None) and kind in (None, name)
        ]
        return min(same, default=1 << 30)

    return min(own, key=distance)


def _first_of_groups(operations: list[Operation]) -> list[Operation]:
    """Without those before which another of the same kind of call of their group is open: a broadcast lets its root run on."""

    def stream(one: Operation) -> tuple[str | None, str]:
        return one.number, one.op if one.op.startswith("p2p:") else ""

    first: dict[tuple[str | None, str], int] = {}
    for one in operations:
        if one.seq is not None:
            first[stream(one)] = min(one.seq, first.get(stream(one), one.seq))
    return [one for one in operations if one.seq is None or one.seq == first[stream(one)]]


def _members(waiting: tuple[int, ...]) -> Said:
    """How many wait in it, and who."""
    members = words.MEMBERS_WAIT(len(waiting))
    return words.IN_IT_WHO(members=members, who=ranks_text(waiting)) if waiting else words.IN_IT(members=members)


def _explains(case: Case, named: tuple[int, ...], explained: int) -> Claim:
    """How many waiters the wait-for graph leads to the named ranks, and why the others may belong to them, too."""
    total = len(case.roots.waiters)
    which = words.SOME_OF(number=explained, total=total) if explained < total else words.ALL_OF(total=total)
    text = words.WAIT_FOR[explained == 1](which=which, who=ranks_text(named))
    vague = {rank for rank in case.roots.unexplained if case.waits.status[rank] == "vague"}
    peerless, recordless = sorted(vague & case.states.blind), sorted(vague - case.states.blind)
    further = [words.PEERS_UNKNOWN(who=ranks_text(peerless))] if peerless else []
    further += [words.WAIT_UNRECORDED(who=ranks_text(recordless))] if recordless else []
    return Claim(joined((text, *further), "; "), "for")


def _outnumbered(case: Case, named: tuple[int, ...], operation: Operation) -> bool:
    """False where more than half of the members look absent and no stack says what they do: then one extra call of the
    few that wait explains as much as a missing call of the many."""
    absent = [rank for rank in operation.members.get("absent", ()) if rank in named]
    if _ran_through(case, absent) and len(absent) >= len(operation.members.get("in", ())):
        return False
    if 2 * len(absent) <= operation.size:
        return True
    known = sites(case.stacks, tuple(absent))
    return all(known.get(rank) not in (None, "unknown", "teardown", "communication") for rank in absent)


def _ran_through(case: Case, ranks: list[int]) -> bool:
    """Did all of them come to the end of their program without the call?"""
    ends = {rank for rank in ranks if rank in case.ends and case.ends[rank].how == "ended"}
    known = sites(case.stacks, tuple(ranks))
    return bool(ranks) and all(rank in ends or known.get(rank) == "teardown" for rank in ranks)


def _tied(case: Case, named: tuple[int, ...], operations: list[Operation]) -> Finding:
    """Several ranks look absent and the records do not tell which of them holds the others up."""
    main = operations[0]
    blind = any(rank in case.waits.loose for rank in named)
    why = words.P2P_NOT_RECORDED if blind else words.FEW_OR_MANY
    who = ranks_text(named)
    return Finding(
        cause=None if blind else "collective_mismatch",
        suspect_ranks=tuple(sorted({*named, *(() if blind else main.members.get("in", ()))})),
        undecided=("tied_explanations",),
        first_anomaly=_anomaly(case, None, main),
        blast_radius=_blast(case, operations),
        claims=(Claim(words.NEVER_ENTERED_BECAUSE(who=who, call=main.label, why=why), "for", main.refs(3)),),
        collect=(words.ALL_STACKS,),
        summary=words.WHO_WAITS_FOR_WHOM(call=main.label, who=who, why=why),
    )


def _shared_host(case: Case, ranks: tuple[int, ...], *, whole: bool) -> tuple[str, ...]:
    """The host that several of these ranks share, if all are on it; `whole`: and nobody else is."""
    if len(ranks) < 2 or not case.identity.height:
        return ()
    placed = case.identity.filter(pl.col("rank").is_in(ranks))
    hosts = placed["host"].unique().to_list()
    if placed.height < len(ranks) or len(hosts) != 1 or hosts[0] is None:
        return ()
    if whole and (case.identity["host"].null_count() or case.identity.height < len(case.expected)):
        return ()  # where somebody's place is not known, he may be there, too
    there = case.identity.filter(pl.col("host") == hosts[0]).height
    return (hosts[0],) if there == len(ranks) or not whole else ()


def _why_unknown(case: Case, suspects: tuple[int, ...]) -> tuple[Reason, ...]:
    """A ring that lost its entries is another reason than a dump that is missing, and asks for another remedy."""
    wrapped = case.states.wrapped
    reasons: list[Reason] = ["ring_buffer_wrapped"] if wrapped & set(suspects) else []
    return (*reasons, "culprit_among_missing") if set(suspects) - wrapped else tuple(reasons)


def _lost_claims(
    case: Case, silent: tuple[int, ...], lonely: tuple[int, ...], logged: Mapping[int, Waiting], main: Operation | None
) -> Iterator[Claim]:
    """Who is under suspicion for want of a record, and why others without one are not."""
    if silent:
        yield Claim(words.NO_FLIGHT_RECORD(who=ranks_text(silent)), "unseen")
    if main is not None and {*main.members.get("in", ()), *silent} >= set(main.all_ranks):
        yield Claim(words.IF_ENTERED(who=ranks_text(silent), call=main.label), "unseen")
    if lonely:
        yield Claim(words.LONELY_DEVICE(who=ranks_text(lonely)), "unseen")
    others = case.roots.lost - set(silent)
    if waited := sorted(others & logged.keys()):
        refs = tuple(logged[rank].ref for rank in waited[:3])
        yield Claim(words.GAVE_UP_WITH_OTHERS(who=ranks_text(waited)), "for", refs)
    if rest := sorted(others - logged.keys()):
        yield Claim(words.CANNOT_HOLD_ALL(who=ranks_text(rest)), "for")


def _possible(case: Case, logged: Mapping[int, Waiting]) -> frozenset[int]:
    """Where all ranks of one host are lost, and nobody else is, it is the host that died, not one of them that stopped."""
    gone = tuple(sorted(rank for rank, status in case.waits.status.items() if status == "lost"))
    if _shared_host(case, gone, whole=True):
        return frozenset(gone)
    return possible_culprits(case.states, case.waits, case.roots, logged)


def _among_lost(case: Case) -> Finding:
    roots = case.roots
    logged = logged_waits(case.events, case.states)
    possible = _possible(case, logged)
    lonely = tuple(sorted(possible & roots.lonely))
    silent = tuple(sorted(possible - roots.lonely))
    suspects = tuple(sorted(possible))
    operations = _needing(case, silent) or _needing(case, tuple(sorted(roots.lost)))
    main = operations[0] if operations else None
    text = words.WAIT_FOR_UNRECORDED(number=len(roots.unexplained))
    among = [words.WITHOUT_RECORD(who=ranks_text(silent))] if silent else []
    among += [words.ALONE_WITH_SUCH(who=ranks_text(lonely))] if lonely else []
    waiters = len(roots.waiters)
    wait = words.RANKS_WAIT_IN(number=waiters, call=main.label) if main else words.RANKS_WAIT(number=waiters)
    return Finding(
        suspect_ranks=suspects,
        suspect_hosts=_shared_host(case, suspects, whole=False),
        undecided=_why_unknown(case, suspects),
        first_anomaly=_anomaly(case, None, main),
        blast_radius=_blast(case, operations),
        claims=(
            Claim(text, "for", main.refs(3) if main else ()),
            *_lost_claims(case, silent, lonely, logged, main),
            *stack_claims(case.stacks, tuple(sorted(possible & roots.outside))),
        ),
        collect=(words.DUMP_AND_STACK(who=ranks_text(silent or roots.lost)),),
        summary=sentence(words.MAY_BE_AT_FAULT(who=joined(among, ", or ")), wait),
    )


DETECTOR = Detector("never_entered", ("operations",), detect, "waiting")
