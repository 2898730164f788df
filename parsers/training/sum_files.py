"""Sums of the parts of a state, as sha256sum and its kin write them, a file for each step and rank, or one for all: only names and paths say of what.

    9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  enc.weight                sums/rank_3/step_000040.sha256
    crc32 5d41402a layers.1.bias                                                               crc/step40_rank3.txt

    5d41402abc4b2a76b9719d911017c592  dumps/step_000040/params_rank3.npy                       md5sums.txt

The step stands in the path, the rank in the path or in what the file's names were learnt to mean; or both in the names of what was summed. A file without a step is no row.

Printed by: sha256sum, md5sum, cksum with `--tag` left away; training scripts.
Versions: coreutils 8 and 9.
Source: the manual of coreutils, "md5sum invocation".
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from parsers.forms.reading import text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex
from parsers.text.step_marks import IN_PATH, RANK_IN_PATH

_LINE = regex(
    r"(?:[a-z][a-z0-9]{2,9} )?(?:0x)?(?P<sum>(?=[0-9a-f]*\d)(?=\S{8})[0-9a-f]{8,128}) [ *]?(?P<name>[^\s=]{1,200})"
)
_FIRST = 8


def accepts(path: str, head: bytes) -> bool:
    """By its first lines, each a sum and a name, and a step in its path or in each name."""
    text = head[:8192].decode("utf-8", "replace")
    lines = [line for line in islice(text.split("\n"), _FIRST) if line.strip()][: _FIRST - 1]
    told = [_LINE.fullmatch(line.rstrip()) for line in lines]
    is_of_step = IN_PATH.search(path) is not None
    return bool(told) and all(one is not None and (is_of_step or _apart(one["name"]) is not None) for one in told)


def parse(source: Source) -> Tables:
    """steps: a row for each line, `checksum` = name=sum."""
    found = IN_PATH.search(source.path)
    return {"steps": table("steps", list(_rows(source, int(found["step"]) if found else None)))}


def _apart(name: str) -> tuple[int, int, str] | None:
    """(step, rank, the name without either) of a path that tells both."""
    step, rank = IN_PATH.search(name), RANK_IN_PATH.search(name)
    if step is None or rank is None:
        return None
    return int(step["step"]), int(rank["rank"]), RANK_IN_PATH.sub("/#", IN_PATH.sub("/#", name))


def _rows(source: Source, step: int | None) -> Iterator[dict[str, Any]]:
    who: dict[str, Any] = {"rank": source.rank, "local_rank": source.local_rank, "file": source.path}
    common = who | {"step": step, "phase": "train"}
    for number, text in text_lines(source):
        if (said := _LINE.fullmatch(text.rstrip())) is not None:
            own = _apart(said["name"]) if step is None else None
            if step is not None:
                yield common | {"line": number, "checksum": f"{said['name']}={said['sum']}"}
            elif own is not None:
                place = {"step": own[0], "rank": own[1], "local_rank": None, "line": number}
                yield common | place | {"checksum": f"{own[2]}={said['sum']}"}


PARSER = FileParser(name="sum_files", accepts=accepts, parse=parse)
