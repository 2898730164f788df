"""Every format that the reference of formats names is read: a line of it, alone in a bundle, gives the row it must.

The tables stand in reference_comm, reference_pytorch, reference_hosts and reference_inputs. Ids: source/format/version.
"""

import csv
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import parsers
from parsers.kernel import nvlink5
from parsers.schema.tables import TABLE_NAMES, TableName
from tests import reference_comm, reference_hosts, reference_inputs, reference_pytorch
from tests.reference_rows import Ref

ROWS = (*reference_comm.ROWS, *reference_pytorch.ROWS, *reference_hosts.ROWS, *reference_inputs.ROWS)
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


@pytest.mark.parametrize(
    ("text", "table", "kept"),
    [
        pytest.param("MCCL INFO Using network IB", "settings", "name != 'mccl_vendor'", id="MCCL alone tells no vendor"),
        pytest.param("run with NCCL_DEBUG=INFO for details", "settings", "false", id="advice is no setting"),
        pytest.param("nvidia-nvswitch2: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 61 x", "events", "code = 'sxid:12028'",
                     id="an SXid is no Xid"),
        pytest.param("EDAC MC0: Giving out device to module x", "events", "false", id="EDAC at boot"),
        pytest.param("mlx5_core 0000:41:00.0: mlx5_pcie_event:299:(pid 9): Detected insufficient power on the PCIe slot (27W).",
                     "events", "severity = 'info'", id="slot power"),
        pytest.param("gpu7:84:91 [3] topo.cc:5 MCCL WARN TOPO Detect Failed", "events", "false", id="TOPO Detect Failed"),
        pytest.param("Training epoch 0, iteration 12/14 | lr: 3e-05 | global_step: 12 | reduced_train_loss: 1.23", "steps",
                     "framework = 'nemo'", id="NeMo is not Megatron"),
        pytest.param("#Entity   GPUTL  XID\nID\nGPU 0     75     94", "events", "false", id="DCGM's last Xid is no event"),
        pytest.param("node1:84:91 [0] NCCL INFO init.cc:900 -> 6 [Async thread]", "events", "false", id="a trail is no error"),
        pytest.param("node1:84:91 [0] NCCL INFO Connected all rings", "events", "false", id="setup is no error"),
    ],
)  # fmt: skip
def test_what_a_line_must_not_be_read_as(text: str, table: TableName, kept: str, tmp_path: Path) -> None:
    found = _read(Ref("", text, table), tmp_path)[table]
    assert found.filter(~pl.sql_expr(kept)).rows(named=True) == []


def test_a_second_process_cut_into_a_line_is_read_too(tmp_path: Path) -> None:
    first = "gpu7:84:91 [3] x.cc:1 NCCL WARN socketProgress: Connection closed by remote peer 10.0.0.7<4"
    second = "gpu7:85:92 [4] x.cc:1 NCCL WARN Cuda failure 'out of memory'"
    events = _read(Ref("", first + second, "events"), tmp_path)["events"]
    assert events.select("kind", "pid").rows() == [("peer_closed", 84), ("gpu_oom", 85)]


@pytest.mark.parametrize(
    ("name", "key", "rows"),
    [
        ("xid", "code", 176),
        ("sxid", "code", 237),
        ("nvlink5", "xid", 91),
        ("metax_eid", "eid", 12),
        ("mthreads_events", "error_id", 21),
    ],
)
def test_the_catalogues_are_whole_and_each_row_says_its_source(name: str, key: str, rows: int) -> None:
    text = files("parsers").joinpath("data", f"{name}.csv").read_text(encoding="utf-8")
    listed = list(csv.DictReader(text.splitlines()))
    assert len(listed) == rows
    assert all(row[key] and row["source"] for row in listed)


def _words() -> list[tuple[str, int, dict[str, str]]]:
    found = []
    for rows in nvlink5.catalogue().values():
        for row in rows:
            subcode = int(row["subcode"]) << 20
            found += [
                (
                    f"{row['xid']}/{row['unit']}/{row['subcode']}/{row['status']}/{form}",
                    subcode | int(row[column], 16),
                    row,
                )
                for form, column in (("old", "word_before_575"), ("new", "word_since_575"))
            ]
    return found


@pytest.mark.parametrize(("word", "row"), [case[1:] for case in _words()], ids=[case[0] for case in _words()])
def test_each_sub_code_of_nvlink_5_is_decoded_in_both_forms(word: int, row: dict[str, str]) -> None:
    made = nvlink5.decoded(int(row["xid"]), f"UNIT Fatal XC0 i0 Link 03 (0x{word:08x} {row['status']} 0x0 0x0 0x0 0x0)")
    assert row["unit"].startswith(made["nvlink_unit"].split("/")[0])
    assert (made["first_action"], made["investigate"], made["link"]) == (row["first_action"], row["investigate"], 3)
