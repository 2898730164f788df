"""What people read is plain: no private words, no codes of the program, no wrong plurals, and an answer first."""

import re

import pytest

from forensics.model.texts import ranks_text
from reports import markdown, terminal
from reports.answer import answer
from samples.situations import CASES
from tests.advice import against_the_evidence
from tests.analysed import NAMES, sample, situation

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
    report = sample(name) if name in NAMES else situation(name)
    assert terminal.render(report, color=False, width=markdown.WIDTH).strip() in markdown.render(report)
    assert against_the_evidence(report) == []
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
    report = sample(name)
    lines = terminal.render(report, color=False, width=80).splitlines()
    said = answer(report.incidents[report.primary])
    assert f"{said.label}  {said.sentence}" in re.sub(
        r"\s+(?=\S)", lambda gap: gap[0] if gap[0] == "  " else " ", "\n".join(lines[:3])
    )
    for labels in (("do now ", "collect "), ("why ", "known ")):
        assert any(line.startswith(labels) for line in lines[: 5 + bool(said.command)]), lines[
            :7
        ]  # a command is a line more


@pytest.mark.parametrize("name", CASES)
def test_what_to_do_follows_the_sentence_and_why_follows_that(name: str) -> None:
    report = situation(name)
    said = answer(report.incidents[report.primary])
    lines = terminal.render(report, color=False, width=None).splitlines()
    assert lines[0] == f"{said.label}  {said.sentence}"
    assert lines[1].startswith(("do now  ", "collect  ")) and said.do in lines[1]
    assert not said.command or said.command in lines[2]
    assert lines[3 if said.command else 2].startswith(("why  ", "known  "))


def test_a_full_stop_inside_a_quotation_ends_no_sentence() -> None:
    report = situation("amd_memory")
    assert "on address 0x7f3a5c200000. Reason: Unknown”." in answer(report.incidents[report.primary]).sentence


@pytest.mark.parametrize(
    ("name", "says", "lacks"),
    [
        ("logs_hf_healthy", "ranks not named, hosts not named", "0 ranks"),
        ("logs_accelerate_nan_loss", "the loss is NaN", "from finite inputs"),  # a log does not show the inputs
        ("logs_deepspeed_spike", "The loss rose from about", "a finite value"),
        ("logs_deepspeed_scale", "steps up to 30 were skipped", "no known failure matches"),
        (
            "data_loader_stall",
            "decision      restart, after the other steps; the incident cost 0.1 rank hours\n",
            "rank_absent",
        ),
        ("rank_killed", "on localhost only rank 4 ended", "is lost"),
        ("numerics_all_reduce_comm_nan", "all_reduce #2154 of group 0", " of 0 "),
        ("numerics_ddp_drift", "Rank 2 differs from ranks 0-1, 3 in", "0-1,3"),
        ("wrong_collective", "; 3 ranks wait.", "4 ranks wait"),  # not the one that is named
        ("healthy_phases", "No fault found: 8 processes ended normally, last step 29.", "all members agree"),
    ],
)
def test_once_exactly_and_in_plain_words(name: str, says: str, lacks: str) -> None:
    text = terminal.render(sample(name), color=False, width=None)
    assert says in text and lacks not in text


@pytest.mark.parametrize(
    ("name", "says", "lacks"),
    [
        (
            "cascade_one_lagging",
            "Collect the whole log of rank 9",
            "py-spy dump of rank 9",
        ),  # its stack is asked for above
        (
            "running_snapshot",
            "If the job stands still, rank 3",
            "\nnot excluded",
        ),  # the same rank and cause is no other answer
        (
            "amd_stuck",
            "leave out mi01 until its GPU has passed a test",
            "shown\n",
        ),  # it is drained, too
        ("mismatch_shape_lost", "called all_reduce [511] Float (#402), where ranks 0, 2-4", "another call than"),
    ],
)
def test_nothing_is_told_twice_or_contradicts(name: str, says: str, lacks: str) -> None:
    text = terminal.render(situation(name), color=False, width=None)
    assert says in text and lacks not in text
