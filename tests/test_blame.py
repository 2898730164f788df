"""The blame graph: where reports of broken connections lead."""

import random

import pytest

from forensics.graph.hang.blame import UNKNOWN_HOST, Blame, canonical, find_root


def ring(size: int, dead: int) -> list[Blame]:
    """Both neighbours of the dead one name it, and close the connections to the next ones, and so on."""
    down = [Blame(f"n{(dead + i) % size}", f"n{(dead + i - 1) % size}") for i in range(1, size // 2)]
    up = [Blame(f"n{(dead - i) % size}", f"n{(dead - i + 1) % size}") for i in range(1, size // 2)]
    return down + up


@pytest.mark.parametrize(
    ("blames", "where", "hosts"),
    [
        ([], None, ()),
        ([Blame("a", "a")], None, ()),
        ([Blame("a", "b")], "link", ("a", "b")),
        ([Blame("a", "b"), Blame("b", "a")], "link", ("a", "b")),
        ([Blame("a", "x"), Blame("b", "x")], "host", ("x",)),
        (ring(64, 17), "host", ("n17",)),
        ([Blame("a", "x"), Blame("b", "x"), Blame("x", "a"), Blame("x", "b")], "host", ("x",)),
        ([Blame("x", "a"), Blame("x", "b")], "reporter", ("x",)),
        ([Blame(UNKNOWN_HOST, "a"), Blame(UNKNOWN_HOST, "b")], "network", ()),
        ([Blame("a", "b", "3"), Blame("c", "d", "3"), Blame("e", "f", "3")], "rail", ()),
        ([Blame("a", "b", "3"), Blame("c", "d", "4"), Blame("e", "f", "3")], "network", ()),
        ([Blame("a", "b", "3"), Blame("c", "d", "3")], "network", ()),
    ],
    ids=["none", "itself", "pair", "mutual pair", "many name one", "ring", "star", "one names many", "nobody knows who names many", "rail",
         "two rails", "too few for a rail"],
)  # fmt: skip
def test_root(blames: list[Blame], where: str | None, hosts: tuple[str, ...]) -> None:
    mixed = random.Random(1).sample(blames, len(blames))
    for order in (blames, mixed):
        root = find_root(order)
        assert (root.where if root else None, root.hosts if root else ()) == (where, hosts)


@pytest.mark.parametrize(
    ("name", "same"),
    [("n1.site.org", "n1"), ("n1-ib.site.org", "n1"), ("n1-ib0", "n1"), ("n9-ib", "n9-ib"), ("10.1.2.3", "10.1.2.3"),
     ("n1-2", "n1-2")],
)  # fmt: skip
def test_canonical(name: str, same: str) -> None:
    assert canonical(name, {"n1"}) == same
