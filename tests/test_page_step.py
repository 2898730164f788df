"""One step as tracks, and the bar of what slow steps are lost to, on the page."""

import re
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.drawn import OneStep, StepSpan, StepTrack
from forensics.report import Report
from reports.html import render
from reports.html.drawings import steps
from reports.language import Language
from samples.simulator.pipeline import Job, Layout, write


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("step") / "bundle"
    write(Job(Layout(4, 2, 1), micro_batches=4, steps=6).slower(5, factor=1.8).rows(), "parquet", folder)
    return analyze(folder)


def test_the_step_shows_who_is_at_fault_beside_a_rank_of_each_stage(report: Report) -> None:
    found = report.incidents[report.primary]
    told = found.views.one_step
    assert told is not None and told.ranks == 8
    assert [(one.rank, one.stage) for one in told.tracks if one.is_culprit] == [(5, 1)]
    assert {one.stage for one in told.tracks} == {0, 1}
    assert all(0 <= span.start_ms <= span.end_ms <= told.ms + 0.01 for one in told.tracks for span in one.spans)


def test_the_bar_is_the_whole_of_the_time(report: Report) -> None:
    bar = steps.shares(report.incidents[report.primary])
    assert bar is not None
    assert bar.parts[0].name == "culprits" and bar.parts[-1].name == "rest"
    assert sum(part.width for part in bar.parts) == pytest.approx(bar.width, abs=1)
    assert all(
        one.x + one.width == pytest.approx(two.x, abs=0.2) for one, two in zip(bar.parts, bar.parts[1:], strict=False)
    )


@pytest.mark.parametrize(
    ("language", "title"), [("en", "Where the time of a step goes"), ("zh", "一个 step 的时间去向")]
)
def test_both_stand_on_the_page(report: Report, language: Language, title: str) -> None:
    page = render(report, language=language)
    section = page[page.index('<section id="step"') :].partition("</section>")[0]
    assert title in section
    assert len(re.findall('class="did-work at-fault"', section)) == 9  # four forward, four backward, the optimizer
    assert 'class="share-culprits"' in section


def test_boxes_keep_to_the_drawing() -> None:
    spans = [
        StepSpan(start_ms=start, end_ms=end, kind="x" * 99, sort="work")
        for start, end in ((-5.0, 2.0), (0.0, 1e-9), (9.0, 30.0), (40, 50))
    ]
    drawn = steps.step(
        OneStep(step=3, ms=10.0, tracks=[StepTrack(rank=0, stage=None, is_culprit=False, spans=spans)], ranks=70)
    )
    assert drawn is not None and drawn.left_out == 69
    (lane,) = drawn.lanes
    assert len(lane.boxes) == 3 and all(box.width >= 1 for box in lane.boxes)
    assert all(box.x + box.width <= drawn.width for box in lane.boxes)
    assert lane.name == "rank 0" and "…" in lane.boxes[0].title


@pytest.mark.parametrize(
    "told", [None, OneStep(step=1, ms=0.0, tracks=[], ranks=0), OneStep(step=1, ms=5.0, tracks=[], ranks=2)]
)
def test_nothing_is_drawn_of_nothing(told: OneStep | None) -> None:
    assert steps.step(told) is None


def test_a_job_that_is_not_replayed_has_no_section(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("nothing\n")
    assert '<section id="step"' not in render(analyze(tmp_path))
