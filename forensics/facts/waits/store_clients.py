"""Which store of a launch each process tried to reach, and which of them came as far as that.

Whoever connected says so when it waits there in vain or loses it, or for others at a barrier of it; and the process that holds the store
counts who came. Who
alone did not come, where at least two others did, is the odd one out: its own way to the store, or the address that it was
given, and never the host that the others reach. A name and an address may be one host, so that only what is printed alike is
compared: ports, two names, two addresses.
"""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from ipaddress import ip_address
from typing import Any, Literal, NamedTuple

import polars as pl

from forensics.assemble.starts.odd_addresses import OTHERS, REACHED
from forensics.facts.rows.event_rows import Row, detail, host_of, own_rank, refs, rows
from forensics.model.ref import Ref
from parsers.text.patterns import regex

_OTHERS = 2  # that reached the store, at least
_ADDRESS = regex(r"(?<![\w.:/-])([A-Za-z0-9][\w.-]{0,252}):(\d{4,5})(?![\w.:])")
_DIGITS = regex(r"\d+")
_WORDS = 3  # before an address, and what stands between the last of them and it
_BARRIERS = ("barrier", "store_barrier")  # at which whoever says so waits for others
_Printer = int | str  # a rank, or the file of one that does not tell it
Address = Literal["another", "the same", "unknown"]


class OddClients(NamedTuple):
    """`ranks`: who alone did not come, empty where one of them is not known; `hosts`: theirs, as far as known; `files`:
    where they say so. `target`: what they tried to reach, as printed; `reached`: what the others reached, where a line
    tells; `address`: is that another? `others`: how many came."""

    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    files: tuple[str, ...]
    target: str
    reached: str | None
    address: Address
    others: int
    refs: tuple[Ref, ...]
    is_printed: bool = False  # the others' address is what their own lines tell, whether or not they came there


def odd_clients(events: pl.DataFrame, identity: pl.DataFrame, files: pl.DataFrame) -> OddClients | None:
    """Events and `files` of one attempt → who alone did not reach the store; None where that is nobody, or where too few others did."""
    failed = [row for row in rows(events, "connect_failed") if row["code"] == "store"]
    if elsewhere := [row for row in failed if REACHED in detail(row)]:
        return _elsewhere(elsewhere, identity)
    came = [row for row in rows(events, "store_timeout", "peer_closed", "missing_members") if _came(row)]
    reached = {_printer(row): _target(row) for row in came}
    odd = [row for row in failed if _printer(row) not in reached]
    targets, who = {_target(row) for row in odd}, {_printer(row) for row in odd}
    ports = Counter(_port(target) for target in reached.values() if target)
    at_barrier = {own_rank(row) for row in came if row["kind"] == "missing_members"} - {None}
    others = max(len(at_barrier), *ports.values(), *map(_joined, rows(events, "missing_members")), 0)
    if len(targets) != 1 or others < max(_OTHERS, len(who) + 1):
        return None
    [target] = targets
    theirs = max(sorted(filter(None, reached.values())), key=lambda one: ports[_port(one)], default=None)
    theirs = theirs or _printed_by_others(files, {row["file"] for row in odd}, target)
    ranks = sorted(one for one in who if isinstance(one, int))
    address: Address = "unknown" if theirs is None else _compared(target, theirs)
    whole = tuple(ranks) if len(ranks) == len(who) else ()
    cited = refs((*odd[:1], *came))
    return _found(odd, identity, ranks=whole, target=target, reached=theirs, address=address, others=others, refs=cited)


def _found(odd: Sequence[Row], identity: pl.DataFrame, **told: Any) -> OddClients:
    """Those who print these rows, with what else is told of them."""
    hosts = {host for row in odd if (host := host_of(identity, row))}
    return OddClients(hosts=tuple(sorted(hosts)), files=tuple(sorted({row["file"] for row in odd})), **told)


def _elsewhere(odd: Sequence[Row], identity: pl.DataFrame) -> OddClients:
    """Whose own lines tell another address than the same lines of all others (assemble/starts/odd_addresses.py)."""
    told = detail(odd[0])
    return _found(
        odd, identity, ranks=tuple(sorted({rank for row in odd if (rank := own_rank(row)) is not None})), target=str(told["host"]),
        reached=str(told[REACHED]).lstrip(":"), address="another", others=int(told[OTHERS]), refs=refs(odd), is_printed=True,
    )  # fmt: skip


def _printed_by_others(files: pl.DataFrame, own: Set[str], target: str) -> str | None:
    """The one address that all other logs which tell any print in lines where those of the odd ones print the one that they tried, or
    that one itself, whatever the line says; None where none is."""
    lines = dict(files.select("file", "last_lines").drop_nulls().iter_rows())
    others = [line for file, said in lines.items() if file not in own for line in said]
    if any(target in line for line in others):
        return target
    theirs = (one for file in own for line in lines.get(file, ()) for one in _addresses(line))
    tried = {words for words, one in theirs if _port(one) == _port(target)}
    printed = {one for line in others for words, one in _addresses(line) if words in tried}
    return printed.pop() if len(printed) == 1 else None


def _addresses(line: str) -> Iterator[tuple[str, str]]:
    """(the words before an address, the address) of each that a line tells."""
    for one in _ADDRESS.finditer(line):
        yield _DIGITS.sub("#", " ".join(line[: one.start()].split(" ")[-_WORDS:])), one[0]


def _came(row: Row) -> bool:
    if row["kind"] == "missing_members":
        return row["code"] in _BARRIERS and own_rank(row) is not None
    return bool(_target(row)) and (row["kind"] == "store_timeout" or row["code"] == "store")


def _printer(row: Row) -> _Printer:
    rank = own_rank(row)
    return str(row["file"]) if rank is None else rank


def _target(row: Row) -> str:
    """`(head, 29500)`, `[::ffff:10.0.0.1]:29500` → `head:29500`, `10.0.0.1:29500`; empty where none is told."""
    host, _, port = str(detail(row).get("host") or "").replace(", ", ":").rpartition(":")
    return f"{host.strip('[]').removeprefix('::ffff:')}:{port}" if host else ""


def _port(target: str) -> str:
    return target.rpartition(":")[2]


def _joined(row: Row) -> int:
    """How many the store counted that came, its own process among them; its numbers are texts."""
    joined = str(detail(row).get("joined", ""))
    return int(joined) if row["code"] == "store_clients" and joined.isdecimal() else 0


def _compared(one: str, other: str) -> Address:
    if one == other:
        return "the same"
    alike = _is_address(one) == _is_address(other)
    return "another" if alike or _port(one) != _port(other) else "unknown"


def _is_address(target: str) -> bool:
    try:
        ip_address(target.rpartition(":")[0])
    except ValueError:
        return False
    return True
