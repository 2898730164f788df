"""Who failed by itself and explains the other ends: named, or the suspects of which one did.

Ends whose cause is told come before plain exit codes. What several raised alike is theirs, or, on most ranks, nobody's: then
the job itself is wrong. Several signals that nobody sent are each named. Several different failures: the earliest, by stamps of
the processes themselves, beyond the error of their clocks; a launcher's stamp says when it looked. Errors that several devices
report are one failure of which each may be the origin, unless a record of hardware singles one out.

Where an end is judged by its form (facts/failure_roles.py), the origin is named only if all other ranks of the job fit: they failed
as most did, waited, or were alive until they were stopped. Who does not is a suspect as well. A signal, a kill or a row of knowledge
stands, if no unclear end is known to come before it.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from forensics.assemble.clocks import Clocks
from forensics.facts.failure_roles import FailureRole
from forensics.facts.process_ends import ProcessEnd
from forensics.model.names import Reason

_ALIKE_NS = 1_000_000_000
_FITS = ("gave_up", "followed", "lost", "stopped", "ended", "quoted")
_BY_FORM = ("unclear", "lost")


class Origins(msgspec.Struct, frozen=True):
    """`ends`: of those that failed by themselves first. `is_most`: most ranks did alike. `why_not`: why none of them is named.
    `others`: ranks that may be the origin as well, of which no such end is told."""

    ends: tuple[ProcessEnd, ...]
    is_most: bool = False
    why_not: Reason | None = None
    others: tuple[int, ...] = ()


class Around(msgspec.Struct, frozen=True):
    """What origins are judged by. `job`: its ranks. `waited`: ranks that are known to have waited for others. `singled`: ranks of whose
    device a record of hardware tells."""

    roles: Mapping[int, FailureRole]
    job: frozenset[int]
    waited: frozenset[int]
    singled: frozenset[int]
    hosts: Mapping[int, str]
    clocks: Clocks


def origins(ends: Mapping[int, ProcessEnd], around: Around) -> Origins | None:
    """Ends by rank → who failed by itself first; None: nobody."""
    died = [end for end in ends.values() if end.how == "died"]
    died = [end for end in died if not end.was_stopped] or died  # alive until then: what it printed had not ended it
    told = [end for end in died if end.cause is not None] or died
    if not told:
        return None
    found = _first(told, around)
    if found.is_most or found.why_not is not None or not _is_by_form(found.ends, ends, around):
        return found
    named = {end.rank for end in found.ends}
    fitting = {rank for rank, end in ends.items() if end.how in _FITS} | around.waited
    rest = around.job - named - fitting
    return msgspec.structs.replace(found, why_not="tied_explanations", others=tuple(sorted(rest))) if rest else found


def few(ranks: Collection[int], job: Collection[int]) -> tuple[int, ...]:
    """Suspects in order; more than half of the job are none."""
    return tuple(sorted(ranks)) if 2 * len(ranks) <= len(job) or len(job) <= 2 else ()


def _first(told: Sequence[ProcessEnd], around: Around) -> Origins:
    alike = {_template(end, around.roles) for end in told}
    devices = [end for end in told if (role := around.roles.get(end.rank)) is not None and role.is_device]
    is_most = len(alike) == 1 and len(told) > 1 and 2 * len(told) > len(around.job)
    if len(devices) == len(told) > 1 and not is_most:
        singled = tuple(end for end in told if end.rank in around.singled)
        return Origins(singled) if singled else Origins(tuple(told), why_not="tied_explanations")
    if len(alike) == 1:
        return Origins(tuple(told), is_most=is_most)
    if all(end.rank not in around.roles for end in told):
        return Origins(tuple(told))
    if any(end.time_ns is None or end.by == "launcher" for end in told):
        return Origins(tuple(told), why_not="tied_explanations")
    first = _earliest(told, around)
    clocks = {_clock(end, around) for end in first}
    if len(clocks) > 1:
        return Origins(tuple(first), why_not="clock_error_exceeds_gap")
    is_one = len({_template(end, around.roles) for end in first}) == 1
    return Origins(tuple(first), why_not=None if is_one else "tied_explanations")


def _template(end: ProcessEnd, roles: Mapping[int, FailureRole]) -> str:
    role = roles.get(end.rank)
    return f"{end.cause}:{end.code}" if role is None else f"{end.cause}:{role.template}"


def _is_by_form(first: Sequence[ProcessEnd], ends: Mapping[int, ProcessEnd], around: Around) -> bool:
    """Does form decide over one of these, or over an end that they must explain?"""
    roles = [around.roles.get(end.rank) for end in first]
    unclear = [end for end in ends.values() if end.how == "unclear"]
    if all(role is None or role.by_row for role in roles):
        return any(_precedes(one, end, around) for one in unclear for end in first)
    return any(role is not None and role.by_form for role in roles) or any(end.how in _BY_FORM for end in ends.values())


def _clock(end: ProcessEnd, around: Around) -> tuple[str | None, str | None]:
    return around.hosts.get(end.rank), end.time_basis


def _earliest(stamped: Sequence[ProcessEnd], around: Around) -> list[ProcessEnd]:
    """Those that no other provably precedes, and what followed within a second by the same clock."""
    by_clock: dict[tuple[str | None, str | None], list[ProcessEnd]] = {}
    for end in stamped:
        by_clock.setdefault(_clock(end, around), []).append(end)
    heads = [min(listed, key=lambda end: (end.time_ns or 0, end.rank)) for listed in by_clock.values()]
    first = [one for one in heads if not any(_precedes(other, one, around) for other in heads)]
    return [
        end
        for listed in by_clock.values()
        for end in listed
        if any(one in listed and (end.time_ns or 0) - (one.time_ns or 0) < _ALIKE_NS for one in first)
    ]


def _precedes(one: ProcessEnd, other: ProcessEnd, around: Around) -> bool:
    if one is other or one.time_ns is None or other.time_ns is None:
        return False
    return bool(
        around.clocks.precedes(
            one.time_ns, around.hosts.get(one.rank), other.time_ns, around.hosts.get(other.rank),
            basis_a=one.time_basis, basis_b=other.time_basis,
        )
    )  # fmt: skip
