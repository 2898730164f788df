"""Who speaks in figures of a step where nobody tells a rank: by what the rows of a table are named after, else by files.

A row that nobody tells the rank of is of its holder (parsers/forms/holders.py); a file without such is one process's if others of its form are beside it. They are
numbered in order, so that what is asked of ranks can be asked of them; whoever asks says their names, and names no rank.
"""

import msgspec
import polars as pl

from forensics.facts.rows.series import series
from parsers.schema.tables import Tables

_FEWEST = 3


class Speakers(msgspec.Struct, frozen=True):
    """`tables`: rows of figures with the number of their speaker as rank, from 0 on. `names`: by number."""

    tables: Tables
    names: tuple[str, ...]

    @property
    def numbers(self) -> frozenset[int]:
        return frozenset(range(len(self.names)))


def speakers(tables: Tables, fewest: int = _FEWEST) -> Speakers | None:
    """Tables of one attempt → who speaks in them; None where a rank is told, or fewer speak."""
    frames = [tables[name] for name in ("steps", "values")]
    held = [frame.filter(pl.col("holder").is_not_null()) for frame in frames]
    if any(frame.height for frame in held):
        told, who = held, pl.col("holder").cast(pl.String)
    else:
        told, who = [_of_files(frame) for frame in frames], pl.col("file").cast(pl.String)
    if not any(frame.height for frame in told) or any(frame["rank"].count() for frame in told):
        return None
    names = sorted({name for frame in told for name in frame.select(who.alias("_who"))["_who"].to_list()})
    if len(names) < fewest:
        return None
    numbers = {name: at for at, name in enumerate(names)}
    steps, values = (
        frame.with_columns(who.replace_strict(numbers, return_dtype=pl.Int64).alias("rank")) if frame.height else frame
        for frame in told
    )
    return Speakers({**tables, "steps": steps, "values": _without_holders(values)}, tuple(names))


def _without_holders(values: pl.DataFrame) -> pl.DataFrame:
    """Rows of values whose own names are no part of what they are of."""
    if not values.height or not values["holder"].count():
        return values
    pairs = values.select(pl.col("of", "holder").cast(pl.String)).unique().drop_nulls().rows()
    bare = {(of, holder): "" if of and f"={of} " in f"{holder} " else of for of, holder in pairs}
    key = pl.struct(pl.col("of", "holder").cast(pl.String))
    own = [bare.get((row["of"], row["holder"]), row["of"]) for row in values.select(key.alias("key"))["key"].to_list()]
    return values.with_columns(pl.Series("of", own, dtype=pl.String).cast(values.schema["of"]))


def _of_files(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of files of one form, each of which tells a step once."""
    if not frame.height or frame["rank"].count():
        return frame.clear()
    files = frame["file"].cast(pl.String).unique().to_list()
    forms = {file: series(file) for file in files}
    most = max(forms.values(), key=[*forms.values()].count)
    if len({*forms.values()}) == len(forms):  # no two are called alike
        return frame
    return frame.filter(pl.col("file").cast(pl.String).is_in([file for file, form in forms.items() if form == most]))
