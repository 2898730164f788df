"""Drawings of a report: SVG that stands alone, and what is in it."""

import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from reports import plot
from reports.plot import Drawing
from tests.analysed import sample as report
from tests.report_checks import EXAMPLES, assert_harmless

SAMPLES = Path(__file__).resolve().parents[1] / "samples"


def words_of(drawing: Drawing) -> list[str]:
    return [text.strip() for text in ElementTree.fromstring(drawing.svg).itertext() if text.strip()]


def test_a_mark_for_each_state_with_how_many_ranks() -> None:
    told = words_of(report("data_loader_stall").plot.ranks())
    assert {"localhost", "waiting for others 7", "at fault 1"} <= set(told)


def test_the_timeline_has_tracks_and_numbered_events_in_order() -> None:
    told = words_of(report("data_loader_stall").plot.timeline())
    assert {"rank 5", "ranks 0-4, 6-7"} <= set(told)
    listed = [line for line in told if re.match(r"\d+ ", line)]
    assert [int(line.split()[0]) for line in listed] == list(
        range(1, len(listed) + 1)
    ) and "step 5 completed" in listed[0]


def test_series_are_lines_over_steps() -> None:
    drawing = report("inf_in_mlp").plot.series()
    assert {"loss, rank 5", "gradient norm, rank 5"} <= set(words_of(drawing))
    assert drawing.svg.count("stroke-width='1.5'") >= 3


def test_what_there_is_nothing_of_is_an_error() -> None:
    with pytest.raises(ValueError, match="no numbers over steps"):
        _ = report("data_loader_stall").plot.series()


@pytest.mark.parametrize("name", [name for name in EXAMPLES if EXAMPLES[name]().incidents])
def test_a_drawing_stands_alone_and_nothing_in_it_acts(name: str) -> None:
    whole = EXAMPLES[name]()
    for draw in (whole.plot.timeline, whole.plot.ranks, whole.plot.series):
        try:
            drawing = draw()
        except ValueError:
            continue
        assert_harmless(drawing.svg)
        tree = ElementTree.fromstring(drawing.svg)
        assert {node.tag.rpartition("}")[2] for node in tree.iter()} <= {
            "svg", "title", "rect", "path", "circle", "text", "g", "pattern",
        }  # fmt: skip
        names = {key for node in tree.iter() for key in node.attrib}
        assert not [key for key in names if key.startswith("on") or "href" in key or key in ("style", "class")]
        assert drawing.svg.count("http") == 1 or name == "hostile"  # the name of SVG itself
        assert drawing._repr_svg_() == drawing.svg and len(repr(drawing)) < 60


def test_a_drawing_is_saved_whole(tmp_path: Path) -> None:
    drawing = report("data_loader_stall").plot.ranks()
    drawing.save(tmp_path / "ranks.svg")
    assert (tmp_path / "ranks.svg").read_text() == drawing.svg


def test_every_state_has_its_colour() -> None:
    from typing import get_args

    from forensics.model.names import RankState

    assert set(get_args(RankState)) <= set(plot._COLORS)


def test_a_report_without_incident_draws_nothing() -> None:
    empty = msgspec.structs.replace(EXAMPLES["hang"](), incidents=[])
    with pytest.raises(ValueError, match="no incident"):
        empty.plot.ranks()
