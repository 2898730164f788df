"""Documents that nest statistics: what a state holds, part by part, in whatever tells who it is and at which step.

    rank: 3                                       step = 40                         {"rank": 3, "step": 40,
    step: 40                                      [own."layers.0.norm.bias"]         "layers.0.wq": {"out": {"nan": 0, "absmax": 2.1}},
    parameters:                                   grad = {nan = 0, absmax = 0.1}     "layers.1.wq": {"out": {"nan": 4, "absmax": 3.0}}}
      layers.0.wq: {nan: 0, inf: 0, max: 0.1}     after = {nan = 4, absmax = 0.2}
      layers.1.wq: {nan: 4, inf: 0, max: 0.1}

A record is one set of statistics: these, the names that lead to it, outermost first, as `part 1`, `part 2` and so on, and what the document says beside its parts.
"""

from collections.abc import Iterator, Sequence

from parsers.forms.outlined import cut_leaves
from parsers.forms.reading import HEADER, Row, Said, whole_text
from parsers.schema.parser import Source
from parsers.text import vocabulary
from parsers.text.outlines import Leaf, Path, leaves
from parsers.text.patterns import regex

_BYTES = 8 << 20
_FEWEST = 3  # sets of statistics
_SHOWN = 200
_DECISIVE = regex(r"(?i)(?:n_|num_)?(?:nans?|infs?|non_?finite|nan_count|inf_count)|abs_?max|max_?abs|amax")
_FIGURE = regex(r"(?i)[+-]?(?:\d[\d.]{0,30}(?:e[+-]?\d{1,3})?|\.?nan|\.?inf(?:inity)?)")
_LAST = regex(r"(?<!\d)(?P<number>\d{1,7})\.[a-z]{2,8}$")
_QUOTED = regex(r"\"([^\"]{1,200})\"|'([^']{1,200})'|([^.\"']+)")


def nested_names(text: str) -> list[str]:
    """The names of the first record of a document that begins so; none where most of it is something else."""
    if text[:1] not in ("{", "[") and ":" not in text and "=" not in text:
        return []
    found = leaves(text[: text.rfind("\n") + 1] or text) or cut_leaves(text)
    told = list(_records(found))
    held = sum(len(one) for _, one in told)
    return list(told[0][1]) if len(told) >= _FEWEST and 2 * held > len(found) else []


def nested_rows(source: Source) -> Iterator[Row]:
    """(line, text, record) of each set; a line of none is a HEADER."""
    if (text := whole_text(source, _BYTES, "a document of statistics")) is None:
        return
    lines = text.splitlines()
    for line, said in _records(leaves(text)):
        said |= _owner(source.path, said)
        yield line, lines[line - 1][:_SHOWN] if line <= len(lines) else "", said
    yield from ((number, "", HEADER) for number in range(1, len(lines) + 1))


def _records(told: Sequence[Leaf]) -> Iterator[tuple[int, Said]]:
    sets: dict[Path, dict[str, Leaf]] = {}
    for leaf in told:
        sets.setdefault(leaf.path[:-1], {})[str(leaf.path[-1])] = leaf
    common: dict[Path, Said] = {}
    for path, own in sets.items():
        if not _is_set(path, own):
            common[path] = {name: leaf.value for name, leaf in own.items() if _is_of_all(name, leaf.value)}
    for path, own in sets.items():
        if _is_set(path, own):
            said: Said = {}
            for end in range(1, len(path)):
                said |= common.get(path[:end], {})
            parts = [part for name in path[1:] for part in _parts(str(name))]
            said |= {f"part {nth}": part for nth, part in enumerate(parts, 1)}
            first = next(iter(own.values()))
            yield first.line, said | {name: leaf.value.removeprefix(".") for name, leaf in own.items()}


def _is_of_all(name: str, cell: str) -> bool:
    """Does it say who or which step it is, or in a word what it is of? A figure is of no part."""
    meaning = vocabulary.meant(name)
    is_figure = meaning in ("loss", "grad_norm", "own_grad_norm", "learning_rate")
    return not is_figure and (_FIGURE.fullmatch(cell) is None or name.endswith("rank") or meaning != "")


def _owner(path: str, said: Said) -> Said:
    """The rank of a document that is told under a name of its own, where the name of the file ends in it: `owner_rank: 2` in owner_2.toml."""
    if "rank" in vocabulary.told(said) or (number := _LAST.search(path)) is None:
        return {}
    named = [name for name in said if vocabulary.words_of(name)[-1:] == ["rank"] and not vocabulary.meant(name)]
    is_it = len(named) == 1 and str(said[named[0]]).strip() == str(int(number["number"]))
    return {"rank": number["number"]} if is_it else {}


def _is_set(path: Path, own: dict[str, Leaf]) -> bool:
    is_named = len(path) > 1 and all(isinstance(name, str) for name in path[1:])
    return is_named and any(_DECISIVE.fullmatch(name) and _FIGURE.fullmatch(leaf.value) for name, leaf in own.items())


def _parts(name: str) -> Sequence[str]:
    """A section of TOML is called after all that it lies in, and quotes what has a dot: `own."layers.0"` → own, layers.0."""
    if '"' not in name and "'" not in name:
        return (name,)
    return ["".join(found) for found in _QUOTED.findall(name)]
