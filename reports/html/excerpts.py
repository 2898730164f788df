"""Evidence as it stands in the bundle: the line with what tells marked in it, and the lines around it.

What tells is no list of words: it is what the claim and the line have in common, or what was read of the line.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from forensics.model.incident import Document, Evidence, Incident, Passages

CONTEXT = 3  # lines before and after
_FACTS = 8  # whose lines are shown with their context: those on the page that are not folded twice
_MARKS = 6  # in one line; more would be a coloured line
_SHORT = 48  # characters of what was read: longer is a sentence, and not a word of the line
_TOKEN = re.compile(r"“([^”]{3,})”|(\branks? \d+\b)|([\w.:/#+-]{3,})")
_TELLS = re.compile(r"[\d_#]|[a-z][A-Z]|^[A-Z]{3,}$")  # a name, a number, a word in capitals; no word of the language


class Piece(NamedTuple):
    text: str
    is_marked: bool


class Line(NamedTuple):
    number: int
    pieces: list[Piece]
    is_it: bool


class Excerpt(NamedTuple):
    """`line`: as it stands in the bundle. `before`, `after`: around it. `read`: what was read of it, where that is no part of it."""

    line: list[Piece]
    before: list[Line]
    after: list[Line]
    read: str


def passages(report: Document, incident: Incident | None) -> Passages:
    """The lines of the bundle behind the first facts for and against, as far as they can be read again."""
    items = incident.evidence if incident else []
    shown = [one for way in ("for", "against") for one in items if one.direction == way][:_FACTS]
    places = [(ref.file, ref.line) for one in shown for ref in one.refs[:1] if ref.line]
    return report.passages(dict.fromkeys(places), CONTEXT)


def excerpt(item: Evidence, passages: Mapping[tuple[str, int], Sequence[tuple[int, str]]]) -> Excerpt | None:
    """The first place of a fact; None where nothing is printed there."""
    ref = next(iter(item.refs), None)
    if ref is None or not ref.text:
        return None
    around = passages.get((ref.file, ref.line), ()) if ref.line is not None else ()
    here = next((text for number, text in around if number == ref.line), None)
    if here is None or not (told := marked(here, item.claim, ref.text)):
        return Excerpt(marked(ref.text, item.claim, "") or [Piece(ref.text, False)], [], [], "")
    lines = [Line(number, [Piece(text, False)], number == ref.line) for number, text in around]
    is_whole = " ".join(ref.text.split()) in " ".join(here.split()) or " ".join(here.split()) in ref.text
    before = [line for line in lines if line.number < (ref.line or 0)]
    after = [line for line in lines if line.number > (ref.line or 0)]
    return Excerpt(told, before, after, "" if is_whole else ref.text)


def marked(line: str, claim: str, read: str) -> list[Piece]:
    """A line in pieces, what it shares with the claim marked; `read`: what was read of it, if that is a word of it. Empty where
    they share nothing and it was not read as it stands: then it is not what shows it."""
    words = {read.strip()} if 2 < len(read.strip()) <= _SHORT and read.strip() != line.strip() else set()
    for quoted, rank, word in _TOKEN.findall(claim):
        told = quoted or rank or word.strip(".:,-")
        if quoted or rank or (len(told) > 2 and _TELLS.search(told)):
            words.add(told)
    known = sorted(filter(None, words), key=len, reverse=True)
    pattern = "|".join(rf"(?<![\w.-]){re.escape(word)}(?![\w-])" for word in known)
    found = list(re.finditer(pattern, line)) if known else []
    if not found:
        return [Piece(line, False)] if read and " ".join(read.split()) in " ".join(line.split()) else []
    pieces, end = [], 0
    for one in found[:_MARKS]:
        pieces += [Piece(line[end : one.start()], False), Piece(one[0], True)]
        end = one.end()
    return [piece for piece in [*pieces, Piece(line[end:], False)] if piece.text]
