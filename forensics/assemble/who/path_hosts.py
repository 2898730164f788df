"""Whose host a file is from, by its path: names are matched against the hosts that the contents of the bundle know.

`kernel/gpu-045.dmesg`, `HOST.log`, `HOST-3.out`, `HOST/py-spy.40.out`: a word of a path is a host only because records print
that host; no list says what words are none. Every row of such a file that tells no host gets it.

Where no record prints it: folders side by side that each hold a file of one name, with the state of devices (ids that no other
of these folders shows), are named after their hosts; snapshots of one host show the same ids. So are folders that call themselves nodes or
hosts, each with files of other ranks.

Fooled by: a log that is named after one host and collects the lines of several, of which it prints none.
"""

from collections.abc import Iterable, Mapping

import polars as pl

from forensics.model.hosts import short_host, short_hosts
from forensics.model.told import values
from parsers.schema.tables import SCHEMAS, TABLE_NAMES, TableName, Tables, conform, spelled
from parsers.text.patterns import regex

# A map of the site names hosts of everybody: no record of any of them.
HOSTED: tuple[TableName, ...] = tuple(
    name for name in TABLE_NAMES if {"file", "host"} <= SCHEMAS[name].keys() and name != "locations"
)
_SPEAKING: tuple[TableName, ...] = tuple(name for name in HOSTED if "rank" in SCHEMAS[name] and name != "files")
_FOLDERS, _SIDES = 3, 2  # side by side
_CALLED = r"(?i)^(?:node|host)-[A-Za-z0-9][A-Za-z0-9.-]*$"
_IDS = ("port_guid", "node_guid", "uuid", "serial")
_WORD = regex(r"[A-Za-z0-9]+")


def with_hosts_of_paths(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Evidence tables → the same, null hosts filled where the path of their file names a host that records know."""
    called = _called_so(tables["files"])
    known, result = _known(tables) | _folders(tables["devices"]) | called, dict(tables)
    files = tables["files"].filter(pl.col("host").is_null())["file"].to_list() if known else []
    begins = {word[0] for host in known if (word := _WORD.match(host))}  # a path without any of these words names none
    named = [file for file in files if not begins.isdisjoint(_WORD.findall(file))]
    found = _of_one({file: host for file in named if (host := host_in(file, known)) is not None}, known)
    if not found:
        return result
    places = _agreeing(tables, pl.DataFrame({"file": list(found), "_host": list(found.values())}))
    for name in HOSTED:
        frame = tables[name]
        if places.height and frame["host"].null_count():
            told = places.select(pl.col("file").cast(frame.schema["file"]), pl.col("_host").cast(frame.schema["host"]))
            filled = frame.join(told, on="file", how="left", maintain_order="left")
            result[name] = filled.with_columns(pl.coalesce("host", "_host").alias("host")).drop("_host")
    own = result["files"].filter(pl.col("host").cast(pl.String).is_in(list(called)) & pl.col("rank").is_not_null())
    if own.height:  # that a rank's own file lies there says where it ran
        told = conform("ranks", own.select("rank", "host", "file", pl.lit("path").alias("how")))
        result["ranks"] = pl.concat([result["ranks"], told], how="vertical_relaxed")
    return result


def host_in(path: str, known: frozenset[str]) -> str | None:
    """The host (first label) that a path names, the file before its folders; null where one part names two."""
    for part in reversed(path.split("/")):
        found = set(_hosts_of(part, known))
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _of_one(found: Mapping[str, str], known: frozenset[str]) -> dict[str, str]:
    """Without files whose paths name another host as well, each another one: a log is of who keeps it, or of whom it is about. One that all name collected them."""
    several = {
        file: {one for part in file.split("/") for one in _hosts_of(part, known)} - {host}
        for file, host in found.items()
    }
    is_one = len(set().union(*several.values())) < _SIDES
    return {file: host for file, host in found.items() if is_one or not several[file]}


def _hosts_of(part: str, known: frozenset[str]) -> Iterable[str]:
    """Known hosts that stand between non-alphanumerics, the longest first, each character once."""
    words = [match.span() for match in _WORD.finditer(part)]
    taken: list[tuple[int, int]] = []
    for count in range(len(words), 0, -1):
        for (begin, _), (_, end) in zip(words, words[count - 1 :], strict=False):
            if part[begin:end] in known and all(end <= first or last <= begin for first, last in taken):
                taken.append((begin, end))
                yield part[begin:end]


def _known(tables: Tables) -> frozenset[str]:
    """First labels of the hosts that records print. A bare number is no name that a path could be told by."""
    names = {name for table in HOSTED for name in values(tables[table]["host"])}
    names |= set(tables["events"]["names_hosts"].explode().drop_nulls().to_list())
    return frozenset(short for name in names if (short := short_host(name)) and not short.isdigit())


def _folders(devices: pl.DataFrame) -> frozenset[str]:
    """Folders that can only be hosts' by the devices whose state lies in them."""
    if not devices.height:
        return frozenset()
    unplaced = devices.filter(pl.col("host").is_null())
    is_id = pl.col("metric").str.extract(r"([a-z_]+)$", 1).is_in(_IDS)
    told = [unplaced.filter(is_id).select("file", id="text"), unplaced.select("file", id="uuid")]
    ids = pl.concat(told).drop_nulls().unique()
    placed = ids.with_columns(
        folder=pl.col("file").str.extract(r"([^/]+)/[^/]+$", 1), beside=pl.col("file").str.replace(r"[^/]+/([^/]+)$", "*/$1")
    ).drop_nulls("folder")  # fmt: skip
    found: set[str] = set()
    for part in placed.partition_by("beside"):
        shared = part.group_by("id").agg(pl.col("folder").n_unique())["folder"].max()
        if part["folder"].n_unique() >= _FOLDERS and shared == 1:
            found |= {name for name in part["folder"].unique().to_list() if not name.isdigit()}
    return frozenset(found)


def _called_so(files: pl.DataFrame) -> frozenset[str]:
    """Folders side by side that call themselves nodes or hosts, each with files of ranks that no other one has: attempts would have the same."""
    if files["rank"].count() < _SIDES:
        return frozenset()
    ranked = files.filter(pl.col("rank").is_not_null()).select("rank", pl.col("file").cast(pl.String))
    folder = pl.col("file").str.extract(r"([^/]+)/[^/]+$", 1)
    beside = pl.col("file").str.replace(r"[^/]+/[^/]+$", "")
    placed = ranked.with_columns(folder=folder, beside=beside).filter(pl.col("folder").str.contains(_CALLED))
    placed = placed.unique(["rank", "folder", "beside"])
    found: set[str] = set()
    for part in placed.partition_by("beside"):
        names = set(part["folder"].to_list())
        if len(names) >= _SIDES and part["rank"].n_unique() == part.height:
            found |= names
    return frozenset(found)


def _agreeing(tables: Tables, places: pl.DataFrame) -> pl.DataFrame:
    """`places` (file, _host) without the files in which a row tells another host, or has a rank that others claim for
    other hosts only."""
    claims = tables["ranks"].select("rank", pl.col("host").alias("_claimed")).drop_nulls().unique()
    claims = claims.with_columns(short_hosts("_claimed")).group_by("rank").agg("_claimed")
    wrong: set[str] = set()
    for name in _SPEAKING:
        is_global = pl.col("rank_space") == "global" if name == "events" else pl.lit(True)
        said = tables[name].select("file", "host", pl.when(is_global).then("rank").alias("rank")).unique()
        rows = spelled(said).join(places, on="file", how="inner").join(claims, on="rank", how="left")
        is_other = (short_hosts() != pl.col("_host")) | ~pl.col("_claimed").list.contains(pl.col("_host"))
        wrong |= set(rows.filter(is_other)["file"])
    return places.filter(~pl.col("file").is_in(list(wrong)))
