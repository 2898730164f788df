"""Files that repeat one look: `pyspy_1.txt`, `pyspy_2.txt`; `before/`, `after/`; `look_a.txt`, `look_b.txt`."""

from parsers.text.patterns import regex

_WORDS = {"first": 1, "before": 1, "early": 1, "second": 2, "after": 2, "late": 2, "third": 3}
_NTH = regex(r"\d+|(?<![a-z])(?:" + "|".join(_WORDS) + r")(?![a-z])|(?<![a-z0-9])[a-z](?![a-z0-9])")


def series(path: str) -> str:
    """What the files of repeated dumps of one process have in common."""
    return _NTH.sub("#", path.lower())


def in_order(path: str) -> str:
    """Sorts as repeated dumps follow each other: 10 after 9, `after` after `before`."""
    return _NTH.sub(lambda found: str(_WORDS.get(found[0], found[0])).zfill(20), path.lower())
