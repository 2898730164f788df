"""Whose device a driver reset for another process's sake: its error follows from that, whatever the program says of it.

    PID 4711 experienced error Guilty Lockup          PID 4713 experienced error Innocent Lockup

It holds where the driver calls another rank of that host the guilty one, and this one never.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from forensics.facts.ends.process_ends import ProcessEnd
from forensics.facts.hosts.hardware import Record
from forensics.facts.rows.event_rows import detail


def after_resets(ends: Mapping[int, ProcessEnd], records: Iterable[Record]) -> Mapping[int, ProcessEnd]:
    """Ends by rank, records of hardware → the same; what the innocent raised followed."""
    roles: defaultdict[str, dict[str | None, set[int]]] = defaultdict(lambda: defaultdict(set))
    for one in records:
        if one.rank is not None and one.counts and (role := detail(one.row).get("role")) is not None:
            roles[str(role)][one.host].add(one.rank)
    victims = {
        rank for host, own in roles["innocent"].items() if roles["guilty"][host] for rank in own - roles["guilty"][host]
    }
    return {
        rank: replace(end, how="followed", cause=None) if rank in victims and end.cause == "exception" else end
        for rank, end in ends.items()
    }
