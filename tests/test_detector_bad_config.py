"""Set-ups that a library refuses."""

from typing import Any

import pytest

from forensics.detectors.bad_config import DETECTOR
from tests.log_cases import case


@pytest.mark.parametrize(
    ("columns", "cause", "strong"),
    [
        ({"code": "duplicate_gpu", "text": "Duplicate GPU detected : rank 0 and rank 1"}, "config_drift", True),
        ({"text": "Mismatched NCCL version detected : rank 0 version 21805"}, "version_mismatch", True),
        ({"text": "invalid usage"}, "config_drift", False),
        ({"detail": '{"last_error": "Duplicate GPU detected"}'}, "config_drift", True),
    ],
    ids=["duplicate", "versions", "no last words", "last words"],
)
def test_cause(columns: dict[str, Any], cause: str, strong: bool) -> None:
    (found,) = DETECTOR.detect(case([{"kind": "config_error", **columns}]))
    assert (found.kind, found.cause, found.strong, found.ranks) == ("launch", cause, strong, ())


def test_in_the_middle_of_a_run_it_is_a_crash() -> None:
    (found,) = DETECTOR.detect(case([{"kind": "config_error"}], steps=[{"step": 3}]))
    assert found.kind == "crash"


def test_silent_without_complaint() -> None:
    assert DETECTOR.detect(case([{"kind": "comm_warning"}])) == ()
