"""A check of replicas, or a tool that compares two runs, says in a sentence whose digests or values are not those of the others.

    consistency check at step 120: parameters of rank 5 differ from those of the other 7 ranks
    [sdc] step 120: param digests: 7 of 8 equal, odd one out: rank 5
    [rank 5] step 124: checksum mismatch for layers.3.weight: expected 0x9f3a11c2 got 0x1b2c33d4
    {"step": 120, "check": "param_digest", "equal": false, "odd_ranks": [5]}
    first difference, in order of the backward:
       step 2088, rank 6, gradient of blocks.4.attn.proj.weight

    replica check failed at step 120: parameters are not equal on all hosts: {'n0': '9f3a11c2', 'n1': '9f3a11c2', 'n2': '1b2c33d4'}

One sentence, or a line below it, tells the step, that something differs, of what replicas hold it is, and one rank, or the process that prints it where it says so of itself: in words,
or by two values, its own and the one it should have. Who prints that some differ has compared them. Sizes, settings, data and files
are none of that, nor is what says that nothing differs. Events `replica_mismatch`: code differs with names_ranks; of two ranks that differ from each other, of one and what it is compared
with, or of nobody told, code unclear, which names nobody; what each had, by name, is in `figures` of its `detail`.

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
_FROM = regex(
    r"(?i)\b(?:from|than|with|against|versus|vs|unlike)\.?\s(?:(?:that|those|the|of|one|ones|values?|hash|digests?|reference)\s){0,4}$"
)  # before whom somebody is compared with
_ITSELF = regex(
    r"(?i)(?<![a-z])(?:my|mine|own|itself|self|local(?:ly)?|this (?:rank|replica|process|worker|host|node)|(?:the )?(?:other|rest|peers|majority))(?![a-z])"
)
_SUM = regex(r"(?i)(?<![\w.-])(?:0x)?(?=[a-f]*\d)[0-9a-f]{8,128}(?![\w.-])")
_FIGURE = regex(
    r"(?i)['\"]?(?P<name>[a-z\d][\w.:-]{0,100})['\"]?(?:: |[=:]|=> ?)['\"]?(?P<value>(?:0x)?[0-9a-f]{8,128})(?![\w.-])"
)
_PAIR, _FEWEST = 2, 3
_PATH = regex(r"(?<![\w./])(?P<path>[A-Za-z_]\w*(?:\.\w+){1,20}?)(?:\.(?:weight|bias|grad|kernel|data))*(?![\w/]|\.\w)")


def parse(lines: pl.DataFrame) -> Tables:
    """events replica_mismatch."""
    found: list[dict[str, Any]] = []
    rows = lines.sort("file", "line").to_dicts()
    for at, row in enumerate(rows):
        text = row["text"][:LINE_CHARACTERS]
        above = rows[at - 1] if at else None
        is_next = above is not None and above["file"] == row["file"] and above["line"] + 1 == row["line"]
        before = above["text"] if above is not None and is_next else ""
        is_open = _OPENS.search(before) and not _RANKS.search(before) and _DIFFERS.search(before[:LINE_CHARACTERS])
        if _DIFFERS.search(text) is None and is_open:
            text = f"{before[:LINE_CHARACTERS]} {text}"
        if (one := _said(text, reporter(row)["rank"])) is not None:
            found.append(event(row, "replica_mismatch", severity="error") | one)
    return {"events": table("events", found)}


def _said(text: str, speaker: int | None) -> dict[str, Any] | None:
    """step, ranks and code of a sentence; None where it tells no such thing."""
    step = _STEP.search(text)
    if step is None or _NOT.search(text) or _ELSE.search(text) or not (_DIFFERS.search(text) and _HELD.search(text)):
        return None
    said = [(bool(_FROM.search(text[: one.start()])), one["ranks"]) for one in _RANKS.finditer(text)]
    told = {int(number) for _, numbers in said for number in numbers.split(",")}
    is_compared = bool(said) and all(is_from for is_from, _ in said)
    ranks = sorted(told | ({speaker} if speaker is not None and (is_compared or not told) else set()))
    if not ranks or ranks[-1] >= RANKS:
        return None
    sums = _SUM.findall(text)
    figures = {one["name"]: one["value"].lower() for one in _FIGURE.finditer(text)}
    is_its_own = bool(told) or (len(sums) == _PAIR and len(figures) <= _PAIR) or bool(_ITSELF.search(text))
    is_told = len(ranks) == 1 and not is_compared and is_its_own
    path = _PATH.search(_STEP.sub(" ", text))
    detail = {"said": True} | ({"parameter": path["path"]} if path else {})
    return {
        "code": "differs" if is_told else "unclear",
        "step": int(step["step"]),
        "names_ranks": ranks if is_told or told else [],
        "names_rank_space": "global",
        "detail": json.dumps(detail | ({"figures": figures} if len(figures) >= _FEWEST else {})),
    }


PARSER = LineParser(
    name="said_mismatches",
    anchors=(
        b"ismatch", b"iffer", b"iverge", b"odd_", b"odd one", b"equal", b"isagree", b"nconsistent", b"eviate",
        b"heck failed", b"omparison failed",
    ),
    parse=parse,
    after=1,
)  # fmt: skip
