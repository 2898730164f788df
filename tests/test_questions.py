"""What one asks a bundle: show, events, diff, explain; and what is said where the question is wrong."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

from forensics.cli import cli
from forensics.model.names import Cause, Reason, Status
from reports import explanations

STALL = "samples/data_loader_stall/bundle"
KILLED = "samples/rank_killed/bundle"


def ask(*words: str) -> tuple[int, list[str]]:
    done = CliRunner().invoke(cli, words)
    return done.exit_code, done.output.splitlines()


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(Path(__file__).resolve().parent.parent)
    return iter(())


def test_a_rank_is_shown_in_order_of_time_and_each_record_once() -> None:
    status, (head, *rows) = ask("show", "rank", "5", STALL)
    assert status == 0 and head.split() == ["time", "host", "source", "where", "what"]
    times = [row.split()[0] for row in rows if row.startswith("2026")]
    assert times == sorted(times) and len(times) > 20
    assert len(set(rows)) == len(rows)
    assert any("step 5, loss" in row for row in rows)
    assert any("main thread: data loading" in row for row in rows)


@pytest.mark.parametrize(
    ("options", "holds", "lacks"),
    [
        (["--last", "2"], "closing signal", "step 5, loss"),
        (["--since", "21:25:33", "--until", "21:25:34"], "step 5, loss", "closing signal"),
        (["--since", "2026-11-20T21:25:40"], "closing signal", "step 5, loss"),
        (["--source", "flight"], "all_reduce #24 of default_pg: scheduled", "step 5, loss"),
        (["--source", "py_spy"], "main thread", "step 5, loss"),
        (["--level", "warn"], "exit:", "step 5, loss"),
        (["--since", "23:00"], "no record matches", "step"),
    ],
    ids=" ".join,
)
def test_options_narrow_what_is_shown(options: list[str], holds: str, lacks: str) -> None:
    status, rows = ask("show", "rank", "5", STALL, *options)
    text = "\n".join(rows)
    assert status == 0 and holds in text and lacks not in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "rank", "99", STALL], "rank 99 is not in this bundle; it has ranks 0-7"),
        (["show", "host", "nowhere", STALL], "host nowhere is not in this bundle; it has localhost"),
        (["show", "group", "tp", STALL], "group tp is not in this bundle; it has default_pg"),
        (["explain", "rank", "99", STALL], "rank 99 is not in this bundle"),
        (["explain", "nonsense"], "no such word: nonsense"),
        (["show", "rank", "5", STALL, "--since", "noon"], "'noon' is no time"),
        (
            ["show", "rank", "5", STALL, "--source", "nccl"],
            "no source is called 'nccl'; this bundle has elastic, faulthandler",
        ),
        (["events", STALL, "--where", "x = 1"], "--where is no condition over"),
        (["events", STALL, "-o", f"{STALL}/x.csv"], "lies in the bundle"),
        (["analyze", STALL, "-o", "-", "--open"], "--open needs a file"),
    ],
)
def test_a_wrong_question_exits_with_2_and_one_reason(words: list[str], said: str) -> None:
    status, lines = ask(*words)
    assert status == 2 and said in lines[-1]


def test_events_are_sorted_and_go_into_a_file(tmp_path: Path) -> None:
    target = tmp_path / "events.jsonl"
    assert ask("events", KILLED, "--level", "error", "-o", str(target)) == (0, [])
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    times = [row["time_ns"] for row in rows if row["time_ns"] is not None]
    assert times == sorted(times) and {row["severity"] for row in rows} <= {"error", "fatal"}


def test_diff_tells_by_its_exit_status_where_asked() -> None:
    assert ask("diff", STALL, KILLED)[0] == 0
    status, lines = ask("diff", STALL, KILLED, "--exit-code")
    assert status == 10 and lines[0] == "different signatures"
    assert ask("diff", KILLED, KILLED, "--exit-code")[0] == 0


def test_diff_shows_signature_place_time_and_settings_of_several_incidents() -> None:
    status, lines = ask("diff", STALL, KILLED, KILLED)
    assert status == 0 and lines[0] == "different signatures"
    assert [line for line in lines[1:] if not line.startswith(" ")] == [
        "signature",
        "where",
        "timing",
        "settings and versions that differ",
    ]
    assert any(line.split() == ["≠", "cause", "rank_absent", "|", "killed", "|", "killed"] for line in lines)
    assert any(line.split()[:4] == ["≠", "named", "ranks", "5"] for line in lines)


@pytest.mark.parametrize("sources", [[], [STALL]])
def test_diff_needs_two(sources: list[str]) -> None:
    assert ask("diff", *sources)[0] == 2


def test_every_word_of_a_verdict_is_explained() -> None:
    for word in (*get_args(Cause), *get_args(Status), *get_args(Reason)):
        text = explanations.of_word(word)
        assert text is not None and text.startswith(f"{word}: ") and "Looks alike: " in text and "What to do: " in text


@pytest.mark.parametrize(
    ("rank", "said"),
    [(5, "Rank 5 is named: established"), (3, "Rank 3 is not named"), (3, "waiting for others")],
)
def test_why_this_rank_or_why_not(rank: int, said: str) -> None:
    status, lines = ask("explain", "rank", str(rank), STALL)
    assert status == 0 and said in "\n".join(lines)


def test_help_groups_commands_by_task() -> None:
    status, lines = ask("--help")
    assert status == 0 and [line for line in lines if line in ("What happened:", "Look closer:", "Hand on:")] != []
    assert ask("-V")[1][0].startswith("forensics")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain", "tied_explanations"], "tied_explanations: Several explanations fit equally well."),  # once
        (["explain", "gpu_oom", "--lang", "zh"], "gpu_oom：该 rank 显存不足。"),
        (["explain", "rank", "5", STALL, "--lang", "zh"], "  rank 5 未进入 default_pg 的 all_reduce #25；7 个成员在其中等待（rank 0-4、6-7）  [fr/comm_lib_trace_rank_5:0]"),
        (["inspect", STALL], "  elastic                   1 file          35 records"),
        (["stacks", STALL], "     1  data_loading  [rank 5]"),
    ],
)  # fmt: skip
def test_an_answer_is_told_once_and_with_its_plurals(words: list[str], said: str) -> None:
    assert said in ask(*words)[1]
