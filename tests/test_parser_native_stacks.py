"""Native, kernel and C++ stacks, and thread dumps inside ordinary logs."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parsers
from parsers.schema.parser import FileParser
from parsers.schema.tables import SCHEMAS
from parsers.stacks.native import PARSER as NATIVE
from parsers.stacks.pasted import PARSER as PASTED
from parsers.stacks.proc_stack import PARSER as PROC
from parsers.stacks.py_spy import PARSER as PY_SPY
from parsers.stacks.torch_cpp import PARSER as CPP
from parsers.stacks.xpu_timer_stack import PARSER as XPU
from tests.lines import lines
from tests.sources import source

CASES = Path(os.environ.get("FORENSICS_CASES", Path(__file__).resolve().parent.parent.parent / "shared" / "cases"))

GDB = """Attaching to process 4700
[New LWP 4712]
[Thread debugging using libthread_db enabled]

Thread 2 (Thread 0x7f12 (LWP 4712) "pt_autograd_0"):
#0  0x00007f69 in poll () from /lib64/libc.so.6
#1  0x00007f70 in Monitor::wait(bool, long) (this=0x1, x=(int *) 0x0)
    at /src/wait.cpp:12
#2  <signal handler called>
#3  call_function (tstate=0x5, oparg=1) at Python/ceval.c:4963
#4  0x00007f71 in ?? ()

Thread 1 (Thread 0x7f11 (LWP 4700) "python"):
#0  0x00007f72 in c10::Foo::operator()(int) const () from /t/libc10.so
#1  Frame 0x55, for file /job/train.py, line 12, in step (a=1, b=(2, 3))
#2  0x00007f73 in _start ()
"""
ELF_UTILS = """PID 4700 - process
TID 4700:
#0  0x00007f69 poll
#1  0x00007f70 c10::wait(int)
TID 4712 (helper):
#0  0x00007f69 poll
"""


def _stacks(parser: FileParser, text: str | bytes, path: str = "a.txt", **columns: Any) -> list[dict[str, Any]]:
    made = source(text, path, **columns)
    with made.open() as stream:
        assert parser.accepts(path, stream.read(65536))
    return parser.parse(made)["stacks"].rows(named=True)


def _names(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [tuple(frame.values()) for frame in row["frames"]]


def test_gdb() -> None:
    helper, main = _stacks(NATIVE, GDB, rank=3)
    assert _names(helper) == [
        ("poll", "/lib64/libc.so.6", None),
        ("Monitor::wait(bool, long)", "/src/wait.cpp", 12),
        ("<signal handler called>", None, None),
        ("call_function", "Python/ceval.c", 4963),
        ("??", None, None),
    ]
    assert _names(main) == [
        ("c10::Foo::operator()(int) const", "/t/libc10.so", None),
        ("step", "/job/train.py", 12),
        ("_start", None, None),
    ]
    assert [(row["thread"], row["thread_name"], row["is_main"], row["pid"], row["line"]) for row in (helper, main)] == [
        ("4712", "pt_autograd_0", False, 4700, 5),
        ("4700", "python", True, 4700, 13),
    ]
    assert {(row["rank"], row["source"], row["snapshot"]) for row in (helper, main)} == {(3, "gdb", 0)}


def test_eu_stack() -> None:
    main, helper = _stacks(NATIVE, ELF_UTILS)
    assert [(row["thread"], row["pid"], row["is_main"], row["thread_name"]) for row in (main, helper)] == [
        ("4700", 4700, True, None), ("4712", 4700, False, "helper")]  # fmt: skip
    assert _names(main) == [("poll", None, None), ("c10::wait(int)", None, None)]


@pytest.mark.parametrize(
    ("path", "text", "main"),
    [
        ("a.txt", GDB.replace("Attaching to process 4700\n", ""), ["4700"]),
        ("pstack_4712.txt", GDB.replace("Attaching to process 4700\n", ""), ["4712"]),
        ("a.txt", "Thread 2 (LWP 8):\n#0  0x1 in f ()\nThread 1 (LWP 7):\n#0  0x1 in f ()\n", ["7"]),
        ("a.txt", "Thread 1 (process 9):\r\n#0  0x1 in f ()\r\n", ["9"]),
    ],
    ids=["outermost-frame", "name-of-the-file", "first-number", "pstack-crlf"],
)
def test_which_thread_is_the_main_one(path: str, text: str, main: list[str]) -> None:
    assert [row["thread"] for row in _stacks(NATIVE, text, path) if row["is_main"]] == main


def test_the_frames_of_a_process_of_one_thread_stand_alone() -> None:
    bare = "#0  0x1 in poll () from /lib64/libc.so.6\n#1  0x2 in PMPI_Barrier () from /opt/mpi/libmpi.so\n#2  0x3 in main () at a.c:7\n"
    (one,) = _stacks(NATIVE, bare, "pstack.3")
    assert (one["thread"], one["is_main"], _names(one)[0][0]) == (None, True, "poll")
    for other in (bare + "a line of a log\n", bare.partition("#2")[0]):
        assert not NATIVE.accepts("pstack.3", other.encode())


def test_a_second_dump_is_a_second_snapshot() -> None:
    assert [row["snapshot"] for row in _stacks(NATIVE, GDB + GDB)] == [0, 0, 1, 1]


@pytest.mark.parametrize("cut", range(120, len(GDB), 29))
def test_a_cut_dump_keeps_what_is_whole(cut: int) -> None:
    rows = NATIVE.parse(source(GDB[:cut], "a.txt"))["stacks"].rows(named=True)
    assert len(rows) == (cut > GDB.index('"pt_autograd_0"):') + 15) + (cut > GDB.index('"python"):') + 9)


@pytest.mark.parametrize(
    ("parser", "text"),
    [(NATIVE, ""), (NATIVE, "training\n" * 40 + GDB), (NATIVE, "#0 a comment\n(LWP here)\n"), (PROC, ""),
     (PROC, "[  12.345] [<ffffffff8121a0f5>] poll+0x55/0xd0\n"), (PROC, "a log [<0>]\n"), (XPU, "text")],
)  # fmt: skip
def test_foreign_files(parser: FileParser, text: str) -> None:
    assert not parser.accepts("a.txt", text.encode())


KERNEL = """==> /proc/4700/task/4712/stack <==
[<0>] rpc_wait_bit_killable+0x24/0xa0 [sunrpc]
[<0>] entry_SYSCALL_64_after_hwframe+0x44/0xa9

== pid 4700 ==
[<ffffffff8121a0f5>] poll_schedule_timeout+0x55/0xd0
[<ffffffffffffffff>] 0xffffffffffffffff
"""


def test_kernel_stacks() -> None:
    helper, main = _stacks(PROC, KERNEL, host="n07")
    assert _names(helper) == [("rpc_wait_bit_killable", "sunrpc", None), ("entry_SYSCALL_64_after_hwframe", None, None)]
    assert _names(main) == [("poll_schedule_timeout", None, None)]
    assert [(row["pid"], row["thread"], row["is_main"], row["line"]) for row in (helper, main)] == [
        (4700, "4712", False, 2), (4700, "4700", True, 6)]  # fmt: skip
    assert {row["source"] for row in (helper, main)} == {"kernel"}


@pytest.mark.parametrize(
    ("path", "pid", "thread"),
    [("proc/4700/stack", 4700, "4700"), ("proc/4700/task/4712/stack", 4700, "4712"), ("stack_4700.txt", 4700, "4700"),
     ("4700.stack", 4700, "4700"), ("kernel.txt", None, None)],
)  # fmt: skip
def test_the_path_of_a_kernel_stack(path: str, pid: int | None, thread: str | None) -> None:
    [row] = _stacks(PROC, "[<0>] ep_poll+0x1b5/0x2a0\n", path)
    assert (row["pid"], row["thread"]) == (pid, thread)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    made = b""
    while value > 127:
        made += bytes([value & 127 | 128])
        value >>= 7
    return made + bytes([value])


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _xpu() -> bytes:
    frames = _bytes(7, _bytes(1, b"step") + _bytes(2, b"/job/train.py:12")) + _bytes(7, _bytes(1, b"<module>"))
    python = _number(1, 4700) + _bytes(3, b"MainThread") + _number(4, 4700) + _number(5, 1) + _number(6, 1) + frames
    native = _number(1, 4712) + _bytes(2, b"nccl") + _bytes(3, _bytes(1, b"poll") + _bytes(2, b"??"))
    return _bytes(1, native) + _bytes(2, python) + _number(3, 4700) + _number(4, 3) + _bytes(11, b"S (sleeping)")


def test_xpu_timer() -> None:
    main, native = _stacks(XPU, _xpu(), "t/00003-00008.stacktrace")
    assert _names(main) == [("step", "/job/train.py", 12), ("<module>", None, None)]
    assert (main["rank"], main["pid"], main["thread"], main["is_main"], main["status"], main["source"]) == (
        3, 4700, "4700", True, "active+gil", "py-spy")  # fmt: skip
    assert (native["thread"], native["is_main"], native["source"], native["thread_name"]) == (
        "4712", False, "gdb", "nccl")  # fmt: skip
    [claim] = XPU.parse(source(_xpu(), "00003-00008.stacktrace"))["ranks"].rows(named=True)
    assert (claim["rank"], claim["pid"], claim["world_size"]) == (3, 4700, 8)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 120))
def test_xpu_timer_never_raises(noise: bytes, cut: int) -> None:
    for name, frame in XPU.parse(source(_xpu()[:cut] + noise, "00003-00008.stacktrace")).items():
        assert dict(frame.schema) == dict(SCHEMAS[name])


RAISED = """Exception raised from query at ../aten/CUDAEvent.h:95 (most recent call first):
frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x42 (0x1518 in /lib/libc10.so)
frame #1: <unknown function> + 0x814a (0x1519 in /lib64/libpthread.so.0)
frame #2: clone + 0x43 (0x151a in /lib64/libc.so.6)

step 5 loss 2.0"""
CALLED = """[PG ID 0] Stack trace of the failed collective:
#0 all_reduce from /torch/distributed/distributed_c10d.py:2501
#1 <module> from /job/train.py:15
#2 cut from"""


def test_where_an_exception_was_raised() -> None:
    tables = CPP.parse(lines(RAISED, rank=3))
    [row] = tables["stacks"].rows(named=True)
    assert (row["rank"], row["line"], row["source"], row["is_main"]) == (3, 1, "c10", None)
    assert _names(row) == [
        ("query", "../aten/CUDAEvent.h", 95),
        ("c10::Error::Error(c10::SourceLocation, std::string)", "/lib/libc10.so", None),
        ("<unknown function>", "/lib64/libpthread.so.0", None),
        ("clone", "/lib64/libc.so.6", None),
    ]
    assert tables["claimed"]["line"].to_list() == [1, 2, 3, 4]


@pytest.mark.parametrize("ranks", [[2, None, None, None], [2, 2, 2, 2], [None] * 4])
def test_where_a_failed_collective_was_called(ranks: list[int | None]) -> None:
    [row] = CPP.parse(lines(CALLED, rank=ranks))["stacks"].rows(named=True)
    assert (row["rank"], row["source"], row["status"]) == (ranks[0], "failed collective", "called")
    assert _names(row) == [
        ("all_reduce", "/torch/distributed/distributed_c10d.py", 2501), ("<module>", "/job/train.py", 15)]  # fmt: skip


def test_ranks_that_interleave_come_apart() -> None:
    text = "\n".join(line for pair in zip(RAISED.split("\n")[:4], RAISED.split("\n")[:4], strict=True) for line in pair)
    rows = CPP.parse(lines(text, rank=[0, 1] * 4))["stacks"].rows(named=True)
    assert [(row["rank"], len(row["frames"])) for row in rows] == [(0, 4), (1, 4)]


LOG = """step 5 loss 2.0
Fatal Python error: Segmentation fault

Thread 0x00007f00aa (most recent call first):
  File "/opt/queue.py", line 10 in wait

Current thread 0x00007f00bb (most recent call first):
  File "/opt/train.py", line 12 in step
  File "/opt/train.py", line 40 in <module>

Thread 4242 (active+gil): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2501)
        tensor: <Tensor>
    <module> (train.py:12)
Thread 1 (Thread 0x7f11 (LWP 4700) "python"):
#0  0x00007f69 in poll () from /lib64/libc.so.6
done
    foreign (x.py:1)"""


def test_dumps_inside_a_log() -> None:
    tables = PASTED.parse(lines(LOG, rank=3))
    rows = tables["stacks"].rows(named=True)
    assert [(row["source"], row["thread"], row["is_main"], row["pid"], len(row["frames"])) for row in rows] == [
        ("faulthandler", "0x00007f00aa", False, None, 1),
        ("faulthandler", "0x00007f00bb", True, None, 2),
        ("py-spy", "4242", True, 4242, 2),
        ("gdb", "4700", True, 4700, 1),
    ]
    assert {row["rank"] for row in rows} == {3}
    [event] = tables["events"].rows(named=True)
    assert (event["kind"], event["code"], event["rank"], event["line"]) == ("segfault", "SIGSEGV", 3, 2)
    assert tables["claimed"]["line"].max() == 16


def test_a_log_with_a_dump_at_its_end_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("".join(f"step {n} loss 2.0\n" for n in range(500)) + LOG)
    evidence = parsers.read(str(tmp_path))
    assert evidence.tables["stacks"].height == 4
    assert evidence.tables["steps"].height == 501
    assert not evidence.tables["unread"].height


def test_headers_without_frames_are_no_stacks() -> None:
    assert not PASTED.parse(lines('Thread 1 (idle): "a"\nFile x'))["stacks"].height
    assert not PASTED.parse(lines(""))["stacks"].height


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([*LOG.split("\n"), *RAISED.split("\n"), *GDB.split("\n"), "\x00", "9" * 40]), max_size=30)
)
def test_any_lines_keep_the_schema(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    for tables in (
        PASTED.parse(lines(text)),
        CPP.parse(lines(text)),
        NATIVE.parse(source(text)),
        PROC.parse(source(text)),
    ):
        for name, frame in tables.items():
            assert dict(frame.schema) == dict(SCHEMAS[name])


@pytest.mark.parametrize(
    "text",
    [
        "    f" + " (a" * 200_000,
        "#0  f" + " " * 400_000 + "x",
        "#0 f from a" * 90_000,
        "frame #0: f" + " (0x1 in x" * 90_000,
    ],
    ids=["py-spy", "spaces", "numbered", "frame"],
)
def test_lines_made_to_take_long_do_not(text: str) -> None:
    """Each of these takes minutes where a pattern looks back over the whole line."""
    whole = f'Thread 1 (idle): "MainThread"\n{text}\nThread 1 (LWP 7):\n{text}\n{RAISED}\n{text}'
    assert PASTED.parse(lines(whole))["stacks"].height <= 2
    assert CPP.parse(lines(whole))["stacks"].height == 1
    assert NATIVE.parse(source(whole))["stacks"].height == 1
    assert PY_SPY.parse(source(whole))["stacks"].height >= 1


@pytest.mark.skipif(not (CASES / "real").is_dir(), reason="no real cases here")
@pytest.mark.parametrize(
    ("file", "stacks"),
    [("bloom/bloom_2022-03-21_cuda_unknown_error.log", 1), ("real/14_mleng_extra_allreduce_rank0/train.log", 1),
     ("real/38_bigscience_tr11_gpu_crash/main_log.txt", 1), ("real/43_pytorch113128_ecc_rank12/default0.log", 1)],
)  # fmt: skip
def test_real_logs(file: str, stacks: int) -> None:
    evidence = parsers.read(str(CASES / file))
    own = evidence.tables["stacks"].filter(source="c10") if "14_" not in file else evidence.tables["stacks"]
    assert own.height >= stacks
