"""The schema of every evidence table: the one place that says which columns exist.

Conventions: plural names; a unit in the column name where there is one (``_ns``, ``_ms``, ``_bytes``); null means "not observed", never 0, "" or -1; every row
says where it came from: ``file`` (path inside the bundle) and ``line`` (1-based, text) or ``record`` (0-based index of an entry in a structured file).
A row of ``operations`` takes some 90 bytes: texts are categories, and a column of one value takes nothing (`conform`).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal, cast, get_args

import msgspec
import polars as pl

from parsers.schema.literals import only_values

TableName = Literal[
    "files", "ranks", "groups", "links", "operations", "progress", "transfers", "stacks", "tensors",
    "steps", "values", "timings", "events", "settings", "devices", "locations", "unread", "claimed",
]  # fmt: skip
_FEW = 64  # rows of a table whose empty columns are shared
_AS_DICTS = 20_000  # rows at most that wait for their table as they are
_AT_ONCE = 1000  # rows of a table that is made of them as they are
TABLE_NAMES: tuple[TableName, ...] = get_args(TableName)
Tables = Mapping[TableName, pl.DataFrame]
Schema = Mapping[str, pl.DataType]

_TEXT, _INT, _FLOAT, _BOOL = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
_WORD = pl.Categorical()  # a text that many rows share: four bytes a row, and the text once
_INTS, _TEXTS = pl.List(_INT), pl.List(_TEXT)
_PLACE: Schema = {"file": _TEXT, "line": _INT, "record": _INT}
FRAME = pl.Struct({"function": pl.String(), "file": pl.String(), "line": pl.Int64()})

SCHEMAS: Mapping[TableName, Schema] = {
    # One row per member of the bundle. `parsers` names who recognised it; empty = nobody.
    "files": {
        "file": _TEXT,
        "bytes": _INT,
        "parsers": _TEXTS,
        "lines": _INT,
        "recognised": _INT,
        "rank": _INT,  # what the path says, see parser.Source
        "local_rank": _INT,
        "host": _TEXT,
        "attempt": _INT,
        "launch": _TEXT,  # job or run id from the path
        "time_first_ns": _INT,
        "time_last_ns": _INT,
        "templates": _TEXTS,  # commonest lines nobody recognised, digits replaced by #, as "count × template"
        "last_lines": _TEXTS,  # of a log, as they stand, blank ones too: the last of them is line `lines`
    },
    # Claims who is who; several may contradict. `how` says which record made the claim.
    "ranks": {
        "rank": _INT,
        "host": _TEXT,
        "pid": _INT,
        "local_rank": _INT,
        "device_index": _INT,
        "pci": _TEXT,  # lower case dddd:bb:dd.f or dddd:bb:dd
        "uuid": _TEXT,
        "address": _TEXT,  # ip or ip<port> this rank listens on
        "name": _TEXT,  # what its launcher calls the process: a program, a unit, a service, an actor
        "world_size": _INT,
        "tp": _INT,
        "pp": _INT,
        "dp": _INT,
        "ep": _INT,
        "cp": _INT,
        "how": _TEXT,
        **_PLACE,
    },
    # Claims of membership, as the reporting rank has them.
    "groups": {
        "rank": _INT,  # reporter, global
        "pg_id": _INT,  # the reporter's own running number
        "group": _TEXT,  # name, as printed
        "desc": _TEXT,
        "members": _INTS,  # in group order; a long list that many ranks state under one name stands with the first of them
        "members_space": _TEXT,  # "global" | "group"
        "size": _INT,
        "comm": _TEXT,  # communicator id (commId, commHash) where the source has one
        "backend": _TEXT,
        "how": _TEXT,
        **_PLACE,
    },
    # Who is connected to whom inside a communicator, as a library set it up.
    "links": {
        "rank": _INT,  # reporter, global
        "host": _TEXT,
        "pid": _INT,
        "device_index": _INT,
        "comm": _TEXT,  # host:pid:pointer
        "channel": _INT,
        "group_rank": _INT,  # this end, counted in the communicator
        "peer_group_rank": _INT,  # the other end
        "direction": _TEXT,  # send | receive | ring_previous | ring_next | tree_up | tree_down
        "transport": _TEXT,  # NET/IB/0/GDRDMA, P2P/IPC, SHM/direct/direct, …; null for rings and trees
        **_PLACE,
    },
    # Collectives and point-to-point, one row per rank and operation, in the order of recording.
    "operations": {
        "rank": _INT,
        "host": _WORD,
        "pid": _INT,
        "comm": _WORD,
        "pg_id": _INT,
        "group": _WORD,
        "desc": _WORD,
        "backend": _WORD,  # nccl, mccl, gloo, …
        "seq": _INT,  # collective_seq_id, or p2p_seq_id where is_p2p
        "op_id": _INT,
        "is_p2p": _BOOL,
        "kind": _WORD,  # all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send, recv, barrier, coalesced, …
        "peer": _INT,  # the other end, group-local rank
        "root": _INT,  # group-local
        "input_sizes": _WORD,  # JSON text
        "input_dtypes": _WORD,
        "output_sizes": _WORD,
        "output_dtypes": _WORD,
        "state": _WORD,  # scheduled | started | completed, as the source says
        "retired": _BOOL,
        "time_created_ns": _INT,
        "time_started_ns": _INT,
        "time_completed_ns": _INT,
        "duration_ms": _FLOAT,
        "timeout_ms": _INT,
        "thread": _WORD,
        "stack": _WORD,  # JSON text: [[function, file, line], …], innermost first
        "file": _WORD,
        "line": _INT,
        "record": _INT,
    },
    # Counters per rank and group. scope: "all" = collectives and point-to-point in one count (NCCL), else "collective".
    "progress": {
        "rank": _INT,
        "pg_id": _INT,
        "group": _TEXT,
        "desc": _TEXT,
        "scope": _TEXT,
        "last_enqueued": _INT,
        "last_started": _INT,
        "last_completed": _INT,
        "time_ns": _INT,
        "how": _TEXT,
        **_PLACE,
    },
    # How far the transfers inside an operation are, per rank, channel and way. Counts are of steps since it began.
    "transfers": {
        "rank": _INT,
        "host": _TEXT,
        "pid": _INT,
        "comm": _TEXT,
        "group": _TEXT,  # name or description
        "seq": _INT,  # as operations.seq
        "op_count": _INT,  # NCCL's own number, as printed: collectives even, messages odd
        "channel": _INT,
        "peer": _INT,  # the other end, group-local rank
        "direction": _TEXT,  # send | recv; null where the source does not tell
        "state": _TEXT,  # ready | progress | posting | receiving | flushing | waiting_for_device | sending | done
        "total": _INT,
        "posted": _INT,  # buffers offered
        "received": _INT,  # arrived from the network
        "transmitted": _INT,  # send: handed to the network; recv: handed to the device
        "done": _INT,  # send: the network says that it is out; recv: the device has taken it
        "time_ns": _INT,
        **_PLACE,
    },
    # One row per thread and snapshot.
    "stacks": {
        "rank": _INT,
        "local_rank": _INT,
        "host": _TEXT,
        "pid": _INT,
        "parent_pid": _INT,
        **dict.fromkeys(("thread", "thread_name"), _TEXT),
        "is_main": _BOOL,
        "status": _TEXT,  # active, idle, stopped, as printed
        "program": _TEXT,  # what a table of processes says that it runs
        "snapshot": _INT,  # 0, 1, … within one file and process
        "cpu_s": _INT,  # that a table of processes says it has used since it began
        "time_ns": _INT,
        "count": _INT,  # processes that share this stack, where the source is already grouped
        "frames": pl.List(FRAME),  # innermost first
        "peer": _INT,  # the other end, global, of the innermost send or receive whose arguments are shown
        "numbers": _TEXT,  # that variables of its frames hold, the innermost of each name, as JSON
        "source": _TEXT,  # py-spy, faulthandler, gdb, …
        **_PLACE,
    },
    # Tensor statistics, contract.md version 1. Values are NaN/Inf where the source says so.
    "tensors": {
        "rank": _INT,
        "step": _INT,
        "seq": _INT,
        "microbatch": _INT,
        "chunk": _INT,
        "phase": _TEXT,
        "module": _TEXT,
        "op": _TEXT,
        "tensor": _TEXT,
        "dtype": _TEXT,
        "shape": _TEXT,
        "numel": _INT,
        "min": _FLOAT,
        "max": _FLOAT,
        "mean": _FLOAT,
        "l2norm": _FLOAT,
        "absmax": _FLOAT,
        "nan_count": _INT,
        "inf_count": _INT,
        "checksum": _TEXT,
        "timestamp": _FLOAT,
        "group": _TEXT,
        "group_ranks": _TEXT,  # global ranks in group order, as rank_list.rank_text writes them: "0-3,8"
        "call": _INT,
        "peer": _INT,
        "tag": _INT,
        "reduce_op": _TEXT,
        "attempt": _INT,
        "host": _TEXT,
        "device": _TEXT,
        "amax": _FLOAT,
        "scale": _FLOAT,
        "overflow_pct": _FLOAT,
        "underflow_pct": _FLOAT,
        "format": _TEXT,
        **_PLACE,
    },
    # Training progress lines.
    "steps": {
        "rank": _INT,
        "holder": _WORD,  # what its row is named after, where no name says a rank
        "local_rank": _INT,
        "step": _INT,
        "microbatch": _INT,
        "phase": _TEXT,  # train | eval | checkpoint | reduced (a bad loss of all, beside the own) | figures (names of which nothing is known) | mean (of a step, since the last such line) | part (a line that tells of a step and no figure, until assembled)
        "loss": _FLOAT,
        "loss_seen": _BOOL,  # False: the line has the place for a loss, but no loss
        "grad_norm": _FLOAT,
        "loss_scale": _FLOAT,
        "learning_rate": _FLOAT,
        "checksum": _TEXT,  # name=value of what replicas hold in common, apart by spaces
        "figures": _TEXT,  # the same of names of which nothing is known, where no loss is told
        "parts": _INT,  # lines of that file that tell of the step, and no figure
        "skipped": _INT,
        "nan_iterations": _INT,
        "elapsed_ms": _FLOAT,
        "tflops": _FLOAT,
        "per_s": _FLOAT,  # samples or tokens in a second, whichever is printed
        "samples": _INT,
        "tokens": _INT,
        "framework": _TEXT,
        "time_ns": _INT,
        "time_basis": _TEXT,
        **_PLACE,
    },
    # Which of the figures of a record or a line were numbers, whatever they are called: to be compared with the same of other ranks.
    "values": {
        "rank": _INT,
        "holder": _WORD,  # what its row is named after, where no name says a rank
        "local_rank": _INT,
        "step": _INT,  # null: none was told
        "microbatch": _INT,
        "of": _WORD,  # what the record or the line is of, by its other words
        "fine": _WORD,  # the names of those that were, apart by spaces; in a line their places
        "bad": _TEXT,  # name=value of the others: nan, inf, or a count of such
        "time_ns": _INT,
        "time_basis": _TEXT,
        **_PLACE,
    },
    # Durations per rank, step and phase.
    "timings": {
        "rank": _INT,
        "host": _TEXT,
        "step": _INT,
        "phase": _TEXT,  # forward, backward, comm, optimizer, data, all, …
        "name": _TEXT,
        "level": _INT,
        "min_ms": _FLOAT,
        "max_ms": _FLOAT,
        "value_ms": _FLOAT,
        "start_ms": _FLOAT,  # when it began, on the one clock of its file; null where that is not told
        "min_rank": _INT,
        "max_rank": _INT,
        "tokens": _INT,  # how much work the rank was given there
        "time_ns": _INT,
        **_PLACE,
    },
    # Everything else that happened. `kind` is one of event_kinds.EVENT_KINDS.
    "events": {
        "time_ns": _INT,  # since 1970; a stamp without zone is read as UTC and says "local"
        "time_basis": _TEXT,  # utc | local | boot (nanoseconds since boot) | null
        "kind": _TEXT,
        "code": _TEXT,  # xid:94, exception class, exit code, signal name, CQE status, …
        "severity": _TEXT,  # info | warning | error | fatal
        "rank": _INT,
        "rank_space": _TEXT,  # global | group | node: what `rank` counts; null with a null rank
        "local_rank": _INT,
        "host": _TEXT,
        "pid": _INT,
        "pci": _TEXT,
        "device_index": _INT,
        "group": _TEXT,
        "seq": _INT,
        "op": _TEXT,
        "step": _INT,
        "value": _FLOAT,  # one number that belongs to the event, its unit in `detail`
        "names_ranks": _INTS,  # whom the line names (blamed, missing, lagging), not who prints it
        "names_rank_space": _TEXT,
        "names_hosts": _TEXTS,  # host names or addresses the line names
        "text": _TEXT,  # verbatim, without decoration, at most 2,000 characters
        "detail": _TEXT,  # JSON object with whatever else was read
        "attempt": _INT,
        **_PLACE,
    },
    "settings": {
        "name": _TEXT,
        "value": _TEXT,
        "scope": _TEXT,  # environment, argument, version, driver, …
        "rank": _INT,
        "host": _TEXT,
        "pid": _INT,
        **_PLACE,
    },
    # State of a device, host adapter or link, one metric per row.
    "devices": {
        "host": _TEXT,
        "pci": _TEXT,
        "device_index": _INT,
        "uuid": _TEXT,
        "rank": _INT,
        "metric": _TEXT,  # as printed
        "quantity": _TEXT,  # one of quantities.QUANTITIES, whose unit the value has
        "part": _TEXT,  # port or link of the device
        "value": _FLOAT,
        "text": _TEXT,
        "time_ns": _INT,
        **_PLACE,
    },
    # Where a host stands and what it hangs on: racks, switches, zones.
    "locations": {
        "host": _TEXT,
        "part": _TEXT,  # adapter or port that hangs there; null: the whole host
        "sort": _TEXT,  # switch | block | rack | zone | …, as the source calls it
        "name": _TEXT,
        "level": _INT,  # of switches: 0 is nearest to the host
        **_PLACE,
    },
    # What could not be read, and why. bytes = how many were lost.
    "unread": {"file": _TEXT, "line": _INT, "record": _INT, "bytes": _INT, "reason": _TEXT},
    # Lines that a parser understood though they made no row of their own (the middle of a traceback, boilerplate).
    "claimed": {"file": _TEXT, "line": _INT},
}


def stack_text(frames: Iterable[tuple[str | None, str | None, int | None]]) -> str:
    """`operations.stack` of frames as (function, file, line), innermost first."""
    return msgspec.json.encode(list(frames)).decode()


def stack_frames(text: str) -> list[tuple[str | None, str | None, int | None]]:
    """The frames of an `operations.stack`."""
    return msgspec.json.decode(text, type=list[tuple[str | None, str | None, int | None]])


@lru_cache(maxsize=4096)
def _nulls(kind: pl.DataType, count: int) -> pl.Series:
    return pl.Series([None] * count, dtype=kind)


@cache
def _empty(name: TableName) -> pl.DataFrame:
    return pl.DataFrame([_nulls(kind, 0).alias(column) for column, kind in SCHEMAS[name].items()])


def empty(name: TableName) -> pl.DataFrame:
    """An empty table with the declared schema."""
    return _empty(name).clone()


def table(name: TableName, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows given as dicts → a frame with exactly the declared columns; absent keys become null.

    For rare lines; hot formats build columns and call `conform`. An unknown key raises KeyError. A number beyond 64 bits
    becomes null, half of a surrogate pair a question mark: content may hold both, and neither fits a column."""
    schema = SCHEMAS[name]
    listed = list(rows)
    if not listed:
        return empty(name)
    present: set[str] = set()
    for row in listed:
        if not row.keys() <= present:
            present |= row.keys()
    if not present <= schema.keys():
        raise KeyError(f"{name} has no column {sorted(present - schema.keys())}")
    if len(listed) <= _AT_ONCE and (made := _of_plain(name, listed)) is not None:
        return made
    return pl.DataFrame(
        [_column(key, listed if key in present else (), kind, len(listed)) for key, kind in schema.items()]
    )


def tables_of(**made: Iterable[Mapping[str, Any]] | pl.DataFrame) -> dict[TableName, pl.DataFrame]:
    """Rows as `table` takes them, or a frame, each under the name of its table."""
    named = cast(Mapping[TableName, Iterable[Mapping[str, Any]] | pl.DataFrame], made)
    return {name: one if isinstance(one, pl.DataFrame) else table(name, one) for name, one in named.items()}


class Rows:
    """Rows of one table that come one by one, perhaps by the hundred thousand: dicts take ten times the memory of a frame."""

    def __init__(self, name: TableName) -> None:
        self._name: TableName = name
        self._rows: list[Mapping[str, Any]] = []
        self._frames: list[pl.DataFrame] = []

    def append(self, row: Mapping[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) == _AS_DICTS:
            self._put_away()

    def _put_away(self) -> None:
        self._frames.append(table(self._name, self._rows))
        self._rows = []

    def table(self) -> pl.DataFrame:
        """All of them."""
        self._put_away()
        return pl.concat(self._frames)


def _of_plain(name: TableName, rows: list[Mapping[str, Any]]) -> pl.DataFrame | None:
    """A frame of rows as they are, for a third of what it costs column by column, if each cell is just what its column holds:
    here polars would make a text of a number without a word."""
    kinds = _plain(name)
    if all(type(value) in kinds[key] for row in rows for key, value in row.items()):
        try:
            return pl.from_dicts(rows, schema=dict(SCHEMAS[name]))
        except (pl.exceptions.PolarsError, OverflowError, UnicodeError):  # beyond 64 bits, half of a surrogate pair
            return None
    return None


@cache
def _plain(name: TableName) -> Mapping[str, tuple[type, ...]]:
    """Column → types of the cells that it holds as they are; None alone where that is not plain."""
    none = type(None)
    known: dict[Any, tuple[type, ...]] = {
        pl.String: (str, none), pl.Int64: (int, none), pl.Float64: (float, int, none), pl.Boolean: (bool, none),
    }  # fmt: skip
    return {key: known.get(type(kind), (none,)) for key, kind in SCHEMAS[name].items()}


def _column(name: str, rows: Sequence[Mapping[str, Any]], kind: pl.DataType, count: int) -> pl.Series:
    """The column of that many rows, of which no others than `rows` hold anything in it. Most columns of most rows hold nothing:
    such a one is made once for all tables of a few rows."""
    values = [row.get(name) for row in rows]
    if values.count(None) == len(values):
        nulls = _nulls(kind, count) if count <= _FEW else pl.Series([None], dtype=kind).new_from_index(0, count)
        return nulls.alias(name)
    try:
        return pl.Series(name, values, dtype=kind, strict=True)
    except (TypeError, OverflowError, UnicodeError):
        return pl.Series(name, [_fitting(value) for value in values], dtype=kind, strict=True)


def _fitting(value: Any) -> Any:
    """A cell as a column can hold it; what is of the wrong type stays so, and is a defect of its parser."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    if isinstance(value, list | tuple):
        return [_fitting(item) for item in value]
    return {key: _fitting(item) for key, item in value.items()} if isinstance(value, dict) else value


def conform(name: TableName, frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with some of the declared columns → one with all, in order, cast; extra columns raise KeyError. A column that says one thing in all rows
    becomes a literal, which takes no memory, also where such tables are put together."""
    schema = SCHEMAS[name]
    if extra := set(frame.columns) - schema.keys():
        raise KeyError(f"{name} has no column {sorted(extra)}")
    if frame.columns and frame.is_empty():
        return empty(name)
    only = only_values(frame)
    told = set(frame.columns) - only.keys() or set(frame.columns[:1])  # literals alone are one row
    return frame.select(
        pl.col(key).cast(dtype) if key in told else pl.lit(only.get(key), dtype=dtype).alias(key)
        for key, dtype in schema.items()
    )


def size_of(tables: Tables) -> int:
    """Bytes that tables take in memory."""
    return sum(int(frame.estimated_size()) for frame in tables.values())


def spelled(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts in place of categories: what was narrowed, to stand beside other tables."""
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
