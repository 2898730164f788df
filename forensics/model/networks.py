"""The graphs that a report hands out."""

from typing import Any

import msgspec


class Networks(msgspec.Struct, frozen=True):
    """`waits`, an nx.DiGraph: nodes ("rank", r) with their status and ("op", id) with group, kind and seq; an edge from a rank to
    the operation that holds it, from an operation to a rank that it still needs, with `state`, whether it is `certain`, and file
    and record of what shows it.

    `names`, an nx.MultiGraph: ("rank", r) beside everything that it is said to be, ("pid", "4711"), ("host", "node7"),
    ("file", "rank3.log") …, an edge a statement: `how`, `file`, `line`, and how many `times`. ("rank", None) are processes of
    which nobody tells the rank."""

    waits: Any
    names: Any
