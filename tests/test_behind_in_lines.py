"""Of a job that stands still, whose log stops before a line that all others still print, in words that nobody has taught."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS, LAST = 6, 9
Line = Callable[[int, int], str]  # rank, round → text

COURSES: Mapping[str, tuple[Line, ...]] = {
    "words of nobody": (
        lambda rank, n: f"09:0{n % 10}:{rank:02} quux({rank}) lap {n} taken",
        lambda rank, n: f"09:0{n % 10}:1{rank} quux({rank}) lap {n} over the hill",
        lambda rank, n: f"09:0{n % 10}:2{rank} quux({rank}) lap {n} into the pot",
    ),
    "Chinese, counted in tens": (
        lambda rank, n: f"[进程{rank}] 第{10 * n}轮 取数 用时 0.{rank}{n} 秒",
        lambda rank, n: f"[进程{rank}] 第{10 * n}轮 正向",
        lambda rank, n: f"[进程{rank}] 第{10 * n}轮 反向 幅度 {rank + n}.5",
    ),
    "pairs": (
        lambda rank, n: f"ts=2026-11-20T09:00:{n:02}Z lvl=info at=intake tick={n} who=w{rank}",
        lambda rank, n: f"ts=2026-11-20T09:00:{n:02}Z lvl=info at=mixing tick={n} who=w{rank}",
        lambda rank, n: f"ts=2026-11-20T09:00:{n:02}Z lvl=info at=handing tick={n} who=w{rank}",
    ),
}


def logs(course: tuple[Line, ...], stops: Mapping[int, tuple[int, int]]) -> dict[int, list[str]]:
    """`stops`: rank → (round, how many lines of it are printed); all others print two lines of the last round."""
    found = {}
    for rank in range(RANKS):
        last, lines = stops.get(rank, (LAST, 2))
        whole = [line(rank, n) for n in range(last) for line in course]
        found[rank] = [*whole, *(line(rank, last) for line in course[:lines])]
    return found


def verdict(tmp_path: Path, lines: Mapping[int, list[str]], *, hung: bool = True) -> Verdict:
    for rank, own in lines.items():
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(own) + "\n")
    return analyze(tmp_path, hung=hung).verdict


@pytest.mark.parametrize("form", COURSES)
@pytest.mark.parametrize("stop", [(LAST, 1), (LAST, 0)], ids=["a line short", "never began the round"])
def test_who_is_behind_is_suspected_and_not_named(tmp_path: Path, form: str, stop: tuple[int, int]) -> None:
    found = verdict(tmp_path, logs(COURSES[form], {4: stop}))
    assert (found.kind, found.cause, found.ranks, found.suspects.ranks) == ("hang", None, [], [4])


@pytest.mark.parametrize("form", COURSES)
def test_two_of_six_are_both_suspected_and_three_are_not(tmp_path: Path, form: str) -> None:
    few, half = tmp_path / "few", tmp_path / "half"
    few.mkdir(), half.mkdir()
    assert verdict(few, logs(COURSES[form], dict.fromkeys((1, 4), (LAST, 1)))).suspects.ranks == [1, 4]
    assert verdict(half, logs(COURSES[form], dict.fromkeys((1, 2, 4), (LAST, 1)))).suspects.ranks == []


@pytest.mark.parametrize("form", COURSES)
@pytest.mark.parametrize(
    "stops",
    [{}, {4: (LAST - 3, 2)}, {4: (LAST + 1, 1)}, {rank: (LAST - rank, 2) for rank in range(RANKS)}],
    ids=["all alike", "a log that was copied earlier", "one runs ahead", "each counts for itself"],
)
def test_nobody_is_behind(tmp_path: Path, form: str, stops: Mapping[int, tuple[int, int]]) -> None:
    assert verdict(tmp_path, logs(COURSES[form], stops)).suspects.ranks == []


@pytest.mark.parametrize("form", COURSES)
def test_what_one_prints_alone_is_no_mark(tmp_path: Path, form: str) -> None:
    lines = logs(COURSES[form], {4: (LAST, 1)})
    lines[0] = [
        text for n, text in enumerate(lines[0]) for text in (text, f"lap {n // 3}: of all laps the best is {n}")
    ]
    assert verdict(tmp_path, lines).suspects.ranks == [4]


@pytest.mark.parametrize("form", COURSES)
def test_a_job_of_which_nobody_says_that_it_stands_is_not_asked(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, logs(COURSES[form], {4: (LAST, 1)}), hung=False)
    assert (found.kind, found.ranks, found.suspects.ranks) == ("unknown", [], [])


def test_a_rank_without_a_log_is_suspected_beside_who_is_behind(tmp_path: Path) -> None:
    lines = logs(COURSES["words of nobody"], {4: (LAST, 1)})
    del lines[2]
    found = verdict(tmp_path, {rank: ["world size 6", *own] for rank, own in lines.items()})
    assert found.ranks == [] and {4} <= {*found.suspects.ranks} <= {2, 4}


# --- who is within a unit that another one ended ---------------------------------------------------------------------

STAGES: Mapping[
    str, tuple[Line, Line]
] = {  # what each stage prints of a piece of work: that it has it, that it gave it away
    "a pipeline": (
        lambda rank, n: f"09:00:{n:02} stage {rank} step {n // 4} mb {n % 4} received",
        lambda rank, n: f"09:00:{n:02} stage {rank} step {n // 4} mb {n % 4} sent forward",
    ),
    "words of nobody": (
        lambda rank, n: f"[{rank}] frond {n} in the basket",
        lambda rank, n: f"[{rank}] frond {n} over the wall, {rank}.{n} lenks",
    ),
    "pairs": (
        lambda rank, n: f"lvl=info who=w{rank} chunk={n} at=intake",
        lambda rank, n: f"lvl=info who=w{rank} chunk={n} at=handing",
    ),
}


def pieces(form: tuple[Line, Line], had: Mapping[int, int], within: Sequence[int]) -> dict[int, list[str]]:
    """`had`: rank → how many pieces it ended; those `within` have one more."""
    take, give = form
    ended = {rank: [line(rank, n) for n in range(count) for line in (take, give)] for rank, count in had.items()}
    return {rank: [*own, *([take(rank, had[rank])] if rank in within else ())] for rank, own in ended.items()}


@pytest.mark.parametrize("form", STAGES)
def test_who_took_what_it_did_not_give_on_is_suspected(tmp_path: Path, form: str) -> None:
    lines = pieces(STAGES[form], {0: 10, 1: 9, 2: 8, 3: 8}, [1])
    found = verdict(tmp_path, lines)
    assert (found.kind, found.cause, found.ranks, found.suspects.ranks) == ("hang", None, [], [1])


@pytest.mark.parametrize("form", STAGES)
@pytest.mark.parametrize(
    ("had", "within"),
    [
        ({0: 9, 1: 9, 2: 9, 3: 9}, [1]),
        ({0: 10, 1: 9, 2: 9, 3: 9}, [1, 2, 3]),
        ({0: 10, 1: 9, 2: 8, 3: 8}, []),
        ({0: 4, 1: 2, 2: 2, 3: 2}, [1]),
    ],
    ids=[
        "nobody ended that one: all may wait for it there",
        "most are within",
        "all ended theirs",
        "too few were ended",
    ],
)
def test_nobody_is_within(tmp_path: Path, form: str, had: Mapping[int, int], within: Sequence[int]) -> None:
    assert verdict(tmp_path, pieces(STAGES[form], had, within)).suspects.ranks == []


def test_what_was_not_always_ended_at_once_tells_nothing(tmp_path: Path) -> None:
    lines = pieces(STAGES["words of nobody"], {0: 10, 1: 9, 2: 8, 3: 8}, [1])
    del lines[1][7]  # a piece that it never gave on, and it went on all the same
    assert verdict(tmp_path, lines).suspects.ranks == []
