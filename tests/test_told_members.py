"""Members of a group as a program's own lines tell them, and whom that makes a suspect."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from parsers.comm.told_members import PARSER
from tests.hang_tables import Rows
from tests.lines import lines
from tests.test_fact_failure_roles import ALL_REDUCE, MAIN, OWN, raised, timed_out

UNPICKLE = ["_unpickle", "/env/lib/python3.11/site-packages/ringlink/codec.py", 62]


@pytest.mark.parametrize(
    ("text", "group", "members"),
    [
        ("broadcast of the plan over group pair_1_3, ranks [1, 3], source 1", "pair_1_3", [1, 3]),
        ("created process group 'dp_cp' with ranks=[0, 2, 4, 6]", "dp_cp", [0, 2, 4, 6]),
        ("stage_link: communicator pp_0_1 (members: (0, 1))", "pp_0_1", [0, 1]),
        ("Group: embed - global ranks [0,7]", "embed", [0, 7]),
        ("subgroup tp/0 of ranks {0, 1, 2, 3}", "tp/0", [0, 1, 2, 3]),
        ("mesh pp has ranks [3, 5]", "pp", [3, 5]),
    ],
)
def test_forms(text: str, group: str, members: list[int]) -> None:
    assert any(anchor in text.encode() for anchor in PARSER.anchors)
    [row] = PARSER.parse(lines(text, path_rank=1))["groups"].rows(named=True)
    assert (row["rank"], row["group"], row["members"], row["size"]) == (1, group, members, len(members))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mesh: dp0=[0-3] tp=1", {"dp0": [0, 1, 2, 3]}),
        ("groups: tp0=[0,1], tp1=[2, 3] pp=(0-1)", {"tp0": [0, 1], "tp1": [2, 3], "pp": [0, 1]}),
        ("communicators: x:[4-5] y:[6]", {"x": [4, 5], "y": [6]}),
        ("mesh: tp=1 pp=1", {}),
        ("layout of layers: a=[0-3]", {}),
    ],
)
def test_several_groups_in_one_line(text: str, told: dict[str, list[int]]) -> None:
    assert not told or any(anchor in text.encode() for anchor in PARSER.anchors)
    assert dict(PARSER.parse(lines(text))["groups"].select("group", "members").iter_rows()) == told


@pytest.mark.parametrize(
    "text",
    ["dead ranks [1, 3]", "the group of experts, tokens [1, 3]", "group pair_1_3 is slow; ranks: see above", "ranks [1, 3] of group pair",
     "group x, ranks [1, two]"],
)  # fmt: skip
def test_what_tells_no_members_of_a_named_group(text: str) -> None:
    assert PARSER.parse(lines(text))["groups"].is_empty()


def between(told: list[tuple[int, list[int]]], *frames: list[Any], text: str = "codec.Garbled: quorl 41") -> list[int]:
    """Rank 3 of eight fails in a call; the lines before, with the members that they tell → the suspects."""
    job = Rows(8)
    for line, members in told:
        job.add("groups", rank=3, group="pair", members=members, members_space="global", size=len(members), how="told",
                file="logs/rank_3.log", line=line)  # fmt: skip
    job.event(rank=3, line=20, **raised(text, *frames))
    found = timed_out(job, 3).verdict(hung=False)
    assert not found.ranks
    return found.suspects.ranks


@pytest.mark.parametrize(
    ("told", "suspects"),
    [([(9, [1, 3])], [1, 3]), ([(5, [3, 7]), (9, [1, 3])], [1, 3]), ([(9, [1, 3]), (12, [0, 1, 2, 3])], [3]), ([(25, [1, 3])], [3]),
     ([(9, [1, 2])], [3]), ([], [3])],
    ids=["a pair", "the last of two", "a larger one after it", "told after its end", "not its own", "nothing told"],
)  # fmt: skip
def test_of_two_each_may_be_why_a_call_failed(told: list[tuple[int, list[int]]], suspects: list[int]) -> None:
    assert between(told, UNPICKLE, ALL_REDUCE, OWN, MAIN) == suspects


def test_outside_a_call_among_ranks_the_other_is_none() -> None:
    assert between([(9, [1, 3])], UNPICKLE, OWN, MAIN) == [3]


# --- whose numbers a barrier prints -----------------------------------------------------------------------------------

LISTED = "[plan] lanes: groups: even ranks=[0, 2, 4, 6] odd ranks=[1, 3, 5, 7]"
EACH = "rank {rank} joins group lane{lane} with ranks {members}"


def _barrier(
    told: list[str], leader: int, others: dict[int, int], absent: int = 2, prefix: str = "[rank{rank}]:"
) -> list[str]:
    """A monitored barrier that `leader` gives up; others: rank → the number that it tells of itself there."""

    def said(rank: int, text: str) -> str:
        return f"{prefix.format(rank=rank)} RuntimeError: {text}"

    lines = [f"rank {rank} of 8 ready" for rank in range(8)] + told
    lines += [f"2026-03-04 10:0{step}:00 step {step} loss 2.{step}" for step in range(1, 5)]
    lines.append(said(leader, f"[Rank 0]: Rank {absent} failed to pass monitoredBarrier in 600000 ms"))
    came = "Rank {number} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0."
    return lines + [said(rank, came.format(number=number)) for rank, number in others.items()]


def _each() -> list[str]:
    lanes = ([0, 2, 4, 6], [1, 3, 5, 7])
    return [EACH.format(rank=rank, lane=rank % 2, members=lanes[rank % 2]) for rank in range(8)]


@pytest.mark.parametrize(
    ("lines", "rank"),
    [
        (_barrier([LISTED], 1, {3: 1, 7: 3}), 5),
        (_barrier(_each(), 1, {3: 1}), 5),
        (_barrier([LISTED], 1, {}, absent=3, prefix="[rank{rank}]:[E304 10:30:00.123456 ProcessGroupGloo.cpp:144]"), 7),
        (_barrier([LISTED], 0, {4: 4, 5: 5}), 2),
    ],
    ids=["a list", "each its own", "the one who waited", "all of the job"],
)
def test_a_number_in_a_group_that_its_printers_places_tell(lines: list[str], rank: int, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_absent", [rank])


@pytest.mark.parametrize(
    "lines",
    [
        _barrier([], 1, {3: 1, 7: 3}),
        _barrier([LISTED, "[plan] tails: groups: low ranks=[1, 3, 7] high ranks=[0, 2, 6]"], 1, {3: 1}),
        _barrier([LISTED], 0, {}),
        _barrier([LISTED], 1, {3: 2}),
    ],
    ids=["no list", "two lists", "of all or of some", "at another place"],
)
def test_a_number_in_a_group_that_nothing_tells_names_nobody(lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    assert analyze(tmp_path).verdict.ranks == []
