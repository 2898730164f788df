"""Columns of the `operations` table from the entries of a flight recorder dump: the hot path.

A job of 10,240 ranks brings twenty million entries, so there is no dict or call per entry and column beyond what types
force: values are transposed once, shapes and frames are turned into text or rows once per distinct value, and a column
goes to polars as it is; only where polars objects (a value of the wrong type) it is cleaned value by value.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

import msgspec
import polars as pl

from parsers.pytorch.flight_rows import NUMBERS, Rows
from parsers.schema.tables import stack_text
from parsers.text.patterns import regex

MAX_TEXT = 1_000  # longer names are cut: one text may be shared by every entry
MAX_TENSORS = 4_096
MAX_DIMS = 64
MAX_FRAMES = 2_000_000  # of one dump, all entries together
_INT64 = 1 << 63
_DIGITS = 20  # of the longest number of 64 bits, with its sign
_PAIR = 2

OPERATION_KEYS = (
    "pg_id", "op_id", "collective_seq_id", "p2p_seq_id", "seq_id", "timeout_ms", "time_created_ns",
    "time_discovered_started_ns", "time_discovered_completed_ns", "is_p2p", "retired", "duration_ms", "state",
    "thread_id", "thread_name", "process_group", "profiling_name", "input_sizes", "input_dtypes", "output_sizes",
    "output_dtypes", "frames",
)  # fmt: skip

_TOLD = tuple(key for key in OPERATION_KEYS if key not in NUMBERS)

_TIMES = {
    "created": "time_created_ns", "started": "time_discovered_started_ns", "completed": "time_discovered_completed_ns",
}  # fmt: skip

# Names under which the backends record an operation, where they differ from the plain one.
_KINDS = {
    "_all_gather_base": "all_gather",
    "_allgather_base": "all_gather",
    "allgather": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "all_gather_into_tensor_coalesced": "all_gather",
    "all_gather_single": "all_gather",  # torch 2.13 and later
    "all_gather_single_coalesced": "all_gather",
    "_reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "reduce_scatter_single": "reduce_scatter",
    "reduce_scatter_single_coalesced": "reduce_scatter",
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "all_reduce_coalesced": "all_reduce",
    "all_reduce_sparse": "all_reduce",
    "all_reduce_barrier": "barrier",
    "_all_to_all_base": "all_to_all",
    "all_to_all_base": "all_to_all",
    "all_to_all_single": "all_to_all",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all",
    "_broadcast_oop": "broadcast",
    "_reduce_oop": "reduce",
}
_POINT = regex(r"(send|recv) \d+\s*(?:->|<-)\s*(\d{1,9})")


def int_or_none(value: object) -> int | None:
    """An integer of 64 bits, given as int or as text."""
    if isinstance(value, str) and len(value) <= _DIGITS and value.isascii() and value.removeprefix("-").isdigit():
        value = int(value)
    return value if type(value) is int and -_INT64 <= value < _INT64 else None


def group_of(value: object) -> tuple[str | None, str | None]:
    """(name, desc) of an entry's `process_group`; empty texts are null."""
    if not isinstance(value, tuple | list) or len(value) != _PAIR:
        return None, None
    name, desc = (text[:MAX_TEXT] if type(text) is str and text else None for text in value)
    return name, desc


def _groups(values: Sequence[Any]) -> list[tuple[str | None, str | None]]:
    """`group_of` each; of pairs of texts, which they are, each distinct one is looked at once."""
    if set(map(type, values)) == {tuple} and set(map(type, chain.from_iterable(values))) <= {str}:
        return list(map({value: group_of(value) for value in set(values)}.__getitem__, values))
    return list(map(group_of, values))


def split_name(value: object) -> tuple[str | None, str | None, int | None]:
    """(backend, kind, group-local peer) of a `profiling_name`: "nccl:send 0->1" → ("nccl", "send", 1)."""
    if not isinstance(value, str) or not value:
        return None, None, None
    backend, colon, name = value[:MAX_TEXT].partition(":")
    if not colon:
        backend, name = "", backend
    if found := _POINT.fullmatch(name):
        return backend or None, found[1], int(found[2])
    return backend or None, _KINDS.get(name, name) or None, None


def operation_columns(entries: Sequence[Mapping[Any, Any]]) -> tuple[pl.DataFrame, list[str]]:
    """Columns, and notes on what was left out."""
    values = _transposed(entries, OPERATION_KEYS)
    told, notes = _told(values, MAX_FRAMES)
    return _whole(pl.DataFrame(told), values), notes


def picked_columns(dumps: Sequence[Rows]) -> pl.DataFrame:
    """Columns of dumps of which each is `is_bearable`, one after the other."""
    values = _transposed([form for rows in dumps for form in rows.forms], _TOLD)
    told, _ = _told(values, MAX_FRAMES * len(dumps))
    firsts = accumulate((len(rows.forms) for rows in dumps), initial=0)
    picks = [pl.Series(rows.picks, dtype=pl.UInt32) + first for rows, first in zip(dumps, firsts, strict=False)]
    numbers = {key: list(chain.from_iterable(rows.numbers[key] for rows in dumps)) for key in NUMBERS}
    return _whole(pl.DataFrame(told)[pl.concat(picks)], numbers)


def is_bearable(rows: Rows) -> bool:
    """Whether no more frames are in all entries together than are read."""
    lengths = [len(stack) if isinstance(stack := form.get("frames"), list) else 0 for form in rows.forms]
    most = max(lengths, default=0) * len(rows.picks)
    return most <= MAX_FRAMES or sum(map(lengths.__getitem__, rows.picks)) <= MAX_FRAMES


def _transposed(entries: Sequence[Mapping[Any, Any]], keys: Sequence[str]) -> dict[str, Sequence[Any]]:
    listed = [list(map(entry.get, keys)) for entry in entries]
    return dict(zip(keys, zip(*listed, strict=True), strict=True))


def _whole(told: pl.DataFrame, counted: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    return told.hstack(_counted(counted)).select(*told.columns, "op_id", "duration_ms", **_from_counted())


def _counted(values: Mapping[str, Sequence[Any]]) -> list[pl.Series]:
    """What differs from entry to entry, under its own name."""
    floats = _floats(values["duration_ms"]).alias("duration_ms")
    return [_integers(values[key]).alias(key) for key in NUMBERS if key != floats.name] + [floats]


def _from_counted() -> dict[str, pl.Expr]:
    """Columns out of `_counted`: one count serves both kinds in the oldest schema, JSON dumps write 0 for "never"."""
    collective, peer_to_peer = (pl.coalesce(key, "seq_id") for key in ("collective_seq_id", "p2p_seq_id"))
    times = {f"time_{word}_ns": pl.col(key) for word, key in _TIMES.items()}
    return {
        "seq": pl.when(pl.col("is_p2p").fill_null(value=False)).then(peer_to_peer).otherwise(collective),
        **{name: pl.when(time > 0).then(time) for name, time in times.items()},
    }


def _told(values: Mapping[str, Sequence[Any]], most_frames: int) -> tuple[dict[str, pl.Series], list[str]]:
    """Columns of what entries share."""
    groups = _groups(values["process_group"])
    texts = [value if type(value) is str else None for value in values["profiling_name"]]
    names = {text: split_name(text) for text in set(texts)}
    split = [names[text] for text in texts]
    stacks, notes = _stacks(values["frames"], most_frames)
    shapes = {key: _as_json(values[key]) for key in OPERATION_KEYS if key.endswith(("_sizes", "_dtypes"))}
    threads = _texts(values["thread_id"])
    columns = {
        "pg_id": _integers(values["pg_id"]),
        "group": _texts([pair[0] for pair in groups]),
        "desc": _texts([pair[1] for pair in groups]),
        "backend": _texts([part[0] for part in split]),
        "kind": _texts([part[1] for part in split]),
        "peer": _integers([part[2] for part in split]),
        "is_p2p": _booleans(values["is_p2p"]),
        **shapes,
        "state": _texts(values["state"]),
        "retired": _booleans(values["retired"]),
        "timeout_ms": _integers(values["timeout_ms"]),
        "thread": threads.fill_null(_texts(values["thread_name"])),
        "stack": stacks,
    }
    return columns, notes


def _integers(values: Sequence[Any]) -> pl.Series:
    # polars takes True for 1 and 1.0 for 1: only a column of nothing but int and null may pass unlooked at
    if set(map(type, values)) <= {int, type(None)}:
        try:
            return pl.Series(values, dtype=pl.Int64, strict=True)
        except (TypeError, OverflowError, ValueError, pl.exceptions.PolarsError):
            pass  # beyond 64 bits
    return pl.Series([int_or_none(value) for value in values], dtype=pl.Int64)


def _booleans(values: Sequence[Any]) -> pl.Series:
    return pl.Series([value if type(value) is bool else None for value in values], dtype=pl.Boolean)


def _floats(values: Sequence[Any]) -> pl.Series:
    if set(map(type, values)) <= {type(None)}:
        return pl.Series(values, dtype=pl.Float64)
    fits = [float(value) if type(value) is float or int_or_none(value) is not None else None for value in values]
    return pl.Series(fits, dtype=pl.Float64)


def _texts(values: Sequence[Any]) -> pl.Series:
    if set(map(type, values)) <= {str, type(None)} and all(len(value) <= MAX_TEXT for value in set(values) if value):
        plain = [_encodable(value) or None for value in values] if _odd(values) or "" in values else values
        return pl.Series(plain, dtype=pl.String)
    cleaned = [_encodable(value[:MAX_TEXT]) if isinstance(value, str) and value else None for value in values]
    return pl.Series(cleaned, dtype=pl.String)


def _odd(values: Sequence[Any]) -> bool:
    """True if a text holds half of a surrogate pair, which UTF-8 has no place for."""
    try:
        "".join(filter(None, set(values))).encode()
    except UnicodeEncodeError:
        return True
    return False


def _encodable(value: str | None) -> str | None:
    return None if value is None else value.encode("utf-8", "replace").decode()


def _as_json(values: Sequence[Any]) -> pl.Series:
    """Lists of shapes or type names as JSON text; each distinct object, empty or one-tensor list is looked at once."""
    keys: list[Any] = list(map(id, values))  # all values are alive, so an identity stands for one of them
    short = [at for at, value in enumerate(values) if type(value) is list and len(value) < 2]
    only = [values[at][0] for at in short if values[at]]
    kinds = set(map(type, only))
    is_shape = kinds == {list} and max(map(len, only)) <= MAX_DIMS
    is_shape = is_shape and set(map(type, chain.from_iterable(only))) <= {int}
    if is_shape or kinds == {str}:
        plain = iter(map(tuple, only) if is_shape else only)
        for at in short:
            keys[at] = next(plain) if values[at] else None
    known = {key: _json_text(value) for key, value in dict(zip(keys, values, strict=True)).items()}
    return pl.Series(list(map(known.__getitem__, keys)), dtype=pl.String)


def _json_text(value: object) -> str | None:
    if isinstance(value, str):
        value = _listed(value)
    if not isinstance(value, list | tuple) or len(value) > MAX_TENSORS or not all(map(_is_tensor, value)):
        return None
    try:
        return msgspec.json.encode(value).decode()
    except (msgspec.MsgspecError, OverflowError, ValueError, RecursionError):
        return None


def _listed(text: str) -> Any:
    """The oldest schema has plain text where later ones have lists."""
    if len(text) > MAX_TENSORS:
        return None
    try:
        return msgspec.json.decode(text) if text.startswith("[") else [text]
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None


def _is_tensor(item: object) -> bool:
    """A shape, or the name of a type, of bearable size."""
    if isinstance(item, list | tuple):
        return len(item) <= MAX_DIMS and set(map(type, item)) <= {int}
    return isinstance(item, int) or (isinstance(item, str) and len(item) <= MAX_TEXT)


def _stacks(values: Sequence[Any], most: int) -> tuple[pl.Series, list[str]]:
    """Stacks as JSON text, innermost frame first, as the dump has them; distinct ones are made once and then gathered."""
    if set(map(type, values)) <= {type(None)}:
        return pl.Series(values, dtype=pl.Categorical), []
    totals = list(accumulate(len(value) if isinstance(value, list) else 0 for value in values))
    is_cut = bool(totals) and totals[-1] > most
    if is_cut:
        values = [value if total <= most else None for value, total in zip(values, totals, strict=True)]
    keys = [tuple(map(id, value)) if isinstance(value, list) else () for value in values]
    frames: dict[int, tuple[str | None, str | None, int | None]] = {}
    texts: dict[tuple[int, ...], str | None] = {(): None}
    for key, value in dict(zip(keys, values, strict=True)).items():
        if key:
            frames.update((id(frame), _frame(frame)) for frame in value if id(frame) not in frames)
            texts[key] = stack_text(map(frames.__getitem__, key))
    places = dict(zip(texts, range(len(texts)), strict=True))
    notes = [f"frames beyond the first {most} were left out"] if is_cut else []
    return pl.Series(list(texts.values()), dtype=pl.Categorical).gather(list(map(places.__getitem__, keys))), notes


def _frame(value: object) -> tuple[str | None, str | None, int | None]:
    """(function, file, line)."""
    known = value if isinstance(value, dict) else {}
    function, file = (
        _encodable(text[:MAX_TEXT]) if isinstance(text := known.get(key), str) and text else None
        for key in ("name", "filename")
    )
    return function, file, int_or_none(known.get("line"))
