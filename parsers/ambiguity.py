"""Whether a backtracking engine may need exponential time for a regular expression: exponential ambiguity of its automaton
(Weber and Seidl, On the degree of ambiguity of finite automata, 1991; Allauzen, Mohri and Rastogi, 2008): a loop in which the
same text can be read in two ways.

Positions are those of Glushkov's automaton, an edge counted for each way that leads along it: `(?:a+)+` has one position and
two ways from it to itself. Repeats of more than FEW times are taken as endless, assertions as empty; so a harmless pattern may be
called ambiguous, no harmful one harmless, but for what back references and assertions do.
"""

import re
from collections import Counter
from collections.abc import Iterable
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import networkx as nx

FEW = 3  # repeats that are written out
_ALL = frozenset(range(256))
_IGNORED = re.IGNORECASE.value


class _Part(NamedTuple):
    """Positions that a part may begin and end with, and in how many ways it may be empty."""

    first: Counter[int]
    last: Counter[int]
    empty: int


class _Automaton:
    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.classes: list[frozenset[int]] = []
        self.follow: dict[int, Counter[int]] = {}
        parsed = _parser.parse(pattern, flags)
        self._flags = parsed.state.flags
        self._sequence(parsed)

    def _leaf(self, characters: Iterable[int]) -> _Part:
        own = frozenset(characters) & _ALL
        if self._flags & _IGNORED:
            own = frozenset(
                ord(case)
                for code in own
                for case in (chr(code).lower(), chr(code).upper())
                if len(case) == 1 and ord(case) < 256
            )
        self.classes.append(own)
        at = len(self.classes) - 1
        self.follow[at] = Counter()
        return _Part(Counter([at]), Counter([at]), 0)

    def _join(self, last: Counter[int], first: Counter[int]) -> None:
        for before, ways in last.items():
            for after, more in first.items():
                self.follow[before][after] += ways * more

    def _then(self, one: _Part, two: _Part) -> _Part:
        self._join(one.last, two.first)
        first, last = Counter(one.first), Counter(two.last)
        for at, ways in two.first.items():
            first[at] += ways * one.empty
        for at, ways in one.last.items():
            last[at] += ways * two.empty
        return _Part(+first, +last, one.empty * two.empty)

    def _sequence(self, nodes: Iterable[Any]) -> _Part:
        made = _Part(Counter(), Counter(), 1)
        for node in nodes:
            made = self._then(made, self._node(*node))
        return made

    def _either(self, parts: Iterable[_Part]) -> _Part:
        first, last, empty = Counter[int](), Counter[int](), 0
        for part in parts:
            first, last, empty = first + part.first, last + part.last, empty + part.empty
        return _Part(first, last, empty)

    def _repeat(self, least: int, most: int, body: Any) -> _Part:
        if most <= FEW:
            made = _Part(Counter(), Counter(), 1)
            for number in reversed(range(most)):  # a(a(a)?)?, as a?a?a? reads one of them in three ways
                made = self._then(self._sequence(body), made)
                made = made if number < least else made._replace(empty=made.empty + 1)
            return made
        once = self._sequence(body)
        self._join(once.last, once.first)
        return once if least else once._replace(empty=1)

    def _node(self, kind: Any, value: Any) -> _Part:
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            return self._repeat(*value)
        if kind is op.POSSESSIVE_REPEAT:  # is never read again in another way
            once = self._sequence(value[2])
            return once if value[0] else once._replace(empty=1)
        if kind is op.SUBPATTERN:
            _, more, less, body = value
            outside, self._flags = self._flags, (self._flags | more) & ~less
            made = self._sequence(body)
            self._flags = outside
            return made
        if kind is op.ATOMIC_GROUP:
            return self._sequence(value)
        if kind is op.BRANCH:
            return self._either([self._sequence(way) for way in value[1]])
        if kind in (op.AT, op.ASSERT, op.ASSERT_NOT, op.GROUPREF):
            return _Part(Counter(), Counter(), 1)
        return self._leaf(_characters(kind, value))


def _characters(kind: Any, value: Any) -> Iterable[int]:
    if kind is op.LITERAL:
        return [value]
    if kind is op.NOT_LITERAL:
        return _ALL - {value}
    if kind is op.ANY:
        return _ALL - {ord("\n")}
    if kind is op.RANGE:
        return range(value[0], value[1] + 1)
    if kind is op.CATEGORY:
        known = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
        name = str(value).rpartition("_")[2]
        inside = {code for code in _ALL if re.match(known[name], chr(code), re.ASCII)}
        return _ALL - inside if "_NOT_" in str(value) else inside
    if kind is op.IN:
        is_not = value[0][0] is op.NEGATE
        listed = {code for one in value[is_not:] for code in _characters(*one)}
        return _ALL - listed if is_not else listed
    raise NotImplementedError(str(kind))


def is_exponential(pattern: str | bytes, flags: int = 0) -> bool:
    """Whether a text exists that a loop of the pattern can read in two ways, again and again."""
    automaton = _Automaton(pattern, flags)
    graph = nx.DiGraph((at, after) for at, ways in automaton.follow.items() for after in ways)
    return any(_is_ambiguous(automaton, loop) for loop in nx.strongly_connected_components(graph))


def _is_ambiguous(automaton: _Automaton, loop: set[int]) -> bool:
    ways = {at: {after: many for after, many in automaton.follow[at].items() if after in loop} for at in loop}
    if any(many > 1 for after in ways.values() for many in after.values()):
        return True
    classes, pairs = automaton.classes, nx.DiGraph()
    new = [(at, at) for at in loop]
    seen = set(new)
    while new:
        pair = new.pop()
        for one in ways[pair[0]]:
            for two in ways[pair[1]]:
                if classes[one] & classes[two]:
                    pairs.add_edge(pair, (one, two))
                    if (one, two) not in seen:
                        seen.add((one, two))
                        new.append((one, two))
    parts = (part for part in nx.strongly_connected_components(pairs) if len(part) > 1)
    return any({one == two for one, two in part} == {True, False} for part in parts)
