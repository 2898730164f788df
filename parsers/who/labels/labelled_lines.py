"""Rows of `ranks` of whom labels tell, which were learnt of the lines of a file."""

from collections.abc import Iterator, Mapping
from typing import Any

from parsers.schema.labels import Labels, number_of, rank_of
from parsers.who.labels.joins import spoken
from parsers.who.lines.beginnings import Begun
from parsers.who.told.told_names import host_and_number


def labelled(said: Begun, labels: Mapping[str, Labels]) -> Iterator[dict[str, Any]]:
    """The first line of each rank in each file whose labels tell it."""
    told: set[tuple[str, int]] = set()
    for file, own in labels.items():
        for one in said.get(file, ()):
            label = number_of(one.labels, own.ranks)
            rank = one.line.task if label is None and own.tasks else label
            who = spoken(one.line, one.heads, None, None)
            held = {slot: value for slot, (value, _) in who.slots.items()}
            rank = rank_of(held, own.joins) if rank is None else rank
            if rank is not None and (file, rank) not in told:
                told.add((file, rank))
                place = {"file": file, "line": one.number, "how": "label", "local_rank": one.line.local_rank}
                alone = (held.get(form) for (form,) in (join.key for join in own.joins if len(join.key) == 1))
                name = next((name for name in alone if name and not name.isdigit()), None)
                host, pid = host_and_number(name or "") or (one.line.host, who.pid)
                yield {"rank": rank, "host": host, "pid": pid, "name": name} | place
