"""Columns that all readers of training progress share: who printed a line and when, numbers as logs print them."""

import re

import polars as pl

from parsers.schema.tables import conform, empty
from parsers.text.patterns import regex
from parsers.text.stamps import EARLIEST_NS, LATEST_NS
from parsers.training.replica_values import checksum, learning_rate

NUMBER = r"([+-]?(?i:nan|inf(?:inity)?|[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+))"
# The last words of a program, with how long it took: an end only where its steps are told by the same speaker.
BARE_END = r"(?i:all done|done|finished|completed)(?i:[ ,:]+(?:(?:in|after|took|total)[ :]+)?[0-9][0-9.:]*(?: ?(?:s|secs?|seconds|m|mins?|minutes|h|hours))?)?[.!]?\s*$"
_WHOLE = r"(?:all|the|of|on|is|has|training|train|trainer|run|job|fit|program|script|steps|iterations|updates|epochs|successfully|normally|cleanly)"
_OVER = r"(?:done|finished|completed?|ended|end)"
# The whole message of a record that says so, of all of the work and of no part of it.
CLOSED = rf"(?i)(?!end(?:ed)?\W*$)(?:{_WHOLE}[ _,:.-]{{1,3}}){{0,5}}{_OVER}(?:[ _,:.-]{{1,3}}(?:{_WHOLE}|{_OVER})){{0,6}}[.!]?"
COUNT = r"([0-9]{1,15})"
_NAMED_SCALE, _BARE_SCALE = r"\b(?:loss|amp|grad)[_ ]scale[\s=:]+", r"(?:^|[\s,;|(])scaler?[\s=:]+"
_CHANGED = r"(?:\s*(?:->|=>|→)\s*|\s+to\s+)"
_TOKENS = r"(?:^|[\s,;|])(?:num_|local_)?tokens[=:] ?([0-9]{1,15})(?:[\s,;|]|$)"  # of the step, on this rank
_INLINE_RANK = r"\[rank\s?([0-9]{1,9})\]|(?:^|[\s,;|])(?:global_)?rank=([0-9]{1,9})(?:[\s,;|]|$)"
# The update of this very step was left out; not how many were so far.
_SKIPPED = (
    r"(?i)\bskip(?:ped|ping|s)?[ _:=]{1,2}(?:the |this |an? |optimi[sz]er |weight |param[a-z]* |gradient ){0,3}(?:step|update|batch|iteration)\b"
    r"|\b(?:step|update|batch|iteration) {0,2}[:(=-]? {0,2}(?:is |was )?skipped\b|\b(?:skip(?:ped)?|overflow(?:ed)?|found[_ ]inf)(?:[=:] ?| )(?:true|yes)\b"
)
_OF_SKIPPED = ("skip", "overflow", "found")  # one stands in all that _SKIPPED finds, which takes long to compile
_UNSKIPPED = r"(?i)\b(?:not|no|never|0|without|false) skip|\bskip[a-z_]*[ _:=]{1,2}(?:[0-9a-z_]+ ){0,3}[0-9a-z_]+[=: ]{1,3}(?:[0-9]|false|no)"
_STAMP = r"^\s*(?:\[[A-Za-z][A-Za-z_.-]{0,30}\] )?\[?([0-9]{4}-[0-9][0-9]-[0-9][0-9][ T][0-9][0-9]:[0-9][0-9]:[0-9][0-9])(?:[.,]([0-9]{1,9}))?"
_DATE = regex(r"[0-9]{4}-[0-9][0-9]-[0-9][0-9][ t]")
_FEW = 4096  # lines; of more the pattern is asked, whose compiling costs nothing beside them


class Said:
    """What stands in lines, in small letters: asked before a pattern that takes longer to compile than a small bundle to read. Of many lines, anything."""

    def __init__(self, lines: pl.DataFrame) -> None:
        self._text = "\n".join(lines["text"].drop_nulls().to_list()).lower() if lines.height <= _FEW else None

    def holds(self, *words: str) -> bool:
        """Does any of the lines hold one of these words, in any case?"""
        return self._text is None or any(word in self._text for word in words)

    def finds(self, pattern: re.Pattern[str]) -> bool:
        return self._text is None or pattern.search(self._text) is not None


def with_reporter(lines: pl.DataFrame) -> pl.DataFrame:
    """`rank` filled from `[rank3]` within a logger's format or a field `rank=3`, then from the path; the time from the line's own stamp."""
    text, said = pl.col("text"), Said(lines)
    inline = [text.str.extract(_INLINE_RANK, at).cast(pl.Int64, strict=False) for at in (1, 2)]
    whose = {
        "rank": pl.coalesce("rank", *(inline if said.holds("[rank", "rank=") else ()), "path_rank"),
        "local_rank": pl.coalesce("local_rank", "path_local_rank"),
        "host": pl.coalesce("host", "path_host"),
    }
    if not (lines["time_ns"].null_count() and said.finds(_DATE)):
        return lines.with_columns(**whose)
    seconds = text.str.extract(_STAMP, 1).str.replace("T", " ").str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False)
    fraction = text.str.extract(_STAMP, 2).str.pad_end(9, "0").cast(pl.Int64, strict=False).fill_null(0)
    told = seconds.dt.timestamp("ms") * 1_000_000 + fraction
    stamp = pl.when(told.is_between(EARLIEST_NS, LATEST_NS)).then(told)
    is_stamped = pl.col("time_ns").is_null() & stamp.is_not_null()
    basis = pl.when(is_stamped).then(pl.lit("local")).otherwise("time_basis")
    return lines.with_columns(**whose, time_basis=basis, time_ns=pl.coalesce("time_ns", stamp))


def whole(pattern: str) -> pl.Expr:
    """The first group of a pattern in `text` as an integer; null where it does not match or fit."""
    return pl.col("text").str.extract(pattern, 1).cast(pl.Int64, strict=False)


def number(pattern: str, group: int = 1) -> pl.Expr:
    """A group of a pattern in `text` as a float, NaN and Inf included; null where it does not match."""
    return pl.col("text").str.extract(pattern, group).cast(pl.Float64, strict=False)


def rows(lines: pl.DataFrame, framework: str | pl.Expr | None, **columns: pl.Expr) -> pl.DataFrame:
    """Rows of `steps` for lines that with_reporter has seen; lines without a step are left out. Where there is a loss, `loss_seen` says of each
    line whether it has one, unless it is told."""
    if lines.is_empty():
        return empty("steps")  # most frameworks have no line in a bundle: compiling their patterns would cost the most
    who = ["rank", "local_rank", "time_ns", "time_basis", "file", "line"]
    by = framework if isinstance(framework, pl.Expr) else pl.lit(framework, dtype=pl.String())
    text = pl.col("text")
    is_skipped = text.str.contains(_SKIPPED) & ~text.str.contains(_UNSKIPPED)
    said = Said(lines)
    agreed = {
        "learning_rate": learning_rate() if said.holds("lr", "learning") else None,
        "checksum": checksum(),
        "tokens": whole(_TOKENS) if said.holds("tokens") else None,
        "skipped": pl.when(is_skipped).then(1) if said.holds(*_OF_SKIPPED) else None,
    }
    seen = {"loss_seen": columns["loss"].is_not_null()} if "loss" in columns else {}
    told = {name: one for name, one in agreed.items() if one is not None}
    columns = {"phase": pl.lit("train"), "framework": by} | told | seen | columns
    return conform("steps", lines.select(*who, **columns).filter(pl.col("step").is_not_null()))


def scale() -> pl.Expr:
    """The scale of the loss that holds after a line (`scale 65536 -> 32768`); under the word alone only a power of two is one."""
    told, bare = (number(rf"{name}(?:{NUMBER}{_CHANGED})?{NUMBER}", 2) for name in (_NAMED_SCALE, _BARE_SCALE))
    power = bare.log(2)
    return pl.coalesce(told, pl.when((bare > 0) & (power == power.round())).then(bare))
