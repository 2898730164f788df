"""Steps that one rank completes after all dumps were taken: the job went on, whoever else left no word."""

import polars as pl
import pytest

from forensics.case import Case
from forensics.facts.ends.process_ends import How, ProcessEnd
from forensics.facts.waits.time_witness import time_witness
from forensics.model.ref import Ref
from parsers.schema.tables import TABLE_NAMES, table
from tests.log_cases import case

S = 1_000_000_000
T = 1_772_359_200 * S
HOUR = 3600


def running(
    steps: list[float],
    basis: str = "local",
    own: float = 0.0,
    opened: float = 0.0,
    printer: int = 3,
    before: float = 30,
) -> bool:
    """Ranks 0 and 1 wait since `opened`, rank 3's record ends at `own`, and `printer` completes steps at these seconds, 10 s
    each; the one before them at -`before`: does anything show that the job went on?"""
    stamps = [(0, opened), (1, opened), (3, own), (0, 0.0)]
    operations = [
        {"rank": rank, "record": number, "file": f"d{rank}", "time_created_ns": T + int(at * S)}
        for number, (rank, at) in enumerate(stamps)
    ]
    waits = pl.DataFrame(
        [
            {"rank": rank, "kind": "all_gather", "seq": 9, "file": f"d{rank}", "record": rank, "is_p2p": False,
             "time_created_ns": T + int(opened * S), "timeout_ms": 600_000}
            for rank in (0, 1)
        ]
    )  # fmt: skip
    printed = [
        {
            "rank": printer,
            "step": number,
            "phase": "train",
            "time_ns": T + int(at * S),
            "time_basis": basis,
            "file": "a.log",
        }
        for number, at in enumerate([-before - 10, -before, *steps])
    ]
    tables = {name: table(name, []) for name in TABLE_NAMES}
    tables |= {"operations": table("operations", operations), "steps": table("steps", printed)}
    return bool(time_witness(tables, tables["events"], waits, tables["stacks"]).went_on)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        pytest.param(True, running([-20, -10, 0, 10, 20, 30, 40]), id="twenty seconds on"),
        pytest.param(True, running([0, 10, 20, 30, 40], basis="utc", before=10), id="with a zone"),
        pytest.param(False, running([-20, -10, 0, 10]), id="the step in which it was taken ends"),
        pytest.param(False, running([-20, -10, 0, 10, 11]), id="one step is none"),
        pytest.param(False, running([HOUR - 20, HOUR - 10, HOUR], before=30 - HOUR), id="stamps of another zone"),
        pytest.param(False, running([-10, 0, 10, 20, 30, 40], own=-HOUR), id="its own dump is an hour older than the others"),
        pytest.param(False, running([-10, 0, 10, 20, 30, 40], opened=-500), id="what is open is older than a step"),
        pytest.param(False, running([-10, 0, 10, 20, 30, 40], printer=2), id="a printer without a record, whose clock may differ"),
    ],
)  # fmt: skip
def test_steps_of_a_rank_that_does_not_wait(expected: bool, found: bool) -> None:
    assert found is expected


def placed(host: str | None) -> Case:
    """Lines of local rank 1 in a file that may be one host's, where the host's ranks are known."""
    ranks = [{"rank": 8 + local, "host": "n1", "local_rank": local, "how": "NCCL init"} for local in range(2)]
    ranks.append({"rank": 16, "host": "n2", "local_rank": 0, "how": "NCCL init"})
    files = [{"file": "n1.log", "host": host}]
    return case(ranks=ranks, files=files, steps=[{"file": "n1.log", "line": 5, "local_rank": 1, "step": 7}])


@pytest.mark.parametrize(("host", "rank"), [("n1", 9), ("n1.example.org", 9), (None, None), ("n2", None)])
def test_whose_step_a_local_rank_in_the_file_of_a_host_completed(host: str | None, rank: int | None) -> None:
    assert placed(host).tables["steps"]["rank"].to_list() == [rank]


@pytest.mark.parametrize(
    ("row", "stood"),
    [
        ({"kind": "other", "code": "watchdog_stopped", "severity": "error"}, True),
        ({"kind": "other", "code": "watchdog_stopped", "severity": "warning"}, True),
        ({"kind": "other", "code": "watchdog_stopped", "severity": "info"}, False),
        ({"kind": "other", "code": "dataloader_worker", "severity": "error"}, False),
        ({"kind": "other", "code": None, "severity": "error"}, False),
        ({"kind": "exception", "code": "watchdog_stopped", "severity": "error"}, False),
    ],
    ids=["an error", "a warning", "mentioned", "another row's claim", "no claim", "an exception of that name"],
)
def test_a_framework_s_own_watchdog_tells_that_somebody_stood(row: dict[str, str | None], stood: bool) -> None:
    tables = {name: table(name, []) for name in TABLE_NAMES}
    events = table("events", [{"file": "a.log", "line": 1, "text": "x", **row}])
    assert bool(time_witness(tables, events, None, tables["stacks"]).stood) is stood


@pytest.mark.parametrize(
    ("how", "text", "stood"),
    [
        ("lost", "RuntimeError: all_reduce it=40 did not complete within 900 s", True),
        ("lost", "CommError: ReduceScatter #12 gave no answer after 30 minutes", True),
        ("lost", "RuntimeError: broadcast of dp0 over its limit of 600s", True),
        ("unclear", "RuntimeError: all_reduce it=40 did not complete within 900 s", False),
        ("lost", "RuntimeError: all_reduce failed after 3 s", False),
        ("lost", "RuntimeError: the checkpoint is 900 s old", False),
    ],
    ids=["a limit", "minutes", "in other words", "not of most", "no long wait", "of no operation"],
)
def test_what_most_raised_alike_may_tell_that_a_wait_was_given_up(how: How, text: str, stood: bool) -> None:
    tables = {name: table(name, []) for name in TABLE_NAMES}
    ref = Ref(file="a.log", line=1, text=text)
    end = ProcessEnd(0, how, None, "RuntimeError", None, (ref,), None, "process")
    assert bool(time_witness(tables, tables["events"], None, tables["stacks"], {0: end}).stood) is stood
