"""Text as its reader sees it: without colours and characters of no width, with escapes written out.

A key that a terminal colours in its middle, or that JSON, XML or an address writes by the numbers of its characters, is
the same key to whoever reads it. Sources: ECMA-48 (control sequences), RFC 8259 (`\\u`), RFC 3986 (`%`), XML 1.0 4.1
(`&#`), Python's repr (`\\x`), Unicode's Default_Ignorable_Code_Point.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import chain

from parsers.text.patterns import regex

_UNSEEN = (
    "\x01-\x08\x0e-\x1a\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_CONTROL = r"(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
_WRITTEN = r"(?:u001[bB]|x1[bB]|033|e)\[[0-9;]*[A-Za-z]"  # a colour in the repr of a text
_CODE = r"u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})"
# Group 1 to 5: the number of a character, the last in decimal
_VEIL = regex(
    rf"\x1b{_CONTROL}|\x9b[0-?]*[ -/]*[@-~]|[{_UNSEEN}]+|(?<!\\)\\+(?:{_WRITTEN}|{_CODE})"
    r"|%([0-9A-Fa-f]{2})|&#[xX]([0-9A-Fa-f]{1,5});|&#([0-9]{1,6});"
)
_IGNORED = regex(f"[{_UNSEEN}\x1b]")
# In a text without it nothing is veiled; for polars, too.
VEILED = rf"[\x1b{_UNSEEN}]|\\[uxe0]|%[0-9A-Fa-f][0-9A-Fa-f]|&#"
_WRITTEN_BEGINS = ("\\", "%", "&#")
_ANY = regex(VEILED)


class Unveiled:
    """`plain`: what is seen of a text, made of runs of it and of escapes, one character each."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._plains, self._spans = list[int](), list[tuple[int, int]]()  # of each part: its place here and there
        parts: list[str] = []
        at = length = 0
        for veil in chain(_VEIL.finditer(text), [None]):
            begin, end = veil.span() if veil else (len(text), len(text))
            for seen, span in ((text[at:begin], (at, begin)), (_seen(veil), (begin, end))):
                if seen:
                    self._plains.append(length)
                    self._spans.append(span)
                    parts.append(seen)
                    length += len(seen)
            at = end
        self.plain = "".join(parts)

    def replaced(self, spans: Iterable[tuple[int, int]], substitute: str) -> str:
        """The text with what spans of the plain text show replaced; spans that overlap are one."""
        parts: list[str] = []
        at = 0
        for begin, end in sorted((self._place(begin), self._place(end - 1, behind=True)) for begin, end in spans):
            if begin >= at:
                parts += self._text[at:begin], substitute
            at = max(at, end)
        return "".join((*parts, self._text[at:]))

    def _place(self, plain: int, behind: bool = False) -> int:
        """Where in the text a character of the plain one begins, or ends."""
        part = bisect_right(self._plains, plain) - 1
        begin, end = self._spans[part]
        place = begin + plain - self._plains[part]
        is_last = plain + 1 == (self._plains[part + 1] if part + 1 < len(self._plains) else len(self.plain))
        return place if not behind else end if is_last else place + 1


def is_veiled(text: str) -> bool:
    """May some of the text be seen otherwise than it stands there?"""
    is_plain = text.isascii() and text.isprintable() and not any(begin in text for begin in _WRITTEN_BEGINS)
    return not is_plain and _ANY.search(text) is not None


def _seen(veil: "re.Match[str] | None") -> str:
    """What a veil shows: nothing, or the character of its number."""
    for number, base in zip(veil.groups() if veil else (), (16, 16, 16, 16, 10), strict=False):
        if number is not None:
            code = int(number, base)
            return chr(code) if code <= 0x10FFFF and not _IGNORED.match(chr(code)) else ""
    return ""
