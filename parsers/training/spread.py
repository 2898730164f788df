"""A record that holds figures of several ranks → a record for each of them.

    step,loss_rank0,loss_rank1                                    a column for each rank
    "Step","rank_0 - train/loss","rank_1 - train/loss"            a run of a tracker for each rank
    | step | rank 0 | rank 1 |                                    of what, the table's own name says: losses.md
    {"step": 5, "ranks": {"0": {"loss": 2.1}, "1": {"loss": 2.2}}}
    | step | loss r0 | loss r1 |                                  r, where there is a column for each rank from 0 on
    step 5 loss by rank: [2.1, nan]                               a list from rank 0 on

Only a word that means a rank makes a number one: numbered losses may be of layers, micro-batches or tasks, and so may a list of
them.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from parsers.schema.labels import OF_GROUP
from parsers.text import lenient
from parsers.text.durations import is_timed
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.replica_names import says_what
from parsers.text.vocabulary import meant, of_process

_LABEL = regex(
    r"(?i)(?P<before>(?<![a-z])[a-z]{1,16}[_-])?(?<![a-z])(?P<word>[a-z]{1,16}?)s?[ _.#:/\[-]{0,2}(?P<rank>\d{1,7})(?!\.?\d|[a-z])"
)
_LISTED = regex(r"(?i)(?<![a-z0-9])(?:(?:per|by|each|all|of|over)[ _/-](?:all[ _/-])?ranks?|ranks)(?![a-z0-9])")
_R = regex(r"(?i)(?P<rest>(?:.{1,80}[ _/.:-])?)rk?[ _]?(?P<rank>\d{1,4})")
_EDGE = " _-/.:#[](){}|,"
_LINKING = ("by", "per", "of", "on", "at", "for", "each", "all", "over", "from", "-")
_OPEN = ("[", "(")
_PLACE = ("step", "epoch", "time", "attempt", "split")  # of a record, whichever rank it is of
_CELL = 65_536


def spread(said: Mapping[str, Any], base: str | None = None) -> list[dict[str, Any]]:
    """A flat record → one for each rank that it tells a figure of, and last what it says of all, without a rank; none where it is of
    one. `base`: what a column is of that is called after a rank alone."""
    common: dict[str, Any] = {}
    own: dict[int, dict[str, Any]] = {}
    short = _short(tuple(said), base)
    for name, cell in said.items():
        found = labelled(name) or short.get(name)
        rest = None if found is None else found[1] or base
        if found is not None and rest is not None and _is_figure(rest):
            if cell not in (None, ""):
                own.setdefault(found[0], {})[rest] = cell
        elif (listed := _of_ranks(name, cell)) is not None:
            for rank, each in enumerate(listed[1]):
                own.setdefault(rank, {})[listed[0]] = each
        else:
            common[name] = cell
    if len(own) < 2:
        return []
    told = {meant(name) for cells in own.values() for name in cells}
    rest_of_all = {name: cell for name, cell in common.items() if meant(name) not in told}
    placed = {name: cell for name, cell in common.items() if meant(name) in _PLACE}
    return [*(placed | cells | {"rank": rank} for rank, cells in sorted(own.items())), rest_of_all]


def _is_figure(name: str) -> bool:
    return is_timed(name) or meant(name) != "" or says_what(name.rpartition("/")[2])


def bare_names(names: Sequence[str], base: str | None = None) -> list[str]:
    """The names of columns without the ranks that several of them are of."""
    short = _short(tuple(names), base)
    found = {name: labelled(name) or short.get(name) for name in names}
    found = {name: one if one is not None and _is_figure(one[1] or base or "") else None for name, one in found.items()}
    if len({one[0] for one in found.values() if one is not None}) < 2:
        return list(names)
    bare = (name if one is None else one[1] or base for name, one in found.items())
    return list(dict.fromkeys(name for name in bare if name))


@lru_cache(maxsize=8192)
def labelled(name: str) -> tuple[int, str] | None:
    """(rank, the rest of the name) of a name that holds a word for a rank and its number, once."""
    found = [(one, start) for one in _LABEL.finditer(name[:200]) if (start := _begins(one)) is not None]
    if len(found) != 1 or (rank := int(found[0][0]["rank"])) >= RANKS or OF_GROUP.search(name[: found[0][1]]):
        return None
    before, after = name[: found[0][1]].rstrip(_EDGE), name[found[0][0].end() :].strip(_EDGE)
    while (last := before.replace("_", " ").replace("/", " ").rpartition(" ")[2]).lower() in _LINKING and last:
        before = before[: -len(last)].rstrip(_EDGE)
    return rank, "/".join(part for part in (before.strip(_EDGE), after) if part)


@lru_cache(maxsize=512)
def _short(names: tuple[str, ...], base: str | None) -> Mapping[str, tuple[int, str]]:
    """Names of columns that end in `r` and a number → (rank, the rest), where there is one of each rest for every rank from 0 on: `loss r0`, `loss r1`."""
    found = {name: (int(one["rank"]), one["rest"].strip(_EDGE)) for name in names if (one := _R.fullmatch(name))}
    ranks: dict[str, list[int]] = {}
    for rank, rest in found.values():
        ranks.setdefault(rest, []).append(rank)
    counted = (rest for rest, own in ranks.items() if len(own) > 1 and sorted(own) == [*range(len(own))])
    whole = {rest for rest in counted if _is_figure(rest or base or "")}
    return {name: one for name, one in found.items() if one[1] in whole}


def _begins(one: re.Match[str]) -> int | None:
    """Where the word for a rank begins that stands before a number; null where there is none."""
    if one["before"] and of_process(one["before"] + one["word"]) == "rank":
        return one.start("before")
    return one.start("word") if of_process(one["word"]) == "rank" else None


def _of_ranks(name: str, cell: Any) -> tuple[str, list[Any]] | None:
    """(the name without the word for ranks, a value for each) of a list that says that it is of ranks."""
    if _LISTED.search(name[:200]) is None:
        return None
    value = lenient.value(cell) if isinstance(cell, str) and cell[:1] in _OPEN and len(cell) < _CELL else cell
    if not isinstance(value, list) or not 1 < len(value) < RANKS:
        return None
    rest = _LISTED.sub(" ", name[:200]).strip(_EDGE)
    is_plain = all(isinstance(one, int | float) or one is None for one in value)
    return (rest, value) if is_plain and _is_figure(rest) else None
