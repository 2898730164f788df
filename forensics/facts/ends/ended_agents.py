"""Did whoever started the processes say that all of them ended well? Then they did, whoever has which rank.

Launchers: needs the log of each; as many processes set up a communicator in these logs as the largest has members. Slurm: each
of the job's steps completed with status 0, which srun gives if all its tasks did; a task may be a shell that hides how its
program ended, so this outweighs no word of a process that failed.
"""

import json

import polars as pl

from forensics.facts.rows.event_rows import Row
from forensics.facts.rows.places import OF_HOSTS
from parsers.schema.event_kinds import WORKERS
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_STEP = regex(r"\d{1,12}(?:[_+]\d{1,9})?\.\d{1,9}")  # 60118.0; neither the job nor its batch script


def ended_steps(events: pl.DataFrame) -> tuple[Row, ...]:
    """Events of one attempt → sacct's rows of the job's steps, if it has any and all completed with status 0."""
    said = events.filter((pl.col("kind") == "scheduler") & pl.col("detail").str.contains('"JobID"').fill_null(False))
    told = [(row, json.loads(row["detail"])) for row in said.sort("file", "line").iter_rows(named=True)]
    well = all(row["code"] == "completed" and about.get("ExitCode", "0:0") == "0:0" for row, about in told)
    steps = tuple(row for row, about in told if _STEP.fullmatch(str(about["JobID"])))
    return steps if well else ()


def ended_agents(tables: Tables, events: pl.DataFrame) -> tuple[Row, ...]:
    """Tables of one attempt → the lines in which launchers say so, one per log; none where any log of the job lacks it."""
    said = events.filter((pl.col("kind") == "job_end") & (pl.col("code") == WORKERS) & pl.col("rank").is_null())
    if not said.height:
        return ()
    said = said.sort("file", "line").unique("file", keep="last", maintain_order=True)
    spoken = {*events.filter(~pl.col("kind").is_in(OF_HOSTS))["file"], *tables["steps"]["file"]}
    started = events.filter(pl.col("kind") == "comm_init_start").drop_nulls("pid").select("host", "pid").n_unique()
    largest = tables["groups"]["size"].max()
    whole = isinstance(largest, int) and 0 < largest <= started
    return tuple(said.iter_rows(named=True)) if whole and spoken == {*said["file"]} else ()
