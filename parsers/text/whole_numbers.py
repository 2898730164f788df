"""A line as its words and the whole numbers in it: dates, times, fractions and addresses in hexadecimal are none."""

from parsers.text.patterns import regex

_NOT_WHOLE = regex(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?|\d+\.\d+(?:[eE][-+]?\d+)?|0x[0-9a-fA-F]+")
_WHOLE = regex(r"\d{1,15}")


def whole_numbers(text: str) -> tuple[str, str, tuple[int, ...]]:
    """(the line with ~ for what is no whole number, the same with # for each that is, these numbers)."""
    text = _NOT_WHOLE.sub("~", text)
    return text, _WHOLE.sub("#", text), tuple(map(int, _WHOLE.findall(text)))
