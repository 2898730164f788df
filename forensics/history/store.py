"""The file of a history: SQLite, one row per incident, host and device; what is added is there whole or not at all."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from forensics.model.hosts import short_host
from forensics.model.past import Past, PastIncident

_VERSION = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS incidents (
    id TEXT PRIMARY KEY, origin TEXT NOT NULL, bundle TEXT NOT NULL, attempt INTEGER NOT NULL, time_utc TEXT, kind TEXT NOT NULL, cause TEXT,
    status TEXT NOT NULL, signature TEXT NOT NULL, ranks TEXT NOT NULL, lost_gpu_hours REAL, summary TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS accused (
    incident TEXT NOT NULL REFERENCES incidents (id) ON DELETE CASCADE, how TEXT NOT NULL CHECK (how IN ('accused', 'suspected')),
    kind TEXT NOT NULL CHECK (kind IN ('host', 'device')), name TEXT NOT NULL, PRIMARY KEY (incident, how, kind, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS present (
    incident TEXT NOT NULL REFERENCES incidents (id) ON DELETE CASCADE, host TEXT NOT NULL, PRIMARY KEY (incident, host)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS known_bad (host TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_COLUMNS = (
    "id", "origin", "bundle", "attempt", "time_utc", "kind", "cause", "status", "signature", "ranks", "lost_gpu_hours", "summary",
)  # fmt: skip


class NotAHistory(Exception):
    """A file that is no history, or one that cannot be read or written."""


@contextmanager
def _opened(file: str | Path, *, write: bool) -> Iterator[sqlite3.Connection]:
    """A connection in one transaction: committed at the end, or nothing was done."""
    path = Path(file)
    try:
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
        uri = f"{path.resolve().as_uri()}?mode={'rwc' if write else 'ro'}"
        with closing(sqlite3.connect(uri, uri=True, timeout=30.0)) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            _check(connection, path, write)
            with connection:
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield connection
    except (sqlite3.Error, OSError) as error:
        raise NotAHistory(f"{file}: {getattr(error, 'strerror', None) or error}") from error


def _check(connection: sqlite3.Connection, path: Path, write: bool) -> None:
    """An empty file becomes a history; another program's database is left alone."""
    [version] = connection.execute("PRAGMA user_version").fetchone()
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if version != _VERSION and (names or not write):
        raise NotAHistory(f"{path}: not a history of forensics")
    if write and version != _VERSION:
        connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {_VERSION}; COMMIT;")


def add(file: str | Path, incidents: Sequence[PastIncident]) -> int:
    """Keeps incidents; how many of them were new. One that is there already is replaced by what is known now."""
    with _opened(file, write=True) as connection:
        new = 0
        for one in incidents:
            new += connection.execute("DELETE FROM incidents WHERE id = ?", (one.id,)).rowcount == 0
            values = [getattr(one, name) for name in _COLUMNS]
            places = ", ".join("?" * len(values))
            connection.execute(f"INSERT INTO incidents ({', '.join(_COLUMNS)}) VALUES ({places})", values)
            told = {"accused": one.accused, "suspected": one.suspected}
            rows = [(one.id, how, *thing) for how, things in told.items() for thing in things]
            connection.executemany("INSERT INTO accused VALUES (?, ?, ?, ?)", rows)
            hosts = [(one.id, host) for host in sorted({*one.hosts})]
            connection.executemany("INSERT INTO present VALUES (?, ?)", hosts)
        return new


def mark(file: str | Path, hosts: Iterable[str]) -> None:
    """Keeps hosts that a person calls bad."""
    with _opened(file, write=True) as connection:
        rows = [(short_host(host),) for host in hosts]
        connection.executemany("INSERT OR IGNORE INTO known_bad VALUES (?)", rows)


def recall(file: str | Path) -> Past:
    """Everything that is kept, oldest first."""
    with _opened(file, write=False) as connection:
        things: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for incident, how, kind, name in connection.execute("SELECT * FROM accused ORDER BY incident, how, kind, name"):
            things.setdefault((incident, how), []).append((kind, name))
        hosts: dict[str, list[str]] = {}
        for incident, host in connection.execute("SELECT * FROM present ORDER BY incident, host"):
            hosts.setdefault(incident, []).append(host)
        query = f"SELECT {', '.join(_COLUMNS)} FROM incidents ORDER BY time_utc IS NULL, time_utc, rowid"
        rows = [dict(zip(_COLUMNS, row, strict=True)) for row in connection.execute(query)]
        known_bad = [host for (host,) in connection.execute("SELECT host FROM known_bad ORDER BY host")]
    whole = [
        row | {
            "accused": things.get((row["id"], "accused"), []), "suspected": things.get((row["id"], "suspected"), []),
            "hosts": hosts.get(row["id"], []),
        }
        for row in rows
    ]  # fmt: skip
    try:
        return Past(incidents=msgspec.convert(whole, list[PastIncident]), known_bad=known_bad)
    except msgspec.ValidationError as error:
        raise NotAHistory(f"{file}: {error}") from error
