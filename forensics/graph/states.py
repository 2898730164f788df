"""Reconciliation: for each operation that is open somewhere, the state of every member.

States: `in` (recorded, and nothing earlier of this rank is open), `enqueued` (recorded, but an earlier operation of
this rank is open), `done`, `absent` (this rank's record shows that it never came), `unknown` (no record that tells).
Unknown is never absent.

What "completed" means depends on the backend: NCCL-like records say so in `state`; gloo leaves `state` at scheduled and
retires the entry. A retired NCCL entry that never completed timed out: it is open.
Sources: torch/csrc/distributed/c10d/FlightRecorder.hpp (schema 2.1 … 2.10); ProcessGroupGloo.cpp.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from parsers.tables import TableName

P2P_KINDS = ("send", "recv", "isend", "irecv")
# gloo records no send and recv: a gloo rank with nothing open may still wait in one.
UNRECORDED_P2P = ("gloo",)


@dataclass(frozen=True, slots=True)
class States:
    """`groups`: gid, group, desc, members (list[i64]), whole (bool: membership known completely), backend.
    `open`: the operations that hold a rank, one row per rank and operation of its first open launch:
        rank, op (operation id, text), gid, seq, is_p2p, kind, numel, dtype, peer_rank, code, timed, state,
        time_created_ns, frames, file, record.
    `members`: op, rank, state (see module), row per member of each operation in `open`.
    `recorded`: ranks whose dump was read. `partial`: ranks whose dump was cut (its end is missing).
    `counters`: rank, gid, enqueued, completed (collectives only).
    `wrapped`: (rank) of dumps whose ring lost entries and that hold no counters.
    `blind`: ranks held by a batch of sends and receives whose peers the record does not tell."""

    groups: pl.DataFrame
    open: pl.DataFrame
    members: pl.DataFrame
    recorded: frozenset[int]
    partial: frozenset[int]
    counters: pl.DataFrame
    wrapped: frozenset[int]
    blind: frozenset[int]


def _one_dump_per_rank(tables: Mapping[TableName, pl.DataFrame]) -> tuple[pl.DataFrame, frozenset[int]]:
    """(rank, file) of the dump to believe: whole before cut, then the latest, the longest, with frames, by name."""
    cut = tables["unread"].filter(pl.col("reason").str.starts_with("cut:")).select("file").unique()
    operations = (
        tables["operations"]
        .filter(pl.col("rank").is_not_null() & pl.col("record").is_not_null())
        .group_by("rank", "file")
        .agg(
            pl.col("time_created_ns").max().alias("latest"),
            pl.len().alias("length"),
            (pl.col("frames").list.len() > 0).any().alias("framed"),
        )
    )
    others = pl.concat(
        [
            tables[name].filter(pl.col("rank").is_not_null() & pl.col("record").is_not_null()).select("rank", "file")
            for name in ("progress", "groups")
        ]
    ).unique()
    files = others.join(operations.select("rank", "file"), on=["rank", "file"], how="full", coalesce=True).join(
        operations, on=["rank", "file"], how="left"
    )
    files = files.join(cut.with_columns(pl.lit(True).alias("cut")), on="file", how="left").with_columns(
        pl.col("cut").fill_null(False), pl.col("framed").fill_null(False), pl.col("length").fill_null(0)
    )
    chosen = files.sort(
        ["rank", "cut", "latest", "length", "framed", "file"],
        descending=[False, False, True, True, True, False],
        nulls_last=True,
    ).unique("rank", keep="first", maintain_order=True)
    partial = frozenset(chosen.filter("cut")["rank"].to_list())
    return chosen.select("rank", "file"), partial


def _groups(
    tables: Mapping[TableName, pl.DataFrame], dumps: pl.DataFrame, expected: frozenset[int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(groups, of) with `of`: rank, group, desc, gid. Groups are told apart by members first, then by name."""
    stated = (
        tables["groups"]
        .filter((pl.col("members_space") == "global") & pl.col("group").is_not_null() & pl.col("rank").is_not_null())
        .select("rank", "group", "desc", "members", "backend")
        .unique(["rank", "group", "desc"], keep="first", maintain_order=True)
    )
    used = pl.concat(
        [
            tables[name]
            .join(dumps, on=["rank", "file"], how="semi")
            .filter(pl.col("group").is_not_null())
            .select("rank", "group", "desc")
            for name in ("operations", "progress")
        ]
    ).unique()
    backends = (
        tables["operations"]
        .filter(pl.col("backend").is_not_null())
        .group_by("group", "desc")
        .agg(pl.col("backend").first())
    )
    by_members = stated.with_columns(pl.col("members").list.sort().cast(pl.List(pl.String)).list.join(",").alias("key"))
    loose = used.join(stated.select("rank", "group", "desc"), on=["rank", "group", "desc"], how="anti")
    # A name that only one known membership has stands for that membership on every rank.
    unambiguous = by_members.group_by("group", "desc").agg(pl.col("key").unique()).filter(pl.col("key").list.len() == 1)
    loose = loose.join(unambiguous.with_columns(pl.col("key").list.first()), on=["group", "desc"], how="left")
    loose = loose.with_columns(pl.col("key").fill_null("?"))
    of = pl.concat([by_members.select("rank", "group", "desc", "key"), loose.select("rank", "group", "desc", "key")])
    named = of.group_by("group", "desc", "key").agg(pl.col("rank").unique().sort().alias("users"))
    named = named.join(
        by_members.group_by("group", "desc", "key").agg(pl.col("members").first()),
        on=["group", "desc", "key"],
        how="left",
    )
    world = sorted(expected)
    is_world = (pl.col("desc") == "default_pg") if world else pl.lit(False)
    named = named.with_columns(
        pl.when(pl.col("members").is_null() & is_world)
        .then(pl.lit(world, dtype=pl.List(pl.Int64)))
        .otherwise("members")
        .alias("members")
    )
    groups = (
        named.with_columns(
            pl.col("members").is_not_null().alias("whole"), pl.coalesce("members", "users").alias("members")
        )
        .join(backends, on=["group", "desc"], how="left")
        .sort("group", "desc", "key", nulls_last=True)
        .with_row_index("gid")
        .with_columns(pl.col("gid").cast(pl.Int64))
    )
    of = of.join(groups.select("group", "desc", "key", "gid"), on=["group", "desc", "key"], nulls_equal=True)
    return groups.select("gid", "group", "desc", "members", "whole", "backend"), of.select(
        "rank", "group", "desc", "gid"
    )


def _numel(column: str) -> pl.Expr:
    """Number of elements of the first tensor in a JSON list of sizes ("[[2, 3], [4]]" → 6); null where not so."""
    first = pl.col(column).str.extract(r"^\[\[([0-9, ]*)\]", 1)
    return (
        pl.when(first.is_null())
        .then(None)
        .otherwise(first.str.extract_all(r"[0-9]+").list.eval(pl.element().cast(pl.Int64).product()).list.first())
    )


# Kinds whose members must bring equally many elements; gathers only in the form with one tensor on each side (the
# form with lists allows uneven ones).
_EQUAL_SIZES = ("all_reduce", "broadcast", "reduce")
_EQUAL_IF_FLAT = ("all_gather", "reduce_scatter")


def _is_flat() -> pl.Expr:
    return (pl.col("input_sizes").str.count_matches(r"\[") == 2) & (
        pl.col("output_sizes").str.count_matches(r"\[") == 2
    )


def _operations(
    tables: Mapping[TableName, pl.DataFrame], dumps: pl.DataFrame, of: pl.DataFrame, groups: pl.DataFrame
) -> pl.DataFrame:
    """The recorded operations of the chosen dumps with gid, done and the global peer."""
    operations = tables["operations"].join(dumps, on=["rank", "file"], how="semi", maintain_order="left")
    operations = operations.join(of, on=["rank", "group", "desc"], how="left", nulls_equal=True, maintain_order="left")
    retires = pl.col("backend").is_in(UNRECORDED_P2P)
    done = (
        pl.when(retires)
        .then(pl.col("retired").fill_null(False))
        .otherwise((pl.col("state") == "completed").fill_null(False))
    )
    counted = (
        tables["progress"]
        .join(dumps, on=["rank", "file"], how="semi")
        .filter(pl.col("pg_id").is_not_null())
        .select(
            "rank",
            "pg_id",
            "scope",
            pl.col("last_enqueued").fill_null(-1).alias("_enqueued"),
            pl.col("last_completed").fill_null(-1).alias("_completed"),
        )
        .unique(["rank", "pg_id"], keep="first")
    )
    operations = operations.join(counted, on=["rank", "pg_id"], how="left", maintain_order="left")
    # Nothing outstanding on the communicator: entries of batched calls stay "scheduled", yet they are done. An entry is
    # written before the library call and the counter after it, so the newest entry is not covered.
    newest = pl.col("record") == pl.col("record").max().over("rank", "pg_id")
    quiet = (pl.col("_enqueued") == pl.col("_completed")).fill_null(False) & ~(
        newest & (pl.col("seq") > pl.col("_enqueued"))
    )
    # The counter of a gloo group, and of an NCCL group without point-to-point, counts collectives alone.
    passed = (
        ~pl.col("is_p2p") & (pl.col("_completed") >= pl.col("seq")) & (pl.col("scope") == "collective")
    ).fill_null(False)
    operations = operations.with_columns((done | quiet | passed).alias("done"))
    # The entry that closes a batch of sends and receives has the state of all of them.
    closing = pl.col("done").filter(pl.col("kind") == "coalesced").any()
    is_batch = (pl.col("kind") == "coalesced").any().over("rank", "pg_id", "is_p2p", "seq") & pl.col("is_p2p")
    operations = operations.with_columns(
        pl.when(is_batch).then(closing.over("rank", "pg_id", "is_p2p", "seq")).otherwise("done").alias("done"),
        is_batch.alias("batch"),
    )
    # Entries of batched point-to-point calls never leave "scheduled". Whatever the rank recorded after them waits for
    # them on its device, so a later entry that is done proves them done, unless it is all that is left outstanding.
    operations = operations.sort("rank", "record").with_columns(
        (pl.col("done").cast(pl.Int8).cum_max(reverse=True).over("rank") == 1).alias("_passed"),
        (pl.col("_enqueued") > pl.col("_completed")).fill_null(False).alias("outstanding"),
    )
    operations = operations.with_columns(
        (pl.col("is_p2p") & ~pl.col("batch") & ~pl.col("done") & pl.col("_passed")).alias("superseded")
    )
    return operations.join(
        groups.select("gid", "members", "whole"), on="gid", how="left", maintain_order="left"
    ).with_columns(
        pl.when(pl.col("is_p2p") & pl.col("whole"))
        .then(pl.col("members").list.get(pl.col("peer"), null_on_oob=True))
        .alias("peer_rank"),
        pl.when(pl.col("kind").is_in(_EQUAL_SIZES) | (pl.col("kind").is_in(_EQUAL_IF_FLAT) & _is_flat()))
        .then(_numel("input_sizes"))
        .alias("numel"),
        pl.col("input_dtypes").str.extract(r'"?([A-Za-z0-9_]+)"?', 1).alias("dtype"),
    )


def _user_code(frames: pl.Expr) -> pl.Expr:
    """Innermost frame outside libraries, as "file:line"."""
    own = frames.list.eval(
        pl.element().filter(
            ~pl.element()
            .struct.field("file")
            .fill_null("")
            .str.contains(r"site-packages|dist-packages|/lib/python3|^<|^torch/")
        )
    )
    frame = own.list.first()
    return frame.struct.field("file") + ":" + frame.struct.field("line").cast(pl.String)


def _first_open(operations: pl.DataFrame) -> tuple[pl.DataFrame, frozenset[int]]:
    """(rows of each rank's first open launch, a coalesced batch shares its number and counts as one; ranks that are held
    by a launch whose peers the record does not tell)."""
    unfinished = operations.filter(~pl.col("done") & pl.col("gid").is_not_null())
    pending = unfinished.filter(~pl.col("superseded"))
    left = unfinished.filter(pl.col("superseded") & pl.col("outstanding"))
    pending = pl.concat([pending, left.join(pending.select("rank"), on="rank", how="anti")])
    first = pending.sort("rank", "record").unique("rank", keep="first", maintain_order=True)
    launch = ["rank", "gid", "is_p2p", "seq"]
    held = pending.join(first.select(launch), on=launch, how="semi", nulls_equal=True, maintain_order="left")
    low = pl.min_horizontal("rank", "peer_rank").cast(pl.String)
    high = pl.max_horizontal("rank", "peer_rank").cast(pl.String)
    sender = pl.when(pl.col("kind").is_in(["send", "isend"])).then("rank").otherwise("peer_rank").cast(pl.String)
    pair = (
        "p2p:" + pl.col("gid").cast(pl.String) + ":" + sender + ">" + pl.when(sender == low).then(high).otherwise(low)
    )
    collective = pl.col("gid").cast(pl.String) + ":" + pl.col("seq").cast(pl.String)
    told = held.filter(~pl.col("is_p2p") | pl.col("peer_rank").is_not_null())
    blind = frozenset(held["rank"].to_list()) - frozenset(told["rank"].to_list())
    timed = operations.group_by("rank").agg(pl.col("time_started_ns").is_not_null().any().alias("timed"))
    rows = (
        told.join(timed, on="rank", how="left", maintain_order="left")
        .with_columns(
            pl.when(~pl.col("is_p2p")).then(collective).otherwise(pair).alias("op"),
            _user_code(pl.col("frames")).alias("code"),
        )
        .unique(["rank", "op"], keep="first", maintain_order=True)
        .select(
            "rank",
            "op",
            "gid",
            "seq",
            "is_p2p",
            "kind",
            "numel",
            "dtype",
            "root",
            "peer_rank",
            "code",
            "timed",
            "state",
            "timeout_ms",
            "time_created_ns",
            "frames",
            "file",
            "record",
        )
    )
    return rows, blind


def _counters(
    tables: Mapping[TableName, pl.DataFrame], dumps: pl.DataFrame, of: pl.DataFrame, operations: pl.DataFrame
) -> pl.DataFrame:
    """rank, gid, enqueued, completed, oldest: of collectives, from the entries; where a ring holds none, from the counters."""
    collectives = operations.filter(~pl.col("is_p2p") & pl.col("gid").is_not_null())
    entries = collectives.group_by("rank", "gid").agg(
        pl.col("seq").max().alias("enqueued"),
        pl.col("seq").filter("done").max().alias("completed"),
        pl.col("seq").min().alias("oldest"),
    )
    mixed = operations.filter("is_p2p").select("gid").unique()
    counts = (
        tables["progress"]
        .join(dumps, on=["rank", "file"], how="semi")
        .join(of, on=["rank", "group", "desc"], how="inner", nulls_equal=True)
        .join(mixed, on="gid", how="anti")  # there the counter may have counted point-to-point
        .select(
            "rank",
            "gid",
            pl.col("last_enqueued").fill_null(0).alias("c_enqueued"),
            pl.col("last_completed").fill_null(0).alias("c_completed"),
        )
        .unique(["rank", "gid"], keep="first")
    )
    joined = entries.join(counts, on=["rank", "gid"], how="full", coalesce=True)
    return joined.select(
        "rank",
        "gid",
        pl.max_horizontal("enqueued", "c_enqueued").alias("enqueued"),
        pl.max_horizontal("completed", "c_completed").alias("completed"),
        "oldest",
        pl.col("c_enqueued").is_not_null().alias("counted"),
    )


def _collective_members(
    held: pl.DataFrame,
    groups: pl.DataFrame,
    operations: pl.DataFrame,
    counters: pl.DataFrame,
    recorded: pl.DataFrame,
    lost: frozenset[int],
) -> pl.DataFrame:
    """op, rank, state for collectives."""
    ops = held.filter(~pl.col("is_p2p")).select("op", "gid", "seq").unique()
    members = ops.join(groups.select("gid", "members", "whole"), on="gid")
    extra = pl.lit(sorted(lost), dtype=pl.List(pl.Int64))  # a group known only by its users may hold any lost rank
    members = members.with_columns(
        pl.when("whole").then("members").otherwise(pl.concat_list("members", extra)).alias("rank"),
    ).explode("rank")
    inside = held.select("op", "rank", pl.lit(True).alias("inside"))
    entries = operations.filter(~pl.col("is_p2p")).select("rank", "gid", "seq", "done").unique(["rank", "gid", "seq"])
    members = (
        members.join(inside, on=["op", "rank"], how="left")
        .join(entries, on=["rank", "gid", "seq"], how="left")
        .join(counters, on=["rank", "gid"], how="left")
        .join(recorded, on="rank", how="left")
    )
    # Absent needs proof: a counter below, or entries of this group whose newest is below.
    behind = pl.col("enqueued").is_not_null() & (pl.col("enqueued") < pl.col("seq"))
    never = pl.col("enqueued").is_null() & (pl.col("recorded") == "whole")
    state = (
        pl.when("inside")
        .then(pl.lit("in"))
        .when(pl.col("done").fill_null(False))
        .then(pl.lit("done"))
        .when(pl.col("done").is_not_null())
        .then(pl.lit("enqueued"))
        .when(pl.col("completed") >= pl.col("seq"))
        .then(pl.lit("done"))
        .when(pl.col("recorded").is_null())
        .then(pl.lit("unknown"))
        .when(pl.col("recorded") == "cut")
        .then(pl.lit("unknown"))
        .when(behind | never)
        .then(pl.lit("absent"))
        .when(pl.col("enqueued") >= pl.col("seq"))
        .then(pl.lit("enqueued"))
        .otherwise(pl.lit("unknown"))
    )
    return members.select("op", "rank", state.alias("state"))


def _p2p_members(held: pl.DataFrame, operations: pl.DataFrame, recorded: pl.DataFrame) -> pl.DataFrame:
    """op, rank, state for send and recv: both ends."""
    p2p = held.filter(pl.col("is_p2p") & pl.col("peer_rank").is_not_null())
    own = p2p.select("op", "rank", pl.lit("in").alias("state"))
    other = p2p.select("op", "gid", "seq", pl.col("peer_rank").alias("rank"), pl.col("rank").alias("peer_rank"), "kind")
    other = other.join(own.select("op", "rank"), on=["op", "rank"], how="anti")
    is_send = pl.col("kind").is_in(["send", "isend"])
    mates = (
        operations.filter(pl.col("is_p2p") & pl.col("peer_rank").is_not_null())
        .with_columns(is_send.alias("sends"))
        .group_by("rank", "peer_rank", "gid", "sends")
        .agg(
            (~pl.col("done") & ~pl.col("superseded")).any().alias("pending"),
            pl.col("seq").filter(pl.col("done") | pl.col("superseded")).max().alias("done_seq"),
        )
    )
    pairs = (
        operations.select("gid", "members")
        .unique("gid")
        .with_columns((pl.col("members").list.len() == 2).alias("pair"))
    )
    other = (
        other.with_columns((~is_send).alias("sends"))
        .join(mates, on=["rank", "peer_rank", "gid", "sends"], how="left")
        .join(pairs.select("gid", "pair"), on="gid", how="left")
        .join(recorded, on="rank", how="left")
    )
    # In a group of two both ends count in step, so a completed mate with this number is this operation.
    state = (
        pl.when(pl.col("recorded").is_null())
        .then(pl.lit("unknown"))
        .when(pl.col("pair") & (pl.col("done_seq") >= pl.col("seq")))
        .then(pl.lit("done"))
        .when(pl.col("pending").fill_null(False))
        .then(pl.lit("enqueued"))
        .when(pl.col("recorded") == "cut")
        .then(pl.lit("unknown"))
        .otherwise(pl.lit("absent"))
    )
    return pl.concat([own, other.select("op", "rank", state.alias("state"))])


def reconcile(tables: Mapping[TableName, pl.DataFrame], expected: frozenset[int]) -> States:
    """Flight-recorder tables of one attempt → States. Linear in entries plus members of open operations."""
    dumps, partial = _one_dump_per_rank(tables)
    groups, of = _groups(tables, dumps, expected)
    operations = _operations(tables, dumps, of, groups)
    held, blind = _first_open(operations)
    counters = _counters(tables, dumps, of, operations)
    ranks = frozenset(dumps["rank"].to_list())
    holes = operations.filter(~pl.col("is_p2p")).group_by("rank").agg((pl.col("seq").min() > 1).alias("gone"))
    uncounted = counters.group_by("rank").agg(pl.col("counted").any())
    ring = holes.join(uncounted, on="rank", how="left").filter(pl.col("gone") & ~pl.col("counted").fill_null(False))
    wrapped = frozenset(ring["rank"].to_list())
    kinds = [("cut" if rank in partial else "ring" if rank in wrapped else "whole") for rank in sorted(ranks)]
    recorded = pl.DataFrame(
        {"rank": sorted(ranks), "recorded": kinds}, schema={"rank": pl.Int64, "recorded": pl.String}
    )
    members = pl.concat(
        [
            _collective_members(held, groups, operations, counters, recorded, expected - ranks),
            _p2p_members(held, operations, recorded),
        ]
    ).unique(["op", "rank"], keep="first", maintain_order=True)
    return States(groups, held, members.sort("op", "rank"), ranks, partial, counters, wrapped, blind)
