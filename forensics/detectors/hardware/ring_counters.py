"""All members are in a collective: into whom does the ring not deliver?

Method: progress inside a collective (after C4D, FLARE and Mycroft). In a ring, what the rank that received least waits for
is on the edge from its predecessor to it; the rank itself waits like all others, so nobody is named. Each channel is a ring
of its own and has one vote.

Right: counters of the stalled moment, of all members. Fooled by: trees (no ring order; such channels do not vote), counters
taken after all have drained (all equal: nothing is said), members without counters, one of which may be further behind.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from forensics.case import Case, Detector
from forensics.facts.rows.event_rows import reference
from forensics.graph.hang.operations import Operation, anomaly_at, describe
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, to_do
from forensics.model.ref import Ref
from forensics.model.said import Said
from forensics.model.texts import ranges, ranks_text
from forensics.words import hardware as words

Edge = tuple[int, int]  # sender, receiver; global ranks


class _Vote(msgspec.Struct, frozen=True):
    """What one channel says. `sent`: steps that the sender handed to the network, null where not counted; `others`: the
    lowest count of those that are not behind; `sure`: one rank alone is behind, and all members were compared."""

    channel: int
    edge: Edge
    count: int
    others: int
    sent: int | None
    sure: bool
    ref: Ref


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the edge that most channels of the largest such collective point at."""
    roots, states = case.roots, case.states
    if not roots.entered or roots.free or roots.cycles or roots.stuck:
        return ()
    found = []
    for op, operation in describe(states, roots.entered).items():
        if op.startswith("p2p:") or len({call.signature for call in operation.calls}) > 1:
            continue
        if votes := _votes(case, operation):
            found.append((operation, votes))
    if not found:
        return ()
    operation, votes = max(found, key=lambda pair: (len(pair[1]), len(pair[0].all_ranks), pair[0].op))
    ballots = Counter(vote.edge for vote in votes).most_common(2)
    if len(ballots) == 2 and ballots[0][1] == ballots[1][1]:
        return ()
    return (_finding(case, operation, ballots[0][0], votes),)


def _counters(case: Case, operation: Operation, group: Mapping[str, Any]) -> pl.DataFrame:
    """Rows of `transfers` of this operation with counts, the newest of each rank, channel, way and peer."""
    alike = case.states.open.filter((pl.col("seq") == operation.seq) & ~pl.col("is_p2p"))["op"].n_unique()
    ours = pl.col("group").is_in([name for name in (group["group"], group["desc"]) if name])
    if alike == 1:
        ours |= pl.col("group").is_null()  # no other operation that it could be
    rows = case.tables["transfers"].filter(
        ours, pl.col("seq") == operation.seq, pl.col("rank").is_in(group["members"]), pl.col("channel").is_not_null()
    )
    count = pl.when(pl.col("direction") == "recv").then(pl.coalesce("received", "done")).otherwise("done")
    rows = rows.with_columns(count.alias("count")).filter(pl.col("count").is_not_null())
    rows = rows.sort("time_ns", "file", "line", nulls_last=False)
    return rows.unique(["rank", "channel", "direction", "peer"], keep="last", maintain_order=True)


def _votes(case: Case, operation: Operation) -> list[_Vote]:
    gid = case.states.open.filter(pl.col("op") == operation.op)["gid"][0]
    group = case.states.groups.row(by_predicate=pl.col("gid") == gid, named=True)
    members = tuple(group["members"])
    rows = _counters(case, operation, group)
    votes = []
    for (channel,), part in sorted(rows.partition_by("channel", as_dict=True).items()):
        told = part.select("direction", "peer").drop_nulls().height
        previous = _previous(part, members) if told else _set_up(case, int(channel), members)
        if previous and (vote := _vote(int(channel), part, previous, len(members))):
            votes.append(vote)
    return votes


def _previous(part: pl.DataFrame, members: tuple[int, ...]) -> dict[int, int]:
    """Rank → its predecessor, by the peers that the counters name; empty where that is no ring."""
    found: dict[int, int] = {}
    for rank, way, peer in part.select("rank", "direction", "peer").drop_nulls().iter_rows():
        if not 0 <= peer < len(members):
            return {}
        sender, receiver = (members[peer], rank) if way == "recv" else (rank, members[peer])
        if found.setdefault(receiver, sender) != sender:
            return {}
    return found if len(set(found.values())) == len(found) else {}


def _set_up(case: Case, channel: int, members: tuple[int, ...]) -> dict[int, int]:
    """The same by the rings that the library printed: of communicators of this size, if all of them agree."""
    links = case.tables["links"].filter(
        pl.col("channel") == channel,
        pl.col("direction").is_in(["ring_next", "ring_previous"]),
        pl.col("rank").is_null() | pl.col("rank").is_in(members),
    )
    edges: dict[str | None, set[Edge]] = {}
    columns = ("comm", "direction", "group_rank", "peer_group_rank")
    for comm, way, own, peer in links.select(columns).drop_nulls(columns[1:]).iter_rows():
        edges.setdefault(comm, set()).add((own, peer) if way == "ring_next" else (peer, own))
    found: dict[int, int] = {}
    for ring in edges.values():
        ends = {sender for sender, _ in ring}
        if ends == {receiver for _, receiver in ring} and len(ends) != len(members):
            continue  # a whole ring of another communicator
        for sender, receiver in ring:
            if found.setdefault(receiver, sender) != sender:
                return {}
    if found.keys() != set(range(len(members))) or set(found.values()) != found.keys():
        return {}
    return {members[receiver]: members[sender] for receiver, sender in found.items()}


def _vote(channel: int, part: pl.DataFrame, previous: Mapping[int, int], size: int) -> _Vote | None:
    """The edge into the first of those that received least; None where all are equal or no single edge leads in."""
    if part["total"].drop_nulls().n_unique() > 1:
        return None
    following = {sender: receiver for receiver, sender in previous.items()}
    arrived = part.filter(pl.col("direction").ne_missing("send"))
    outgoing = part.filter(pl.col("direction") == "send")
    counts = dict(arrived.select("rank", "count").iter_rows())
    source = arrived
    if not counts:  # what a sender has delivered stands for what its successor received
        delivered = outgoing.select("rank", "count").iter_rows()
        counts = {following[rank]: count for rank, count in delivered if rank in following}
        source = outgoing
    if len(counts) < 2:
        return None
    least = min(counts.values())
    behind = {rank for rank, count in counts.items() if count == least}
    heads = [rank for rank in behind if previous.get(rank) not in behind]
    if len(behind) == len(counts) or len(heads) != 1 or heads[0] not in previous:
        return None
    edge = (previous[heads[0]], heads[0])
    sent = outgoing.filter(pl.col("rank") == edge[0])["transmitted"].drop_nulls()
    row = source.row(by_predicate=pl.col("rank") == (edge[1] if source is arrived else edge[0]), named=True)
    text = f"rank {row['rank']}, channel {channel}: {row['count']} of {row['total']} steps"
    others = min(count for rank, count in counts.items() if rank not in behind)
    handed, is_sure = int(sent[-1]) if len(sent) else None, len(behind) == 1 and len(counts) == size
    return _Vote(channel, edge, least, others, handed, is_sure, reference(row | {"text": text}))


def _finding(case: Case, operation: Operation, edge: Edge, votes: list[_Vote]) -> Finding:
    own = [vote for vote in votes if vote.edge == edge]
    other = [vote for vote in votes if vote.edge != edge]
    counted = [vote for vote in own if vote.sent is not None]
    unsent = [vote for vote in counted if vote.sent is not None and vote.sent <= vote.count]
    inside = words.ALL_IN(call=operation.label, who=ranks_text(operation.members.get("in", ())))
    way = words.WAY(sender=edge[0], receiver=edge[1])
    text = words.RECEIVED(rank=edge[1], steps=own[0].count, others=own[0].others, channels=_channels(own))
    claims = [Claim(text, "for", tuple(vote.ref for vote in own[:3]))]
    if other:
        elsewhere = words.POINT_ELSEWHERE(channels=_channels(other))
        claims.append(Claim(elsewhere, "against", tuple(v.ref for v in other[:3])))
    if unsent:
        text = words.NOT_HANDED_ON(rank=edge[0], channels=_channels(unsent))
        claims.append(Claim(text, "against", tuple(vote.ref for vote in unsent[:3])))
    return Finding(
        cause="network_fault",
        # Handed to the network, and not arrived: only the way between remains.
        undecided=() if len(counted) == len(own) and all(vote.sure for vote in own) else ("tied_explanations",),
        links=(edge,),
        suspect_ranks=tuple(sorted(edge)),
        domain="infrastructure",
        claims=(Claim(inside, "for", operation.refs(3)), *claims),  # nobody is missing; it does not say which way
        first_anomaly=anomaly_at(
            operation, case.step_in_progress(), f"ring_counters:{operation.kind}:{operation.group}"
        ),
        blast_radius=BlastRadius(ranks_waiting=len(case.roots.waiters), groups=[operation.group]),
        actions=(to_do("inspect_network", way, words.RING_STOPPED),),
        collect=(words.BOTH_ENDS,),
        summary=words.RING_STOPPED_ON(call=operation.label, way=way),
    )


def _channels(votes: list[_Vote]) -> Said:
    channels = words.CHANNELS if len(votes) > 1 else words.CHANNEL
    return channels(numbers=ranges(vote.channel for vote in votes))


DETECTOR = Detector("ring_counters", ("operations", "transfers"), detect, "waiting")
