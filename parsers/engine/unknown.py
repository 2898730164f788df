"""What the lines of a file look like that nobody recognised: templates of a sample."""

from collections import Counter
from collections.abc import Mapping, Set

from parsers.engine.secrets import mask_all
from parsers.text.patterns import regex
from parsers.who.lines.prefixes import strip

_CHARACTERS, _MOST = 400, 5  # of a line that tell its template; templates of a file
_DIGITS = regex(r"\d+")
_ZEROS = str.maketrans("123456789", "000000000")


def templates(sample: Mapping[int, str], recognised: Set[int]) -> list[str]:
    """The commonest unrecognised lines of the sample (line → text) without decoration, digits as #, as "count × template"."""
    texts = [text for line, text in sample.items() if line not in recognised]
    masked = _without_digits("\n".join(text[:_CHARACTERS] for text in texts)).split("\n") if texts else []
    example = dict(zip(masked, texts, strict=True))
    raws = sorted(Counter(masked).items(), key=lambda item: (-item[1], item[0]))[: 6 * _MOST]
    counts: Counter[str] = Counter()
    shown = mask_all([strip(example[raw]).text.strip() for raw, _ in raws])  # before digits go: secrets may have them
    for text, (_, count) in zip(shown, raws, strict=True):
        if text:
            counts[_without_digits(text)[:200]] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{count} × {template}" for template, count in ordered[:_MOST]]


def template(text: str) -> str:
    """A line without its decoration as it is counted: masked, each number as #."""
    return _without_digits(mask_all([text.strip()])[0])[:200]


def _without_digits(text: str) -> str:
    """With # for each number: of plain text its digits become zeros, and zeros one, which costs a third of a pattern."""
    if not text.isascii():
        return _DIGITS.sub("#", text)
    text = text.translate(_ZEROS)
    while "00" in text:
        text = text.replace("00", "0")
    return text.replace("0", "#")
