"""Which process of the job its host shows held, and none of its like: by tables of processes, whether or not anybody tells its rank.

Processes that run one program are of a kind; where a process forks others of it, it alone is. Of a kind of two and more one that a signal has stopped, that a
tracer holds in each look, or that is dead is unlike the others; one that sleeps in the kernel's function of a lock or of storage is so of three and more, for every
process does that for a moment. Most of a kind is the job as it is kept, or over. The job's is the kind that others know by its pids, else the largest.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import polars as pl

from forensics.facts.rows.event_rows import reference
from forensics.facts.waits.held_processes import Held, held_in_looks
from forensics.facts.waits.stacks import SAMPLERS, classify, to_frames
from forensics.model.hosts import short_host
from forensics.model.names import Site
from forensics.model.ref import Ref
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_FEWEST = 3  # of a kind, one of which sleeps in the kernel
_PAIR = 2  # of a kind, one of which runs nothing any more
_BUSY_S = 300  # of CPU that others of its kind used between two looks: longer than a write takes
_DIGITS = regex(r"\d+")
_SLEEPS: Mapping[str, Site] = {"lock": "lock", "storage_io": "storage_io"}
Key = tuple[int | None, str | None, int | None]  # a rank; else host and pid


class HeldAlone(msgspec.Struct, frozen=True):
    """`others`: how many processes of its kind are not held. `looks`: how many of one tool show it so."""

    how: Held | Literal["gone"]
    site: Site
    rank: int | None
    host: str | None
    pid: int | None
    others: int
    looks: int
    refs: tuple[Ref, ...]
    is_idle: bool = False  # it has used no CPU between two looks, while its like used much


def held_alone(tables: Tables) -> tuple[HeldAlone, ...]:
    """Tables of one attempt → the processes of the job that are held while others of its kind are not; else who alone is gone from its host."""
    stacks = tables["stacks"]
    told = stacks.filter(pl.col("source").is_in([*SAMPLERS, "kernel"]) & pl.col("is_main").fill_null(False))
    if not told["program"].count():
        return ()
    looks: defaultdict[Key, list[dict[str, Any]]] = defaultdict(list)
    for row in told.sort("file", "snapshot", "line").iter_rows(named=True):
        looks[_key(row)].append(row)
    kinds: defaultdict[str, list[Key]] = defaultdict(list)
    for key, own in _joined(looks).items():
        program = max((row["program"] for row in own if row["program"]), key=len, default=None)
        if program is not None and not any(row["parent_pid"] is not None for row in own):
            kinds[_DIGITS.sub("#", program)].append(key)
    known = _known(tables)
    told_of = [[key for key in keys if key[0] is not None or key[2] in known] for keys in kinds.values()]
    # What it forks runs its program, too: where others tell enough of the job's own, only these count.
    counted = [some if len(some) >= _FEWEST else keys for some, keys in zip(told_of, kinds.values(), strict=True)]
    sized = sorted(zip(told_of, counted, strict=True), key=lambda one: (bool(one[0]), len(one[1])), reverse=True)
    is_own = bool(sized) and not _are_forked(sized[0][1], tables["stacks"])
    return (_alone(sized[0][1], looks) if is_own else ()) or _gone(tables, told)


def _gone(tables: Tables, told: pl.DataFrame) -> tuple[HeldAlone, ...]:
    """The only process of the job that a later look at its host does not show any more, while it shows the others whose numbers were told."""
    ended = {*tables["events"].filter(pl.col("kind") == "exit")["pid"].drop_nulls().to_list()}
    known: dict[tuple[str, int], dict[str, Any]] = {}
    for row in tables["ranks"].drop_nulls(["host", "pid"]).sort("file", "line").iter_rows(named=True):
        known.setdefault((short_host(row["host"]), row["pid"]), row)
    shown: defaultdict[str, set[int]] = defaultdict(set)
    for host, pid in told.filter(pl.col("source") != "kernel").select("host", "pid").drop_nulls().iter_rows():
        shown[short_host(host)].add(pid)
    there = {host for host, pid in known if pid in shown[host]}
    missing = [one for one in known if one[0] in there and one[1] not in shown[one[0]]]
    others = [one for one in known if one[1] in shown[one[0]]]
    beside = sum(host == missing[0][0] for host, _ in others) if len(missing) == 1 else 0
    if beside < _PAIR or len(others) < _FEWEST or missing[0][1] in ended:
        return ()
    row = known[missing[0]]
    if row["rank"] is not None and any(known[one]["rank"] == row["rank"] for one in others):
        return ()  # it was begun anew
    looked = told.filter(pl.col("host").map_elements(short_host, pl.String) == missing[0][0]).sort("file", "line")
    refs = (
        reference(row | {"text": f"pid {row['pid']}: {row['name'] or row['how']}"}),
        *(reference(one) for one in looked.tail(1).iter_rows(named=True)),
    )
    return (HeldAlone("gone", "unknown", row["rank"], row["host"], row["pid"], len(others), 1, refs),)


def _key(row: Mapping[str, Any]) -> Key:
    return (row["rank"], None, None) if row["rank"] is not None else (None, row["host"], row["pid"])


def _are_forked(kind: Sequence[Key], stacks: pl.DataFrame) -> bool:
    """Is none of them among the processes whose stacks were taken on their hosts? Then a table shows what these have forked."""
    hosts = {key[1] for key in kind if key[1] is not None}
    is_stack = ~pl.col("source").is_in([*SAMPLERS, "kernel", "traceback"]) & pl.col("host").is_in(sorted(hosts))
    taken = {*stacks.filter(is_stack)["pid"].drop_nulls().to_list()}
    return bool(taken) and all(key[0] is None for key in kind) and taken.isdisjoint(key[2] for key in kind)


def _joined(looks: dict[Key, list[dict[str, Any]]]) -> dict[Key, list[dict[str, Any]]]:
    """With what is told of a pid without host beside the one process that has it."""
    for key in [key for key in looks if key[0] is None and key[1] is None]:
        same = [one for one, own in looks.items() if one != key and any(row["pid"] == key[2] for row in own)]
        if len(same) == 1:
            looks[same[0]] += looks.pop(key)
    return looks


def _known(tables: Tables) -> set[int | None]:
    """Numbers of processes that anybody but tables of processes tells of the job."""
    stacks = tables["stacks"].filter(~pl.col("source").is_in([*SAMPLERS, "kernel"]))
    return {*tables["ranks"]["pid"].drop_nulls().to_list(), *stacks["pid"].drop_nulls().to_list()}


def _alone(kind: Sequence[Key], looks: Mapping[Key, list[dict[str, Any]]]) -> tuple[HeldAlone, ...]:
    found = []
    for key in kind:
        states = [row for row in looks[key] if row["status"] is not None]
        if states and (held := held_in_looks(states)) is not None:
            site: Site = "unknown" if held.how == "dead" else "unresponsive"
            found.append((key, held.how, site, _looks(states), held.refs))
        elif (sleeps := _sleep(looks[key])) is not None:
            found.append((key, "blocked", *sleeps))
    most = len(kind) - len(found)
    stopped = [one for one in found if one[1] != "blocked"]
    chosen = stopped or found
    enough = (len(kind) >= (_PAIR if stopped else _FEWEST)) and (2 * len(found) < len(kind) or len(kind) == _PAIR)
    if not enough or not most:
        return ()
    used = {key: _used(looks[key]) for key in kind}
    busy = sum((used[key] or 0) >= _BUSY_S for key in kind)
    return tuple(
        HeldAlone(
            how, site, key[0], looks[key][0]["host"], looks[key][0]["pid"], most, number, refs,
            is_idle=used[key] == 0 and busy >= _PAIR,
        )
        for key, how, site, number, refs in chosen
    )  # fmt: skip


def _used(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Seconds of CPU between the first look and the last; None of one look."""
    told = [row["cpu_s"] for row in rows if row["cpu_s"] is not None]
    return max(told) - min(told) if len(told) > 1 else None


def _sleep(looks: Sequence[Mapping[str, Any]]) -> tuple[Site, int, tuple[Ref, ...]] | None:
    """The site of the kernel's functions that it sleeps in, where all looks that tell one tell the same."""
    told = [(row, classify(to_frames(row["frames"])).site) for row in looks if row["frames"]]
    sites = {site for _, site in told}
    if len(sites) != 1 or (site := _SLEEPS.get(min(sites))) is None or any(row["status"] == "running" for row in looks):
        return None
    refs = tuple(
        reference(dict(row) | {"text": f"pid {row['pid']}: {row['frames'][0]['function']}"}) for row, _ in told[-2:]
    )
    return site, _looks([row for row, _ in told]), refs


def _looks(rows: Sequence[Mapping[str, Any]]) -> int:
    return max(Counter(str(row["source"]) for row in rows).values())
