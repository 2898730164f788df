"""In which state each rank is, and which ranks each host holds."""

from collections.abc import Iterable

from forensics.case import Case
from forensics.model.drawn import GridCell, GridHost
from forensics.model.finding import Finding
from forensics.model.names import RankState
from forensics.model.texts import ranges


def state_of(case: Case, finding: Finding, rank: int) -> RankState:
    """Named, suspected, silent, waiting, ended otherwise than well (whoever or whatever ended it), or nothing of these."""
    if rank in finding.ranks or rank in finding.cycle:
        return "dead" if rank in case.ends and case.ends[rank].how == "died" else "culprit"
    if rank in finding.suspect_ranks:
        return "suspect"
    if rank not in case.seen:
        return "no_data"
    how = case.ends[rank].how if rank in case.ends else None
    if case.waits.status.get(rank) in ("held", "vague") or how == "gave_up":
        return "waiting"
    return "ok" if how in (None, "ended") else "ended"


def everyone(case: Case, finding: Finding) -> list[int]:
    """Ranks that the job should have, that spoke, or that the finding is about."""
    return sorted(case.expected | case.seen | set(finding.ranks) | set(finding.suspect_ranks))


def grid(case: Case, finding: Finding) -> tuple[list[GridCell], list[GridHost]]:
    """Ranks of each state, and of each host."""
    ranks = everyone(case, finding)
    by_state: dict[RankState, list[int]] = {}
    for rank in ranks:
        by_state.setdefault(state_of(case, finding, rank), []).append(rank)
    cells = [GridCell(state=state, ranks=ranges(ranks)) for state, ranks in sorted(by_state.items())]
    hosts: dict[str, list[int]] = {}
    for rank, host in case.identity.select("rank", "host").iter_rows() if case.identity.height else ():
        if host:
            hosts.setdefault(host, []).append(rank)
    place_lost(hosts, ranks)
    return cells, [GridHost(host=host, ranks=ranges(ranks)) for host, ranks in sorted(hosts.items())]


def place_lost(hosts: dict[str, list[int]], ranks: Iterable[int]) -> None:
    """Adds ranks whose host is not known to the host that holds their block, where every host holds a block of its own:
    as many ranks as the largest, numbered without a gap."""
    size = max((len(own) for own in hosts.values()), default=0)
    blocks = {host: {rank // size for rank in own} for host, own in hosts.items()}
    taken = [block for own in blocks.values() for block in own]
    if size < 2 or len(taken) != len(set(taken)) or any(len(own) != 1 for own in blocks.values()):
        return
    host_of = {block: host for host, own in blocks.items() for block in own}
    placed = {rank for own in hosts.values() for rank in own}
    for rank in ranks:
        if rank not in placed and rank // size in host_of:
            hosts[host_of[rank // size]].append(rank)
