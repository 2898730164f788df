"""The desync report: the ranks that it names are ranks of the group, and its counts no sequence numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

import parsers
from parsers.pytorch.desync import PARSER
from tests.lines import lines

GLOG = "[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] "


def _events(text: str, **columns: Any) -> list[dict[str, Any]]:
    return PARSER.parse(lines(text, **columns))["events"].rows(named=True)


DESYNC = """Rank 0
 - [0] Timeout at collective: ALLREDUCE, #12
 - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
   [2, 3] finished collective #10, but didn't join collective #11 (count from 1)
   [1] joined but didn't finish collective #11 (count from 1)
 - Snapshot of ranks' latest states:
   #10 finished ranks:
     [2, 3] finished ALLREDUCE
   #12 started ranks:
     [0] started _ALLGATHER_BASE"""


def test_desync_report_whose_first_line_alone_has_the_rank() -> None:
    text = GLOG + DESYNC
    [row] = _events(text, rank=[4] + [None] * text.count("\n"))
    assert row["kind"] == "desync" and row["rank"] == 4 and row["rank_space"] == "global"
    assert row["names_ranks"] == [1, 2, 3] and row["names_rank_space"] == "group" and row["seq"] is None
    detail = json.loads(row["detail"])
    assert (detail["op"], detail["count"]) == ("all_reduce", 12)
    assert detail["lagging"][0] == {"ranks": [2, 3], "state": "finished", "count": 10, "missing": 11}
    assert [(s["count"], s["op"], s["ranks"]) for s in detail["snapshot"]] == [
        (10, "all_reduce", [2, 3]),
        (12, "all_gather", [0]),
    ]


def test_a_report_among_other_lines_of_a_log(tmp_path: Path) -> None:
    """The rank stands before the first line alone; of what follows only the report's own lines reach the parser."""
    text = f"[rank4]:{GLOG}{DESYNC}".replace("\n", "\r\n", 3) + "\n" + "an ordinary line\n" * 3
    (tmp_path / "job.log").write_bytes(text.encode())
    tables = parsers.read(str(tmp_path), parsers=(PARSER,)).tables
    [row] = tables["events"].rows(named=True)
    assert (row["rank"], row["names_ranks"]) == (4, [1, 2, 3])
    assert tables["files"]["recognised"].to_list() == [9]


def test_desync_of_ranks_that_never_came() -> None:
    text = "[1] Timeout at collective: BROADCAST, #1\n - To our best knowledge, ranks [0,5] are the lagging ranks that "
    [row] = _events(text + "caused this timeout. They never joined any collectives")
    assert (row["names_ranks"], row["rank"], row["rank_space"]) == ([0, 5], 1, "group")


@pytest.mark.parametrize("cut", range(0, len(DESYNC), 29))
def test_cut_reports_do_not_raise(cut: int) -> None:
    names = [rank for row in _events(DESYNC[:cut]) for rank in row["names_ranks"] or []]
    assert set(names) <= {1, 2, 3}
