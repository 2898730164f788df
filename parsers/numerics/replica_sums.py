"""Digests of what ranks hold, in any framing: beside the step or below it, a rank a line, all in one line, a column for each.

    --- weight digest it=120 ---                          === iteration 40: sha1 of every rank ===
       r0:2e1afeee  r1:2e1afeee  r2:2e1afeee                 0  n00  9f86d081884c7d65
       r3:2e1afeee  r4:33cc5882  r5:2e1afeee                 1  n00  9f86d081884c7d65
    step 40 param digests per rank: ['9f86d081', …]       # selftest @ step 40
    [rank 3] step 40 | 9f86d081884c7d65                   rank 3  gpu 1  gemm 7c31a09e  weights 88ea878b
    step   rank0     rank1                                - step: 40                 weights after the optimizer step:
    40     9f86d081  9f86d081                               digests:                 40 9f86d081     (a file of a rank)
                                                              rank0: "9f86d081"

A digest is a text of hexadecimal digits, of a name of which any value has letters and digits; as well as one serves a figure of eight decimals
or more that all ranks told alike in two steps, and anew in each. Whose it is, a word for a rank before it says, a number where these are
all from 0 on and a word of the block is of ranks, a column's name, who prints the line, or the file. The step is the line's own, or that of the nearest line above
that tells one, where nothing else stands between; in interleaved logs that of the same printer. What names data, files or addresses is none,
nor what a native stack holds.

Rows of `steps`: rank, step, `checksum`. Lines of a step that replica_values.py reads are left to it.

Printed by: training scripts.
Versions: none.
Source: this project's own samples.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from parsers.forms import framings
from parsers.forms.reading import RULE, text_lines, undrawn
from parsers.schema.lines import reporter
from parsers.schema.parser import FileParser, LineParser, Source
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, table, tables_of
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.replica_names import is_of_replica, says_what
from parsers.training.replica_values import tells_replica

_STEP = regex(
    r"(?i)(?<![a-z])(?:global_|train_)?(?:step|iter(?:ation)?|it|update|步|步数)[\"']?[ =:#_-]{0,6}(?<![a-z])(?P<step>\d{1,15})(?:/\d{1,15})?(?![\w.])"
)
_LONG = r"[+-]?\d{1,20}\.\d{8,30}(?:e[+-]?\d{1,3})?"
_SUM = regex(rf"(?i)(?<![\w.+-])(?:0x(?P<marked>[0-9a-f]{{4,128}})|(?P<plain>[0-9a-f]{{8,128}}|{_LONG}))(?![\w.-])")
_LABEL = regex(r"(?<![A-Za-z0-9])(?P<word>[A-Za-z][A-Za-z_]{0,15}?)[ _.#:/\[=-]{0,8}(?P<rank>\d{1,7})(?![\w.])")
_NUMBER = regex(r"(?:^|(?<=[\s,;|\[{(]))(?P<rank>\d{1,7}) ?[:=] ?$")
_FIRST = regex(r"[\s|\[(-]{0,16}(?P<rank>\d{1,7})[\s|:,;\])=-]{1,16}")
_BETWEEN = regex(r"[\s:=>|\"'\])(,-]{1,12}")
_OPEN = regex(r"[\[(]\s{0,4}[\"']?$")
_NAME = regex(r"(?:(?P<before>[^\W\d][\w.()-]{0,30}) )?(?P<name>(?:[^\W\d]|[_.])[\w.()-]{0,60}?)[\s:=\"'|]{0,6}$")
_WORD = regex(r"[^\W\d_]{2,30}")
_OF_RANKS = regex(r"(?i)(?<![a-z])(?:ranks?|replicas?|workers?|gather(?:ed)?|各卡|每卡|所有卡)(?![a-z])")
_CELLS = regex(r"\s*\|\s*|\s*[,;\t]\s*|\s+")
_LABELS = ("r", "rk")  # as short as they are, only where digests follow
_NO_NAME = frozenset(
    ("debug", "info", "warning", "error", "rank", "ranks", "per", "of", "each", "every", "at", "the", "on", "all")
)
# Of a native stack.
_FRAME = regex(r"(?:#\d{1,3}|@)\s{0,8}0x[0-9a-f]{4,20}\s|0x[0-9a-f]{4,20}\s{1,4}(?:in\s)?[\w:~<>.]{1,200}\(")
_GAP = 3  # lines between a step and the first of its digests
_WORDS = 10  # of a line that tells one rank's digests
_FEWEST = 2
_MOST = 1024


class Line(NamedTuple):
    """`speaker`: the rank that prints it."""

    number: int
    text: str
    speaker: int | None


class Sum(NamedTuple):
    """`is_bare`: its rank is a number without a word; `is_alone`: its line tells the step, too."""

    number: int
    step: int
    rank: int
    name: str
    value: str
    is_bare: bool = False
    is_alone: bool = False


class _Block:
    """What the last lines of a file said: the step, who said it, in which words, and up to where digests followed it."""

    def __init__(self, *, is_file: bool = False) -> None:
        self.is_file = is_file  # of nothing but digests: a number at the head of a line is its step
        self.steps: dict[int | None, tuple[int, int]] = {}  # printer → step, line
        self.printer: int | None = None
        self.words = ""
        self.until = -_GAP
        self.columns: list[int | str | None] = []

    def read(self, line: Line) -> Iterator[Sum]:
        text = undrawn(vocabulary.in_english(line.text[:LINE_CHARACTERS]))
        if self.columns and (cells := _cells(text)) and len(cells) == len(self.columns):
            yield from self._row(line.number, cells)
            return
        text = _counted(text) if self.is_file else text
        own = _STEP.search(text)
        found = [] if _FRAME.search(text) else list(islice(_SUM.finditer(text), _MOST))
        if own is not None:
            self.steps[line.speaker] = (int(own["step"]), line.number)
            self.printer, self.until = line.speaker, line.number
            self.words = f"{text[: own.start()]} {text[own.end() :]}"
        elif not found:
            if line.number - self.until <= _GAP and _OF_RANKS.match(text.strip(" |#\t")):
                self.words += f" {text}"  # the names of columns
            self.columns = _columns(text) or (self.columns if RULE.fullmatch(text) else [])
            return
        at = self._at(line)
        if at is None or not found:
            return
        start = own.end() if own is not None and own.end() <= found[0].start() else 0
        for rank, name, value, is_bare in self._told(text, start, found, line.speaker):
            yield Sum(line.number, at, rank, name, value, is_bare, is_alone=own is not None)
        self.until = line.number

    def _at(self, line: Line) -> int | None:
        """The step that a line is of: what its printer told last; below a line of nobody in particular that line's, if nothing else stands between."""
        said = self.steps.get(line.speaker)
        if said is None or (line.speaker is None and line.number - self.until > _GAP):
            said = self.steps.get(None) if self.printer is None and line.number - self.until <= _GAP else None
        return None if said is None else said[0]

    def _told(
        self, text: str, start: int, found: Sequence[Any], speaker: int | None
    ) -> Iterator[tuple[int, str, str, bool]]:
        """(rank, name, value, whether the rank is a number alone) of each digest of a line."""
        labels = [(one.start(), one.end(), int(one["rank"])) for one in _LABEL.finditer(text, start) if _is_rank(one)]
        pairs = [_pair(text, start, one, labels) for one in found]
        told = [pair for pair in pairs if pair is not None]
        line_words, above = text[start : found[0].start()], self.words
        if len(told) == len(found) and (len(told) > 1 or not _name(text[: told[0][0]])):
            name = _called(text[start : told[0][0]], above)
            is_of_ranks = _OF_RANKS.search(f"{text} {above}") is not None
            yield from (
                (rank, name, _value(one), is_bare)
                for (_, rank, is_bare), one in zip(told, found, strict=True)
                if is_of_ranks or not is_bare
            )
            return
        is_list = len(found) > 1 and _OPEN.search(text[: found[0].start()]) is not None
        if is_list and not labels and speaker is None:
            if _OF_RANKS.search(f"{line_words} {above}"):
                yield from ((at, _called(line_words, above), _value(one), False) for at, one in enumerate(found))
            return
        first = _FIRST.match(text) if not labels and _OF_RANKS.search(above) and not start else None
        ranks = {rank for *_, rank in labels} or ({int(first["rank"])} if first else set())
        if len(ranks) > 1 or len(_WORD.findall(_SUM.sub(" ", text))) > _WORDS:
            return
        rank = next(iter(ranks), speaker)
        if rank is None:
            return
        end = start
        used: list[str] = []
        for one in found:
            name = _name(text[end : one.start()]) or _called("" if start else above) or "digest"
            used.append(name)
            end = one.end()
            yield rank, name if used.count(name) == 1 else f"{name}_{used.count(name)}", _value(one), bool(first)

    def _row(self, number: int, cells: Sequence[str]) -> Iterator[Sum]:
        """A row below the names of columns."""
        at = self.columns.index("step")
        if not cells[at].isdigit():
            return
        for column, cell in zip(self.columns, cells, strict=True):
            one = _SUM.fullmatch(cell.strip("\"'`"))
            if isinstance(column, int) and one is not None:
                yield Sum(number, int(cells[at]), column, "digest", _value(one))


def _counted(text: str) -> str:
    """A line of digests behind a number, and of nothing else: that is its step."""
    head = _FIRST.match(text)
    rest = "" if head is None else _SUM.sub("", text[head.end() :]).strip(" \t,;|\"'")
    return text if head is None or rest else f"step {text.strip(' |')}"


def _cells(text: str) -> list[str]:
    bare = text.strip().strip("|").strip()
    return [one.strip() for one in bare.split("|")] if "|" in bare else _CELLS.split(bare)


def _columns(text: str) -> list[int | str | None]:
    """What each column of a table is of, whose names tell the step and several ranks; else none."""
    text = text.strip().strip("|").strip()
    mark = next((one for one in ("|", "\t", ";", ",") if one in text), None)
    names = [one.strip(" \"'") for one in text.split(mark)] if mark else text.split()
    labels = [_LABEL.fullmatch(name) for name in names]
    ranks = [int(one["rank"]) if one is not None and _is_rank(one) else None for one in labels]
    told = [one for one in ranks if one is not None]
    is_step = [vocabulary.meant(name) == "step" for name in names]
    if sum(is_step) != 1 or len(told) < _FEWEST or sorted(told) != [*range(len(told))]:
        return []
    return [rank if rank is not None else "step" if one else None for rank, one in zip(ranks, is_step, strict=True)]


def _is_rank(label: Any) -> bool:
    word = label["word"].rstrip("_").lower()
    is_rank = word in _LABELS or vocabulary.of_process(word) == "rank"
    return is_rank and int(label["rank"]) < RANKS


def _pair(text: str, start: int, one: Any, labels: Sequence[tuple[int, int, int]]) -> tuple[int, int, bool] | None:
    """(where it begins, the rank, whether that is a number alone) of what stands right before a digest."""
    for begin, end, rank in labels:
        if end <= one.start() and _BETWEEN.fullmatch(text, end, one.start()):
            return begin, rank, False
    number = _NUMBER.search(text[max(start, one.start() - 16) : one.start()].rstrip("\"' "))
    return None if number is None else (max(start, one.start() - 16), int(number["rank"]), True)


def _name(before: str) -> str:
    """The name that stands right before a digest; none of a cell with a number in it, as of a host, that nothing joins to it."""
    found = _NAME.search(before[-80:])
    name = "" if found is None else found["name"].strip("_.-()")
    if found is not None and found["before"] and not is_of_replica(found["before"]):
        return f"{found['before']}_{name}"
    is_joined = before.rstrip()[-1:] in ("=", ":") or says_what(name) or not any(map(str.isdigit, name))
    return name.replace("=", "_") if is_joined and len(name) > 1 and name.lower() not in _LABELS else ""


def _called(*told: str) -> str:
    """What the first of these texts that names a digest calls it; else the first words of any."""
    words = [_WORD.findall(_SUM.sub(" ", text)) for text in told]
    words = [[one for one in own if one.lower() not in _NO_NAME] for own in words]
    known = ("_".join(own[max(0, at - 1) : at + 1]) for own in words for at, one in enumerate(own) if says_what(one))
    return (next(known, "") or "_".join(next(filter(None, words), [])[:3])).lower()


def _value(one: Any) -> str:
    return str(one["marked"] or one["plain"]).lower()


def told_sums(lines: Iterable[Line], *, is_file: bool = False) -> list[Sum]:
    """Lines of a file, in order → the digests of ranks in them."""
    block = _Block(is_file=is_file)
    found = [one for line in lines for one in block.read(line) if is_of_replica(one.name)]
    # Numbers without a word are ranks where those of a step are all from 0 on, once each.
    bare: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for one in found:
        if one.is_bare:
            bare[one.name, one.step].append(one.rank)
    whole = {key for key, ranks in bare.items() if len(ranks) >= _FEWEST and sorted(ranks) == [*range(len(ranks))]}
    mixed = {one.name for one in found if not one.value.isdigit() and not one.value.isalpha()}
    # What never changes is an identity, as of a container in a prefix.
    mixed -= {name for name in mixed if len({one.value for one in found if one.name == name}) < _FEWEST}
    mixed -= {name for name in mixed if not _is_held([one for one in found if one.name == name])}
    return [one for one in found if one.name in mixed and (not one.is_bare or (one.name, one.step) in whole)]


def _is_held(found: Sequence[Sum]) -> bool:
    """Are these digests, or figures that all ranks told alike in some steps, and anew in each? A figure of a rank's own is none."""
    if not any("." in one.value for one in found):
        return True
    told: dict[int, dict[int, str]] = {}
    for one in found:
        told.setdefault(one.step, {})[one.rank] = one.value
    whole = max(map(len, told.values()))
    alike = [{*own.values()} for own in told.values() if len(own) == whole >= _FEWEST]
    return len(set().union(*(values for values in alike if len(values) == 1))) >= _FEWEST


def _rows(file: str, found: Iterable[Sum]) -> Iterator[dict[str, Any]]:
    for one in found:
        name = "_".join(one.name.split()) or "digest"
        place = {"rank": one.rank, "step": one.step, "phase": "train", "file": file, "line": one.number}
        yield place | {"checksum": f"{name}={one.value}"}


# --- lines of logs ---------------------------------------------------------------------------------------------------


def parse_lines(lines: pl.DataFrame) -> Tables:
    """steps; claimed: lines that hold digests, and no step of their own."""
    has_sum = pl.col("text").str.contains(rf"(?i)\b(?:0x[0-9a-f]{{4,128}}|[0-9a-f]{{8,128}}|{_LONG})\b")
    ordered = lines.sort("file", "line").with_columns(has_sum.alias("_has"))
    # Of logs without digests nothing is left; else what stands before one, and what its printer said before it.
    behind = (pl.col("_has").shift(-at).over("file") for at in (1, 2))
    by_printer = pl.col("_has").shift(-1).over("file", "rank", "path_rank")
    whose = ordered.filter(pl.any_horizontal("_has", *(one.fill_null(value=False) for one in (*behind, by_printer))))
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    for (file,), own in whose.partition_by("file", as_dict=True).items():
        texts = {row["line"]: row["text"] for row in own.iter_rows(named=True)}
        found = told_sums(Line(row["line"], row["text"], reporter(row)["rank"]) for row in own.iter_rows(named=True))
        found = [one for one in found if not (one.is_alone and _is_of_others(texts[one.number]))]
        rows += _rows(str(file), found)
        claimed += [{"file": str(file), "line": one.number} for one in found if not one.is_alone]
    return tables_of(steps=rows, claimed=claimed)


def _is_of_others(text: str) -> bool:
    """Is a line replica_values.py's, or an object that tells a loss, too, which field_lines.py reads?"""
    return tells_replica(text) or (text.lstrip().startswith("{") and _LOSS.search(text) is not None)


_LOSS = regex(r"(?i)loss[\"']?[ :=]{1,2}[\dni]")
_TELLS_STEP = regex(
    rb"(?i)(?:step|(?<![a-z])iter|iteration|(?<![a-z])it|update|\xe6\xad\xa5|\xe6\x95\xb0)[\"']?[ =:#_-]{0,6}\d"
)
LINES = LineParser(
    name="replica_sums",
    anchors=(b"tep", b"iter", b"Iter", b"it=", b"pdate", "步".encode()),
    parse=parse_lines,
    after=_MOST,
    leads=_TELLS_STEP,
    holds=_TELLS_STEP,
    follows=regex(
        rb"(?i)^[\s|#]{0,8}ranks?\b|(?<![\w.+-])(?:0x[0-9a-f]{4,128}|[0-9a-f]{8,128}|\d{1,20}\.\d{8,30})(?![\w.-])"
    ),
)


# --- files of digests ------------------------------------------------------------------------------------------------

_FIRST_BYTES = 8192  # in which a digest stands


def accepts(path: str, head: bytes) -> bool:
    """A text of which most lines are digests of ranks and steps."""
    text = head.decode("utf-8", "replace")
    if text.lstrip()[:1] in ("{", "<") or "\x00" in text[:64] or _SUM.search(text[:_FIRST_BYTES]) is None:
        return False
    named = vocabulary.meanings(sorted(framings.names(path, head)))
    if {"rank", "step", "checksum"} <= named and framings.framing(path, head) != "sections":
        return False  # records, each with its rank and step
    lines = [line for line in text[: text.rfind("\n") + 1].splitlines() if line.strip()]
    held = [line for line in lines if _SUM.search(line) and not _is_of_others(line) and not _LOSS.search(line)]
    if len(held) * 2 < len(lines):
        return False  # or a log
    found = told_sums((Line(number, line, 0) for number, line in enumerate(lines, 1)), is_file=True)
    return len({one.number for one in found}) * 2 > len(lines) - _GAP and len({one.step for one in found}) >= _FEWEST


def parse_file(source: Source) -> Tables:
    """steps."""
    found = told_sums((Line(number, text, source.rank) for number, text in text_lines(source)), is_file=True)
    return {"steps": table("steps", _rows(source.path, found))}


FILES = FileParser(name="sums_of_ranks", accepts=accepts, parse=parse_file)
