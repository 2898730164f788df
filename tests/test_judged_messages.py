"""Messages of all sources, drawn at random (`make knowledge DRAW=300 SEED=1`, and 2) and judged by hand: what each claims, and of whom.

`judged_messages.tsv`: source, claim, about, message; the message is a format with values put in, behind what its program prints.
"""

import csv
from collections import Counter
from pathlib import Path

import pytest

from parsers import knowledge

with Path(__file__).with_name("judged_messages.tsv").open(encoding="utf-8", newline="") as told:
    JUDGED = list(csv.DictReader(told, delimiter="\t", quoting=csv.QUOTE_NONE))


def _said(row: dict[str, str]) -> str:
    return row["message"].replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")


@pytest.mark.parametrize("source", sorted({row["source"] for row in JUDGED}))
def test_a_message_is_understood_as_a_person_judged_it(source: str) -> None:
    wrong = {}
    for row in JUDGED:
        if row["source"] == source:
            found = knowledge.heard(_said(row)) or knowledge.meaning(_said(row))
            if found is None or (found.claim, found.about) != (row["claim"], row["about"]):
                wrong[row["message"]] = (row["claim"], row["about"], found and (found.row, found.claim, found.about))
    assert wrong == {}


def test_what_was_judged_is_spread_over_sources_and_claims() -> None:
    assert len(JUDGED) > 500
    assert len({row["source"] for row in JUDGED}) > 20
    assert {row["claim"] for row in JUDGED} <= set(knowledge.claims())
    assert max(Counter(row["source"] for row in JUDGED).values()) < len(JUDGED) / 4


def test_a_setting_that_must_be_finite_is_no_value_that_was_not() -> None:
    found = knowledge.meaning("ValueError: fp16.loss_scale must be a finite number (not inf/-inf/nan)")
    assert found is not None and found.claim == "wrong_setting"
