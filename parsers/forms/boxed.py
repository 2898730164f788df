"""Boxes of names and values, printed anew for every step: a record each, whatever stands between them.

    ---------------------------------
    | rollout/           |          |          a name without a value is of all below it that are set in
    |    ep_rew_mean     | 0.97     |
    | train/             |          |
    |    n_updates       | 22       |
    |    policy_loss     | nan      |
    ---------------------------------

A row has two cells. Boxes of one file hold mostly the same names. Where none of these counts steps by its name, the count is that which rises by one and the same from box to box, of several
the one that rises least.

Fooled by: settings that are printed again at each start, beside a count of the starts.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from parsers.forms.pairs import cell
from parsers.forms.reading import HEADER, RULE, Row, Said, cells_of, text_lines, undrawn, whole
from parsers.schema.parser import Source
from parsers.text import vocabulary
from parsers.text.patterns import regex

_NAME = regex(r"[^\W\d][\w./@()%# -]{0,79}")
_FIRST, _FEWEST, _ROWS = 8, 3, 2  # boxes that are compared at most, and at least; rows of each


class _Box:
    """Its first line, and what it says."""

    def __init__(self) -> None:
        self.line, self.text = 0, ""
        self.said: Said = {}
        self._above = ""

    def take(self, number: int, text: str) -> bool:
        """Is the line a row of it? One whose name it has told already is of the next."""
        plain = undrawn(text)
        found = cells_of(plain, "|") if plain.lstrip().startswith("|") else []
        if len(found) != _ROWS or not _NAME.fullmatch(found[0]):
            return False
        name, value = found
        is_set_in = plain.strip()[1:].startswith("   ")
        if not value:
            self._above = f"{name.rstrip('/')}/"
            return True
        name = f"{self._above}{name}" if is_set_in else name
        if name in self.said:
            return False
        if not self.said:
            self.line, self.text = number, text
        self.said[name] = cell(value)
        return True


def boxed_names(lines: Sequence[str]) -> list[str]:
    """The names in the first of several boxes that count a step; none where there are none."""
    boxes = [one.said for one, _, _ in _boxes(enumerate(lines, 1)) if isinstance(one, _Box)]
    if len(boxes) < _FEWEST or (step := _counter(boxes[:_FIRST])) is None:
        return []
    return [*boxes[0], *({"step"} - {step, *boxes[0]})]


def boxed_rows(source: Source) -> Iterator[Row]:
    """A record at the first row of each box; its other rows are told with it."""
    told = (one.said for one, _, _ in _boxes(text_lines(source)) if isinstance(one, _Box))
    step = _counter([*islice(told, _FIRST)])
    for one, number, text in _boxes(text_lines(source)):
        if isinstance(one, _Box):
            is_told = step is None or "step" in vocabulary.meanings(tuple(one.said))
            counted = {} if is_told or step is None else {"step": one.said.get(step)}
            yield one.line, one.text, counted | one.said
        else:
            yield number, text, one


def _boxes(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[_Box | Said | None, int, str]]:
    """Boxes as they end, and lines: HEADER for those of a box that have its record, None for those of none."""
    box = _Box()
    for number, text in lines:
        plain = undrawn(text)
        is_rule = not plain.strip() or RULE.fullmatch(plain) is not None
        if not is_rule and box.take(number, text):
            if number != box.line:
                yield HEADER, number, text
            continue
        if len(box.said) >= _ROWS:
            yield box, number, text
        box = _Box()
        if not is_rule and box.take(number, text):
            continue
        if plain.strip():
            yield (HEADER if is_rule else None), number, text
    if len(box.said) >= _ROWS:
        yield box, 0, ""


def _counter(boxes: Sequence[Said]) -> str | None:
    """The name that counts steps: by what it is called, else by its course."""
    if len(boxes) < _FEWEST or any(2 * len(boxes[0].keys() & one.keys()) < len(boxes[0]) for one in boxes):
        return None
    if found := vocabulary.columns(tuple(boxes[0])).get("step"):
        return found[0]
    rising: list[tuple[int, str]] = []
    for name in boxes[0]:
        cells = [whole(one.get(name)) for one in boxes]
        strides = {after - before for before, after in pairwise(one for one in cells if one is not None)}
        is_count = vocabulary.meant(name) in ("", "epoch")
        if None not in cells and len(strides) == 1 and is_count and min(strides) > 0:
            rising.append((strides.pop(), name))
    return min(rising, key=lambda one: one[0])[1] if rising else None
