"""The one sanitiser for text that came from a bundle.

Log lines, host names and file names are written by whoever ran the job. What steers a terminal, reorders a line or is
invisible becomes a glyph that can be seen: ESC → ␛, NUL → ␀, U+202E → «U+202E». Nothing is dropped, so that two texts
that differ still look different. Escaping for a language (HTML, Markdown) is the business of each output, after this.
"""

import re
import unicodedata
from itertools import chain
from typing import Literal

Newline = Literal["show", "space", "keep"]

# Letters and symbols by category, yet blank on the screen: fillers, joiners, selectors, the empty Braille cell.
_BLANK = frozenset(
    chain(
        [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0],
        range(0x180B, 0x1810),
        range(0xFE00, 0xFE10),
        range(0xE0100, 0xE01F0),
    )
)
_HIDDEN_CATEGORIES = frozenset(["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"])
_KEPT_SPACES = frozenset(" \u3000")
_PLAIN = re.compile(r"[\x20-\x7e]*\Z")
_LINE_END = re.compile(r"\r\n|\n|\r")
_MARKS = 3  # combining marks on one letter; more is a tower over the neighbouring lines


def clean(text: str, newline: Newline = "show") -> str:
    """`text` without any character that acts or hides. Line ends become ␊ ("show"), one space, or stay as \\n."""
    if _PLAIN.match(text):
        return text
    if newline == "show":
        return _visible(text)
    return (" " if newline == "space" else "\n").join(_visible(line) for line in _LINE_END.split(text))


def is_hidden(character: str) -> bool:
    """Does this character act on the display, or show nothing?"""
    category = unicodedata.category(character)
    if category == "Zs":
        return character not in _KEPT_SPACES
    return category in _HIDDEN_CATEGORIES or ord(character) in _BLANK


def _visible(text: str) -> str:
    out: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        out.append(_glyph(character) if is_hidden(character) or marks > _MARKS else character)
    return "".join(out)


def _glyph(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"«U+{code:04X}»"
