"""That a script computes the ranks of its processes: then what a launcher counts, or prints before lines, is not the rank.

    export RANK=$((LOCAL * NNODES + NODE))          RANK="$(( OMPI_COMM_WORLD_RANK + 1 ))"          env RANK=$(($r*8+$g)) python train.py

A setting RANK with the expression, of scope script. What gives only another name (`RANK=$((SLURM_PROCID))`) is none. What an expression comes to is worked out by
parsers/who/scripts/formulas.py, where the bundle tells what stands in it.

Printed by: scripts in sh, bash, zsh (also as `set -x` shows them), Makefiles, entry points of containers.
Versions: arithmetic expansion of POSIX shells.
Source: POSIX.1-2024, Shell Command Language, 2.6.4.
"""

from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, table
from parsers.who.scripts.formulas import computed

NAME = "RANK"
_CHARACTERS = 1000


def parse(lines: pl.DataFrame) -> Tables:
    """settings RANK."""
    rows: list[dict[str, Any]] = []
    for row in lines.iter_rows(named=True):
        if (expression := computed(row["raw"][:_CHARACTERS])) is not None:
            place = {"file": row["file"], "line": row["line"], "host": row["host"] or row["path_host"]}
            rows.append(place | {"name": NAME, "value": expression, "scope": "script"})
    return {"settings": table("settings", rows)}


PARSER = LineParser(name="rank_formula", anchors=(b"RANK=$((", b'RANK="$(('), parse=parse)
