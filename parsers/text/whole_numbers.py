"""A line as its words and the whole numbers in it: dates, times, fractions and addresses in hexadecimal are none; and numbers that count names."""

from collections.abc import Sequence

from parsers.text.patterns import regex

_NOT_WHOLE = regex(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?|\d+\.\d+(?:[eE][-+]?\d+)?|0x[0-9a-fA-F]+")
_WHOLE = regex(r"\d{1,15}")
NUMBER = regex(r"\d{1,10}")  # in the name of a file


def whole_numbers(text: str) -> tuple[str, str, tuple[int, ...]]:
    """(the line with ~ for what is no whole number, the same with # for each that is, these numbers)."""
    text = _NOT_WHOLE.sub("~", text)
    return text, _WHOLE.sub("#", text), tuple(map(int, _WHOLE.findall(text)))


def counted_from_zero(names: Sequence[str]) -> list[dict[str, int]]:
    """Names that are alike but for their numbers → name → number, for each of these that counts them: just 0 … N-1."""
    columns = zip(*(map(int, NUMBER.findall(name)) for name in names), strict=True)
    return [dict(zip(names, own, strict=True)) for own in columns if sorted(own) == [*range(len(names))]]
