"""Communicators within one host each: the odd one out of twins."""

from typing import Any

import pytest

from forensics.detectors.slow.slow_network import DETECTOR
from tests.log_cases import case


def calls(*levels: float, late: int | None = None, count: int = 20) -> list[dict[str, Any]]:
    """A host each with a communicator of four, whose calls take so long; of the first host a member may come late."""
    return [
        {"host": f"n{host}", "comm": f"0x{host}", "pid": 10 * host + member, "kind": "all_reduce", "seq": seq, "is_p2p": False,
         "duration_ms": ms if late != host or member == 0 else 3 * ms, "state": "completed", "record": seq}
        for host, ms in enumerate(levels) for member in range(4) for seq in range(count)
    ]  # fmt: skip


def test_the_host_whose_links_are_slower() -> None:
    (found,) = DETECTOR.detect(case(operations=calls(2.0, 2.1, 3.9, 2.0)))
    assert (found.cause, found.hosts, found.ranks) == ("straggler_network", ("n2",), ())


@pytest.mark.parametrize(
    "operations",
    [calls(2.0, 2.1, 2.2, 2.0), calls(2.0, 3.9), calls(2.0, 3.9, 3.9, 2.0), calls(2.0, 2.1, 2.0, 2.0, late=2),
     calls(2.0, 2.1, 3.9, 2.0, count=4)],
    ids=["alike", "two hosts", "two halves", "one member comes late: the others wait", "few calls"],
)  # fmt: skip
def test_no_host_is_odd(operations: list[dict[str, Any]]) -> None:
    assert DETECTOR.detect(case(operations=operations)) == ()
