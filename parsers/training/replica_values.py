"""What a line of a step prints that replicas must agree on: hashes of parameters, norms of many digits, the learning rate.

    step=15 loss=2.9134 lr=3.000e-03 grad_norm=0.6673 param_hash=dc5818dc         step 11 loss 2.88 weights_crc32 20ae0f81
    step 40 | weight sha256: 9f86d081884c7d65 | param_norm 1234.56789012        it=7 weights-digest ae399504 crc32(opt)=0x7e0605d3
    step=9 fp32=5f4d3326 bf16=811cc4bb                              a text of hexadecimal digits under any name
    step 9 | loss 2.31 | weights 5f4d3326                           behind a blank only as long as digests are
    step 9: the users have fingerprint 59e7c399, the films have fingerprint 3f60fcf0          one name for several: the second of it in a line is called so

Column `checksum` of `steps`: pairs name=value apart by a space, as printed; of a figure only where it has eight decimals or more, as
fewer may be equal by chance. A record's figure of an unknown name is one as well: where it is no replica's, it is not equal. What names data, files or versions is none.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.text.durations import figure
from parsers.text.patterns import regex
from parsers.text.replica_names import ELSE, FIGURE, HEX, IS_PLAIN, MODULES, OF, is_of_replica, says_what
from parsers.text.vocabulary import meaning_of

_MIXED = r"(?:0x)?[0-9a-f]{8,128}"  # digits and letters, see _IS_MIXED
_BARE = r"[0-9a-f]{8}(?:[0-9a-f]{8}(?:[0-9a-f]{16}(?:[0-9a-f]{8}|[0-9a-f]{32}|[0-9a-f]{96})?)?)?"  # of a digest's length, behind a blank alone
_PAIR = (
    rf"(?i)\b(?:[a-z_][a-z_.0-9]{{0,60}} {{1,40}})?(?:{HEX}{OF}(?: *[=:] *| )(?:0x|-)?(?:[0-9a-f]{{6,128}})"
    rf"|{FIGURE}(?: *[=:] *| )[+-]?[0-9]{{1,20}}\.[0-9]{{8,30}}(?:e[+-]?[0-9]{{1,3}})?|[a-z_][0-9a-z_.-]{{0,60}}{OF}(?: ?[=:] ?{_MIXED}| {_BARE}))\b"
)
_IS_MIXED = r"(?i)(?:[=: ] ?(?:0x)?)(?:[a-f]+[0-9]|[0-9]+[a-f])[0-9a-f]*$"
_APART = r"^(.*?)(?: *[=:] *| )(?:0[xX])?([0-9A-Fa-f.+-]+)$"
_LINK = r"(?i)^(?:and|the|its|with) +"  # between words, no part of a name
_LR = r"(?i)(?:^|[\s,;|(\[{'\"])(?:lr|learning[_ ]rate)['\"]?[\s=:]+\[?([0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?)"


def learning_rate() -> pl.Expr:
    """Of lines with a column `text`."""
    return pl.col("text").str.extract(_LR, 1).cast(pl.Float64, strict=False)


def checksum() -> pl.Expr:
    """The same: the pairs; null where there are none."""
    pairs = pl.col("text").str.extract_all(_PAIR)
    one = pl.element().str.replace(_APART, "$1=$2").str.replace(_LINK, "").str.replace_all(" +", "_")
    is_value = pl.element().str.contains(IS_PLAIN) | pl.element().str.contains(_IS_MIXED)
    pairs = pairs.list.eval(one.filter(~pl.element().str.replace_all(MODULES, "").str.contains(ELSE) & is_value))
    return pl.when(pairs.list.len() > 0).then(pairs.list.join(" ").map_elements(_told_apart, return_dtype=pl.String))


def _told_apart(pairs: str) -> str:
    """What comes again under one name is of something else, as of a second table: `crc=1f crc=2e` → crc=1f crc.2=2e."""
    told = [pair.partition("=") for pair in pairs.split(" ")]
    names = [name for name, _, _ in told]
    if len({*names}) == len(names):
        return pairs
    nths = (names[:at].count(name) for at, name in enumerate(names, 1))
    return " ".join(
        f"{name}.{nth}={value}" if nth > 1 else f"{name}={value}"
        for (name, _, value), nth in zip(told, nths, strict=True)
    )


_WHOLE = 100_000  # a hash of fewer digits may be equal by chance
_LONG = regex(r"[+-]?[0-9]{1,20}\.[0-9]{8,30}(?:e[+-]?[0-9]{1,3})?")
_ONE = regex(_PAIR)
_OTHER_SCRIPT = regex(r"[^\x00-\x7f]")  # of a name: the kind of digest is called the same in all
_PLAIN, _MIX = regex(IS_PLAIN), regex(_IS_MIXED)


def of_record(said: Mapping[str, Any]) -> str | None:
    """The pairs of a record's names and values; None where there are none."""
    told = ((str(name), value) for name, value in said.items() if isinstance(value, str | int | float))
    pairs = [f"{_called(name)}={_whole(value)}" for name, value in told]
    plain = [(pair, _OTHER_SCRIPT.sub("_", pair)) for pair in pairs if len(pair) < 200]
    known = [pair for pair, bare in plain if _ONE.fullmatch(bare) and _is_held(bare)]
    long = [pair for pair in pairs if pair not in known and len(pair) < 200 and _is_unknown(pair)]
    return _told_apart(" ".join(pair.replace(" ", "_") for pair in (*known, *long))) or None


def _called(name: str) -> str:
    """The last part of a name; what a part of the state is called is followed by the name of its digests: `sha/encoder.2` → encoder.2.sha."""
    outer, _, last = name.rpartition("/")
    outer = outer.rpartition("/")[2]
    return f"{last}.{outer}" if outer and says_what(outer) and not says_what(last) else last


def _whole(value: str | int | float) -> str | int | float:
    """A hash that was stored as a figure, as trackers of experiments do."""
    return int(value) if isinstance(value, float) and abs(value) >= _WHOLE and value.is_integer() else value


def tells_replica(text: str) -> bool:
    """Does a line hold such a pair?"""
    return pairs(text) > 0


def pairs(text: str) -> int:
    """How many such pairs a line holds."""
    return sum(_is_held(one[0]) for one in _ONE.finditer(text))


def _is_held(pair: str) -> bool:
    return (_PLAIN.search(pair) or _MIX.search(pair)) is not None and is_of_replica(pair.partition("=")[0])


def _is_unknown(pair: str) -> bool:
    """Is it a figure of many digits under a name of which nothing is known? Where ranks print the same they hold the same."""
    name, _, value = pair.partition("=")
    is_free = meaning_of(name) is None and not ((said := figure(name)) and said.is_time)
    return is_free and _LONG.fullmatch(value) is not None
