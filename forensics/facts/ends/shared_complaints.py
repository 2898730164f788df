"""What most ranks complained of, again and again, before the first of them gave up: a service that all of them ask does not answer.

    WARNING no answer from scores-0:5000 (try 2)          in the logs of most ranks behind their last lines of work

Who raises its error first had the least patience, or was asked first. A complaint is a line of one template that a rank tells at least twice, for much longer
than its lines let wait for the next before, and that names what the error names: a host, a file, a class. Lines of progress name nothing that failed.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import polars as pl

from forensics.assemble.starts.apart import numbered_lines, own_logs
from forensics.facts.ends.process_ends import ProcessEnd
from forensics.facts.rows.line_templates import DAY_S, second_of_day
from forensics.model.ref import Ref
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.whole_numbers import whole_numbers

_ASKED = 16  # that raised, at most: of each, all logs are asked
_AGAIN = 2  # lines of a rank
# The usual time between two lines as often, from the last one before the first complaint to the last complaint:
_TIMES = 5
_SAID, _BACK = 4, 40  # lines with a time before them, and as many that are looked at
_WORDS = 500
_NAME = regex(r"[A-Za-z][\w-]{2,80}(?:\.[A-Za-z][\w-]{1,80}){0,8}")
_Lines = Sequence[tuple[int, str]]


def complained_alike(tables: Tables, raised: Sequence[ProcessEnd]) -> tuple[Ref, ...]:
    """Tables of one attempt, who failed → what most ranks complained of before these gave up for it, as one of them and another say; nothing where that is not so of each."""
    errors = [
        (end.rank, end.refs[0])
        for end in raised
        if end.by == "process" and end.refs and end.cause in (None, "exception")
    ]
    if not 0 < len(errors) == len(raised) <= _ASKED:
        return ()
    logs = own_logs(tables).filter(pl.col("rank").is_not_null() & (pl.col("last_lines").list.len() > 0))
    in_order = logs.sort("lines", "file").iter_rows(named=True)
    told = [(row["rank"], row["file"], [*numbered_lines(row)]) for row in in_order]
    shared: tuple[Ref, ...] = ()
    for rank, error in errors:
        if not (found := _shared(told, rank, error)):
            return ()
        shared = shared or found
    return shared


def _shared(logs: Sequence[tuple[int, str, _Lines]], rank: int, error: Ref) -> tuple[Ref, ...]:
    """The logs of ranks, who ended by which line → the last of its complaints and one of another rank; none where most others had none."""
    names = _names(error.text or "")
    told: dict[int, dict[str, list[Ref]]] = {}
    for who, file, own_lines in logs if names else ():
        is_its = file == error.file and error.line is not None
        lines = [one for one in own_lines if not is_its or one[0] < (error.line or 0)]
        told[who] = _complaints(file, lines, names)
    own, others = told.pop(rank, {}), list(told.values())
    for template, refs in own.items():
        sharing = [one[template] for one in others if template in one]
        if 2 * len(sharing) > len(others):
            return refs[-1], sharing[0][-1]
    return ()


def _complaints(file: str, lines: _Lines, names: frozenset[str]) -> dict[str, list[Ref]]:
    """Template → the lines that tell it again, for long, and name one of these."""
    found: defaultdict[str, list[Ref]] = defaultdict(list)
    for number, text in lines:
        if not names.isdisjoint(_names(text)) and second_of_day(text) is not None:
            found[whole_numbers(text)[1]].append(Ref(file=file, line=number, text=text[:_WORDS]))
    return {template: refs for template, refs in found.items() if len(refs) >= _AGAIN and _is_long(lines, refs)}


def _is_long(lines: _Lines, refs: Sequence[Ref]) -> bool:
    clocks = (second_of_day(text) for number, text in lines if number < (refs[0].line or 0))
    before = [clock for clock in clocks if clock is not None][-_BACK:]
    if len(before) < _SAID:
        return False
    usual = median((after - one) % DAY_S for one, after in pairwise(before))
    return ((second_of_day(refs[-1].text) or 0) - before[-1]) % DAY_S > _TIMES * usual


def _names(text: str) -> frozenset[str]:
    """Words of a text that name one thing: with a sign or a number in them, or a capital within."""
    return frozenset(
        one for one in _NAME.findall(text) if not one.isalpha() or not (one[1:].islower() or one.isupper())
    )
