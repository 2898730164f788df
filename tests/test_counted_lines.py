"""What counts the steps of lines whose count has a name of its own."""

from collections.abc import Sequence

import pytest

from parsers.training.counted_lines import counted
from tests.lines import lines


def _steps(texts: Sequence[str]) -> list[object]:
    return [said.get("step") for _, said in counted(lines("\n".join(texts)))]


@pytest.mark.parametrize(
    "form", ["ba {}: local loss 2.5, 7 masked tokens", "tock {} | loss nan | lr 0.1", "upd {} > loss=2.25 toks=64"]
)  # fmt: skip
def test_a_number_that_rises_by_the_same_counts(form: str) -> None:
    assert _steps([form.format(at) for at in (10, 20, 30, 40, 50)]) == ["10", "20", "30", "40", "50"]


@pytest.mark.parametrize(
    "texts",
    [
        ["room 3: loss 2.5, 7 words", "room 9: loss 2.5, 7 words", "room 4: loss 2.1, 7 words"],  # who speaks
        ["seen 300 | loss 2.5", "seen 911 | loss 2.4", "seen 950 | loss 2.2"],  # what it has met
        ["wing 0: loss 2.5, 7 words", "wing 1: loss nan, 7 words", "wing 2: loss 2.1, 7 words"],  # a list of parts
        ["tock 1 | queue 3.5", "tock 2 | queue 3.4", "tock 3 | queue 3.4"],  # no training
    ],
)
def test_another_number_does_not(texts: Sequence[str]) -> None:
    assert _steps(texts) == [None] * 3
