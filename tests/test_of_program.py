"""A driver's error that the vendor's catalogue asks to look for in the program accuses no device and takes no host out of service."""

import csv
from importlib.resources import files

import pytest

from forensics.model.commands import Surroundings
from forensics.model.finding import Finding
from forensics.model.incident import Device, FirstAnomaly
from forensics.verdict.advice.actions import Known, actions_of
from forensics.verdict.told.of_program import with_errors_of_program
from parsers.catalogues import advice, described, is_of_program
from tests.log_cases import case

SILENT = Finding(detector="x", suspect_ranks=(1,), undecided=("culprit_among_missing",))
RANKS = [{"rank": rank, "how": "init", "host": f"n{rank}", "pci": "0000:0e:00.0"} for rank in range(3)]
WAITS = [{"kind": "collective_timeout", "rank": rank, "seq": 7} for rank in (0, 2)]


def _told(code: str, **columns: object) -> Finding:
    row = {"kind": "gpu_error", "code": code, "host": "n1", "pci": "0000:0e:00.0"} | columns
    return with_errors_of_program(case([row, *WAITS], ranks=RANKS), SILENT, "hang")


def _codes() -> list[str]:
    found = []
    for family, name in (("xid", "xid.csv"), ("sxid", "sxid.csv"), ("eid", "metax_eid.csv")):
        text = files("parsers").joinpath("data", name).read_text(encoding="utf-8")
        found += [f"{family}:{row.get('code') or row['eid']}" for row in csv.DictReader(text.splitlines())]
    return found


def _drains(code: str) -> list[str | None]:
    """Commands that take a host out of service after a GPU error of this code."""
    finding = Finding(
        detector="x", cause="gpu_fault", hosts=("n1",), devices=(Device(host="n1", pci="0000:0e:00.0"),),
        first_anomaly=FirstAnomaly(signature=f"device:{code}"),
    )  # fmt: skip
    known = Known(around=Surroundings("slurm"))
    return [one.command for one in actions_of(finding, "established", known) if one.kind == "drain_node"]


def test_no_code_of_any_catalogue_that_sends_to_the_program_drains_a_host() -> None:
    codes = _codes()
    wrong = [code for code in codes if (advice(code) or "").startswith(("check_app", "ignore")) and _drains(code)]
    assert (len(codes) > 300, wrong) == (True, [])
    assert _drains("xid:79") and _drains("eid:0x1101") and _drains("unlisted:1")


@pytest.mark.parametrize("code", ["eid:0x2101", "xid:31", "xid:13"])
def test_it_is_told_and_the_program_is_to_be_checked(code: str) -> None:
    found = _told(code)
    assert is_of_program(code)
    assert found.claims[-1].text.startswith("by the vendor's catalogue an error of the program")
    assert [(one.kind, one.target) for one in found.actions] == [("check_code", "rank 1 on GPU 0000:0e:00.0 of n1")]
    assert (found.ranks, found.hosts, found.devices, found.suspect_ranks) == ((), ("n1",), (), (1,))


@pytest.mark.parametrize(
    ("code", "columns"),
    [("xid:79", {}), ("eid:0x1104", {}), ("eid:0x1103", {"severity": "info"}), ("eid:0x2101", {"host": "n9"}), ("other:1", {})],
    ids=["of the device", "of another vendor's device", "to be ignored", "on a host that is not the job's", "in no catalogue"],
)  # fmt: skip
def test_nothing_is_said_of(code: str, columns: dict[str, object]) -> None:
    assert _told(code, **columns) == SILENT


@pytest.mark.parametrize(
    ("code", "category"), [("eid:0x2101", "application"), ("eid:0x1103", "informational"), ("eid:0x1104", None)]
)
def test_an_eid_is_of_the_program_where_its_catalogue_says_so(code: str, category: str | None) -> None:
    assert described(code).category == category
