"""Curves without a line of names: two or three columns of numbers, of which one is a count, one perhaps a stamp; what the third one
is, the path says. Beside a stamp and a count it may be called anything.

    1790000000123 2.31 120                in mlruns/0/RUN/metrics/train/loss (MLflow; milliseconds)
    120,2.31                              in loss_rank3.csv
    Wall time,Step,Value                  in run-NAME-tag-train_loss.csv (TensorBoard)
    step,timestamp,value                  in train_loss.csv (Neptune)
"""

from collections.abc import Iterator, Sequence

from parsers.forms.reading import HEADER, Row, text_lines
from parsers.schema.parser import Source
from parsers.text import lenient, vocabulary
from parsers.text.patterns import regex
from parsers.text.replica_names import is_of_replica, says_what

NUMBER = regex(r"[+-]?(?:\d{1,30}\.?\d{0,30}(?:[eE][+-]?\d{1,3})?|(?i:nan|inf(?:inity)?))")
_WHOLE, _FEWEST = 3, 3  # columns, and rows, that are a curve whatever it is called
_FIRST = 6  # rows that tell which column is what
_SPLIT = regex(r"[\s,;]+")
_TAG = regex(r"(?:^|/)run-[^/]{0,200}-tag-(?P<tag>[^/]{1,100})\.csv$")
_SUFFIX = regex(r"\.(?:csv|tsv|txt|md|log|dat|out)$")
_RANKED = regex(
    r"[_.-]?(?:rank|worker|proc|r)[_.-]?\d{1,7}\b|[_.-]\d{1,7}$"
    r"|(?:^|[_.-])(?:(?:by|per|each|of|over|all)[_.-])+(?:ranks?|workers?)$|[_.-]ranks?$|^(?:per|by)[_.-]?rank[_.-]"
)


def column_kinds(path: str, lines: Sequence[str]) -> list[str]:
    """The names of the columns of a curve that begins so: `time`, `step`, and that of the path; none where it is no curve, or the path
    says nothing that is known."""
    known, free = name_of(path), _free_name(path)
    if known is None and free is None:
        return []
    kinds = _header(lines[0]) or _kinds([_SPLIT.split(line.strip()) for line in lines])
    is_curve = known is not None or (len(kinds) == _WHOLE and len(lines) >= _FEWEST)
    return [(known or free or "") if kind == "value" else kind for kind in kinds] if is_curve else []


def name_of(path: str) -> str | None:
    """The name that the path of a curve tells, where it means anything."""
    if tag := _TAG.search(path):
        return tag["tag"]
    folder, _, last = path.rpartition("/")
    bare = _RANKED.sub("", _SUFFIX.sub("", last))
    parent = _RANKED.sub("", folder.rpartition("/")[2])  # whose it is, is no part of its name
    own = f"{parent}/{bare}" if parent and vocabulary.meaning_of(parent) is None else bare
    if vocabulary.is_of_evaluation(own):
        return None
    if (vocabulary.meant(own) or vocabulary.meant(bare)) not in ("loss", "part_loss", "grad_norm", "own_grad_norm"):
        return bare if says_what(bare) and is_of_replica(bare) else None  # what replicas hold alike
    return own if vocabulary.meaning_of(own) else bare


def _free_name(path: str) -> str | None:
    """The last name of a path of which nothing is known: a stamp, a count and one more figure are a curve whatever that is."""
    own = path.rpartition("/")[2]
    bare = _RANKED.sub("", _SUFFIX.sub("", own))
    return bare if bare and vocabulary.is_unknown(bare) and not vocabulary.is_of_evaluation(path) else None


def _header(line: str) -> list[str]:
    cells = [cell.strip().strip('"') for cell in line.split(",")]
    kinds = [vocabulary.meant(cell) or ("value" if cell.lower() == "value" else "") for cell in cells]
    is_whole = len(kinds) == len(set(kinds)) and {"step", "value"} <= set(kinds) <= {"step", "value", "time"}
    return kinds if is_whole else []


def _kinds(rows: Sequence[Sequence[str]]) -> list[str]:
    """`time`, `step` or `value` for each column: a stamp, a count that never falls, and one more."""
    width = len(rows[0])
    if width not in (2, 3) or any(len(row) != width or not all(map(NUMBER.fullmatch, row)) for row in rows):
        return []
    made: list[str] = []
    for cells in zip(*rows, strict=True):
        numbers = [float(cell) for cell in cells]
        is_stamp = all(1e9 < one < 9e9 or 1e12 < one < 9e12 for one in numbers)
        is_count = all(map(str.isdigit, cells)) and numbers == sorted(numbers)
        made.append(
            "time" if is_stamp and "time" not in made else "step" if is_count and "step" not in made else "value"
        )
    return made if made.count("value") == 1 and "step" in made else []


def curve_rows(source: Source) -> Iterator[Row]:
    """Its rows, of `time` in seconds or milliseconds since 1970, `step`, and the name of the path."""
    own, kinds = name_of(source.path) or _free_name(source.path) or "value", []
    held: list[tuple[int, str]] = []
    for number, text in text_lines(source):
        if not text.strip():
            continue
        if not held and (said := _header(text)):
            kinds = said
            yield number, text, HEADER
            continue
        held.append((number, text))
        if kinds or len(held) == _FIRST:
            kinds = kinds or _kinds([_SPLIT.split(line.strip()) for _, line in held])
            yield from (_row(at, line, kinds, own) for at, line in held)
            held = []
    kinds = kinds or (_kinds([_SPLIT.split(line.strip()) for _, line in held]) if held else [])
    yield from (_row(at, line, kinds, own) for at, line in held)


def _row(number: int, text: str, kinds: Sequence[str], own: str) -> Row:
    cells = _SPLIT.split(text.strip())
    if len(cells) != len(kinds):
        return number, text, None
    names = [own if kind == "value" else kind for kind in kinds]
    return number, text, dict(zip(names, map(lenient.word, cells), strict=True))
