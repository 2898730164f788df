"""Files of rows: made anew for each probe, never shared, and complete up to the last row after any end of the process.

Rows are handed to the operating system one operation after the other, so a process that is killed leaves them. In the
form Parquet the same text is a journal: it is emptied when its rows have become a part.
"""

import io
import json
import os
from pathlib import Path
from typing import Any, Literal

from forensics.probe.figures import Row

Form = Literal["jsonl", "parquet"]
_PART_ROWS = 4096
_TEXT = ("phase", "module", "op", "tensor", "dtype", "shape", "device", "checksum", "group", "group_ranks", "reduce_op")
_WHOLE = (
    "rank", "attempt", "seq", "step", "microbatch", "chunk", "numel", "nan_count", "inf_count", "call", "peer", "tag",
)  # fmt: skip
_FLOAT = ("min", "max", "l2norm", "absmax", "timestamp")


class RowFile:
    """`stem`: path without extension, which nothing else may have; FileExistsError where it is taken."""

    def __init__(self, stem: Path, form: Form) -> None:
        self._stem, self._parts = stem, 0
        self._rows: list[Row] = []
        self._polars: Any = __import__("polars") if form == "parquet" else None
        self._process = os.getpid()
        stem.parent.mkdir(parents=True, exist_ok=True)
        if next(stem.parent.glob(f"{stem.name}_part_*"), None) is not None:
            raise FileExistsError(stem)
        self._journal = stem.with_name(f"{stem.name}.jsonl")
        self._out = os.open(self._journal, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o644)

    def append(self, rows: list[Row]) -> None:
        if self._out < 0 or os.getpid() != self._process:  # a forked child has no file
            return
        text = "".join(json.dumps(row) + "\n" for row in rows).encode()
        while text:
            text = text[os.write(self._out, text) :]
        if self._polars is not None:
            self._rows += rows
            if len(self._rows) >= _PART_ROWS:
                self._write_part()

    def close(self) -> None:
        if self._out < 0 or os.getpid() != self._process:
            return
        if self._rows:
            self._write_part()
        os.close(self._out)
        self._out = -1
        if self._parts:
            self._journal.unlink()

    def _write_part(self) -> None:
        pl, rows, self._rows = self._polars, self._rows, []
        kinds = ((_WHOLE, pl.Int64), (_TEXT, pl.String), (_FLOAT, pl.Float64))
        schema = {name: kind for names, kind in kinds for name in names}
        columns = {name: [row.get(name) for row in rows] for name in schema}
        columns["shape"] = [json.dumps(row.get("shape")) for row in rows]
        made = io.BytesIO()
        pl.DataFrame(columns, schema=schema).write_parquet(made)
        part = self._stem.with_name(f"{self._stem.name}_part_{self._parts:06d}.parquet")
        growing = part.with_suffix(".tmp")
        growing.write_bytes(made.getvalue())
        growing.replace(part)
        self._parts += 1
        os.ftruncate(self._out, 0)
