"""What to look for after a tool of links is what that tool prints."""

import pytest

from forensics.model.causes import CAUSES
from forensics.model.commands import LinkSort, Surroundings
from forensics.model.finding import Finding
from forensics.model.incident import Action
from forensics.model.said import zh
from forensics.verdict.advice.actions import Known, actions_of

# A word of what to look for → what of the command prints it.
PRINTED = {"Physical state": "ibstat", "carrier": "ip -s link", "4: ACTIVE": "*/ports/*/state"}


@pytest.mark.parametrize(
    "cause", [name for name, row in CAUSES.items() if any(step.command == "links" for step in row.runbook)]
)
@pytest.mark.parametrize("link", ["infiniband", "ethernet", "efa", "nvlink", "mtlink", "metaxlink"])
def test_each_sort_has_its_own_reading(cause: str, link: LinkSort) -> None:
    act = Action(kind="inspect_network", target="n1", command=None, reason="")
    finding = Finding(detector="x", cause=cause, hosts=("n1",), actions=(act,))  # type: ignore[arg-type]
    told = actions_of(finding, "supported", Known(around=Surroundings(link=link)))
    (one,) = [one for one in told if one.kind == "inspect_network"]
    assert one.command and one.look and zh(one.look) != one.look
    for word, tool in PRINTED.items():
        assert word not in one.look or tool in one.command
