"""Numbers that a document does not give to a field itself: it takes another field's, or makes one of it.

    RANK: $(JOB_COMPLETION_INDEX)          beside {name: JOB_COMPLETION_INDEX, value: "3"}
    command: [sh, -c, "export RANK=$((INDEX+1)); exec python t.py"]          beside {name: INDEX, value: "3"}: 4
    {name: RANK, valueFrom: {fieldRef: {fieldPath: "metadata.labels['x.io/pod-index']"}}}          beside labels: {x.io/pod-index: "3"}

Of several fields of that name the nearest is meant, which shares most of the way from the top.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from parsers.text import vocabulary
from parsers.text.outlines import Leaf, Path
from parsers.text.patterns import regex
from parsers.text.unanimous import begin_alike
from parsers.who.scripts.formulas import assigned

_CHARACTERS = 1000
_NUMBER = regex(r"\d{1,7}")
_VARIABLE = regex(r"\$[({]?(?P<name>[A-Za-z_]\w{2,60})[)}]?(?=\s|$)")
_REFERENCE = ("valueFrom", "fieldRef", "fieldPath")
_REFERRED = regex(r"metadata\.(?:annotations|labels)\[[\"'](?:[^\"'/]{1,253}/)?(?P<name>[\w.-]{1,63})[\"']\]")


def name_of(leaf: Leaf, called: Mapping[Path, str]) -> str | int:
    """What a field is called: {name: RANK, value: "3"}, or RANK: {value: 3}, or RANK: 3; where it takes another's, what takes it."""
    name = leaf.path[-1]
    if leaf.path[-3:] == _REFERENCE:
        return called.get(leaf.path[:-3], name)
    return name if name != "value" else called.get(leaf.path[:-1], leaf.path[-2] if len(leaf.path) > 1 else name)


def taken(leaf: Leaf, own: Sequence[Leaf], called: Mapping[Path, str]) -> int | None:
    """The number of another field whose name a value takes, `RANK=$JOB_COMPLETION_INDEX`."""
    name = _REFERRED.fullmatch(leaf.value) if leaf.path[-3:] == _REFERENCE else _VARIABLE.match(leaf.value)
    return _nearest(name["name"], leaf, own, called) if name else None


def made_of(leaf: Leaf, own: Sequence[Leaf], called: Mapping[Path, str]) -> Iterator[tuple[str, int]]:
    """(name, number) of what a command makes by a sum of one other field's number, `RANK=$((INDEX+1))`, or of its own variable."""
    for name, read, modulus in assigned(leaf.value[:_CHARACTERS]) if "$" in leaf.value else ():
        keys = [key for key in read if key]
        if modulus is None and len(keys) == 1 and len(keys[0]) == 1:
            number = _nearest(keys[0][0], leaf, own, called)
            made = None if number is None else number * read[keys[0]] + read.get((), 0)
            if made is not None and made >= 0:
                yield name, made


def _nearest(name: str, leaf: Leaf, own: Sequence[Leaf], called: Mapping[Path, str]) -> int | None:
    words = vocabulary.words_of(name)
    found: defaultdict[int, set[str]] = defaultdict(set)
    for other in own if words else ():
        last = str(name_of(other, called)).rpartition("/")[2]
        if _NUMBER.fullmatch(other.value) and vocabulary.words_of(last) == words:
            found[begin_alike(leaf.path, other.path)].add(other.value)
    nearest = found[max(found)] if found else set()
    return int(nearest.pop()) if len(nearest) == 1 else None
