"""Every format that the reference of formats names is read: a line of it, alone in a bundle, gives the row it must.

The tables stand in reference_comm, reference_pytorch and reference_hosts. Ids: source/format/version.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import parsers
from parsers.tables import TABLE_NAMES, TableName
from tests import reference_comm, reference_hosts, reference_pytorch
from tests.reference_rows import Ref

ROWS = (*reference_comm.ROWS, *reference_pytorch.ROWS, *reference_hosts.ROWS)
_SILENT = ("files", "claimed")


def _read(row: Ref, folder: Path) -> dict[TableName, pl.DataFrame]:
    path = folder / row.path
    path.write_text(row.text + "\n")
    return dict(parsers.read(str(folder)).tables)


def _seen(found: dict[str, Any], name: str) -> Any:
    if name.startswith("detail."):
        return json.loads(found["detail"] or "{}").get(name.removeprefix("detail."))
    return found[name]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_line_of_the_format_is_read(row: Ref, tmp_path: Path) -> None:
    tables = _read(row, tmp_path)
    assert tables["unread"].rows() == []
    if row.table is None:
        made = {name: tables[name].rows(named=True) for name in TABLE_NAMES if name not in _SILENT}
        assert {name: rows for name, rows in made.items() if rows} == {}
        assert tables["claimed"].height, "nobody knows this line"
        return
    found = tables[row.table].rows(named=True)  # type: ignore[index]
    seen = [{name: _seen(one, name) for name in row.columns} for one in found]
    assert row.columns in seen, (found, tables["files"]["parsers"].to_list())
    assert not row.only or len(found) == 1


def test_each_row_has_an_id_of_its_own() -> None:
    ids = [row.id for row in ROWS]
    assert len(set(ids)) == len(ids) >= 200
