"""The same records in every form in which programs write them give the same tables."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import parsers
from parsers.forms import framings
from parsers.schema.tables import TableName

Records = Sequence[Mapping[str, Any]]
nan, inf = float("nan"), float("inf")


def _text(cell: Any) -> str:
    return json.dumps(cell).replace('"', "").replace(" ", "") if isinstance(cell, list) else str(cell)


def _delimited(mark: str) -> Callable[[Records], str]:
    def write(records: Records) -> str:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=mark, lineterminator="\n")
        writer.writerow(records[0])
        writer.writerows([_text(cell) for cell in row.values()] for row in records)
        return out.getvalue()

    return write


def _drawn(records: Records) -> str:
    rule = "+" + "+".join("-" * 12 for _ in records[0]) + "+\n"
    rows = [list(records[0]), *([_text(cell) for cell in row.values()] for row in records)]
    drawn = ["|" + "|".join(f" {cell:<11}" for cell in row) + "|\n" for row in rows]
    return rule + drawn[0] + rule + "".join(drawn[1:]) + rule


def _markdown(records: Records) -> str:
    rows = [list(records[0]), ["---"] * len(records[0]), *([_text(cell) for cell in row.values()] for row in records)]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _aligned(records: Records) -> str:
    rows = [list(records[0]), *([_text(cell) for cell in row.values()] for row in records)]
    return "".join("".join(f"{cell:>32}" for cell in row) + "\n" for row in rows)


def _lines(pair: str, between: str) -> Callable[[Records], str]:
    return lambda records: "".join(
        between.join(f"{name}{pair}{_text(cell)}" for name, cell in row.items()) + "\n" for row in records
    )


def _literals(records: Records) -> str:
    return "\n".join("{" + ",\n ".join(f"'{name}': {cell!r}" for name, cell in row.items()) + "}" for row in records)


def _blocks(records: Records) -> str:
    return "".join("- " + "  ".join(f"{name}: {_text(cell)}\n" for name, cell in row.items()) for row in records)


FORMS: dict[str, Callable[[Records], str]] = {
    "json lines": lambda records: "".join(json.dumps(row) + "\n" for row in records),
    "json array": lambda records: json.dumps(records, indent=2),
    "json columns": lambda records: json.dumps({name: [row[name] for row in records] for name in records[0]}),
    "json in a text": lambda records: "".join(
        json.dumps({"log": json.dumps(row) + "\n", "stream": "stdout"}) + "\n" for row in records
    ),
    "python literals": _literals,
    "attributes": lambda records: "<?xml version='1.0'?>\n<records>\n"
    + "".join(f"  <row {' '.join(f'{name}={chr(34)}{cell}{chr(34)}' for name, cell in row.items())}/>\n" for row in records)
    + "</records>\n",
    "elements": lambda records: "<all>\n"
    + "".join(f"<one>{''.join(f'<{name}>{cell}</{name}>' if name.isalpha() else f'<cell name={chr(34)}{name}{chr(34)}>{cell}</cell>' for name, cell in row.items())}</one>\n" for row in records)
    + "</all>\n",
    "commas": _delimited(","),
    "tabs": _delimited("\t"),
    "semicolons": _delimited(";"),
    "markdown": _markdown,
    "drawn": _drawn,
    "aligned": _aligned,
    "aligned below a remark": lambda records: f"# made by job 4 on n1, kept: {_aligned(records).lstrip()}",
    "logfmt": _lines("=", " "),
    "prose": _lines(": ", " | "),
    "blocks": _blocks,
}  # fmt: skip

LOSSES = [
    {
        "rank": rank,
        "step": step,
        "train/loss": nan if (rank, step) == (3, 9) else 2.5 - step / 16,
        "grad_norm": 0.5,
        "lr": 0.25,
        "param_hash": f"9f86d{step:03}",
    }
    for step in (7, 8, 9)
    for rank in (2, 3)
]
TENSORS = [
    {"rank": 1, "step": 4, "phase": "forward", "module": f"layers.{at}.mlp", "op": "Linear", "tensor": tensor, "absmax": absmax,
     "nan_count": int(absmax != absmax), "shape": [4, 16]}
    for at in range(2)
    for tensor, absmax in (("input", 1.5), ("output", nan if at else inf))
]  # fmt: skip
PHASES = [
    {"rank": rank, "step": 4200, "phase": phase, "ms": 12.5 * (1 + rank)}
    for rank in range(3)
    for phase in ("forward", "backward")
]
BEATS = [
    {"time": 1740669002 + at, "host": f"gpu-{rank:03}", "rank": rank, "step": 4200, "state": "running"}
    for at in (0, 15)
    for rank in range(3)
]
EXITS = [
    {"rank": rank, "host": "n1", "pid": 4711 + rank, "exit_code": code, "time": 1740669002}
    for rank, code in enumerate((1, -9, 0))
]
KINDS: dict[str, tuple[Records, TableName, tuple[str, ...]]] = {
    "loss": (LOSSES, "steps", ("rank", "step", "phase", "loss", "loss_seen", "grad_norm", "learning_rate", "checksum")),
    "tensors": (
        TENSORS,
        "tensors",
        ("rank", "step", "phase", "module", "op", "tensor", "absmax", "nan_count", "shape"),
    ),
    "phases": (PHASES, "timings", ("rank", "step", "phase", "value_ms", "level")),
    "heartbeats": (BEATS, "events", ("kind", "code", "rank", "host", "step", "time_ns", "value")),
    "exits": (EXITS, "events", ("kind", "code", "severity", "rank", "host", "pid", "time_ns")),
}


def _rows(folder: Path, form: str, kind: str) -> list[tuple[Any, ...]]:
    records, name, columns = KINDS[kind]
    folder.mkdir()
    (folder / "table").write_text(FORMS[form](records))
    return sorted(parsers.read(str(folder)).tables[name].select(columns).rows(), key=repr)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [form for form in FORMS if form != "commas"])
def test_records_say_the_same_in_every_form(form: str, kind: str, tmp_path: Path) -> None:
    rows = _rows(tmp_path / "a", form, kind)
    assert len(rows) == len({repr(row) for row in KINDS[kind][0]}) // (2 if kind == "heartbeats" else 1)
    assert repr(rows) == repr(_rows(tmp_path / "b", "commas", kind))


@pytest.mark.parametrize("form", FORMS)
def test_each_record_has_its_place(form: str, tmp_path: Path) -> None:
    text = FORMS[form](LOSSES)
    (tmp_path / "table").write_text(text)
    lines = parsers.read(str(tmp_path)).tables["steps"]["line"].to_list()
    begins = {at for at, line in enumerate(text.splitlines(), 1) if line.strip() and "---" not in line}
    assert set(lines) <= begins and len(set(lines)) == (1 if form == "json columns" else len(LOSSES))


@pytest.mark.parametrize("form", FORMS)
def test_no_line_of_a_record_is_anybody_elses(form: str, tmp_path: Path) -> None:
    (tmp_path / "table").write_text(FORMS[form](LOSSES))
    tables = parsers.read(str(tmp_path)).tables
    assert tables["events"].is_empty() and tables["unread"].is_empty()
    assert tables["files"].select(pl.col("recognised") == pl.col("lines")).item()


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_told_by_its_first_bytes_however_they_are_cut(form: str) -> None:
    data = FORMS[form](LOSSES).encode()
    for end in range(0, len(data), 3):
        framings.names("table", data[:end])


@pytest.mark.parametrize("mark", [",", "\t", ";", " | "])
def test_rows_of_a_table_that_counts_steps(mark: str) -> None:
    table = [
        mark.join(cells)
        for cells in (("rank", "step", "numel", "dtype"), *(("1", str(n), "512", "float32") for n in range(4)))
    ]
    assert framings.rows_of_steps(table) == frozenset(range(1, 6))
    assert framings.rows_of_steps([line.replace("step", "place") for line in table]) == frozenset()
    assert framings.rows_of_steps([*table, "rank 1 of 2 pid 512"]) == frozenset(range(1, 6))
    assert framings.rows_of_steps(["rank 1 of 2 pid 512", "rank 0 of 2 pid 511"]) == frozenset()
