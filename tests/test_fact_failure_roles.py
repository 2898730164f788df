"""Whose failure ended a process: by where and how, in the order in which it is asked (facts/ends/failure_roles.py)."""

import json
from typing import Any

import pytest

from forensics.facts.ends.failure_roles import State, is_of_python, role_of
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
        (raised("OSError: (External) quorl error(2), frond.", LIBRARY, OWN, at="core.run_backward(x)"), "unclear"),
        (raised("OSError: (External) CUDA error(999), unknown error.", LIBRARY, OWN, at="core.run_backward(x)"), "own"),
        (raised("OSError: [Errno 5] Input/output error", LIBRARY, OWN, at="f.read()"), "own"),
        (raised("OSError: no tokenizer in 'quorl'", LIBRARY, OWN, at="raise OSError(f'{x}')"), "own"),
        (raised("Exception: see below", LIBRARY, original={"frames": [OWN], "at": "raise Exception(path)"}), "own"),
        ({**raised("KeyError: 'eos'"), "detail": '{"frames": []}'}, "own"),
        ({**raised("RuntimeError: quorl 41"), "detail": '{"frames": []}'}, "unclear"),
    ],
    ids=["class of Python", "raise", "foreign class without it", "RuntimeError of native code", "class of the standard library",
         "class of a module between processes", "an unknown library's raise", "class of Python in a library",
         "class of Python in a waiting call", "RuntimeError in a waiting call", "below a wrapper", "client of a service", "memory",
         "runtime of a device", "OSError of native code", "a device's error as OSError", "OSError of the system", "OSError that a library raises",
         "quoted", "a child's own traceback", "class alone", "RuntimeError alone"],
)  # fmt: skip
def test_whose_it_is(row: dict[str, Any], state: State) -> None:
    assert role_of(row).state == state


JSON = ["raw_decode", "/usr/lib/python3.10/json/decoder.py", 355]


@pytest.mark.parametrize(
    ("text", "inner", "outer", "state"),
    [
        ("json.decoder.JSONDecodeError: Unterminated string", JSON, OWN, "own"),
        ("_csv.Error: line contains NUL", ["__next__", "/usr/lib/python3.10/csv.py", 111], OWN, "own"),
        ("zipfile.BadZipFile: bad magic number", ["_open", "/usr/lib/python3.11/zipfile.py", 1370], OWN, "own"),
        ("configparser.NoOptionError: no option", ["get", "/usr/lib/python3.10/configparser.py", 800], OWN, "own"),
        ("sqlite3.OperationalError: no such table", ["run", "/usr/lib/python3.10/sqlite3/dbapi2.py", 8], OWN, "own"),
        ("_pickle.UnpicklingError: bad load key", ["load", "/usr/lib/python3.10/pickle.py", 1212], ALL_REDUCE, "unclear"),
        ("asyncio.QueueShutDown: closed", ["get", "/usr/lib/python3.13/asyncio/queues.py", 180], OWN, "unclear"),
        ("socket.gaierror: unknown name", ["getaddrinfo", "/usr/lib/python3.10/socket.py", 967], OWN, "unclear"),
    ],
)  # fmt: skip
def test_a_module_of_python_that_speaks_with_nobody_fails_for_its_caller(
    text: str, inner: list[Any], outer: list[Any], state: State
) -> None:
    assert role_of(raised(text, inner, outer)).state == state


LOADER = ["_next_data", "/env/lib/python3.11/site-packages/torch/utils/data/dataloader.py", 708]
POOL = ["__get_result", "/usr/lib/python3.11/concurrent/futures/_base.py", 401]
STALE = ["inner", "/usr/lib/python3.11/contextlib.py", 81]


@pytest.mark.parametrize(
    ("outer", "state"), [(LOADER, "own"), (POOL, "own"), (STALE, "own"), (ALL_REDUCE, "unclear"), (SERVICE, "unclear")]
)
def test_what_only_hands_it_on_asked_nobody(outer: list[Any], state: State) -> None:
    assert role_of(raised("json.decoder.JSONDecodeError: Extra data", JSON, OWN, outer)).state == state


def test_form_is_known_from_words() -> None:
    in_wait = role_of(raised("ValueError: quorl 41", ALL_REDUCE, OWN))
    in_code = role_of(raised("ValueError: quorl 41", OWN))
    memory = role_of(raised("torch.OutOfMemoryError: CUDA out of memory.", OWN))
    assert [(one.by_form, one.by_row) for one in (in_wait, in_code, memory)] == [(True, False), (False, False), (False, True)]  # fmt: skip
    assert role_of(raised("RuntimeError: CUDA error: unknown error", OWN)).is_device and in_wait.reason.zh  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "file", "at", "is_seen"),
    [
        ("json.decoder.JSONDecodeError: Expecting value", "/usr/lib/python3.11/json/decoder.py", "raise JSONDecodeError(m) from None", True),
        ("json.decoder.JSONDecodeError: Invalid control character", "/opt/py/lib/python3.10/json/decoder.py", "obj, end = self.scan_once(s, idx)", True),
        ("json.decoder.JSONDecodeError: Invalid control character", "/opt/py/lib/python3.10/site-packages/wire/json/decoder.py", "take(s)", False),
        ("zipfile.BadZipFile: bad magic number", "/opt/py/lib/python3.12/zipfile/__init__.py", 'raise BadZipFile("bad")', True),
        ("configparser.NoOptionError: no option", "/usr/lib/python3.10/configparser.py", "value = d[option]", False),
        ("_csv.Error: line contains NUL", "/opt/py/lib/python3.12/site-packages/rows/read.py", "raise Error(line)", False),
    ],
)  # fmt: skip
def test_python_is_seen_to_raise_its_own_class_in_its_own_code(text: str, file: str, at: str, is_seen: bool) -> None:
    found = role_of(raised(text, ["inner", file, 12], OWN, at=at))
    assert (found.state, found.by_form) == ("own", not is_seen)


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


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("RuntimeError: std::bad_alloc", "own"),
        ("ringlink.errors.RingBroken:   what():  std::bad_alloc", "own"),
        ("RuntimeError: On WorkerInfo(id=3, name=frond3): std::bad_alloc", "unclear"),
        ("RuntimeError: quorl 41 died of std::bad_alloc", "unclear"),
        ("RuntimeError: NPU function error: aclrtSynchronizeStream, error code is 507015", "own"),
        ("RuntimeError: ACL stream synchronize failed, error code:507015", "own"),
        ("tensorflow.python.framework.errors_impl.NotFoundError: /data/part-4; No such file or directory", "own"),
        ("tensorflow.python.framework.errors_impl.NotFoundError: {{function_node __wrapped__ReadFile}} gs://b/v.txt; No such file or directory", "own"),
        ("tensorflow.python.framework.errors_impl.PermissionDeniedError: /ckpt/model.index; Permission denied", "own"),
        ("tensorflow.python.framework.errors_impl.NotFoundError: From /job:worker/task:3: /data/part-4; No such file", "unclear"),
        ("tensorflow.python.framework.errors_impl.NotFoundError: Collective ops is aborted by: /data/part-4; No such file or directory", "lost"),
        ("tensorflow.python.framework.errors_impl.NotFoundError: Resource worker/frond does not exist", "unclear"),
    ],
)  # fmt: skip
def test_what_a_process_says_of_itself_proves_nothing_where_another_may_have_said_it(text: str, state: State) -> None:
    """In a call of an unknown library that may wait for others."""
    assert role_of(raised(text, LIBRARY, OWN)).state == state


def failed_of(ranks: str) -> dict[str, Any]:
    text = f"torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([{ranks}])"
    return raised(text, LIBRARY, OWN, at="raise result")


@pytest.mark.parametrize(
    ("rows", "world", "named"),
    [
        pytest.param(dict.fromkeys(range(4), failed_of("3")), 4, {3}, id="one"),
        pytest.param(dict.fromkeys(range(8), failed_of("2, 6")), 8, {2, 6}, id="two of eight"),
        pytest.param(dict.fromkeys(range(4), failed_of("0, 2, 3")), 4, set(), id="most"),
        pytest.param(dict.fromkeys(range(4), failed_of("3")), 8, set(), id="only the half of them say it"),
        pytest.param(dict.fromkeys(range(4), failed_of("5")), 4, set(), id="no rank of the job"),
        pytest.param({0: failed_of("3"), **dict.fromkeys((1, 2, 3), failed_of("1"))}, 4, set(), id="they differ"),
    ],
)
def test_an_error_that_all_ranks_raise_is_of_those_that_it_lists(
    rows: dict[int, dict[str, Any]], world: int, named: set[int]
) -> None:
    assert {rank for rank, how in ended(rows, world=world).items() if how == "died"} == named


BARE = {"kind": "exception", "code": "KeyError", "text": "KeyError: 'eos'", "rank": 1, "file": "1.log", "line": 9}
GAVE_UP = {"kind": "collective_timeout", "rank": 0, "seq": 5, "file": "0.log"}
LOST_A_PEER = {"kind": "peer_closed", "rank": 0, "file": "0.log"}


@pytest.mark.parametrize(
    ("other", "lines", "how"),
    [
        pytest.param(GAVE_UP, 9, "died", id="the file ends with it"),
        pytest.param(LOST_A_PEER, 9, "died", id="beside one that lost a peer"),
        pytest.param(GAVE_UP | {"rank": 3}, 9, None, id="another rank left no word of its end"),
        pytest.param(GAVE_UP, 10, None, id="a line follows"),
        pytest.param(GAVE_UP, None, None, id="nobody counted the lines"),
        pytest.param({**raised("KeyError: 'bos'", OWN), "rank": 2, "file": "2.log"}, 9, None, id="a traceback elsewhere"),
        pytest.param({"kind": "exit", "code": "SIGSEGV", "rank": 2, "file": "l.log"}, 9, None, id="a signal elsewhere"),
        pytest.param({"kind": "gpu_oom", "rank": 2, "file": "2.log"}, 9, "died", id="a line elsewhere, no better"),
    ],
)  # fmt: skip
def test_a_line_alone_may_be_the_end_of_its_process_where_its_file_ends(
    other: dict[str, Any], lines: int | None, how: str | None
) -> None:
    files = [{"file": "1.log", "lines": lines}]
    end = case([BARE, other], expected=2 + other["rank"], files=files).ends.get(1)
    assert (end and end.how) == how


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


@pytest.mark.parametrize("code", ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE"])
@pytest.mark.parametrize("rank", [0, 3, 7])
def test_whom_a_launcher_kills_with_all_the_rest_is_not_named(code: str, rank: int) -> None:
    job = Rows(8)
    for other in range(8):
        job.event("exit", rank=other, code=code if other == rank else "SIGKILL", file="launcher.log")
    assert job.verdict(hung=False).ranks == [rank]


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


LAUNCH = raised("RuntimeError: CUDA error: unspecified launch failure")
OTHER = raised("torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
HOUR = 1_790_000_000_000_000_000


def cancelled(job: Rows, after_s: float, **row: Any) -> Rows:
    detail = json.dumps({"what": "STEP", "where": "node0"})
    return job.event("scheduler", code="cancelled", file="slurm.out", detail=detail, time_basis="local",
                     time_ns=HOUR + round(after_s * 1e9), **row)  # fmt: skip


@pytest.mark.parametrize(
    ("later", "after_s", "ranks", "suspects"),
    [
        (LAUNCH, 3.0, [1], []),
        (OTHER, 3.0, [1], []),
        (raised("KeyError: 'eos'", LIBRARY, OWN), 3.0, [1], []),
        (raised("job.BadRecord: 17", OWN, MAIN, at="raise BadRecord(n)"), 90.0, [1], []),
        (raised("OSError: [Errno 107] Transport endpoint is not connected", OWN), 3.0, [1], []),
        (LAUNCH, 0.4, [], [1, 4]),
        (LAUNCH, -5.0, [], [1, 4]),
    ],
    ids=[
        "device",
        "device, another class",
        "a library's",
        "own code",
        "a file",
        "within the second of its stamp",
        "before it",
    ],
)
def test_what_is_stamped_after_a_scheduler_began_to_end_the_processes_followed(
    later: dict[str, Any], after_s: float, ranks: list[int], suspects: list[int]
) -> None:
    """The one whose end made it do so has no stamp: the interpreter prints none."""
    job = cancelled(Rows(8).placed(), 0.0).event(rank=1, **raised("AssertionError: 9", OWN, at="assert n <= self.ctx"))
    job.event(rank=4, time_ns=HOUR + round(after_s * 1e9), time_basis="local", **later)
    assert verdict(timed_out(job, 1, 4))[2:] == (ranks, suspects)


def test_a_stop_explains_no_end_where_nobody_failed_otherwise() -> None:
    job = cancelled(Rows(8).placed(), 0.0)
    job.event(rank=4, time_ns=HOUR + 3 * 10**9, time_basis="local", **LAUNCH)
    assert 4 in job.verdict(hung=False).ranks


FIRST = raised("ValueError: header needs 4108 bytes, slot has 4096", OWN, at="raise ValueError(n)")
CAUGHT = raised("OSError: [Errno 116] Stale file handle: 'a.pt'", OWN)


@pytest.mark.parametrize(
    ("signalled", "failed", "world", "ranks", "suspects"),
    [
        ((0, 2, 3, 4, 7), (1, 5, 6), 8, [6], []),
        ((0, 1, 2, 3, 4, 5, 7), (6,), 8, [6], []),
        ((0, 2, 3, 4, 6, 7), (1, 5, 6), 8, [6], []),
        ((0, 2, 3, 4), (1, 5, 6), 8, [], [4, 6]),
        ((0, 2, 3, 4, 7), (1, 5, 6), 16, [], [4, 6]),
        ((), (1, 5, 6), 8, [], [4, 6]),
    ],
    ids=["the rest", "all but one", "one of both", "one is missing", "of a larger job", "none is told of"],
)
def test_whom_a_launcher_stopped_is_known_where_all_others_failed(
    signalled: tuple[int, ...], failed: tuple[int, ...], world: int, ranks: list[int], suspects: list[int]
) -> None:
    """It tells pids of those that it stops, and ranks of those that it saw fail; what one of the former raised it had outlived."""
    job = Rows(world)
    job.add("ranks", rank=0, world_size=world, how="log", file="logs/rank_0.log")
    for rank in signalled:
        job.event("closing_signal", code="SIGTERM", pid=2900 + rank, file="agent.log", line=rank)
    for rank in failed:
        job.event(
            "exit", rank=rank, code="1" if rank == 6 else "SIGABRT", pid=2900 + rank, file="agent.log", line=50 + rank
        )
    job.event(rank=6, **FIRST).event(rank=4, **CAUGHT)
    assert verdict(timed_out(job, 4, 6))[2:] == (ranks, suspects)


@pytest.mark.parametrize(
    "text",
    ["RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution",
     "torch.AcceleratorError: CUDA error: CUDA_ERROR_NVLINK_UNCORRECTABLE",
     "RuntimeError: NCCL error: unhandled cuda error, cudaErrorNvlinkUncorrectable",
     "RuntimeError: ACL stream synchronize failed, HCCS LINK ERROR",
     "RuntimeError: ACL stream synchronize failed, UB LINK ERROR"],
    ids=["words", "name of the driver", "name of the runtime", "HCCS", "UB"],
)  # fmt: skip
@pytest.mark.parametrize("placed", [False, True], ids=["no record", "a record of its device"])
def test_a_link_has_two_ends(text: str, placed: bool) -> None:
    job = Rows(8).placed().event(rank=2, **raised(text, OWN))
    if placed:
        job.event("gpu_error", code="xid:74", host="node0", pci="0000:02:00.0", file="kern.log", severity="fatal")
    found = timed_out(job, 2).verdict(hung=False)
    assert (found.ranks, found.suspects.ranks) == (([2], []) if placed else ([], [2]))


POOL = "requests.exceptions.ConnectionError: HTTPConnectionPool(host='{host}', port=8000): Max retries exceeded with url: /v1/x"
REFUSED = "httpx.ConnectError: [Errno 111] Connection refused while calling http://{host}:8000/generate"
READ = "aiohttp.client_exceptions.ServerDisconnectedError: {host}:8000"


@pytest.mark.parametrize("text", [POOL, REFUSED, READ], ids=["requests", "httpx", "aiohttp"])
@pytest.mark.parametrize(
    ("host", "state"),
    [("s3.example.com", "own"), ("10.9.0.7", "own"), ("node1", "unclear"), ("node1.cluster.local", "unclear"), ("127.0.0.1", "unclear"),
     ("localhost", "unclear")],
    ids=["outside", "an address outside", "a host of the job", "its whole name", "loopback", "its own host"],
)  # fmt: skip
def test_a_service_of_the_job_itself_may_have_failed_first(text: str, host: str, state: State) -> None:
    assert role_of(raised(text.format(host=host), SERVICE, OWN), hosts=frozenset({"node0", "node1"})).state == state


BACKWARD = ["_engine_run_backward", "/env/lib/python3.11/site-packages/torch/autograd/graph.py", 979]


@pytest.mark.parametrize(
    ("own", "frames", "named"),
    [
        (raised("KeyError: 'eos'", OWN, MAIN), [ALL_REDUCE, LOGGED, OWN], True),
        (raised("KeyError: 'eos'", OWN, MAIN), [BACKWARD, OWN], True),
        (raised("job.BadRecord: 17", OWN, MAIN, at="raise BadRecord(n)"), [ALL_REDUCE, OWN], True),
        (raised("struct.error: quorl 41", OWN, MAIN), [ALL_REDUCE, OWN], True),
        (raised("AssertionError: quorl 41", OWN, MAIN, at="assert n < m"), [BACKWARD, OWN], True),
        (raised("KeyError: 'eos'", LIBRARY, OWN), [ALL_REDUCE, OWN], False),
        (raised("KeyError: 'eos'", OWN, MAIN), [LIBRARY, OWN], True),
        (raised("job.BadRecord: 17", OWN, MAIN), [ALL_REDUCE, OWN], False),
    ],
    ids=["class of Python", "beside backward", "raise", "class of the standard library", "assert", "in a library", "beside a library",
         "foreign class"],
)  # fmt: skip
def test_what_nobody_else_brings_about_explains_why_calls_that_wait_failed(
    own: dict[str, Any], frames: list[list[Any]], named: bool
) -> None:
    """Two of eight leave such calls in words that nobody knows, the rest time out."""
    job = Rows(8).placed().event(rank=1, **own)
    for rank in (0, 2):
        job.event(rank=rank, **raised(f"RuntimeError: quorl {rank} refused its frond", *frames))
    assert verdict(timed_out(job, 0, 1, 2))[2:] == (([1], []) if named else ([], [0, 1, 2]))


@pytest.mark.parametrize(("after_s", "ranks"), [(2.0, [1]), (-2.0, [])], ids=["after", "before"])
def test_who_left_such_a_call_before_may_have_been_the_first(after_s: float, ranks: list[int]) -> None:
    job = Rows(8).placed().event(rank=1, time_ns=HOUR, time_basis="local", **raised("KeyError: 'eos'", OWN, MAIN))
    odd = raised("RuntimeError: quorl 41", ALL_REDUCE, OWN)
    job.event(rank=2, time_ns=HOUR + round(after_s * 1e9), time_basis="local", **odd)
    assert verdict(timed_out(job, 1, 2))[2] == ranks


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("AssertionError: activation from rank 4: hidden 5120, mine 4096", "unclear"),
        ("ValueError: cannot join blocks received from peer 4 (8 columns, wanted 16)", "unclear"),
        ("KeyError: 'layer.9, sent by rank 4'", "unclear"),
        ("ValueError: vocabulary of 50257 disagrees with rank=4 (50304)", "unclear"),
        ("TypeError: header from source rank 4 is bytes", "unclear"),
        ("IndexError: shard 9 of 8 in the index by Rank 4", "unclear"),
        ("AssertionError: activation from rank 2: hidden 5120", "died"),
        ("ValueError: a tensor of rank 4 was expected, not of rank 3", "died"),
        ("AssertionError: block from rank 400", "died"),
        ("ValueError: stack expects equal sizes", "died"),
    ],
)  # fmt: skip
def test_an_own_error_about_what_another_rank_sent_names_nobody(text: str, how: str) -> None:
    assert ended({2: raised(text, OWN, MAIN, at="assert got == mine")}) == {2: how}
