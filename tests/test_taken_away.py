"""Words by which clouds and clusters say that they take a machine or a pod away."""

import pytest

from parsers.text.taken_away import is_taken_away


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("Spot ITN received. Instance will be interrupted at 2026-05-06T10:03:04Z", True),
        ("ITN: node will be reclaimed in 30 s", True),
        ("this VM will be terminated at 10:03 UTC", True),
        ("virtual machine is being reclaimed by the cloud", True),
        ("Spot instance interruption notice: instance i-0a1 will be terminated", True),
        ("instance was preempted", True),
        ("training will be interrupted at step 500 for an evaluation", False),
        ("the process will be terminated at the end of its grace period", False),
        ("Instance will be healthy again", False),
    ],
)
def test_a_machine_is_taken_away(text: str, taken: bool) -> None:
    assert is_taken_away(text) is taken
