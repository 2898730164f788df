"""Processes whose number nobody tells, by their place among the others of their host."""

from collections.abc import Mapping

import pytest

from forensics.assemble.who.left_pids import HOW, with_left_pids
from parsers.schema.tables import TableName, table

Pids = Mapping[int, int]


def _left(
    known: Pids,
    shown: list[int],
    *,
    host: str | None = "n1",
    others: Pids | None = None,
    ranks: list[int] | None = None,
    source: str = "py-spy",
) -> Pids:
    """Rank → pid that is told, of the processes that one tool shows; `ranks`: all of the host."""
    rows = [{"rank": rank, "pid": pid, "host": host, "how": "introduction"} for rank, pid in known.items()]
    rows += [{"rank": rank, "host": host, "how": "process table"} for rank in ranks or () if host]
    rows += [{"rank": rank, "pid": pid, "host": "n2", "how": "introduction"} for rank, pid in (others or {}).items()]
    stacks = [
        {"pid": pid, "is_main": True, "source": source, "file": "look.txt", "program": "python train.py", "frames": []}
        for pid in shown
    ]
    names: tuple[TableName, TableName] = ("ranks", "stacks")
    told = with_left_pids({name: table(name, own) for name, own in zip(names, (rows, stacks), strict=True)})["ranks"]
    return {rank: pid for rank, pid, how in told.select("rank", "pid", "how").iter_rows() if how == HOW}


def _but(first: int, pid: int, size: int, *gone: int, step: int = 1) -> Pids:
    return {first + at: pid + at * step for at in range(size) if at not in gone}


FORMS: list[tuple[Pids, list[int], list[int], Pids]] = [
    (_but(16, 2210, 8, 5), [*range(2210, 2218)], [*range(16, 24)], {21: 2215}),
    (_but(0, 900, 4, 1), [*range(900, 904)], [*range(4)], {1: 901}),
    (_but(0, 900, 4, 3), [*range(900, 904)], [*range(4)], {3: 903}),
    (_but(4, 900, 4, 0), [*range(900, 904)], [*range(4, 8)], {4: 900}),
    (_but(8, 31000, 8, 3, step=7), [*range(31000, 31056, 7)], [*range(8, 16)], {11: 31021}),
    (_but(8, 31000, 8, 7, step=7), [*range(31000, 31056, 7)], [*range(8, 16)], {15: 31049}),
    (_but(0, 500, 8, 2, 5), [*range(500, 508)], [*range(8)], {2: 502, 5: 505}),
    (_but(0, 500, 8, 2, 3, 4), [*range(500, 508)], [*range(8)], {2: 502, 3: 503, 4: 504}),
    ({0: 71, 2: 95}, [71, 80, 95], [0, 1, 2], {1: 80}),
    ({1: 71, 5: 80, 13: 101}, [71, 80, 99, 101], [1, 5, 9, 13], {9: 99}),
    (_but(3, 1 << 20, 16, 9), [*range(1 << 20, (1 << 20) + 16)][::-1], [*range(3, 19)], {12: (1 << 20) + 9}),
]


@pytest.mark.parametrize(("known", "shown", "ranks", "left"), FORMS)
@pytest.mark.parametrize("source", ["py-spy", "ps"])
def test_who_is_left_between_the_others_is_that_rank(
    known: Pids, shown: list[int], ranks: list[int], left: Pids, source: str
) -> None:
    assert _left(known, shown, ranks=ranks, source=source) == left


def test_without_a_host_it_stands_between_them() -> None:
    assert _left(_but(16, 2210, 8, 5), [*range(2210, 2218)], host=None) == {21: 2215}


OTHERS: dict[str, tuple[Pids, list[int], list[int]]] = {
    "one more is shown": (_but(0, 500, 8, 5), [*range(499, 508)], [*range(8)]),
    "one less is shown": (_but(0, 500, 8, 5), [500, 501, 502, 503, 504, 506, 507], [*range(8)]),
    "they are in another order": ({0: 503, 1: 501, 3: 500}, [500, 501, 502, 503], [*range(4)]),
    "half of them are known": (_but(0, 500, 4, 1, 2), [*range(500, 504)], [*range(4)]),
    "it came later than all": (_but(0, 500, 4, 3), [500, 501, 502, 690], [*range(4)]),
    "it came before all": (_but(0, 500, 4, 0), [77, 501, 502, 503], [*range(4)]),
    "uneven steps, and the last": ({0: 500, 1: 507, 2: 511}, [500, 507, 511, 512], [*range(4)]),
    "two processes": ({0: 500}, [500, 501], [0, 1]),
    "a rank of another host among them": (_but(0, 500, 4, 1) | {9: 501}, [*range(500, 504)], [*range(4)]),
    "all are known": (_but(0, 500, 4), [*range(500, 504)], [*range(4)]),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_else_nobody_is_it(what: str) -> None:
    known, shown, ranks = OTHERS[what]
    assert _left(known, shown, ranks=ranks) == {}


def test_the_same_numbers_on_two_hosts_decide_nothing() -> None:
    assert _left(_but(0, 500, 4, 1), [*range(500, 504)], ranks=[*range(4)], others=_but(4, 500, 4)) == {}


def test_without_a_host_an_end_of_the_row_is_nobody() -> None:
    assert _left(_but(16, 2210, 8, 7), [*range(2210, 2218)], host=None) == {}
