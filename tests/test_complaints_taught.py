"""`forensics inspect` shows which complaints of unknown programs are worth a parser."""

from pathlib import Path

from forensics import analyze
from reports import inspection

LOG = """\
2026-03-01 10:00:00 INFO mesh: joined 8 of 8
2026-03-01 10:00:01 ERROR mesh: route 17 is gone
2026-03-01 10:00:02 ERROR mesh: route 18 is gone
shard 3: checksum mismatch, reading it again
shard 4: checksum mismatch, reading it again
shard 5: checksum mismatch, reading it again
the weather is fine
"""


def test_the_commonest_first_and_nothing_that_does_not_complain(tmp_path: Path) -> None:
    (tmp_path / "mesh.log").write_text(LOG)
    report = analyze(tmp_path)
    counted = [(line.split(" × ")[0], line.split(" × ")[1]) for line in report.coverage.complaints]
    assert [(count, "shard" in text or "route" in text) for count, text in counted] == [("3", True), ("2", True)]
    shown = inspection.render(report)
    assert "3 × shard #: checksum mismatch, reading it again" in shown
    assert "weather" not in shown.split("mesh.log")[0]


def test_what_a_parser_read_is_not_shown_again(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("srun: error: n7: task 13: Exited with exit code 1\n")
    assert analyze(tmp_path).coverage.complaints == []


def test_a_warning_in_plain_words_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("mesh: Hang detected\n")
    assert analyze(tmp_path).verdict.summary == "No line says error; what hints at a failure: mesh: Hang detected"


def test_a_hint_that_no_rule_explains_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("mesh: heartbeat of node n3 missed for 60 s\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("unknown", [])
    assert verdict.summary.endswith("no rule explains it: mesh: heartbeat of node n3 missed for 60 s")
