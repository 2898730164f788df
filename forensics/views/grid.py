"""In which state each rank is, and which ranks each host holds."""

from forensics.case import Case
from forensics.model.drawn import GridCell, GridHost
from forensics.model.finding import Finding
from forensics.model.names import RankState
from forensics.model.texts import ranges


def state_of(case: Case, finding: Finding, rank: int) -> RankState:
    """Named, suspected, silent, waiting, or nothing of these."""
    if rank in finding.ranks or rank in finding.cycle:
        return "dead" if rank in case.ends and case.ends[rank].how == "died" else "culprit"
    if rank in finding.suspect_ranks:
        return "suspect"
    if rank not in case.seen:
        return "no_data"
    if case.waits is not None and case.waits.status.get(rank) in ("held", "vague"):
        return "waiting"
    return "ok"


def grid(case: Case, finding: Finding) -> tuple[list[GridCell], list[GridHost]]:
    """Ranks of each state, and of each host."""
    everyone = sorted(case.expected | case.seen | set(finding.ranks) | set(finding.suspect_ranks))
    by_state: dict[RankState, list[int]] = {}
    for rank in everyone:
        by_state.setdefault(state_of(case, finding, rank), []).append(rank)
    cells = [GridCell(state=state, ranks=ranges(ranks)) for state, ranks in sorted(by_state.items())]
    hosts: dict[str, list[int]] = {}
    for rank, host in case.identity.select("rank", "host").iter_rows() if case.identity.height else ():
        if host:
            hosts.setdefault(host, []).append(rank)
    return cells, [GridHost(host=host, ranks=ranges(ranks)) for host, ranks in sorted(hosts.items())]
