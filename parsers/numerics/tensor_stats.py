"""Tensor statistics, version 1: the input that users write themselves (JSON Lines, CSV or Parquet).

One row per observed tensor, in program order of its rank; columns as in the table `tensors`. A JSON line::

    {"rank": 3, "step": 7, "phase": "forward", "module": "layers.1.mlp", "op": "Linear", "tensor": "output",
     "min": "-inf", "max": NaN, "nan_count": 4, "inf_count": 1, "shape": [8, [4, 4]]}

the same as CSV (an empty cell was not observed)::

    step,phase,module,op,tensor,absmax,nan_count
    7,forward,layers.1.mlp,Linear,output,nan,4

NaN and Inf may be numbers too large for a float, the tokens NaN and Infinity, or strings in any case. `rank` may come
from the file's name. Columns that the format does not have are left out and named in one `unread` row; a line that
cannot be read, such as a cut last one, costs only itself. Places: JSON and CSV rows have `line`; all have `record`.
Of files of more than 10,000 rows those are kept that an analysis needs: see stats_window.py.

Printed by: the user's own hooks, in the form that this project defines.
Versions: 1.
Source: this project's own definition of the format.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import msgspec
import polars as pl

from parsers.numerics import stats_parquet, stats_window
from parsers.numerics.stats_values import FIELDS, ROW, Row, cast_text, to_row
from parsers.parser import FileParser, Source
from parsers.rank_list import normal
from parsers.reading import csv_cells
from parsers.tables import SCHEMAS, Tables, conform, empty, table

_PARQUET = b"PAR1"
BLOCK_BYTES = 8 << 20
LINE_BYTES = 1 << 20  # a longer line is lost: no row of statistics is that long
_STATISTICS = {"min", "max", "mean", "l2norm", "absmax", "nan_count", "inf_count", "checksum", "amax"}
_TOKENS = [
    (b'":' + space + token, b'":"' + text + b'"')
    for token, text in ((b"NaN", b"nan"), (b"Infinity", b"inf"), (b"-Infinity", b"-inf"))
    for space in (b"", b" ")
]
_DECODER = msgspec.json.Decoder(ROW)
_UNREAD = dict[str, Any]


def accepts(path: str, head: bytes) -> bool:
    """JSON Lines or CSV with a step, a tensor or module, and a statistic; Parquet; an empty file named so."""
    if head.startswith(_PARQUET):
        return True
    if not head.strip():
        name = path.lower()
        return "tensor" in name and "stat" in name and not name.endswith((".log", ".txt"))
    if b"step" not in head:
        return False
    lines = head.split(b"\n", 8)[:8]
    if b'"step"' in head and any(_telling(_keys(line)) for line in lines):
        return True
    return _telling(_header(lines[0]))


def parse(source: Source) -> Tables:
    """Tables `tensors` and `unread`."""
    return together([source])


def together(sources: Sequence[Source]) -> Tables:
    """Tables `tensors` and `unread` of several files: Parquet is read in one go."""
    columns: list[Source] = []
    text: list[Source] = []
    for source in sources:
        with source.open() as stream:
            (columns if stream.read(len(_PARQUET)) == _PARQUET else text).append(source)
    frames: list[pl.DataFrame] = []
    unread: list[_UNREAD] = []
    for source in text:
        with source.open() as stream:
            frame, lost = _text(source, stream)
        nth = pl.repeat(0, frame.height, dtype=pl.UInt32, eager=True)
        frame, without = _complete([source], frame, nth)
        frames.append(frame)
        unread += [{"file": source.path, **row} for row in lost] + without
    frames = _needed(frames, unread)
    for read in stats_parquet.read(columns, _telling):
        frame, without = _complete(read.sources, read.frame, read.nth)
        frames.append(frame)
        unread += read.unread + without
    unread += [{"file": source.path, "reason": source.read_error} for source in sources if source.read_error]
    whole = pl.concat(frames) if frames else empty("tensors")
    return {"tensors": whole, "unread": table("unread", ({"bytes": 0} | row for row in unread))}


def _needed(frames: Sequence[pl.DataFrame], unread: list[_UNREAD]) -> list[pl.DataFrame]:
    """Of frames of many rows, one of each file, those rows that an analysis needs."""
    found: list[pl.DataFrame] = []
    large: dict[tuple[str, ...], list[pl.DataFrame]] = {}
    for frame in frames:
        if frame.height > stats_window.ROWS:
            told = [name for name in frame.columns if frame[name].null_count() < frame.height]
            large.setdefault(tuple(told), []).append(frame.select(told))
        else:
            found.append(frame)
    for alike in large.values():
        whole = pl.concat(alike).rename({"record": "row"})
        kept = stats_window.reduced(whole.lazy, whole.schema, [frame.height for frame in alike])
        found.append(conform("tensors", kept.frame.drop("record").rename({"row": "record"})))
        unread += stats_window.left_out_rows(kept, [frame["file"][0] for frame in alike])
    return found


def _keys(line: bytes) -> set[str]:
    first = line.strip()
    if not first.startswith(b"{"):
        return set()
    try:
        found = json.loads(first.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return set()
    return set(found) if isinstance(found, dict) else set()


def _header(line: bytes) -> set[str]:
    text = line.decode("utf-8-sig", "replace").strip()
    return {cell.strip() for cell in csv_cells(text)} if "," in text and "\x00" not in text else set()


def _telling(keys: set[str]) -> bool:
    return "step" in keys and bool(keys & {"tensor", "module"}) and bool(keys & _STATISTICS)


def _text(source: Source, stream: BinaryIO) -> tuple[pl.DataFrame, list[_UNREAD]]:
    unread: list[_UNREAD] = []
    parts: list[pl.DataFrame] = []
    unknown: set[str] = set()
    header: list[str] | None = None
    for number, lines in _blocks(stream, unread):
        if header is None and not (lines and lines[0].lstrip(b"\xef\xbb\xbf \t").startswith(b"{")):
            header = [cell.strip() for cell in csv_cells(lines[0].decode("utf-8-sig", "replace").strip())]
            if not _telling(set(header)):
                header = []
            if header:
                unknown |= set(header) - SCHEMAS["tensors"].keys()
                number, lines = number + 1, lines[1:]
        if header:
            part = _csv_rows(header, number, lines, unread)
        else:
            header = []
            part = _json_rows(number, lines, unread, unknown)
        parts.append(part)
    if not parts:
        return empty("tensors"), [{"reason": "empty file"}]
    frame = pl.concat(parts)
    if unknown:
        unread.append({"reason": "columns not read: " + ", ".join(sorted(unknown)[:50])})
    return frame.with_columns(pl.int_range(pl.len()).alias("record")), unread


def _blocks(stream: BinaryIO, unread: list[_UNREAD]) -> Iterator[tuple[int, list[bytes]]]:
    """(number of the first line, whole lines) until the end; lines beyond the limit are lost."""
    number, rest = 1, b""
    skipping = 0
    while block := stream.read(BLOCK_BYTES):
        lines = (rest + block).split(b"\n")
        rest = lines.pop()
        if skipping and lines:
            unread.append({"line": number, "bytes": skipping + len(lines[0]), "reason": "line too long"})
            skipping, number, lines = 0, number + 1, lines[1:]
        if skipping or len(rest) > LINE_BYTES:
            skipping, rest = skipping + len(rest), b""
        if lines:
            yield number, lines
            number += len(lines)
    if skipping:
        unread.append({"line": number, "bytes": skipping, "reason": "line too long"})
    elif rest.strip():
        yield number, [rest]


def _json_rows(number: int, lines: list[bytes], unread: list[_UNREAD], unknown: set[str]) -> pl.DataFrame:
    rows = _plain_rows(lines)
    places = list(range(number, number + len(lines)))
    if rows is None:
        rows, places = _rows_one_by_one(number, lines, unread)
    for line in lines[:: max(1, len(lines) // 200)]:
        unknown |= _keys(line) - SCHEMAS["tensors"].keys()
    return _frame(list(map(msgspec.structs.astuple, rows)), places, unread)


def _plain_rows(lines: list[bytes]) -> list[Row] | None:
    """A row per line, where each line is one object in JSON but for NaN and Infinity as numbers; else None."""
    block = b"\n".join(lines)
    if block.count(b"}\n{") != len(lines) - 1:  # nowhere inside an object: a line begins one and ends one
        return None
    if b"NaN" in block or b"Infinity" in block:
        if b"\\" in block:  # a quote may be one of a text
            return None
        for token, text in _TOKENS:
            block = block.replace(token, text)
    try:
        rows: list[Row] = _DECODER.decode_lines(block)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return rows if len(rows) == len(lines) else None


def _rows_one_by_one(number: int, lines: list[bytes], unread: list[_UNREAD]) -> tuple[list[Row], list[int]]:
    """Rows and their lines, where some lines are not plain."""
    rows: list[Row] = []
    places: list[int] = []
    decode = _DECODER.decode
    for at, line in enumerate(lines, number):
        try:
            rows.append(decode(line))
            places.append(at)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if line.strip():
                kept = _lenient(at, line, unread)
                rows += kept
                places += [at] * len(kept)
    return rows, places


def _lenient(at: int, line: bytes, unread: list[_UNREAD]) -> list[Row]:
    """Rows of a line that is not plain JSON: NaN tokens, numbers as text, glued objects, bytes that are not UTF-8."""
    found: list[Row] = []
    text = line.decode("utf-8", "replace")
    decode = json.JSONDecoder(strict=False).raw_decode
    place = 0
    while (place := len(text) - len(text[place:].lstrip())) < len(text):
        try:
            value, end = decode(text, place)
        except (ValueError, RecursionError):
            unread.append({"line": at, "bytes": len(text[place:].encode()), "reason": "cut or invalid JSON"})
            break
        row, reason = to_row(value)
        if row is None:
            unread.append({"line": at, "bytes": end - place, "reason": reason})
        else:
            found.append(row)
        place = end
    return found


def _frame(rows: list[tuple[Any, ...]], places: list[int], unread: list[_UNREAD]) -> pl.DataFrame:
    columns = dict(zip(FIELDS, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(FIELDS, ())
    schema = SCHEMAS["tensors"]
    made: dict[str, pl.Series] = {}
    for name, values in columns.items():
        if name == "group_ranks":
            made[name] = _memberships(name, values, places, unread)
        elif name == "shape":
            raw = list(map(bytes, values))
            texts = {value: _shape(value) for value in set(raw)}
            made[name] = pl.Series(name, [texts[value] for value in raw], schema[name])
        elif schema[name] == pl.Float64():
            made[name] = _floats(name, values, places, unread)
        else:
            made[name] = pl.Series(name, values, schema[name])
    return conform("tensors", pl.DataFrame({**made, "line": pl.Series(places, dtype=pl.Int64)}))


def _shape(raw: bytes) -> str | None:
    return None if raw in (b"", b"null") else raw.decode("utf-8", "replace").strip('"')


def _memberships(name: str, values: tuple[Any, ...], places: list[int], unread: list[_UNREAD]) -> pl.Series:
    raw = list(map(bytes, values))
    texts = {value: normal(value.decode("utf-8", "replace")) for value in set(raw)}
    read = [texts[value] for value in raw]
    if texts.keys() <= {b"", b"null", b'""'}:
        return pl.Series(name, read, SCHEMAS["tensors"][name])
    for place, value, found in zip(places, raw, read, strict=True):
        if found is None and value not in (b"", b"null", b'""'):
            reason = f"{name} is no list of ranks: {value.decode('utf-8', 'replace')[:40]!r}"
            unread.append({"line": place, "reason": reason})
    return pl.Series(name, read, SCHEMAS["tensors"][name])


def _floats(name: str, values: tuple[Any, ...], places: list[int], unread: list[_UNREAD]) -> pl.Series:
    """Numbers stay, text is read as a number; what is neither becomes null and one `unread` row."""
    try:
        numbers = [float(value) if type(value) is str else value for value in values]
        return pl.Series(name, numbers, pl.Float64())
    except (TypeError, ValueError):
        pass
    read: list[float | None] = []
    for place, value in zip(places, values, strict=True):
        number: float | None
        try:
            number = None if value is None or value == "" else float(value)
        except (ValueError, OverflowError):
            number = None
            unread.append({"line": place, "reason": f"{name} is not a number: {str(value)[:40]!r}"})
        read.append(number)
    return pl.Series(name, read, pl.Float64())


def _csv_rows(header: list[str], number: int, lines: list[bytes], unread: list[_UNREAD]) -> pl.DataFrame:
    """Cells by position; a line with another number of cells is lost. Quoted cells may not hold line ends."""
    text = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
    cells: list[list[str]] = []
    places: list[int] = []
    for at, row in enumerate(text, number):
        if not row.strip():
            continue
        try:
            read = next(csv.reader([row], strict=True), []) if '"' in row else row.split(",")
        except csv.Error:
            read = []
        if len(read) == len(header):
            cells.append(read)
            places.append(at)
        elif read != header:
            unread.append({"line": at, "bytes": len(row.encode()), "reason": f"{len(read)} of {len(header)} cells"})
    columns = dict(zip(header, zip(*cells, strict=True), strict=True)) if cells else {}
    known = {name: pl.Series(name, columns[name]) for name in FIELDS if name in columns}
    frame = pl.DataFrame({**known, "line": pl.Series(places, dtype=pl.Int64)})
    return cast_text(frame, unread)


def _complete(sources: Sequence[Source], frame: pl.DataFrame, nth: pl.Series) -> tuple[pl.DataFrame, list[_UNREAD]]:
    """Fills what the paths tell, and drops rows without a rank or a step. `nth`: of each row, which source it is from."""

    def told(name: str, values: list[Any]) -> pl.Series:
        return pl.Series(name, values, SCHEMAS["tensors"][name]).gather(nth)

    frame = frame.with_columns(
        told("file", [source.path for source in sources]),
        *[
            pl.col(name).fill_null(told(name, values))
            for name, values in (
                ("rank", [source.rank for source in sources]),
                ("attempt", [source.attempt for source in sources]),
                ("host", [source.host for source in sources]),
            )
            if any(value is not None for value in values)
        ],
    )
    without = pl.col("rank").is_null() | pl.col("step").is_null() | (pl.col("rank") < 0)
    lost = frame.filter(without).group_by("file", maintain_order=True).agg(pl.len(), pl.first("line", "record"))
    unread: list[_UNREAD] = [
        {"file": file, "line": line, "record": record, "reason": f"{count} rows without rank or step"}
        for file, count, line, record in lost.iter_rows()
    ]
    return conform("tensors", frame.filter(~without) if unread else frame), unread


PARSER = FileParser(name="tensor_stats", accepts=accepts, parse=parse, whole=True, together=together, magic=_PARQUET)
