"""How the devices of each host are linked, pair by pair, and which pair is not linked as on the other hosts.

A pair is compared with the same pair on hosts whose matrix has the same devices: its link by name, where most hosts agree; what
it bears against the median of the others, by share and by their spread. One host alone, measured, is compared with itself: its
own pairs with the same name of link. Hosts are built differently, and a slow link is no fault by itself: nobody is accused.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import polars as pl

from forensics.facts.durations.outliers import spread_of, spreads_apart
from forensics.facts.rows.event_rows import refs
from forensics.model.hosts import short_hosts
from forensics.model.middle import median
from forensics.model.ref import Ref
from forensics.model.said import Said
from forensics.words import facts as words

_PEERS = 4  # hosts, or pairs of one host, at least; the one that is compared included
_AGREE = 0.6  # of the hosts have one name of a link
_LESS, _QUIET = 0.3, 0.05  # of the median: what matters, and what no peers are believed to agree better than
Pair = tuple[str, str]


class OddPair(msgspec.Struct, frozen=True):
    """A pair of devices of a host whose link is another one, or bears less, than those of its peers."""

    host: str
    pair: Pair
    what: str  # as printed: "SYS", "41.2 GB/s"
    usual: str
    peers: int
    refs: tuple[Ref, ...]

    @property
    def text(self) -> Said:
        one, other = self.pair
        said = {"host": self.host, "what": self.what, "peers": self.peers, "usual": self.usual}
        return words.PAIR_APART(one=one, other=other, **said)


class PairLinks(msgspec.Struct, frozen=True, dict=True):
    """Of the rows of `devices` those of pairs: host → pair → row, by name of the link and by speed, one way each."""

    devices: pl.DataFrame

    @cached_property
    def _rows(self) -> pl.DataFrame:
        parts = pl.col("metric").str.extract_groups(r"^pair/(?<a>[^-]+)-(?<b>[^/]+)/(?<what>link|gb_per_s)$").struct
        rows = self.devices.filter(pl.col("metric").str.starts_with("pair/") & pl.col("host").is_not_null())
        told = rows.with_columns(parts.field("a"), parts.field("b"), parts.field("what")).drop_nulls("what")
        return told.with_columns(short_hosts()).unique(["host", "a", "b", "what"], keep="first", maintain_order=True)

    @cached_property
    def links(self) -> Mapping[str, Mapping[Pair, str]]:
        """Host → pair → name of its link, as printed."""
        return self._by_pair("link", "text")

    @cached_property
    def speeds(self) -> Mapping[str, Mapping[Pair, float]]:
        """Host → pair, one way → GB/s."""
        return self._by_pair("gb_per_s", "value")

    def _by_pair(self, what: str, column: str) -> dict[str, dict[Pair, Any]]:
        found: dict[str, dict[Pair, Any]] = defaultdict(dict)
        rows = self._rows.filter(pl.col("what") == what)
        rows = rows.filter(pl.col("value").is_finite()) if column == "value" else rows
        for host, a, b, told in rows.select("host", "a", "b", column).iter_rows():
            found[host][a, b] = told
        return found

    @cached_property
    def odd(self) -> tuple[OddPair, ...]:
        """Pairs that stand apart, by host."""
        if not self.devices.height:
            return ()
        return tuple(sorted((*self._other_names(), *self._slower()), key=lambda one: (one.host, one.pair)))

    def _other_names(self) -> Iterator[OddPair]:
        for hosts in _alike(self.links):
            for pair in self.links[hosts[0]]:
                names = {host: self.links[host][pair] for host in hosts}
                usual, count = Counter(names.values()).most_common(1)[0]
                if len(hosts) >= _PEERS and _AGREE * len(hosts) <= count < len(hosts):
                    for host, name in names.items():
                        if name != usual:
                            yield OddPair(host, pair, name, usual, count, self._refs(host, pair, "link"))

    def _slower(self) -> Iterator[OddPair]:
        for hosts in _alike(self.speeds):
            for pair in self.speeds[hosts[0]] if len(hosts) >= _PEERS else ():
                yield from self._far({(host, pair): self.speeds[host][pair] for host in hosts})
            for host in hosts if len(hosts) < _PEERS else ():
                by_name: dict[str, dict[tuple[str, Pair], float]] = defaultdict(dict)
                named = self.links.get(host, {})
                for (a, b), value in self.speeds[host].items():
                    by_name[named.get((a, b)) or named.get((b, a), "")][host, (a, b)] = value
                for name, values in by_name.items():
                    if name:  # pairs of unknown links may be of several kinds
                        yield from self._far(values)

    def _far(self, values: Mapping[tuple[str, Pair], float]) -> Iterator[OddPair]:
        centre = median(values.values())
        if len(values) < _PEERS or not centre:
            return
        spread = max(spread_of(list(values.values())) / centre, _QUIET)
        limit = max(_LESS, spreads_apart(len(values)) * spread)
        for (host, pair), value in values.items():
            if (centre - value) / centre >= limit:
                said = self._refs(host, pair, "gb_per_s")
                yield OddPair(host, pair, f"{value:.4g} GB/s", f"{centre:.4g} GB/s", len(values) - 1, said)

    def _refs(self, host: str, pair: Pair, what: str) -> tuple[Ref, ...]:
        of = (pl.col("host") == host) & (pl.col("a") == pair[0]) & (pl.col("b") == pair[1]) & (pl.col("what") == what)
        return refs(self._rows.filter(of).iter_rows(named=True), 1)


def _alike(of: Mapping[str, Mapping[Pair, object]]) -> list[Sequence[str]]:
    """Hosts whose matrix has the same pairs."""
    found: dict[frozenset[Pair], list[str]] = defaultdict(list)
    for host, pairs in sorted(of.items()):
        found[frozenset(pairs)].append(host)
    return list(found.values())
