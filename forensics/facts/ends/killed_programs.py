"""Was a process of another program of the job killed, before ranks failed?

Engines, servers and stores have no rank. Where one says on which host it runs and by which number, and the kernel of that host
killed it, ranks that raise an exception afterwards may have met what it left: an empty answer, a missing file. Whose failure
that was, neither their words nor their code tell; so they are not taken for the origin. What proves itself (memory, a device,
a signal) stands.

A container numbers its processes otherwise than its kernel: there the host decides, if no rank runs on it.
"""

from collections.abc import Iterable, Mapping

import polars as pl
from msgspec.structs import replace

from forensics.facts.ends.process_ends import ProcessEnd
from forensics.facts.hosts.hardware import Record
from forensics.facts.rows.error_words import may_be_rank
from forensics.facts.rows.event_rows import detail
from forensics.model.hosts import short_host
from forensics.model.told import values
from parsers.schema.event_kinds import NO_RANK

_SOON_NS = 3600 * 10**9  # until a request is given up


def killed_programs(records: Iterable[Record], ranks: pl.DataFrame, identity: pl.DataFrame) -> tuple[Record, ...]:
    """Records of hardware; table `ranks`; processes with ranks → kernels' kills for memory of processes of no rank that said where they
    run, by place."""
    told = ranks.filter(pl.col("how") == NO_RANK).drop_nulls(["host", "pid"])
    places = {(short_host(host), pid) for host, pid in told.select("host", "pid").iter_rows()}
    hosts = {host for host, _ in places}
    with_ranks = values(identity["host"]) if identity.height else set()
    return tuple(
        one
        for one in records
        if one.kind == "host_oom" and one.row["severity"] == "fatal" and one.rank is None and one.counts
        and ((one.host, one.row["pid"]) in places
             or (one.host in hosts and one.host not in with_ranks and may_be_rank(detail(one.row).get("task"))))
    )  # fmt: skip


def after_kills(ends: Mapping[int, ProcessEnd], killed: Iterable[Record], files: pl.DataFrame) -> dict[int, ProcessEnd]:
    """Ends by rank; such kills; table `files` → the same; exceptions soon after a kill, by stamps as printed, followed something. A
    traceback without a stamp was printed by when its file ends."""
    kills = [one.row["time_ns"] for one in killed if one.row["time_ns"] is not None]
    last = dict(files.select("file", "time_last_ns").iter_rows())

    def follows(end: ProcessEnd) -> bool:
        when = end.time_ns if end.time_ns is not None else last.get(end.refs[0].file) if end.refs else None
        is_raised = end.how == "died" and end.cause == "exception" and when is not None
        return is_raised and any(0 <= when - kill <= _SOON_NS for kill in kills)

    return {rank: replace(end, how="followed", cause=None) if follows(end) else end for rank, end in ends.items()}
