"""The last line of a log that says how many of how many were done, in whatever words: an end where all that print steps say so after as many.

    Reached step 40 of 40, exiting.                40/40 updates applied, leaving the loop
    {"event": "bye", "step": 40, "max_steps": 40}  stop: iteration limit 40 hit at 40
    {"event": "end", "step": 40, "reason": "max_steps reached"}
    finished 5 epochs (40 steps)                   training complete: 40 updates in 5 epochs

Event job_end, code closing, `step` = the number; forensics/assemble/ends/closings.py says whether it counts: the steps of each printer must be as many, and nothing
may show trouble. A line of an evaluation or of an epoch counts something else, but for one that says that the whole is over and nothing else but how much that was, of more than
one epoch: the first is done in the same words. Such lines make events wherever they stand, as those before the last tell that it is no end; of what else a line tells beside a count of steps does not matter.

Printed by: training scripts.
Versions: any.
Source: this project's own samples.
"""

from typing import Any

import polars as pl

from parsers.schema.event_kinds import CLOSING
from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, table
from parsers.text import vocabulary
from parsers.text.patterns import regex

_LIMIT = r"(?:max(?:imum)?|total|limit|target|of|last|final|num|n)(?:_?(?:steps|iters|iterations|updates))?"
_TWICE = regex(r"(?i)(?<![\w./:-])(?P<done>\d{1,15}) {0,2}(?:/|of|out of) {0,2}(?P<total>\d{1,15})(?![\w/]|[.:-]\d)")
_NAMED = regex(rf"(?i)(?<![a-z]){_LIMIT}[\"']?[ =:]{{1,3}}(\d{{1,15}})(?![\w/]|[.:-]\d)")
_NUMBER = regex(r"(?<![\w./:-])\d{1,15}(?![\w/]|[.:-]\d)")
_OTHERS = regex(
    r"(?i)\b(?:ep(?:och)?s?|eval\w*|val\w*|test|warm-?up|sampl\w*|shards?|files?|ranks?|nodes?|workers?|retr\w+|attempts?|tr(?:y|ies))\b"
    r"|%\||\b(?:it/s|s/it)\b"  # nor is a bar a word
)
_UNIT = r"(?:(?:training|train|optimi[sz]er|global)[ _]?)?(?:steps?|iters?|iterations?|updates?)"
_OF_STEPS = regex(rf"(?i)\s{{0,2}}{_UNIT}\b")
_OF_PART = regex(r"(?i)\b(?:ep(?:och)?s?|eval\w*|val\w*|test|warm-?up|sampl\w*)\b|%\||\b(?:it/s|s/it)\b")
_AT = regex(
    r"(?i)(?<![a-z])(?:global_|train_)?(?:step|iter|iteration|update)[\"']?[ =:#]{1,3}(\d{1,15})(?![\w/]|[.:-]\d)"
)
_REACHED = regex(
    rf"(?i)(?<![a-z])(?:max(?:imum)?|total|target|last|final|num)[ _-]?(?:of[ _])?{_UNIT}(?![a-z])|(?<![a-z]){_UNIT} limit\b|\blimit of (?:the )?{_UNIT}\b"
)  # told without its number, beside that of the step
_DENIED = regex(r"(?i)\b(?:not|no|never|before|until|un)\b|n't\b")
_LETTERS = regex(r"[A-Za-z]+")
# What ends behind all that stands before a line's own words.
_BEFORE = regex(r"(?:^|[\]:|>)}\"'-]|\b[A-Z]{3,8})[^A-Za-z]{0,60}$")
_OVER = frozenset(("done", "finished", "complete", "completed", "ended", "end", "over", "trained"))
_WHOLE = frozenset(
    ["all", "the", "of", "on", "is", "has", "my", "our", "train", "training", "trainer", "run", "job", "fit", "program", "script", "successfully", "normally", "cleanly"]
)  # fmt: skip
_MUCH = frozenset(
    ["in", "after", "for", "at", "with", "and", "total", "took", "elapsed", "wall", "clock", "time", "s", "sec", "secs", "seconds", "m", "min", "mins", "minutes", "h", "hour",
     "hours", "ms", "epoch", "epochs", "step", "steps", "iter", "iters", "iteration", "iterations", "update", "updates", "optimizer", "optimiser", "global"]
)  # fmt: skip
_MANY = regex(
    r"(?i)(?<![\w.:/-])(\d{1,15})[ _]{1,2}(?:(?:train(?:ing)?|optimi[sz]er|global)[ _])?(?:step|iter|iteration|update)s?\b|(?:step|iter|iteration|update)s\W{1,3}(\d{1,15})(?![\w/]|[.:-]\d)"
)
_OF = regex(r"(\d{1,15}) {0,4}(?:/|of) {0,4}(\d{1,15})")
_NTH = regex(r"(?i)\b(?:epoch|step|iter|iteration|update)[ :=#]{1,3}\d")
_EPOCHS = regex(r"(?i)(?<![\w.:/-])(\d{1,9})[ _]epochs\b|\bepochs\W{1,3}(\d{1,9})(?![\w/]|[.:-]\d)")
_STEPS = 2  # fewer are no training
_SEVERAL = 2  # epochs; of how many it is an end, forensics/assemble/ends/closings.py says


def parse(lines: pl.DataFrame) -> Tables:
    """events job_end."""
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    own, hits = [], lines.filter("hit").sort("file", "line")
    for row in hits.iter_rows(named=True):
        whose = (row["file"], row["rank"], row["local_rank"], row["task"])
        if (before := last.get(whose)) is not None and _of_whole(before["text"][:LINE_CHARACTERS]) is not None:
            own.append(before)
        last[whose] = row
    events = []
    for row in (*own, *last.values()):
        if (count := _count(row["text"][:LINE_CHARACTERS])) is not None:
            events.append(event(row, "job_end", severity="info", code=CLOSING, step=count))
    return {"events": table("events", events)}


def _count(text: str) -> int | None:
    """The one number that a line says is the whole of what was to be done, and was done."""
    if (many := _of_whole(text)) is not None:
        return many
    if _OF_PART.search(text) or vocabulary.is_of_evaluation(text[:120]):
        return None
    whole = [one for one in _TWICE.finditer(text) if int(one["done"]) == int(one["total"])]
    found = {int(one["total"]) for one in whole if _OF_STEPS.match(text, one.end())}
    is_of_others = not found and _OTHERS.search(text) is not None
    found = found or ({int(one["total"]) for one in whole} if not is_of_others else set())
    if not found and _REACHED.search(text) and not _DENIED.search(text):
        found = {int(one[1]) for one in _AT.finditer(text)}
    if not found and not is_of_others:
        limits = {int(one[1]) for one in _NAMED.finditer(text)}
        numbers = [int(one[0]) for one in _NUMBER.finditer(text)]
        found = {one for one in limits if numbers.count(one) > 1}
    return count if len(found) == 1 and (count := found.pop()) >= _STEPS else None


def _of_whole(text: str) -> int | None:
    """How many steps a line tells that says in all of its words that the whole is over, and how much that was."""
    words = [*_LETTERS.finditer(text)]
    at = next((at for at, word in enumerate(words) if word[0].lower() in _OVER), None)
    if at is None or not {word[0].lower() for word in words[at:]} <= _OVER | _WHOLE | _MUCH:
        return None
    first = at
    while first and words[first - 1][0].lower() in _WHOLE and not _BEFORE.search(text[: words[first].start()]):
        first -= 1
    rest = text[words[at].end() :]
    if not _BEFORE.search(text[: words[first].start()]) or _NTH.search(rest):
        return None
    if any(int(one[1]) != int(one[2]) for one in _OF.finditer(rest)):
        return None  # a part of them
    epochs = {int(one[1] or one[2]) for one in _EPOCHS.finditer(text, words[first].start())}
    if len(epochs) != 1 or epochs.pop() < _SEVERAL:
        return None
    counts = {int(one[1] or one[2]) for one in _MANY.finditer(rest)}
    return count if len(counts) == 1 and (count := counts.pop()) >= _STEPS else None


def _ends(last: bytes) -> bool:
    line = last.rstrip().rpartition(b"\n")[2]
    return _count(line[-LINE_CHARACTERS:].decode("utf-8", "replace")) is not None


PARSER = LineParser(
    name="last_counts",
    anchors=(b"epochs", b"Epochs", b"EPOCHS"),
    holds=regex(rb"(?i)(?<![a-z])(?:done|finished|complete|completed|ended|end|over|trained)(?![a-z])"),
    parse=parse,
    ends=_ends,
)
