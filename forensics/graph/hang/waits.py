"""The rank-dependency graph: ranks and operation instances as nodes, never rank × rank edges.

rank → operation: the rank is held by it. operation → rank: the operation still needs this member (absent, or enqueued
behind something else, or unknown). Only the first open launch of a rank carries an edge: what a host enqueued behind
it says nothing (run-ahead). Collectives are AND nodes: they wait for every such member.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any, Literal

import msgspec
import polars as pl

from forensics.facts.waits.records import UNRECORDED_P2P
from forensics.facts.waits.states import States
from forensics.graph.hang.digraph import Digraph

# held: by a recorded operation. vague: waits in communication, its peers unknown. free: observed outside communication.
# dead: a record says that its process ended by itself. lost: nothing tells.
Status = Literal["held", "vague", "free", "dead", "lost"]
OpNode = tuple[Literal["op"], str]

# Sites of a live host that prove it is not waiting for its device or its peers.
HOST_SITES = frozenset(
    {"data_loading", "checkpoint_io", "storage_io", "lock", "compile", "logging", "evaluation", "unresponsive"}
)


class Waits(msgspec.Struct, frozen=True):
    """graph: node ("rank", r) with attribute status; node ("op", id) with gid, kind, seq. Edges carry `state` and
    `certain` (False where the member's state is unknown). by_stack: ranks whose status rests on their stack alone.
    loose: free ranks that may wait in an unrecorded send or recv (gloo without a stack). possible: rank that is needed, and whose
    stack stands in communication without telling the group → the groups (gid) that it may wait in. members: of these groups."""

    graph: Digraph[Any]
    status: Mapping[int, Status]
    by_stack: frozenset[int]
    loose: frozenset[int]
    possible: Mapping[int, frozenset[int]] = msgspec.field(default_factory=dict)
    members: Mapping[int, frozenset[int]] = msgspec.field(default_factory=dict)


def _sites(stacks: pl.DataFrame) -> dict[int, tuple[str, str | None, str]]:
    rows = stacks.drop_nulls("rank").select("rank", "site", "op", "source")
    return {rank: (site, op, source) for rank, site, op, source in rows.iter_rows()}


def _status(
    states: States,
    sites: Mapping[int, tuple[str, str | None, str]],
    gave_up: frozenset[int],
    dead: frozenset[int],
    ranks: frozenset[int],
) -> tuple[dict[int, Status], frozenset[int], frozenset[int]]:
    held = frozenset(states.open["rank"].to_list())
    told = states.recorded - states.partial - states.wrapped
    p2p_blind = not states.groups.height or bool(states.groups["backend"].is_in(UNRECORDED_P2P).any())
    status: dict[int, Status] = {}
    by_stack, loose = set(), set()
    for rank in ranks | held | frozenset(sites) | dead:
        site, _, source = sites.get(rank, (None, None, None))
        if rank in dead:
            status[rank] = "dead"
        elif rank in held:
            status[rank] = "held"
        elif rank in states.blind:
            status[rank] = "vague"
        elif site == "communication" or (rank in gave_up and (p2p_blind or rank not in told)):
            status[rank] = "vague"
            by_stack.add(rank)
        elif rank in told:
            status[rank] = "free"
            if p2p_blind and source in (None, "traceback"):
                loose.add(rank)
        elif site in HOST_SITES and source != "traceback":
            status[rank] = "free"
            by_stack.add(rank)
        elif site is not None and source != "traceback":
            status[rank] = "vague"  # alive somewhere; a device may have taken part without its host
            by_stack.add(rank)
        else:
            status[rank] = "lost"
    return status, frozenset(by_stack), frozenset(loose)


def _possible(
    states: States, sites: Mapping[int, tuple[str, str | None, str]], ranks: list[int]
) -> dict[int, frozenset[int]]:
    """Rank → groups that it may be a member of and in which somebody recorded a collective of the kind that its stack shows."""
    kinds = states.entries.filter(~pl.col("is_p2p") & pl.col("gid").is_not_null()).select("gid", "kind").unique()
    used = kinds.join(states.groups.select("gid", "members", "whole"), on="gid")
    known = used.select("gid", "kind", rank="members").explode("rank").filter(pl.col("rank").is_in(ranks))
    open_groups = used.filter(~pl.col("whole")).select("gid", "kind").iter_rows()
    may = ((gid, kind, rank) for gid, kind in open_groups for rank in ranks)
    found: dict[int, set[int]] = {rank: set() for rank in ranks}
    for gid, kind, rank in chain(known.iter_rows(), may):
        if sites.get(rank, ("", None, ""))[1] in (kind, None):
            found[rank].add(gid)
    return {rank: frozenset(gids) for rank, gids in found.items()}


def _attach_by_stack(
    graph: Digraph[Any],
    status: dict[int, Status],
    sites: Mapping[int, tuple[str, str | None, str]],
    host_bound: frozenset[int],
    possible: Mapping[int, frozenset[int]],
) -> frozenset[int]:
    """A member without a record whose stack is in the operation's own call is in it, if only one such operation fits and it
    calls such a one in no other group.

    host_bound: groups whose host takes part itself (gloo). Elsewhere a host in the call says nothing of its device."""
    fits: dict[int, list[OpNode]] = {}
    for op, rank in graph.edges:
        if op[0] == "op" and not graph.edges[op, rank]["certain"] and status[rank[1]] == "vague":
            kind = sites.get(rank[1], ("", None, ""))[1]
            if kind is not None and kind == graph.nodes[op]["kind"] and graph.nodes[op]["gid"] in host_bound:
                fits.setdefault(rank[1], []).append(op)
    attached = set()
    for member, ops in fits.items():
        if len(ops) == 1 and possible[member] == {graph.nodes[ops[0]]["gid"]}:
            graph.remove_edge(ops[0], ("rank", member))
            graph.add_edge(("rank", member), ops[0], state="in", certain=False)
            status[member] = "held"
            attached.add(member)
    return frozenset(attached)


def build(
    states: States,
    stacks: pl.DataFrame,
    ranks: frozenset[int],
    gave_up: frozenset[int],
    dead: frozenset[int],
    ended: frozenset[int],
) -> Waits:
    """States, main-thread stacks (facts.stacks.main_stacks) and what logs say of ranks → Waits.

    ranks: all ranks of the job. gave_up: ranks whose log says that they waited until a timeout or lost a peer.
    dead: ranks whose process ended by itself (exit code, own exception). ended: ranks that ended well: what their dump
    shows as open was finished after it."""
    sites = _sites(stacks)
    status, by_stack, loose = _status(states, sites, gave_up, dead, ranks)
    status.update(dict.fromkeys(sorted(ended), "free"))
    host_bound = frozenset(states.groups.filter(pl.col("backend").is_in(UNRECORDED_P2P))["gid"].to_list())
    graph: Digraph[Any] = Digraph()
    for rank in sorted(status):
        graph.add_node(("rank", rank))
    held = states.open.unique("op", keep="first", maintain_order=True)
    for op, gid, kind, seq in held.select("op", "gid", "kind", "seq").iter_rows():
        graph.add_node(("op", op), gid=gid, kind=kind, seq=seq, host_bound=gid in host_bound)
    for op, rank, state in states.members.iter_rows():
        if rank not in status:
            status[rank] = "lost"
            graph.add_node(("rank", rank))
        if rank in ended and state != "absent":
            continue
        if state == "in":
            if status[rank] != "dead":
                graph.add_edge(("rank", rank), ("op", op), state=state, certain=True)
            else:
                graph.add_edge(("op", op), ("rank", rank), state="died", certain=True)
        elif state not in ("done", "entered"):
            certain = state != "unknown" or status[rank] in ("dead", "free")
            graph.add_edge(("op", op), ("rank", rank), state=state, certain=certain)
    waiting = sorted(rank for rank in by_stack if status[rank] == "vague" and graph.in_degree(("rank", rank)))
    possible = _possible(states, sites, waiting) if waiting else {}
    attached = _attach_by_stack(graph, status, sites, host_bound, possible)
    by_stack |= attached
    for rank, value in status.items():
        graph.nodes[("rank", rank)]["status"] = value
    unsure = {rank: gids for rank, gids in possible.items() if rank not in attached}
    near = states.groups.filter(pl.col("gid").is_in(sorted(frozenset().union(*unsure.values()))))
    members = {gid: frozenset(ranks) for gid, ranks in near.select("gid", "members").iter_rows()}
    return Waits(graph, status, by_stack, loose, unsure, members)
