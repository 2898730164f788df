"""Twelve lines: the answer, its command and why; what weighs less is left out, and messages are cut in the middle."""

from pathlib import Path

import msgspec
import pytest

from forensics import Report, analyze
from forensics.model.incident import Action, Incident
from reports import answer, layout, sanitize, summary, terminal
from tests.report_checks import EXAMPLES, assert_harmless, every_example, example

SAMPLES = sorted((Path(__file__).resolve().parent.parent / "samples").glob("*/bundle"))


def brief(report: Report, width: int | None = 80, **more: object) -> list[str]:
    return terminal.render(report, color=False, width=width, is_brief=True, **more).splitlines()  # type: ignore[arg-type]


@every_example
@pytest.mark.parametrize("width", [60, 80, 120, None])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_twelve_lines_of_which_none_is_made_up(name: str, width: int | None, language: str) -> None:
    report = example(name)
    lines = brief(report, width, language=language)
    of_command = sum(line.startswith(" " * 14) for line in lines) if name == "crowded" else 0  # which is never cut
    assert len(lines) <= max(terminal.LINES, of_command + 7)
    assert_harmless("\n".join(lines))
    whole = terminal.render(report, color=False, width=width, language=language).splitlines()  # type: ignore[arg-type]
    incident = summary.primary(report)
    if incident is not None and width == 120 and name != "hostile":
        assert [line for line in lines[:-1] if line not in whole] == []


@pytest.mark.parametrize("bundle", SAMPLES[::4], ids=lambda path: path.parent.name)
def test_of_samples_what_counts_is_kept(bundle: Path) -> None:
    report = analyze(bundle)
    lines = brief(report)
    text = " ".join(" ".join(lines).split())
    said = answer.answer(report.incident)
    assert len(lines) <= terminal.LINES
    assert " ".join(sanitize.clean(said.sentence, "space").split()) in text
    assert said.command is None or said.command in text.replace("\\ ", "")
    assert any(line.startswith(("why ", "known ")) for line in lines)
    assert lines[-1].startswith("read ") and lines[-1].endswith("more lines with -v")


def _with(report: Report, **changes: object) -> Report:
    return msgspec.structs.replace(report, incidents=[msgspec.structs.replace(report.incidents[0], **changes)])


def test_a_long_message_is_cut_in_its_middle_and_says_its_cure() -> None:
    message = (
        "“" + "ValueError: optimizer is not tested with this. " + "x y " * 300 + 'add "allow_untested": true' + "”"
    )
    report = EXAMPLES["undecided"]()
    verdict = msgspec.structs.replace(
        report.incidents[0].verdict, summary=f"Rank 3 raised {message} at train.py:7.", ranks=[]
    )
    lines = brief(_with(report, verdict=verdict))
    text = " ".join(" ".join(lines).split())
    assert len(lines) <= terminal.LINES
    assert "ValueError: optimizer" in text and " … " in text and 'add "allow_untested": true” at train.py:7.' in text
    whole = terminal.render(_with(report, verdict=verdict), color=False, width=None)
    assert message in whole


def test_a_command_is_never_cut() -> None:
    command = "ssh node1 'dmesg -T | grep -i " + "x" * 700 + "'"
    first = Action(kind="collect_more", target="node1", command=command, reason="r")
    lines = brief(_with(EXAMPLES["hang"](), actions=[first]), None)
    assert any(command in line for line in lines)


def test_other_faults_and_contradictions_come_before_more_of_the_same() -> None:
    report = EXAMPLES["hang"]()
    one: Incident = report.incidents[0]
    many = [msgspec.structs.replace(one.evidence[0], id=f"E{n}", claim=f"claim {n}", direction="for") for n in range(9)]
    against = [msgspec.structs.replace(one.evidence[0], id="E10", claim="its heart beats", direction="against")]
    other = msgspec.structs.replace(one, evidence=[])
    told = msgspec.structs.replace(one, evidence=[*many, *against])
    lines = brief(msgspec.structs.replace(report, incidents=[told, other]))
    assert any(line.startswith("contradicts ") and "its heart beats" in line for line in lines)
    assert any(line.startswith("also ") for line in lines)
    assert [line.split()[0] for line in lines if "claim " in line] == [
        str(n + 1) for n in range(sum("claim " in x for x in lines))
    ]


@pytest.mark.parametrize("width", [20, 40, 79])
@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        ("a" * 50 + " then " + "b" * 60, "a", "b"),
        ("rank 5 raised “" + "e" * 90 + " fix it” at x.py:1", "rank 5", "x.py:1"),
        ("报" * 60 + "完", "报", "完"),
    ],
)
def test_cut_middle_keeps_both_ends_and_fits(text: str, begins: str, ends: str, width: int) -> None:
    shown = layout.cut_middle(text, width)
    assert layout.cells(shown) <= width and "…" in shown
    assert shown.startswith(begins[0]) and shown.endswith(ends[-1])
    assert layout.cut_middle(text, 1000) is text


@pytest.mark.parametrize("kind", ["ValueError", "RuntimeError", "quux.ZorpError"])
def test_what_an_exception_says_last_is_in_the_headline(kind: str, tmp_path: Path) -> None:
    """The class says what, the end of the message what to do about it; between them there may be anything."""
    middle = "the optimizer was given parameters that are neither sharded nor replicated on this mesh of devices, " * 3
    (tmp_path / "rank_0.log").write_text(
        'Traceback (most recent call last):\n  File "/app/train.py", line 7, in <module>\n    main()\n'
        f'  File "/app/train.py", line 3, in main\n    raise {kind}(text)\n{kind}: not tested: {middle}please set "allow": true\n'
    )
    sentence = answer.answer(analyze(tmp_path).incident).sentence
    assert f"{kind}: not tested" in sentence and 'please set "allow": true' in sentence and len(sentence) < 300
