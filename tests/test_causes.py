"""Every cause the whole way, before any detector is run: its words in both languages, its question, a decision, the page."""

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import msgspec
import pytest
from markupsafe import escape

from forensics import analyze
from forensics.model.causes import CAUSES
from forensics.model.finding import Finding
from forensics.model.incident import Action, Device, Evidence, FirstAnomaly, Place
from forensics.model.names import Cause, Kind
from forensics.model.ref import Ref
from forensics.model.said import Said, sentence, zh
from forensics.report import Report
from forensics.setup.rows import settings
from forensics.verdict.advice.actions import Known, actions_of
from forensics.verdict.advice.decide import decide
from reports import html, markdown, terminal
from reports.chinese import answer as chinese_answer
from reports.explanations import of_word
from tests.sources import written

ALL = [pytest.param(cause, id=cause) for cause in get_args(Cause)]
WIDE = re.compile(r"[\u4e00-\u9fff]")
LINE = "2026-01-31 10:11:20,000 ERROR the weft of this rank came apart"


@cache
def _bundle() -> Report:
    """Four ranks on two hosts, and an error of one that no rule explains."""
    logs = {
        f"rank_{rank}.log": [
            f"2026-01-31 10:11:1{step},000 INFO host=n{rank // 2} rank={rank} world_size=4 step {step} loss 2.{step}"
            for step in (1, 2)
        ]
        for rank in range(4)
    }
    logs["rank_1.log"].append(LINE)
    with TemporaryDirectory() as folder:
        return analyze(written(Path(folder), logs))


@cache
def _report(cause: Cause, kind: Kind, times: int = 1) -> Report:
    """That bundle's, had a detector found this cause of rank 1, or of what it ran on."""
    row, before = CAUSES[cause], _bundle()
    first = row.runbook[0]
    text = Said("rank 1 of n1 is at fault", "n1 的 rank 1 是故障方")
    found = Finding(
        detector="made_up",
        cause=cause,
        ranks=(1,),
        hosts=("n1",) if row.holds in ("device", "link") else (),
        devices=(Device(host="n1", pci="0000:3b:00.0"),) if row.holds == "device" else (),
        domain=row.domain,
        first_anomaly=FirstAnomaly(rank=1, step=2, signature=cause),
        actions=(Action(kind=first.do, target="rank 1", command=None, reason=first.look),),
        summary=sentence(text),
    )
    place = Place(rank=1, host="n1", pid=7)
    verdict = msgspec.structs.replace(
        before.verdict, kind=kind, cause=cause, status="supported", undecided=[], domain=row.domain, ranks=[1], hosts=[*found.hosts],
        devices=[*found.devices], first_anomaly=found.first_anomaly, places=[place], summary=found.summary,
    )  # fmt: skip
    evidence = [Evidence(id="e1", claim=text, direction="for", refs=[Ref(file="rank_1.log", line=3, text=LINE)])]
    actions = actions_of(found, "supported", Known([place], has_ended=kind != "slow"))
    one = msgspec.structs.replace(before.incident, verdict=verdict, evidence=evidence, actions=actions)
    one = msgspec.structs.replace(one, decision=decide(one, 4, times=times))
    return msgspec.structs.replace(before, incidents=[one], primary=0)


@pytest.mark.parametrize("cause", ALL)
def test_its_words_are_in_both_languages(cause: Cause) -> None:
    row = CAUSES[cause]
    said = [row.title, row.means, row.do, row.unless_changed, row.beside_restart]
    said += [text for step in row.runbook for text in (step.look, step.then)]
    assert [text for text in said if text and (not WIDE.search(zh(text)) or WIDE.search(text))] == []
    assert row.title and row.means and row.do and row.alike and row.example and row.chinese and row.runbook
    assert [text for text in (row.means, row.do) if text[-1] not in ".?" or zh(text)[-1] not in "。？"] == []
    assert of_word(cause) and WIDE.search(of_word(cause, "zh"))


@pytest.mark.parametrize("cause", ALL)
def test_it_answers_a_question_of_settings_toml(cause: Cause) -> None:
    assert [question.asks for question in settings().question if cause in question.causes], (
        "add it to the `causes` of the [[question]] that it answers, in forensics/setup/settings.toml"
    )


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("cause", ALL)
def test_a_restart_is_decided_of_it_in_both_languages(cause: Cause, times: int) -> None:
    """By its columns, of every kind that it may be of, once and for the third time."""
    for kind in CAUSES[cause].kinds:
        told = _report(cause, kind, times).incident.decision
        assert told.reason and WIDE.search(zh(told.reason)), (kind, told)
        assert not told.unless or WIDE.search(zh(told.unless))
        assert CAUSES[cause].returns != "changed" or told.do == "change_first"


@pytest.mark.parametrize("cause", ALL)
def test_it_comes_to_every_report(cause: Cause) -> None:
    row, report = CAUSES[cause], _report(cause, CAUSES[cause].kinds[0])
    assert report.incident.actions, "no step of its runbook"
    page, chinese = html.render(report), html.render(report, language="zh")
    if not row.by_stack:  # of these the answer says what the stack shows
        assert escape(row.title) in page and escape(zh(row.title)) in chinese
    assert WIDE.search(chinese_answer(report.incident).sentence)
    assert terminal.render(report, color=False) and terminal.render(report, color=False, language="zh")
    assert markdown.render(report) and "。。" not in markdown.render(report, "zh")


@pytest.mark.parametrize("cause", ALL)
def test_what_it_says_itself_is_done_where_its_finding_asks_for_nothing(cause: Cause) -> None:
    row = CAUSES[cause]
    first = next(iter(actions_of(Finding(detector="x", cause=cause, ranks=(1,), domain="workload"), "supported")), None)
    steps = {step.do for step in row.runbook if step.do.startswith(("inspect", "check"))}
    is_asked = row.by_stack or cause in ("deadlock_cycle", "collective_mismatch") or not steps
    assert is_asked or (first is not None and first.kind in steps)


def test_a_page_is_saved_in_either_language(tmp_path: Path) -> None:
    report = _report("disk_full", "crash")
    report.save(tmp_path / "a.html", language="zh")
    report.save(tmp_path / "a.md")
    assert '<html lang="zh' in (tmp_path / "a.html").read_text()
    assert not WIDE.search((tmp_path / "a.md").read_text())


def test_a_cause_that_a_change_must_come_before_is_refused_without_saying_which() -> None:
    with pytest.raises(ValueError, match="unless_changed"):
        msgspec.structs.replace(CAUSES["disk_full"], unless_changed=None)
