"""Rules for rare single lines: a pattern, what it means, and which columns its named groups fill.

Every match in a line makes a row, so two lines glued together make two; where patterns overlap the first rule wins.
Groups named after a column of `events` fill it (`pci`, `pid`, `step`, …), the others go into `detail` as JSON.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from parsers.schema.lines import Row, claimed, event
from parsers.schema.tables import SCHEMAS, Tables, tables_of

LINE_CHARACTERS = 16_384  # longer lines are searched up to here only: what kernels and launchers print is far shorter
_INTEGERS = {name for name, kind in SCHEMAS["events"].items() if kind == pl.Int64()}
_BIGGEST = 2**63 - 1
Refine = Callable[[Mapping[str, str]], Mapping[str, Any]]


class Rule(msgspec.Struct, frozen=True):
    """`kind` None: the line is understood (boot noise, the middle of a block) and makes no event.

    `code` may hold `{group}`. `refine` gets the groups that matched and returns columns that override all others;
    its key `detail` is a dict that is merged into the other groups (None takes a group out).
    """

    pattern: re.Pattern[str]
    kind: str | None
    severity: str = "error"
    code: str | None = None
    refine: Refine | None = None


def integer(text: str | None) -> int | None:
    """A decimal integer that fits 64 bits, else None."""
    try:
        number = int(text) if text is not None and len(text) < 20 and text.isascii() else None
    except ValueError:
        return None
    return number if number is None or -_BIGGEST <= number <= _BIGGEST else None


def _real(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:  # `49..7`
        return None


def pci(text: str) -> str:
    """`00000000:3B:00.0` or `3b:00.0` → `0000:3b:00.0`; anything else only in lower case."""
    parts = text.strip().lower().split(":")
    if len(parts) == 2:
        parts = ["0000", *parts]
    if len(parts) == 3 and len(parts[0]) > 4 and not parts[0][:-4].strip("0"):
        parts[0] = parts[0][-4:]
    return ":".join(parts)


def columns(rule: Rule, said: Mapping[str, str | None]) -> dict[str, Any]:
    """What a match says, by its groups, as columns of `events`."""
    groups = {name: text for name, text in said.items() if text is not None}
    made: dict[str, Any] = {"severity": rule.severity}
    if rule.code is not None:
        made["code"] = rule.code.format_map(groups)
    detail: dict[str, Any] = {}
    for name, text in groups.items():
        if name == "pci":
            made[name] = pci(text)
        elif name == "value":
            made[name] = _real(text)
        elif name in _INTEGERS:
            made[name] = integer(text)
        elif name in SCHEMAS["events"]:
            made[name] = text
        else:
            detail[name] = text.strip()
    if rule.refine is not None:
        extra = dict(rule.refine(groups))
        detail |= extra.pop("detail", {})
        made |= extra
    if detail := {name: told for name, told in detail.items() if told is not None}:
        made["detail"] = json.dumps(detail, sort_keys=True, ensure_ascii=False)
    return made


def matches(text: str, rules: Sequence[Rule]) -> list[tuple[Rule, re.Match[str]]]:
    """All matches of all rules that do not overlap an earlier rule's, in the order of the text."""
    taken: list[tuple[int, int]] = []
    found: list[tuple[Rule, re.Match[str]]] = []
    for rule in rules:
        for match in rule.pattern.finditer(text, 0, LINE_CHARACTERS):
            start, end = match.span()
            if all(end <= first or start >= last for first, last in taken):
                taken.append((start, end))
                found.append((rule, match))
    return sorted(found, key=lambda pair: pair[1].start())


def bodies(text: str, head: re.Pattern[str]) -> list[tuple[re.Match[str], str]]:
    """Each match of `head` with the text up to the next one: how glued messages come apart."""
    heads = list(head.finditer(text, 0, LINE_CHARACTERS))
    ends = [match.start() for match in heads[1:]] + [min(len(text), LINE_CHARACTERS)]
    return [(match, text[match.end() : end]) for match, end in zip(heads, ends, strict=False)]


def read_bodies(
    lines: pl.DataFrame, head: re.Pattern[str], read: Callable[[re.Match[str], str], dict[str, Any] | None]
) -> Tables:
    """Candidate lines of a driver, which speaks for no rank → events of what `read` makes of each message; where it makes nothing, the line
    is claimed."""
    rows: list[dict[str, Any]] = []
    known: list[tuple[str, int]] = []
    for row in lines.iter_rows(named=True):
        parts = bodies(row["text"] or "", head)
        told = [said for one in parts if (said := read(*one))]
        made = [event(row, said.pop("kind"), rank=None, local_rank=None, **said) for said in told]
        rows += made
        if parts and not made:
            known.append((row["file"], row["line"]))
    return tables_of(events=rows, claimed=claimed(known))


def read_rules(lines: pl.DataFrame, rules: Sequence[Rule], **fixed: Any) -> Tables:
    """Candidate lines → events and claimed. `fixed` overrides columns of every row, such as `rank=None`."""
    rows: list[dict[str, Any]] = []
    understood: list[tuple[str, int]] = []
    for row in lines.iter_rows(named=True):
        for rule, match in matches(row["text"] or "", rules):
            if rule.kind is None:
                understood.append((row["file"], row["line"]))
            else:
                rows.append(_row(row, rule, match, fixed))
    return tables_of(events=rows, claimed=claimed(dict.fromkeys(understood)))


def read_kernel(lines: pl.DataFrame, rules: Sequence[Rule]) -> Tables:
    """As read_rules for what a kernel or a service of the host prints: it speaks for a host, never for a rank."""
    return read_rules(lines, rules, rank=None, local_rank=None)


def _row(row: Row, rule: Rule, match: re.Match[str], fixed: Mapping[str, Any]) -> dict[str, Any]:
    said = dict(fixed) | columns(rule, match.groupdict())
    return event(row, said.pop("kind", None) or str(rule.kind), **said)
