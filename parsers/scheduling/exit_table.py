"""A table of how processes ended, in any form of parsers/forms/framings.py: what a launcher's wrapper, a supervisor or a person wrote.

Columns: an exit code (`exit_code`, `returncode`, …) or a signal, and who it was: `rank`, `host`, `pid`, `local_rank`, `pod`.

    rank,host,pid,exit_code
    3,n1,4711,-9
    | rank | host | returncode |
    rank=3 host=n1 exit_code=137
    Seq⇥Host⇥…⇥Exitval⇥Signal⇥Command⏎1⇥:⇥…⇥0⇥9⇥RANK=3 python a.py          (GNU parallel's --joblog)

Printed by: scripts around a job.
Versions: 1 of this table.
Source: this project's own definition of the format; the names are those of subprocess, multiprocessing and Kubernetes.
"""

from typing import Any

from parsers.forms import framings
from parsers.scheduling.exit_rows import exit_row, tells_exits
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables


def accepts(path: str, head: bytes) -> bool:
    """By its names, and an end in its first record: an agent's report of failures, which has more in a cell, is another's."""
    return tells_exits(framings.names(path, head)) and exit_row(framings.first(path, head), "") is not None


def parse(source: Source) -> Tables:
    """events exit, a row per process; `unread` for rows that name nobody, or no end."""

    def made(said: dict[str, Any], text: str) -> list[dict[str, Any]]:
        row = exit_row(said, text, source.labels.names.of_command)
        if row is not None and row["rank"] is None and source.rank is not None:
            row |= {"rank": source.rank, "rank_space": "global"}
        return [] if row is None else [row]

    return framings.read_table(source, "events", made, "no end of a process")


PARSER = FileParser(name="exit_table", accepts=accepts, parse=parse)
