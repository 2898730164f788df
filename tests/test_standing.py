"""Who stands where in each group (`groups`), what nobody has read (`unread`), and the lines themselves (parsers/engine/context.py)."""

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from forensics.assemble.runs.attempts import split_attempts
from forensics.case_of import case_of
from forensics.cli import cli
from forensics.graph.hang.standings import standings
from forensics.views.groups import groups
from forensics.views.unread import unread as ordered
from parsers import BundleError, read
from parsers.engine import context

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def table_of(bundle: Path) -> pl.DataFrame:
    [(attempt, tables)] = split_attempts(read(str(bundle)).tables).items()
    return groups(case_of(tables, attempt))


def test_who_is_behind_comes_first_and_every_rank_stands_once_in_a_group_and_source() -> None:
    told = table_of(SAMPLES / "data_loader_stall" / "bundle")
    first = told.row(0, named=True)
    assert (first["group"], first["ranks"], first["mark"], first["state"]) == ("default_pg", "5", "behind", "absent")
    waits = told.filter(pl.col("source") == "flight record", pl.col("state") == "entered").row(0, named=True)
    assert (waits["ranks"], waits["call"], waits["members"], waits["size"]) == ("0-4,6-7", "all_reduce #25", 7, 8)
    assert waits["where"] == "fr/comm_lib_trace_rank_0:24"


def test_both_sides_of_a_deadlock_are_behind_in_the_group_of_the_other() -> None:
    told = table_of(SAMPLES / "order_inversion" / "bundle").filter(pl.col("mark") == "behind")
    assert sorted(told.select("group", "ranks").rows()) == [("dp_group (1)", "2-3"), ("ep_group (2)", "0-1")]


@pytest.mark.parametrize("name", ["monitored_barrier", "missing_at_start", "wrong_collective", "pipeline_lock_stall"])
def test_marks_are_those_that_detectors_read(name: str) -> None:
    [*_, (attempt, tables)] = split_attempts(read(str(SAMPLES / name / "bundle")).tables).items()
    case = case_of(tables, attempt)
    told = groups(case)
    for source in case.positions["source"].unique():
        late = {rank for one in standings(case.positions, source) for rank in one.behind}
        shown = told.filter(pl.col("source") == source.replace("_", " "), pl.col("mark") == "behind")["ranks"].to_list()
        assert late <= {rank for text in shown for rank in _ranks(text)}


def _ranks(text: str) -> set[int]:
    from reports.layout import spans

    return {rank for first, last in spans(text) for rank in range(first, last + 1)}


def test_a_bundle_without_groups_says_so(tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text("step 1 loss 2.0\n")
    assert run("groups", str(tmp_path)).output == "no record matches\n"


def _bundle(folder: Path) -> Path:
    """Eight ranks with a line that all say often, and one that rank 6 alone says."""
    for rank in range(8):
        lines = [f"2026-05-01 10:00:{n:02} [rank{rank}]: zorp frobnicated {n} quuxes\n" for n in range(20)]
        if rank == 6:
            lines.insert(7, "2026-05-01 10:00:07 [rank6]: glarb 17 subsided\n")
        (folder / f"rank_{rank}.log").write_text("".join(lines))
    return folder


def test_the_odd_line_comes_first_with_who_how_often_when_and_where(tmp_path: Path) -> None:
    found = context.unread(str(_bundle(tmp_path)), read(str(tmp_path)).tables)
    odd, usual = ordered(found.lines, set(range(8))).rows(named=True)
    assert (odd["template"], odd["count"], odd["ranks"], odd["where"]) == ("glarb # subsided", 1, "6", "rank_6.log:8")
    assert odd["first"] == odd["last"] == "2026-05-01T10:00:07.000"
    assert (usual["count"], usual["ranks"], usual["files"]) == (160, "0-7", 8)
    assert (usual["first"], usual["last"]) == ("2026-05-01T10:00:00.000", "2026-05-01T10:00:19.000")


def test_unread_and_recognised_are_all_lines_that_are_not_blank(tmp_path: Path) -> None:
    """By the reader's own count; what a parser knows is not among them."""
    bundle = _bundle(tmp_path)
    (bundle / "rank_0.log").write_text("RuntimeError: boom\nzorp 1\n" * 3)
    tables = read(str(bundle)).tables
    found = context.unread(str(bundle), tables)
    files = tables["files"]
    assert found.lines["count"].sum() == files["lines"].sum() - files["recognised"].sum()
    assert not [text for text in found.lines["template"] if "boom" in text]


def test_kept_tables_hold_no_lines(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    assert run("parse", str(_bundle(tmp_path / "b")), "-o", str(tmp_path / "kept")).exit_code == 0
    done = run("unread", str(tmp_path / "kept"))
    assert done.exit_code == 3 and "kept tables hold no lines" in done.output
    with pytest.raises(BundleError):
        context.search(str(tmp_path / "kept"), "zorp")


def test_search_finds_what_grep_finds(tmp_path: Path) -> None:
    bundle = _bundle(tmp_path)
    found = context.search(str(bundle), "SUBSIDED", context=1)
    [hit] = found.hits
    assert (hit.file, hit.line, found.more, found.ended) == ("rank_6.log", 8, 0, None)
    assert len(hit.before) == len(hit.after) == 1 and "zorp frobnicated 6" in hit.before[0]
    several = context.search(str(bundle), "zorp", files="rank_3", most=5)
    assert len(several.hits) == 5 and several.more == 15
    near = context.search(str(bundle), "zorp", files="rank_3", most=2, context=2)
    assert near.hits[0].after[0].endswith("1 quuxes")


def test_long_lines_binary_files_and_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rank_0.log").write_text("a\n" + "x" * 200_000 + "\nneedle\n")
    (tmp_path / "weights.bin").write_bytes(b"needle\x00\x01\x02" * 1000)
    assert [(hit.file, hit.line) for hit in context.search(str(tmp_path), "needle").hits] == [("rank_0.log", 3)]
    assert context.around(str(tmp_path), "rank_0.log", 3, 1)[-1] == (3, "needle")
    assert context.around(str(tmp_path), "rank_0.log", 9, 1) == context.around(str(tmp_path), "no", 1, 1) == []
    monkeypatch.setattr(context, "BYTES", 1000)
    assert context.search(str(tmp_path), "needle").ended is not None


def test_a_long_cell_pads_no_other_row() -> None:
    from reports.inspection import columns

    text = columns(("a", "b"), [("x" * 900, "1"), ("y", "2")])
    assert len(text.splitlines()[2]) < 20 and "x" * 900 in text
