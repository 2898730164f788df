"""Processes as tools show them, look by look: rows below a heading, or below none, in a file of any kind.

What stands above rows may name their host (parsers/forms/headed.py); the same processes under two names are two looks at one host.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations, count
from typing import Any

import msgspec

from parsers.forms.headed import places_above
from parsers.stacks.process_table import Form, bare, form, process, with_families

_FEWEST = 2  # rows by their form alone


class Look(msgspec.Struct):
    """Rows below one heading: with their place, without host where the heading may tell it."""

    heading: str | None
    rows: list[dict[str, Any]] = msgspec.field(default_factory=list)
    is_bare: bool = True


class Looks:
    """Reads the lines of a file one by one."""

    def __init__(self) -> None:
        self._header: Form | None = None
        self._heading: str | None = None
        self._is_heading_new = True
        self.looks: list[Look] = []
        self.claims: list[tuple[str, dict[str, Any]]] = []  # with the number of the parent

    def read(self, text: str, place: dict[str, Any], *, any_form: bool = True) -> bool:
        """Is it a row, or a header?"""
        if found := form(text):
            self._header, self._is_heading_new = found, True
            if "ps " in text:
                self._heading = text
            return True
        cells = self._header.cells(text) if self._header is not None else {}
        is_bare = not cells
        cells = cells or (bare(text) if any_form else {})
        if not cells:
            if text.strip():
                self._heading, self._is_heading_new = text, True
            return False
        stack, claim = process(cells)
        if stack is not None:
            if self._is_heading_new:
                self.looks.append(Look(self._heading))
                self._is_heading_new = False
            self.looks[-1].is_bare &= is_bare
            self.looks[-1].rows.append(stack | place)
        if claim is not None:
            self.claims.append((cells.get("parent", ""), claim | place))
        return True

    def rows(self) -> list[dict[str, Any]]:
        """Rows of `stacks`, with hosts, looks in order, and who is whose child."""
        many = sum(len(one.rows) for one in self.looks if one.is_bare)
        looks = [one for one in self.looks if not one.is_bare or many >= _FEWEST]
        told = _places(looks)
        seen: defaultdict[tuple[Any, int], count[int]] = defaultdict(count)
        made: list[dict[str, Any]] = []
        for look, host in zip(looks, told, strict=True):
            of_hosts: dict[Any, list[dict[str, Any]]] = {}
            for row in look.rows:
                of_hosts.setdefault(row.get("host") or host, []).append(row | {"host": row.get("host") or host})
            for rows in of_hosts.values():
                made += [row | {"snapshot": next(seen[row["host"], row["pid"]])} for row in with_families(rows)]
        return made


def _places(looks: Sequence[Look]) -> list[str | None]:
    """The host of each look, as what stands above says; where the same processes run under two names, these are no hosts."""
    told = places_above([one.heading for one in looks])
    shown: dict[str, set[int]] = {}
    for look, host in zip(looks, told, strict=True):
        if host is not None:
            shown.setdefault(host, set()).update(row["pid"] for row in look.rows)
    for one, other in combinations(shown.values(), 2):
        if 2 * len(one & other) > min(len(one), len(other)):
            return [None] * len(looks)
    return told


def without_children(claims: Iterable[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Workers that a process forks keep its arguments, and are not it."""
    told = list(claims)
    own = {(str(claim["pid"]), claim["rank"]) for _, claim in told}
    return [claim for parent, claim in told if (parent, claim["rank"]) not in own]
