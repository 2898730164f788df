"""A report in a notebook: it shows itself, answers questions, and writes itself."""

import pydoc
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics.model.incident import RankOf, Report
from forensics.views.records import with_times
from parsers.tables import table
from reports import json

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
    assert events.schema["time"] == pl.Datetime("ns", "UTC") and events.height > 0
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


def test_every_package_says_that_it_is_typed() -> None:
    root = BUNDLE.parents[2]
    assert [name for name in ("forensics", "parsers", "reports") if not (root / name / "py.typed").is_file()] == []
