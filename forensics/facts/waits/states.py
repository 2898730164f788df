"""Reconciliation: for each operation that is open somewhere, the state of every member.

States: `in` (recorded, and nothing earlier of this rank is open), `enqueued` (recorded, but an earlier operation of
this rank is open), `done`, `absent` (this rank's record shows that it never came), `entered` (no record of its own, but
a member completed what nobody completes without it), `unknown` (no record that tells). Unknown is never absent.
"""

import msgspec
import polars as pl
from msgspec.structs import replace

from forensics.facts.waits.records import UNRECORDED_P2P, details, entries, groups_of, one_dump_per_rank
from forensics.model.told import told_by
from parsers.schema.tables import Tables

SENDS = ("send", "isend")
# No member completes one of these before every member has called it. A member of an all-to-all may bring nothing.
NEED_ALL = ("all_reduce", "all_gather", "reduce_scatter", "barrier")


class States(msgspec.Struct, frozen=True):
    """`groups`: gid, group, desc, members (list[i64]), whole (bool: membership known completely), backend.
    `open`: the operations that hold a rank, one row per rank and operation of its first open launch:
        rank, op (operation id, text), gid, seq, is_p2p, kind, numel, dtype, peer_rank, code, timed, state,
        time_created_ns, file, record.
    `members`: op, rank, state (see module), row per member of each operation in `open`.
    `recorded`: ranks whose dump was read. `partial`: ranks whose dump was cut (its end is missing) or is stale.
    `stale`: ranks whose dump shows them where they cannot be any more: it was taken earlier, what it shows as open is
        left out.
    `counters`: rank, gid, enqueued, completed (collectives only).
    `wrapped`: (rank) of dumps whose ring lost entries and that hold no counters.
    `blind`: ranks held by a batch of sends and receives whose peers the record does not tell.
    `entries`: all recorded operations, narrow (records.entries)."""

    groups: pl.DataFrame
    open: pl.DataFrame
    members: pl.DataFrame
    recorded: frozenset[int]
    partial: frozenset[int]
    stale: frozenset[int]
    counters: pl.DataFrame
    wrapped: frozenset[int]
    blind: frozenset[int]
    entries: pl.DataFrame


_INT, _TEXT, _BOOL, _WORD = pl.Int64(), pl.String(), pl.Boolean(), pl.Categorical()
_GROUPS = {"gid": _INT, "group": _TEXT, "desc": _TEXT, "members": pl.List(_INT), "whole": _BOOL, "backend": _TEXT}
_OPEN = {
    "rank": _INT, "op": _TEXT, "gid": _INT, "seq": _INT, "is_p2p": _BOOL, "kind": _TEXT, "numel": _INT, "dtype": _TEXT,
    "root": _INT, "peer_rank": _INT, "code": _TEXT, "timed": _BOOL, "state": _TEXT, "timeout_ms": _INT,
    "time_created_ns": _INT, "file": _TEXT, "record": _INT,
}  # fmt: skip
_MEMBERS = {"op": _TEXT, "rank": _INT, "state": _TEXT}
_COUNTERS = {"rank": _INT, "gid": _INT, "enqueued": _INT, "completed": _INT, "oldest": _INT, "counted": _BOOL}
_ENTRIES = {
    "rank": _INT, "gid": _INT, "backend": _WORD, "seq": _INT, "is_p2p": _BOOL, "kind": _WORD, "peer": pl.Int32(),
    "record": _INT, "timed": _BOOL, "row": pl.UInt32(), "done": _BOOL, "superseded": _BOOL, "outstanding": _BOOL,
}  # fmt: skip


def _no_record() -> States:
    """What is so where no flight recorder left anything."""
    groups, opened, members, counters, entered = (
        pl.DataFrame(schema=schema) for schema in (_GROUPS, _OPEN, _MEMBERS, _COUNTERS, _ENTRIES)
    )
    nobody: frozenset[int] = frozenset()
    return States(groups, opened, members, nobody, nobody, nobody, counters, nobody, nobody, entered)


def _with_peers(rows: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Rows of sends and receives with `peer_rank` (global, null where the membership is not known)."""
    known = groups.filter("whole").select("gid", "members")
    joined = rows.join(known, on="gid", how="left", maintain_order="left")
    return joined.with_columns(
        pl.col("members").list.get(pl.col("peer"), null_on_oob=True).alias("peer_rank"),
        (pl.col("members").list.len() == 2).fill_null(False).alias("pair"),
    ).drop("members")


def _first_open(tables: Tables, operations: pl.DataFrame, groups: pl.DataFrame) -> tuple[pl.DataFrame, frozenset[int]]:
    """(rows of each rank's first open launch, a coalesced batch shares its number and counts as one; ranks that are held
    by a launch whose peers the record does not tell)."""
    unfinished = operations.filter(~pl.col("done") & pl.col("gid").is_not_null())
    pending = unfinished.filter(~pl.col("superseded"))
    left = unfinished.filter(pl.col("superseded") & pl.col("outstanding"))
    pending = pl.concat([pending, left.join(pending.select("rank"), on="rank", how="anti")])
    first = pending.sort("rank", "record").unique("rank", keep="first", maintain_order=True)
    launch = ["rank", "gid", "is_p2p", "seq"]
    held = pending.join(first.select(launch), on=launch, how="semi", nulls_equal=True, maintain_order="left")
    p2p = _with_peers(held.filter("is_p2p"), groups)
    collective = held.filter(~pl.col("is_p2p")).with_columns(pl.lit(None, pl.Int64).alias("peer_rank"))
    told = pl.concat([collective, p2p.filter(pl.col("peer_rank").is_not_null()).drop("pair")])
    blind = frozenset(held["rank"].to_list()) - frozenset(told["rank"].to_list())
    gid, rank, peer = (pl.col(name).cast(pl.String) for name in ("gid", "rank", "peer_rank"))
    is_send = pl.col("kind").is_in(SENDS)
    pair = pl.concat_str(
        [pl.lit("p2p:"), gid, pl.lit(":"), pl.when(is_send).then(rank).otherwise(peer), pl.lit(">"), pl.when(is_send).then(peer).otherwise(rank)]
    )  # fmt: skip
    named = pl.when("is_p2p").then(pair).otherwise(pl.concat_str([gid, pl.lit(":"), pl.col("seq").cast(pl.String)]))
    told = told.sort("rank", "record").with_columns(named.alias("op"))
    told = told.unique(["rank", "op"], keep="first", maintain_order=True)
    return details(tables, told).select(_OPEN.keys()), blind


def _counters(tables: Tables, dumps: pl.DataFrame, of: pl.DataFrame, operations: pl.DataFrame) -> pl.DataFrame:
    """rank, gid, enqueued, completed, oldest: of collectives, from the entries; where a ring holds none, from the counters."""
    collectives = operations.lazy().filter(~pl.col("is_p2p") & pl.col("gid").is_not_null())
    seq = pl.col("seq")
    counted = {"enqueued": seq.max(), "completed": pl.when("done").then(seq).max(), "oldest": seq.min()}
    recorded = collectives.group_by("rank", "gid").agg(**counted).collect(engine="streaming")
    mixed = operations.filter("is_p2p").select("gid").unique()
    counts = (
        tables["progress"]
        .join(dumps, on=["rank", "file"], how="semi")
        .join(of, on=["rank", "group", "desc"], nulls_equal=True)
        .join(mixed, on="gid", how="anti")  # there the counter may have counted point-to-point
        .select("rank", "gid", c_enqueued=pl.col("last_enqueued").fill_null(0), c_completed=pl.col("last_completed").fill_null(0))
        .unique(["rank", "gid"], keep="first")
    )  # fmt: skip
    joined = recorded.join(counts, on=["rank", "gid"], how="full", coalesce=True)
    return joined.select(
        "rank", "gid", pl.max_horizontal("enqueued", "c_enqueued").alias("enqueued"),
        pl.max_horizontal("completed", "c_completed").alias("completed"), "oldest", pl.col("c_enqueued").is_not_null().alias("counted"),
    )  # fmt: skip


def _stale(operations: pl.DataFrame, groups: pl.DataFrame, counters: pl.DataFrame) -> frozenset[int]:
    """Ranks that are, by their own record, before or in a collective whose successors others have completed.

    A dump that was taken earlier than the others, or in another attempt, looks exactly like a rank that stopped."""
    collectives = operations.lazy().filter(~pl.col("is_p2p") & pl.col("gid").is_not_null())
    completed = collectives.filter(pl.col("done") & pl.col("kind").is_in(NEED_ALL))
    through = completed.group_by("gid").agg(pl.col("seq").max().alias("through")).collect(engine="streaming")
    # A host that takes part itself may end collectives in another order than they were called in.
    ordered = collectives.filter(~pl.col("done") & ~pl.col("backend").is_in(UNRECORDED_P2P).fill_null(False))
    waiting = ordered.group_by("rank", "gid").agg(pl.col("seq").min().alias("at")).collect(engine="streaming")
    members = groups.filter("whole").join(through, on="gid").select("gid", "through", rank="members").explode("rank")
    members = members.join(operations.select("rank").unique(), on="rank", how="semi")
    placed = members.join(counters, on=["rank", "gid"], how="left").join(waiting, on=["rank", "gid"], how="left")
    is_behind = (pl.col("enqueued") < pl.col("through")) | (pl.col("at") < pl.col("through"))
    return frozenset(placed.filter(is_behind.fill_null(False))["rank"].to_list())


def _empty(
    operations: pl.DataFrame, groups: pl.DataFrame, counters: pl.DataFrame, ranks: frozenset[int]
) -> frozenset[int]:
    """Ranks whose dump holds no operation and no counter, though others completed what nobody completes without them: what
    they called is not in it."""
    silent = ranks - set(operations["rank"].unique().to_list()) - set(counters["rank"].to_list())
    if not silent:
        return silent
    together = operations.filter(pl.col("done") & pl.col("kind").is_in(NEED_ALL) & ~pl.col("is_p2p"))
    proven = groups.filter("whole").join(together.select("gid").unique(), on="gid")["members"].explode()
    return silent & set(proven.to_list())


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
    ranks = pl.when("whole").then("members").otherwise(pl.concat_list("members", extra))
    members = members.with_columns(ranks.alias("rank")).explode("rank")
    inside = held.select("op", "rank", pl.lit(True).alias("inside"))
    near = [pl.col(name).is_in(ops[name].unique().implode()) for name in ("gid", "seq")]
    there = operations.filter(~pl.col("is_p2p"), *near).join(ops, on=["gid", "seq"], how="semi", maintain_order="left")
    there = there.select("rank", "gid", "seq", "done").unique(["rank", "gid", "seq"], keep="last", maintain_order=True)
    members = (
        members.join(inside, on=["op", "rank"], how="left")
        .join(there, on=["rank", "gid", "seq"], how="left")
        .join(counters, on=["rank", "gid"], how="left")
        .join(recorded, on="rank", how="left")
    )
    # Absent needs proof: a counter below, or entries of this group whose newest is below.
    behind = pl.col("enqueued").is_not_null() & (pl.col("enqueued") < pl.col("seq"))
    never = pl.col("enqueued").is_null() & (pl.col("recorded") == "whole")
    state = (
        pl.when("inside").then(pl.lit("in"))
        .when("done").then(pl.lit("done"))
        .when(pl.col("done").is_not_null()).then(pl.lit("enqueued"))
        .when(pl.col("completed") >= pl.col("seq")).then(pl.lit("done"))
        .when(pl.col("recorded").is_null() | (pl.col("recorded") == "cut")).then(pl.lit("unknown"))
        .when(behind | never).then(pl.lit("absent"))
        .when(pl.col("enqueued") >= pl.col("seq")).then(pl.lit("enqueued"))
        .otherwise(pl.lit("unknown"))
    )  # fmt: skip
    kinds = held.group_by("op", maintain_order=True).agg(kinds=pl.col("kind").n_unique(), kind=pl.col("kind").first())
    told = members.select("op", "rank", state.alias("state")).join(kinds, on="op", how="left", maintain_order="left")
    proven = (pl.col("state") == "done").any().over("op") & pl.col("kind").is_in(NEED_ALL) & (pl.col("kinds") == 1)
    entered = pl.when((pl.col("state") == "unknown") & proven).then(pl.lit("entered")).otherwise("state")
    return told.select("op", "rank", entered.alias("state"))


def _p2p_members(
    held: pl.DataFrame, groups: pl.DataFrame, operations: pl.DataFrame, recorded: pl.DataFrame
) -> pl.DataFrame:
    """op, rank, state for send and recv: both ends."""
    p2p = held.filter(pl.col("is_p2p") & pl.col("peer_rank").is_not_null())
    own = p2p.select("op", "rank", pl.lit("in").alias("state"))
    other = p2p.select("op", "gid", "seq", pl.col("peer_rank").alias("rank"), pl.col("rank").alias("peer_rank"), "kind")
    other = other.join(own.select("op", "rank"), on=["op", "rank"], how="anti")
    is_send = pl.col("kind").is_in(SENDS)
    theirs = operations.filter("is_p2p", pl.col("rank").is_in(other["rank"].unique().implode()))
    theirs = theirs.join(other.select("rank", "gid").unique(), on=["rank", "gid"], how="semi")
    mates = (
        _with_peers(theirs, groups)
        .with_columns(is_send.alias("sends"))
        .group_by("rank", "peer_rank", "gid", "sends", "pair")
        .agg(
            (~pl.col("done") & ~pl.col("superseded")).any().alias("pending"),
            pl.col("seq").filter(pl.col("done") | pl.col("superseded")).max().alias("done_seq"),
        )
    )
    other = (
        other.with_columns((~is_send).alias("sends"))
        .join(mates, on=["rank", "peer_rank", "gid", "sends"], how="left")
        .join(recorded, on="rank", how="left")
    )
    # In a group of two both ends count in step, so a completed mate with this number is this operation.
    state = (
        pl.when(pl.col("recorded").is_null()).then(pl.lit("unknown"))
        .when(pl.col("pair") & (pl.col("done_seq") >= pl.col("seq"))).then(pl.lit("done"))
        .when("pending").then(pl.lit("enqueued"))
        .when(pl.col("recorded") == "cut").then(pl.lit("unknown"))
        .otherwise(pl.lit("absent"))
    )  # fmt: skip
    return pl.concat([own, other.select("op", "rank", state.alias("state"))])


@told_by("operations", "progress", "groups", nothing=_no_record)
def reconcile(tables: Tables, expected: frozenset[int]) -> States:
    """Flight-recorder tables of one attempt → States. Linear in entries plus members of open operations."""
    dumps, partial = one_dump_per_rank(tables)
    ranks = frozenset(dumps["rank"].to_list())
    groups, of = groups_of(tables, dumps, expected)
    if dumps.is_empty():
        return replace(_no_record(), groups=groups)
    operations = entries(tables, dumps, groups, of)
    counters = _counters(tables, dumps, of, operations)
    stale = _stale(operations, groups, counters)
    partial |= stale | _empty(operations, groups, counters, ranks)
    if stale:
        operations = operations.filter(pl.col("done") | ~pl.col("rank").is_in(sorted(stale)))
    held, blind = _first_open(tables, operations, groups)
    collectives = operations.lazy().filter(~pl.col("is_p2p")).group_by("rank")
    holes = collectives.agg((pl.col("seq").min() > 1).alias("gone")).collect(engine="streaming")
    uncounted = counters.group_by("rank").agg(pl.col("counted").any())
    ring = holes.join(uncounted, on="rank", how="left").filter(pl.col("gone") & ~pl.col("counted").fill_null(False))
    wrapped = frozenset(ring["rank"].to_list())
    kinds = [("cut" if rank in partial else "ring" if rank in wrapped else "whole") for rank in sorted(ranks)]
    recorded = pl.DataFrame({"rank": sorted(ranks), "recorded": kinds}, {"rank": pl.Int64, "recorded": pl.String})
    collective = _collective_members(held, groups, operations, counters, recorded, expected - ranks)
    members = pl.concat([collective, _p2p_members(held, groups, operations, recorded)])
    members = members.unique(["op", "rank"], keep="first", maintain_order=True)
    return States(groups, held, members.sort("op", "rank"), ranks, partial, stale, counters, wrapped, blind, operations)
