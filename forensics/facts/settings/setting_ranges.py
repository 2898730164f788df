"""Settings whose value lies out of the range that their documentation gives them: they cannot work as they were meant.

Ranges: NCCL_IB_TIMEOUT 1-22 (a packet is sent again after 4.096 µs · 2^value, NCCL_IB_RETRY_CNT times), NCCL_IB_RETRY_CNT
0-7 (three bits). Sources: NCCL's documentation of its environment variables; InfiniBand specification 1.4, 9.7.6.1.3.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import polars as pl

from forensics.facts.rows.event_rows import reference
from forensics.model.hosts import short_host
from forensics.model.names import Cause
from forensics.model.ref import Ref
from forensics.model.said import Said, joined
from forensics.model.texts import first_of, ranks_text
from forensics.words import settings as words
from parsers.text.patterns import regex

_SHOWN = 3
_WHOLE = regex(r"-?\d{1,9}")


class Range(NamedTuple):
    """`causes`: which a value out of it may be behind; null: a wait of which nobody knows the cause."""

    low: int
    high: int
    causes: frozenset[Cause | None]


_TRANSFERS: frozenset[Cause | None] = frozenset(["network_fault", "straggler_network", "kernel_stuck", None])
RANGES: Mapping[str, Range] = {
    f"{library}_IB_{name}": Range(low, high, _TRANSFERS)
    for library in ("NCCL", "MCCL")
    for name, low, high in (("TIMEOUT", 1, 22), ("RETRY_CNT", 0, 7))
}


class OutOfRange(NamedTuple):
    """`holders`: who has it. `others`: what others have, in words; empty where nobody has another."""

    name: str
    value: str
    holders: Said
    others: Said
    refs: tuple[Ref, ...]

    @property
    def text(self) -> Said:
        """ "NCCL_IB_TIMEOUT is 23 on node-01 (its range is 1-22); elsewhere it is 22"."""
        low, high, _ = RANGES[self.name]
        form = words.OUT_OF_RANGE_ELSEWHERE if self.others else words.OUT_OF_RANGE
        return form(name=self.name, value=self.value, holders=self.holders, low=low, high=high, others=self.others)


def is_out_of_range(name: str, value: str) -> bool:
    """Only of what has a range, and of whole numbers."""
    within = RANGES.get(name)
    return within is not None and _WHOLE.fullmatch(value) is not None and not within.low <= int(value) <= within.high


def out_of_range(settings: pl.DataFrame, file_hosts: Mapping[str, str | None], cause: Cause | None) -> list[OutOfRange]:
    """Table of settings, file → host → values that cannot work and that may be behind the cause, by name and value."""
    names = [name for name, one in RANGES.items() if cause in one.causes]
    rows = settings.filter(pl.col("name").is_in(names) & pl.col("value").is_not_null()).sort("file", "line", "record")
    found: dict[tuple[str, str], list[Mapping[str, object]]] = {}
    values: dict[str, set[str]] = {}
    for row in rows.iter_rows(named=True):
        name, value = str(row["name"]), str(row["value"]).strip()
        values.setdefault(name, set()).add(value)
        if is_out_of_range(name, value):
            found.setdefault((name, value), []).append(row)
    return [
        OutOfRange(
            name, value, _holders(those, file_hosts), joined(sorted(values[name] - {value})[:_SHOWN], " or "),
            (reference({**those[0], "text": f"{name}={value}"}),),
        )
        for (name, value), those in sorted(found.items())
    ]  # fmt: skip


def _holders(rows: Collection[Mapping[str, object]], file_hosts: Mapping[str, str | None]) -> Said:
    """Their hosts, where each is known; else their ranks, else the files."""
    hosts = [str(row["host"] or file_hosts.get(str(row["file"])) or "") for row in rows]
    if all(hosts):
        return first_of(list(dict.fromkeys(map(short_host, hosts))), _SHOWN)
    ranks: Iterable[object] = [row["rank"] for row in rows]
    if all(rank is not None for rank in ranks):
        return ranks_text([int(str(rank)) for rank in ranks])
    return first_of(list(dict.fromkeys(str(row["file"]) for row in rows)), _SHOWN)
