"""Which records of hardware distinguish anybody."""

import pytest

from forensics.model.finding import Finding
from forensics.views.hardware import hardware
from tests.log_cases import case


@pytest.mark.parametrize(("with_it", "common"), [(2, False), (3, False), (4, True), (10, True)])
def test_what_many_hosts_show_counts_for_none(with_it: int, common: bool) -> None:
    """The rate is over the hosts that left a log, not over those with such a record: three of ten are still few."""
    logs = [{"file": f"n{host}.dmesg", "host": f"n{host}", "kind": "other", "line": 1} for host in range(10)]
    errors = [
        {"file": f"n{host}.dmesg", "host": f"n{host}", "kind": "memory_error", "code": "edac", "line": 2}
        for host in range(with_it)
    ]
    told = case([*logs, *errors])
    assert {one.common for one in told.hardware} == {common}
    shown = hardware(told, Finding(detector="x"))
    assert {"as frequent on other hosts" in row.relation for row in shown} == {common}
