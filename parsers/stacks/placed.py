"""Of which place the stacks in one file are, by the lines that stand above them, and whose they are where that is one process's.

    === trainer-1-2-kl7d7  03:31:18Z ===          a pod of one process, which a start line or a document calls rank 6
    Process 14: python -m train

What the parser of a stack reads of its headings goes before: nothing is asked where a row tells a rank or a host. A place at which two processes were
seen is neither's name.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, count, groupby
from typing import Any

import polars as pl

from parsers.forms.headed import places_of_lines
from parsers.schema.parser import Source
from parsers.text.patterns import regex

_NUMBER = regex(r"[-_.]?\d+\Z")


def place(rows: list[dict[str, Any]], source: Source, lines: Sequence[str]) -> None:
    """Rows of `stacks` of one file, in order, and its lines: gives the rows their host, rank and snapshot."""
    if source.rank is not None or source.local_rank is not None or any(row.get("rank") is not None for row in rows):
        return
    if not any(row.get("host") not in (None, source.host) for row in rows):
        hosts = _hosts(rows, source, lines)
        if not hosts:
            return
        for row in rows:
            row["host"] = hosts.get(row["line"], row.get("host"))
    _name(rows, source)
    seen: defaultdict[tuple[Any, ...], count[int]] = defaultdict(count)
    for row in rows:
        thread = (row.get("rank"), row.get("host"), row.get("pid"), row["thread"])
        row["snapshot"] = next(seen[thread]) if row["thread"] is not None else 0


def once_by_file(lines: pl.DataFrame) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """The lines of each file, each once: one may come as the line before another, too."""
    once = lines.unique(["file", "line"], keep="first", maintain_order=True)
    return groupby(once.iter_rows(named=True), key=lambda row: str(row["file"]))


def _hosts(rows: Sequence[dict[str, Any]], source: Source, lines: Sequence[str]) -> dict[int, str]:
    """Line → its place. Words that nobody calls a place, or below which the same processes come again, tell moments, or parts of a job, its ranks among them."""
    hosts = places_of_lines(lines, [row["line"] for row in rows])
    names = source.labels.names
    if all(names.is_known(host) for host in hosts.values()):
        return hosts
    shown: defaultdict[str, set[int | None]] = defaultdict(set)
    for row in rows:
        if row["line"] in hosts and row.get("pid") is not None:
            shown[hosts[row["line"]]].add(row["pid"])
    is_again = any(2 * len(one & other) > min(len(one), len(other)) for one, other in combinations(shown.values(), 2))
    are_names = all(any(map(str.isdigit, host)) for host in hosts.values())
    words = {form.word for form in source.labels.ranks} - {""}  # before numbers that are known to be of ranks: `TP3`
    are_ranks = any(_NUMBER.sub("", host) in words for host in hosts.values())
    return {} if is_again or are_ranks or not are_names or source.host is not None else hosts


def _name(rows: Sequence[dict[str, Any]], source: Source) -> None:
    """Ranks of places of one process."""
    processes: defaultdict[str, set[int | None]] = defaultdict(set)
    for row in rows:
        if row.get("host") is not None and row.get("parent_pid") is None:
            processes[row["host"]].add(row.get("pid"))
    ranks = {host: source.labels.names.alone(host) for host, own in processes.items() if len(own) == 1}
    told = [rank for rank in ranks.values() if rank is not None]
    if len({*told}) < len(told):
        return  # two places are one rank's
    for row in rows:
        row["rank"] = ranks.get(row["host"]) if row.get("host") is not None else None
