"""Lines as templates (digits replaced by #), and in which files each stands: what log comparison works on. And the clock of a line.

Lines that nobody recognised come from the sample that the reader keeps of each file; warnings and errors that were
recognised count by their text.
"""

from collections import Counter, defaultdict

import polars as pl

from forensics.model.told import counted
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_DIGITS = regex(r"0x[0-9a-fA-F]+|\d+")
_CLOCK = regex(r"(?<!\d)([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?!\d)")
# What people write when something goes wrong, in the words of any program.
_COMPLAINS = regex(
    r"(?i)\b(?:error|err|fail(?:s|ed|ure)?|fatal|abort(?:ed|ing)?|exception|panic|crash(?:ed)?|killed|corrupt\w*|invalid|lost|refused"
    r"|denied|unable|cannot|can't|could not|timed? ?-?out|unreachable|missing|mismatch\w*|exceeded|unexpected\w*|nan|overflow)\b"
)
_SHOWN = 20
_LONG = 200  # characters
DAY_S = 24 * 3600


def second_of_day(line: str) -> int | None:
    """The first clock in a line, in seconds of its day."""
    found = _CLOCK.search(line)
    return sum(int(part) * unit for part, unit in zip(found.groups(), (3600, 60, 1), strict=True)) if found else None


def complaints(tables: Tables) -> list[str]:
    """ "count × template", the commonest first: errors that were heard by their level alone, and lines that nothing recognised
    and that complain by their words. Each waits for a parser of its program."""
    counts: Counter[str] = Counter()
    for templates in tables["files"]["templates"].drop_nulls().to_list():
        for template, count in counted(templates).items():
            if _COMPLAINS.search(template):
                counts[template] += count
    heard = tables["events"].filter((pl.col("kind") == "other") & pl.col("code").is_null()).drop_nulls("text")
    heard = heard.filter(pl.col("severity").is_in(["error", "fatal"])).group_by("text").len()
    for text, count in heard.iter_rows():
        counts[_DIGITS.sub("#", text)[:_LONG]] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{count} × {template}" for template, count in ordered[:_SHOWN]]


def files_of_templates(tables: Tables) -> dict[str, frozenset[str]]:
    """Template → files that hold such a line."""
    found: dict[str, set[str]] = defaultdict(set)
    for file, templates in tables["files"].select("file", "templates").iter_rows():
        for template in counted(templates or ()):
            found[template].add(file)
    told = tables["events"].filter(pl.col("severity").is_in(["warning", "error", "fatal"])).drop_nulls("text")
    for file, text in told.select("file", "text").unique().iter_rows():
        found[_DIGITS.sub("#", text)[:_LONG]].add(file)
    return {template: frozenset(files) for template, files in sorted(found.items())}
