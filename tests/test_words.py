"""What people read is plain: no private words, no codes of the program, no wrong plurals, and an answer first."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from forensics import analyze
from forensics.model.texts import ranks_text
from reports import markdown, terminal
from reports.answer import answer
from samples.situations import write
from samples.words import SAMPLES

NAMES = sorted(path.parent.name for path in SAMPLES.glob("*/truth.json"))
WRITTEN = (
    "culprit_lost",
    "xid79_two_hosts",
    "ctrlc_healthy",
    "wrong_nic_metax",
    "disagree_log_record",
    "running_snapshot",
)
PRIVATE = re.compile(
    r"\b(blast radius|infected|told|births?|born|vague|proven clean|reborn|in a circle|only followed|bundle shows a fault)\b|\bculprit\b"
)
CODES = re.compile(r"\b\w+:\w+:\w+\b(?<!\d)|\bNone\b|\b\w+_\w+:[a-z]")
WRONG = re.compile(
    r"\branks \d+(?![\d,-]| and|,? …)\b|\b1 (ranks|files|hosts|records|errors|symptoms)\b|\b0 other\b|(\bSIG\w+) \(\2\)"
)


def said(name: str) -> str:
    """The text of a sample or a situation, without what it quotes: brackets, places, lines."""
    if name in NAMES:
        report = analyze(SAMPLES / name / "bundle")
    else:
        with TemporaryDirectory() as folder:
            write(name, Path(folder) / name)
            report = analyze(Path(folder) / name)
    assert terminal.render(report, color=False, width=markdown.WIDTH).strip() in markdown.render(report)
    text = terminal.render(report, color=False, width=None)
    return re.sub(r"\[[^\]]*\]|\([^)]*\)|\S*/\S*", "", text)


@pytest.mark.parametrize("name", [*NAMES, *WRITTEN])
def test_an_answer_reads_well(name: str) -> None:
    text = said(name)
    own = "\n".join(line for line in text.splitlines() if not line.startswith(("read ", "finite until", "  ")))
    for wrong in (PRIVATE, CODES, WRONG):
        assert [match[0] for match in wrong.finditer(own)] == []


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ([5], "rank 5"),
        ([2, 6], "ranks 2 and 6"),
        ([0, 1], "ranks 0-1"),
        ([0, 1, 2, 7], "ranks 0-2, 7"),
        (range(0, 40, 2), "ranks 0, 2, 4, 6, 8, 10, 12, 14, … (20 in all)"),
    ],
)
def test_ranks_as_words(ranks: list[int], text: str) -> None:
    assert ranks_text(ranks) == text


@pytest.mark.parametrize("name", NAMES)
def test_who_where_what_now_and_why_begin_within_five_lines_of_eighty_columns(name: str) -> None:
    report = analyze(SAMPLES / name / "bundle")
    lines = terminal.render(report, color=False, width=80).splitlines()
    said = answer(report.incidents[report.primary])
    assert f"{said.label}  {said.sentence}" in re.sub(
        r"\s+(?=\S)", lambda gap: gap[0] if gap[0] == "  " else " ", "\n".join(lines[:3])
    )
    for labels in (("do now ", "collect "), ("why ", "known ")):
        assert any(line.startswith(labels) for line in lines[:5]), lines[:7]
