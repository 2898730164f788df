"""Operations that watchdogs gave up: a log may tell of a hundred thousand, and those alike are weighed as one."""

from typing import Any

import pytest

from forensics.model.finding import Claim, Finding
from forensics.model.ref import Ref
from forensics.verdict.conclude import _symptom_rows
from forensics.verdict.judged.observers import Observers
from forensics.verdict.judged.symptoms import Symptom, counted, symptoms
from tests.log_cases import case

MANY = 300


def given_up(*ranks: int) -> list[dict[str, Any]]:
    """Each of these ranks gave up many calls, one after the other."""
    return [
        {"kind": "collective_timeout", "rank": rank, "op": "all_reduce", "seq": at}
        for at in range(MANY)
        for rank in ranks
    ]


def shown(rows: list[dict[str, Any]], *lines: int) -> list[Symptom]:
    """What there is to explain, where one finding cites these lines."""
    refs = tuple(Ref(file="a.log", line=line, text="") for line in lines)
    finding = Finding(detector="any", claims=(Claim("so it says", "for", refs),), summary="")
    told = case(rows)
    found = symptoms(told, [finding], Observers(told, [finding]), lambda _: "waiting")
    return [one for one in found if one.key.startswith("timeout in")]


@pytest.mark.parametrize(
    ("rows", "lines", "counts"),
    [
        (given_up(1), (), [MANY]),
        (given_up(1), (17,), [MANY - 1, 1]),
        (given_up(1, 2), (), [MANY]),
        ([*given_up(1), {"kind": "collective_timeout", "rank": 2, "op": "broadcast", "seq": 4}], (), [MANY, 1]),
        (given_up(1)[:4], (), [1, 1, 1, 1]),
    ],
    ids=["one rank", "one that is cited may be explained alone", "two ranks in the same calls", "another rank in a call of its own", "few"],
)  # fmt: skip
def test_those_alike_are_one(rows: list[dict[str, Any]], lines: tuple[int, ...], counts: list[int]) -> None:
    found = shown(rows, *lines)
    assert sorted((one.count for one in found), reverse=True) == counts
    assert counted(found) == sum(counts)


def test_the_document_lists_the_first_by_name() -> None:
    names = sorted(f"timeout in all_reduce {at} of None" for at in range(MANY))
    assert [row.what for row in _symptom_rows(shown(given_up(1)), ())] == names[:20]
    assert [row.what for row in _symptom_rows(shown(given_up(1), 1), ())] == names[:20]
