"""Names and values in a line: `key=value`, `name: value`, and figures that words mention.

The readers of a line are `logfmt`, `prose` and `mentions`; which of them a line is for is told by framings.py.
"""

from functools import lru_cache
from typing import Any

from parsers.forms.reading import CELL, Said
from parsers.schema.labels import OF_GROUP
from parsers.text import lenient, vocabulary
from parsers.text.patterns import regex

_LINE = 4096
NAME = r"[A-Za-z_@#][\w./@()%-]{0,79}"
_PAIR = regex(
    rf"(?:^|(?<=[\s,;|(\[{{]))(?P<name>{NAME})=(?P<value>\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\[(][^\])]{{0,4096}}[\])]|[^\s,;|]*)"
)
_APART = regex(r"\s*\|\s*|[,;]\s+|\t|\s{2,}")
SAYS = regex(
    rf"(?:- )?(?P<name>{NAME}(?: [A-Za-z_()/][\w./()-]{{0,40}}){{0,4}}?)(?:\s*[:=]\s*| +(?=[-+.\d]|nan|inf|NaN|Inf))(?P<value>\S.{{0,4096}})"
)
_MENTION = regex(
    r"(?<![\w./-])(?P<name>[A-Za-z_][\w./@-]{0,60}(?: (?!(?i:nan|inf)\b|(?=[a-f]{1,127}\d)[0-9a-f]{8,128}\b)[A-Za-z_][\w./@-]{0,30}){0,3}(?: ?\([a-z_ /-]{1,40}\))?)"
    r"(?: ?\[ {0,8}(?:\d{1,15}-)?(?P<place>\d{1,15}) {0,8}(?:/ {0,8}\d{1,15} {0,8})?\]|(?: ?[:=] {0,8}| {1,8})"
    r"(?:(?P<sum>(?:0x[0-9a-f]{6,128}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,128})(?![\w./-]))"
    r"|(?P<value>[+-]?(?:\d[\d.]{0,48}(?:[eE][+-]?\d{1,3})?|(?i:nan|inf(?:inity)?)))(?:/\d{1,15})?(?: ?(?P<unit>ms|msec|us|usec|s|secs?|seconds?)\b)?(?![\w./-]|:\S)|(?P<said>\"[^\"]{0,200}\"|[\[{(] {0,4}[-+.\dn'\"][^\[{(\])}]{0,2000}[\])}])(?!\w))"
    r"(?: ?(?P<each>[a-z]{2,12})/s(?:ec(?:ond)?)?\b(?! ?[:=]? {0,8}[-+.\d]))?)"
)
_COUNT = regex(
    r"(?:^|(?<=[\])>:] ))[\[(<#]{0,2} {0,8}(?P<count>\d{1,15})(?: ?/ ?\d{1,15})?(?: {0,8}\|)?[\])>:,;|]{0,2}\s+(?=[A-Za-z])"
)
_AT_COUNT = regex(
    r"(?P<name>[A-Za-z_][\w./-]{0,60}) (?:at|in|for|of|after|@) (?P<count>[A-Za-z_]{1,30}) (?P<at>\d{1,15}) ?(?:[:=,]|is|was) ?(?=[-+.\d]|(?i:nan|inf))"
)
_NAMED_COUNT = regex(
    r"(?<![\w./:=-])(?P<name>[A-Za-z_][\w./-]{0,60}) (?P<of>(?i:nans?|infs?)) (?P<count>\d{1,15})(?=$|[ ,;|)\]](?! ?[a-z]{1,12}/s)(?! ?(?i:nans?|infs?) [A-Za-z]))"
)
_MEASURED = regex(r"(?i)(?:.*[_.])?(?:abs|a)?(?:max|min|mean|norm|std|rms|sum|value|val|scale|size|l2)")
_RATE = regex(r"(?P<value>\d[\d.]{0,30}) ?(?P<each>[a-z]{2,12})/s(?:ec(?:ond)?)?")
_WORD = regex(r"[A-Za-z]{2,}")
_MORE = regex(
    r"(?:[+-]?(?:\d[\d.]{0,30}(?:[eE][+-]?\d{1,3})?|(?i:nan|inf))|(?:0x)?[0-9a-fA-F]{6,128}):?\s+[A-Za-z_][\w./@-]{0,60}[ =:]"
)  # a number or a digest, and then another name
_COUNT_BEFORE = regex(r"(?P<name>[A-Za-z_][\w./-]{0,60})[ =#]{1,2}(?P<count>\d{1,15})(?:/\d{1,15})?: ")
COUNT = "#"  # the name of a number without one at the head of a line
_IDENTITY = ("rank", "step")
_OWN_REMARK = regex(
    r"(?i)\b(?:local|own|this|unreduced|not (?:reduced|averaged))\b"
    r"|\b(?:before|pre)\b.{0,30}\b(?:mean|averag\w*|all|reduc\w*|allreduce|sync\w*|comm\w*)\b"
)
_ALL_REMARK = regex(r"(?i)\b(?:(?:after|post)\b.{0,30}\b(?:mean|averag|all|reduc|sync)|reduced\b|global\b)")


def logfmt(text: str) -> Said | None:
    """`rank=3 step=5 msg="two words"`; None where the line holds anything else."""
    text = text[:CELL]
    found = {match["name"]: cell(match["value"]) for match in _PAIR.finditer(text)}
    return found if len(found) > 1 and not _PAIR.sub("", text).strip(" \t,;|(){}[]") else None


def prose(text: str) -> Said | None:
    """`rank: 3 | step 5 | loss: 2.1`; None where a part of the line is no pair."""
    parts = [part for part in _APART.split(text.strip()[:CELL].strip("|")) if part.strip()]
    said: Said = {}
    for part in parts:
        match = SAYS.fullmatch(part.strip())
        if match is None:
            return None
        if len(parts) > 1 and _MORE.match(match["value"]) and (inner := _pairs_of(part) or _count_before(part)):
            said |= inner
            continue
        said[_known_end(match["name"].removeprefix("- "))] = cell(match["value"])
        if rate := _RATE.fullmatch(match["value"].strip()):
            said[f"{rate['each']}_per_s"] = rate["value"]
    return said if len(said) > 1 else None


def _pairs_of(part: str) -> Said:
    """`step 37 lr 3e-04 bad 0`: of a part between bars all pairs, where more than one stands in it."""
    found: Said = {}
    for one in _MENTION.finditer(part):
        if told := one["value"] or one["sum"] or one["said"]:
            name = _known_end(" ".join(one["name"].split()))
            found[_continued(next(reversed(found), ""), name)] = cell(told)
    return found if len(found) > 1 else {}


def _count_before(part: str) -> Said:
    """`update 23: my batch [a-17 b-4]`: the count at the head of a part is no less one because words follow it."""
    match = _COUNT_BEFORE.match(part.strip())
    return {match["name"]: match["count"]} if match and vocabulary.meant(match["name"]) == "step" else {}


def _continued(before: str, name: str) -> str:
    """`grad_norm local 2.1 global 1.8`: what says no more than whose it is, is of the same figure as the pair before."""
    whose = vocabulary.whose()
    *figure, last = before.split(" ")
    return " ".join([*figure, name]) if figure and name in whose and last in whose else name


def named_counts(text: str) -> str:
    """`pulled nan 0 features nan 12` → `pulled_nan 0 features_nan 12`: behind what is no figure, the number of its NaN; `loss nan 12` is two figures."""
    if "nan" not in (lower := text.lower()) and "inf" not in lower:
        return text
    return _NAMED_COUNT.sub(_joined, text)


def _joined(found: Any) -> str:
    is_figure = _MEASURED.fullmatch(found["name"]) or not vocabulary.is_unknown(found["name"])
    is_figure = is_figure or found["name"].lower() in ("nan", "nans", "inf", "infs")
    return str(found[0]) if is_figure else f"{found['name']}_{found['of']} {found['count']}"


def mentions(text: str) -> Said | None:
    """The pairs of a line that says little else: names with numbers behind them, a name the last words before its number of which
    something is known; `loss at step 5: 2.1` is two of them. A number without a name at the head of the line, or behind a label, is COUNT. None where
    more words stand beside them than pairs: a sentence mentions figures, and is no record."""
    text = named_counts(_AT_COUNT.sub(r"\g<count> \g<at> \g<name> ", text[:_LINE]))
    head = _COUNT.search(text.lstrip())
    said: Said = {COUNT: head["count"]} if head else {}
    for match in _MENTION.finditer(text):
        name = f"{match['each']}_per_s" if match["each"] else _known_end(" ".join(match["name"].split()))
        name = _continued(next(reversed(said), ""), name)
        value = match["place"] or match["value"] or match["sum"] or match["said"]
        said |= {name: f"{value} {match['unit']}" if match["unit"] else cell(value)}
    others = len(_WORD.findall(_MENTION.sub(" ", text)))
    return said if len(said) > 1 and others <= len(said) else None


@lru_cache(maxsize=4096)
def _known_end(name: str) -> str:
    """`hook backward rank` → rank: words of a sentence before a name are none of it, unless they say whose or which one it is. A remark behind it
    says whether it is of the rank itself or of all: `replica loss (before the mean)` → local replica loss."""
    if name.endswith(")") and vocabulary.meaning_of(name) is None:
        bare, _, remark = name[:-1].partition("(")
        if _OWN_REMARK.search(remark):
            name = f"local {bare.strip()}"
        elif _ALL_REMARK.search(remark):
            name = f"global {bare.strip()}"
        elif vocabulary.is_free(remark.split()):
            name = bare.strip()
    words = name.split(" ")
    if len(words) < 2 or vocabulary.meaning_of(name) is not None or not vocabulary.is_free(words[:-1]):
        return name
    is_identity = vocabulary.meant(words[-1]) in _IDENTITY and not OF_GROUP.search(" ".join(words[:-1]))
    return words[-1] if is_identity else name


def cell(text: str) -> Any:
    """What is written: a text without its quotes, a list or a table of a literal, else as it stands."""
    text = text.strip()
    if text[:1] in ('"', "'") and text[-1:] == text[:1] and len(text) > 1:
        inner = lenient.value(text)
        return inner if isinstance(inner, str) else text[1:-1]
    if text[:1] in ("[", "{", "(") and isinstance(many := lenient.value(text), dict | list):
        return many
    return text
