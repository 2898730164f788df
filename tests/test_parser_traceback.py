"""Tracebacks become exceptions with frames, however they are cut, chained or interleaved."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import parsers
from parsers.pytorch.traceback import PARSER
from tests.lines import lines

HEAD = """Traceback (most recent call last):
  File "/job/train.py", line 40, in <module>
    main()
    ^^^^^^
  File "/job/data.py", line 7, in load
    return store.read(key)
  File "/env/lib/python3.11/site-packages/torch/x.py", line 83, in wrapper
    return func(*args)
"""


def _events(text: str, **columns: Any) -> list[dict[str, Any]]:
    return PARSER.parse(lines(text, **columns))["events"].rows(named=True)


def test_frames_message_and_stack() -> None:
    tables = PARSER.parse(lines(HEAD + "ValueError: bad key: 7", rank=3))
    [row] = tables["events"].rows(named=True)
    assert (row["kind"], row["code"], row["rank"], row["line"]) == ("exception", "ValueError", 3, 9)
    assert row["text"] == "ValueError: bad key: 7"
    detail = json.loads(row["detail"])
    assert [frame[0] for frame in detail["frames"]] == ["wrapper", "load", "<module>"]
    assert detail["frames"][1] == ["load", "/job/data.py", 7]
    assert detail["source"] == "return store.read(key)" and "consequence" not in detail
    [stack] = tables["stacks"].rows(named=True)
    assert stack["rank"] == 3 and stack["is_main"] and stack["source"] == "traceback"
    assert stack["frames"][0]["function"] == "wrapper"
    assert tables["claimed"].height == 9


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.", [("gpu_oom", None)]),
        ("torch.cuda.OutOfMemoryError: x", [("gpu_oom", None)]),
        ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", [("host_oom", None)]),
        ("RuntimeError: MUSA out of memory. Tried", [("gpu_oom", None)]),
        ("RuntimeError: NPU out of memory. Tried", [("gpu_oom", None)]),
        ("OSError: [Errno 28] No space left on device", [("disk_full", None)]),
        ("RuntimeError: CUDA error: an illegal memory access was encountered",
         [("cuda_error", "an illegal memory access was encountered")]),
        ("RuntimeError: MUSA error: unspecified launch failure", [("cuda_error", "unspecified launch failure")]),
        ("RuntimeError: DataLoader worker (pid 77) is killed by signal: Bus error. It is", [("other", "dataloader_worker")]),
        ("RuntimeError: DataLoader worker (pid(s) 77, 78) exited unexpectedly", [("other", "dataloader_worker")]),
        ("ring.PeerClosed: connection closed by peer rank 7", [("peer_closed", None)]),
        ("FloatingPointError: value is off at step 21", [("nan_assert", "operator")]),
        ("FloatingPointError: Minimum loss scale reached (0.0001).", []),
        ("GeneratorExit", []),
        ("my.Odd: x\r", []),
    ],
    ids=["oom", "oom-class", "oom-ray", "musa-oom", "npu-oom", "disk", "cuda", "musa", "bus-error", "worker", "peer", "no-number", "loss-scale", "no-message", "dotted-crlf"],
)  # fmt: skip
def test_what_a_message_stands_for(last: str, expected: list[tuple[str, str | None]]) -> None:
    first, *others = _events(HEAD + last, rank=1)
    assert first["kind"] == "exception" and first["code"] == last.split(":")[0]
    assert [(row["kind"], row["code"]) for row in others] == expected


@pytest.mark.parametrize(
    "message",
    [
        "RuntimeError: [/g/pair.cc:561] Connection closed by peer [127.0.0.1]:1. This is typically",
        "torch.distributed.DistBackendError: NCCL error in: x, remote process exited or there was a network error",
    ],
    ids=["closed", "remote"],
)
def test_consequences_are_marked(message: str) -> None:
    [row] = _events(HEAD + message, rank=1)
    assert json.loads(row["detail"])["consequence"] is True


def test_chain() -> None:
    text = HEAD + "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n" + HEAD
    first, second = _events(text + "RuntimeError: b")
    assert (first["code"], second["code"]) == ("KeyError", "RuntimeError")
    assert json.loads(second["detail"])["continues_line"] == json.loads(first["detail"])["from_line"] == 1


def test_interleaved_ranks() -> None:
    whole = HEAD + "ValueError: x"
    mixed = "\n".join(line for line in whole.split("\n") for _ in range(2))
    tables = PARSER.parse(lines(mixed, rank=[0, 1] * len(whole.split("\n"))))
    assert [(row["rank"], row["code"]) for row in tables["events"].rows(named=True)] == [
        (0, "ValueError"),
        (1, "ValueError"),
    ]
    assert tables["stacks"].height == 2 and {len(stack) for stack in tables["stacks"]["frames"]} == {3}


def test_local_rank_is_not_a_rank() -> None:
    [row] = _events(HEAD + "ValueError: x", path_local_rank=2)
    assert (row["rank"], row["local_rank"]) == (None, 2)


def test_another_thread_is_not_the_main_stack() -> None:
    tables = PARSER.parse(lines("Exception in thread Thread-3:\n" + HEAD + "ValueError: x", rank=0))
    assert tables["stacks"].select("is_main", "thread_name").rows() == [(False, "Thread-3")]
    assert json.loads(tables["events"]["detail"][0])["thread"] == "Thread-3"


def test_log_lines_within_a_traceback() -> None:
    head = HEAD.split("\n")
    text = "\n".join([*head[:4], "INFO: saving step 3", *head[4:]])
    [row] = _events(text + "ValueError: x")
    assert row["code"] == "ValueError" and len(json.loads(row["detail"])["frames"]) == 3


def test_a_worker_that_died_of_a_bus_error_may_have_read_a_file_that_is_gone() -> None:
    """That its shared memory may be full is a guess that PyTorch prints."""
    text = "ERROR: Unexpected bus error encountered in worker. This might be\nDataLoader worker (pid 8) is killed by "
    assert [(row["kind"], row["code"], row["pid"]) for row in _events(text + "signal: Bus error. It is")] == [
        ("other", "dataloader_worker", None),
        ("other", "dataloader_worker", 8),
    ]


def test_terminate() -> None:
    text = "terminate called after throwing an instance of 'c10::CUDAError'\n  what():  CUDA error: unknown error\n"
    tables = PARSER.parse(lines(text, local_rank=3))
    rows = tables["events"].rows(named=True)
    assert [(row["kind"], row["code"]) for row in rows] == [
        ("exception", "c10::CUDAError"),
        ("cuda_error", "unknown error"),
    ]


@pytest.mark.parametrize("text", ["", "step 4 done", "INFO: no Error here", '  File "x.py"'], ids=range(4))
def test_foreign(text: str) -> None:
    assert PARSER.parse(lines(text))["events"].is_empty()


@pytest.mark.parametrize("cut", range(40, len(HEAD), 31))
def test_a_cut_traceback_is_still_one_row(cut: int) -> None:
    [row] = _events(HEAD[:cut], rank=0)
    assert row["kind"] == "exception" and row["code"] is None


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[rank3]: ",
        "12: ",
        "2026-05-01T10:11:12.345678901Z stderr F ",
        "(Worker pid=4) ",
        "May  1 10:11:12 n1 python[77]: ",
        "2026-05-01T10:11:12+00:00 n1 pt_main_thread[77]: [rank3]: ",
        "[1,3]<stderr>:",
    ],
)
@pytest.mark.parametrize("last", ["ValueError: bad key: 7", "StopIteration", "my.pkg.Odd: said\r", "KeyError:"])
def test_a_traceback_in_a_log_reaches_the_parser_whole(tmp_path: Path, prefix: str, last: str) -> None:
    text = f"{HEAD}{last}\n"
    between = "2026-05-01 10:11:12,345 INFO loader.py:3 shard 7 took 0.3 s\n" * 2
    whole = between + "".join(f"{prefix}{line}\n" for line in text.splitlines()) + between
    (tmp_path / "job.log").write_text(whole)
    [row] = parsers.read(str(tmp_path), parsers=(PARSER,)).tables["events"].rows(named=True)
    assert row["code"] == last.split(":")[0].strip() and row["line"] == 11
    assert json.loads(row["detail"])["source"] == "return store.read(key)"


@pytest.mark.parametrize("prefix", ["worker-3  | ", "job-worker-3 main "])
@pytest.mark.parametrize("last", ["ValueError: bad key: 7", "StopIteration"])
def test_a_traceback_where_all_lines_have_a_container(tmp_path: Path, prefix: str, last: str) -> None:
    text = f"step 1 done\nstep 2 done\n{HEAD}{last}\n"
    (tmp_path / "job.log").write_text("".join(f"{prefix}{line}\n" for line in text.splitlines()))
    [row] = parsers.read(str(tmp_path), parsers=(PARSER,)).tables["events"].rows(named=True)
    assert row["code"] == last.split(":")[0] and row["host"] == prefix.split()[0]


def test_processes_that_write_at_once_into_a_journal_come_apart(tmp_path: Path) -> None:
    """Two tracebacks, line by line in turn: the tag's process tells which line is whose."""
    texts = [(HEAD + f"ValueError: {process}").splitlines() for process in (70, 71)]
    turns = [(70 + which, line) for both in zip(*texts, strict=True) for which, line in enumerate(both)]
    journal = "".join(f"May  1 10:11:12 n1 python[{process}]: {line}\n" for process, line in turns)
    (tmp_path / "journal.txt").write_text(journal)
    rows = parsers.read(str(tmp_path), parsers=(PARSER,)).tables["events"].rows(named=True)
    assert sorted(row["text"] for row in rows) == ["ValueError: 70", "ValueError: 71"]


def test_a_traceback_in_the_lines_of_a_collector(tmp_path: Path) -> None:
    stamped = [{"line": line, "timestamp": "2026-05-01T10:11:12Z"} for line in (HEAD + "ValueError: bad").splitlines()]
    (tmp_path / "loki.jsonl").write_text("".join(json.dumps(line) + "\n" for line in stamped))
    [row] = parsers.read(str(tmp_path), parsers=(PARSER,)).tables["events"].rows(named=True)
    assert row["code"] == "ValueError" and len(json.loads(row["detail"])["frames"]) == 3


def test_a_word_after_skipped_lines_is_no_message(tmp_path: Path) -> None:
    """The traceback was cut; what another logger writes some lines later does not become its message."""
    (tmp_path / "job.log").write_text(HEAD + "an ordinary line\n" * 3 + "rate: 0.1\n")
    [row] = parsers.read(str(tmp_path), parsers=(PARSER,)).tables["events"].rows(named=True)
    assert row["code"] is None


def test_what_the_interpreter_ignores_is_no_exception_of_the_process(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(
        f"Exception ignored in: <function Pool.__del__ at 0x7f>\n{HEAD}ValueError: closed\n"
    )
    [row] = parsers.read(str(tmp_path), parsers=(PARSER,)).tables["events"].rows(named=True)
    assert (row["kind"], row["severity"], row["code"]) == ("other", "warning", "ValueError")


@pytest.mark.parametrize(
    "said",
    [
        "RuntimeError: DataLoader worker (pid 9) is killed by signal: Terminated. ",
        "ConnectionRefusedError: [Errno 111] Connection refused",
        "EOFError",
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed",
    ],
)
def test_what_others_cause_is_marked(said: str) -> None:
    row = _events(f"{HEAD}{said}", rank=2)[0]
    assert json.loads(row["detail"])["consequence"] is True


def test_ctrl_c_is_no_failure_but_a_stack() -> None:
    later = 'Traceback (most recent call last):\n  File "/job/exit.py", line 2, in close\nKeyError: 1'
    tables = PARSER.parse(lines(HEAD + "KeyboardInterrupt\n" + later, rank=3))
    stopped, closing = tables["events"].sort("line").rows(named=True)
    assert (stopped["kind"], stopped["code"], stopped["severity"], stopped["rank"]) == ("exit", "SIGINT", "info", 3)
    assert closing["kind"] == "exception" and json.loads(closing["detail"])["consequence"]
    assert tables["stacks"]["source"].to_list() == ["interrupt", "traceback"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [(143, ("exit", "SIGTERM")), (139, ("exception", "SystemExit")), (3, ("exception", "SystemExit"))],
)
def test_a_handler_that_leaves_with_the_code_of_its_signal_was_stopped(code: int, expected: tuple[str, str]) -> None:
    (row,) = _events(f"{HEAD}SystemExit: {code}", rank=3)
    assert (row["kind"], row["code"]) == expected


def test_ctrl_c_in_a_worker_of_a_data_loader_is_not_where_the_rank_stood() -> None:
    worker = HEAD.replace("in load", "in _worker_loop") + "KeyboardInterrupt"
    tables = PARSER.parse(lines(worker, rank=3))
    assert tables["events"]["kind"].to_list() == ["other"] and not tables["stacks"].height


@pytest.mark.parametrize(
    ("text", "rank", "expected"),
    [
        ("AssertionError", 3, [("exception", "AssertionError")]),
        ("KeyboardInterrupt", 3, [("exit", "SIGINT")]),
        ("stop.StoppedError: signal 12", 3, [("exit", "SIGUSR2")]),
        ("PreemptedError: got SIGTERM", 3, [("exit", "SIGTERM")]),
        ("ValueError: signal 12 of channel 3 is empty", 3, [("exception", "ValueError")]),
        ("RuntimeError: signal 11", 3, [("exception", "RuntimeError")]),  # what asks for no end
        ("AssertionError", None, []),
        ("AssertionError in a sentence", 3, []),
    ],
)
def test_a_class_alone_counts_after_a_rank(text: str, rank: int | None, expected: list[tuple[str, str]]) -> None:
    assert [(row["kind"], row["code"]) for row in _events(text, rank=rank)] == expected


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("RuntimeError: [/g/unbound_buffer.cc:78] Timed out waiting 20000ms for recv operation to complete", []),
        ("comms.WaitError: all_reduce on group 3 timed out after 600 s", ["collective_timeout"]),
        ("TimeoutError: barrier was not reached", ["collective_timeout"]),
        ("etcd.EtcdWatchTimedOut: the key-value store timed out", ["store_timeout"]),
        ("requests.ReadTimeout: HTTPSConnectionPool(host='a'): Read timed out.", ["exception"]),
    ],
    ids=["read elsewhere", "collective", "barrier", "store", "a download"],
)
def test_a_time_out_that_is_raised_is_a_wait(last: str, expected: list[str]) -> None:
    assert [row["kind"] for row in _events(HEAD + last, rank=1)] == expected


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("subprocess.CalledProcessError: Command '['/usr/bin/python3', '-u', 'a.py']' died with <Signals.SIGSEGV: 11>.",
         ("exit", "SIGSEGV", None)),
        ("subprocess.CalledProcessError: Command '['python', 'a.py']' returned non-zero exit status 3.", ("exit", "3", None)),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with signal SIGKILL",
         ("exit", "SIGKILL", 3)),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with exit code 7", ("exit", "7", 1)),
        ("ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
         ("exit", "ActorDiedError", None)),
        ("subprocess.CalledProcessError: Command '['git', 'log']' returned non-zero exit status 128.",
         ("exception", "subprocess.CalledProcessError", None)),
    ],
    ids=["signal", "status", "spawn", "spawn code", "ray", "no program of a job"],
)  # fmt: skip
def test_the_exception_of_a_launcher_tells_how_its_process_ended(
    last: str, expected: tuple[str | int | None, ...]
) -> None:
    [row] = _events(HEAD + last)
    assert (row["kind"], row["code"], row["local_rank"]) == expected
    [own] = _events(HEAD + last, rank=1)
    assert own["kind"] == "exception"


def test_a_logger_that_prefixes_each_line() -> None:
    at = "ERROR 01-31 10:11:1{} [engine.py:7] "
    body = [*HEAD.rstrip("\n").split("\n"), "ValueError: x"]
    [row] = _events("\n".join(at.format(number % 10) + line for number, line in enumerate(body)))
    assert (row["kind"], row["code"]) == ("exception", "ValueError")
    assert json.loads(row["detail"])["frames"]


@pytest.mark.parametrize("name", ["torch.multiprocessing.spawn.ProcessRaisedException", "ray.train.WorkerGroupError"])
def test_a_launcher_that_repeats_its_processes_tracebacks_raised_nothing_itself(name: str) -> None:
    assert _events(f"{HEAD}{name}: Training failed due to worker errors:") == []


def test_what_a_launcher_quotes_of_rank_2_is_of_rank_2() -> None:
    """That its actor died is the launcher's word; a time-out in the quoted traceback is the rank's."""
    died = f"[Rank 2 Error Snippet]:\n{HEAD}ray.exceptions.ActorDiedError: The actor died unexpectedly."
    assert [(row["kind"], row["rank"]) for row in _events(died)] == [("exit", 2)]
    waited = (
        f"-- Process 3 terminated with the following error:\n{HEAD}RuntimeError: Timed out waiting 20000ms for recv"
    )
    assert [(row["kind"], row["local_rank"]) for row in _events(waited)] == [("collective_timeout", 3)]


def test_what_torch_npu_adds_to_its_message_is_no_logger_that_went_on() -> None:
    more = "[ERROR] 2026-01-31-10:11:12 (PID:4711, Device:2, RankID:2) ERR00100 PTA call acl api failed"
    text = f"{HEAD}RuntimeError: NPU function error: AclrtSynchronizeStreamWithTimeout, error code is 507010\n{more}"
    [row] = _events(text)
    assert (row["kind"], "went_on" in row["detail"]) == ("exception", False)


def test_a_launcher_quotes_the_traceback_of_its_process() -> None:
    text = f"-- Process 3 terminated with the following error:\n{HEAD}ValueError: x"
    [row] = _events(text)
    assert (row["kind"], row["rank"], row["local_rank"]) == ("exception", None, 3)
    [row] = _events(f"[Rank 2 Error Snippet]:\n{HEAD}ValueError: x")
    assert (row["rank"], row["rank_space"]) == (2, "global")
    _, later = _events(
        f"-- Process 3 terminated with the following error:\n{HEAD}ValueError: x\n\nend\n{HEAD}ValueError: y"
    )
    assert later["local_rank"] is None
    [row] = _events(f"[Rank 2 Error Snippet]:\n{HEAD}ValueError: x", rank=5)
    assert row["rank"] == 5


def test_a_snippet_of_several_ranks_is_of_each_and_ends_the_one_before() -> None:
    """A rank that ended without a traceback has words alone in its snippet."""
    text = f"[Rank 1 Error Snippet]:\nIts actor is gone.\n[Rank 0, 2 Error Snippet]:\n{HEAD}ValueError: x"
    assert [(row["rank"], row["rank_space"]) for row in _events(text)] == [(0, "global"), (2, "global")]


def test_whom_a_driver_quotes_is_not_the_process_that_prints_it() -> None:
    text = f"[Rank 2 Error Snippet]:\n{HEAD}ValueError: x"
    [row] = PARSER.parse(lines(text, process=4711))["events"].to_dicts()
    assert (row["rank"], row["pid"]) == (2, None)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("2026-01-31T10:11:12+0000 n7 kernel: ", ["storage_error"]),
        ("Jan 31 10:11:12 n7 kernel: [ 8021.000042] ", ["storage_error"]),
        ("[Sat Jan 31 10:11:12 2026] ", ["storage_error"]),
        ("[ 8021.000042] ", ["storage_error"]),
        ("2026-01-31T10:11:12 n7 python[40]: ", ["exception", "storage_error"]),
    ],
    ids=["journalctl", "syslog", "dmesg -T", "dmesg", "a process"],
)
def test_a_kernel_raises_no_exception(tmp_path: Path, before: str, expected: list[str]) -> None:
    (tmp_path / "n7.log").write_text(f"{before}LustreError: 11-0: home-OST0007: operation ost_read failed: rc = -107\n")
    assert sorted(parsers.read(str(tmp_path)).tables["events"]["kind"]) == expected


def test_a_launcher_that_prefixes_only_the_first_and_the_last_line(tmp_path: Path) -> None:
    frames = "".join(f"{line}\n" for line in HEAD.splitlines()[1:])
    last = "torch.OutOfMemoryError: MUSA out of memory. Tried to allocate 2.00 GiB (GPU 1; 79.50 GiB total capacity; 1 B free)"
    (tmp_path / "node.log").write_text(f"[rank9]: Traceback (most recent call last):\n{frames}[rank9]: {last}\n")
    found = parsers.read(str(tmp_path)).tables["events"].filter(rank=9)
    assert dict(found.select("kind", "device_index").iter_rows()) == {"exception": None, "gpu_oom": 1}


def test_a_quoted_traceback_says_whose_it_is_and_shows_nobodys_stack() -> None:
    """torch.distributed.checkpoint prints on each rank of a group what failed on one, counted in the group."""
    head = HEAD.replace("last):", "last): (RANK 6)", 1)
    rows = _events(head + "OSError: [Errno 28] No space left on device", rank=1)
    assert [row["kind"] for row in rows] == ["exception", "disk_full"]
    assert all((row["rank"], row["names_ranks"], row["names_rank_space"]) == (1, [6], "group") for row in rows)
    assert json.loads(rows[0]["detail"])["quoted"] == 6


def test_what_a_child_raised_stands_with_the_exception_of_its_parent() -> None:
    text = (
        HEAD
        + "ValueError: Caught ValueError in DataLoader worker process 3.\n"
        + 'Original Traceback (most recent call last):\n  File "/job/data.py", line 102, in decode\n'
        + "    raise ValueError(path)\nValueError: /data/7\n"
    )
    parent, child = [row for row in _events(text, rank=1) if row["kind"] == "exception"]
    assert json.loads(parent["detail"])["original"] == {
        "frames": [["decode", "/job/data.py", 102]],
        "at": "raise ValueError(path)",
        "said": "ValueError: /data/7",
        "line": 13,
    }
    assert json.loads(child["detail"])["thread"] == "worker"


@pytest.mark.parametrize(
    ("after", "caught"),
    [
        ("I0301 10:11:13.250000    71 restore.py:40] starting anew", True),
        ("W0301 10:11:13.250000 71 /app/loop.py:140] 3 of 4 shards", True),
        ("E0301 10:11:13.250000    71 restore.py:40] giving up", False),
        ("I0301 10:11:13.250000    71 pjrt_client.cc:40] closing", False),
    ],
    ids=["goes on", "with a warning", "says it again", "native code speaks"],
)
def test_a_logger_of_absl_that_goes_on(tmp_path: Path, after: str, caught: bool) -> None:
    (tmp_path / "p.log").write_text(f"{HEAD}KeyError: 'mu'\n{after}\n")
    [row] = parsers.read(tmp_path).tables["events"].filter(kind="exception").rows(named=True)
    assert ("went_on" in row["detail"]) is caught


@pytest.mark.parametrize(
    ("before", "expected"), [("[default1]:", True), ("[default2]:", False)], ids=["its own", "another's"]
)
def test_an_exception_has_the_time_of_the_line_right_before(tmp_path: Path, before: str, expected: bool) -> None:
    own = "".join(f"[default1]:[rank1]: {line}\n" for line in f"{HEAD}KeyError: 'mu'".splitlines())
    (tmp_path / "job.log").write_text(f"{before}2026-03-01 10:11:12,250 uncaught, leaving\n{own}")
    [row] = parsers.read(tmp_path).tables["events"].filter(kind="exception").rows(named=True)
    assert (row["time_ns"] is not None) is expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("2026-03-01 10:11:12,250 ERROR trainer: sampler died", True),
        ("2026-03-01 10:11:12.250 | CRITICAL | run:main:12 - leaving", True),
        ("2026-03-01 10:11:12,250 - job.run - ERROR - step failed", True),
        ("2026-03-01T10:11:12.250Z [FATAL] rank=3 uncaught", True),
        ("E0301 10:11:12.250000    71 loop.py:40] step failed", True),
        ("2026-03-01 10:11:12,250 INFO trainer: step 40 loss 2.1", False),
        ("2026-03-01 10:11:12,250 step 40 loss 2.1", False),
        ("an ERROR without a stamp", False),
    ],
    ids=["logging", "loguru", "named logger", "structured", "absl", "a step", "no level", "no stamp"],
)
@pytest.mark.parametrize(
    "end",
    [
        f"{HEAD}KeyError: 'mu'\n",
        "terminate called after throwing an instance of 'std::bad_variant_access'\n  what():  no\n",
    ],
    ids=["Python", "C++"],
)
def test_what_follows_the_record_of_an_error_has_its_time(
    tmp_path: Path, before: str, expected: bool, end: str
) -> None:
    """A record of an error is told right before what it is about; a line of progress may be much older."""
    (tmp_path / "rank_3.log").write_text(f"2026-03-01 10:11:02,000 INFO begun\n{before}\n{end}")
    [row] = parsers.read(tmp_path).tables["events"].filter(kind="exception").rows(named=True)
    assert (row["time_ns"] is not None) is expected


_RECORDS = [
    f"worker 2 failed: {HEAD}ValueError: bad key: 7",
    f"ERROR {HEAD}ValueError: bad key: 7\nValueError: of another",
]


@pytest.mark.parametrize("record", _RECORDS)
def test_a_record_that_a_traceback_begins_in_is_of_who_stands_before_its_first_line(record: str) -> None:
    said = lines(record)
    raised = PARSER.parse(said.with_columns(rank=pl.when(pl.col("line") == 1).then(2)))["events"]
    assert raised.filter(pl.col("kind") == "exception")["rank"].to_list()[0] == 2
    assert None in raised["rank"].to_list()[1:] or raised.height == 1


def test_a_traceback_of_nobody_behind_a_line_of_somebody_is_nobodys() -> None:
    said = lines(f"rank 2 goes on\n{HEAD}ValueError: bad key: 7")
    raised = PARSER.parse(said.with_columns(rank=pl.when(pl.col("line") == 1).then(2)))["events"]
    assert raised["rank"].to_list() == [None]
