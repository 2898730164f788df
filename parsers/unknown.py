"""What the lines of a file look like that nobody recognised: templates of a sample."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set

from parsers.patterns import regex
from parsers.prefixes import strip
from parsers.secrets import mask_all

_CHARACTERS = 400  # of a line that tell its template
_DIGITS = regex(r"\d+")


def templates(sample: Mapping[int, str], recognised: Set[int], most: int = 5) -> list[str]:
    """The commonest unrecognised lines of the sample (line → text) without decoration, digits as #, as "count × template"."""
    texts = [text for line, text in sample.items() if line not in recognised]
    masked = _without_digits(text[:_CHARACTERS] for text in texts) if texts else []
    example = dict(zip(masked, texts, strict=True))
    raws = sorted(Counter(masked).items(), key=lambda item: (-item[1], item[0]))[: 6 * most]
    counts: Counter[str] = Counter()
    shown = mask_all(
        [strip(example[raw]).text.strip() for raw, _ in raws]
    )  # before digits go: a form of secrets has them
    for text, (_, count) in zip(shown, raws, strict=True):
        if text:
            counts[_DIGITS.sub("#", text)[:200]] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{count} × {template}" for template, count in ordered[:most]]


def _without_digits(lines: Iterable[str]) -> list[str]:
    """Each of some lines with # for its digits: in one piece that costs less than line by line."""
    return _DIGITS.sub("#", "\n".join(lines)).split("\n")
