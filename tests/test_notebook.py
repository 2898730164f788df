"""A report in a notebook: it shows itself, answers questions, and writes itself."""

import pydoc
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics.report import RankOf, Report
from forensics.views.records import with_times
from parsers.schema.tables import table
from reports import json
from samples import notebook

BUNDLE = Path(__file__).resolve().parent.parent / "samples" / "data_loader_stall" / "bundle"


@cache
def report() -> Report:
    return forensics.analyze(BUNDLE)


def test_a_report_shows_itself() -> None:
    shown = report()._repr_html_()
    assert "Rank 5 (localhost) is stuck in data loading" in shown and "<script" not in shown
    assert "Rank 5 (localhost) is stuck in data loading" in report().to_markdown()


def test_the_verdict_and_one_rank() -> None:
    assert (report().verdict.kind, report().verdict.ranks, report().verdict.status) == ("hang", [5], "established")
    five = report().rank(5)
    assert five.place is not None and five.place.pid == 8339
    shown = five.timeline("21:25:33", "21:25:34")
    assert shown["rank"].unique().to_list() == [5] and shown["time_ns"].is_sorted()
    assert five.timeline(last=2).height == 2
    assert "Rank 5 is named" in five.explain() and "Rank 3 is not named" in report().explain(3)
    assert report().explain("rank_absent").startswith("rank_absent: ")
    with pytest.raises(ValueError, match="no such word"):
        report().explain("nonsense")


def test_tables_are_frames_with_times() -> None:
    events = report().tables["events"]
    assert events.columns[:2] == ["time", "time_basis"] and events.schema["time"] == pl.Datetime("ns")
    stamped = events.filter(pl.col("time_ns").is_not_null())
    assert stamped.height > 0 and stamped["time"].cast(pl.Int64).to_list() == stamped["time_ns"].to_list()
    assert stamped["time_basis"].unique().to_list() == ["local"]
    assert set(report().tables) >= {"events", "operations", "stacks", "steps", "tensors"}


def test_closed_sets_of_words_are_enums_in_order() -> None:
    events = report().tables["events"]
    assert events.schema["severity"] == pl.Enum(["info", "warning", "error", "fatal"])
    assert isinstance(events.schema["kind"], pl.Enum) and "collective_timeout" in events.schema["kind"].categories
    grave = events.filter(pl.col("severity") >= "error")["severity"].unique().to_list()
    assert grave and {"info", "warning"}.isdisjoint(grave)
    odd = with_times({"events": table("events", [{"severity": "info"}, {"severity": "odd"}])})["events"]
    assert odd["severity"].to_list() == ["info", "odd"], "a word that is none of the set is kept"


def test_a_report_writes_itself(tmp_path: Path) -> None:
    for name in ("x.html", "x.json", "x.md"):
        report().save(tmp_path / name)
    assert (tmp_path / "x.json").read_bytes() == json.render(report())
    with pytest.raises(ValueError, match=r"must end in \.html, \.json or \.md"):
        report().save(tmp_path / "x.pdf")


@pytest.mark.parametrize(
    "thing", [forensics.analyze, Report, Report.rank, Report.explain, Report.save, RankOf.timeline]
)
def test_help_says_what_it_does(thing: object) -> None:
    text = pydoc.render_doc(thing, renderer=pydoc.plaintext)
    assert "This" not in text.splitlines()[0] and len(text.splitlines()) > 3


def test_texts_are_short() -> None:
    """Of `help`, and of everything that stands at the end of a cell."""
    said = pydoc.render_doc(forensics.analyze, renderer=pydoc.plaintext)
    assert (
        len(said.splitlines()) < 30
        and "function" not in said.partition("Read a bundle")[0][60:]
        and " at 0x" not in said
    )
    for thing in (report(), report().rank(5), report().incident):
        assert len(repr(thing)) < 400
    assert repr(report()) == (
        "<Report of bundle: HANG: Rank 5 (localhost) is stuck in data loading at train "
        "(/srv/pretrain/xp/gen/a_dataload_stall.py:18); 7 ranks wait. 8 of 8 ranks, 1 host>"
    )
    assert "rank 5 of <Report" in repr(report().rank(5))


@pytest.mark.parametrize("rank", [99, -1, 8])
def test_a_rank_that_is_not_there_is_an_error(rank: int) -> None:
    for ask in (report().rank, report().explain):
        with pytest.raises(forensics.NoSuch, match=rf"rank {rank} is not in this bundle; it has ranks 0-7"):
            ask(rank)


def test_times_come_with_their_basis_and_are_no_texts() -> None:
    shown = report().rank(5).timeline()
    assert shown.columns[:2] == ["time", "basis"] and shown.schema["time"] == pl.Datetime("ns")
    told = shown.filter(pl.col("time").is_not_null())
    assert {"utc", "local"} == set(told["basis"].unique()) and told["time"].is_sorted()


def test_seconds_since_the_start_of_a_host_are_no_time_of_day() -> None:
    rows = [{"time_ns": 12_500_000_000, "time_basis": "boot"}, {"time_ns": 5, "time_basis": "utc"}, {"time_ns": None}]
    events = with_times({"events": table("events", rows)})["events"]
    assert events["time"].is_null().to_list() == [True, False, True]


def test_errors_load_and_diff_come_from_the_package(tmp_path: Path) -> None:
    with pytest.raises(forensics.BundleError):
        forensics.analyze(tmp_path / "nowhere")
    with pytest.raises(forensics.NotALayout, match="does not divide the 8 ranks"):
        forensics.analyze(BUNDLE, topology={"tp": 3})
    with pytest.raises(forensics.NoSuch, match="'25:99' is no time"):
        report().rank(5).timeline("25:99")
    report().save(tmp_path / "x.json")
    loaded = forensics.load(tmp_path / "x.json")
    assert json.render(loaded) == json.render(report())
    (tmp_path / "y.json").write_text("{}")
    with pytest.raises(forensics.NotAReport):
        forensics.load(tmp_path / "y.json")
    other = BUNDLE.parents[1] / "rank_killed" / "bundle"
    assert forensics.diff(report(), tmp_path / "x.json").same
    apart = forensics.diff(report(), other)
    assert not apart.same and repr(apart).splitlines()[0] == "different signatures"
    with pytest.raises(ValueError, match="at least two"):
        forensics.diff(report())


def test_the_example_holds_what_its_cells_show_wherever_it_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first cell to the last, in a folder that has nothing to do with it; and nothing of it asks for a network."""
    monkeypatch.chdir(tmp_path)
    stored = notebook.read()
    assert stored == notebook.run(stored), "`make notebook` writes it again"
    code = [cell for cell in stored["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 7 and all(cell["outputs"] for cell in code)
    forms = {form for cell in code for output in cell["outputs"] for form in output.get("data", {})}
    assert forms == {"text/plain", "text/html", "image/svg+xml"}
    shown = "".join(
        "".join(text) for cell in code for output in cell["outputs"] for text in output.get("data", {}).values()
    )
    assert "<script" not in shown and "https:" not in shown and str(BUNDLE.parents[2]) not in shown


def test_every_package_says_that_it_is_typed() -> None:
    root = BUNDLE.parents[2]
    assert [name for name in ("forensics", "parsers", "reports") if not (root / name / "py.typed").is_file()] == []
