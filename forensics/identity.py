"""Who is who: rank ↔ host ↔ pid ↔ local rank ↔ device ↔ coordinates, and how each was learnt.

Claims of the `ranks` table are put to a vote per rank and column; then rows of other tables that lack a global rank get
it where exactly one rank fits (by host and pid, by a per-rank file, by local rank on a single host).
"""

from collections.abc import Mapping

import polars as pl

from parsers.tables import TableName

COLUMNS = ("host", "pid", "local_rank", "device_index", "pci", "uuid", "world_size", "tp", "pp", "dp", "ep", "cp")
SCHEMA = {
    "rank": pl.Int64(),
    "host": pl.String(),
    "pid": pl.Int64(),
    "local_rank": pl.Int64(),
    "device_index": pl.Int64(),
    "pci": pl.String(),
    "uuid": pl.String(),
    "world_size": pl.Int64(),
    "tp": pl.Int64(),
    "pp": pl.Int64(),
    "dp": pl.Int64(),
    "ep": pl.Int64(),
    "cp": pl.Int64(),
    "how": pl.List(pl.String()),
}
_SPEAKING: tuple[TableName, ...] = ("ranks", "steps", "stacks", "settings")
_RANKED: tuple[TableName, ...] = (
    "operations",
    "progress",
    "stacks",
    "tensors",
    "steps",
    "events",
    "settings",
    "devices",
    "timings",
)


def short_host(host: str) -> str:
    """The first label alone counts as the same host; addresses are kept whole."""
    return host if host.replace(".", "").isdigit() or ":" in host else host.split(".", 1)[0]


def identify(tables: Mapping[TableName, pl.DataFrame]) -> pl.DataFrame:
    """Claims → one row per rank, schema SCHEMA. Each value is the one most claims agree on; of equals, the smallest."""
    claims = tables["ranks"].filter(pl.col("rank").is_not_null())
    if not claims.height:
        return pl.DataFrame(schema=SCHEMA)
    claims = claims.with_columns(
        pl.col("host").map_elements(short_host, return_dtype=pl.String), pl.col("pci").str.to_lowercase()
    )
    result = claims.group_by("rank").agg(pl.col("how").drop_nulls().unique().sort()).sort("rank")
    for column in COLUMNS:
        votes = (
            claims.filter(pl.col(column).is_not_null())
            .group_by("rank", column)
            .len()
            .sort("rank", "len", column, descending=[False, True, False])
            .unique("rank", keep="first", maintain_order=True)
        )
        result = result.join(votes.select("rank", column), on="rank", how="left")
    return result.select(SCHEMA.keys()).sort("rank")


def _rank_of_file(tables: Mapping[TableName, pl.DataFrame]) -> pl.DataFrame:
    """file → rank, for files whose lines all speak for one rank and whose path says that they are one process's."""
    parts = [tables[name].filter(pl.col("rank").is_not_null()).select("file", "rank").unique() for name in _SPEAKING]
    parts.append(
        tables["events"]
        .filter(pl.col("rank").is_not_null() & (pl.col("rank_space") == "global"))
        .select("file", "rank")
        .unique()
    )
    single = (
        pl.concat(parts).unique().group_by("file").agg(pl.col("rank").unique()).filter(pl.col("rank").list.len() == 1)
    )
    own = tables["files"].filter(pl.col("local_rank").is_not_null() | pl.col("rank").is_not_null())
    return single.join(own.select("file"), on="file", how="semi").select(
        "file", pl.col("rank").list.first().alias("_file")
    )


def _unique_map(frame: pl.DataFrame, keys: list[str], name: str) -> pl.DataFrame:
    known = frame.drop_nulls([*keys, "rank"]).select(*keys, "rank").unique()
    counted = known.group_by(keys).agg(pl.col("rank").unique())
    return counted.filter(pl.col("rank").list.len() == 1).select(*keys, pl.col("rank").list.first().alias(name))


def globalise(tables: Mapping[TableName, pl.DataFrame], identity: pl.DataFrame) -> dict[TableName, pl.DataFrame]:
    """Fill null ranks (and group-local ranks of events) where exactly one global rank fits. Returns new tables."""
    by_file = _rank_of_file(tables)
    claims = tables["ranks"].with_columns(pl.col("host").map_elements(short_host, return_dtype=pl.String))
    by_host_pid = _unique_map(claims, ["host", "pid"], "_host_pid")
    by_pid = _unique_map(claims, ["pid"], "_pid")
    hosts = identity["host"].drop_nulls().n_unique()
    by_local = _unique_map(claims, ["local_rank"], "_local") if hosts <= 1 else None
    result = dict(tables)
    for name in _RANKED:
        frame = tables[name]
        if not frame.height or "rank" not in frame.columns:
            continue
        fills = []
        if name == "events":  # a number printed by a process group is not a global rank
            space = pl.col("rank_space")
            frame = frame.with_columns(pl.when(space.is_null() | (space == "global")).then("rank").alias("_own"))
        else:
            frame = frame.with_columns(pl.col("rank").alias("_own"))
        frame = frame.join(by_file, on="file", how="left", maintain_order="left")
        fills.append("_file")
        if {"host", "pid"} <= set(frame.columns):
            frame = frame.with_columns(pl.col("host").map_elements(short_host, return_dtype=pl.String))
            frame = frame.join(by_host_pid, on=["host", "pid"], how="left", maintain_order="left")
            frame = frame.join(by_pid, on="pid", how="left", maintain_order="left")
            fills += ["_host_pid", "_pid"]
        if by_local is not None and "local_rank" in frame.columns:
            frame = frame.join(by_local, on="local_rank", how="left", maintain_order="left")
            fills.append("_local")
        rank = pl.coalesce("_own", *fills)
        if name == "events":
            frame = frame.with_columns(
                pl.when(rank.is_not_null()).then(pl.lit("global")).otherwise("rank_space").alias("rank_space"),
                pl.coalesce(rank, "rank").alias("rank"),
            )
        else:
            frame = frame.with_columns(rank.alias("rank"))
        result[name] = frame.drop("_own", *fills)
    return result


def expected_ranks(
    tables: Mapping[TableName, pl.DataFrame], identity: pl.DataFrame, given: int | None
) -> frozenset[int]:
    """Ranks the job should have: what the user says, else the world size most ranks claim, else the members of global
    groups and failure tables. Empty = unknown."""
    if given:
        return frozenset(range(given))
    sizes = identity["world_size"].drop_nulls()
    if len(sizes):
        return frozenset(range(max(sizes.mode().to_list())))
    world = tables["groups"].filter((pl.col("members_space") == "global") & (pl.col("desc") == "default_pg"))
    if world.height:
        return frozenset(world["members"].explode().drop_nulls().to_list())
    members = tables["groups"].filter(pl.col("members_space") == "global")["members"].explode().drop_nulls()
    listed = tables["ranks"].filter(pl.col("how") == "elastic failure table")["rank"].drop_nulls()
    named = set(members.to_list()) | set(listed.to_list())
    return frozenset(range(max(named) + 1)) if named else frozenset()


def seen_ranks(tables: Mapping[TableName, pl.DataFrame]) -> frozenset[int]:
    """Ranks with a record of their own: a dump, a stack, statistics, or lines that they printed."""
    seen: set[int] = set()
    for name in ("operations", "progress", "stacks", "tensors", "steps", "groups"):
        seen |= set(tables[name]["rank"].drop_nulls().to_list())
    own = tables["events"].filter(
        (pl.col("rank_space") == "global") & ~pl.col("kind").is_in(["exit", "first_failure", "closing_signal"])
    )
    seen |= set(own["rank"].drop_nulls().to_list())
    claims = tables["ranks"].filter(pl.col("how") != "elastic failure table")
    return frozenset(seen | set(claims["rank"].drop_nulls().to_list()))
