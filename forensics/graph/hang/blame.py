"""The blame graph: who reports a broken connection, and whom it names.

Method: fault propagation (after Aegis): consequences are walked back. A host that is named and names nobody is where the
chain of closed connections began; if one host is an end of every report, it is that host; a single pair leaves both ends
of a link; reports spread over many pairs of one rail mean its switch; over everything, the network.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import polars as pl

from forensics.facts.rows.event_rows import detail, host_of
from forensics.graph.hang.digraph import Digraph
from forensics.model.hosts import short_host
from parsers.schema.tables import Tables
from parsers.text.connections import is_within_a_host
from parsers.who.places.alike_paths import ADDRESS

Where = Literal["host", "reporter", "link", "rail", "network"]
UNKNOWN_HOST = "(unknown)"
_SAID = ("rank", "rank_space", "host", "device_index", "names_hosts", "detail")
_FEWEST_HOSTS = 3  # of two one reports, and which of both is at fault is open
_ADAPTER_NAMES = ("ib", "eth", "hsn", "roce", "bond", "rdma")


class Blame(NamedTuple):
    """One report. `rail`: the adapter or device index it is about, where printed."""

    reporter: str
    named: str
    rail: str | None = None


class Root(msgspec.Struct, frozen=True):
    """`host`: hosts[0] is where the blame ends. `reporter`: hosts[0] is an end of every report, and the only one that reports.
    `link`: hosts are its two ends. `rail`, `network`: no host stands out."""

    where: Where
    hosts: tuple[str, ...] = ()
    reporters: int = 0
    rail: str | None = None


def canonical(name: str, known: Iterable[str]) -> str:
    """A host's name without domain and without the suffix of an adapter (`n1-ib.site` → `n1`, where `n1` is known)."""
    short = short_host(name)
    stem, _, suffix = short.rpartition("-")
    is_adapter = suffix.rstrip("0123456789") in _ADAPTER_NAMES
    return stem if stem in set(known) and is_adapter else short


def find_root(blames: Sequence[Blame]) -> Root | None:
    """Reports → where they lead; None without any. The order of reports does not matter."""
    edges = sorted({(b.reporter, b.named) for b in blames if b.reporter != b.named})
    if not edges:
        return None
    reporters = len({reporter for reporter, _ in edges})
    nodes = sorted({node for edge in edges for node in edge})
    if len(nodes) == 2:
        return Root("link", tuple(nodes), reporters)
    graph: Digraph[str] = Digraph()
    for reporter, named in edges:
        graph.add_edge(reporter, named)
    sinks = [part for part in graph.components() if _is_sink(graph, part)]
    if len(sinks) == 1 and len(sinks[0]) == 1:
        return Root("host", tuple(sinks[0]), reporters)
    common = [node for node in nodes if all(node in edge for edge in edges)]
    # Whoever complains about many that say nothing may have lost its own adapter, or be the last one alive to speak.
    if len(common) == 1 and common[0] != UNKNOWN_HOST:
        is_named = any(named == common[0] for _, named in edges)
        return Root("host" if is_named else "reporter", (common[0],), reporters)
    if len(sinks) == 1 and len(sinks[0]) == 2:
        return Root("link", tuple(sorted(sinks[0])), reporters)
    rails = {b.rail for b in blames if b.reporter != b.named}
    if len(rails) == 1 and None not in rails and _pairs(edges) >= 3:
        return Root("rail", (), reporters, rails.pop())
    return Root("network", (), reporters)


def are_cut_off(hosts: Collection[str], blames: Iterable[Blame]) -> bool:
    """Is one of these hosts an end of every report, and each of them an end of one?"""
    edges = {frozenset((b.reporter, b.named)) for b in blames if b.reporter != b.named}
    return bool(edges) and all(edge & set(hosts) for edge in edges) and set(hosts) <= frozenset().union(*edges)


def _is_sink(graph: Digraph[str], part: Collection[str]) -> bool:
    return all(named in part for node in part for named in graph.successors(node))


def _pairs(edges: Iterable[tuple[str, str]]) -> int:
    """Reports without a common end."""
    import networkx as nx  # half as long to load as polars, and seldom needed

    return len(nx.max_weight_matching(nx.Graph(edges), maxcardinality=True))


def blames(tables: Tables, identity: pl.DataFrame, known: frozenset[str], found: pl.DataFrame) -> list[Blame]:
    """Events that name hosts → reports, each once, hosts as `known` writes them.

    An address is turned into the host that listens on it, where claims tell. One that several hosts claim, or that every
    host has (loopback, the bridge of containers), is nobody's name."""
    addresses = _addresses(tables)
    result = []
    for row in found.select(_SAID).unique(maintain_order=True).iter_rows(named=True):
        reporter = host_of(identity, row) or UNKNOWN_HOST
        rail = detail(row).get("adapter") or (None if row["device_index"] is None else str(row["device_index"]))
        for name in row["names_hosts"] or ():
            is_nobodys = name in addresses or is_within_a_host(name)
            named = addresses.get(name) or (UNKNOWN_HOST if is_nobodys else canonical(name, known))
            result.append(Blame(canonical(reporter, known), named, rail))
    return result


def with_the_silent(
    blames: Sequence[Blame], hosts: Mapping[str, Collection[int]], silent: Collection[int], told: Collection[str]
) -> list[Blame]:
    """Reports → the same, where an address that is nobody's by name is that of the one host that it can be: all others report it. `hosts`: all of
    the job with their ranks; `silent`: ranks that tell of no end and no wait; who lost others itself would say so; `told`: hosts that tell an address of their own, which would be
    that one."""
    by_address: dict[str, set[str]] = {}
    for one in blames:
        if ADDRESS.fullmatch(one.named):
            by_address.setdefault(one.named, set()).add(one.reporter)
    rest = {address: [*hosts.keys() - by] for address, by in by_address.items() if by <= hosts.keys()}
    called = {
        address: own[0]
        for address, own in rest.items()
        if len(own) == 1 and len(hosts) >= _FEWEST_HOSTS and {*hosts[own[0]]} <= {*silent} and own[0] not in told
    }
    return [one._replace(named=called.get(one.named, one.named)) for one in blames]


def _addresses(tables: Tables) -> dict[str, str | None]:
    """address → the host that says that it listens on it; null where several do, or one alone speaks of its own and other
    hosts may have it as well."""
    claims = tables["ranks"].select("address", "host").drop_nulls().unique()
    found: dict[str, set[str]] = {}
    for address, host in claims.iter_rows():
        found.setdefault(str(address).split("<")[0], set()).add(canonical(host, ()))
    speak = set().union(*found.values())

    def host_of_address(address: str, hosts: set[str]) -> str | None:
        is_told_apart = len(speak) > 1 or not is_within_a_host(address)
        return min(hosts) if len(hosts) == 1 and is_told_apart else None

    return {address: host_of_address(address, hosts) for address, hosts in found.items()}
