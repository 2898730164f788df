"""Where the hosts of the job stand: the smallest places of each sort, those with hosts in question first."""

from forensics.case import Case
from forensics.model.drawn import LocationRow
from forensics.model.finding import Finding

_ROWS, _HOSTS = 60, 40


def locations(case: Case, finding: Finding) -> list[LocationRow]:
    """A row per place; places that hold the same hosts are told once, and one that holds all of them is left out."""
    asked = case.hosts_of(finding)
    odd = {one.host for one in case.apart if one.host}
    placed = {host for things in case.locations.hosts.values() for host, _ in things}
    alike: dict[frozenset[str], list[str]] = {}
    for (sort, name), things in sorted(case.locations.hosts.items()):
        hosts = frozenset(host for host, _ in things)
        if hosts < placed:
            alike.setdefault(hosts, []).append(f"{sort} {name}")
    order = sorted(alike.items(), key=lambda item: (-len(item[0] & asked), -len(item[0] & odd), len(item[0]), item[1]))
    rows = []
    for hosts, names in order[:_ROWS]:
        shown, own, apart = sorted(hosts)[:_HOSTS], sorted(hosts & asked), sorted(hosts & odd)
        rows.append(LocationRow(places=names, size=len(hosts), hosts=shown, asked=own, apart=apart))
    return rows
