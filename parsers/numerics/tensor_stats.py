"""Tensor statistics, version 1: the input that users write themselves (JSON Lines, CSV or Parquet).

One row per observed tensor, in program order of its rank; columns as in the table `tensors`. A JSON line::

    {"rank": 3, "step": 7, "phase": "forward", "module": "layers.1.mlp", "op": "Linear", "tensor": "output",
     "min": "-inf", "max": NaN, "nan_count": 4, "inf_count": 1, "shape": [8, [4, 4]]}

the same as CSV (an empty cell was not observed)::

    step,phase,module,op,tensor,absmax,nan_count
    7,forward,layers.1.mlp,Linear,output,nan,4

and so in every other form of parsers/forms/framings.py. NaN and Inf may be numbers too large for a float, the tokens NaN and Infinity, or strings in any case. `rank` may come
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
from operator import attrgetter
from typing import Any, BinaryIO

import msgspec
import polars as pl

from parsers.forms import framings
from parsers.forms.reading import csv_cells
from parsers.numerics import stats_parquet, stats_window
from parsers.numerics.stats_values import FIELDS, ROW, Row, cast_text, row_decoder, shape_text, to_row
from parsers.numerics.tensor_names import is_version_1
from parsers.schema.parser import HEAD_BYTES, FileParser, Source
from parsers.schema.tables import SCHEMAS, TableName, Tables, conform, empty, table
from parsers.text.rank_list import normal

_PARQUET = b"PAR1"
BLOCK_BYTES = 2 << 20  # rows and values of a block stay in the cache of a core
LINE_BYTES = 1 << 20  # a longer line is lost: no row of statistics is that long
_COUNTS = {"nan": "nan_count", "inf": "inf_count"}
_TOKENS = {b"NaN": b"nan", b"Infinity": b"inf", b"-Infinity": b"-inf"}
_DECODER = msgspec.json.Decoder(ROW)
_NOTHING = {b"", b"null"}
_EMPTY = _NOTHING | {b'""'}
_UNREAD = dict[str, Any]


def accepts(path: str, head: bytes) -> bool:
    """A table in any form with a step, a tensor or module, and a statistic; Parquet; an empty file named so."""
    if head.startswith(_PARQUET):
        return True
    if not head.strip():
        name = path.lower()
        return "tensor" in name and "stat" in name and not name.endswith((".log", ".txt"))
    if b"step" not in head:
        return False
    return _is_plain(head) or is_version_1(framings.names(path, head))


def parse(source: Source) -> Tables:
    """Tables `tensors` and `unread`."""
    return together([source])


def together(sources: Sequence[Source]) -> Tables:
    """Tables `tensors` and `unread` of several files, Parquet in one go; of one that holds times of operations, its tables."""
    columns: list[Source] = []
    text: list[Source] = []
    for source in sources:
        with source.open() as stream:
            (columns if stream.read(len(_PARQUET)) == _PARQUET else text).append(source)
    frames: list[pl.DataFrame] = []
    unread: list[_UNREAD] = []
    others: list[Tables] = []
    known: set[str] = set()
    for source in text:
        with source.open() as stream:
            head = stream.read(HEAD_BYTES)
        with source.open() as stream:
            frame, lost = _text(stream, known) if not head.strip() or _is_by_blocks(source, head) else _other(source)
        nth = pl.repeat(0, frame.height, dtype=pl.UInt32, eager=True)
        frame, without = _complete([source], frame, nth)
        frames.append(frame)
        unread += [{"file": source.path, **row} for row in lost] + without
    frames = _needed(frames, unread)
    for read in stats_parquet.read(columns, is_version_1):
        frame, without = _complete(read.sources, read.frame, read.nth)
        frames.append(frame)
        unread += read.unread + without
        others += [read.others] if read.others is not None else []
    unread += [{"file": source.path, "reason": source.read_error} for source in sources if source.read_error]
    whole = pl.concat(frames) if frames else empty("tensors")
    more: dict[TableName, pl.DataFrame] = {
        name: pl.concat([one[name] for one in others]) for name in (others[0] if others else ()) if name != "unread"
    }
    return {"tensors": whole, "unread": table("unread", ({"bytes": 0} | row for row in unread)), **more}


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
        found = json.loads(first.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return set()
    return set(found) if isinstance(found, dict) and not isinstance(found.get("step"), list) else set()


def _is_plain(head: bytes) -> bool:
    """Is it JSON Lines or CSV, which are read by blocks?"""
    lines = head.split(b"\n", 8)[:8]
    return (b'"step"' in head and any(is_version_1(_keys(line)) for line in lines)) or is_version_1(_header(lines[0]))


def _is_by_blocks(source: Source, head: bytes) -> bool:
    """Is it, and need no names in it say whose its rows are?"""
    tells = source.rank is not None or not source.labels.names or b"rank" in head[:LINE_BYTES].partition(b"\n")[0]
    return tells and _is_plain(head)


def _header(line: bytes) -> set[str]:
    text = line.decode("utf-8-sig", "replace").strip()
    return {cell.strip() for cell in csv_cells(text)} if "," in text and "\x00" not in text else set()


def _text(stream: BinaryIO, known: set[str]) -> tuple[pl.DataFrame, list[_UNREAD]]:
    """`known`: names of columns that files before it have; those of its own are added."""
    unread: list[_UNREAD] = []
    parts: list[pl.DataFrame] = []
    unknown: set[str] = set()
    header: list[str] | None = None
    for numbers, block in _blocks(stream, unread):
        begin = 0
        if header is None:
            header = _csv_header(block.split(b"\n", 1)[0])
            unknown |= set(header) - SCHEMAS["tensors"].keys()
            begin = 1
        if header:
            part = _csv_rows(header, numbers[begin:], block.split(b"\n")[begin:], unread)
        else:
            part = _json_rows(numbers, block, unread, known, unknown)
        parts.append(part)
    if not parts:
        return empty("tensors"), [{"reason": "empty file"}]
    frame = pl.concat(parts, how="diagonal")
    if unknown:
        unread.append({"reason": "columns not read: " + ", ".join(sorted(unknown)[:50])})
    return conform("tensors", frame.with_columns(pl.int_range(pl.len()).alias("record"))), unread


def _other(source: Source) -> tuple[pl.DataFrame, list[_UNREAD]]:
    """A table in another form than those that are read by blocks."""
    rows: list[Row] = []
    places: list[int] = []
    unread: list[_UNREAD] = []
    unknown: set[str] = set()
    for number, text, said in framings.rows(source):
        if said is framings.HEADER:
            continue
        told = {} if said is None else _called({name: cell for name, cell in said.items() if cell not in (None, "")})
        unknown |= told.keys() - SCHEMAS["tensors"].keys()
        row, reasons = to_row(told) if told else (None, ["no row of this table"])
        if row is not None:
            rows.append(row)
            places.append(number)
        unread += [{"line": number, "bytes": 0 if row else len(text.encode()), "reason": reason} for reason in reasons]
    if unknown:
        unread.append({"reason": "columns not read: " + ", ".join(sorted(unknown)[:50])})
    frame = _frame(rows, places, unread)
    return conform("tensors", frame.with_columns(pl.int_range(pl.len()).alias("record"))), unread


def _called(said: _UNREAD) -> _UNREAD:
    """Counts by their short names, and of `tensor: mlp, role: output` the module and which of its tensors it is."""
    told = {_COUNTS.get(name, name): cell for name, cell in said.items()}
    if "module" not in told and "tensor" in told and told.get("role") in ("input", "output"):
        told |= {"module": told["tensor"], "tensor": told.pop("role")}
    return told


def _csv_header(line: bytes) -> list[str]:
    """The names of the columns, if this is a table's first line."""
    if line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
        return []
    header = [cell.strip() for cell in csv_cells(line.decode("utf-8-sig", "replace").strip())]
    return header if is_version_1(set(header)) else []


def _blocks(stream: BinaryIO, unread: list[_UNREAD]) -> Iterator[tuple[range, bytes]]:
    """(their numbers, whole lines but for the last line end) until the end; lines beyond the limit are lost."""
    number, rest = 1, b""
    skipping = 0
    while read := stream.read(BLOCK_BYTES):
        block, end, rest = (rest + read).rpartition(b"\n")
        if skipping and end:
            first, end, block = block.partition(b"\n")
            unread.append({"line": number, "bytes": skipping + len(first), "reason": "line too long"})
            skipping, number = 0, number + 1
        if skipping or len(rest) > LINE_BYTES:
            skipping, rest = skipping + len(rest), b""
        if end:
            numbers = range(number, number + block.count(b"\n") + 1)
            yield numbers, block
            number = numbers.stop
    if skipping:
        unread.append({"line": number, "bytes": skipping, "reason": "line too long"})
    elif rest.strip():
        yield range(number, number + 1), rest


def _json_rows(numbers: range, block: bytes, unread: list[_UNREAD], known: set[str], unknown: set[str]) -> pl.DataFrame:
    """`known`: columns that blocks before it have; one with no others is decoded as such. `unknown` gets the names of others."""
    if known and (rows := _plain_rows(block, len(numbers), row_decoder(frozenset(known)))) is not None:
        return _frame(rows, numbers, unread)
    lines = block.split(b"\n")
    keys = set[str]().union(*map(_keys, lines[:: max(1, len(lines) // 200)]))
    unknown |= keys - SCHEMAS["tensors"].keys()
    rows, places = _plain_rows(block, len(numbers), _DECODER), list(numbers)
    if rows is None:
        rows, places = _rows_one_by_one(numbers, lines, unread)
    frame = _frame(rows, places, unread)
    known |= (keys | set(frame.columns)) & set(FIELDS)
    return frame


def _plain_rows(block: bytes, count: int, decoder: msgspec.json.Decoder[Row]) -> list[Row] | None:
    """A row per line, where each of so many is one object in JSON but for NaN and Infinity as numbers; else None."""
    if block.count(b"}\n{") != count - 1:  # nowhere inside an object: a line begins one and ends one
        return None
    for form in (bytes, _with_tokens_as_text):
        try:
            rows = decoder.decode_lines(form(block))
        except (msgspec.MsgspecError, ValueError, RecursionError):  # of UTF-8, too
            continue
        return rows if len(rows) == count else None
    return None


def _with_tokens_as_text(block: bytes) -> bytes:
    """With NaN and Infinity as texts. Raises ValueError where a quote may be one of a text."""
    if b"\\" in block:
        raise ValueError("it holds a backslash")
    for token, text in _TOKENS.items():
        for space in (b"", b" ") if token in block else ():
            block = block.replace(b'":' + space + token, b'":"' + text + b'"')
    return block


def _rows_one_by_one(numbers: range, lines: list[bytes], unread: list[_UNREAD]) -> tuple[list[Row], list[int]]:
    """Rows and their lines, where some lines are not plain."""
    rows: list[Row] = []
    places: list[int] = []
    decode = _DECODER.decode
    for at, line in zip(numbers, lines, strict=True):
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
        row, reasons = to_row(value)
        if row is not None:
            found.append(row)
        unread += [{"line": at, "bytes": end - place if row is None else 0, "reason": reason} for reason in reasons]
        place = end
    return found


def _frame(rows: list[Row], places: Sequence[int], unread: list[_UNREAD]) -> pl.DataFrame:
    """The columns that any row has, and `line`."""
    names = rows[0].__struct_fields__ if rows else ()
    columns = [_column(name, list(map(attrgetter(name), rows)), places, unread) for name in names]
    return pl.DataFrame([*(column for column in columns if column is not None), pl.Series("line", places, pl.Int64)])


def _column(name: str, values: list[Any], places: Sequence[int], unread: list[_UNREAD]) -> pl.Series | None:
    """None where no row has it."""
    kind = SCHEMAS["tensors"][name]
    if name in ("shape", "group_ranks"):
        raw = list(map(bytes, values))
        distinct = set(raw)
        return None if distinct <= _NOTHING else _lists(name, raw, distinct, places, unread)
    if values[0] is None and values.count(None) == len(values):
        return None
    return _floats(name, values, places, unread) if kind == pl.Float64() else pl.Series(name, values, kind)


def _lists(
    name: str, raw: list[bytes], distinct: set[bytes], places: Sequence[int], unread: list[_UNREAD]
) -> pl.Series:
    """Shapes and members of groups: the one text for each; what is neither becomes null, and one `unread` row of a block."""
    form = shape_text if name == "shape" else normal
    texts = {value: None if value in _EMPTY else form(value.decode("utf-8", "replace")) for value in distinct}
    lost = {value for value, text in texts.items() if text is None} - _EMPTY
    if lost:
        at = [nth for nth, value in enumerate(raw) if value in lost]
        what = "no shape" if name == "shape" else "no list of ranks"
        shown = raw[at[0]].decode("utf-8", "replace")[:40]
        unread.append({"line": places[at[0]], "reason": f"{name} is {what} in {len(at)} rows: {shown!r}"})
    return pl.Series(name, [texts[value] for value in raw], SCHEMAS["tensors"][name])


def _floats(name: str, values: list[Any], places: Sequence[int], unread: list[_UNREAD]) -> pl.Series:
    """Numbers stay, text is read as a number; what is neither becomes null and one `unread` row."""
    try:
        if str in set(map(type, values)):
            values = [float(value) if type(value) is str else value for value in values]
        return pl.Series(name, values, pl.Float64())
    except ValueError:
        pass
    read: list[float | None] = [None] * len(values)
    for at, (place, value) in enumerate(zip(places, values, strict=True)):
        try:
            read[at] = None if value is None or value == "" else float(value)
        except ValueError:
            unread.append({"line": place, "reason": f"{name} is not a number: {str(value)[:40]!r}"})
    return pl.Series(name, read, pl.Float64())


def _csv_rows(header: list[str], numbers: range, lines: list[bytes], unread: list[_UNREAD]) -> pl.DataFrame:
    """Cells by position; a line with another number of cells is lost. Quoted cells may not hold line ends."""
    text = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
    cells: list[list[str]] = []
    places: list[int] = []
    for at, row in zip(numbers, text, strict=True):
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

    of_paths = {name: [getattr(source, name) for source in sources] for name in ("rank", "attempt", "host")}
    known = {name: values for name, values in of_paths.items() if any(value is not None for value in values)}
    frame = frame.with_columns(
        told("file", [source.path for source in sources]),
        *(pl.col(name).fill_null(told(name, values)) for name, values in known.items()),
    )
    without = pl.col("rank").is_null() | pl.col("step").is_null() | (pl.col("rank") < 0)
    lost = frame.filter(without).group_by("file", maintain_order=True).agg(pl.len(), pl.first("line", "record"))
    unread: list[_UNREAD] = [
        {"file": file, "line": line, "record": record, "reason": f"{count} rows without rank or step"}
        for file, count, line, record in lost.iter_rows()
    ]
    return conform("tensors", frame.filter(~without) if unread else frame), unread


PARSER = FileParser(name="tensor_stats", accepts=accepts, parse=parse, whole=True, together=together, magic=_PARQUET)
