"""What a remark says of many at once: names that are counted, and as many ranks.

    one run per replica (dp0 .. dp3 = rank 0 .. 3)            w4-w7 are ranks 4-7            worker_0 to worker_3: global ranks 0 to 3

Both count as far. Somebody's own words, so of a place in a group (`dp rank`) they say nothing.
"""

from collections.abc import Iterable, Iterator

from parsers.schema.names import Told
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS

_TO = r" ?(?:\.{2,3}|…|-|–|to|through|bis|~|至|到) ?"
_RANGE = regex(
    rf"(?i)(?<![\w.-])(?P<stem>[a-z][a-z_-]{{0,30}})(?P<first>\d{{1,5}}){_TO}(?P=stem)(?P<last>\d{{1,5}})"
    rf" ?(?:=|:|->|→|are|is|means?|对应) ?(?:the )?(?:(?:global|world|torch) )?ranks? (?P<from>\d{{1,5}}){_TO}(?P<to>\d{{1,5}})(?![\w%]|\.\d)"
)


def told_ranges(lines: Iterable[tuple[str, int, str]]) -> Iterator[Told]:
    """Lines, each with its file and number → each name with its rank."""
    for file, number, text in lines:
        if "ank" not in text:
            continue
        for found in _RANGE.finditer(text[:400]):
            first, last, begin, end = (int(found[name]) for name in ("first", "last", "from", "to"))
            if 0 < last - first == end - begin and end < RANKS:
                for at in range(last - first + 1):
                    yield Told(f"{found['stem']}{first + at}", "name", file, number, begin + at)
