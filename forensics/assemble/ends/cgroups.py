"""Whose memory ran out, where the kernel names a control group: the pod or the container that a file of the job is called after.

    task_memcg=/kubepods.slice/…-pod2e9c82b1_478c_481d_a87c_966c377b9aa2.slice/…     a pod's uid, with other marks between its parts
    task_memcg=/docker/4f0c…64 digits…9a                                             a container's id, of which a table may show the first 12
    /var/log/pods/NAMESPACE_POD_2e9c82b1-478c-481d-a87c-966c377b9aa2/main/0.log      a path with the same
    {"metadata": {"uid": "2e9c82b1-478c-481d-a87c-966c377b9aa2"}, "env": {"RANK": "3"}}      a document that tells whose it is

An id is told of a rank if all files below it, or lines in them, speak for that rank alone, and documents of no other. What else the kernel says of the same
process in that file is about it, too.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import polars as pl

from forensics.assemble.who.identity import given_rank
from parsers.schema.tables import TableName
from parsers.text.patterns import regex

_UUID = regex(
    r"(?:(?<=pod)|(?<![0-9a-f]))([0-9a-f]{8})[-_]?([0-9a-f]{4})[-_]?([0-9a-f]{4})[-_]?([0-9a-f]{4})[-_]?([0-9a-f]{12})(?![0-9a-f])",
    re.I,
)
_ID = regex(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", re.I)
_SHORT = 12  # of an id: as many digits lists of containers show
_IS_SHORT = regex(r"(?i)[0-9a-f]{12}")
_CGROUP = "memcg"


def with_ranks_of_cgroups(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same, with the rank of `host_oom` whose control group is that of a rank's files."""
    events = tables["events"]
    nameless = (pl.col("kind") == "host_oom") & pl.col("rank").is_null() & pl.col("pid").is_not_null()
    told = events.filter(nameless & pl.col("detail").fill_null("").str.contains(_CGROUP, literal=True))
    if not told.height:
        return dict(tables)
    ranks = _ranks_of_ids(tables)
    found: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for file, pid, detail in told.select("file", "pid", "detail").iter_rows():
        found[file, pid] |= {rank for one in _ids(detail) for rank in ranks.get(one, ranks.get(one[:_SHORT], ()))}
    own = [(file, pid, min(said)) for (file, pid), said in found.items() if len(said) == 1]
    made = pl.DataFrame(own, schema={"file": pl.String, "pid": pl.Int64, "_rank": pl.Int64}, orient="row")
    keys = made.with_columns(pl.col("file").cast(events.schema["file"]), pl.col("pid").cast(events.schema["pid"]))
    joined = events.join(keys, on=["file", "pid"], how="left", maintain_order="left")
    is_its = nameless & pl.col("_rank").is_not_null()
    filled = joined.with_columns(given_rank(pl.when(is_its).then("_rank")))
    return {**tables, "events": filled.select(events.columns).cast(events.schema)}


def _ids(text: str) -> Iterator[str]:
    for found in _UUID.finditer(text):
        yield "".join(found.groups()).lower()
    for found in _ID.finditer(text):
        yield found[0].lower()


def _ranks_of_ids(tables: Mapping[TableName, pl.DataFrame]) -> dict[str, set[int]]:
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
    return found
