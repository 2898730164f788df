"""Over what sort of link the trouble is: it decides which tool shows the state of the link, and no tool of another sort does.

By the rows that a finding cites, else by the transport that the job's communicators were set up with. Where these speak of
more than one sort, none is told.
"""

from collections.abc import Iterable

import polars as pl

from forensics.facts.rows.event_rows import Row, detail
from forensics.model.commands import LinkSort
from forensics.model.ref import Ref
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

# By what the driver's or the library's own name stands for. A verbs library speaks of adapters that `ibstat` lists, RoCE too.
_BY_TEXT: tuple[tuple[LinkSort, str], ...] = (
    ("mtlink", r"(?i)\bmtlink\b"),
    ("metaxlink", r"(?i)\bmetaxlink\b"),
    ("nvlink", r"(?i)\bnvlink\b"),
    ("efa", r"(?i)\befa\b|fi_addr_efa"),
    ("infiniband", r"NET/IB|\bmlx[45]_|\bib[0-9]{1,2}\b|\bibv_|\bIBV_"),
    ("ethernet", r"NET/Socket|\b(?:bnxt_en|ice|i40e|ixgbe|ena)\b|\bbond[0-9]{1,2}\b|\beth[0-9]{1,2}\b|[Cc]onnect(?:ion)? (?:to|refused)"),
)  # fmt: skip
_PATTERNS = tuple((sort, regex(pattern)) for sort, pattern in _BY_TEXT)
_OF_LINKS = ("port_error", "link_down", "link_up", "completion_error", "connect_failed", "remote_error", "gpu_error")


def link_sort(tables: Tables, cited: Iterable[Ref]) -> LinkSort | None:
    """Tables of one attempt and the places that a finding rests on → the sort; null where it is not told."""
    places = {(ref.file, ref.line) for ref in cited if ref.line is not None}
    events = tables["events"].filter(pl.col("kind").is_in(_OF_LINKS) & pl.col("line").is_in({at for _, at in places}))
    rows = [row for row in events.iter_rows(named=True) if (row["file"], row["line"]) in places]
    if found := {sort for row in rows if (sort := _sort(row))}:
        return found.pop() if len(found) == 1 else None
    transports = tables["links"]["transport"].drop_nulls().unique().to_list()
    used = {sort for text in transports if text.startswith("NET/") and (sort := _by_text(text))}
    return used.pop() if len(used) == 1 else None


def _sort(row: Row) -> LinkSort | None:
    """The interface tells better than its driver: an adapter of one driver may run as either."""
    interface = str(detail(row).get("interface") or "")
    return (interface and _by_text(interface)) or _by_text(row["text"] or "")


def _by_text(text: str) -> LinkSort | None:
    return next((sort for sort, pattern in _PATTERNS if pattern.search(text)), None)
