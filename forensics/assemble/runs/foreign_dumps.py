"""Flight records of another job or launch that lie among those of this one: their default group has other members.

Members of a default group are fixed when a process joins the job. Where more than half of the records that state theirs
agree, one that states others was not made by a process of this launch, whatever rank its name says.
"""

import polars as pl

from forensics.model.said import Said, joined
from forensics.words import views as words
from parsers.schema.tables import TableName, Tables

_FEWEST = 3  # records that agree
_OF_RECORDS: tuple[TableName, ...] = ("operations", "groups", "progress", "stacks", "ranks", "settings")


def without_foreign_dumps(
    tables: Tables,
) -> tuple[dict[TableName, pl.DataFrame], tuple[Said, ...]]:
    """Tables of one attempt → those without the rows of such records, and a sentence that names them."""
    if tables["groups"].height <= _FEWEST:  # too few to agree against one
        return dict(tables), ()
    stated = tables["groups"].filter(
        (pl.col("desc") == "default_pg") & (pl.col("how") == "flight recorder pg_config")
        & (pl.col("members_space") == "global") & (pl.col("members").list.len() > 0)
    )  # fmt: skip
    if stated.select((pl.col("members") == pl.col("members").first()).all()).item():  # all agree
        return dict(tables), ()
    worlds = stated.select(
        pl.col("file").cast(pl.String),
        pl.col("members").list.sort().list.eval(pl.element().cast(pl.String)).list.join(","),
    )
    votes = worlds.unique().group_by("members").len().sort("len", "members", descending=True)
    if votes.height < 2 or votes["len"][0] < _FEWEST or 2 * votes["len"][0] <= votes["len"].sum():
        return dict(tables), ()
    foreign = worlds.filter(pl.col("members") != votes["members"][0])["file"].unique().sort().to_list()
    kept = {name: tables[name].filter(~pl.col("file").cast(pl.String).is_in(foreign)) for name in _OF_RECORDS}
    return {**tables, **kept}, (words.OF_ANOTHER_LAUNCH(files=joined(foreign[:3], ", "), number=len(foreign)),)
