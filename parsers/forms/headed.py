"""Which place each of several parts of a file is from, by the lines that stand above them.

    [h14n02] $ ps -eo pid,stat,args          nils@c04:~$ ps aux           --- n3 ---
    [h11n07] $ ps -eo pid,stat,args          [root@c05 ~]# ps aux         --- n4 ---

A prompt names its host. Else headings of one form that differ in one word, each in another, name places by it; what counts, or tells the time, is none.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence

from parsers.text.patterns import regex

_PROMPT = regex(r"\s{0,4}\[?[\w.-]{1,64}@(?P<host>[A-Za-z][\w.-]{0,250})(?:[: ][^$#%>\n]{0,200})?\]?[$#%>](?:\s|$)")
_WORD = regex(r"[\w.-]*[\w-]")
_NAME = regex(r"[A-Za-z][\w.-]{0,250}|(?:\d{1,3}\.){3}\d{1,3}")
_CHARACTERS = 400


def places_above(headings: Sequence[str | None]) -> list[str | None]:
    """Headings in order → the place of each, None where it tells none."""
    prompts = [prompted(heading or "") for heading in headings]
    families: defaultdict[str, list[list[str]]] = defaultdict(list)
    words = [_WORD.findall((heading or "")[:_CHARACTERS]) for heading in headings]
    marks = [_WORD.sub("\0", (heading or "")[:_CHARACTERS]) for heading in headings]
    for mark, own in zip(marks, words, strict=True):
        if own:
            families[mark].append(own)
    at = {mark: _place(own) for mark, own in families.items()}
    return [
        prompt or (own[found] if own and (found := at[mark]) is not None else None)
        for prompt, mark, own in zip(prompts, marks, words, strict=True)
    ]


def places_of_lines(lines: Sequence[str], at: Iterable[int]) -> dict[int, str]:
    """1-based numbers of lines → the places that the last headings above them name: lines that are set off and alike, as above."""
    headings = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if line and not line[0].isspace() and (not line[0].isalnum() or line.rstrip().endswith(":") or prompted(line))
    ]
    told = places_above([line for _, line in headings])
    places = [(number, place) for (number, _), place in zip(headings, told, strict=True) if place is not None]
    numbers = [number for number, _ in places]
    above = ((one, bisect_right(numbers, one)) for one in at)
    return {one: places[place - 1][1] for one, place in above if place}


def prompted(line: str) -> str | None:
    """The host that a prompt names."""
    found = _PROMPT.match(line[:_CHARACTERS])
    return found["host"] if found else None


def _place(family: Sequence[Sequence[str]]) -> int | None:
    """The only word with a letter in which headings of one form differ."""
    differ = ((at, own) for at, own in enumerate(zip(*family, strict=True)) if len({*own}) > 1)
    told = [at for at, own in differ if all(map(_NAME.fullmatch, own))]
    return told[0] if len(told) == 1 else None
