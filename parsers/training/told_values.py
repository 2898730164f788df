"""Which figures of a record or of a line are numbers and which are none, under whatever names: rows of `values`.

    {"step": 5, "where": "conv2", "lo": -1.2, "hi": NaN, "bad": 3}      of = conv2, fine = lo, bad = hi=nan bad=3
    step 17 | conv2 in: amax 3.2 bad 0  out: amax nan bad 7             of = conv2 in: amax, fine = 0 1, bad = 2=nan 3=7

A figure is bad that is NaN or Inf, or so large that no training comes to it, and so is a count of such, by its name or the word beside it, that is not 0;
one that is too large and not as large as that is neither bad nor fine. What it is called
matters to no comparison: the same record of another rank has the same names, the same line the same words. What is of an evaluation
or a time is left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from math import isfinite
from re import Match
from typing import Any

from parsers.forms import framings
from parsers.forms.pairs import named_counts
from parsers.forms.reading import real, whole
from parsers.schema.lines import reporter
from parsers.schema.rules import LINE_CHARACTERS
from parsers.text import durations, vocabulary
from parsers.text.patterns import regex
from parsers.text.quantities import bare_numbers
from parsers.text.vocabulary import words_of

_MOST = 64  # figures of a record
# No training comes to the first; masks are filled with the ends of formats, and with powers of ten.
BROKEN, _ENDS, _LARGE = 1e30, 3.38e38, 1e20
_TEXT, _LONG = 120, 24
_DEPTH = 4  # of an object
_STEP = regex(
    r"(?i)(?<![a-z])(?!(?<=[\w>]:)\w+:\d)(?:global_|train_)?(?:step|iter(?:ation)?|it|update|batch)[ =:#]{1,6}(?P<step>\d{1,15})(?:/\d{1,15})?\b"
)
_MICRO = r"(?:mb|mbs|ubatch|micro[ _-]?(?:batch|step)?(?:[ _]?(?:idx|index|id|no|num))?)"
# And no size in MB.
_MICRO_IN = regex(rf"(?i)(?<![a-z])(?<!\d )(?<!\d){_MICRO}[ =:#_]{{1,3}}(\d{{1,6}})(?:/\d{{1,6}})?(?![\w.])")
_MICRO_NAME = regex(rf"(?i){_MICRO}")
_NUMBER = regex(
    r"(?i)(?<![\w.])(?P<value>[+-]?(?:\d[\d.]{0,48}(?:e[+-]?\d{1,3})?|nan|inf(?:inity)?|\.\d{1,30}))(?P<of>/\d{1,15})?(?![\w])(?!(?<=[a-z]) ?[=:] ?\d)"
)  # what a number follows is its name: nan=0
_COUNTS = r"(?:non[ _-]?fin(?:ite)?|nans?|infs?|bad|broken|corrupt(?:ed)?|invalid|not[ _-]finite|overflow(?:ed|s)?)"
_COUNTED = (
    r"(?:grad(?:ient)?|param(?:eter)?|weight|act(?:ivation)?|tensor|elem(?:ent)?|input|output|row|logit|feature)s?"
)
_COUNT_NAME = regex(
    rf"(?i)(?:(?:^|.*[^a-z]){_COUNTS}(?:_?(?:count|values|elements|num|total|n))?|(?:.*[^a-z])?(?:n|num|has|any)_?{_COUNTS}|(?:(?:n|num|number of)[ _])?{_COUNTS}[ _](?:values[ _])?(?:in|of)[ _].+|(?:.*[^a-z])?{_COUNTS}_(?:(?:in|of|on|at|from|after|before|behind|post|pre)_.+|{_COUNTED}))"
)
_COUNT_BEFORE = regex(
    rf"(?i)(?:^|[^a-z]){_COUNTS}(?:[ _](?:count|values|elements|{_COUNTED}|(?:on|at|from|after|before|behind|post|pre)[ _]\w{{1,20}}))?[ =:(]{{0,3}}$"
)
_COUNT_BEHIND = regex(rf"(?i)\s{{1,2}}{_COUNTS}\b(?! {{0,2}}[=:]?[ (\[]{{0,2}}[+-]?[\d.ni])")
_ENDS_OF = r"(?:in|out|input|output|act|activation|grad|gradient|weight|param|fwd|bwd|loss|x|y)s?"
_IS_FINE = regex(rf"(?i)(?:.*[^a-z])?(?:is_?|all_?)?fin(?:ite)?(?:_{_ENDS_OF})?|(?:.*[^a-z])?{_ENDS_OF}_(?:is_)?ok")
_BEFORE_COUNT = regex(r"(?<=[a-zA-Z])[ \t]{1,3}\d{1,15}(?![\w.])")
_BEFORE_PAIRS = regex(r"(?i)[ \t]{1,3}\d{1,15}[ \t,;|]{1,3}(?:nan|inf)s?[ \t]{1,3}\d{1,15}(?![\w.])")
_EACH = r"(?:\d{1,15} ?(?:[+-]?(?:nan|inf)s?|non-?finite|bad)|[+-]?(?:nan|inf)s? ?[=:] ?\d{1,15}|non-?finite ?[=:] ?\d{1,15})"
_JUDGED = regex(
    rf"(?i)[(\[] {{0,2}}(?:(?P<counts>{_EACH}(?:[ ,;/+]{{1,3}}{_EACH}){{0,3}})(?:[ ,;/+]{{1,3}}(?:of )?\d{{1,15}})?|(?:all )?(?:finite|ok|clean|fine)|(?P<bad>(?:non-?|not[ _-])finite|has[ _]nans?|bad|broken|overflow(?:ed)?)!?) {{0,2}}[)\]]"
    r"|(?<=[\dnf] )(?:(?P<non>non-?|not[ _-])|all[ _])?finite(?![\w=:]| ?[=:(\d])"
    r"|(?<![\w.])(?:is_?|all_?)?finite ?[=:] ?(?:true|yes|(?P<no>false|no))\b"
)
_DIGITS = regex(r"\d{1,15}")
# `fwd block.5`, whichever step is told behind it.
_PART = regex(r"(?:[a-z]{2,12} )?[A-Za-z_]{1,30}(?:[./]\w{1,30}){0,5}[./\[]\d{1,4}\]?(?:[./]\w{1,30}){0,5}")
_FRACTION = regex(r"(?i)\.\d|e[+-]?\d|nan|inf")
# And no hash, which is each rank's own.
_WORDS = regex(r"(?!(?i:[0-9a-f]{6,128}|true|false|none|n/a)$)[A-Za-z_][\w./ :\[\]-]{0,119}")
_BLANKS = regex(r"\s+")
_MEASURED = regex(r"(?i)(?:.*[^a-z])?(?:abs_?max|max_?abs|amax|norm|l2|rms)")  # of a tensor, and no time
_OF_WHOM = frozenset(
    ("step", "time", "rank", "local_rank", "node_rank", "host", "pid", "device", "pod", "address", "epoch", "attempt", "split", "tokens",
     "samples", "world_size", "loss_scale", "skipped", "nan_iterations", "per_s", "tflops")
)  # fmt: skip
_SIDES = (["in"], ["out"], ["input"], ["output"])
_NAMING = frozenset(("tensor", "module", "phase", "name", "metric", "operation"))
Values = dict[str, Any]


def of_record(flat: Mapping[str, Any]) -> Values | None:
    """of, fine, bad of a flat record; None where it holds no figure, or is of an evaluation."""
    of: list[str] = []
    fine: list[str] = []
    bad: list[str] = []
    for name, cell in islice(flat.items(), _MOST):
        sort = _sort(name)
        if sort == "left out":
            continue
        if (value := _value(cell)) is None:
            if isinstance(cell, str) and sort in ("", "naming") and _WORDS.fullmatch(cell):
                if vocabulary.is_of_evaluation(cell):
                    return None
                of.append(cell)
        elif (found := _judged(sort, value)) is not None:
            bad.append(f"{'_'.join(name.split())}={found}")
        elif not sort and is_broken(cell):
            bad.append(f"{'_'.join(name.split())}={value:g}")
        elif sort != "naming" and (sort == "count" or (_size(cell) or 0.0) < _LARGE):
            fine.append("_".join(name.split()))
    return _made("/".join(of), fine, bad, micro_of(flat))


def micro_of(flat: Mapping[str, Any]) -> int | None:
    """The micro-batch that a record is of."""
    return next((whole(cell) for name, cell in flat.items() if _MICRO_NAME.fullmatch(name)), None)


def counts_bad(flat: Mapping[str, Any]) -> bool:
    """Does a record say of what it is, and how many values of it are bad, beside another figure?"""
    sorts = [_sort(name) for name, cell in islice(flat.items(), _MOST) if _value(cell) is not None]
    told = of_record(flat)
    return not {"count", "is fine"}.isdisjoint(sorts) and len(sorts) > 1 and told is not None and bool(told["of"])


def of_line(text: str) -> tuple[int | None, Values | None]:
    """(the step that the line tells, of, fine, bad) of a line in which words stand between figures; None where it holds none."""
    text = _JUDGED.sub(_counted, named_counts(bare_numbers(vocabulary.in_english(text))))
    step = _STEP.search(text)
    rest = _beside(text, step.start(), step.end()) if step else text
    fine: list[str] = []
    bad: list[str] = []
    first = None
    has_fraction = False
    for place, one in enumerate(islice(_figures_in(rest), _MOST)):
        first = one.start() if first is None else first
        value = one["value"].lower()
        has_fraction |= _FRACTION.search(value) is not None
        is_count = one["value"].isdigit() and (
            _COUNT_BEFORE.search(rest[max(0, one.start() - 40) : one.start()]) is not None
            or _COUNT_BEHIND.match(rest, one.end()) is not None
        )
        has_fraction |= is_count
        size = None if "n" in value or is_count else _size(value)
        if "n" in value or (is_count and value.strip("0")) or (size is not None and is_broken(value)):
            bad.append(f"{place}={value if len(value) < _LONG else format(real(value), 'g')}")
        elif size is None or size < _LARGE:
            fine.append(str(place))
    if first is None or not has_fraction or vocabulary.is_of_evaluation(rest[:_TEXT]):
        return None, None
    words_of_it = _BLANKS.sub(" ", _NUMBER.sub("#", rest)).strip(" |,;:-")
    micro = _MICRO_IN.search(rest)
    told = _made(words_of_it[: 2 * _TEXT], fine, bad, int(micro[1]) if micro else None)
    return int(step["step"]) if step else None, told


def _counted(found: Match[str]) -> str:
    """What a line says behind a figure of whether it is finite, in one form: `(finite)` → (0 bad), `(1 inf 0 nan)` → (1 bad)."""
    if found["counts"]:
        return f"({sum(map(int, _DIGITS.findall(found['counts'])))} bad)"
    return f"({int(any(found.group('bad', 'non', 'no')))} bad)"


def _figures_in(text: str) -> Iterator[Match[str]]:
    """The numbers of a line, without the NaN or Inf that, behind another number, names the count after it: `absmax 3.48 nan 0`."""
    end = None
    for one in _NUMBER.finditer(text):
        is_behind = end is not None and not text[end : one.start()].strip(" \t,;|)")
        end = one.end()
        if not (_BEFORE_COUNT.match(text, end) and (is_behind or _BEFORE_PAIRS.match(text, end))):
            yield one


def _beside(text: str, start: int, end: int) -> str:
    """What a line says of its step: what stands behind it, with a numbered part of a model before it; where no figure does, what stands before, as
    loggers that sort their names have it."""
    behind, before = text[end:], text[:start].strip(" \t|,:")
    if _NUMBER.search(behind):
        return f"{before} {behind.strip()}" if len(before) < _TEXT and _PART.fullmatch(before) else behind
    return f"{text[:start].rstrip()} {behind.strip()}"


def _made(of: str, fine: list[str], bad: list[str], micro: int | None) -> Values | None:
    if not fine and not bad:
        return None
    said = {"of": of[: 2 * _TEXT], "fine": " ".join(fine) or None, "bad": " ".join(bad) or None}
    return said | ({} if micro is None else {"microbatch": micro})


def _value(cell: Any) -> float | bool | None:
    if isinstance(cell, bool):
        return cell
    if isinstance(cell, str):
        if cell.lower() in ("true", "false"):
            return cell.lower() == "true"
        return real(cell) if len(cell) < 40 and len(cell.split()) == 1 else None
    return real(cell)


def _judged(sort: str, value: float | bool) -> str | None:
    """How a bad figure is written down; null for one that is none."""
    if isinstance(value, bool):
        return ("nan" if value != (sort == "is fine") else None) if sort in ("is fine", "count") else None
    is_bad = not isfinite(value) or (sort == "count" and value > 0) or (sort == "is fine" and value == 0)
    return f"{value:g}" if is_bad else None


def is_broken(cell: Any) -> bool:
    """Is a figure a number, larger than any training comes to, and none that masks are filled with?"""
    size = _size(cell)
    return size is not None and BROKEN <= size < _ENDS and f"{size:.5e}"[0:7] != "1.00000"


def _size(cell: Any) -> float | None:
    """How large a number with a fraction is; digits alone may be a name."""
    return None if str(cell).lstrip("+-").isdigit() or (value := real(cell)) is None else abs(value)


@lru_cache(maxsize=8192)
def _sort(name: str) -> str:
    meaning = vocabulary.meant(name)
    if vocabulary.is_of_evaluation(name):
        return "left out"
    if meaning in _NAMING:
        return "naming"
    if meaning in _OF_WHOM:
        return "left out"
    if _COUNT_NAME.fullmatch(name):  # optimizer/nan, which times nothing
        return "count"
    timed = None if _MEASURED.fullmatch(name) else durations.figure(name)
    is_side = words_of(name)[-1:] in _SIDES  # of a tensor, where no unit says that it is a time
    if timed is not None and (timed.is_time or (durations.sort_of(timed.phase) is not None and not is_side)):
        return "left out"
    return "is fine" if _IS_FINE.fullmatch(name) else ""


def _rank_in(text: str) -> int | None:
    """The rank that a line tells of whoever prints it, as a record does."""
    said = framings.record(text[:LINE_CHARACTERS])
    return whole(vocabulary.told(said).get("rank")) if said else None


def place_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Who prints a line, where and when, in the columns of `values`."""
    place = {name: reporter(row)[name] for name in ("rank", "local_rank", "file", "line")}
    return place | {"time_ns": row["time_ns"], "time_basis": row["time_basis"]}


def _of_object(text: str) -> tuple[int | None, Values | None]:
    """The same of an object that counts bad values."""
    flat = dict(islice(_inner("", framings.record(text) or {}), _MOST))
    return whole(vocabulary.told(flat).get("step")), of_record(flat) if counts_bad(flat) else None


def _inner(before: str, said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, cell in said.items():
        if isinstance(cell, dict) and before.count("/") < _DEPTH:
            yield from _inner(f"{before}{name}/", cell)
        else:
            yield f"{before}{name}", cell


def rows_of_lines(lines: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Lines of schema LINES → rows of `values`."""
    for row in lines:
        text = row["text"][:LINE_CHARACTERS]
        step, found = _of_object(text) if text.lstrip().startswith("{") else of_line(text)
        if found is not None:
            place = place_of(row)
            if place["rank"] is None and place["local_rank"] is None:
                place["rank"] = _rank_in(row["text"])
            yield place | found | {"step": step}
