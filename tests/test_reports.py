"""What people see of a report: nothing acts, nothing overflows, nothing is fetched, the same report gives the same."""

import json as standard_json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model.incident import Clock
from forensics.report import Report
from reports import answer, json, layout, markdown, sanitize, summary, terminal
from tests.report_checks import EXAMPLES, assert_harmless, every_example, example

# --- the sanitiser ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain ASCII ~!", "plain ASCII ~!"),
        ("总共 32 个 rank", "总共 32 个 rank"),
        ("naïve café", "naïve café"),
        ("\x1b[31m", "␛[31m"),
        ("\x00\x07\t\x7f", "␀␇␉␡"),
        ("\x9b2J", "«U+009B»2J"),
        ("a\u202eb\u2066c\u200fd", "a«U+202E»b«U+2066»c«U+200F»d"),
        ("a\u200bb\ufeffc\xadd", "a«U+200B»b«U+FEFF»c«U+00AD»d"),
        ("a\u2028b\u3164c\ufe0fd", "a«U+2028»b«U+3164»c«U+FE0F»d"),
        ("a\xa0b", "a«U+00A0»b"),
        ("\ud800\ue000\U000e0041", "«U+D800»«U+E000»«U+E0041»"),
        ("z" + "\u0301" * 5, "z" + "\u0301" * 3 + "«U+0301»" * 2),
        ("one\ntwo\r\nthree", "one␊two␍␊three"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert sanitize.clean(text) == shown


@pytest.mark.parametrize(("newline", "shown"), [("show", "a␊b␍␊c␍d"), ("space", "a b c d"), ("keep", "a\nb\nc\nd")])
def test_clean_line_ends(newline: sanitize.Newline, shown: str) -> None:
    assert sanitize.clean("a\nb\r\nc\rd", newline) == shown


@given(st.text())
def test_clean_leaves_nothing_hidden_and_is_idempotent(text: str) -> None:
    shown = sanitize.clean(text)
    assert not any(sanitize.is_hidden(character) for character in shown)
    assert sanitize.clean(shown) == shown


# --- layout ----------------------------------------------------------------------------------------------------------


@given(st.text(st.characters(exclude_categories=["C", "M"])), st.integers(1, 40))
def test_cut_fits(text: str, width: int) -> None:
    assert layout.cells(layout.cut(text, width)) <= width
    assert layout.cells(layout.cut_left(text, width)) <= width


@given(st.text(st.characters(exclude_categories=["C", "M"])), st.integers(1, 40))
def test_wrapping_breaks_at_spaces_and_cuts_nothing(text: str, width: int) -> None:
    lines = layout.wrap(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(layout.cells(line) <= width or " " not in line.strip(" ") for line in lines)


@pytest.mark.parametrize(
    ("ranges", "phrase", "count"),
    [
        ("", "no rank", 0),
        ("7", "rank 7", 1),
        ("0-4710,4712-10239", "ranks 0-4710, 4712-10239", 10_239),
        ("1,3,5,7,9,11,13", "ranks 1, 3, 5, 7, 9, 11, … (7 in all)", 7),
        ("0-99999999999999", "ranks 0-99999999999999", 0),
        ("5-1,x,-3", "ranks 5-1, x, -3", 0),
    ],
)
def test_ranks(ranges: str, phrase: str, count: int) -> None:
    assert layout.ranks_phrase(ranges) == phrase
    assert layout.count(ranges) == count


def test_without_a_width_no_line_is_broken() -> None:
    assert layout.wrap("a  b " * 50, None) == ["a  b " * 50]
    assert layout.wrap_command("echo " * 50, None) == ["echo " * 50]


def test_a_command_is_broken_outside_quotes_only() -> None:
    command = "scontrol update nodename=node0002 reason='a reason of many words' state=drain"
    lines = layout.wrap_command(command, 40)
    assert lines == ["scontrol update nodename=node0002 \\", "  reason='a reason of many words' \\", "  state=drain"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "0.2 s"), (1800, "30 min 00 s"), (7322, "2 h 02 min"), (float("nan"), "an unknown time")],
)
def test_duration(seconds: float, text: str) -> None:
    assert layout.duration(seconds) == text


# --- JSON ------------------------------------------------------------------------------------------------------------


@every_example
def test_json_is_one_document_that_reads_back(name: str) -> None:
    report = example(name)
    raw = json.render(report)
    assert raw.endswith(b"}\n")
    assert msgspec.json.decode(raw, type=Report) == report
    document = standard_json.loads(raw)
    assert list(document) == sorted(document)
    assert_harmless(raw.decode())


def test_json_has_no_nan_and_takes_file_names_that_are_no_text() -> None:
    report = EXAMPLES["hang"]()
    cover = msgspec.structs.replace(report.coverage, clock=Clock(skew_bound_s=float("nan")))
    bundle = msgspec.structs.replace(report.bundle, name="bad\udcff")
    document = standard_json.loads(json.render(msgspec.structs.replace(report, coverage=cover, bundle=bundle)))
    assert document["coverage"]["clock"]["skew_bound_s"] is None
    assert document["bundle"]["name"] == "bad\\udcff"


# --- terminal --------------------------------------------------------------------------------------------------------


@every_example
@pytest.mark.parametrize("width", [60, 80, 120])
def test_terminal_keeps_to_the_screen_and_cuts_nothing(name: str, width: int) -> None:
    text = terminal.render(example(name), color=False, width=width)
    for line in filter(str.strip, text.splitlines()):
        is_one_word = (
            "'" in line or max(map(layout.cells, line.split())) > width - 18
        )  # quotes of a command hold together
        assert layout.cells(line) <= width or is_one_word, line
    whole = terminal.render(example(name), color=False, width=None)
    assert text.replace("\\\n", "").split() == whole.split()
    assert_harmless(text)


@every_example
def test_the_first_five_lines_answer(name: str) -> None:
    """Who, where, what, what now and why, each on a line of its own."""
    report = example(name)
    first, *rest = terminal.render(report, color=False, width=None).splitlines()
    incident = summary.primary(report)
    if incident is None:
        assert first == "UNKNOWN  The bundle holds no incident."
        return
    said = answer.answer(incident)
    assert first == sanitize.clean(f"{said.label}  {said.sentence}")
    assert any(line.startswith(("do now ", "collect ")) for line in rest[:2])
    assert any(line.startswith(("why ", "known ")) for line in rest[:3])


@every_example
def test_colour_adds_styles_and_nothing_else(name: str) -> None:
    report = example(name)
    coloured = terminal.render(report, color=True)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert coloured != plain
    assert [line.rstrip() for line in plain.splitlines()] == terminal.render(report, color=False).splitlines()


def test_terminal_says_who_why_and_what_to_do() -> None:
    lines = terminal.render(EXAMPLES["hang"](), color=False, width=None).splitlines()
    assert lines[0] == (
        "HANG  Rank 17 (node0002, GPU 1) is stuck in data loading at next_batch (train.py:585); 31 ranks wait."
    )
    assert lines[1].startswith("do now        Drain node0002.")
    assert lines[2].startswith(" " * 14 + "$ scontrol update nodename=node0002")
    assert "why           established: three independent witnesses name rank 17, none contradicts" in lines
    assert "contradicts   nothing" in lines
    assert any(line.endswith("[logs/node0002-1.out:918233]") for line in lines)
    assert "never entered ALLREDUCE #120050 of dp_1 (8 ranks); stood still 30 min 00 s" in lines
    assert lines[-1].startswith("read          31 of 32 ranks")


def test_undecided_says_what_is_known_what_remains_and_what_to_collect() -> None:
    lines = terminal.render(EXAMPLES["undecided"](), color=False, width=None).splitlines()
    assert (
        lines[0]
        == "HANG (undecided)  Ranks 3 and 7 call different operations; nothing tells which of the two is wrong."
    )
    assert lines[2] == " " * 14 + "$ export TORCH_NCCL_TRACE_BUFFER_SIZE=20000"
    for start in ("collect ", "cannot tell ", "known ", "not excluded ", "suspects      one of ranks 3 and 7"):
        assert any(line.startswith(start) for line in lines), start


def test_a_suspect_is_never_printed_as_the_culprit() -> None:
    for text in (
        terminal.render(EXAMPLES["undecided"](), color=False).splitlines()[0],
        markdown.render(EXAMPLES["undecided"]()).splitlines()[0],
    ):
        assert "undecided" in text


# --- Markdown --------------------------------------------------------------------------------------------------------


@every_example
def test_markdown_starts_with_the_same_text(name: str) -> None:
    report = example(name)
    text = markdown.render(report)
    assert terminal.render(report, color=False, width=markdown.WIDTH).strip("\n") in text
    assert_harmless(text)


def _outside_code(text: str) -> str:
    text = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", text)


def test_hostile_text_stands_in_code_only() -> None:
    outside = _outside_code(markdown.render(EXAMPLES["hostile"]()))
    for sign in ("<", "@", "http", "](", "{{", "alert", "\n/close", "[red]"):
        assert sign not in outside
    headings = [line for line in outside.splitlines() if line.startswith("# ")]
    assert len(headings) == 1


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a|b", "`a\\|b`"),
        ("a\\|b", "`a\\¦b`"),
        ("`", "`` ` ``"),
        ("a``b", "```a``b```"),
        ("two\nlines", "`two lines`"),
        ("  ", "–"),
    ],
)
def test_markdown_cell(text: str, cell: str) -> None:
    assert markdown.cell(text) == cell


def test_a_fence_cannot_be_closed_from_inside() -> None:
    assert markdown.fenced("```\n# x").splitlines() == ["````text", "```", "# x", "````"]


def test_every_table_row_has_as_many_cells_as_its_header() -> None:
    width = 0
    for line in markdown.render(EXAMPLES["hostile"]()).splitlines():
        if not line.startswith("| "):
            width = 0
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        assert width in (0, cells), line
        width = cells
