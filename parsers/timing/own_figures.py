"""Tables of steps whose figures have names of which nothing is known: objective, obj, L. What they mean, their course tells
(forensics/assemble/figures/unnamed_figures.py).

    step,obj,gn_mine                     (step 16) L=1.2e+09 own
    40,nan,0.71
    | tensor | max | NaN count |         what was loaded, before any step
    | step | worker 0 | worker 1 |       {"it": 16, "where": "conv2", "lo": -1.2, "hi": 3.1, "bad": 0}
    == step 41 rank 3 ==⏎ layer  |w|  |g|⏎ enc.0  9.24  0.131                what each part of the model had in a step: rows of `values`

Asked last of all that read tables.

Printed by: training scripts.
Versions: any.
Source: this project's own samples.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

from parsers.forms import framings
from parsers.forms.counting import step_column
from parsers.forms.holders import is_held, step_of
from parsers.forms.reading import text_lines, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table
from parsers.text import vocabulary
from parsers.training.step_figures import holds_nan, unknown_figures
from parsers.training.step_tables import step_tables
from parsers.training.told_values import counts_bad, of_record

_PARTS = frozenset(("tensor", "module"))
_WITHIN = frozenset(("phase", *_PARTS, "metric", "name", "operation", "time"))
_OF_STEPS = ("sections", "outlined", "boxed")  # each record of them is of a step
_FORMS = (*framings.TABLES, *_OF_STEPS)
_HEAD = 16384
_SAMPLE = 400
_ROWS = 5  # that a column without a known name must count in


def accepts(path: str, head: bytes) -> bool:
    """By its first records: a count of steps, and a number with a fraction whose name is unknown; of objects, beside a word that says
    what they are of."""
    form = framings.framing(path, head)
    if form == "objects":
        return _is_of_parts(path, head)
    if form == "curve":  # of a norm that is the rank's own: no column of a step has it; or of what nobody knows
        first = framings.first(path, head)
        return {"own_grad_norm", "step"} <= vocabulary.meanings(first) or unknown_figures(first) is not None
    if form not in _FORMS:
        return False
    if form in _OF_STEPS and any(unknown_figures(one) or of_record(one) for one in _of_steps(path, head)):
        return True
    meant = vocabulary.meanings(sorted(framings.names(path, head)))
    first = framings.first(path, head)
    if form in framings.TABLES and "rank" not in meant and is_held(_sample(path, head)):
        return True
    if "step" not in meant and counts_bad(first):
        return True
    within = meant & _WITHIN
    if (within and not within <= _PARTS) or unknown_figures(first) is None:
        return False
    return "step" in meant or _counter(path, head) is not None


def _of_steps(path: str, head: bytes) -> Iterator[Mapping[str, Any]]:
    """The records at the head of a file that tell a step, and nothing that is for others."""
    for one in islice(framings.records(path, head), _SAMPLE):
        meant = vocabulary.meanings(one)
        if "step" in meant and meant.isdisjoint(_WITHIN - _PARTS - {"time"}):
            yield one


def _is_of_parts(path: str, head: bytes) -> bool:
    first = framings.first(path, head)
    meant = vocabulary.meanings(first)
    is_known = not meant.isdisjoint((*_WITHIN - {"time"}, "loss", "grad_norm", "metric"))
    is_counted = "step" in meant or _counter(path, head) is not None
    told = None if is_known or not is_counted or unknown_figures(first) is None else of_record(first)
    return told is not None and bool(told["of"])


def parse(source: Source) -> Tables:
    """As parsers/training/step_tables.py has it; events other, code bad_number, the first row with NaN."""
    with source.open() as stream:
        head = stream.read(_HEAD)
    known = "step" in vocabulary.meanings(sorted(framings.names(source.path, head)))
    first = framings.first(source.path, head)
    form = framings.framing(source.path, head)
    is_of_parts = bool(vocabulary.meanings(first) & _PARTS) or (not known and counts_bad(first)) or form == "outlined"
    counter = None if known else _counter(source.path, head)
    made = step_tables(source, form, counter, is_of_parts=is_of_parts)
    bad = next((row for row in made["steps"].iter_rows(named=True) if holds_nan(row)), None)
    return {**made, "events": table("events", [] if bad is None else [_event(bad, source)])}


def _event(row: Mapping[str, Any], source: Source) -> dict[str, Any]:
    text = next((text for number, text in text_lines(source) if number == row["line"]), "")
    place = {"file": row["file"], "line": row["line"], "rank": row["rank"], "text": text[:2000]}
    space = None if row["rank"] is None else "global"
    return place | {"kind": "other", "severity": "warning", "code": "bad_number", "rank_space": space}


def _counter(path: str, head: bytes) -> str | None:
    """The first column, where it is unknown and counts one by one from 0 or 1 on; else the one that counts blocks of rows alike."""
    rows = _sample(path, head)
    if len(rows) < _ROWS or not rows[0]:
        return None
    if (found := step_column(rows)) is not None or (found := step_of(rows)) is not None:
        return found
    rows = rows[:_ROWS]
    name = next(iter(rows[0]))
    return name if vocabulary.is_unknown(name) and _counts([whole(row.get(name)) for row in rows]) else None


def _sample(path: str, head: bytes) -> list[Mapping[str, Any]]:
    """The first records."""
    return list(islice(framings.records(path, head[: head.rfind(b"\n") + 1]), _SAMPLE))


def _counts(cells: Sequence[int | None]) -> bool:
    told = [cell for cell in cells if cell is not None]
    return len(told) == len(cells) and told[0] in (0, 1) and all(two - one == 1 for one, two in pairwise(told))


PARSER = FileParser(name="own_figures", accepts=accepts, parse=parse)
