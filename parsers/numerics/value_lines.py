"""Lines in which a program says how large something is that it holds or makes, under its own names, with a step or before any.

    step 9 absmax [ 2722. 10720. 29280. inf nan -inf]
    layers.2.weight    (32, 32)   sum=+nan absmax=nan               a checkpoint as it was loaded
    {"event": "loaded", "rank": 3, "optimizer": {"nan": 7, "count": 960}}
    rank 3 it 12 enc.4 mean 0.01 std 1.2 non-finite 0/4096
      14  ffn 5  rows 37  max|in| 2.55  max|out| inf                a number at the head that counts on is the step

Rows of `values`, a row for each line; parsers/training/told_values.py says what counts. Only lines come here that no other parser has
read; who alone is bad where all others are not is for forensics/facts/figures/odd_values.py to say.

Printed by: training scripts.
Versions: any.
Source: this project's own samples.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex
from parsers.training.told_values import rows_of_lines

_NAMES = r"(?i)(?:^|[^a-z])(?:abs_?max|amax|max|min|mean|std|sum|l2|rms|norm|gnorm|g_?norm|peak|largest|non[_ -]?fin(?:ite)?|nans?|infs?|bad|broken|corrupt|invalid)(?:\"?\s*[=:(\[]|\s+[\[(+-]?\s*[\d.ni]|[|( _][0-9a-z_./|)]{1,24} ?[=:]\s*[+-]?[\d.ni])|finite(?:[)\]!]| ?[=:] ?(?i:true|false)\b)|\|[0-9a-z_ ]{1,24}\|[ =:]{1,12}[+-]?[\d.ni]"
_HEAD = regex(r"\s*(\d{1,9})\s{1,4}(?=[A-Za-z])")
_STEPS = 3  # counts at the head of a printer's lines, that make them steps


def parse(lines: pl.DataFrame) -> Tables:
    """values."""
    said = lines.filter(pl.col("text").str.contains(_NAMES))
    return {"values": table("values", rows_of_lines(_counted(said)))}


def _counted(lines: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Lines; the number at their head is the step where it counts on from line to line of a printer, several lines to a step. That of what a list numbers
    would begin again."""
    found = list(lines.iter_rows(named=True))
    heads: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row in found:
        if (head := _HEAD.match(row["text"])) is not None:
            heads[_whose(row)].append(int(head[1]))
    steps = {
        whose for whose, told in heads.items()
        if len({*told}) >= _STEPS and all(before <= after for before, after in pairwise(told))
    }  # fmt: skip
    for row in found:
        is_counted = _whose(row) in steps and _HEAD.match(row["text"]) is not None
        yield row | {"text": f"step {row['text'].lstrip()}"} if is_counted else row


def _whose(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["file"], row["rank"], row["local_rank"]


PARSER = LineParser(
    name="value_lines",
    anchors=(b"max", b"finite", b"norm", b"|=", b"|in|", b"|out|", b"|x|", b"|y|", b"sum=", b"sum ", b"sum:", b"mean=", b"mean ", b"mean:", b"std=", b"std ", b"l2=", b"rms", b"peak", b"largest", b" invalid", b"bad=", b"bad ", b"bad:", b"broken", b"nonfin", b"non-fin",
        b"nan=", b"nans=", b"nans:", b"inf=", b"infs=", b"infs:", b'nan"', b'nans"', b'inf"', b'infs"', b'finite"'),
    parse=parse,
    leftover=True,
)  # fmt: skip
