"""Sentences that are said in two languages. A form holds both, side by side, so that neither is changed without the other;
what is said is the English text, which every output prints, and carries the Chinese one along.

The forms stand in forensics/words, a module for each room that speaks; names, ranks and figures are filled in here.
"""

from collections.abc import Iterable
from string import Formatter
from typing import Literal, Self

import msgspec

from forensics.model.names import EvidenceKind

Mark = Literal["", ", ", "; ", ". ", ": ", " and ", " and no ", " or ", ", or ", "/", " "]
_MARKS: dict[Mark, str] = {
    "": "", ", ": "、", "; ": "；", ". ": "。", ": ": "：", " and ": "和", " and no ": "、", " or ": " 或 ", ", or ": "，或 ", "/": "/", " ": " ",
}  # fmt: skip


class Said(str):
    """The English text; `zh` is the same in Chinese, `asks` the kinds of evidence that it asks for. What is cut out of it or
    put together without this module is an ordinary text again, and has neither."""

    __slots__ = ("asks", "zh")
    zh: str
    asks: tuple[EvidenceKind, ...]

    def __new__(cls, text: str, zh: str, *asks: EvidenceKind) -> Self:
        said = super().__new__(cls, text)
        said.zh = zh
        said.asks = asks
        return said

    def __reduce__(self) -> tuple[type[Self], tuple[str, ...]]:
        return type(self), (str(self), self.zh, *self.asks)


UNDECIDED = Said("Undecided: ", "无法判定：")  # how a summary that names nobody begins


class Form(msgspec.Struct, frozen=True):
    """A sentence, or a part of one, with fields in braces: the same ones in both languages. `asks`: as in Said."""

    en: str
    zh: str
    asks: tuple[EvidenceKind, ...] = ()

    def __call__(self, **fields: object) -> Said:
        """Filled in; a field that was said itself is said in each language."""
        chinese = {name: value.zh if isinstance(value, Said) else value for name, value in fields.items()}
        pieces: list[str] = []
        for text, name, form, _ in Formatter().parse(self.zh):
            pieces += (text,) if name is None else (text, format(chinese[name], form or ""))
        return Said(self.en.format_map(fields), _close(pieces), *self.asks)


def _close(pieces: Iterable[str]) -> str:
    """Chinese put together: no blank where wide characters meet that would stand beside Latin ones."""
    whole = ""
    for piece in filter(None, pieces):
        if whole[-1:] == " " and _is_wide(whole[-2:-1]) and _is_wide(piece[0]):
            whole = whole[:-1]
        is_loose = piece[0] == " " and _is_wide(whole[-1:]) and _is_wide(piece[1:2])
        whole += piece[1:] if is_loose else piece
    return whole


def _is_wide(character: str) -> bool:
    """Chinese characters and their marks."""
    return character >= "\u2e80"


class Noun(msgspec.Struct, frozen=True):
    """What is counted: "1 rank", "2,005 ranks", "2,005 个 rank"."""

    one: str
    many: str
    zh: str

    def __call__(self, number: int) -> Said:
        return Said(f"{number:,} {self.one if number == 1 else self.many}", f"{number:,} {self.zh}")


def zh(text: str) -> str:
    """In Chinese where it can be said so, else as it is: names, and lines as printed."""
    return text.zh if isinstance(text, Said) else str(text)


def joined(parts: Iterable[str], mark: Mark) -> Said:
    """The parts behind each other, with the mark of each language between them."""
    whole = [part for part in parts if part]
    chinese = [piece for part in whole for piece in (_MARKS[mark], zh(part))]
    return Said(mark.join(whole), _close(chinese[1:]))


def did_all(said: str, number: int) -> Said:
    """What somebody did ("was killed …"), of so many; Chinese verbs have no number."""
    return Said(f"were{said[3:]}", zh(said)) if number > 1 and said.startswith("was ") else Said(said, zh(said))


def capital(said: str) -> Said:
    """With a capital, where the language has any."""
    return Said(f"{said[:1].upper()}{said[1:]}", zh(said))


def sentence(*parts: str, end: Literal[".", ""] = ".") -> Said:
    """Clauses as one sentence: with a capital, a semicolon between them, a full stop behind."""
    whole = joined(parts, "; ")
    return Said(f"{capital(whole)}{end}", f"{whole.zh}{'。' if end else ''}")


def clause(text: str) -> str:
    """A sentence as a part of another one: without its full stop."""
    return Said(text.rstrip("."), text.zh.rstrip("。")) if isinstance(text, Said) else text.rstrip(".")


def first_clause(text: str) -> str:
    """What stands before the first semicolon."""
    english = text.partition(";")[0]
    return Said(english, text.zh.partition("；")[0]) if isinstance(text, Said) else english


def inside(text: str) -> str:
    """A sentence as it goes on after a comma; "GPU 3 of …" keeps its capitals."""
    english = text[:1].lower() + text[1:] if text[1:2].islower() else text
    return Said(english, text.zh) if isinstance(text, Said) else english


def unlabelled(summary: str) -> str:
    """Without the label that says that it is undecided."""
    english = summary.removeprefix(UNDECIDED)
    return Said(english, summary.zh.removeprefix(UNDECIDED.zh)) if isinstance(summary, Said) else english


def encoded(value: object) -> str:
    """For msgspec, which writes no subclass of str by itself: `enc_hook`."""
    if isinstance(value, Said):
        return str(value)
    raise TypeError(f"no form in JSON: {type(value).__name__}")
