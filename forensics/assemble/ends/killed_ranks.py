"""Whose process did a kernel kill whose numbers are not those of the container that the process runs in?

Where a launcher tells both numbers of a process that it starts (`launched RANK=6 as pid 70 (on node: 193027)`), the second stands as a
name in `ranks`. A kernel's kill of that number is of the rank, if the number is of one rank alone, the rank is known to have ended by
SIGKILL, and no process of the job is known by it as its own.

Which rank's data loader worker did the kernel of its host kill for memory?

The rank says that a worker of its was killed, and by which pid it knew it; the kernel says which process it killed. By the
same pid, where no host contradicts, they speak of one. A container counts pids of its own: there the name that PyTorch
gives its workers tells, if the kernels killed one process of that name alone and, within a minute, one rank alone lost a
worker so.
"""

from collections.abc import Mapping

import polars as pl

from forensics.assemble.who.identity import given_rank
from forensics.model.signals import signal_of
from forensics.model.told import values
from parsers.schema.tables import TableName, Tables
from parsers.text.unanimous import unanimous

_NAME = '"pt_data_worker"'  # torch/utils/data/_utils/worker.py
_SOON_NS = 60 * 10**9
_ZONES_NS = 15 * 60 * 10**9  # clocks of two zones differ by quarters of an hour


def with_killed_ranks(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same; `events` host_oom of such a kill get the rank."""
    events, claims = tables["events"], tables["ranks"]
    kills = (pl.col("kind") == "host_oom") & pl.col("rank").is_null() & pl.col("pid").is_not_null()
    if not events.select(kills.any()).item():
        return dict(tables)
    numbers = claims.filter(pl.col("name").str.contains(r"^\d{4,10}$").fill_null(False)).select("name", "rank")
    own = values(claims["pid"])
    exits = events.filter(pl.col("kind").is_in(["exit", "first_failure"]) & (pl.col("rank_space") == "global"))
    killed = {rank for rank, code in exits.select("rank", "code").iter_rows() if signal_of(code) == "SIGKILL"}
    told: dict[str, int] = unanimous(numbers.drop_nulls().iter_rows())
    ranks = {int(name): rank for name, rank in told.items() if rank in killed and int(name) not in own}
    if not ranks:
        return dict(tables)
    rank = pl.when(kills).then(pl.col("pid").replace_strict(ranks, default=None, return_dtype=pl.Int64))
    return {**tables, "events": events.with_columns(given_rank(rank)).cast(events.schema)}


def with_killed_workers(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same; `events` host_oom of a kernel that killed a rank's worker get that rank."""
    events = tables["events"]
    is_rank = pl.col("rank").is_not_null() & (pl.col("rank_space") == "global")
    by_kill = pl.col("detail").str.contains("signal: Killed", literal=True)
    lost = events.filter((pl.col("code") == "dataloader_worker") & is_rank & by_kill)
    if not lost.height:
        return dict(tables)
    nameless = pl.col("rank").is_null() & pl.col("pid").is_not_null() & (pl.col("severity") == "fatal")
    kills = events.with_row_index("_at").filter((pl.col("kind") == "host_oom") & nameless)
    hosts = dict(tables["ranks"].drop_nulls(["rank", "host"]).select("rank", "host").iter_rows())
    found = _by_pid(kills, lost, hosts) or _by_name(kills, lost, frozenset(hosts.values()))
    if not found:
        return dict(tables)
    rank = pl.int_range(pl.len()).replace_strict(found, default=None, return_dtype=pl.Int64)
    return {**tables, "events": events.with_columns(given_rank(rank)).cast(events.schema)}


def _by_pid(kills: pl.DataFrame, lost: pl.DataFrame, hosts: Mapping[int, str]) -> dict[int, int]:
    """Place of a kill → the one rank that lost a worker of that pid."""
    ranks = {pid: set(rows["rank"]) for (pid,), rows in lost.partition_by("pid", as_dict=True).items()}
    found: dict[int, int] = {}
    for at, pid, host in kills.select("_at", "pid", "host").iter_rows():
        fitting = {rank for rank in ranks.get(pid, ()) if host is None or hosts.get(rank, host) == host}
        if len(fitting) == 1:
            found[at] = fitting.pop()
    return found


def _by_name(kills: pl.DataFrame, lost: pl.DataFrame, job_hosts: frozenset[str]) -> dict[int, int]:
    """The same of containers, whose kernels speak for hosts that no rank names."""
    named = kills.filter(pl.col("detail").str.contains(_NAME, literal=True))
    ranks, when, said = set(lost["rank"]), named["time_ns"].min(), lost["time_ns"].min()
    is_one = len(ranks) == 1 and named.select("host", "pid").n_unique() == 1
    if not is_one or not isinstance(when, int) or not isinstance(said, int) or job_hosts & set(named["host"]):
        return {}
    is_alike = set(named["time_basis"]) == set(lost["time_basis"])
    after = said - when if is_alike else (said - when) % _ZONES_NS
    return dict.fromkeys(named["_at"], ranks.pop()) if 0 <= after <= _SOON_NS else {}
