"""Set-ups that a library refuses."""

from typing import Any

import pytest

from forensics.detectors.launch.bad_config import DETECTOR
from tests.log_cases import case, judged


@pytest.mark.parametrize(
    ("columns", "cause", "proven"),
    [
        ({"code": "duplicate_gpu", "text": "Duplicate GPU detected : rank 0 and rank 1"}, "config_drift", True),
        ({"text": "Mismatched NCCL version detected : rank 0 version 21805"}, "version_mismatch", True),
        ({"code": "no_interface", "text": "Bootstrap : no socket interface found"}, "wrong_interface", True),
        ({"text": "invalid usage"}, "config_drift", False),
        ({"detail": '{"last_error": "Duplicate GPU detected"}'}, "config_drift", True),
    ],
    ids=["duplicate", "versions", "no interface", "no last words", "last words"],
)
def test_cause(columns: dict[str, Any], cause: str, proven: bool) -> None:
    found = judged(case([{"kind": "config_error", **columns}]), DETECTOR)
    assert (found.kind, found.cause, found.is_proven, found.ranks) == ("launch", cause, proven, ())


def test_in_the_middle_of_a_run_it_is_a_crash() -> None:
    assert judged(case([{"kind": "config_error"}], steps=[{"step": 3}]), DETECTOR).kind == "crash"


def test_silent_without_complaint() -> None:
    assert DETECTOR.detect(case([{"kind": "comm_warning"}])) == ()
