"""What the flight recorders hold, made comparable: one dump per rank, groups told apart by members, and for each entry
whether it is done.

What "completed" means depends on the backend: NCCL-like records say so in `state`; gloo leaves `state` at scheduled and
retires the entry, also when it ended by an error. A retired NCCL entry that never completed timed out: it is open.
Sources: torch/csrc/distributed/c10d/FlightRecorder.hpp (schema 2.1 … 2.10); ProcessGroupGloo.cpp.
"""

from collections.abc import Iterator

import polars as pl

from forensics.facts.ends.recovered_errors import unrecovered
from forensics.model.frames import LIBRARY
from parsers.schema.literals import slim
from parsers.schema.tables import Tables, spelled, stack_frames

# gloo records no send and recv: a gloo rank with nothing open may still wait in one.
UNRECORDED_P2P = ("gloo",)


def one_dump_per_rank(tables: Tables) -> tuple[pl.DataFrame, frozenset[int]]:
    """(rank, file) of the dump to believe: whole before cut, then the latest, the longest, with frames, by name."""
    if all(tables[name]["record"].null_count() == tables[name].height for name in ("operations", "progress", "groups")):
        return pl.DataFrame(schema={"rank": pl.Int64, "file": pl.String}), frozenset()
    cut = tables["unread"].filter(pl.col("reason").str.starts_with("cut:")).select("file").unique()
    operations = spelled(
        tables["operations"]
        .lazy()
        .select("rank", "file", "record", "time_created_ns", "stack")
        .filter(pl.col("rank").is_not_null() & pl.col("record").is_not_null())
        .group_by("rank", "file")
        .agg(
            pl.col("time_created_ns").max().alias("latest"),
            pl.len().alias("length"),
            pl.col("stack").is_not_null().any().alias("framed"),
        )
        .collect(engine="streaming")  # no copy of what passes the filter
    )
    others = pl.concat(
        [
            tables[name]
            .filter(~pl.col("how").eq_missing(pl.lit("ras")))
            .drop_nulls(["rank", "record"])
            .select("rank", "file")  # what RAS says of a rank is no record of its own
            for name in ("progress", "groups")
        ]
    ).unique()
    files = others.join(operations, on=["rank", "file"], how="full", coalesce=True)
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


def groups_of(tables: Tables, dumps: pl.DataFrame, expected: frozenset[int]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(groups, of) with `of`: rank, group, desc, gid. Groups are told apart by members first, then by name."""
    stated = (
        tables["groups"]
        .filter(pl.col("members_space") == "global")
        .drop_nulls(["group", "rank", "members"])
        .select("rank", "group", "desc", "members", "backend")
        .unique(["rank", "group", "desc"], keep="first", maintain_order=True)
    )
    distinct = tables["operations"].lazy().select("rank", "file", "group", "desc", "backend").unique()
    recorded = spelled(distinct.collect(engine="streaming")).sort(
        "file", "backend"
    )  # of millions of entries none is copied
    used = pl.concat(
        [
            frame.select("rank", "file", "group", "desc")
            .join(dumps, on=["rank", "file"], how="semi")
            .filter(pl.col("group").is_not_null())
            .select("rank", "group", "desc")
            for frame in (recorded, tables["progress"])
        ]
    ).unique()
    backends = recorded.filter(pl.col("backend").is_not_null()).group_by("group", "desc").agg(pl.col("backend").first())
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
    if expected:
        world = pl.when(pl.col("desc") == "default_pg").then(pl.lit(sorted(expected), dtype=pl.List(pl.Int64)))
        named = named.with_columns(pl.coalesce("members", world).alias("members"))
    groups = (
        named.with_columns(whole=pl.col("members").is_not_null(), members=pl.coalesce("members", "users"))
        .join(backends, on=["group", "desc"], how="left")
        .sort("group", "desc", "key", nulls_last=True)
        .with_row_index("gid")
        .with_columns(pl.col("gid").cast(pl.Int64))
    )
    of = of.join(groups.select("group", "desc", "key", "gid"), on=["group", "desc", "key"], nulls_equal=True)
    groups = groups.select("gid", "group", "desc", "members", "whole", "backend")
    return groups, of.select("rank", "group", "desc", "gid")


_AT_ONCE = 64_000  # rows
_NARROW = ("rank", "group", "desc", "pg_id", "backend", "seq", "is_p2p", "kind", "peer", "state", "retired", "record")


def entries(tables: Tables, dumps: pl.DataFrame, groups: pl.DataFrame, of: pl.DataFrame) -> pl.DataFrame:
    """The recorded operations of the chosen dumps, narrow, sorted by rank and record: rank, gid, backend, seq, is_p2p,
    kind, peer, record, timed (the rank's record holds start times), row (in `operations`), and

    done: completed. superseded: a send or recv whose record never says so, but that something later proves done.
    outstanding: the communicator's counters say that something on it is not done."""
    of, counts = of.with_columns(pl.col("group", "desc").cast(pl.Categorical)), _counts(tables, dumps)
    chosen = dumps.with_columns(pl.col("file").cast(pl.Categorical))
    judged = pl.concat([_judged(part, of, counts) for part in _some_ranks(tables["operations"], chosen)])
    return slim(_without_errors(judged, groups, tables["events"]).drop("_counted"))


def _some_ranks(operations: pl.DataFrame, dumps: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The operations of the chosen dumps, narrow, with `row` and `timed`, of some ranks at a time, in order of ranks: what
    is joined to them is then small, however many there are."""
    narrow = operations.select(*_NARROW, "file", timed=pl.col("time_started_ns").is_not_null())
    runs = operations.select(pl.col("file").rle().struct.unnest()).rename({"value": "file"})
    runs = runs.with_columns((pl.col("len").cum_sum() - pl.col("len")).cast(pl.Int64).alias("first"))
    places = dumps.join(runs, on="file").sort("rank", "first")
    apart = places["rank"].is_unique().all()  # each file in one piece
    at_once = max(1, _AT_ONCE * places.height // max(1, operations.height))
    for some in places.iter_slices(at_once) if apart and places.height else [places]:
        cuts = [narrow.slice(first, length) for first, length in some.select("first", "len").iter_rows()]
        rows = some.select(row=pl.int_ranges("first", pl.col("first") + pl.col("len"), dtype=pl.UInt32)).explode("row")
        part = pl.concat([narrow.clear(), *cuts], rechunk=True).hstack(rows)
        part = part.join(dumps, on=["rank", "file"], how="semi").drop("file")
        yield part.with_columns(pl.col("timed").any().over("rank"))


def _judged(operations: pl.DataFrame, of: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """Some rows of `entries`."""
    operations = operations.join(of, on=["rank", "group", "desc"], how="left", nulls_equal=True)
    operations = operations.join(counts, on=["rank", "pg_id"], how="left").sort("rank", "record")
    operations = operations.with_columns(_is_done().alias("done"))
    # The entry that closes a batch of sends and receives has the state of all of them.
    batch = ["rank", "pg_id", "is_p2p", "seq"]
    closing = (
        operations.filter(pl.col("is_p2p") & (pl.col("kind") == "coalesced"))
        .group_by(batch)
        .agg(pl.col("done").any().alias("closed"))
    )
    operations = operations.join(closing, on=batch, how="left", maintain_order="left", nulls_equal=True)
    operations = operations.with_columns(pl.coalesce("closed", "done").alias("done"))
    # Entries of batched point-to-point calls never leave "scheduled". Whatever the rank recorded after them waits for
    # them on its device, so a later entry that is done proves them done, unless it is all that is left outstanding.
    last_done = operations.filter("done").group_by("rank").agg(pl.col("record").max().alias("_last"))
    operations = operations.join(last_done, on="rank", how="left", maintain_order="left")
    return operations.select(
        "rank", "gid", "backend", "seq", "is_p2p", "kind", pl.col("peer").cast(pl.Int32, strict=False), "record", "timed", "row", "done",
        (pl.col("is_p2p") & pl.col("closed").is_null() & ~pl.col("done") & (pl.col("record") < pl.col("_last")).fill_null(False))
        .alias("superseded"),
        (pl.col("_enqueued") > pl.col("_completed")).fill_null(False).alias("outstanding"),
        pl.when(pl.col("scope") == "collective").then("_enqueued").alias("_counted"),
    )  # fmt: skip


def _counts(tables: Tables, dumps: pl.DataFrame) -> pl.DataFrame:
    """rank, pg_id, scope, _enqueued, _completed."""
    counted = tables["progress"].join(dumps, on=["rank", "file"], how="semi").filter(pl.col("pg_id").is_not_null())
    called, done = (pl.col(f"last{name}").fill_null(-1).alias(name) for name in ("_enqueued", "_completed"))
    return counted.select("rank", "pg_id", "scope", called, done).unique(["rank", "pg_id"], keep="first")


def _is_done() -> pl.Expr:
    """Done by the record's own state, or by the counters of its communicator."""
    retires = pl.col("backend").is_in(UNRECORDED_P2P)
    stated = pl.when(retires).then("retired").otherwise(pl.col("state") == "completed").fill_null(False)
    # Nothing outstanding on the communicator: entries of batched calls stay "scheduled", yet they are done. An entry is
    # written before the library call and the counter after it, so the newest entry is not covered.
    newest = pl.col("record") == pl.col("record").max().over("rank", "pg_id")
    even = (pl.col("_enqueued") == pl.col("_completed")).fill_null(False)
    quiet = even & ~(newest & (pl.col("seq") > pl.col("_enqueued")))
    # The counter of a gloo group counts collectives alone.
    passed = ~pl.col("is_p2p") & (pl.col("_completed") >= pl.col("seq")) & (pl.col("scope") == "collective")
    return stated | quiet | passed.fill_null(False)


_BROKEN = ("peer_closed", "remote_error", "collective_timeout")


def _without_errors(operations: pl.DataFrame, groups: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """`operations`, in which a gloo collective that ended by an error is not done.

    Gloo retires an entry when it ends, well or not. It was not well where it is the newest of its rank and group, one such
    rank then lost a connection or gave up, and some member is not shown to have called it."""
    broken = unrecovered(events).filter(pl.col("kind").is_in(_BROKEN) & (pl.col("rank_space") == "global"))
    called = operations.filter(~pl.col("is_p2p") & pl.col("backend").is_in(UNRECORDED_P2P)).drop_nulls("gid")
    if not broken.height or not called.height:
        return operations
    through = called.group_by("rank", "gid").agg(pl.max_horizontal("seq", "_counted").max().alias("through"))
    newest = called.filter("done").join(through, left_on=["rank", "gid", "seq"], right_on=["rank", "gid", "through"])
    ended = newest.join(broken.select("rank"), on="rank", how="semi").select("gid", "seq").unique()
    known = groups.filter("whole").select("gid", pl.col("members").list.len().alias("size"))
    there = ended.join(through, on="gid").filter(pl.col("through") >= pl.col("seq"))
    there = there.group_by("gid", "seq").agg(pl.len().alias("callers")).join(known, on="gid")
    alone = there.filter(pl.col("callers") < pl.col("size"))
    failed = newest.join(alone, on=["gid", "seq"], how="semi").select("rank", "record", pl.lit(True).alias("_failed"))
    marked = operations.join(failed, on=["rank", "record"], how="left", maintain_order="left")
    return marked.with_columns(pl.col("done") & pl.col("_failed").is_null()).drop("_failed")


# Kinds whose members must bring equally many elements; gathers only in the form with one tensor on each side (the
# form with lists allows uneven ones).
_EQUAL_SIZES = ("all_reduce", "broadcast", "reduce")
_EQUAL_IF_FLAT = ("all_gather", "reduce_scatter")


def _numel() -> pl.Expr:
    """Number of elements of the first input, of a JSON list of sizes ("[[2, 3], [4]]" → 6); null where not so."""
    first = pl.col("input_sizes").str.extract(r"^\[\[([0-9, ]*)\]", 1)
    product = first.str.extract_all(r"[0-9]+").list.eval(pl.element().cast(pl.Int64).product()).list.first()
    return pl.when(first.is_not_null()).then(product)


def _user_code(stack: str) -> str | None:
    """Innermost frame outside libraries, as "file:line"."""
    own = ((file, line) for _, file, line in stack_frames(stack) if not LIBRARY.search(file or ""))
    file, line = next(own, (None, None))
    return None if file is None or line is None else f"{file}:{line}"


_DETAILS = (
    "kind", "input_sizes", "output_sizes", "input_dtypes", "root", "stack", "state", "timeout_ms", "time_created_ns", "file",
)  # fmt: skip


def details(tables: Tables, rows: pl.DataFrame) -> pl.DataFrame:
    """A few rows of `entries` → with numel, dtype, root, code, state, timeout_ms, time_created_ns, file of the table."""
    flat = pl.all_horizontal(pl.col(f"{end}_sizes").str.count_matches(r"\[") == 2 for end in ("input", "output"))
    sized = pl.col("kind").is_in(_EQUAL_SIZES) | (pl.col("kind").is_in(_EQUAL_IF_FLAT) & flat)
    whole = tables["operations"].select(_DETAILS)[rows["row"].to_list()]
    codes = {stack: _user_code(stack) for stack in whole["stack"].unique().drop_nulls().to_list()}
    told = spelled(whole).select(
        "root", "state", "timeout_ms", "time_created_ns", "file", numel=pl.when(sized).then(_numel()),
        dtype=pl.col("input_dtypes").str.extract(r'"?([A-Za-z0-9_]+)"?', 1),
        code=pl.col("stack").replace_strict(codes, default=None, return_dtype=pl.String),
    )  # fmt: skip
    return spelled(rows).hstack(told)
