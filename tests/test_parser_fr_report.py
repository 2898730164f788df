"""The text of PyTorch's own analyzer of flight records."""

import json

from parsers.pytorch.fr_report import PARSER
from tests.lines import lines

BLOCK = (
    "Not all ranks joining collective, sequence number: 4\ninternal record id: 3\ngroup info: 0:default_pg\n"
    "collective: nccl:all_reduce\nmissing ranks: {1, 3}\ninput sizes: [[3, 4]]\noutput sizes: [[3, 4]]\nworld size: 4\n"
    "expected ranks: {0, 1, 2, 3}\ncollective state: scheduled\n"
)


def test_missing_ranks() -> None:
    tables = PARSER.parse(lines(BLOCK + "other line"))
    [row] = tables["events"].rows(named=True)
    assert (row["kind"], row["names_ranks"], row["names_rank_space"], row["seq"], row["op"], row["group"]) == (
        "desync", [1, 3], "global", 4, "all_reduce", "0",
    )  # fmt: skip
    assert json.loads(row["detail"])["snapshot"] == [{"ranks": [0, 1, 2, 3]}]
    assert tables["claimed"].height == 9


def test_older_words() -> None:
    [row] = PARSER.parse(lines(BLOCK.replace(", sequence number: 4", " 5 at entry 4")))["events"].rows(named=True)
    assert (row["seq"], row["names_ranks"]) == (5, [1, 3])
    oldest = "Not all ranks joining collective for group 0:default_pg collective nccl:all_reduce  Missing ranks are {1}"
    [row] = PARSER.parse(lines(oldest))["events"].rows(named=True)
    assert (row["kind"], row["names_ranks"], row["op"]) == ("desync", [1], "all_reduce")


def test_a_mismatch() -> None:
    text = (
        "Collective sequence number: 7 has errors\ngroup info: 0:default_pg\ncollective: nccl:all_reduce\n"
        "error msg: Culprit rank 2; Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective type: 'all_reduce' does not match"
    )
    [row] = PARSER.parse(lines(text))["events"].rows(named=True)
    assert (row["kind"], row["code"], row["names_ranks"], row["seq"]) == ("comm_warning", "collective_mismatch", [2], 7)


def test_fields_without_a_head_are_left_alone() -> None:
    tables = PARSER.parse(lines("missing ranks: {1}\ngroup info: 0:default_pg\n3 errors"))
    assert tables["events"].is_empty() and tables["claimed"].is_empty()
