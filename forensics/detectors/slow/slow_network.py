"""Is one host's communication longer than the others', though its ranks do not come early?

Whoever comes early to a collective waits in it; so a longer communication accuses only where the work before it was not
shorter, and where all ranks of one host show it and those of the others do not. A single rank may wait for a peer in a
group of its own, so it is never named for its waits alone.

Communicators that each lie within one host are twins where they are of one size and make the same calls: of these the odd one
out has slower links inside its host, unless one of its members comes late, for then the others wait long and it does not.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.slow import peers
from forensics.facts.durations.outliers import Outlier
from forensics.facts.rows.event_rows import reference
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.said import joined
from forensics.words import slow as words
from parsers.schema.tables import spelled

_EARLY = 0.5  # of the longer wait: so much less work before it explains it
_RANKS = 2  # of the host
_TWINS, _CALLS = 3, 10  # hosts with such a communicator; calls of each
_LONGER, _ALIKE = 1.3, 1.15  # times the median of the twins: the odd one; the others


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the host whose communication is longest."""
    found = case.slow_phases
    if found.slower:  # the others wait for that
        return ()
    place = peers.hosts(case)
    by_host: dict[tuple[str, str], list[Outlier]] = defaultdict(list)
    for one in found.waits:
        if one.sort == "wait" and one.rank in place:
            by_host[place[one.rank], one.phase].append(one)
    if twins := _odd_twin(case):
        return (twins,)
    many = (slow for slow in by_host.values() if len(slow) >= _RANKS)
    hosts = [slow for slow in many if peers.is_one_host(case, [one.rank for one in slow])]
    whole = [slow for slow in hosts if not _is_early(case, slow)]
    if not whole or len({place[slow[0].rank] for slow in whole}) > 1:
        return ()
    return (_finding(case, max(whole, key=lambda slow: slow[0].excess_ms), place),)


def _odd_twin(case: Case) -> Finding | None:
    """The host whose communicator takes longer for each call than those of all other hosts."""
    if not case.tables["operations"].height:
        return None
    columns = ("host", "comm", "pid", "kind", "seq", "duration_ms", "file", "line", "record")
    calls = case.tables["operations"].select(columns).filter(pl.col("duration_ms") > 0)
    timed = spelled(calls.drop_nulls(["host", "comm"]))
    inside = pl.col("host").n_unique().over("comm") == 1
    timed = timed.filter(inside).with_columns(size=pl.struct("host", "pid").n_unique().over("comm"))
    # The shortest of a call's members came last: what it spent is the transfer itself, without waiting.
    kinds = ("comm", "host", "kind", "size")
    shortest = timed.group_by(*kinds, "seq", maintain_order=True).agg(pl.col("duration_ms").min())
    levels = shortest.group_by(kinds, maintain_order=True).agg(
        pl.col("duration_ms").median().alias("ms"), pl.len().alias("calls")
    ).filter((pl.col("size") >= _RANKS) & (pl.col("calls") >= _CALLS))  # fmt: skip
    for twins in levels.partition_by("kind", "size"):
        if twins["host"].n_unique() < _TWINS:
            continue
        middle = float(twins["ms"].median())  # type: ignore[arg-type]
        rest = twins.filter(pl.col("ms") <= _ALIKE * middle)
        odd = twins.filter(pl.col("ms") >= _LONGER * middle)
        if odd.height == 1 and rest.height == twins.height - 1:
            return _twin_finding(odd.row(0, named=True), rest, timed)
    return None


def _twin_finding(odd: Mapping[str, Any], rest: pl.DataFrame, timed: pl.DataFrame) -> Finding:
    host, middle = str(odd["host"]), float(rest["ms"].median())  # type: ignore[arg-type]
    text = words.TWIN_TAKES_LONGER(
        host=host,
        kind=odd["kind"],
        own=f"{odd['ms']:.4g}",
        others=rest.height,
        level=f"{middle:.4g}",
        size=odd["size"],
        calls=odd["calls"],
    )
    shown = pl.concat([timed.filter(pl.col("comm") == comm).head(1) for comm in (odd["comm"], rest["comm"][0])])
    places = tuple(reference(row | {"text": row["kind"]}) for row in shown.iter_rows(named=True))
    return Finding(
        cause="straggler_network",
        domain="infrastructure",
        hosts=(host,),
        first_anomaly=FirstAnomaly(host=host, phase="comm", op=odd["kind"], signature="slow_links"),
        claims=(Claim(text, "for", places),),
        actions=(to_do("inspect_hardware", host, words.SLOWER_LINKS_INSIDE),),
        collect=(words.LINK_STATE(host=host),),
        summary=words.SLOW(what=words.LINKS_ARE_SLOWER(what=text)),
    )


def _is_early(case: Case, slow: Sequence[Outlier]) -> bool:
    """Do these ranks do less before the communication, in the measure in which they wait longer?"""
    first, ranks = slow[0], [one.rank for one in slow]
    is_then = pl.col("step").is_between(first.begin, first.end)
    work = case.phase_times.filter(is_then & pl.col("sort").is_in(["work", "host"]))
    middles = work.group_by("rank", "phase").agg(pl.col("ms").median()).group_by("rank").agg(pl.col("ms").sum())
    own = middles.filter(pl.col("rank").is_in(ranks))["ms"].median()
    others = middles.filter(~pl.col("rank").is_in(ranks))["ms"].median()
    if not isinstance(own, float) or not isinstance(others, float):
        return True  # when they came is not known
    return others - own > _EARLY * first.excess_ms


def _finding(case: Case, slow: Sequence[Outlier], place: Mapping[int, str]) -> Finding:
    first, host = slow[0], place[slow[0].rank]
    ranks = sorted(one.rank for one in slow)
    measured = [Claim(one.text, "for", one.refs) for one in case.apart if one.effect == "link" and one.host == host]
    text = words.HOST_COMMUNICATES_LONGER(
        phase=first.phase,
        host=host,
        own=f"{first.level_ms + first.excess_ms:.4g}",
        level=f"{first.level_ms:.4g}",
        percent=f"{100 * first.ratio:.0f}",
        course=peers.course(first),
    )
    whose = words.OF_RANKS(what=text, first=ranks[0], last=ranks[-1])
    return Finding(
        cause="straggler_network",
        domain="infrastructure",
        hosts=(host,),
        first_anomaly=FirstAnomaly(step=first.begin, phase="comm", op=first.phase, signature="slow_network"),
        claims=(*(peers.longer(one) for one in slow[:8]), *measured[:4]),
        actions=(to_do("inspect_network", host, words.COMMUNICATION_LONGER),),
        collect=(words.PORT_COUNTERS,),
        summary=joined((words.SLOW(what=whose), peers.price(case, slow), peers.why(measured)), " "),
    )


DETECTOR = Detector("slow_network", (), detect, "slow")
