"""Who speaks in a traceback of which no line says so, because it is the rest of a record whose first line does.

    09:11:40 | ERROR | 4711 | fit:run:93 - gave up            a record of a logger's, and what it caught below it
    Traceback (most recent call last):

    [4711] ERROR gave up: Traceback (most recent call last):       the traceback begins within the record

Its other lines, until the class that was raised and what is linked to it, are told without a speaker right behind it. Below a record's only line they
are so where each head of the file that tells no speaker stands below such a record of an error, and the logs have several, or the same one says another
error right behind it: else what interpreters print stands there, too, of whoever ended. A head with an empty line below it is a logger's rendering (loguru), of its record anyway. What raised it must not be who began them.

Fooled by: records of errors without what was caught, and right behind each what the interpreter prints of another process, nowhere else in a file.
"""

import polars as pl

from parsers.pytorch.levels import LOUD, level_of

_SPEAKER = ("rank", "local_rank", "task", "process")  # of a line itself
_HEAD = r"Traceback \(most recent call last\):\s*$"
_LINK = r"above exception"
_SEVERAL = 2  # heads below records: one alone may be of another process, which ended then
_BEGAN = r"(?i)elastic|launch|torchrun|multiprocess(?:ing)?[\\/]spawn\.py"  # whoever began the processes, and shares their output


def with_carried(lines: pl.DataFrame) -> pl.DataFrame:
    """Lines of schema LINES → the same, with the speaker of the record that a traceback is the rest of."""
    text = pl.col("text")
    is_head = text.str.contains(_HEAD)
    files = lines.filter(is_head)["file"].unique()
    if not len(files):
        return lines
    own = lines.filter(pl.col("file").is_in(files.implode()))
    is_behind = (pl.col("file") == pl.col("file").shift(1)) & (pl.col("line") == pl.col("line").shift(1) + 1)
    is_silent = pl.all_horizontal(pl.col(*_SPEAKER).is_null())
    own = own.with_columns(
        (~(is_behind & is_silent)).fill_null(value=True).cum_sum().alias("_record"),
        is_head.alias("_head"),
        is_silent.alias("_silent"),
    )
    is_first = pl.col("_record") != pl.col("_record").shift(1, fill_value=0)
    is_bare_head = is_behind & pl.col("_head") & pl.col("_silent")
    above = own.select(pl.when(is_bare_head).then(pl.col("raw").shift(1))).to_series()
    is_loud = pl.Series([line is not None and level_of(line) in LOUD for line in above], dtype=pl.Boolean)
    own = own.with_columns(is_first.alias("_first"), is_loud.alias("_loud"))
    is_below = pl.all_horizontal("_head", "_silent", "_loud") & pl.col("_first").shift(1) & ~pl.col("_silent").shift(1)
    is_empty = is_behind & pl.col("raw").shift(1).str.starts_with(pl.col("raw").str.strip_chars_end())
    own = own.with_columns(is_empty.shift(-1, fill_value=False).fill_null(value=False).alias("_rendered"))
    is_bare = pl.col("_head") & pl.col("_silent") & ~text.str.contains(r"\S ?Traceback")
    links = text.str.contains(_LINK).cast(pl.Int64).cum_sum()
    own = own.with_columns(is_below.fill_null(value=False).alias("_below"), links.over("_record").alias("_links"))
    is_only_so = (~is_bare | pl.col("_below") | (pl.col("_links") > 0)).all().over("file")
    is_only_so &= (pl.col("_below").sum() >= _SEVERAL) | _is_closed(own)
    is_class = ~pl.col("_first") & ~pl.col("_head") & text.str.contains(r"^[^\s>]") & ~text.str.contains(_LINK)
    own = own.with_columns(is_class.alias("_class"))
    classes = pl.col("_class").cast(pl.Int64).cum_sum().shift(1, fill_value=0)
    own = own.with_columns((classes <= pl.col("_links")).over("_record").alias("_inside"))
    is_launchers = (text.str.contains(_BEGAN) & pl.col("_inside")).any().over("_record")
    is_above, is_rendered = (pl.col(name).shift(-1, fill_value=False) for name in ("_below", "_rendered"))
    begins = pl.col("_first") & text.str.contains(rf"\S ?{_HEAD}") & pl.col("rank").is_not_null()
    begins |= is_above & (is_only_so | is_rendered) & ~is_launchers
    own = own.with_columns(begins.alias("_begins"))
    is_body = (pl.col("_begins").first() & pl.col("_inside")).over("_record")
    own = own.with_columns(
        pl.when(is_body).then(pl.col(name).first().over("_record")).otherwise(name).alias(name) for name in _SPEAKER
    )
    others = lines.filter(~pl.col("file").is_in(files.implode()))
    return pl.concat([others, own.select(lines.columns)])


def _is_closed(own: pl.DataFrame) -> bool:
    """Does whoever says the record above a head say another error right behind what stands below it?"""
    records = own.group_by("_record", maintain_order=True).agg(
        pl.col("file", "raw", "line", *_SPEAKER).first(), pl.col("_below").any(), pl.col("line").last().alias("_last")
    )
    after = records.shift(-1)
    is_same = pl.all_horizontal(records[name].eq_missing(after[name]) for name in ("file", *_SPEAKER))
    is_next = records["_below"] & (records["_last"] + 1 == after["line"])
    return any(level_of(raw) in LOUD for raw in after.filter(is_next & records.select(is_same).to_series())["raw"])
