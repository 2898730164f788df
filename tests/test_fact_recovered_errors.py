"""What a process survived did not end it; what cannot be told apart from its end is left as it is."""

import json
from typing import Any

import pytest

from forensics.facts.ends.recovered_errors import recovered_errors, unrecovered, with_recovered
from parsers.schema.tables import TABLE_NAMES, TableName, table

SECOND = 1_000_000_000


def outlived(events: list[dict[str, Any]], steps: list[dict[str, Any]]) -> list[bool]:
    """For each event, in their order, whether its printer outlived it."""
    rows: dict[TableName, list[dict[str, Any]]] = {
        "events": [{"file": "r3.log", "rank": 3, "severity": "error", "text": "x", **row} for row in events],
        "steps": [{"file": "r3.log", "rank": 3, "phase": "train", "time_basis": "local", **row} for row in steps],
    }
    tables = {name: table(name, rows.get(name, [])) for name in TABLE_NAMES}
    return recovered_errors(tables).to_list()


def raised(line: int, **row: Any) -> dict[str, Any]:
    return {"kind": "exception", "line": line, **row}


def step(line: int, **row: Any) -> dict[str, Any]:
    return {"step": line, "line": line, "time_ns": line * SECOND, **row}


END = {"kind": "job_end", "line": 90, "severity": "info"}
TIMEOUT = {"kind": "collective_timeout", "line": 80}


@pytest.mark.parametrize(
    ("events", "steps", "expected"),
    [
        pytest.param([raised(10), END], [step(20)], True, id="the job ended well afterwards"),
        pytest.param([raised(10), TIMEOUT], [step(20)], True, id="a step, and another failure"),
        pytest.param(
            [raised(10, time_ns=10 * SECOND, time_basis="local")], [step(20)], True, id="a step with a later stamp"
        ),
        pytest.param(
            [TIMEOUT | {"time_ns": 10 * SECOND, "time_basis": "local"}],
            [step(20)],
            False,
            id="a step above, by another clock",
        ),
        pytest.param(
            [TIMEOUT | {"time_ns": 10 * SECOND, "time_basis": "local"}],
            [step(20, file="r3.out")],
            True,
            id="a later step in another file",
        ),
        pytest.param([{"kind": "port_error", "line": 10, "rank": None}, END | {"rank": None}], [], True, id="no rank"),
        pytest.param([raised(10, file="err.log"), END], [], True, id="its end in another file"),
        pytest.param([{"kind": "store_timeout", "line": 95}, END], [step(20)], True, id="others left after its end"),
        pytest.param([raised(10)], [step(20)], False, id="lines alone: steps may be flushed at the end"),
        pytest.param([raised(10)], [step(5)], False, id="nothing afterwards"),
        pytest.param([raised(10), TIMEOUT], [step(5)], False, id="no step between two failures"),
        pytest.param([raised(10), END | {"rank": 4}], [], False, id="the end of another rank"),
        pytest.param([raised(10), END | {"line": 15}], [step(20)], False, id="an end that was none"),
        pytest.param([raised(95), END], [step(20)], False, id="an exception after the end"),
        pytest.param([raised(10, time_ns=10 * SECOND, time_basis="utc")], [step(20)], False, id="stamps of two kinds"),
        pytest.param([raised(10, time_ns=30 * SECOND, time_basis="local")], [step(20)], False, id="an earlier stamp"),
        pytest.param([{"kind": "gpu_error", "line": 10}, END], [step(20)], False, id="a device's error stays"),
        pytest.param([{"kind": "nan_assert", "line": 10}, END], [step(20)], False, id="a NaN stays"),
        pytest.param([END | {"line": 15}], [step(10), step(20)], True, id="an end, and a further step"),
        pytest.param([END], [step(10), step(20)], False, id="the end is the last"),
        pytest.param([END | {"line": 25}], [step(20), step(26) | {"step": 20}], False, id="the last step shown again"),
        pytest.param([END | {"line": 15}], [step(20, rank=4)], False, id="a further step of another rank"),
    ],
)
def test_errors(events: list[dict[str, Any]], steps: list[dict[str, Any]], expected: bool) -> None:
    assert outlived(events, steps)[0] is expected


@pytest.mark.parametrize(
    ("code", "after", "expected"), [("horovod_stall", 2, True), ("horovod_stall", 1, False), ("barrier", 2, False)]
)
def test_a_stall_that_is_reported_for_as_long_as_it_lasts_was_over_where_steps_follow(
    code: str, after: int, expected: bool
) -> None:
    """One step may have been under way beside it; another reader's barrier tells nothing of its end."""
    reports = [{"kind": "barrier_missing", "code": code, "line": line} for line in (10, 20)]
    steps = [step(5), *(step(21 + number, time_ns=None) for number in range(after))]
    assert outlived(reports, steps)[-1] is expected


STOP = {"kind": "scheduler", "code": "time_limit", "line": 50, "rank": None}


STALL = {"kind": "barrier_missing", "code": "horovod_stall", "line": 10}


@pytest.mark.parametrize(
    ("events", "steps", "expected"),
    [
        pytest.param([STALL], [step(20), step(30)], True, id="steps follow the last report"),
        pytest.param([STALL | {"rank": None}], [step(20, rank=None), step(30, rank=None)], True, id="no rank is told"),
        pytest.param([STALL], [step(20)], False, id="one step, which may have been under way"),
        pytest.param([STALL], [step(4), step(8)], False, id="no step follows"),
        pytest.param([STALL | {"line": 40}, STALL], [step(20), step(30)], False, id="the last report is later"),
        pytest.param([STALL], [step(20, file="r4.log"), step(30, file="r4.log")], False, id="steps of another file"),
        pytest.param([STALL | {"code": None}], [step(20), step(30)], False, id="a barrier that gave up, once"),
    ],
)
def test_a_stall_that_is_reported_as_long_as_it_lasts(
    events: list[dict[str, Any]], steps: list[dict[str, Any]], expected: bool
) -> None:
    assert outlived(events, steps)[0] is expected


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param({"kind": "peer_closed", "line": 60}, True, id="a connection broke afterwards"),
        pytest.param(
            {"kind": "store_timeout", "code": "store_lost", "line": 60}, True, id="the store was gone afterwards"
        ),
        pytest.param({"kind": "exit", "code": "SIGKILL", "line": 60}, True, id="stopped afterwards"),
        pytest.param({"kind": "peer_closed", "line": 40}, False, id="a connection broke before"),
        pytest.param({"kind": "peer_closed", "line": 60, "file": "r4.log"}, False, id="in another file"),
        pytest.param({"kind": "store_timeout", "line": 60}, False, id="a wait that ran out"),
        pytest.param({"kind": "collective_timeout", "line": 60}, False, id="a collective that ran out"),
        pytest.param({"kind": "exit", "code": "SIGSEGV", "line": 60}, False, id="nobody sends this signal"),
        pytest.param(raised(60), True, id="an exception"),
        pytest.param(raised(40), False, id="an exception before"),
        pytest.param(
            raised(60, time_ns=3 * SECOND, time_basis="local"), False, id="an exception with an earlier stamp"
        ),
        pytest.param({"kind": "exit", "code": "1", "line": 60}, True, id="failed afterwards"),
    ],
)
def test_what_follows_the_stop_of_a_scheduler(event: dict[str, Any], expected: bool) -> None:
    assert outlived([event, STOP | {"time_ns": 5 * SECOND, "time_basis": "local"}], [])[0] is expected


TOLD = {"kind": "closing_signal", "code": "SIGINT", "severity": "warning", "line": 50, "rank": None}
CLOSED = {"kind": "closing_signal", "code": "SIGINT", "severity": "info", "line": 51, "pid": 71, "file": "agent.log"}


@pytest.mark.parametrize(
    ("event", "stop", "expected"),
    [
        pytest.param(raised(60), [TOLD], True, id="after a signal to its launcher"),
        pytest.param(raised(40), [TOLD], False, id="before it"),
        pytest.param(raised(60), [CLOSED | {"file": "r3.log"}], False, id="a launcher that stops others for a failure"),
        pytest.param(raised(9), [TOLD | {"file": "agent.log"}, CLOSED], True, id="in its own log, alive until then"),
        pytest.param(raised(9), [TOLD | {"file": "agent.log"}, CLOSED | {"rank": 4}], False, id="another was alive"),
    ],
)
def test_what_follows_a_signal_to_the_launcher(
    event: dict[str, Any], stop: list[dict[str, Any]], expected: bool
) -> None:
    assert outlived([event, *stop], [])[0] is expected


def test_a_job_that_was_cancelled_may_have_failed_before() -> None:
    assert outlived([{"kind": "peer_closed", "line": 60}, STOP | {"code": "cancelled"}], [])[0] is False


CAUGHT = {"detail": '{"went_on": 12}'}
LOGGED = {"detail": '{"introduced": "ERROR"}'}
EXIT = {"kind": "exit", "code": "1", "file": "agent.log", "line": 5}


@pytest.mark.parametrize(
    ("events", "steps", "expected"),
    [
        pytest.param([raised(10, **CAUGHT)], [], True, id="its logger went on"),
        pytest.param([raised(10, **LOGGED)], [step(20)], True, id="a logger printed it, and a step follows"),
        pytest.param([raised(10, **LOGGED)], [], False, id="a logger printed it, and nothing follows"),
        pytest.param([raised(10, **CAUGHT), raised(30)], [], False, id="raised again, by the interpreter"),
        pytest.param([raised(10, **CAUGHT), EXIT], [], False, id="logged, and it ended with code 1"),
        pytest.param([raised(10, **CAUGHT), EXIT, TIMEOUT], [], True, id="code 1 for another failure"),
        pytest.param([raised(10, **CAUGHT), EXIT | {"rank": 4}], [], True, id="another rank ended with code 1"),
        pytest.param([raised(10, rank=None, **CAUGHT)], [], False, id="whose exception it was is not told"),
        pytest.param(
            [raised(10, **CAUGHT) | {"kind": "gpu_oom"}, raised(10, **CAUGHT)], [], True, id="what it meant, too"
        ),
    ],
)
def test_caught_exceptions(events: list[dict[str, Any]], steps: list[dict[str, Any]], expected: bool) -> None:
    assert outlived(events, steps)[0] is expected


def test_an_error_of_another_kind_below_is_no_sign_of_life() -> None:
    """The message of an exception may go on with lines of its own library."""
    introduced = {"detail": '{"introduced": "INFO"}'}
    more = {"kind": "other", "line": 11}
    assert outlived([raised(10, **introduced), more | {"severity": "error"}], [])[0] is False
    assert outlived([raised(10, **introduced), more | {"severity": "info"}], [])[0] is True


DAY = 24 * 3600 * SECOND


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param({"steps": [step(5, time_ns=DAY)]}, True, id="the job worked a day later"),
        pytest.param({"steps": [step(5, time_ns=DAY // 2)]}, False, id="half a day may be a zone"),
        pytest.param(
            {"operations": [{"file": "fr", "rank": 0, "time_created_ns": DAY}]}, True, id="it recorded a call"
        ),
        pytest.param({"steps": [step(5, time_ns=DAY, time_basis="boot")]}, False, id="since boot, which was when?"),
        pytest.param({"settings": [{"file": "r3.out", "rank": 3}]}, False, id="something was printed later"),
        pytest.param({"files": [{"file": "r3.out", "attempt": 0}]}, True, id="the launch began a day later"),
        pytest.param({}, False, id="nothing later"),
    ],
)
def test_failures_of_another_day(rows: dict[TableName, list[dict[str, Any]]], expected: bool) -> None:
    stamped = [
        {"file": "r3.log", "time_last_ns": SECOND},
        {"file": "r3.out", "time_first_ns": DAY, "time_last_ns": DAY},
    ]
    extra = {row["file"]: row for row in rows.get("files", [])}
    given: dict[TableName, list[dict[str, Any]]] = {
        **rows,
        "files": [row | extra.get(row["file"], {}) for row in stamped],
        "events": [raised(10, file="r3.log", rank=3, rank_space="global")],
    }
    tables = {name: table(name, [{"time_basis": "utc", **row} if name == "steps" else row for row in given.get(name, [])])
              for name in TABLE_NAMES}  # fmt: skip
    assert recovered_errors(tables).to_list() == [expected]


def test_rows_stay_as_they_are() -> None:
    tables = {name: table(name, []) for name in TABLE_NAMES}
    events = table("events", [raised(10, file="a", severity="error", text="x"), END | {"file": "a", "text": "y"}])
    after = with_recovered({**tables, "events": events}, frozenset(), frozenset())["events"]
    assert after.drop("recovered").equals(events) and after["recovered"].to_list() == [True, False]


LOST = {"kind": "store_timeout", "code": "store_lost", "rank": 1, "line": 95}


@pytest.mark.parametrize(
    ("end", "steps", "expected"),
    [({**END, "rank": 0}, [], True), ({**END, "rank": None}, [step(92, rank=None)], True), ({**END, "rank": 2}, [], False),
     ({**END, "rank": 0, "line": 97}, [], False), ({**END, "rank": 0}, [step(99, rank=None)], False)],
    ids=["rank 0 ended", "the job says so, and a bar is drawn once more", "another rank ended", "it was lost before", "the job went on"],
)  # fmt: skip
def test_the_store_leaves_with_rank_0(end: dict[str, Any], steps: list[dict[str, Any]], expected: bool) -> None:
    assert outlived([end, LOST], steps)[1] is expected
    assert not outlived([end, {**LOST, "code": None}], steps)[1]


def test_events_of_which_none_was_outlived_are_no_copy() -> None:
    rows: dict[TableName, list[dict[str, Any]]] = {
        "events": [{"kind": "exception", "file": "r3.log", "rank": 3, "line": 1}]
    }
    tables = {name: table(name, rows.get(name, [])) for name in TABLE_NAMES}
    events = with_recovered(tables, frozenset({3}), frozenset({3}))["events"]
    assert unrecovered(events) is events


FRAMES = [["get", "/w/reader.py", 131], ["fetch", "/w/reader.py", 90]]
MODULE = ["<module>", "/w/train.py", 9]


def printed(frames: list[Any], **more: Any) -> dict[str, Any]:
    return {"detail": json.dumps({"frames": frames, "from_line": 7, **more})}


@pytest.mark.parametrize(
    ("frames", "more", "events", "expected"),
    [
        (FRAMES, {"later": [12]}, [], True),
        (FRAMES, {}, [], False),
        (FRAMES, {"later": [12]}, [{"kind": "other", "line": 12}], False),
        (FRAMES, {"later": [12, 14]}, [{"kind": "other", "line": 12}], True),
        ([*FRAMES, MODULE], {"later": [12]}, [], False),
        ([*FRAMES, ["_bootstrap", "/usr/lib/python3.11/multiprocessing/process.py", 314]], {"later": [12]}, [], False),
        (FRAMES * 32, {"later": [12]}, [], False),
        ([], {"later": [12]}, [], False),
        (FRAMES, {"later": [12]}, [raised(30, **printed([*FRAMES, MODULE]))], False),
        (FRAMES, {"later": [12]}, [raised(30, text="y", **printed([MODULE], from_line=28, continues_line=7))], False),
        (FRAMES, {"later": [12]}, [raised(30, text="y", **printed([MODULE], from_line=28))], True),
        (FRAMES, {"later": [12]}, [EXIT], False),
    ],
    ids=[
        "a later line", "nothing later", "later errors alone", "an error, and another line", "the interpreter's", "a process's",
        "its beginning is cut off", "no frames", "raised again", "what was raised over it", "another failure", "it ended with code 1",
    ],
)  # fmt: skip
def test_an_exception_whose_traceback_begins_inside(
    frames: list[Any], more: dict[str, Any], events: list[dict[str, Any]], expected: bool
) -> None:
    assert outlived([raised(10, **printed(frames, **more)), *events], [])[0] is expected


def test_an_end_among_others_that_had_caught_nothing() -> None:
    last = {"text": "y", **printed([["all_reduce", "/w/c10d.py", 2938], MODULE], from_line=28)}
    caught, own, other = raised(10, **printed(FRAMES)), raised(30, **last), raised(30, rank=4, file="r4.log", **last)
    assert outlived([caught, own, other], []) == [True, False, False]
    assert outlived([caught, own], []) == [False, False]
    assert outlived([caught, own, other, raised(9, rank=4, file="r4.log", **printed(FRAMES))], [])[:3] == [False] * 3
