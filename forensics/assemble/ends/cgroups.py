"""Whose memory ran out, where the kernel names a control group: the pod or the container that a file of the job is called after.

    task_memcg=/kubepods.slice/…-pod2e9c82b1_478c_481d_a87c_966c377b9aa2.slice/…     a pod's uid, with other marks between its parts
    task_memcg=/docker/4f0c…64 digits…9a                                             a container's id, of which a table may show the first 12
    /var/log/pods/NAMESPACE_POD_2e9c82b1-478c-481d-a87c-966c377b9aa2/main/0.log      a path with the same
    {"metadata": {"uid": "2e9c82b1-478c-481d-a87c-966c377b9aa2"}, "env": {"RANK": "3"}}      a document that tells whose it is

An id is told of a rank if all files below it, or lines in them, speak for that rank alone, and documents of no other. Where several run in it, it is the
one of them that somebody saw killed, or gone without a word, not before the kernel says so, and that is nobody where another of them failed by itself or lost a process that it had started:
then that one's may be what the kernel ended, and who was killed was killed for it. What else the kernel says of the same process in that file is about it, too.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Set

import polars as pl

from forensics.assemble.who.identity import with_ranks
from forensics.model.signals import VANISHED, signal_of
from parsers.schema.tables import TableName, Tables
from parsers.text.patterns import regex
from parsers.who.linked.chains import OF_PLACE

_UUID = regex(
    r"(?:(?<=pod)|(?<![0-9a-f]))([0-9a-f]{8})[-_]?([0-9a-f]{4})[-_]?([0-9a-f]{4})[-_]?([0-9a-f]{4})[-_]?([0-9a-f]{12})(?![0-9a-f])",
    re.I,
)
_ID = regex(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", re.I)
_SHORT = 12  # of an id: as many digits lists of containers show
_IS_SHORT = regex(r"(?i)[0-9a-f]{12}")
_CGROUP = "memcg"
_CHILD = regex(r"(?i)\b(?:worker|child|subprocess)(?:es|s)?\b")
_CLOSED = ("SIGTERM", "SIGKILL", "SIGINT")  # signals by which a launcher ends those that are left
_CLOCKS_NS = 2 * 10**9


def with_ranks_of_cgroups(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same, with the rank of `host_oom` whose control group is that of a rank's files."""
    events = tables["events"]
    nameless = (pl.col("kind") == "host_oom") & pl.col("rank").is_null() & pl.col("pid").is_not_null()
    told = events.filter(nameless & pl.col("detail").fill_null("").str.contains(_CGROUP, literal=True))
    if not told.height:
        return dict(tables)
    ranks = _ranks_of_ids(tables)
    found: dict[tuple[str, int], set[int]] = defaultdict(set)
    at: dict[tuple[str, int], tuple[str, int]] = {}
    for file, pid, detail, basis, time_ns in told.select("file", "pid", "detail", "time_basis", "time_ns").iter_rows():
        if basis is not None and time_ns is not None:
            at[file, pid] = (basis, time_ns)
        found[file, pid] |= {rank for one in _ids(detail) for rank in ranks.get(one, ranks.get(one[:_SHORT], ()))}
    found = {key: said if len(said) == 1 else _killed(events, said, at.get(key)) for key, said in found.items()}
    own = [(file, pid, min(said)) for (file, pid), said in found.items() if len(said) == 1]
    made = pl.DataFrame(own, schema={"file": pl.String, "pid": pl.Int64, "_rank": pl.Int64}, orient="row")
    keys = made.with_columns(pl.col("file").cast(events.schema["file"]), pl.col("pid").cast(events.schema["pid"]))
    return {**tables, "events": with_ranks(events, keys, ["file", "pid"], nameless)}


def _killed(events: pl.DataFrame, members: Set[int], at: tuple[str, int] | None) -> set[int]:
    """Those of a pod that a launcher saw killed by SIGKILL, or gone without a word, and not before the kernel's word; none where another failed by itself."""
    is_theirs = pl.col("rank").is_in(list(members)) & (pl.col("rank_space") == "global")
    own = events.filter(is_theirs.fill_null(False) & pl.col("kind").is_in(["exit", "first_failure", "exception"]))
    killed, failed = set(), set()
    columns = ("kind", "rank", "code", "text", "time_basis", "time_ns")
    for kind, rank, code, text, basis, time_ns in own.select(columns).iter_rows():
        if kind == "exception":
            failed |= {rank} if _CHILD.search(text or "") else set()
        elif code is not None and (code in VANISHED or signal_of(code) == "SIGKILL"):
            is_before = at is not None and basis == at[0] and time_ns is not None and time_ns + _CLOCKS_NS < at[1]
            killed |= set() if is_before else {rank}
        elif code not in (None, "0") and signal_of(code) not in _CLOSED:
            failed.add(rank)
    return set() if failed - killed else killed


def _ids(text: str) -> Iterator[str]:
    for found in _UUID.finditer(text):
        yield "".join(found.groups()).lower()
    for found in _ID.finditer(text):
        yield found[0].lower()


def _ranks_of_ids(tables: Tables) -> dict[str, set[int]]:
    """Id → the ranks that speak below a path with it, or are called so."""
    parts = [tables[name].filter(pl.col("rank").is_not_null()).select("file", "rank") for name in ("files", "ranks")]
    rows = pl.concat([part.cast({"file": pl.String, "rank": pl.Int64}) for part in parts]).unique()
    found: defaultdict[str, set[int]] = defaultdict(set)
    for file, rank in rows.iter_rows():
        for one in set(_ids(file)):
            found[one].add(rank)
    for name, rank in tables["ranks"].select("name", "rank").drop_nulls().unique().iter_rows():
        for one in {*_ids(name), *([name.lower()] if _IS_SHORT.fullmatch(name) else ())}:
            found[one].add(rank)
    at_place = pl.col("how") == OF_PLACE
    hosts = tables["ranks"].filter(pl.col("rank").is_not_null()).select("host", "rank").drop_nulls().unique()
    ids = tables["ranks"].filter(at_place).select("host", "name").drop_nulls().unique()
    for name, rank in ids.join(hosts, on="host").select("name", "rank").iter_rows():
        for one in _ids(name):
            found[one].add(rank)
    return found
