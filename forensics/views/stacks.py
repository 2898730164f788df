"""Equal stacks, rarest first."""

from typing import Any

from forensics.case import Case
from forensics.facts.waits.stacks import classify, to_frames
from forensics.model.drawn import StackClass
from forensics.model.ref import Ref
from forensics.model.texts import ranges

_ROWS = 200


def stacks(case: Case) -> list[StackClass]:
    """Equal stacks of main threads, rarest first."""
    if not case.stacks.height:
        return []
    classes: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in case.stacks.sort("rank", "host", "pid", "file", "line").iter_rows(named=True):
        key = tuple(frame.text() for frame in to_frames(row["frames"]))
        classes.setdefault(key, []).append(row)
    result = []
    order = sorted(classes.items(), key=lambda item: (sum(int(row["count"]) for row in item[1]), item[0]))
    for key, rows in order[:_ROWS]:
        site = classify(to_frames(rows[0]["frames"]))
        top = site.frame.text() if site.frame else key[0]
        place = rows[0]["line"] if rows[0]["line"] is not None else rows[0]["record"]
        result.append(
            StackClass(
                site=str(rows[0]["site"]) + (f": {site.op}" if site.op else ""),
                count=sum(int(row["count"]) for row in rows),
                ranks=ranges(row["rank"] for row in rows if row["rank"] is not None),
                top=top,
                frames=list(key),
                ref=Ref(file=str(rows[0]["file"]), line=place, text=top),
            )
        )
    return result
