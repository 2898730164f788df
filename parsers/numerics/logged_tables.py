"""Tables of statistics among the lines of a log, as a program draws them: what it loaded, saved or holds, a part of the model a row.

    ┃ parameter            ┃ local shape ┃   absmax ┃ nonfinite ┃          parameter      absmax    nonfinite
    │ blocks.1.down.weight │        8x64 │ 1.33e+35 │         0 │          emb.weight     3.405     0

    Parameter overview:
    | Name       | Shape  | Mean | Std |
    |------------|--------|------|-----|
    | out/kernel | (8, 4) | nan  | nan |

Rows of `values`, a row for each line under a line of names one of which is a statistic, or that a rule stands below, where any of its cells is a fraction or no number. Of
names of which nothing is known a table counts whose parts are paths in a model, parameters or an optimizer's state by its title or the name above them, and have a shape each:
what classes of samples came to is drawn alike. What its title, or the name above its parts, says that they are stands before a part that does not say so. Lines of several ranks
may stand between each other's: each has its own line of names. Whole files of such tables are parsers/timing/own_figures.py's.

Printed by: training scripts, with rich, tabulate or pandas.
Versions: any.
Source: this project's own samples.
"""

from collections.abc import Sequence
from math import isfinite, nan, prod
from typing import Any

import msgspec
import polars as pl

from parsers.forms.reading import RULE, cells_of, real, undrawn, whole
from parsers.numerics.tensor_names import STATISTICS, TENSORS
from parsers.schema.lines import claimed
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, tables_of
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.training.told_values import of_record, place_of

_ROWS = 400  # lines below one of names
_OWN = ("absmax", "nan_count", "inf_count")  # statistics of a tensor, and of little else
_GAP = 3  # lines from names to the end of a rule below them
_TITLE = 40  # lines from a title to its table, those of other speakers between
_FEWEST = 2
_WORDS = regex(r"(?=[^A-Za-z]{0,3}[A-Za-z])[A-Za-z_(%#|][\w ()%#./|-]{0,39}")
_APART = regex(r" {2,}|\t")
_HEAD = rb"(?i)(?:\||\xe2\x94[\x82\x83]|\xe2\x95\x91|  |\t) ?(?:abs[_ ]?max|max[_ ]?abs|amax|non[_ -]?fin(?:ite)?|(?:n|num)?_?nans?|infs?)(?:[_ ]count)? *(?:\||\xe2\x94[\x82\x83]|\xe2\x95\x91|  |\t|\r?$)"
_RULED = rb"(?<![-=+|: ])(?<!\xe2[\x94\x95][\x80-\xbf])(?:[-=+|: ]|\xe2[\x94\x95][\x80-\xbf]){6,}\r?$"  # tried once in a run of marks
_FRACTION = regex(r"(?i)[+-]?(?:\d{1,15}\.\d{0,30}(?:e[+-]?\d{1,3})?|\d{1,30}e[+-]?\d{1,3}|nan|inf)")
_HELD = {name: form for name, form in TENSORS if name in ("param", "optimizer_state")}
_GRADIENT = dict(TENSORS)["param_grad"]
_PATH = regex(r"[A-Za-z_]\w{0,60}(?:[./\[]\w{1,60}\]?){1,12}")
_SHAPE = regex(r"[(\[]\d{0,12}(?:, ?\d{1,12}){0,7},?[)\]]|\d{1,12}(?: ?[x×] ?\d{1,12}){1,7}")
_NUMBER = regex(r"\d{1,12}")
_PRODUCT = regex(r"(?i)weights ?& ?biases")
_JUDGED = regex(
    r"(?i)(?:^|[^a-z])(?:attention|attn|class(?:es)?|loss(?:es)?|metrics?|scores?|acc(?:uracy)?|m?ap\d{0,3}|ar\d{0,3}|precision|recall|f1|m?iou|auc)(?:[^a-z]|$)"
)  # what a model is judged by, and what else has weights


class _Table(msgspec.Struct):
    """`is_known`: a statistic is among its names; `title`: the line above; `of`: what its parts are, where they are held; `rows`: of `values`, and their cells."""

    names: Sequence[str]
    is_known: bool
    title: str
    of: str
    head: tuple[str, int]
    rows: list[tuple[dict[str, Any], Sequence[str]]] = msgspec.field(default_factory=list)

    @property
    def counted(self) -> list[dict[str, Any]]:
        """The rows that count. Of names of which nothing is known a part is bad in all of its statistics, or in none: the spread of a single value is no number, and a share
        without any has no mean."""
        if self.is_known:
            return [row for row, _ in self.rows]
        if not self._is_of_parts:
            return []
        held = [at for at in range(len(self.names)) if any(_FRACTION.fullmatch(cells[at]) for _, cells in self.rows)]
        return [
            row
            for row, cells in self.rows
            if len({_is_bad(cells[at]) for at in held}) == 1 and not any(map(_is_bare, cells))
        ]

    @property
    def _is_of_parts(self) -> bool:
        """Are most of its rows of paths, each with a shape, held by its title or the name above them, and none of what is judged?"""
        said = (_PRODUCT.sub(" ", self.title), *self.names)
        if not self.of or any(map(_JUDGED.search, said)) or any(map(vocabulary.is_of_evaluation, said)):
            return False
        columns = [[cells[at] for _, cells in self.rows] for at in range(len(self.names))]
        shares = [[sum(map(bool, map(form.fullmatch, own))) for own in columns] for form in (_PATH, _SHAPE)]
        return all(2 * max(own) > len(self.rows) for own in shares)


def parse(lines: pl.DataFrame) -> Tables:
    """values."""
    current: dict[tuple[Any, ...], _Table] = {}
    above: dict[tuple[Any, ...], list[tuple[int, str]]] = {}  # the last lines of each speaker that are no rule
    made: list[_Table] = []
    for row in lines.iter_rows(named=True):
        text = undrawn(row["text"][:LINE_CHARACTERS]).strip()
        whose = row["file"], row["rank"], row["local_rank"], row["task"]
        before = above.setdefault(whose, [])
        is_rule = not text or RULE.fullmatch(text) is not None
        cells = _cells(before[-1][1] if is_rule and text and before else text)
        is_known = not is_rule and _is_head(cells)
        if is_known or (
            is_rule and _is_ruled(cells) and (whose not in current or before[-1][0] > current[whose].head[1] + _GAP)
        ):
            above_it = [one for one in before[-1 if is_known else -2 :][:1] if one[0] + _TITLE > row["line"]]
            title = above_it[0][1] if above_it else ""
            head = row["file"], row["line"] if is_known else before[-1][0]
            current[whose] = _Table(cells, is_known, title, _held(cells, title), head)
            made.append(current[whose])
        elif not is_rule and (table_ := current.get(whose)) is not None and len(cells) == len(table_.names):
            said = dict(zip(table_.names, cells, strict=True))
            if (found := of_record(said)) is not None and found["of"]:
                step = {"step": whole(vocabulary.told(said).get("step"))}
                table_.rows.append((place_of(row) | step | found | {"of": _called(found["of"], table_.of)}, cells))
        if not is_rule:
            before[:] = [*before[-1:], (row["line"], text)]
    told_ = [(one.head, own) for one in made if (own := one.counted)]
    rows, heads = [row for _, own in told_ for row in own], [head for head, _ in told_]
    return tables_of(values=rows, claimed=claimed([*heads, *((row["file"], row["line"]) for row in rows)]))


def _is_bad(cell: str) -> bool:
    return not isfinite(nan if (value := real(cell)) is None else value)


def _is_bare(cell: str) -> bool:
    """Is it the shape of a single value, or of none?"""
    return _SHAPE.fullmatch(cell) is not None and prod(map(int, _NUMBER.findall(cell))) <= 1


def _held(names: Sequence[str], title: str) -> str:
    """The word by which a title, or the name above parts, says that they are what a rank holds; of gradients it is not."""
    words = vocabulary.words_of(_PRODUCT.sub(" ", title)) if len(_cells(title)) < 2 else []
    words = words + vocabulary.words_of(names[0])
    if any(map(_GRADIENT.fullmatch, words)):
        return ""
    return next((word for word in words if any(form.fullmatch(word) for form in _HELD.values())), "")


def _called(of: str, held: str) -> str:
    """A part by its name, behind what it is where that does not say it."""
    words = vocabulary.words_of(of)
    return of if not held or any(map(_GRADIENT.fullmatch, words)) or _held([of], "") else f"{held} {of}"


def _cells(text: str) -> list[str]:
    """The cells of a line between marks, or between blanks; none where there are fewer than two. A bar that a logger sets before a line is no mark of the table's:
    behind it stand columns."""
    found = cells_of(text, "|") if "|" in text else _APART.split(text)
    if "|" in text and len(columns := _APART.split(found[-1])) > 2:
        found = columns
    return found if len(found) > 1 else []


def _is_head(cells: Sequence[str]) -> bool:
    """Words alone, one of them of a statistic."""
    is_statistic = any(STATISTICS.get(cell.lower().replace(" ", "_")) in _OWN for cell in cells)
    return is_statistic and len({*cells}) == len(cells) and all(cell and real(cell) is None for cell in cells)


def _is_ruled(cells: Sequence[str]) -> bool:
    """Words alone, for parts and two figures of each, which a rule stands below."""
    return len(cells) > _FEWEST and len({*cells}) == len(cells) and all(map(_WORDS.fullmatch, cells))


PARSER = LineParser(
    name="logged_tables",
    anchors=(*(mark.encode() for mark in ("+--", "--+", "|--", "--|", "| --", "|:-", "--  --", "==  ==", "┳━", "╤═", "┬─", "╦═", "╇━", "╈━", "┼─", "╬═", "╪═")), b"absmax", b"abs_max", b"abs max", b"max_abs", b"max abs", b"amax", b"nonfin", b"non_fin", b"non-fin", b"non fin", b"num_nan", b"n_nan", b"nans", b"infs",
        *(f"{mark} {name}".encode() for mark in ("|", "│", "┃", "║") for name in ("nan ", "inf ", "NaN ", "Inf "))),
    holds=regex(_HEAD + rb"|" + _RULED),
    before=True,
    parse=parse,
    after=_ROWS,
    follows=regex(rb"(?:\||\xe2\x94[\x82\x83]|\xe2\x95\x91|  |\t)[ \t]{0,80}[+-]?(?:[0-9.]{1,40}(?:e[+-]?[0-9]{1,4})?|nan|inf)[ \t\r]{0,80}(?:\||\xe2|  |$)|\|[^|\r\n]{1,120}\||\xe2\x94[\x82\x83][^\r\n]{1,240}\xe2\x94[\x82\x83]|[A-Za-z_)]  +[A-Za-z_(]"),
    leftover=True,
)  # fmt: skip
