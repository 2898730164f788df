"""How ranks, times and figures are written."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

_RUNS = 8  # of ranks, in a sentence
UNNAMED_GROUP = "an unnamed group"  # of which a line prints neither name nor number
SITE: Mapping[str, str] = {  # Site → what a rank was doing, after "is" or "the stack shows it"
    "data_loading": "in data loading",
    "checkpoint_io": "reading or writing a checkpoint",
    "storage_io": "waiting for storage",
    "compute": "computing",
    "lock": "waiting for a lock",
    "compile": "compiling",
    "gpu_sync": "waiting for its GPU",
    "logging": "writing logs",
    "evaluation": "evaluating",
    "teardown": "shutting down",
    "unresponsive": "not answering",
    "communication": "in communication",
    "unknown": "not known",
}


def ranges(values: Iterable[int]) -> str:
    """Sorted unique integers as text: {0, 1, 2, 4} → "0-2,4"."""
    parts: list[str] = []
    start = previous = None
    for value in sorted(set(values)):
        if previous is not None and value == previous + 1:
            previous = value
            continue
        if start is not None:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = value
    if start is not None:
        parts.append(str(start) if start == previous else f"{start}-{previous}")
    return ",".join(parts)


def range_list(values: Iterable[int]) -> list[str]:
    """As `ranges`, one text per run, the form of the contract's `[ranges]`."""
    text = ranges(values)
    return text.split(",") if text else []


def iso(time_ns: int | None) -> str | None:
    """Nanoseconds since 1970 → ISO 8601 UTC with microseconds; null stays null."""
    if time_ns is None:
        return None
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def ranks_text(ranks: Iterable[int]) -> str:
    """ "rank 5", "ranks 2 and 6", "ranks 1-3, 7"; of many runs the first, and how many ranks there are."""
    known = sorted(set(ranks))
    runs = range_list(known)
    if len(runs) == 2 == len(known):
        return f"ranks {runs[0]} and {runs[1]}"
    more = f", … ({len(known):,} in all)" if len(runs) > _RUNS else ""
    return ("rank " if len(known) == 1 else "ranks ") + ", ".join(runs[:_RUNS]) + more


def first_of(names: Sequence[str], most: int) -> str:
    """ "node1, node2 and 3 more"."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def listed(numbers: Iterable[int]) -> str:
    """`3, 5-7`, for sentences about numbers that are not known to be global."""
    return ranges(numbers).replace(",", ", ")
