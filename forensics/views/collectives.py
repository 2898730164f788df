"""How far the ranks of each group came."""

import polars as pl

from forensics.case import Case
from forensics.facts.waits.memberships import group_name
from forensics.model.drawn import CollectiveRow
from forensics.model.texts import ranges

_ROWS = 200


def collectives(case: Case) -> list[CollectiveRow]:
    """Per group: classes of ranks by how far they came, groups with disagreement or open operations first."""
    states = case.states
    if not states.counters.height:
        return []
    names = {
        row["gid"]: (group_name(row["group"], row["desc"]), ranges(row["members"]))
        for row in states.groups.iter_rows(named=True)
    }
    held = states.open.select("rank", "gid", pl.format("{} {}", "kind", "seq").alias("open_op"), "seq")
    held = held.unique(["rank", "gid"], keep="first")
    rows = states.counters.join(held, on=["rank", "gid"], how="left")
    classes = rows.group_by("gid", "enqueued", "completed", "open_op", "seq").agg(pl.col("rank").sort())
    is_open, front = pl.col("open_op").is_not_null().any(), pl.col("enqueued").max()
    width = classes.group_by("gid").agg(classes=pl.len(), is_open=is_open, front=front)
    joined = classes.join(width, on="gid").sort(
        "is_open", "classes", "gid", "enqueued", "completed", pl.col("rank").list.first(),
        descending=[True, True, False, False, False, False],
    )  # fmt: skip
    return [
        CollectiveRow(
            group=names[row["gid"]][0],
            members=names[row["gid"]][1],
            seq=row["seq"],
            ranks=ranges(row["rank"]),
            last_enqueued=row["enqueued"],
            last_completed=row["completed"],
            open_op=row["open_op"],
            mark="behind" if (row["enqueued"] or 0) < (row["front"] or 0) else None,
        )
        for row in joined.head(_ROWS).iter_rows(named=True)
    ]
