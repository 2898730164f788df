"""Calls of scripts that make a rank of a number they are called with: `./one.sh 6 de` where one.sh says `RANK=$(( $1 - 1 ))`.

Whatever a record holds beside such a call is of that rank: a line of `ps`, a row of a log of jobs.
"""

from collections.abc import Mapping
from typing import NamedTuple

from parsers.text.patterns import regex

_SCRIPT = regex(r"(?:^|(?<=[\s/;&'\"]))(?P<name>[\w-]{1,80}(?:\.[\w-]{1,8})?)(?=[ \t]+[\"']?[\w])")
_WORD = regex(r"[ \t]+(?P<mark>[\"']?)(?P<word>[\w./:@=-]+)(?P=mark)(?=[\s\"';&|),\]]|\Z)")
_CHARACTERS = 400
_DIGITS = 7


class Script(NamedTuple):
    """Which of its arguments, from 1, a script makes a rank of, and how."""

    argument: int
    offset: int
    modulus: int | None


class Call(NamedTuple):
    """`begin`, `end`: where it stands in its text."""

    rank: int
    words: tuple[str, ...]
    begin: int
    end: int


def call_of(text: str, scripts: Mapping[str, Script]) -> Call | None:
    """The only call that a text holds of one of these, by their names."""
    if not any(name in text for name in scripts):
        return None
    found = [one for one in _SCRIPT.finditer(text[:_CHARACTERS]) if one["name"] in scripts]
    if len(found) != 1:
        return None
    [name] = found
    script = scripts[name["name"]]
    words: list[str] = []
    end = name.end()
    while (word := _WORD.match(text, end, _CHARACTERS)) is not None:
        words.append(word["word"])
        end = word.end()
    given = words[script.argument - 1] if len(words) >= script.argument else ""
    if not given.isdecimal() or len(given) > _DIGITS:
        return None
    made = int(given) + script.offset
    rank = made % script.modulus if script.modulus else made
    return Call(rank, tuple(words), name.start(), end) if rank >= 0 else None
