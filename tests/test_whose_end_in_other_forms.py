"""Ends of processes that are told in other forms than their own traceback: relayed, announced, quoted, or the only one left."""

import json
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.facts.ends.failure_roles import as_own, role_of, sole_failure
from forensics.facts.ends.process_ends import ProcessEnd
from parsers import read
from parsers.logs import check_failures
from parsers.pytorch import traceback
from tests.lines import lines
from tests.log_cases import case
from tests.sources import written

LIBRARY = ["__getitem__", "/env/lib/python3.11/site-packages/arrayfile/table.py", 75]
LOADER = ["next_batch", "/job/stream.py", 31]
BACKWARD = ["backward", "/env/lib/python3.11/site-packages/torch/_tensor.py", 522]
RANKS = frozenset(range(4))


def raised(text: str, *frames: list[Any], at: str = "return self._read(key)", **told: Any) -> dict[str, Any]:
    detail = {"frames": list(frames), "at": at, "from_line": 1, **told}
    return {"kind": "exception", "code": text.split(":")[0], "text": text, "detail": json.dumps(detail)}


def ended(rank: int, how: Any = "gave_up") -> ProcessEnd:
    return ProcessEnd(rank, how, None, "", None, (), None, "process")


NATIVE = raised("arrayfile.Broken: block 17 does not inflate", LIBRARY, LOADER)


@pytest.mark.parametrize(
    "row",
    [
        NATIVE,
        raised("RuntimeError: block 17 does not inflate", LIBRARY, LOADER),
        raised("RuntimeError: lengths are not ascending: 64 after 128", LOADER, at="return fused.attend(q, k, lens)"),
        raised("Check failed: width == 3 (4 vs. 3)", ["job::Decoder::Next()", None, None], at=""),
    ],
    ids=["a class of a library", "native code below a library", "an operator in the job's own line", "a check of native code"],
)  # fmt: skip
def test_the_only_unclear_end_is_its_own_where_all_others_are_known_to_have_waited(row: dict[str, Any]) -> None:
    roles = {2: role_of(row)}
    ends = {rank: ended(rank) for rank in (0, 1, 3)} | {2: ended(2, "died")}
    assert roles[2].state == "unclear"
    assert sole_failure(roles, ends, RANKS) == 2
    role = as_own(roles, 2)[2]
    assert (role.state, role.by_form) == ("own", True)


@pytest.mark.parametrize(
    "row",
    [
        raised("RuntimeError: block 17 does not inflate", BACKWARD, LOADER),
        raised("RuntimeError: block 17 does not inflate", LOADER, at="value = loss.item()"),
        raised("RuntimeError: the peer went away", LIBRARY, LOADER),
        raised("RuntimeError: no answer within the deadline", LIBRARY, LOADER),
        raised("RuntimeError: from rank 3 came 7 bytes", LIBRARY, LOADER),
        raised("RuntimeError: block 17 does not inflate", ["Ring::WaitFor()", None, None], at=""),
        raised("RuntimeError: block 17 does not inflate"),
    ],
    ids=["below backward", "a line that waits for the device", "a peer", "a time", "a rank", "a native wait", "no frames"],
)  # fmt: skip
def test_what_may_be_somebody_elses_stays_a_suspect(row: dict[str, Any]) -> None:
    ends = {rank: ended(rank) for rank in (0, 1, 3)} | {2: ended(2, "died")}
    assert sole_failure({2: role_of(row)}, ends, RANKS) is None


def test_neither_with_a_second_one_nor_with_a_silent_rank_nor_in_a_pair() -> None:
    role = role_of(NATIVE)
    waited = {rank: ended(rank) for rank in (0, 1, 3)}
    assert sole_failure({1: role, 2: role}, waited, RANKS) is None
    assert sole_failure({2: role}, {0: waited[0], 1: waited[1]}, RANKS) is None
    assert sole_failure({2: role}, waited, frozenset()) is None
    assert sole_failure({1: role}, {0: waited[0]}, frozenset({0, 1})) is None


def ranks_of(tmp_path: Path, logs: dict[int, str], world: int = 4) -> list[int]:
    for rank in range(world):
        head = f"rank {rank} of {world} pid {4100 + rank}\nstep 7 loss 2.5\n"
        (tmp_path / f"rank_{rank}.log").write_text(head + logs.get(rank, ""))
    return analyze(tmp_path).verdict.ranks


def trace(last: str, *frames: str) -> str:
    return "Traceback (most recent call last):\n" + "".join(frames) + last + "\n"


MAIN = '  File "/job/train.py", line 9, in <module>\n    main()\n'
FIT = '  File "/env/lib/python3.11/site-packages/graphkit/run.py", line 4, in run_graph\n    return native.run(graph)\n'


@pytest.mark.parametrize(
    "lost",
    [
        "graphkit.UnknownError: Graph execution error:\n\nHorovod has been shut down. This was caused by an exception on one of the ranks\n",
        "graphkit.AbortedError: Graph execution error:\n\nNode: 'reduce_7'\nCollective ops is aborted by: Socket closed\n",
        "graphkit.InternalError: Graph execution error:\nError reported from /job:trainer/task:2: block 17 does not inflate\n",
    ],
    ids=["a rank that shut all down", "a call that was aborted", "a task that is told"],
)
def test_what_a_message_announces_belongs_to_it(tmp_path: Path, lost: str) -> None:
    own = trace("graphkit.DataError: Graph execution error:\n\nblock 17 does not inflate", MAIN, FIT)
    logs = {rank: trace(lost.rstrip("\n"), MAIN, FIT) for rank in (0, 1, 3)} | {2: own}
    assert ranks_of(tmp_path, logs) == [2]


def test_a_message_that_announces_nothing_does_not_take_what_follows(tmp_path: Path) -> None:
    text = trace("graphkit.UnknownError: it broke", MAIN, FIT) + "Horovod has been shut down.\n"
    [row] = traceback.parse(lines(text))["events"].to_dicts()
    assert "more" not in json.loads(row["detail"])


@pytest.mark.parametrize(
    ("record", "went_on"),
    [
        ("[WARNING] NET(4711,7f2a,python):2026-01-31-10:11:12 [core/net/cluster.cc:153] Finalize] retry", False),
        ("[INFO] 2026-01-31 10:11:12 runtime.cpp:88] destroyed", False),
        ("2026-01-31 10:11:12,000 - WARNING - trainer - retry", True),
        ("WARNING 01-31 10:11:12 [engine.py:15] retry", True),
    ],
)
def test_what_native_code_clears_up_is_no_work_of_the_program(record: str, went_on: bool) -> None:
    [row] = traceback.parse(lines(trace("ValueError: 7", MAIN) + record))["events"].to_dicts()
    assert ("went_on" in json.loads(row["detail"])) == went_on


RELAYS = {
    "spawn": "-- Process 1 terminated with the following error:\n",
    "a world rank": "worker world_rank=1 raised an error:\n",
    "a snippet": "[Rank 1 Error Snippet]:\n",
}


@pytest.mark.parametrize("form", RELAYS)
def test_that_a_driver_goes_on_until_it_ends_itself_says_nothing_of_whom_it_quotes(form: str) -> None:
    quoted = RELAYS[form] + trace("ZeroDivisionError: division by zero", MAIN)
    after = "2026-01-31 10:11:13,000 INFO driver: results are written\n"
    end = trace("driver.TrainingFailed: see above", '  File "/job/submit.py", line 4, in <module>\n    fit()\n')
    assert recovered(quoted + after + end) == [False, False]
    assert recovered(quoted + after)[0] == (form != "spawn")  # a place on a host is no rank


def recovered(text: str) -> list[bool]:
    rows = traceback.parse(lines(text, file="driver.log"))["events"].filter(kind="exception").to_dicts()
    found = case([{name: value for name, value in row.items() if value is not None} for row in rows])
    return found.tables["events"].sort("line")["recovered"].to_list()


QUOTES = {
    "an origin": "guard.PeerFailed: origin rank=2 pid=4102: OverflowError: 2**70 is too large",
    "a rank": "pool.Died: rank 2 failed: KeyError('eos')",
    "a peer": "pool.Stopped: aborted by peer #2: job.errors.BadShardError: shard 9",
}


@pytest.mark.parametrize("form", QUOTES)
def test_whom_all_others_quote_is_named(tmp_path: Path, form: str) -> None:
    assert ranks_of(tmp_path, {rank: trace(QUOTES[form], MAIN) for rank in (0, 1, 3)}) == [2]


@pytest.mark.parametrize("form", QUOTES)
def test_a_number_that_only_some_quote_may_be_a_place_in_their_group(tmp_path: Path, form: str) -> None:
    assert ranks_of(tmp_path, {rank: trace(QUOTES[form], MAIN) for rank in (0, 1)}) == []


@pytest.mark.parametrize("what", ["worker", "process", "task"])
def test_a_number_that_may_be_a_childs_is_nobodys_rank(tmp_path: Path, what: str) -> None:
    """Each rank has a loader with such a one."""
    told = f"loader.Failed: {what} 2 raised job.errors.BadShardError: shard 9"
    assert ranks_of(tmp_path, {rank: trace(told, MAIN) for rank in range(4)}) == []


def test_what_an_exception_says_introduces_nobody(tmp_path: Path) -> None:
    for rank in range(4):
        told = trace(QUOTES["an origin"], MAIN) if rank != 2 else ""
        (tmp_path / f"out{rank + 5}").mkdir()
        (tmp_path / f"out{rank + 5}" / "stdout").write_text(
            f"2026-01-31 10:11:12 tide rank={rank} world=4 pid={4100 + rank}\n2026-01-31 10:11:13 tide rank={rank} step=1\n{told}"
        )
    events = read(str(tmp_path)).tables["events"].filter(kind="exception")
    assert sorted(events["rank"].to_list()) == [0, 1, 3]


GLOG = "F20260131 10:11:12.689000  4711 decoder.cc:48] Check failed: width == 3 (4 vs. 3)"


@pytest.mark.parametrize("head", [GLOG, GLOG.replace("F2026", "F"), f"2026-01-31 10:11:12.689: F tensor/{GLOG[35:]}"])
def test_a_check_that_failed_is_an_exception_with_its_stack(head: str) -> None:
    stack = "*** Check failure stack trace: ***\n    @     0x7f2c6a1e911d  google::LogMessage::Fail()\n    @     0x7f2c64c80e22  job::Decoder::Next()"
    [row] = check_failures.parse(lines(f"{head}\n{stack}"))["events"].to_dicts()
    assert (row["code"], row["severity"], row["text"]) == (
        "Check failed",
        "fatal",
        "Check failed: width == 3 (4 vs. 3)",
    )
    assert [frame[0] for frame in json.loads(row["detail"])["frames"]][-1] == "job::Decoder::Next()"


@pytest.mark.parametrize(
    "head", [GLOG.replace("F2026", "E2026"), "note: Check failed: width", "F0131 is a file] of ours"]
)
def test_a_check_that_is_no_fatal_record_ends_nothing(head: str) -> None:
    assert check_failures.parse(lines(head))["events"].is_empty()


def test_a_launcher_that_writes_the_rank_as_a_field_before_each_line(tmp_path: Path) -> None:
    text = "".join(
        f"[2026-01-31T10:11:1{rank}.000000Z] 1f2c3d4e || [rank={rank}] INFO: step {step}\n" for step in (1, 2) for rank in range(3)
    )  # fmt: skip
    failed = "[2026-01-31T10:11:20.000000Z] 1f2c3d4e || [rank=2] "
    text += "".join(failed + line + "\n" for line in trace("KeyError: 'eos'", MAIN).splitlines())
    (tmp_path / "trial.log").write_text(text)
    assert read(str(tmp_path)).tables["events"].filter(kind="exception")["rank"].to_list() == [2]


OWN = ["Traceback (most recent call last):", '  File "/job/fit.py", line 31, in collate', "    out = stack(rows)", '  File "/env/lib/python3.11/site-packages/arrays/base.py", line 9, in stack', "    raise ValueError('shapes differ')", "ValueError: shapes differ"]  # fmt: skip
HEARD = "received SIGTERM, leaving"
STOPS = {
    "a handler of the trainer": HEARD,
    "in other words": "caught signal SIGTERM (15): saving nothing",
    "by its name alone": "got SIGTERM from the launcher",
    "by its number": "got signal 15, leaving",
    "by what it is for": "[4711] caught termination signal, flushing logs",
    "of somebody's library": "*** SIGTERM (@0x1bb8) received by PID 7100 (TID 0x7f8e) from PID 7096 ***",
}


def of_ranks(lines_: dict[int, list[str]]) -> dict[str, list[str]]:
    return {f"rank{rank}.log": [f"[rank{rank}]: step {n} loss 2.0" for n in (1, 2)] + [f"[rank{rank}]: {line}" for line in own] for rank, own in lines_.items()}  # fmt: skip


def named(folder: Path, lines_: dict[int, list[str]]) -> list[int]:
    incident = analyze(str(written(folder, of_ranks(lines_)))).incidents[0]
    return list(incident.verdict.ranks)


@pytest.mark.parametrize("said", STOPS.values(), ids=STOPS)
def test_who_did_not_hear_the_signal_that_all_others_heard_had_ended_before(tmp_path: Path, said: str) -> None:
    assert named(tmp_path, {0: [said], 1: [said], 2: OWN, 3: [said]}) == [2]


def test_a_signal_that_came_to_all_explains_what_one_raised(tmp_path: Path) -> None:
    assert named(tmp_path, {0: [HEARD], 1: [HEARD], 2: [HEARD, *OWN], 3: [HEARD]}) == []


def test_no_other_signal_is_one_to_stop(tmp_path: Path) -> None:
    assert named(tmp_path, {0: ["caught signal 11, core dumped"], 1: [HEARD], 2: OWN, 3: [HEARD]}) != [2]


def test_a_signal_that_others_did_not_hear_either(tmp_path: Path) -> None:
    assert named(tmp_path, {0: [HEARD], 1: [], 2: OWN, 3: [HEARD]}) == []
