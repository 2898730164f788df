"""oneCCL's key-value store, in which ranks meet."""

import json

import pytest

from parsers.comm.oneccl import PARSER
from tests.lines import lines


@pytest.mark.parametrize(
    "text",
    [
        "2026:01:31-10:11:12:(4711) |CCL_ERROR| pmi_resizable_simple_internal.cpp:337 kvs_get_value: KVS get error: timeout limit: 61 > 60, "
        "prefix: CCL_POD_ADDR0, key: atl-mpi-rank_info-3",
        "KVS get error: timeout limit (61 > 60), prefix: CCL_POD_ADDR0, key atl-mpi-rank_info-3",
    ],
    ids=["2021.6", "before"],
)  # fmt: skip
def test_who_waited_for_which_key(text: str) -> None:
    [row] = PARSER.parse(lines(text, rank=5))["events"].rows(named=True)
    assert (row["kind"], row["code"], row["rank"], row["severity"]) == ("store_timeout", "oneccl_kvs", 5, "error")
    assert json.loads(row["detail"]) == {"waited_s": "61", "prefix": "CCL_POD_ADDR0", "key": "atl-mpi-rank_info-3"}


@pytest.mark.parametrize("text", ["", "KVS get error: timeout limit", "|CCL_ERROR| exec.cpp:12 worker: stopped"])
def test_other_lines(text: str) -> None:
    assert PARSER.parse(lines(text))["events"].height == 0
