"""Tables of a step each, under headings that count them: what a program prints anew for every step, of all ranks.

    step 12                                             ### iteration 15
              host  loss_local  post_nonfinite
    rank                                                | rank | loss   | head   |
    0     amd-mi-3    0.854095               0          |------|--------|--------|
    1     amd-mi-3    0.811618               7          | 0    | 0.9519 | 0.8691 |

    == step 41 rank 3 of 4 (before the reduction) ==    of one rank each
       layer             |w|     |g|
       encoder.0.ffn    9.24   0.131

    ===== rank 2  step 299 =====                        two counts in a cell are each under its own word
    | phase   | module   | in nan/inf | out nan/inf |
    |---------|----------|------------|-------------|
    | forward | h.5.attn | 0/0        | 4096/0      |

    == step 41 ==  z_loss 0.011  dropped 1.4 %          a heading may tell more, where its table follows at once
    | layer | what   | out absmax | nan |
    |     3 | mlp.12 |       3835 |   0 |

    Activations of the forward pass, step 41            in words, above a drawn table or one of statistics
    ┃ module ┃ in absmax ┃ out nan ┃

    after the load  rank=1 host=n07                     above a table of statistics several lines may tell its step
    trainer.step=9000

    name            local shape  min    max   nan inf
    layers.0.wq     [16, 64]    -0.11  0.12    0   0

    | item        | value |                             what stands above the first heading and says who it is, in rows of two or in pairs, is so of all
    | global rank |     6 |
    | world size  |     8 |
    ## Step 17                                          a pair in a line of its own is a record of its step
    * weights before the step: norm 4.3466

A row is a record of its step, and of the rank that the heading tells. A line of names is one whose number of cells the next line has; the first column of a frame of pandas has
its name in a line of its own, or none. What stands between the tables is no record.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice

from parsers.forms.reading import HEADER, RULE, Row, cells_of, text_lines, undrawn
from parsers.schema.parser import Source
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.step_marks import GIVEN
from parsers.text.vocabulary import meant

_EDGE = " \t#=*>|_-:[]<"
_COUNTED = regex(
    r"(?<![\w.-])(?P<name>[A-Za-z]{1,12}(?:[_ ][A-Za-z]{1,12})??)[\s#:=]{1,4}(?P<count>\d{1,15})(?: ?(?:/|of) ?\d{1,15})?(?![\w.])"
)
_ASIDE = regex(r"\([^()]{0,200}\)")
_COUNTS = ("step", "rank")
_HEADING_CHARACTERS = 200
# Of a drawn table: in words.
_NAME = regex(r"[A-Za-z_|][\w./@()%|-]{0,79}(?: [\w./@()%|-]{1,40}){0,3}|\[[^\[\]\s]{1,40}\]")
_APART = regex(r"\s{2,}")
_BLANK = regex(r"(?P<before>(?<!\S)\S{1,80}) (?=(?P<after>\S{1,80}))")
_TWO = regex(r"(?P<before>(?:.*[ _])?)(?P<one>[A-Za-z]{2,20})/(?P<other>[A-Za-z]{2,20})")
_PAIR = regex(
    r"(?P<name>[A-Za-z_][\w./-]{0,40}(?: [A-Za-z_][\w./-]{0,20})?)[ :=]{1,4}(?P<value>[+-]?\d[\w.+-]{0,24}|[+-]?(?i:nan|inf))(?: ?%)?(?![\w.])"
)
_SAYS = regex(r"(?<![\w.-])(?:[A-Za-z_]\w{0,30}\.){0,3}(?P<name>[A-Za-z_]\w{0,30})[=:] ?(?P<value>[\w.-]{1,64})")
_COUNTS_OF_TWO = regex(r"(?P<one>\d{1,18}) ?/ ?(?P<other>\d{1,18})")
_FIGURE = regex(r"[+-]?(?:\d[\d.]{0,30}(?:[eE][+-]?\d{1,3})?|\.?(?i:nan|inf))%?")
_STATISTIC = regex(r"(?i)(?:.*[ _])?(?:abs_?max|max_?abs|amax|min|max|nans?|infs?|non_?finite)(?:[ _]count)?")
_NOTHING = frozenset(("", "-", "--", "na", "n/a", "none", "null"))
_WHO = ("step", "rank", "host")
_ALONE = regex(
    r"\s{0,8}(?:[*+-] )?(?P<name>[A-Za-z][^:=|]{0,100}?)\s{0,8}[:=]\s{0,8}(?P<what>(?:[A-Za-z]{1,20} ){0,3})(?P<value>[+-]?(?:\d[\d.]{0,30}(?:[eE][+-]?\d{1,3})?|\.?(?i:nan|inf)))"
)  # a pair, and nothing else on its line
_MARKED = regex(r"\s{0,3}(?:#{1,6}|={2,}|\*{2,}) ")  # a heading whatever stands below it
_OWNER = ("rank", "host", "pid", "local_rank")
_FEWEST = 2  # columns
_TITLE = 8  # lines
_SHORT = 3  # letters of a word that counts alone
_LETTERS = regex(r"[a-z]+")
_BEFORE = regex(r"(?i)(?:at|of|in|for|after|before|during|on|by|from|to)[_ ](?=.)")
_DIGIT = regex(r"(?<![A-Za-z\d.:])\d(?![\d.]{0,8}:\d)")  # of a figure, and of no word or clock
_AHEAD = 4  # lines that are looked at after one


def section_names(lines: Sequence[str]) -> list[str]:
    """The names of the first table that stands under such a heading, that of the count first; none where none does."""
    below = [one for one in lines if not _is_rule(one)]
    for at, line in enumerate(below):
        if heading := _heading(line):
            for nth in range(at + 1, min(at + 1 + _AHEAD, len(below))):
                if header := _header(below[nth : nth + 3]):
                    return [*heading, *_parted(header, below[nth + 1])]
            if _MARKED.match(line) and (pair := _pair("".join(below[at + 1 : at + 2]))):
                return [*heading, *pair]
        elif heading := _fuller(line, below[at + 1 :]):
            return [*heading, *_parted(_header(below[at + 1 : at + 4]), below[at + 2])]
    title, at = _title(below)
    return [*title, *_header(below[at : at + 3])] if title else []


def section_rows(source: Source) -> Iterator[Row]:
    """(line, text, record) of a file of such tables."""
    first = [undrawn(text) for _, text in islice(text_lines(source), 2 * _TITLE)]
    title, at = _title([one for one in first if not _is_rule(one)])
    told: dict[str, str] = title if at < _TITLE and not any(map(_heading, first)) else {}
    named: list[str] = []
    first_row: list[str] = []
    above: dict[str, str] = {}
    for number, text, below in _with_next((number, undrawn(text)) for number, text in text_lines(source)):
        if heading := _heading(text):
            told, named, first_row = _owner(above) | heading, [], []
            yield number, text, HEADER
        elif not told and not (heading := _fuller(text, below)):
            above |= (pair := _pair(text))
            if text.strip():
                yield number, text, HEADER if pair else None
        elif _is_rule(text):
            if text.strip():
                yield number, text, HEADER
        elif heading := heading or _fuller(text, below):
            told, named = {name: cell for name, cell in heading.items() if meant(name) in _WHO}, []
            first_row = []
            yield number, text, heading if len(heading) > len(told) else HEADER
        else:
            cells = _cells(text)
            if named and len(cells) == 1 and len(named) >= _FEWEST and _NAME.fullmatch(cells[0]):
                named = [cells[0], *named]  # of the column before the first
                yield number, text, HEADER
            elif named and len(cells) == len(named) and _is_row(cells, first_row):
                first_row = first_row or cells
                yield number, text, told | _apart(dict(zip(named, cells, strict=True)))
            elif named and len(cells) == len(named) + 1 and cells[0].isdigit():
                yield number, text, told | dict(zip(named, cells[1:], strict=True))
            elif pair := _pair(text):
                yield number, text, told | pair
            elif header := _header([text, *below]):
                named = header[1:] if len(header) > len(_names(text, len(header))) else header
                yield number, text, HEADER
            else:
                yield number, text, None


def _pair(text: str) -> dict[str, str]:
    """The name and the value that a line holds and nothing else, or a row of two."""
    if (found := _ALONE.fullmatch(text.rstrip())) is not None:
        return {f"{found['name']} {found['what']}".strip(): found["value"]}
    cells = _cells(text) if text.lstrip().startswith("|") else []
    return {cells[0]: cells[1]} if len(cells) == len(_COUNTS) and cells[0] and not _is_rule(text) else {}


def _owner(above: dict[str, str]) -> dict[str, str]:
    """Who it is, by the pairs above all tables, where they tell a rank and beside it another name of the process or the size of its world."""
    told = {meaning: cell for name, cell in above.items() if (meaning := meant(name)) in _OWNER}
    is_beside = len(told) > 1 or any(vocabulary.of_process(name) == "world_size" for name in above)
    return told if "rank" in told and is_beside else {}


def _with_next(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, Sequence[str]]]:
    """Each line, and the next ones that are no rule."""
    held: deque[tuple[int, str]] = deque()
    for one in lines:
        held.append(one)
        if len(held) > 2 * _AHEAD:
            yield *held.popleft(), [text for _, text in held if not _is_rule(text)]
    while held:
        yield *held.popleft(), [text for _, text in held if not _is_rule(text)]


def _is_row(cells: Sequence[str], first: Sequence[str]) -> bool:
    """Is there a figure, or nothing, wherever the first row of the table has one?"""
    return not any(
        _FIGURE.fullmatch(before) and not _FIGURE.fullmatch(cell) and cell.lower() not in _NOTHING
        for cell, before in zip(cells, first, strict=bool(first))
    )


def _is_rule(line: str) -> bool:
    return not line.strip() or RULE.fullmatch(line) is not None


@lru_cache(maxsize=2)  # asked twice of each line
def _may_count(line: str) -> bool:
    """Is a line short, and holds a number and what counts steps?"""
    if len(line) > _HEADING_CHARACTERS or not any(map(str.isdigit, line)):
        return False
    text, (long, short) = line.lower(), _counting()
    return any(word in text for word in long) or not short.isdisjoint(_LETTERS.findall(text))


@cache
def _counting() -> tuple[tuple[str, ...], frozenset[str]]:
    """The words with which names of a count of steps end: those that may be a part of others, and short ones."""
    words = vocabulary.last_words("step")
    short = frozenset(one for one in words if len(one) <= _SHORT)
    return tuple(sorted(words - short)), short


def _heading(line: str) -> dict[str, str] | None:
    """The counts of a heading, of a step and perhaps of a rank: it says nothing else."""
    if not _may_count(line):
        return None
    bare = _ASIDE.sub(" ", line.strip(_EDGE))
    counts = [(found["name"], found["count"]) for found in _COUNTED.finditer(bare)]
    told = [meant(name) for name, _ in counts]
    is_whole = "step" in told and set(told) <= set(_COUNTS) and not _COUNTED.sub(" ", bare).strip(_EDGE + ",;./@")
    return dict(counts) if is_whole and len(told) == len(set(told)) else None


def _fuller(line: str, below: Sequence[str]) -> dict[str, str] | None:
    """The pairs of a heading that tells more than its counts, right above a line of names: prose between two such lines is none."""
    if not _may_count(line):
        return None
    bare = _ASIDE.sub(" ", line.strip(_EDGE))
    pairs = [(found["name"], found["value"]) for found in _PAIR.finditer(bare)]
    told = [meant(name) for name, _ in pairs]
    if told.count("step") != 1 or _PAIR.sub(" ", bare).strip(_EDGE + ",;./@|") or not _header(below[:3]):
        return _worded(line, below)
    return None if any(meant(found["name"]) == "step" for found in _PAIR.finditer(below[1])) else dict(pairs)


def _worded(line: str, below: Sequence[str]) -> dict[str, str] | None:
    """The counts of a heading in words, of one step and perhaps of a rank, right above a drawn table or one of statistics; of an evaluation it is none."""
    bare = line.strip(_EDGE)
    counts = [(_BEFORE.sub("", found["name"]), found["count"]) for found in _COUNTED.finditer(bare)]
    told = {meaning: count for name, count in counts if (meaning := meant(name)) in _COUNTS}
    is_of_one = [meant(name) for name, _ in counts].count("step") == 1
    others = _COUNTED.sub(" ", bare)
    is_batch = line.rstrip().endswith(":") and GIVEN.search(line) is not None  # `numerics/batch_tables.py`
    if not is_of_one or is_batch or _DIGIT.search(others) or "=" in others or vocabulary.is_of_evaluation(others):
        return None
    header = _header(below[:3])
    is_drawn = "|" in below[0] if below else False
    is_table = is_drawn or (len(header) > _FEWEST and any(map(_STATISTIC.fullmatch, header)))
    return told if header and is_table else None


def _title(lines: Sequence[str]) -> tuple[dict[str, str], int]:
    """What the first lines say of the step, and of whom, and how many stand above a table of statistics."""
    for at in range(1, min(_TITLE, len(lines) - 1)):
        if len(header := _header(lines[at : at + 3])) > _FEWEST and any(map(_STATISTIC.fullmatch, header)):
            pairs = [(one["name"], one["value"]) for line in lines[:at] for one in _SAYS.finditer(line)]
            told = {meaning: cell for name, cell in pairs if (meaning := meant(name)) in _WHO}
            return (told, at) if "step" in told and not any(map(_STATISTIC.fullmatch, told)) else ({}, at)
    return {}, len(lines)


def _header(lines: Sequence[str]) -> list[str]:
    """The names in the first line, and before them the one that stands alone in the second; none where the next line has not as many cells."""
    if len(lines) < _FEWEST:
        return []
    index = _cells(lines[1])
    is_index = len(index) == 1 and "|" not in lines[0] and _NAME.fullmatch(index[0]) is not None
    row = _cells(lines[1 + is_index]) if len(lines) > 1 + is_index else []
    cells = _names(lines[0], len(row) - is_index)
    is_fitting = len(row) - is_index == len(cells) or (not is_index and len(row) == len(cells) + 1 and row[0].isdigit())
    if not is_fitting or len(cells) < _FEWEST or len(set(cells)) < len(cells) or not any(map(_FIGURE.fullmatch, row)):
        return []
    return [*(index if is_index else ()), *cells] if all(map(_NAME.fullmatch, cells)) else []


def _names(line: str, count: int) -> list[str]:
    """The names of so many columns: where a line has more words, those that stand closest and are no statistics are one name."""
    words = _cells(line)
    if len(words) <= count or "|" in line:
        return words
    for parts in (_APART.split(line.strip()), _joined(line.strip(), len(words) - count)):
        if len(parts) == count:
            return parts
    return words


def _joined(line: str, many: int) -> list[str]:
    """With as many blanks as are too many no ends of names, where it is plain which."""
    gaps = [one for one in _BLANK.finditer(line) if not all(map(_STATISTIC.fullmatch, (one["before"], one["after"])))]
    if len(gaps) != many:
        return []
    for one in reversed(gaps):
        line = line[: one.end("before")] + "_" + line[one.start("after") :]
    return line.split()


def _parted(header: Sequence[str], row: str) -> Sequence[str]:
    cells = _cells(row)
    return [*_apart(dict(zip(header, cells, strict=True)))] if len(cells) == len(header) else header


def _apart(said: dict[str, str]) -> dict[str, str]:
    """Two counts in a cell under two words, each by its own: `in nan/inf` 4/0 → in nan 4, in inf 0."""
    made: dict[str, str] = {}
    for name, cell in said.items():
        two, counts = _TWO.fullmatch(name), _COUNTS_OF_TWO.fullmatch(cell) if "/" in cell else None
        if two is None or counts is None:
            made[name] = cell
        else:
            made |= {two["before"] + two[which]: counts[which] for which in ("one", "other")}
    return made


def _cells(text: str) -> list[str]:
    return cells_of(text, "|" if text.lstrip().startswith("|") or " | " in text else " ")
