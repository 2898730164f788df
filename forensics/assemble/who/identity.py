"""Who is who: rank ↔ host ↔ pid ↔ local rank ↔ device ↔ coordinates, and how each was learnt.

Claims of the `ranks` table are put to a vote per rank and column; then rows of other tables that lack a global rank get
it where exactly one rank fits (by a per-rank file, by host and pid, by place in a group whose members are known, by host
and local rank, by local rank on a single host). A number that a process group prints is a place in that group, unless it
is the default one.
"""

import polars as pl

from forensics.assemble.who.numbered_files import numbered_files, told_world
from forensics.model.hosts import short_host
from forensics.model.taxonomy import EVENTS
from forensics.model.told import values
from parsers.schema.tables import TableName, Tables
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.training.process_line import BEFORE_WORDS
from parsers.training.world import LAUNCHED
from parsers.who.labels.head_pids import HOW as AT_HEADS
from parsers.who.places.job_table import HOW as COMPUTED
from parsers.who.told.told_names import HOW as DOCUMENT

COLUMNS = ("host", "pid", "local_rank", "device_index", "pci", "uuid", "world_size", "tp", "pp", "dp", "ep", "cp")
_TEXTS = ("host", "pci", "uuid")
SCHEMA: dict[str, pl.DataType] = {
    "rank": pl.Int64(),
    **{name: pl.String() if name in _TEXTS else pl.Int64() for name in COLUMNS},
    "how": pl.List(pl.String()),
}
_SPEAKING: tuple[TableName, ...] = ("ranks", "steps", "stacks", "settings")
RANKED: tuple[TableName, ...] = (
    "operations", "progress", "transfers", "stacks", "tensors", "steps", "values", "events", "settings", "devices", "timings",
)  # fmt: skip
_HERE = r"^(?:localhost|127(?:\.\d{1,3}){3}|::1)$"  # whoever prints it: each host's name for itself
_STREAM = r"/std(?:out|err)\.log$"
_PLACE, _NO_PLACE = r"^[A-Za-z][A-Za-z-]*-?[0-9]+\b", r"^(?i:rank|attempt)"
_IS_PLACE, _IS_NO_PLACE = regex(_PLACE), regex(_NO_PLACE)
_PARTS, _DIGITS = regex(r"[/.]"), regex(r"\d+")
_COUNTED_ANEW = 1000  # processes of a container, about
ENDS = ("exit", "first_failure", "closing_signal")
_OF_KERNELS = [kind for kind, row in EVENTS.items() if row.printer == "kernel"]


def given_rank(rank: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Columns `rank` and `rank_space` of events that get this global rank where it is not null."""
    space = pl.when(rank.is_not_null()).then(pl.lit("global")).otherwise("rank_space")
    return pl.coalesce(rank, "rank").alias("rank"), space.alias("rank_space")


def with_ranks(events: pl.DataFrame, told: pl.DataFrame, keys: list[str], is_open: pl.Expr) -> pl.DataFrame:
    """Events with the global rank that `told` has for their keys, as `_rank`, where they are open."""
    joined = events.join(told, on=keys, how="left", maintain_order="left")
    filled = joined.with_columns(given_rank(pl.when(is_open).then("_rank")))
    return filled.select(events.columns).cast(events.schema)


def identify(tables: Tables) -> pl.DataFrame:
    """Claims → one row per rank, schema SCHEMA. Each value is the one most claims agree on; of equals, the smallest."""
    claims = tables["ranks"].filter(pl.col("rank").is_not_null())
    if not claims.height:
        return pl.DataFrame(schema=SCHEMA)
    claims = _with_short_hosts(claims).with_columns(pl.col("pci").str.to_lowercase())
    smallest, largest = pl.col(COLUMNS).min(), pl.col(COLUMNS).max().name.suffix("_largest")
    result = claims.group_by("rank").agg(pl.col("how").drop_nulls().unique().sort(), smallest, largest).sort("rank")
    contested = result.select((pl.col(column) != pl.col(f"{column}_largest")).any() for column in COLUMNS).row(0)
    result = result.select("rank", "how", *COLUMNS)
    for column in (column for column, is_contested in zip(COLUMNS, contested, strict=True) if is_contested):
        votes = (
            claims.filter(pl.col(column).is_not_null())
            .group_by("rank", column)
            .len()
            .with_columns(pl.col(column).cast(pl.String).str.contains(_HERE).alias("_is_here"))
            .sort("rank", "_is_here", "len", column, descending=[False, False, True, False])
            .unique("rank", keep="first", maintain_order=True)
        )
        result = result.drop(column).join(votes.select("rank", column), on="rank", how="left")
    return result.select(SCHEMA.keys()).sort("rank")


def rank_of_file(tables: Tables) -> pl.DataFrame:
    """file → rank, for files whose lines all speak for one rank and whose path says that they are one process's, in words or by
    its number (numbered_files.py). Both streams of a process, that torchrun keeps in one folder, speak for it.

    A `[Rank N]` counts only where nothing else speaks: the number may be that of another group. A file that quotes processes by their places is
    that of whoever began them."""
    parts = [
        tables[name].filter(pl.col("rank").is_not_null()).select("file", "rank").unique()
        for name in _SPEAKING
        if tables[name].height
    ]
    is_own = pl.col("rank").is_not_null() & (pl.col("rank_space") == "global")
    events = tables["events"].select("file", "rank", is_own.alias("own"), _is_printed().alias("printed"))
    events = events.unique().filter("own")
    parts.append(events.filter(~pl.col("printed")).select("file", "rank").unique())
    own = tables["files"].filter(pl.col("local_rank").is_not_null() | pl.col("rank").is_not_null())
    named = numbered_files(tables).rename({"rank": "_file"})
    if not own.height:
        return _without_quoted(named, tables["events"])
    own = own.select("file", pl.col("file").cast(pl.String).str.replace(_STREAM, "/").alias("_process"))
    sure = pl.concat(parts).join(own, on="file").select("_process", "rank").unique()
    printed = events.filter("printed").join(own, on="file").select("_process", "rank").unique()
    printed = printed.join(sure, on="_process", how="anti")
    speaking = pl.concat([sure, printed]).group_by("_process").agg(pl.col("rank").unique())
    speaking = speaking.filter(pl.col("rank").list.len() == 1)
    told = own.join(speaking, on="_process").select("file", pl.col("rank").list.first().alias("_file"))
    return _without_quoted(pl.concat([told, named]), tables["events"])


def _without_quoted(named: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Files with their ranks, without those of whoever began processes and quotes them by their places."""
    quotes = pl.col("local_rank").is_not_null() & pl.col("detail").str.contains('"relayed"')
    beginners = values(events.filter(quotes)["file"])
    return named.filter(~pl.col("file").is_in(sorted(beginners))) if beginners else named


def _is_printed() -> pl.Expr:
    """Whether the rank of an event is no more than a `[Rank N]` in its text."""
    number = pl.col("text").str.extract(r"\[Rank (\d{1,9})\]").cast(pl.Int64, strict=False)
    return (number == pl.col("rank")).fill_null(False)


def _unique_map(frame: pl.DataFrame, keys: list[str], name: str) -> pl.DataFrame:
    """keys → the rank that more than half of the claims agree on."""
    frame = frame.drop_nulls([*keys, "rank"]) if frame.height else frame
    if not frame.height:
        return frame.select(*keys, pl.col("rank").alias(name))
    votes = frame.group_by([*keys, "rank"]).len()
    return votes.filter(pl.col("len") * 2 > pl.col("len").sum().over(keys)).select(*keys, pl.col("rank").alias(name))


def _by_local(tables: Tables, claims: pl.DataFrame, identity: pl.DataFrame) -> pl.DataFrame:
    """local_rank → the rank, on a single host: as stated; else the same number, since all launchers count the processes of the
    first host from 0, where the whole world is known to run on one: every rank is placed there, a process counts itself the
    last of as many as the world has, or as many places print figures."""
    stated = _unique_map(claims, ["local_rank"], "_local")
    sizes = claims["world_size"].drop_nulls().unique()
    if not stated.height and not len(sizes) and (size := told_world(tables["settings"])) is not None:
        return _shown_locals(tables, size)
    if stated.height or len(sizes) != 1:
        return stated
    world = list(range(min(max(sizes[0], 1), RANKS)))
    placed = identity.filter(pl.col("host").is_not_null())["rank"].sort().to_list()
    if placed != world and tables["files"]["local_rank"].max() != world[-1]:
        return _shown_locals(tables, len(world))
    return pl.DataFrame({"local_rank": world, "_local": world}, schema={"local_rank": pl.Int64, "_local": pl.Int64})


def _shown_locals(tables: Tables, size: int) -> pl.DataFrame:
    """local_rank → the same rank, where just as many places on the one host print figures as the layout has processes."""
    shown = {local for name in ("steps", "values") for local in values(tables[name]["local_rank"])}
    known = sorted(shown) if shown == set(range(size)) else []
    return pl.DataFrame({"local_rank": known, "_local": known}, schema={"local_rank": pl.Int64, "_local": pl.Int64})


def _logs_of_others(tables: Tables, stated: pl.DataFrame) -> list[str]:
    """Files in which several local ranks speak as they do in the files that state which ranks these are, where the world is larger
    than what is stated, or in which other ranks speak: logs of other nodes, whose names nothing tells; and files that lie where another
    host's would, by a name of the same form."""
    claims = tables["ranks"].drop_nulls(["rank", "local_rank"])
    worlds = claims["world_size"].drop_nulls().to_list()
    if not stated.height or max(worlds, default=0) <= claims["rank"].n_unique():
        return []
    spoken = [
        tables[name].select(pl.col("file").cast(pl.String), "local_rank").drop_nulls()
        for name in RANKED
        if {"file", "local_rank"} <= set(tables[name].columns) and tables[name].height
    ]
    counts = pl.concat(spoken).unique().group_by("file").len() if spoken else pl.DataFrame({"file": [], "len": []})
    several = set(counts.filter(pl.col("len") > 1)["file"])
    stating = set(claims["file"].cast(pl.String))
    events = tables["events"].filter(pl.col("rank_space") == "global").select("file", "rank").drop_nulls().unique()
    foreign = set(events.filter(~pl.col("rank").is_in(claims["rank"].unique().implode()))["file"].cast(pl.String))
    elsewhere = _of_hosts_alike(tables["files"], {short_host(host) for host in values(claims["host"])})
    return sorted((several - stating if several & stating else set()) | ((foreign | elsewhere) - stating))


def _of_hosts_alike(files: pl.DataFrame, hosts: set[str]) -> set[str]:
    """Files whose path holds a name as a host's, with another number, and none of these: `trn-7/2/stderr.log` beside trn-12. A place counts its
    processes from 0, as every other does: what is known of one says nothing of the other."""
    shapes = {_DIGITS.sub("#", host) for host in hosts} - hosts
    found = set()
    for path in files["file"].cast(pl.String) if shapes else ():
        parts = {*_PARTS.split(path)}
        if not parts & hosts and shapes & {_DIGITS.sub("#", part) for part in parts}:
            found.add(path)
    return found


def _members(tables: Tables) -> pl.DataFrame:
    """group, its number for a member → the global rank, for groups whose name stands for one membership only."""
    if not tables["groups"].height:
        return pl.DataFrame(schema={"group": pl.String, "rank": pl.Int64, "_member": pl.Int64})
    stated = tables["groups"].filter((pl.col("members_space") == "global") & pl.col("group").is_not_null())
    stated = stated.filter(pl.col("members").list.len() > 0).select("group", "members").unique()
    single = stated.filter(pl.len().over("group") == 1)
    place = pl.int_ranges(pl.col("members").list.len(), dtype=pl.Int64)
    return single.with_columns(place.alias("rank")).explode("members", "rank").rename({"members": "_member"})


def _with_short_hosts(frame: pl.DataFrame) -> pl.DataFrame:
    """The same without domains behind the names of hosts."""
    changed = {name: short for name in values(frame["host"]) if (short := short_host(name)) != name}
    return frame.with_columns(pl.col("host").replace(changed)) if changed else frame


def _at_addresses(claims: pl.DataFrame) -> pl.DataFrame:
    """The claims, and those that tell an address and a process once more with the address as the name of their host."""
    told = claims.filter(pl.col("address").is_not_null() & pl.col("pid").is_not_null())
    told = told.filter((pl.col("host") != pl.col("address")).fill_null(True))
    return pl.concat([claims, told.with_columns(pl.col("address").cast(claims.schema["host"]).alias("host"))])


def _at_places(claims: pl.DataFrame, files: pl.DataFrame) -> pl.DataFrame:
    """The claims, and those of files that lie in a host's folder once more with that host: what stands before the lines may be the name of a
    container. Inside one, small numbers are counted anew."""
    hosts = {short_host(host) for host in files["host"].drop_nulls()}
    placed = {
        file: here.pop()
        for file in claims["file"].unique().drop_nulls()
        if len(here := hosts & {*file.split("/")}) == 1
    }
    told = claims.filter((pl.col("pid") >= _COUNTED_ANEW) & pl.col("file").cast(pl.String).is_in([*placed]))
    host = pl.col("file").cast(pl.String).replace_strict(placed, default=None)
    told = told.with_columns(host=host.cast(claims.schema["host"]))
    return pl.concat([claims, told])


def _numbers_of_two_places(tables: Tables, claims: pl.DataFrame) -> pl.DataFrame:
    """file, pid of processes whose lines tell their host in a file that tells none before lines of others, and of these: Ray's driver names every
    place but its own, and each place counts its processes on its own. What is known of the one says nothing of the other. A kernel's line,
    which was pasted there, is none that a process printed."""
    own = claims.filter((pl.col("how") == BEFORE_WORDS) & pl.col("pid").is_not_null())
    mixed = own.filter(pl.col("host").is_null())["file"].unique()
    if not len(mixed):
        return own.select("file", "pid").clear()
    events = tables["events"].filter(~pl.col("kind").is_in(_OF_KERNELS) & pl.col("file").is_in(mixed.implode()))
    said = [frame.select("file", "pid", pl.col("host").is_null().alias("here")).drop_nulls() for frame in (own, events)]
    placed = pl.concat([frame.with_columns(pl.col("file").cast(claims.schema["file"])) for frame in said])
    both = placed.group_by("file", "pid").agg(pl.col("here").n_unique())
    return both.filter(pl.col("here") > 1).select("file", "pid")


def _by_file_local(files: pl.DataFrame, by_host_local: pl.DataFrame) -> pl.DataFrame:
    """file, local_rank → the rank, of files whose path says that they are one host's."""
    placed = _with_short_hosts(files.select("file", "host").drop_nulls().unique("file"))
    whose = by_host_local.with_columns(pl.col("host").cast(pl.String))
    return placed.join(whose, on="host").select("file", "local_rank", pl.col("_host_local").alias("_file_local"))


def _counted_apart(by_host_pid: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    """Pids that hosts give to processes of different ranks, or one file in the same way: without its host such a number is nobody's, however often
    one of them is told."""
    own = claims.drop_nulls(["pid", "rank"]).group_by("file", "how", "pid").agg(pl.col("rank").n_unique())
    hosts = by_host_pid.group_by("pid").agg(pl.col("_host_pid").n_unique()).filter(pl.col("_host_pid") > 1)
    return pl.concat([hosts.select("pid"), own.filter(pl.col("rank") > 1).select("pid")])


def beside(frame: pl.DataFrame, told: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """The frame with the column that `told` tells of its keys, null where it tells nothing."""
    if not told.height:
        return frame.with_columns(
            pl.lit(None, kind).alias(name) for name, kind in told.schema.items() if name not in keys
        )
    if other := [pl.col(key).cast(frame.schema[key]) for key in keys if told.schema[key] != frame.schema[key]]:
        told = told.with_columns(other)
    return frame.join(told, on=keys, how="left", maintain_order="left")


def globalise(tables: Tables, identity: pl.DataFrame) -> dict[TableName, pl.DataFrame]:
    """Fill null ranks (and group-local ranks of events) where exactly one global rank fits. Returns new tables."""
    by_file = rank_of_file(tables)
    claims = _with_short_hosts(tables["ranks"])
    by_host_pid = _unique_map(_at_places(_at_addresses(claims), tables["files"]), ["host", "pid"], "_host_pid")
    apart = _numbers_of_two_places(tables, claims)
    of_one = claims.join(apart, on=["file", "pid"], how="anti") if apart.height else claims
    by_pid = _unique_map(of_one, ["pid"], "_pid").join(_counted_apart(by_host_pid, of_one), on="pid", how="anti")
    hostless = of_one.filter(pl.col("host").is_null() & (pl.col("how") != AT_HEADS))
    untold = hostless.join(claims.drop_nulls(["host", "pid"]), on=["rank", "pid"], how="anti")
    of_no_host = _unique_map(untold, ["pid"], "_elsewhere")
    documents = claims.filter((pl.col("how") == DOCUMENT) & pl.col("local_rank").is_null())
    by_name = _unique_map(documents, ["host"], "_named")
    by_group = _members(tables)
    hosts = identity["host"].drop_nulls().n_unique()
    by_local = _by_local(tables, claims, identity) if hosts <= 1 else None
    others = _logs_of_others(tables, by_local) if by_local is not None else []
    by_host_local = _unique_map(claims, ["host", "local_rank"], "_host_local")
    result = dict(tables)
    for name in RANKED:
        frame = tables[name]
        if not frame.height or "rank" not in frame.columns:
            continue
        has_process = {"host", "pid"} <= set(frame.columns)
        if has_process:
            frame = _with_short_hosts(frame)
        if name != "events" and not frame["rank"].null_count():
            result[name] = frame
            continue
        if name == "events":  # a number printed by a process group is not a global rank
            space = pl.col("rank_space")
            own = pl.when(space.is_null() | (space == "global")).then("rank")
            frame = frame.with_columns(_own=own, _printed=_is_printed())
        else:
            frame = frame.with_columns(pl.col("rank").alias("_own"))
        frame, fills = beside(frame, by_file, "file"), ["_file"]
        if has_process:
            for told, keys in ((by_host_pid, ("host", "pid")), (by_pid, ("pid",)), (of_no_host, ("pid",))):
                frame = beside(frame, told, *keys)
            # The same number on another host that speaks for itself is another process. So it is in what a kernel says:
            # its name is the host's, and in a container a process has another number than its kernel knows it by.
            is_other = pl.col("host").is_in(claims["host"].drop_nulls().unique().implode()).fill_null(False)
            if name == "events":
                elsewhere = pl.col("host").is_not_null() | _names_a_place()
                by_person = pl.col("detail").str.contains('"by": "person"').fill_null(False)
                is_other |= (pl.col("kind").is_in(_OF_KERNELS) | by_person) & elsewhere
            fitting = pl.when(is_other).then("_elsewhere").otherwise("_pid")
            frame = frame.with_columns(fitting.alias("_pid")).drop("_elsewhere")
            fills += ["_host_pid", "_pid"]
            if by_name.height:  # a kernel speaks of its host, not of who is called as it
                frame = beside(frame, by_name, "host")
                is_kernel = pl.col("kind").is_in(_OF_KERNELS) if name == "events" else pl.lit(False)
                frame = frame.with_columns(pl.when(~is_kernel).then("_named").alias("_named"))
                fills.append("_named")
        if name == "events":
            # What the file's own records say outvotes a number printed by a group, which may be stale.
            stale = pl.col("_printed") & pl.col("_file").is_not_null()
            # A launcher's own number of a process that says its rank itself: it counts all that it began.
            stale |= pl.col("kind").is_in(ENDS) & (pl.col("_host_pid") != pl.col("_own")).fill_null(False)
            frame = frame.with_columns(pl.when(~stale).then("_own").alias("_own")).drop("_printed")
            frame = beside(frame, by_group, "group", "rank")
            frame = frame.with_columns(pl.when(pl.col("rank_space") == "group").then("_member").alias("_member"))
            fills.append("_member")
        if has_process and "local_rank" in frame.columns:
            frame = beside(frame, by_host_local, "host", "local_rank")
            fills.append("_host_local")
        elif "local_rank" in frame.columns:  # rows without a host: their file may be one host's
            frame = beside(frame, _by_file_local(tables["files"], by_host_local), "file", "local_rank")
            fills.append("_file_local")
        if by_local is not None and "local_rank" in frame.columns:
            frame = beside(frame, by_local, "local_rank")
            if others:
                frame = frame.with_columns(_local=pl.when(~pl.col("file").cast(pl.String).is_in(others)).then("_local"))
            fills.append("_local")
        rank = pl.coalesce("_own", *fills)
        frame = frame.with_columns(given_rank(rank) if name == "events" else rank.alias("rank"))
        result[name] = frame.drop("_own", *fills)
    return result


def _names_a_place() -> pl.Expr:
    """Does a file's name hold a word with a number at its end, as names of hosts do (`login-07.dmesg`)? No record of the job prints it,
    else the rows would have that host: nothing ties them to the job's."""
    name = pl.col("file").cast(pl.String).str.extract(r"([^/]+)$", 1)
    return name.str.contains(_PLACE).fill_null(False) & ~name.str.contains(_NO_PLACE)


def names_a_place(path: str) -> bool:
    """The same of a path, its folders included."""
    return any(_IS_PLACE.match(part) and not _IS_NO_PLACE.match(part) for part in path.split("/"))


HIGHEST_RANK = "the highest rank in groups and failure tables"  # the least size that the job can have


def world(tables: Tables, identity: pl.DataFrame, given: int | None) -> tuple[frozenset[int], str | None]:
    """(ranks the job should have, how that was learnt): what the person says, else the world size most ranks claim, else the
    members of global groups and failure tables. Empty, null: unknown."""
    if given:
        return frozenset(range(given)), "the person"
    sizes = identity["world_size"].drop_nulls()
    # Of processes whose rank is not told; an argument that those who speak do not fit in is another program's.
    if not len(sizes):
        spoke = values(pl.concat([one["rank"].cast(pl.Int64) for one in (identity, tables["files"], tables["steps"])]))
        fits = (pl.col("how") != "argument").fill_null(True) | (pl.col("world_size") > max(spoke, default=-1))
        sizes = tables["ranks"].filter(fits)["world_size"].drop_nulls()
    if len(sizes):
        return frozenset(range(max(sizes.mode().to_list()))), "the world size that ranks or their launcher print"
    printed = tables["settings"].filter(pl.col("name").str.to_lowercase() == "world_size")["value"]
    sizes = printed.str.extract(r"^(\d{1,7})$").cast(pl.Int64).drop_nulls() if len(printed) else sizes
    if len(sizes) and 0 < (size := max(sizes.mode().to_list())) <= RANKS:
        return frozenset(range(size)), "the arguments that the job printed"
    named = values(tables["ranks"].filter(pl.col("how") == "elastic failure table")["rank"])
    if tables["groups"].height:
        stated = tables["groups"].filter(pl.col("members_space") == "global")
        whole = stated.filter(pl.col("desc") == "default_pg")
        if whole.height:
            return frozenset(values(whole["members"].explode())), "the members of the default group"
        named |= values(stated["members"].explode())
    return (frozenset(range(max(named) + 1)), HIGHEST_RANK) if named else (frozenset(), None)


_RECORDS: tuple[TableName, ...] = ("operations", "progress", "stacks", "tensors", "steps", "groups")


def unread_ranks(tables: Tables, identity: pl.DataFrame, seen: frozenset[int], told: frozenset[int]) -> frozenset[int]:
    """Ranks that are not among `seen`, but a file of which is in the bundle, though no word in it is understood: it is not
    empty, its path tells the rank, no record in it is of another one (contract, rule 24).

    `told`: the job, if its size is told; a number beyond it is no rank."""
    files = tables["files"].filter(pl.col("bytes") > 0).select("file", "rank", "local_rank")
    files = files.filter(pl.any_horizontal(pl.col("rank", "local_rank").is_not_null()))
    hosts = identity["host"].drop_nulls().n_unique() if identity.height else 0
    by_local = _by_local(tables, tables["ranks"], identity) if hosts <= 1 and files["local_rank"].count() else None
    if by_local is not None:
        files = beside(files, by_local, "local_rank")
        files = files.with_columns(pl.coalesce("rank", "_local").alias("rank"))
    files = files.drop_nulls("rank").filter(~pl.col("rank").is_in(sorted(seen)))
    files = files.filter(pl.col("rank").is_in(sorted(told))) if told else files
    if not files.height:
        return frozenset()
    names = files["file"].to_list()
    heard = pl.concat(
        tables[name]
        .filter(pl.col("file").is_in(names) & pl.col("rank").is_not_null())
        .select(pl.col("file").cast(pl.String))
        for name in (*_RECORDS, "ranks", "events")
    ).unique()
    return frozenset(files.join(heard, on="file", how="anti")["rank"].to_list())


def _told_at_once(told: pl.DataFrame) -> list[str]:
    """Files in which each of 0 … N-1, three at least, tells figures of the same three steps or more."""
    each = told.drop_nulls(["file", "rank", "step"]).group_by(pl.col("file").cast(pl.String), "rank")
    of_ranks = each.agg(_steps=pl.col("step").unique().sort())
    files = of_ranks.group_by("file").agg(
        pl.col("rank").max() + 1 == pl.len(), pl.len().alias("_many"), pl.col("_steps").n_unique().alias("_ways"),
        pl.col("_steps").list.len().min().alias("_fewest"),
    )  # fmt: skip
    are_at_once = pl.col("rank") & (pl.col("_many") > 2) & (pl.col("_ways") == 1) & (pl.col("_fewest") > 2)
    return files.filter(are_at_once)["file"].to_list()


def seen_ranks(tables: Tables) -> frozenset[int]:
    """Ranks with a record of their own: a dump, a stack, statistics, or lines that they printed."""
    seen: set[int] = set()
    for name in _RECORDS:
        if tables[name].height:
            seen |= values(tables[name]["rank"])
    # Of other figures only where a launcher told whose they are, all of a file are of one, steps stand there, too, or all tell the same steps: a
    # field called rank may be that of a ranking.
    if tables["values"].height:
        is_alone = pl.col("rank").drop_nulls().n_unique().over("file") == 1
        beside = pl.col("file").is_in(tables["steps"].filter(pl.col("rank").is_not_null())["file"].unique().implode())
        at_once = pl.col("file").cast(pl.String).is_in(_told_at_once(tables["values"]))
        own_figures = tables["values"].filter(pl.col("local_rank").is_not_null() | is_alone | beside | at_once)
        seen |= values(own_figures["rank"])
    own = tables["events"].filter((pl.col("rank_space") == "global") & ~pl.col("kind").is_in(ENDS))
    seen |= values(own["rank"])
    claims = tables["ranks"].filter(~pl.col("how").is_in(["elastic failure table", LAUNCHED, COMPUTED]))
    return frozenset(seen | values(claims["rank"]))
