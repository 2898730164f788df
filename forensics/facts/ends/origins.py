"""Who failed by itself and explains the other ends: named, or the suspects of which one did.

Ends whose cause is told come before plain exit codes. What several raised alike is theirs, or, on most ranks, nobody's: then
the job itself is wrong, whomever a launcher stopped for the first of them. Several signals that nobody sent are each named. Several different failures: the earliest, by stamps of
the processes themselves, beyond the error of their clocks; a launcher's stamp says when it looked. What is stamped after a scheduler
began to end the processes followed from that, if anybody failed otherwise. Errors that several devices
report are one failure of which each may be the origin, unless a record of hardware singles one out; so is what one reports of a link,
which has two ends.

Where an end is judged by its form (facts/ends/failure_roles.py), the origin is named only if all other ranks of the job fit: they failed
as most did, waited, or were alive until they were stopped; where the origin's own error is known by its class and its place, also who
raised an unknown one out of a call that waits for others, or like others, if not before. Who does not fit is a suspect as well. A signal, a kill or a row of knowledge
stands, if no unclear end is known to come before it.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec
import polars as pl

from forensics.assemble.who.clocks import Clocks
from forensics.facts.ends.failure_roles import FailureRole
from forensics.facts.ends.process_ends import By, ProcessEnd, end_of
from forensics.facts.rows.event_rows import detail
from forensics.model.hosts import short_host
from forensics.model.names import Reason
from parsers.text.stamps import SECOND_NS

_ALIKE_NS = 1_000_000_000
_FITS = ("stopped", "ended", "quoted")  # beside those that waited
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
    device a record of hardware tells. `stop`: when a scheduler began to end the processes: moment, host, basis."""

    roles: Mapping[int, FailureRole]
    job: frozenset[int]
    waited: frozenset[int]
    singled: frozenset[int]
    hosts: Mapping[int, str]
    clocks: Clocks
    stop: tuple[int, str | None, str] | None = None
    told: Mapping[int, ProcessEnd] = msgspec.field(default_factory=dict)  # who says that it got a signal to stop


def origins(ends: Mapping[int, ProcessEnd], around: Around) -> Origins | None:
    """Ends by rank → who failed by itself first; None: nobody."""
    raised = [end for end in ends.values() if end.how == "died"]
    # Alive until then: what it printed had not ended it.
    died = [end for end in raised if not end.was_stopped and not _is_after_the_stop(end, around)] or raised
    told = _not_killed_with_the_rest([end for end in died if end.cause is not None] or died, around)
    if not told:
        return None
    alike = {_template(end, around.roles) for end in told}
    same = [end for end in raised if end.cause is not None and _template(end, around.roles) in alike]
    # Also those whom the launcher stopped for the first of them.
    if len(alike) == 1 < len(same) and 2 * len(same) > len(around.job):
        return Origins(tuple(same), is_most=True)
    found = _first(told, around)
    if found.why_not is None and (failed := _before_kills(told, ends)):
        others = {*found.others, *failed}
        return msgspec.structs.replace(found, why_not="tied_explanations", others=tuple(sorted(others)))
    if found.is_most or found.why_not is not None or not _is_by_form(found.ends, ends, around):
        return found
    named = {end.rank for end in found.ends}
    fitting = {rank for rank, end in ends.items() if end.waited or end.was_stopped or end.how in _FITS} | around.waited
    fitting |= _left_a_wait(found.ends, ends, around)
    fitting |= _stopped_later(found.ends, around, fitting, ends) - ends.keys()
    rest = around.job - named - fitting
    return msgspec.structs.replace(found, why_not="tied_explanations", others=tuple(sorted(rest))) if rest else found


def scheduled_stop(events: pl.DataFrame, job_hosts: frozenset[str]) -> tuple[int, str | None, str] | None:
    """Events of one attempt → when a scheduler first said that it ends the processes, on which host (that of the job, if it has one
    only), by which clock."""
    told = events.filter((pl.col("kind") == "scheduler") & (pl.col("code") == "cancelled")).drop_nulls("time_ns")
    if not told.height:
        return None
    row = told.sort("time_ns").row(0, named=True)
    where = row["host"] or detail(row).get("where") or (min(job_hosts) if len(job_hosts) == 1 else None)
    host = short_host(str(where)) if where else None
    return row["time_ns"], host, row["time_basis"] or "utc"


def told_to_stop(events: pl.DataFrame) -> dict[int, ProcessEnd]:
    """Events of one attempt, ranks global → the ranks that got a signal to stop, by their own word or that of their launcher, when first."""
    is_told = (pl.col("kind") == "other") & (pl.col("code") == "told_to_stop")
    is_sent = (pl.col("kind") == "closing_signal") & (pl.col("code") == "SIGTERM") & pl.col("detail").is_null()
    rows = events.filter(((is_told | is_sent) & (pl.col("rank_space") == "global")).fill_null(False)).sort(
        "time_ns", descending=True, nulls_last=False
    )
    found = {}
    for row in rows.iter_rows(named=True):
        by: By = "launcher" if row["kind"] == "closing_signal" else "process"
        if row["rank"] is not None and (by == "launcher" or detail(row).get("about") == "printer"):
            found[row["rank"]] = end_of(row["rank"], row, "stopped", by)
    return found


def _stopped_later(
    first: Sequence[ProcessEnd], around: Around, fitting: Collection[int], ends: Mapping[int, ProcessEnd]
) -> set[int]:
    """Ranks that were alive until a signal came which those that failed first, as the only ones beside those that fit, did not hear of any more.
    What launchers stop may end for that: their word counts where somebody lost another one before."""
    waited = any(end.waited for end in ends.values())
    told = {rank: stop for rank, stop in around.told.items() if stop.by == "process" or waited}
    is_before = any(_precedes(stop, end, around) for stop in told.values() for end in first)
    others = around.job - {end.rank for end in first} - {*fitting}
    is_whole = told.keys() >= others and not any(end.rank in told for end in first)
    return {*told} if is_whole and not is_before else set()


def _not_killed_with_the_rest(told: Sequence[ProcessEnd], around: Around) -> Sequence[ProcessEnd]:
    """Where most of those that ended did by SIGKILL and the rest by something of its own, whoever started them killed the most for that: if these
    are all of the job; or if a row of knowledge proves what the rest died of, and the launcher tells of every kill behind that end."""
    own = [end for end in told if end.code != "SIGKILL"]
    killed = [end for end in told if end.code == "SIGKILL"]
    if not own or len(killed) <= len(own):
        return told
    proven = all((role := around.roles.get(end.rank)) is not None and role.by_row for end in own)
    is_behind = proven and all(_is_told_behind(own, end) for end in killed)
    return own if is_behind or {end.rank for end in told} >= around.job else told


def _before_kills(told: Sequence[ProcessEnd], ends: Mapping[int, ProcessEnd]) -> list[int]:
    """Where several were killed by nobody knows whom, the ranks that a launcher saw fail for no known reason before all of these: it may have
    killed the rest for that."""
    if len(told) == 1 or any(end.code != "SIGKILL" for end in told):
        return []
    failed = [end for end in ends.values() if end.how == "failed"]
    return [end.rank for end in failed if all(_is_told_behind([end], one) for one in told)]


def _is_told_behind(first: Sequence[ProcessEnd], end: ProcessEnd) -> bool:
    """Does a launcher's line tell of this end, in a file that tells of all of these before?"""
    at = end.refs[-1] if end.by == "launcher" and end.refs else None
    if at is None or at.line is None:
        return False
    lines = [[ref.line for ref in one.refs if ref.file == at.file and ref.line is not None] for one in first]
    return all(own and max(own) < at.line for own in lines)


def few(ranks: Collection[int], job: Collection[int]) -> tuple[int, ...]:
    """Suspects in order; more than half of the job are none."""
    return tuple(sorted(ranks)) if 2 * len(ranks) <= len(job) or len(job) <= 2 else ()


def _first(told: Sequence[ProcessEnd], around: Around) -> Origins:
    alike = {_template(end, around.roles) for end in told}
    devices = [end for end in told if (role := around.roles.get(end.rank)) is not None and role.is_device]
    is_most = len(alike) == 1 and len(told) > 1 and 2 * len(told) > len(around.job)
    links = [end for end in devices if around.roles[end.rank].is_link]
    if len(devices) == len(told) and (len(told) > 1 or links) and not is_most:
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


def _left_a_wait(first: Sequence[ProcessEnd], ends: Mapping[int, ProcessEnd], around: Around) -> set[int]:
    """Ranks that an unknown error took out of a call that waits for others, or that hit several of them alike, where what the first
    raised is known to be their own: that nobody else brings about, and it explains the rest. Who is known to have failed before is
    none."""
    own = [around.roles.get(end.rank) for end in first]
    if any(role is None or role.by_form or role.is_device for role in own):
        return set()
    unclear = {rank: around.roles[rank] for rank, end in ends.items() if end.how == "unclear"}
    alike = Counter(role.template for role in unclear.values())
    return {
        rank
        for rank, role in unclear.items()
        if (role.is_wait or alike[role.template] > 1) and not any(_precedes(ends[rank], one, around) for one in first)
    }


def _is_after_the_stop(end: ProcessEnd, around: Around) -> bool:
    """Does its own stamp say that it failed when a scheduler was ending the processes? Of a stop whole seconds are told."""
    if around.stop is None or end.time_ns is None or end.by == "launcher":
        return False
    at, host, basis = around.stop
    order = around.clocks.precedes(
        at + SECOND_NS, host, end.time_ns, around.hosts.get(end.rank), basis_a=basis, basis_b=end.time_basis
    )
    return order is True


def _precedes(one: ProcessEnd, other: ProcessEnd, around: Around) -> bool:
    if one is other or one.time_ns is None or other.time_ns is None:
        return False
    return bool(
        around.clocks.precedes(
            one.time_ns, around.hosts.get(one.rank), other.time_ns, around.hosts.get(other.rank),
            basis_a=one.time_basis, basis_b=other.time_basis,
        )
    )  # fmt: skip
