"""Every cause the whole way, before any detector is run: its words in both languages, its question, a decision, the page."""

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args
from unittest.mock import patch

import msgspec
import pytest

from forensics.analyze import analyze
from forensics.case import Case
from forensics.model.causes import CAUSES
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Device, FirstAnomaly, Incident
from forensics.model.names import Cause
from forensics.model.ref import Ref
from forensics.model.said import Said, sentence, zh
from forensics.report import Report
from forensics.setup.rows import settings
from forensics.verdict.decide import decide
from reports import html, markdown, terminal
from reports.chinese import answer as chinese_answer
from reports.explanations import of_word
from tests.analysed import ANALYSIS
from tests.sources import written

ALL = [pytest.param(cause, id=cause) for cause in get_args(Cause)]
WIDE = re.compile(r"[\u4e00-\u9fff]")
LINE = "2026-01-31 10:11:20,000 ERROR the weft of this rank came apart"


@cache
def _report(cause: Cause) -> Report:
    """What is made of a bundle in which one detector finds this cause, of rank 1 on n1, and nothing else."""
    row = CAUSES[cause]
    text = Said("rank 1 of n1 is at fault", "n1 的 rank 1 是故障方")
    found = Finding(
        detector="made_up",
        cause=cause,
        ranks=(1,),
        hosts=("n1",) if row.holds in ("device", "link") else (),
        devices=(Device(host="n1", pci="0000:3b:00.0"),) if row.holds == "device" else (),
        domain=row.domain,
        claims=(Claim(text, "for", (Ref(file="rank_1.log", line=3, text=LINE),)),),
        first_anomaly=FirstAnomaly(rank=1, step=2, signature=cause),
        summary=sentence(text),
    )

    def detect(_case: Case, *_: object) -> tuple[list[Finding], dict[str, str]]:
        return [found], {}

    logs = {
        f"rank_{rank}.log": [
            f"2026-01-31 10:11:1{step},000 INFO host=n{rank // 2} rank={rank} world_size=4 step {step} loss 2.{step}"
            for step in (1, 2)
        ]
        for rank in range(4)
    }
    logs["rank_1.log"].append(LINE)
    with TemporaryDirectory() as folder, patch.object(ANALYSIS, "detect", detect):
        return analyze(written(Path(folder), logs))


def _incident(cause: Cause) -> Incident:
    report = _report(cause)
    return report.incidents[report.primary]


@pytest.mark.parametrize("cause", ALL)
def test_its_words_are_in_both_languages(cause: Cause) -> None:
    row = CAUSES[cause]
    said = [row.title, row.means, row.do, row.unless_changed, row.beside_restart]
    said += [text for step in row.runbook for text in (step.what, step.look, step.then)]
    assert [text for text in said if text and not (WIDE.search(zh(text)) and not WIDE.search(text))] == []
    assert row.title and row.means and row.do and row.alike and row.example and row.chinese and row.runbook
    assert all(WIDE.search(form) for form in row.chinese)
    assert of_word(cause) and WIDE.search(of_word(cause, "zh"))
    assert [text for text in (row.means, row.do) if not (text.endswith(".") and zh(text).endswith("。"))] == []


@pytest.mark.parametrize("cause", ALL)
def test_it_answers_a_question_of_settings_toml(cause: Cause) -> None:
    assert [question.asks for question in settings().question if cause in question.causes], (
        "add it to the `causes` of the [[question]] that it answers, in forensics/setup/settings.toml"
    )


@pytest.mark.parametrize("cause", ALL)
def test_a_restart_is_decided_of_it_in_both_languages(cause: Cause) -> None:
    """By its columns, of every kind that it may be of, proven or not, once and for the third time."""
    whole = _incident(cause)
    for kind in CAUSES[cause].kinds:
        verdict = msgspec.structs.replace(whole.verdict, kind=kind, cause=cause, status="supported")
        for times in (1, 3):
            told = decide(msgspec.structs.replace(whole, verdict=verdict), 4, times=times)
            assert told.reason and WIDE.search(zh(told.reason)), (kind, told)
            assert not told.unless or WIDE.search(zh(told.unless))
    if CAUSES[cause].returns == "changed":
        assert told.do == "change_first"


@pytest.mark.parametrize("cause", ALL)
def test_it_comes_to_every_report(cause: Cause) -> None:
    report, row = _report(cause), CAUSES[cause]
    assert report.verdict.cause == cause
    assert WIDE.search(chinese_answer(_incident(cause)).sentence)
    page, chinese = html.render(report), html.render(report, language="zh")
    assert row.title in page and zh(row.title) in chinese
    assert terminal.render(report, color=False) and terminal.render(report, color=False, language="zh")
    assert markdown.render(report) and markdown.render(report, "zh")


def test_a_cause_that_a_change_must_come_before_is_refused_without_saying_which() -> None:
    with pytest.raises(ValueError, match="unless_changed"):
        msgspec.structs.replace(CAUSES["disk_full"], unless_changed=None)
