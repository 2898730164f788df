"""Whose failure ended a process: by where and how, in the order in which it is asked (facts/failure_roles.py)."""

import json
from typing import Any

import pytest

from forensics.facts.failure_roles import State, is_of_python, role_of
from tests.hang_tables import Rows, call
from tests.log_cases import case

OWN = ["next_batch", "/job/data/stream.py", 57]
MAIN = ["main", "/job/train.py", 9]
LIBRARY = ["exchange", "/env/lib/python3.11/site-packages/ringlink/ring.py", 140]
ALL_REDUCE = ["all_reduce", "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", 2810]
LOGGED = ["wrapper", "/env/lib/python3.11/site-packages/torch/distributed/c10d_logger.py", 81]
SERVICE = ["send", "/env/lib/python3.11/site-packages/requests/adapters.py", 713]


def raised(text: str, *frames: list[Any], at: str = "do(it)", **told: Any) -> dict[str, Any]:
    """A traceback: frames innermost first, the source text of the innermost one."""
    detail = {"frames": list(frames), "at": at, "from_line": 1, **told}
    return {"kind": "exception", "code": text.split(":")[0], "text": text, "detail": json.dumps(detail)}


@pytest.mark.parametrize(
    ("row", "state"),
    [
        (raised("KeyError: 'eos'", OWN, MAIN), "own"),
        (raised("job.BadRecord: 17", OWN, MAIN, at='raise BadRecord(f"{n}")'), "own"),
        (raised("job.BadRecord: 17", OWN, MAIN), "unclear"),
        (raised("RuntimeError: quorl 41 refused its frond", OWN, MAIN), "unclear"),
        (raised("struct.error: quorl 41", OWN, MAIN), "own"),
        (raised("asyncio.QueueShutDown: quorl 41", OWN, MAIN), "unclear"),
        (raised("ringlink.errors.RingBroken: quorl 41", LIBRARY, OWN, at="raise RingBroken(n)"), "unclear"),
        (raised("KeyError: 'eos'", LIBRARY, OWN), "own"),
        (raised("ValueError: quorl 41", ALL_REDUCE, LOGGED, OWN), "own"),
        (raised("RuntimeError: quorl 41", ALL_REDUCE, LOGGED, OWN), "unclear"),
        (raised("RuntimeError: quorl 41", LOGGED, ALL_REDUCE, OWN), "unclear"),
        (raised("requests.exceptions.ReadTimeout: quorl 41", SERVICE, OWN), "own"),
        (raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ALL_REDUCE, OWN), "own"),
        (raised("RuntimeError: MUSA error: unknown error", ALL_REDUCE, OWN), "own"),
        (raised("OSError: [Errno 28] No space left on device", LIBRARY, quoted=6), "quoted"),
        (raised("Exception: see below", LIBRARY, original={"frames": [OWN], "at": "raise Exception(path)"}), "own"),
        ({**raised("KeyError: 'eos'"), "detail": '{"frames": []}'}, "own"),
        ({**raised("RuntimeError: quorl 41"), "detail": '{"frames": []}'}, "unclear"),
    ],
    ids=["class of Python", "raise", "foreign class without it", "RuntimeError of native code", "class of the standard library",
         "class of a module between processes", "an unknown library's raise", "class of Python in a library",
         "class of Python in a waiting call", "RuntimeError in a waiting call", "below a wrapper", "client of a service", "memory",
         "runtime of a device", "quoted", "a child's own traceback", "class alone", "RuntimeError alone"],
)  # fmt: skip
def test_whose_it_is(row: dict[str, Any], state: State) -> None:
    assert role_of(row).state == state


def test_form_is_known_from_words() -> None:
    in_wait = role_of(raised("ValueError: quorl 41", ALL_REDUCE, OWN))
    in_code = role_of(raised("ValueError: quorl 41", OWN))
    memory = role_of(raised("torch.OutOfMemoryError: CUDA out of memory.", OWN))
    assert [(one.by_form, one.by_row) for one in (in_wait, in_code, memory)] == [(True, False), (False, False), (False, True)]  # fmt: skip
    assert role_of(raised("RuntimeError: CUDA error: unknown error", OWN)).is_device and in_wait.reason.zh  # type: ignore[attr-defined]


def test_in_a_group_of_two_a_waiting_call_tells_nothing() -> None:
    row = raised("ValueError: quorl 41", ALL_REDUCE, OWN)
    assert (role_of(row).state, role_of(row, pair=True).state) == ("own", "unclear")


def test_a_record_in_an_open_operation_explains_what_no_own_code_raised() -> None:
    assert role_of(raised("RuntimeError: quorl 41", ALL_REDUCE), is_held=True).state == "lost"
    assert role_of(raised("KeyError: 'eos'", OWN), is_held=True).state == "own"


@pytest.mark.parametrize(
    ("code", "own"),
    [("KeyError", True), ("UnboundLocalError", True), ("ZeroDivisionError", True), ("FileNotFoundError", True), ("RuntimeError", False),
     ("ConnectionResetError", False), ("TimeoutError", False), ("EOFError", False), ("job.KeyError", False), (None, False)],
)  # fmt: skip
def test_classes_that_python_raises_for_what_a_program_did(code: str | None, own: bool) -> None:
    assert is_of_python(code) is own


def ended(rows: dict[int, dict[str, Any]], *others: dict[str, Any], world: int = 8) -> dict[int, str]:
    """Rank → how its process ended, of ranks with such a row each."""
    events = [{**row, "rank": rank, "file": f"{rank}.log", "line": 9} for rank, row in rows.items()]
    return {rank: end.how for rank, end in case([*events, *others], expected=world).ends.items()}


UNKNOWN = raised("RuntimeError: quorl 41 refused its frond", ALL_REDUCE, OWN)


def test_what_is_unclear_on_most_ranks_alike_lost_others() -> None:
    assert set(ended(dict.fromkeys(range(5), UNKNOWN)).values()) == {"lost"}
    assert set(ended(dict.fromkeys(range(4), UNKNOWN)).values()) == {"unclear"}


def test_a_line_alone_ends_nothing_where_ends_are_shown() -> None:
    full = {"kind": "disk_full", "rank": 0, "code": "EDQUOT", "file": "0.log"}
    waited = {"kind": "collective_timeout", "rank": 1, "seq": 5, "file": "1.log"}
    assert ended({}, full) == {0: "died"}
    assert ended({}, full, waited) == {1: "gave_up"}
    code = {"kind": "exit", "rank": 0, "code": "1", "file": "launcher.log"}
    assert ended({}, full, waited, code) == {0: "died", 1: "gave_up"}


def verdict(job: Rows) -> tuple[str, str | None, list[int], list[int]]:
    found = job.verdict(hung=False)
    return found.kind, found.cause, found.ranks, found.suspects.ranks


def timed_out(job: Rows, *gone: int) -> Rows:
    for rank in range(job.world):
        if rank not in gone:
            job.timeout(rank, "world", 7)
    return job


def test_an_unknown_error_of_one_rank_makes_a_suspect_and_of_its_own_code_a_name() -> None:
    assert verdict(timed_out(Rows(8).event(rank=2, **UNKNOWN), 2)) == ("crash", None, [], [2])
    own = raised("job.BadRecord: 17", OWN, MAIN, at="raise BadRecord(n)")
    assert verdict(timed_out(Rows(8).event(rank=2, **own), 2)) == ("crash", "exception", [2], [])


def test_who_neither_waited_nor_failed_like_most_may_have_been_the_first() -> None:
    """Six lost somebody in unknown words, one raises what its own code raises, and one is silent."""
    job = Rows(8).placed().event(rank=0, **raised("KeyError: 'eos'", OWN, MAIN))
    for rank in (1, 2, 3, 4, 6, 7):
        job.event(rank=rank, **UNKNOWN)
    assert verdict(job) == ("crash", None, [], [0, 5])
    assert verdict(job.event(rank=5, **UNKNOWN)) == ("crash", "exception", [0], [])


def test_a_signal_stands_against_unknown_errors_that_are_not_known_to_come_before() -> None:
    job = Rows(8).event("exit", rank=2, code="SIGKILL", file="launcher.log")
    for rank in (1, 3):
        job.event(rank=rank, **UNKNOWN)
    assert verdict(job)[1:3] == ("killed", [2])


def test_several_different_failures_without_stamps_of_their_own_are_suspects() -> None:
    job = Rows(8).event(rank=2, **raised("KeyError: 'eos'", OWN)).event(rank=5, **raised("IndexError: 9", OWN))
    assert verdict(timed_out(job, 2, 5))[2:] == ([], [2, 5])


def test_signals_that_nobody_sent_are_each_named() -> None:
    job = Rows(8)
    for rank, code in ((2, "SIGKILL"), (5, "SIGSEGV")):
        job.event("exit", rank=rank, code=code, file="launcher.log")
    assert timed_out(job, 2, 5).verdict(hung=False).ranks == [2, 5]


NVLINK = raised("RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution", OWN)


def test_what_several_devices_report_is_one_failure_of_any_of_them_unless_a_record_singles_one_out() -> None:
    job = Rows(8).placed()
    for rank in (1, 2, 3):
        job.event(rank=rank, **NVLINK)
    assert verdict(timed_out(job, 1, 2, 3))[2:] == ([], [1, 2, 3])
    job.event("gpu_error", code="xid:74", host="node0", pci="0000:02:00.0", file="kern.log", severity="fatal")
    assert 2 in job.verdict(hung=False).ranks and not {1, 3} & {*job.verdict(hung=False).ranks}


@pytest.mark.parametrize(
    ("printers", "ranks", "suspects"),
    [((4, 5, 6, 7), [], [4, 5, 6, 7]), (range(8), [1], [])],
    ids=["of a group whose members are not told", "of all of the world"],
)
def test_a_quoted_failure_is_that_of_the_quoted(printers: Any, ranks: list[int], suspects: list[int]) -> None:
    job = Rows(8).placed()
    quoted = raised("OSError: [Errno 28] No space left on device", LIBRARY, quoted=1) | {"names_ranks": [1]}
    for rank in printers:
        job.event(rank=rank, line=5, **quoted)
        job.event("disk_full", rank=rank, line=5, text=quoted["text"])
    assert verdict(job) == ("crash", "disk_full", ranks, suspects)


def test_own_code_is_named_though_its_record_shows_an_operation_on_its_way() -> None:
    job = Rows(3)
    for rank in range(3):
        job.dump(rank, call("world", 5, done=True), call("world", 6))
    job.event(rank=1, **raised("KeyError: 'eos'", OWN))
    assert job.verdict().ranks == [1]
