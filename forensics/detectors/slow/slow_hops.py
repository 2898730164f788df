"""Does every hop into and out of one host bear far less than those between all other hosts, by the rates that a program measured?

Hops within a host are none of its network. Of hops that are slow at one end of a host only, nobody can say which end it is; and where
hosts have no others to be compared with, nothing is said. A port of that host that errs, or runs at a lower rate, is another observer.
"""

from collections import defaultdict
from collections.abc import Mapping

import msgspec
import polars as pl

from forensics.case import Case, Detector
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.middle import median
from forensics.model.ref import Ref
from forensics.model.said import first_clause, joined
from forensics.words import slow as words
from parsers.timing.hop_rates import HOP

_LESS, _ALIKE = 0.5, 0.75  # of what the hops between the other hosts bear: a slow one, at most; each of them, at least
_OTHERS = 2  # hops between other hosts
Hop = tuple[int, int]


class _Rates(msgspec.Struct, frozen=True):
    """Hop between two hosts → its rate at the median, and where it is shown."""

    rates: Mapping[Hop, float]
    refs: Mapping[Hop, Ref]


def _measured(case: Case) -> _Rates:
    told = case.tables["timings"].filter((pl.col("phase") == HOP) & (pl.col("value_ms") > 0))
    ends = pl.col("name").str.extract_groups(r"^(?<a>\d+)->(?<b>\d+)$").struct
    told = told.with_columns(a=ends.field("a").cast(pl.Int64), b=ends.field("b").cast(pl.Int64)).drop_nulls(["a", "b"])
    place = case.host_of_rank
    rates: defaultdict[Hop, list[float]] = defaultdict(list)
    shown: dict[Hop, Ref] = {}
    for a, b, ms, name, file, line in told.select("a", "b", "value_ms", "name", "file", "line").iter_rows():
        if a in place and b in place and place[a] != place[b]:
            rates[a, b].append(1000.0 / ms)
            shown.setdefault((a, b), Ref(file=file, line=line, text=name))
    return _Rates({hop: median(own) for hop, own in rates.items()}, shown)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the one host whose hops are all slow."""
    if not (case.tables["timings"]["phase"] == HOP).any():
        return ()
    measured, place = _measured(case), case.host_of_rank
    found = []
    for host in sorted({place[rank] for hop in measured.rates for rank in hop}):
        own = {hop: rate for hop, rate in measured.rates.items() if host in (place[hop[0]], place[hop[1]])}
        others = [rate for hop, rate in measured.rates.items() if hop not in own]
        ways = {place[hop[0]] == host for hop in own}
        level = median(others) if len(others) >= _OTHERS else 0.0
        is_apart = min(others, default=0.0) >= _ALIKE * level > 0 and max(own.values()) <= _LESS * level
        if len(ways) == 2 and is_apart:
            found.append((host, own, level))
    return (_finding(case, measured, *found[0]),) if len(found) == 1 else ()


def _finding(case: Case, measured: _Rates, host: str, own: Mapping[Hop, float], level: float) -> Finding:
    slowest = sorted(own, key=lambda hop: own[hop])
    fast = next(hop for hop in sorted(measured.rates) if hop not in own)
    text = words.HOPS_BEAR_LESS(
        host=host,
        number=len(own),
        own=f"{median(own.values()):.4g}",
        others=len(measured.rates) - len(own),
        level=f"{level:.4g}",
    )
    ports = [Claim(one.text, "for", one.refs) for one in case.apart if one.effect == "link" and one.host == host]
    return Finding(
        cause="straggler_network",
        domain="infrastructure",
        hosts=(host,),
        first_anomaly=FirstAnomaly(host=host, phase="comm", signature="slow_hops"),
        claims=(Claim(text, "for", (*(measured.refs[hop] for hop in slowest[:2]), measured.refs[fast])), *ports[:4]),
        actions=(to_do("inspect_network", host, words.COMMUNICATION_LONGER),),
        collect=() if ports else (words.PORT_COUNTERS,),
        summary=joined(
            (words.SLOW(what=text), words.MEASURED_FITS(what=first_clause(ports[0].text)) if ports else ""), " "
        ),
    )


DETECTOR = Detector("slow_hops", ("timings",), detect, "slow")
