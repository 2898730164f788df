"""Files of whom nobody says which rank he is, but whose lines tell his own name as those of others tell theirs.

    Start worker at: tcp://10.2.0.27:38845        where the ranks of these addresses are told elsewhere, and others, whose ranks are known, say theirs so

A line like it, numbers and the name aside, tells in each file whose rank is known just the name of that rank: of two at least. Then it tells it in the
others, too, where nobody else speaks, nobody else is named so, and the rank is nobody's yet.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Set

from parsers.schema.names import Names
from parsers.text.patterns import regex
from parsers.text.unanimous import sole, unanimous
from parsers.who.lines.beginnings import SHAPE, Begun

_WORD = regex(r"[A-Za-z0-9](?:[\w.:/@+-]{0,250}[\w/])?")
_DIGITS = regex(r"\d+")
_FEWEST = 2
_LINE = 400  # characters


def of_own_names(
    said: Begun, names: Names, ranks: Mapping[str, int], who: Callable[[str], Set[int | None]]
) -> dict[str, int]:
    """Lines by path, who is called what, path → rank of those that are known → path → rank of others. `who`: the ranks that speak in a file."""
    shapes: defaultdict[str, list[str]] = defaultdict(list)
    for path in said:
        shapes[SHAPE.sub("#", path)].append(path)
    found: dict[str, int] = {}
    for paths in shapes.values():
        known = {path: ranks[path] for path in paths if path in ranks}
        if _FEWEST <= len({*known.values()}) == len(known) < len(paths):
            found |= _of_shape({path: _named(said, path, names) for path in paths}, known)
    return {path: rank for path, rank in found.items() if who(path) <= {None, rank}}


def _named(said: Begun, path: str, names: Names) -> dict[str, set[int]]:
    """Line with a name in it, without the name and its numbers → the ranks that it tells in a file."""
    told: defaultdict[str, set[int]] = defaultdict(set)
    for one in said[path]:
        text = one.line.text[:_LINE]
        for word in _WORD.finditer(text):
            rank = None if word[0].isdecimal() else names.ranks.get(word[0])  # a number may count anything
            if rank is not None:
                told[_DIGITS.sub("#", f"{text[: word.start()]}\0{text[word.end() :]}")].add(rank)
    return told


def _of_shape(told: Mapping[str, Mapping[str, set[int]]], known: Mapping[str, int]) -> dict[str, int]:
    """What is told of files alike, of which some are known."""
    lines = {line for own in told.values() for line in own}
    own_lines = [
        line
        for line in lines
        if sum(line in told[path] for path in known) >= _FEWEST
        and all(told[path].get(line, {rank}) == {rank} for path, rank in known.items())
    ]
    pairs = (
        (path, rank) for path in told.keys() - known.keys() for line in own_lines for rank in told[path].get(line, ())
    )
    found = unanimous(pairs)
    taken = {*known.values()}
    return {
        path: rank
        for path, rank in found.items()
        if rank not in taken and sole(p for p, r in found.items() if r == rank) == path
    }
