"""Evidence that was kept as tables says what the bundle says, to the byte; what is not whole is none."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import parsers
from forensics.analyze import conclude_evidence
from forensics.cli import cli
from parsers.engine import store
from parsers.schema.tables import TableName, table
from parsers.text.rank_list import RANKS
from reports import json as document
from tests.analysed import evidence, sample

SAMPLES = sorted((Path(__file__).resolve().parent.parent / "samples").glob("*/bundle"))


def keep(bundle: Path, folder: Path) -> Path:
    found = CliRunner().invoke(cli, ["parse", str(bundle), "--out", str(folder)])
    assert found.exit_code == 0, found.output
    return folder


@pytest.mark.parametrize("bundle", SAMPLES, ids=lambda path: path.parent.name)
def test_the_incident_of_kept_tables_is_that_of_the_bundle(bundle: Path, tmp_path: Path) -> None:
    kept = parsers.read(str(keep(bundle, tmp_path / "kept")))
    for name, frame in evidence(bundle.parent.name).tables.items():
        assert frame.equals(kept.tables[name]), name
    assert document.render(conclude_evidence(kept)) == document.render(sample(bundle.parent.name))


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "rank_3.log").write_text("[rank3]: ValueError: boom\n")
    return folder


def test_the_manifest_says_of_which_bytes_the_tables_were_made(bundle: Path, tmp_path: Path) -> None:
    said = json.loads((keep(bundle, tmp_path / "kept") / store.MANIFEST).read_text())
    raw = (bundle / "rank_3.log").read_bytes()
    assert said["bundle"] == "bundle"
    assert said["read"] == [{"file": "rank_3.log", "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}]


def test_every_command_reads_kept_tables(bundle: Path, tmp_path: Path) -> None:
    kept = str(keep(bundle, tmp_path / "kept"))
    (bundle / "rank_3.log").unlink()
    for question in (["show", "rank", "3"], ["events"], ["inspect"], ["analyze"]):
        found = CliRunner().invoke(cli, [*question, kept])
        assert found.exit_code == 0 and "rank_3.log" in found.output, question


def test_a_folder_without_its_manifest_is_a_bundle_like_any_other(bundle: Path, tmp_path: Path) -> None:
    folder = keep(bundle, tmp_path / "kept")
    assert CliRunner().invoke(cli, ["analyze", str(bundle), "--tables", str(folder)]).exit_code == 0
    assert store.kept(str(folder)) is None
    (folder / store.MANIFEST).write_text('{"format": "of somebody else"}')
    assert store.kept(str(folder)) is None


def test_tables_of_another_layout_and_damaged_ones_are_refused(bundle: Path, tmp_path: Path) -> None:
    folder = keep(bundle, tmp_path / "kept")
    manifest = folder / store.MANIFEST
    good = manifest.read_text()
    manifest.write_text(good.replace(store.layout(), "0" * 64))
    with pytest.raises(parsers.BundleError, match="parse again"):
        parsers.read(str(folder))
    manifest.write_text(good)
    pl.DataFrame({"file": ["x"]}).write_parquet(folder / "events.parquet")
    with pytest.raises(parsers.BundleError, match="events has not the declared columns"):
        parsers.read(str(folder))
    (folder / "events.parquet").write_bytes(b"PAR1 no table PAR1")
    with pytest.raises(parsers.BundleError, match="events cannot be read"):
        parsers.read(str(folder))


def test_nothing_is_kept_inside_the_bundle(bundle: Path) -> None:
    found = CliRunner().invoke(cli, ["parse", str(bundle), "--out", str(bundle / "kept")])
    assert found.exit_code == 2 and "never written to" in found.output
    assert [path.name for path in bundle.iterdir()] == ["rank_3.log"]


FORGED: dict[str, tuple[TableName, dict[str, Any]]] = {
    "a rank": ("events", {"rank": 10**12}),
    "a world": ("ranks", {"rank": 0, "world_size": 10**12}),
    "a member": ("groups", {"members": [0, 10**12]}),
    "members without number": ("groups", {"members": [None, 1, None]}),
    "members in excess": ("groups", {"members": [0] * (RANKS + 1)}),
    "a time": ("events", {"time_ns": 2**63 - 1}),
    "a stack": ("operations", {"stack": "[x](y)"}),
    "a stack of another form": ("operations", {"stack": '{"a": 1}'}),
    "a detail": ("events", {"detail": "<b>"}),
    "a detail without end": ("events", {"detail": "[" * 100_000}),
    "a shape": ("tensors", {"shape": "2x3"}),
}


@pytest.mark.parametrize(("name", "row"), FORGED.values(), ids=FORGED)
def test_what_no_parser_delivers_is_refused(bundle: Path, tmp_path: Path, name: TableName, row: dict[str, Any]) -> None:
    folder = keep(bundle, tmp_path / "kept")
    table(name, [row]).write_parquet(folder / store.file_of(name))
    with pytest.raises(parsers.BundleError, match=f"table {name} cannot be used, .*: parse again"):
        parsers.read(str(folder))
    found = CliRunner().invoke(cli, ["analyze", str(folder)])
    assert found.exit_code == 3 and len(found.output.splitlines()) == 1


def test_more_events_than_their_bytes_can_tell_are_refused_unread(bundle: Path, tmp_path: Path) -> None:
    folder = keep(bundle, tmp_path / "kept")
    of_rows = {"file": "a.log", "kind": "exception", "text": "boom"}
    many = pl.concat([table("events", [of_rows | {"line": line} for line in range(1, 101)])] * 4000)
    many.write_parquet(folder / "events.parquet")
    with pytest.raises(
        parsers.BundleError, match=r"events cannot be used, it has 400000 rows in .* bytes: parse again"
    ):
        parsers.read(str(folder))
    told = many.with_columns(line=pl.int_range(1, many.height + 1))
    told.write_parquet(folder / "events.parquet")
    assert parsers.read(str(folder)).tables["events"].height == 400_000


def test_a_pipe_is_no_table_and_no_manifest(bundle: Path, tmp_path: Path) -> None:
    folder = keep(bundle, tmp_path / "kept")
    (folder / "events.parquet").unlink()
    os.mkfifo(folder / "events.parquet")
    with pytest.raises(parsers.BundleError, match="events cannot be read: not a plain file"):
        parsers.read(str(folder))
    (folder / store.MANIFEST).unlink()
    os.mkfifo(folder / store.MANIFEST)
    assert store.kept(str(folder)) is None
