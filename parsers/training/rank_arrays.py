"""Arrays of what all ranks have, as numpy and torch print them, over several lines where they are long: the place in it is the rank.

    step 522 loss:
    [3.3695 3.3691 3.5328 3.3518
     3.5044 3.2568 3.3462 nan]
    step 100 local grad norms (before all_reduce): tensor([0.93, 0.97,
            nan], device='cuda:0')

That it is of ranks its words say (each rank, local, gathered); or arrays of the losses and of the norms of one step are as long: there is no norm of a micro-batch, and no loss of a layer. Rows of
`steps` and `values`, as a record of each rank would make them; the norm is the rank's own.

Printed by: print() of numpy and PyTorch.
Versions: numpy 1 and 2, PyTorch 2.
Source: this project's own samples.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from parsers.forms.reading import real
from parsers.schema.lines import claimed, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, tables_of
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.step_marks import IN_LINE
from parsers.training.step_figures import figures

_NUMBER = r"[-+]?(?:\d[\d.]{0,30}(?:[eE][-+]?\d{1,3})?|(?i:nan|inf))"
_OPENS = regex(
    rf"^(?P<head>[^\[\]]{{0,300}}?)(?:(?:tensor|array)\()?\[\s*(?P<cells>{_NUMBER}(?:[\s,]+{_NUMBER})*)[\s,]*(?P<end>\])?"
)
_GOES_ON = regex(rf"^(?:\d{{1,6}}:)?\s*(?P<cells>{_NUMBER}(?:[\s,]+{_NUMBER})*)[\s,]*(?P<end>\])?")
_OF_RANKS = regex(r"(?i)(?<![a-z])(?:ranks?|local|own|gather(?:ed)?|workers?|replicas?|processes)(?![a-z])")
_BEHIND = regex(
    r"(?i)[ _](?:of|for|on|by|per|from|across|over)[ _](?:(?:all|each|every)[ _])?(?:the )?(?:ranks?|workers?|replicas?|processes)$"
)
_NOT = regex(
    r"(?i)(?<![a-z])(?:layers?|micro|batch(?:es)?|heads?|experts?|buckets?|params?|groups?|times?|sec|ms)(?![a-z])"
)
_CELL = regex(_NUMBER)
_LINES = 512  # of an array
_FEWEST = 3
_MEANT = ("loss", "grad_norm", "own_grad_norm")
# Its numbers, whether it says that they are of ranks, its lines.
_Array = tuple[list[float | None], bool, list[dict[str, Any]]]


def parse(lines: pl.DataFrame) -> Tables:
    """steps, values; claimed: the lines of such arrays."""
    told: defaultdict[tuple[str, int], dict[str, _Array]] = defaultdict(dict)
    for name, step, array in _arrays(_held(lines).to_dicts()):
        told[array[2][0]["file"], step].setdefault(name, array)
    steps: list[dict[str, Any]] = []
    values: list[dict[str, Any]] = []
    read: list[tuple[str, int]] = []
    for (_, step), arrays in told.items():
        sizes = {len(cells) for cells, _, _ in arrays.values()}
        if len(sizes) != 1 or not (len(arrays) > 1 or all(says_so for _, says_so, _ in arrays.values())):
            continue
        row = next(iter(arrays.values()))[2][0]
        for rank in range(sizes.pop()):
            said = {"step": step, "rank": rank} | {name: cells[rank] for name, (cells, _, _) in arrays.items()}
            who = reporter(row) | {"time_ns": row["time_ns"], "time_basis": row["time_basis"]}
            if (found := figures(said, who | {"rank": rank, "local_rank": None})) is not None:
                steps += found.steps
                values += found.values
        read += [(one["file"], one["line"]) for _, _, rows in arrays.values() for one in rows]
    return tables_of(steps=steps, values=values, claimed=claimed(read))


def _held(lines: pl.DataFrame) -> pl.DataFrame:
    """The lines that may be of an array: those of numbers, and the one before each that opens."""
    opens = pl.col("text").str.contains(
        r"\[\s*[-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|(?i:nan|inf))[\s,]+[-+]?(?:\d|(?i:nan|inf))"
    )
    goes_on = pl.col("text").str.contains(r"^(?:\d{1,6}:)?\s*[-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|(?i:nan|inf))[\s,\]]")
    ordered = lines.sort("file", "line").with_columns(opens.alias("_opens"))
    kept = ordered.filter(pl.col("_opens") | pl.col("_opens").shift(-1).fill_null(value=False) | goes_on)
    return kept.drop("_opens")


def _arrays(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int, _Array]]:
    """(loss or the rank's own norm, step, …) of each array."""
    at = 0
    while at < len(rows):
        opens = _OPENS.match(rows[at]["text"][:LINE_CHARACTERS])
        at += 1
        if opens is None:
            continue
        first, head = at - 1, opens["head"]
        own = [dict(rows[first])]
        if not any(map(str.isalpha, head)) and first and _is_next(rows[first - 1], rows[first]):
            head = rows[first - 1]["text"][:LINE_CHARACTERS]
            own.insert(0, dict(rows[first - 1]))
        cells, end = opens["cells"], opens["end"]
        while not end and at < len(rows) and at - first < _LINES and _is_next(rows[at - 1], rows[at]):
            more = _GOES_ON.match(rows[at]["text"][:LINE_CHARACTERS])
            if more is None:
                break
            cells, end = f"{cells} {more['cells']}", more["end"]
            own.append(dict(rows[at]))
            at += 1
        step, name = IN_LINE.search(head), _name(head)
        numbers = [real(one) for one in _CELL.findall(cells)]
        if end and step is not None and name is not None and _FEWEST <= len(numbers) < RANKS:
            yield name, int(step["step"]), (numbers, _OF_RANKS.search(head) is not None, own)


def _is_next(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one["file"] == other["file"] and one["line"] + 1 == other["line"])


def _name(head: str) -> str | None:
    """What an array is of, by the words before it."""
    bare = _BEHIND.sub("", IN_LINE.sub(" ", head).partition("(")[0].strip(" \t:=,-|"))
    words = [word for word in vocabulary.words_of(bare) if not word.isdigit()]
    if _NOT.search(head) is not None:
        return None
    for at in range(max(0, len(words) - 4), len(words)):
        name = "_".join(words[at:])
        meaning = vocabulary.meant(name) or vocabulary.meant(name.removesuffix("s"))
        if meaning in _MEANT:
            return "loss" if meaning == "loss" else "local_grad_norm"
    return None


PARSER = LineParser(
    name="rank_arrays",
    anchors=(b"[ ", b"[-", b"[n", b"[i", *(f"[{digit}".encode() for digit in range(10))),
    holds=regex(rb"(?i)\[\s*[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf)(?:[\s,]+[-+]?(?:\d|nan|inf)|[\s,]*$)"),
    parse=parse,
    after=_LINES,
    leads=regex(
        rb"\[\s*[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf)(?:[\s,]+[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf))*[\s,]*$"
    ),
    follows=regex(
        rb"(?:(?:^|[\s>:])[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf)[,\s]*){2}(?:\]|$)|^\W{0,8}(?:\d{1,6}: )?\s*(?:\d[\d.]*|nan|inf)\s*\]|[A-Za-z_)\]] ?[:=]\s*$"
    ),  # or it is the name of the next
    before=True,
    leftover=True,
)
