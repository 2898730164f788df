"""The mesh of links inside the hosts: a matrix per class of hosts that are linked alike, and what was measured of it."""

from collections import defaultdict

from forensics.case import Case
from forensics.facts.hosts.pair_links import Pair
from forensics.model.drawn import LinkMesh
from forensics.model.middle import median

_DEVICES, _MESHES, _HOSTS = 24, 6, 40


def links(case: Case) -> list[LinkMesh]:
    """The rarest class first; of hosts alike the median of what was measured, or the lowest where one stands apart."""
    pairs = case.pair_links
    classes: dict[tuple[tuple[Pair, str], ...], list[str]] = defaultdict(list)
    odd = {(one.host, one.pair) for one in pairs.odd}
    for host in sorted({*pairs.links, *pairs.speeds}):
        apart = [(pair, "apart") for where, pair in sorted(odd) if where == host]
        classes[(*sorted(pairs.links.get(host, {}).items()), *apart)].append(host)
    found = [_mesh(case, hosts) for hosts in classes.values()]
    return sorted(found, key=lambda one: (one.size, one.hosts))[:_MESHES]


def _mesh(case: Case, hosts: list[str]) -> LinkMesh:
    named, speeds = case.pair_links.links.get(hosts[0], {}), [case.pair_links.speeds.get(host, {}) for host in hosts]
    devices = list(dict.fromkeys(name for pair in (*named, *speeds[0]) for name in pair))[:_DEVICES]
    odd = {one.pair for one in case.pair_links.odd if one.host in hosts}

    def speed(a: str, b: str) -> float | None:
        values = [of[a, b] for of in speeds if (a, b) in of]
        return float(f"{median(values):.4g}") if values else None

    return LinkMesh(
        hosts=hosts[:_HOSTS],
        size=len(hosts),
        devices=devices,
        links=[["" if a == b else named.get((a, b)) or named.get((b, a), "") for b in devices] for a in devices],
        gb_per_s=[[None if a == b else speed(a, b) for b in devices] for a in devices],
        odd=[f"{a}–{b}" for a, b in sorted(odd)],
    )
