"""Which pod or host took the place of which, by the word of whoever launches them: also where neither left a rank.

DLRover's master names the old pod and the new one. Kubernetes tells on which node it put a pod; a pod that is put on another
node than before has moved, which is told only where its events carry their time.
"""

from typing import NamedTuple

import polars as pl

from forensics.facts.rows.event_rows import Row, detail, reference, rows
from forensics.model.ref import Ref
from forensics.model.said import Said
from forensics.words import facts as words

_POD = "pod/"


class Relaunch(NamedTuple):
    """`new`: null where only the old one is named. `who`: what it is, beside the two names."""

    old: str
    new: str | None
    who: str
    ref: Ref
    time_ns: int | None
    basis: str | None

    @property
    def text(self) -> Said:
        """ "job-worker-8 in place of job-worker-3"."""
        return (words.IN_PLACE_OF if self.new else words.ANEW)(new=self.new, old=self.old)


def relaunches(events: pl.DataFrame) -> list[Relaunch]:
    """Events → who was launched in place of whom, by place, each once."""
    said = [row for row in rows(events, "membership") if row["code"] == "relaunch"]
    found = [one for row in said if (one := _of_launcher(row)) is not None] + _moved(events)
    return list({(one.old, one.new): one for one in reversed(found)}.values())[::-1]


def _of_launcher(row: Row) -> Relaunch | None:
    told = detail(row)
    if not told.get("old"):
        return None
    node = next(iter(row["names_ranks"] or ()), None)
    new = str(told["new"]) if told.get("new") else None
    who = "" if node is None else f"node {node}"
    return Relaunch(str(told["old"]), new, who, reference(row), row["time_ns"], row["time_basis"])


def _moved(events: pl.DataFrame) -> list[Relaunch]:
    """Pods that were put on another node than before."""
    put = [row for row in rows(events, "scheduler") if detail(row).get("node") and row["time_ns"] is not None]
    at: dict[str, str] = {}
    found = []
    for row in sorted(put, key=lambda one: one["time_ns"]):
        pod, node = str(detail(row).get("object", "")).removeprefix(_POD), str(detail(row)["node"])
        if at.get(pod, node) != node:
            found.append(Relaunch(at[pod], node, f"pod {pod}", reference(row), row["time_ns"], row["time_basis"]))
        at[pod] = node
    return found
