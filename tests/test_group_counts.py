"""A process that says two ranks: the job's stands, its place in a group does not."""

from typing import Any

import pytest

from tests.log_cases import case

PIDS = (15901, 15909, 15917, 15925)


def _claims(ranks: tuple[int, ...], world: int, pids: tuple[int, ...] = PIDS) -> list[dict[str, Any]]:
    return [{"rank": r, "pid": pid, "world_size": world, "how": "told"} for r, pid in zip(ranks, pids, strict=True)]


def _who_raised(claims: list[dict[str, Any]]) -> int | None:
    raised = {"kind": "exception", "code": "KeyError", "text": "KeyError: 'uid'", "pid": PIDS[3]}
    (row,) = case([raised], ranks=claims).events.iter_rows(named=True)
    return row["rank"]


@pytest.mark.parametrize("places", [(0, 1, 0, 1), (0, 0, 1, 1)])
def test_places_in_several_groups_are_no_ranks(places: tuple[int, ...]) -> None:
    job, groups = _claims((0, 1, 2, 3), 4), _claims(places, 2)
    assert _who_raised([*job, *groups]) == _who_raised([*groups, *groups, *job]) == 3


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param(_claims((0, 1, 0, 1), 2), id="no larger world is told"),
        pytest.param([*_claims((0, 1, 2, 2), 4), *_claims((0, 1, 0, 1), 2)], id="the larger one tells a rank twice"),
        pytest.param(
            [*_claims((0, 1), 4, PIDS[:2]), *_claims((0, 1, 0, 1), 2)], id="the larger one is told by some only"
        ),
    ],
)
def test_without_a_world_in_which_each_has_a_rank_of_its_own_nothing_is_dropped(claims: list[dict[str, Any]]) -> None:
    assert case([], ranks=claims).tables["ranks"].height == len(claims)


def test_a_program_that_is_whole_keeps_its_ranks_beside_all_that_a_launcher_began() -> None:
    claims = [*_claims((0, 1, 2, 3), 4), *_claims((1, 2, 3, 4), 5)]
    assert case([], ranks=claims).tables["ranks"].height == 8
