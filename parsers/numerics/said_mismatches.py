"""A check of replicas, or a tool that compares two runs, says in a sentence whose digests or values are not those of the others.

    consistency check at step 120: parameters of rank 5 differ from those of the other 7 ranks
    [sdc] step 120: param digests: 7 of 8 equal, odd one out: rank 5
    [rank 5] step 124: checksum mismatch for layers.3.weight: expected 0x9f3a11c2 got 0x1b2c33d4
    {"step": 120, "check": "param_digest", "equal": false, "odd_ranks": [5]}
    first difference, in order of the backward:
       step 2088, rank 6, gradient of blocks.4.attn.proj.weight

One sentence, or a line below it, tells the step, that something differs, of what replicas hold it is, and one rank, or the process that prints it. Sizes, settings, data and files
are none of that, nor is what says that nothing differs. Events `replica_mismatch`: code differs with names_ranks; of two ranks that differ from each other code unclear, which names nobody.

Printed by: checks in training programs, tools that compare runs.
Versions: none.
Source: as users write them.
"""

import json
from typing import Any

import polars as pl

from parsers.schema.lines import event, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS

_DIFFERS = regex(
    r"(?i)(?<![a-z])(?:mismatch(?:es|ed)?|differ(?:s|ent|ence|ences|ing)?|diverge[ds]?|divergence|(?:not|un) ?equal|odd(?:_ranks?|[ _]one(?:s)?(?:[ _]out)?)|disagrees?|deviates?|inconsistent|(?:check|comparison) failed)(?![a-z])|\"equal\": ?false"
)
_NOT = regex(
    r"(?i)(?<![a-z\d])(?:no|not|0|zero|never|without|does not|do not|don't|doesn't) (?:differ\w*|mismatch\w*|diverge\w*|difference)|(?:mismatch\w*|differ\w*|odd_ranks?)\"? ?[=:] ?(?:0\b|none|no\b|false|\[\])|(?<![a-z])if\b|(?<!not )(?<![a-z])(?:are|is|all) (?:bitwise )?(?:equal|the same|identical|alike)(?![a-z])"
)
_HELD = regex(
    r"(?i)(?<![a-z])(?:crc\w*|checksums?|hash(?:es)?|digests?|sha\d*|md5|fingerprints?|param(?:eter)?s?(?:_\w+)?|weights?|grad(?:ient)?s?|replicas?|bit[- ]?wise|optimizer state)(?![a-z])"
)
_ELSE = regex(
    r"(?i)(?<![a-z])(?:shapes?|sizes?|dtypes?|configs?|settings?|arguments?|args|versions?|seeds?|batch(?:es)?|dat[ao]|tokens?|files?|shards?|checkpoints?|ckpt|downloads?|packets?|ecc|disk|restored?|loading|loaded|keys?|expected seq|collectives?|nan|losses)(?![a-z])"
)
_OPENS = regex(r"(?i)(?<![a-z])(?:first|earliest)(?![a-z])|:\s*$")  # what the next line goes on with
_STEP = regex(r"(?i)(?<![a-z])(?:step|iter(?:ation)?|update)\"?[ =:#_-]{1,4}(?P<step>\d{1,15})(?![\w.])")
_RANKS = regex(
    r"(?i)(?<![a-z])(?:odd_)?(?:global )?(?:ranks?|replicas?)\"?[ _#=:]{0,3}\[?(?P<ranks>\d{1,7}(?:, ?\d{1,7}){0,63})\]?(?![\w.]|\s?/)"
)
_PATH = regex(r"(?<![\w./])(?P<path>[A-Za-z_]\w*(?:\.\w+){1,20}?)(?:\.(?:weight|bias|grad|kernel|data))*(?![\w/]|\.\w)")


def parse(lines: pl.DataFrame) -> Tables:
    """events replica_mismatch."""
    found: list[dict[str, Any]] = []
    rows = lines.sort("file", "line").to_dicts()
    for at, row in enumerate(rows):
        text = row["text"][:LINE_CHARACTERS]
        above = (
            rows[at - 1]
            if at and rows[at - 1]["file"] == row["file"] and rows[at - 1]["line"] + 1 == row["line"]
            else None
        )
        if (
            _DIFFERS.search(text) is None
            and above is not None
            and _DIFFERS.search(above["text"][:LINE_CHARACTERS])
            and _OPENS.search(above["text"])
            and not _RANKS.search(above["text"])
        ):
            text = f"{above['text'][:LINE_CHARACTERS]} {text}"
        if (one := _said(text, reporter(row)["rank"])) is not None:
            found.append(event(row, "replica_mismatch", severity="error") | one)
    return {"events": table("events", found)}


def _said(text: str, speaker: int | None) -> dict[str, Any] | None:
    """step, ranks and code of a sentence; None where it tells no such thing."""
    step = _STEP.search(text)
    is_it = (
        step is not None
        and _DIFFERS.search(text)
        and _HELD.search(text)
        and not _NOT.search(text)
        and not _ELSE.search(text)
    )
    if step is None or not is_it:
        return None
    told = {int(number) for one in _RANKS.finditer(text) for number in one["ranks"].split(",")}
    ranks = sorted(told or ({speaker} if speaker is not None else ()))
    if not ranks or ranks[-1] >= RANKS:
        return None
    path = _PATH.search(_STEP.sub(" ", text))
    return {
        "code": "differs" if len(ranks) == 1 else "unclear",
        "step": int(step["step"]),
        "names_ranks": ranks,
        "names_rank_space": "global",
        "detail": json.dumps({"said": True} | ({"parameter": path["path"]} if path else {})),
    }


PARSER = LineParser(
    name="said_mismatches",
    anchors=(
        b"ismatch",
        b"iffer",
        b"iverge",
        b"odd_",
        b"odd one",
        b"equal",
        b"isagree",
        b"nconsistent",
        b"eviate",
        b"heck failed",
        b"omparison failed",
    ),
    parse=parse,
    after=1,
)
