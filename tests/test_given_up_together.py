"""Waits that most give up in the same words, and whom the last lines of all others say they missed, in words that nobody has taught."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.assemble.ends.given_up_together import with_given_up_together
from forensics.model.incident import Verdict
from parsers import read

SIZE, OUT = 6, 4
Logs = dict[str, list[str]]
INSIDE = [rank for rank in range(SIZE) if rank != OUT]


def verdict(tmp_path: Path, logs: Logs) -> Verdict:
    for path, lines in logs.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("\n".join(lines) + "\n")
    return analyze(tmp_path).verdict


def steps(head: str) -> list[str]:
    return [f"{head.format(f'09:00:{step:02}')}step {step} loss 2.{step:02} lr 0.001" for step in range(1, 30, 2)]


def star(said: str = f"[{OUT}]") -> Logs:
    """Each says what it has, and whom it misses when it leaves."""
    return {
        f"stern{rank}.log": [
            f"09:00:00 rank {rank} of {SIZE}",
            *steps("{0} "),
            f"09:00:30 Teil von step 31 abgegeben, habe ({', '.join(str(one) for one in INSIDE if one != rank)})",
            f"09:10:30 step 31 nicht fertig nach 600 s, es fehlt {said}, Ende",
        ]
        for rank in INSIDE
    }


def names(said: str = f"[kuh-{OUT}]") -> Logs:
    """They are called by names, and no line tells for how long they had waited."""
    return {
        f"kuh-{rank}.txt": [
            f"[kuh-{rank}] 09:00:00 rank={rank} world_size={SIZE}",
            *steps(f"[kuh-{rank}] {{0}} "),
            f"[kuh-{rank}] 09:31:02 ERROR barn is shut, nothing heard of {said}",
            f"[kuh-{rank}] 09:31:02 going home, code 7",
        ]
        for rank in INSIDE
    }


def japanese(said: str = f"（{OUT}）") -> Logs:
    said = said.replace("（", "(").replace("）", ")")
    return {
        f"p{rank}/out": [
            f"2026-03-01 09:00:00 rank {rank}/{SIZE} 開始",
            *steps("2026-03-01 {0} "),
            f"2026-03-01 09:20:31 エラー: 交換 31 が終わらない、未着 {said}",
        ]
        for rank in INSIDE
    }


FORMS: Mapping[str, Callable[..., Logs]] = {"a star": star, "names": names, "Japanese": japanese}


@pytest.mark.parametrize("form", FORMS)
def test_whom_all_others_miss_as_they_leave_is_named(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, FORMS[form]())
    assert (found.kind, found.cause, found.ranks) == ("hang", "rank_absent", [OUT])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("said", ["[2]", "[4, 5]", "[9]", "4 of 6", "[4 of 6]"])
def test_whoever_else_stands_there_is_not(tmp_path: Path, form: str, said: str) -> None:
    assert verdict(tmp_path, FORMS[form](said)).ranks == []


@pytest.mark.parametrize("form", FORMS)
def test_who_says_it_of_another_too_is_not_the_only_one(tmp_path: Path, form: str) -> None:
    """The missed one misses somebody else in the same words."""
    logs = FORMS[form]()
    path = next(path for path in logs if "1" in path)
    own = [line.replace(f"{OUT}]", "1]").replace(f"({OUT})", "(1)") for line in logs[path]]
    own = [
        line.replace("rank 1", f"rank {OUT}").replace("rank=1", f"rank={OUT}").replace("kuh-1]", f"kuh-{OUT}]", 1)
        for line in own
    ]
    logs[path.replace("1", str(OUT), 1)] = own
    assert verdict(tmp_path, logs).ranks == []


@pytest.mark.parametrize("form", FORMS)
def test_where_one_more_is_silent_nobody_is_named(tmp_path: Path, form: str) -> None:
    logs = FORMS[form]()
    path = next(path for path in logs if "1" in path)
    del logs[path][16:]
    assert verdict(tmp_path, logs).ranks == []


def test_a_list_in_a_line_that_gives_nothing_up_is_of_something_else(tmp_path: Path) -> None:
    logs = names()
    for rank, lines in zip(INSIDE, logs.values(), strict=True):
        lines[-2:] = [f"[kuh-{rank}] 09:31:02 milk is kept by [kuh-{OUT}]", f"[kuh-{rank}] 09:31:02 idle"]
    assert verdict(tmp_path, logs).ranks == []


@pytest.mark.parametrize("label", ["amber|{0}|{1}|", "<{1}> [{0}] ", "{1} k{0} > "])
def test_where_all_give_up_the_same_it_is_a_hang_of_nobody(tmp_path: Path, label: str) -> None:
    logs = {}
    for rank in range(SIZE):
        lines = [f"{label.format(rank, f'08:00:{n:02}.101')}in seq={n}" for n in range(0, 40, 2)]
        lines += [f"{label.format(rank, '08:10:38.090')}watch: seq=38 still inside after 600 s, leaving"]
        logs[f"k.{rank}.trace"] = lines
    found = verdict(tmp_path, logs)
    assert (found.kind, found.ranks, found.suspects.ranks) == ("hang", [], [])


def test_what_two_of_many_give_up_is_nobody_s_wait(tmp_path: Path) -> None:
    logs = {}
    for rank in range(SIZE):
        lines = [f"amber|{rank}|08:00:{n:02}.101|in seq={n}" for n in range(0, 40, 2)]
        lines += [f"amber|{rank}|08:10:38.090|upload 38 still open after 600 s, retrying"] if rank < 2 else []
        logs[f"k.{rank}.trace"] = lines
    assert verdict(tmp_path, logs).kind == "unknown"


def test_where_everybody_watches_the_job_nobody_says_that_he_waits(tmp_path: Path) -> None:
    logs = star()
    for lines in logs.values():
        lines[-1] = "09:10:30 watch: no progress for 600 s"
    for path, lines in logs.items():
        (tmp_path / path).write_text("\n".join(lines) + "\n")
    tables = read(str(tmp_path)).tables
    assert set(tables["events"]["kind"]) == {"heartbeat_lost"}
    waits = with_given_up_together(tables, frozenset(range(SIZE)))["events"]
    assert "collective_timeout" not in set(waits["kind"])
