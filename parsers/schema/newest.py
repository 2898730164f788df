"""Of the flight records of thousands of ranks, what a verdict rests on: the newest entries of each.

A ring of 2,000 entries on each of 10,000 ranks is twenty million rows, nearly all of calls that everybody completed long
before. Where a bundle holds more than ROWS, each record keeps its newest entries, at least LEAST: as many as the comparison
of programs looks back (forensics/graph/hang/programs.py). Besides it keeps what stands for all that is older: every entry
that is not completed, and of each group, kind of call and peer the first and the last one; of a batch of sends and receives
all or none. So what is open, how far each group came and where a record begins is the same as with all rows.
"""

from collections.abc import Iterator

import polars as pl

from parsers.schema.tables import Tables, table

ROWS = 1 << 20
LEAST = 600
_ENTRY = pl.col("line").is_null() & pl.col("record").is_not_null() & pl.col("comm").is_null()
_CLOSED = (pl.col("state") == "completed") | (pl.col("retired") & (pl.col("backend") == "gloo"))
_ALIKE = ("file", "pg_id", "is_p2p", "kind", "peer")
_BATCH = ("file", "pg_id", "is_p2p", "seq")


class Newest:
    """The tables of the units of a bundle, in order, with as many entries as are kept: all up to `rows`, beyond that the
    newest of each record, `least` or more."""

    def __init__(self, rows: int = ROWS, least: int = LEAST) -> None:
        self.parts: list[Tables] = []
        self._rows, self._least = rows, least
        self._entries = self._records = 0
        self._most: int | None = None

    def add(self, part: Tables) -> None:
        self.parts.append(part)
        entries, records = _counts(part)
        self._entries, self._records = self._entries + entries, self._records + records
        if records and self._entries > self._rows:
            most = max(self._least, self._rows // self._records)
            late = self.parts if most != self._most else self.parts[-1:]  # fewer of all, or of what just came
            self.parts[-len(late) :] = [_newest(one, most) for one in late]
            self._most = most

    def left_out(self) -> Iterator[Tables]:
        """A row of `unread`, where entries were left out."""
        if self._most is not None:
            said = f"{self._entries:,} entries of {self._records:,} flight records"
            reason = f"of {said} those that completed before the newest {self._most} of each were left out"
            yield {"unread": table("unread", [{"file": ".", "reason": reason}])}


def _counts(part: Tables) -> tuple[int, int]:
    """(entries, records) that were read, also where only the newest are left: they are counted from 0 in each record."""
    if "operations" not in part:
        return 0, 0
    entries = part["operations"].lazy().select("file", "record", "line", "comm").filter(_ENTRY)
    counts = entries.group_by("file").agg(pl.col("record").max() + 1).collect(engine="streaming")["record"]
    return int(counts.sum()), len(counts)


def _newest(part: Tables, most: int) -> Tables:
    """With the newest `most` entries of each record, and those that stand for the older ones."""
    if "operations" not in part:
        return part
    record = pl.col("record")
    narrow = part["operations"].select(*_ALIKE, "seq", "record", is_entry=_ENTRY, is_closed=_CLOSED.fill_null(False))
    is_new = record > record.max().over("file") - most
    is_end = (record == record.min().over(_ALIKE)) | (record == record.max().over(*_ALIKE, "is_closed"))
    chosen = narrow.with_columns(is_kept=~pl.col("is_entry") | ~pl.col("is_closed") | is_new | is_end)
    whole = pl.col("is_p2p").fill_null(False) & pl.col("is_kept").any().over(_BATCH)
    return {**part, "operations": part["operations"].filter(chosen.select(pl.col("is_kept") | whole).to_series())}
