"""Lines of thread dumps, alone: the header of a thread and its frames, as py-spy, faulthandler and gdb print them.

Thread 4242 (active+gil): "MainThread"                                      py-spy
    all_reduce (torch/distributed/distributed_c10d.py:2501)
Current thread 0x00007f00bb [python3] (most recent call first):             faulthandler
  File "/opt/app/train.py", line 12 in step
Thread 3 (Thread 0x7f12 (LWP 4712) "pt_autograd_0"):                        gdb, pstack
#1  0x00007f69 in Monitor::wait(bool, long) (this=0x1, x=(int *) 0x0) at /src/wait.cpp:12
#2  0x00007f6a in poll () from /lib64/libc.so.6
=== Rank 3: http://trn01:40123 ===                                          torch's debug server, before each rank's dump

Source of the last: torch 2.10's `torch/distributed/debug/_debug_handlers.py` (`StacksHandler.dump`, `PySpyHandler.dump`).
"""

import re
from collections.abc import Iterable
from typing import Any

from parsers.schema.labels import OF_GROUP
from parsers.text.patterns import regex

Frame = dict[str, Any]
LINE_CHARACTERS = 8192  # of a longer line the rest is dropped: patterns that look back would take too long
_BIGGEST_LINE = 1 << 32

PY_SPY_THREAD = regex(
    r'Thread (?P<id>0x[0-9A-Fa-f]+(?:/\d+)?|\d+(?:/\S+)?) \((?P<status>[a-z+]+)\)(?:: "(?P<name>.*)")?$'
)
PY_SPY_FRAME = regex(r"(?: {4}|\t)(?P<function>\S.*) \((?P<place>.*)\)$")
FAULTHANDLER_THREAD = regex(
    r"(?:(?P<current>Current thread|Stack)|Thread)(?: (?P<id>0x[0-9A-Fa-f]+|\d{1,10}))?(?: \[(?P<name>[^\]]*)\])?"
    r" \(most recent call first\):"
)
FAULTHANDLER_FRAME = regex(
    r'  File (?:"(?P<file>.*)"|\?\?\?), line (?:(?P<line>\d{1,9})|\?\?\?),? in (?P<function>.+)$'
)
FAULTHANDLER_OUTERMOST = frozenset({"<module>", "_run_module_as_main"})
GDB_THREAD = regex(
    r"Thread (?P<number>\d{1,7}) \((?:Thread 0x[0-9a-fA-F]+ )?\(?(?:LWP|process) (?P<lwp>\d{1,10})\)?"
    r'(?: "(?P<name>[^"]*)")?\)(?: \(.*\))?:'
)
GDB_FRAME = regex(r"#(?P<number>\d{1,6})\s+(?:0x[0-9a-fA-F]+ +(?:in )?)?(?P<rest>\S.*)$")
_AT = regex(r" at (?P<file>[^ ]+?)(?::(?P<line>\d{1,9}))?$")
_FROM = regex(r" (?:from|- (?=/)) ?(?P<file>\S+)$")  # gdb, and eu-stack -m
_PYTHON = regex(r"Frame 0x[0-9a-fA-F]+, for file (?P<file>.+?), line (?P<line>\d{1,9}), in (?P<function>[\w.<>]+)")

# Of torch's debug server (`=== Rank 3: http://trn01:40123 ===`), and of loops that people write: `### rank 3`, `--- rank 3/8 (pid 4711) ---`.
SECTION = regex(
    r"[#=*>\[(\s_-]{0,12}(?:[Gg]lobal[ _])?[Rr]ank[ _:=#-]{0,2}(?P<rank>\d{1,7})(?: of \d{1,7}|/\d{1,7})?"
    r"(?:: https?://(?:(?P<host>[A-Za-z][\w.-]*)|[\d.]+|\[[\da-fA-F:.]+\])(?::\d{1,5})?)?"
    r"(?:[ ,(]{1,3}(?:pid|PID)[ =:]{0,2}\d{1,10})?[\s#=*\])<:_-]{0,12}$"
)
# Any other heading that tells one rank, behind marks: `===== rank 0 @ 06:33:31`, `### trainer rank 6, host n129, 17:59`.
HEADING = regex(
    r"[#=*>_-]{1,12} {0,2}(?P<before>(?:[\w.@/-]{1,60}[ ,:]{1,2}){0,4})(?i:rank)[ _:=#-]{0,2}(?P<rank>\d{1,7})(?![\w.])"
    r"(?:.{0,60}?\bhost[ =:]{1,2}(?P<host>[A-Za-z][\w.-]{0,252}))?(?!.*(?i:rank))[^\n]{0,120}$"
)
_NUMBERS = regex(r"\S*\d\S*")
NO_ANSWER = regex(r"Error: \d{3}$")


def heading(line: str, *, of_programs: bool = False) -> "re.Match[str] | None":
    """The heading of one rank's dumps; groups rank, host. `of_programs`: headings of the file call ranks by the words of several."""
    if (found := SECTION.match(line)) is not None or of_programs:
        return found
    found = HEADING.match(line)
    return None if found is None or OF_GROUP.search(found["before"]) else found


def are_of_programs(lines: Iterable[str]) -> bool:
    """Do headings call ranks by the words of several programs (`### trainer rank 0`, `### engine rank 0`)? Then a number means nobody."""
    told = (found for line in lines if line[:1] in "#=*>_-" and (found := HEADING.match(line)))
    return len({_NUMBERS.sub("", found["before"]).strip() for found in told}) > 1


_MESSAGE = regex(r"(?i)(?:^|[\W_])(?:i|b|r|s|ss|mpi_|mpi_i)?(?:send|recv|receive)")
_PEER = regex(
    r"(?:^|[\s(,{])[\"']?(?:src|source|from_rank|src_rank|source_rank|dst|dest|to_rank|dst_rank|dest_rank|peer|peer_rank)[\"']?(?:=|: )(?P<peer>\d{1,7})(?=[\s,)}]|$)"
)


def peer_of(function: str | None, arguments: str) -> int | None:
    """Whom a send or a receive is for, as its arguments name the other end; null of any other call. A number within a group has
    another name (`group_src`)."""
    found = _PEER.search(arguments) if function and _MESSAGE.search(function.rsplit(".", 1)[-1]) else None
    return int(found["peer"]) if found else None


def claim_of(section: re.Match[str], pid: int | None = None) -> dict[str, Any]:
    """A row of `ranks`: whose dump comes next, and on which host, where the address is a name."""
    return {"rank": int(section["rank"]), "host": section["host"], "pid": pid, "how": "debug server"}


def py_spy_frame(found: re.Match[str]) -> Frame:
    """`all_reduce (torch/distributed/distributed_c10d.py:2501)`; native frames have no line."""
    file, _, line = found["place"].rpartition(":")
    if not (file and line.isascii() and line.isdigit() and len(line) <= len(str(_BIGGEST_LINE))):
        file, line = found["place"], ""
    return {"function": found["function"], "file": file or None, "line": int(line) if line else None}


def faulthandler_frame(found: re.Match[str]) -> Frame:
    """`File "/opt/app/train.py", line 12 in step`"""
    line = int(found["line"]) if found["line"] else None
    return {"function": found["function"], "file": found["file"], "line": line}


def gdb_frame(text: str) -> Frame:
    """What stands after a frame's number and address; arguments are left out. `??` is a function that gdb cannot name.

    A frame of the interpreter that gdb's Python extension explains is given as the Python frame that it runs.
    """
    if python := _PYTHON.match(text):
        return {"function": python["function"], "file": python["file"], "line": int(python["line"])}
    place = _AT.search(text) or _FROM.search(text)
    head = text[: place.start()] if place else text
    line = place.groupdict().get("line") if place else None
    return {
        "function": _without_arguments(head.rstrip()) or None,
        "file": place["file"] if place else None,
        "line": int(line) if line else None,
    }


def _without_arguments(head: str) -> str:
    """`a::b(int) (this=0x1, x=(int *) 0x0)` → `a::b(int)`: the last pair of brackets, if a space stands before it."""
    if not head.endswith(")"):
        return head
    depth = 0
    for at in range(len(head) - 1, -1, -1):
        depth += (head[at] == ")") - (head[at] == "(")
        if not depth:
            return head[:at].rstrip() if at and head[at - 1] == " " else head
    return head


FATAL = regex(r"Fatal Python error: (?P<what>[^\r\n]{1,300})")
_SIGNALS = {"Segmentation fault": "SIGSEGV", "Bus error": "SIGBUS"}


def fatal_columns(found: re.Match[str]) -> dict[str, Any]:
    """kind, code and severity of the event that a match of FATAL is: `segfault`, else `other`."""
    what = found["what"].strip()
    signal = _SIGNALS.get(what)
    return {"kind": "segfault" if signal else "other", "code": signal or what[:200], "severity": "fatal"}
