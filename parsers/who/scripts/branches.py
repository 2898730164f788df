"""Numbers that a script gives to a name by what holds: the number of a node, where the first of all is another one.

    if [ "$IDX" -eq "$MAIN" ]; then NODE=0; elif [ "$IDX" -lt "$MAIN" ]; then NODE=$((IDX + 1)); else NODE=$IDX; fi
    node = 0 if idx == main else idx + 1 if idx < main else idx        NODE=$(( IDX == MAIN ? 0 : IDX < MAIN ? IDX + 1 : IDX ))
    if idx == main:⏎    node = 0⏎else:⏎    node = idx        NODE=$IDX; [ $IDX = $MAIN ] && NODE=0

Conditions compare two sums (formulas.py); one of another form makes the name unknown.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

from parsers.text.patterns import regex
from parsers.who.scripts.formulas import Sum, parsed

_STATEMENTS = 400
_OPS = {
    "-eq": eq, "-ne": ne, "-lt": lt, "-gt": gt, "-le": le, "-ge": ge, "=": eq, "==": eq, "!=": ne, "<": lt, ">": gt, "<=": le, ">=": ge,
}  # fmt: skip
_SIDE = r"[\"']?(?:\$?\(\([^()]{1,60}\)\)|[\w${}+*. -]{1,60}?)[\"']?"
_COMPARED = regex(
    rf"\s*(?:\(\(|\[\[?|test |\()?\s*(?P<one>{_SIDE})\s*(?P<op>-(?:eq|ne|lt|gt|le|ge)|[=!<>]=|[=<>])\s*(?P<other>{_SIDE})\s*(?:\)\)|\]\]?|\))?\s*"
)
_GIVEN = regex(r"(?:[a-z]{1,12} ){0,2}(?P<name>[A-Za-z_]\w{0,60})\s?=\s?(?P<value>[^=;].{0,200}?)\s*;?")
_IF = regex(r"(?P<word>if|elif|else if|else)\b[ :]*(?P<rest>.*)")
_EITHER = regex(r"(?P<first>[^?]{1,100}?) if (?P<if>.{1,80}?) else (?P<rest>.{1,160})")
_CHOSEN = regex(r"(?P<if>[^?:]{1,80})\?(?P<first>[^?:]{1,80}):(?P<rest>.{1,160})")
_ALONE = regex(
    r"(?P<if>(?:\[\[?|\(\(|test )[^&|]{1,100}?(?:\]\]?|\)\))?)\s*&&\s*(?P<then>[A-Za-z_]\w*=[^&|]{1,80}?)(?:\s*\|\|\s*(?P<other>[A-Za-z_]\w*=.{1,80}))?"
)
_WRAP = regex(r"\$?\(\((?P<inside>.{1,200})\)\)|(?:int|str)\((?P<called>[^()]{1,100})\)|\"(?P<quoted>[^\"]{1,100})\"")


class Condition(NamedTuple):
    """Two sums and how they compare, as it is or is not."""

    one: Sum
    op: str
    other: Sum
    holds: bool


class Case(NamedTuple):
    """What a name is, where all conditions are so; null where that is not read."""

    conditions: tuple[Condition | None, ...]
    value: Sum | None


def branches(texts: Sequence[str]) -> dict[str, list[Case]]:
    """The lines of a script → names that it gives something by what holds, with all cases, the last one that holds counts."""
    found: defaultdict[str, list[Case]] = defaultdict(list)
    # indentation, those before, this one's
    open_: list[tuple[int, list[Condition | None], list[Condition | None]]] = []
    for text in texts[:_STATEMENTS]:
        indent = len(text) - len(text.lstrip())
        is_shell = any(word in f" {text} " for word in (" then", " fi", ";then"))
        for one in text.strip().partition(" #")[0].split(";"):
            part = one.strip().removeprefix("then ").strip()
            if part in ("", "then") or part.startswith("#"):
                continue
            if part == "fi":
                open_ = open_[:-1]
                continue
            if (head := _IF.match(part)) is not None:
                word, rest = head["word"], head["rest"]
                if word == "if":
                    while not is_shell and open_ and open_[-1][0] >= indent:
                        open_.pop()
                    open_.append((-1 if is_shell else indent, [], [_condition(rest.rstrip(": "))]))
                    continue
                if not open_:
                    return {}
                depth, before, now = open_.pop()
                before = [*before, *(_not(condition) for condition in now)]
                open_.append((depth, before, [] if word == "else" else [_condition(rest.rstrip(": "))]))
                part = rest if word == "else" else ""
                if not part:
                    continue
            while open_ and open_[-1][0] >= indent and open_[-1][0] >= 0 and not _IF.match(part):
                open_.pop()
            holding = tuple(condition for _, before, now in open_ for condition in (*before, *now))
            if (alone := _ALONE.fullmatch(part)) is not None:
                own = _condition(alone["if"])
                _give(alone["then"], (*holding, own), found)
                if alone["other"]:
                    _give(alone["other"], (*holding, _not(own)), found)
            else:
                _give(part, holding, found)
    return {name: own for name, own in found.items() if any(one.conditions for one in own)}


def value_of(cases: Sequence[Case], env: Mapping[str, int]) -> int | None:
    """What a name is where others have these numbers."""
    for case in reversed(cases):
        told = [None if one is None else _holds(one, env) for one in case.conditions]
        if False in told:
            continue
        return None if None in told or case.value is None else summed(case.value, env)
    return None


def names_of(cases: Sequence[Case]) -> set[str]:
    """The names that decide what a name is."""
    sums = [one for case in cases for c in case.conditions if c is not None for one in (c.one, c.other)]
    return {name for own in (*sums, *(case.value or {} for case in cases)) for key in own for name in key}


def _give(text: str, holding: tuple[Condition | None, ...], found: dict[str, list[Case]]) -> None:
    given = _GIVEN.fullmatch(text)
    if given is not None:
        found[given["name"]] += [Case((*holding, *more), value) for more, value in _values(given["value"], 0)][::-1]


def _values(text: str, depth: int) -> list[tuple[tuple[Condition | None, ...], Sum | None]]:
    """An expression with the cases that it tells apart."""
    text = _bare(text)
    found = (_EITHER.fullmatch(text) or _CHOSEN.fullmatch(text)) if depth < 4 else None
    if found is None:
        return [((), parsed(text))]
    own = _condition(found["if"])
    first = [((own, *more), value) for more, value in _values(found["first"], depth + 1)]
    return [*first, *(((_not(own), *more), value) for more, value in _values(found["rest"], depth + 1))]


def _bare(text: str) -> str:
    text = text.strip()
    while (found := _WRAP.fullmatch(text)) is not None:
        text = next(filter(None, found.groups())).strip()
    while text[:1] == "(" and text[-1:] == ")" and "(" not in text[1:-1]:
        text = text[1:-1].strip()
    return text


def _condition(text: str) -> Condition | None:
    found = _COMPARED.fullmatch(text)
    if found is None:
        return None
    one, other = parsed(_bare(found["one"])), parsed(_bare(found["other"]))
    return None if one is None or other is None else Condition(one, found["op"], other, True)


def _not(condition: Condition | None) -> Condition | None:
    return None if condition is None else condition._replace(holds=not condition.holds)


def summed(terms: Sum, env: Mapping[str, int]) -> int | None:
    """What a sum is where its names have these numbers; None where one has none."""
    total = 0
    for key, many in terms.items():
        for name in key:
            if name not in env:
                return None
            many *= env[name]
        total += many
    return total


def _holds(condition: Condition, env: Mapping[str, int]) -> bool | None:
    one, other = summed(condition.one, env), summed(condition.other, env)
    if one is None or other is None:
        return None
    return _OPS[condition.op](one, other) is condition.holds
