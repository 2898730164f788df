"""What lines say of others: which name has which rank.

Sentences that differ in a name and a rank alone say it of each (`system | trainer.1 is rank 0`). Two of a kind at least, each name of one
rank and each rank of one name: who speaks of a peer says the same name with several. Between the two stands nothing of waiting or losing, and
behind the rank no group that counts it.

Fooled by: a list of the peers of each process, each of another one, in words that say nothing of this.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from parsers.schema.labels import OF_GROUP
from parsers.schema.names import Told
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.unanimous import unanimous
from parsers.who.lines.beginnings import Said

_RANK = regex(
    r"(?<![\w-])(?:global|world|trainer)?[_ ]?rank[\"']?(?: {0,2}[=:#(] {0,2}| {1,2})[\"']?(\d{1,7})(?![\w%]|\.\d)",
    re.I,
)
_NAME = regex(r"(?:[\w./@+#%~-]|:(?=[\w/])){1,80}")
_ONE = r"[A-Za-z%@#](?:[\w./@+#%~()\[\]-]|:(?=\w)){0,79}"
_LISTED = regex(  # `- eve is rank 3`, `eve -> rank 3`; any other word says something else of it, and behind a rank (`rank 3: idle`) it says how that is
    rf"\W{{0,6}}(?P<name>{_ONE})(?:\W{{1,4}}(?:is|was|has|as))?\W{{1,4}}(?:(?:global|world)[ _])?rank\W{{0,3}}(?P<rank>\d{{1,6}})\W{{0,3}}",
    re.I,
)
_OF_OTHERS = regex(
    r"(?i)lost|lose|refus|wait|time[sd]? ?-?out|error|fail|peer|unreach|reset|died|hung|hang|stuck|left|miss|block|drop|reject"
)
_WORDS = regex(r"[^\W\d_]")
_IN_GROUP = regex(r"(?i) (?:in|of|within)(?: (?:the|its|a))?(?: \w+)? group")
_NUMBERS = regex(r"\d+")
_SIGNS = tuple("%@#")  # before the number of a pane, a seat, a slot
_FEWEST = 2
_CHARACTERS = 400
KIND = "said"  # of a name


def ranks_of_names(lines: Sequence[tuple[str, frozenset[str]]]) -> dict[str, int]:
    """Lines of a file, each with the names that speak it, who say nothing of themselves here → name → rank."""
    return {name: rank for name, rank in unanimous(_sentences(lines)).items() if rank < RANKS}


def told_pairs(said: Mapping[str, list[Said]], sizes: Set[int]) -> list[Told]:
    """Names that the lines of one file tell of all ranks, from 0 on, and tell nothing else: a list of them, and of nobody's peers or losses. `sizes` that are told of the
    job: fewer are nodes."""
    found = ((path, unanimous(pair for one in own if (pair := _pair(one.line.text)))) for path, own in said.items())
    return [
        Told(name, KIND, path, rank=rank)
        for path, own in found
        if len(own) >= _FEWEST and sorted(own.values()) == [*range(len(own))] and sizes <= {len(own)}
        for name, rank in own.items()
    ]


def _pair(text: str) -> tuple[str, int] | None:
    """A name and its rank, where a line holds both alone."""
    listed = _LISTED.fullmatch(text) if "rank" in text.lower() and len(text) < _CHARACTERS else None
    return (listed["name"], int(listed["rank"])) if listed is not None else None


def _sentences(lines: Sequence[tuple[str, frozenset[str]]]) -> Iterator[tuple[str, int]]:
    alike: defaultdict[tuple[str, int], set[tuple[str, int]]] = defaultdict(set)
    for text, speakers in lines:
        said = list(_RANK.finditer(text[:_CHARACTERS]))
        if len(said) != 1 or OF_GROUP.search(text[: said[0].start()]):
            continue
        found = said[0]
        if _IN_GROUP.match(text, found.end()):
            continue
        words = list(_NAME.finditer(text[:_CHARACTERS]))
        parts = [_NUMBERS.sub("#", word[0]) for word in words]
        for place, word in enumerate(words):
            name = word[0].rstrip(".:")
            if (
                name in speakers
                or found.start() <= word.start() < found.end()
                or not (name[:1].isalpha() or name[:1] in _SIGNS)
            ):
                continue
            between = text[word.end() : found.start()] or text[found.end() : word.start()]
            is_state = word.start() > found.start() and name.isalpha() and not _WORDS.search(between)
            if _OF_OTHERS.search(between) or is_state:  # `rank 3: idle`
                continue
            skeleton = " ".join([*parts[:place], "@", *parts[place + 1 :]])
            own = int(found[1])
            alike[skeleton, place].add((name, own))
            if "." in name:
                alike[skeleton, -1 - place].add((name.rpartition(".")[0], own))
    for pairs in alike.values():
        if len(pairs) >= _FEWEST and len(dict(pairs)) == len(pairs) == len({own for _, own in pairs}):
            yield from pairs


def merged(told: Iterable[Mapping[str, int]], world: int | None) -> dict[str, int]:
    """Name → number, of several files that do not contradict each other. Of a larger world the first few are nodes."""
    found = unanimous(pair for own in told for pair in own.items())
    are_nodes = world is not None and len(found) < world and sorted(found.values()) == [*range(len(found))]
    return {} if are_nodes else found
