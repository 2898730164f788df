"""What the kernel says of a process in /proc/PID/status, however much of it somebody picked, and however it was put together."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from parsers import read
from parsers.stacks.process_rows import PARSER
from tests.sources import written

PIDS = (30918, 30921, 30927)
WORDS = ("R (running)", "S (sleeping)", "t (tracing stop)")
Form = Callable[[int, str], Sequence[str]]
FORMS: dict[str, Form] = {
    "in one line": lambda pid, word: [f"State:\t{word} Pid:\t{pid} TracerPid:\t0 Threads:\t225 "],
    "the number first": lambda pid, word: [f"Pid: {pid} State: {word} TracerPid: 0"],
    "with commas": lambda pid, word: [f"Name: python3, State: {word}, Pid: {pid}, Threads: 12"],
    "with bars": lambda pid, word: [f"Name: python3 | State: {word} | Pid: {pid}"],
    "with semicolons": lambda pid, word: [f"Name:\tpython3; State:\t{word}; Tgid:\t{pid}; Pid:\t{pid}"],
    "behind the file": lambda pid, word: [f"/proc/{pid}/status:State:\t{word}"],
    "all of it behind the file": lambda pid, word: [f"/proc/{pid}/status:Name:\tpython3", f"/proc/{pid}/status:State:\t{word}", f"/proc/{pid}/status:Pid:\t{pid}"],
    "with a relative file": lambda pid, word: [f"{pid}/status:State:\t{word}", f"{pid}/status:TracerPid:\t0"],
    "as it is": lambda pid, word: ["Name:\tpython3", f"State:\t{word}", f"Tgid:\t{pid}", f"Pid:\t{pid}", "PPid:\t1"],
    "below its number": lambda pid, word: [f"== {pid}", f"State:\t{word}"],
    "below its file": lambda pid, word: [f"==> /proc/{pid}/status <==", f"State:\t{word}", "TracerPid:\t0"],
    "below the command": lambda pid, word: [f"[ops@gx03 ~]$ grep -E 'Name|State|Threads' /proc/{pid}/status", "Name:\tpython3", f"State:\t{word}", "Threads:\t141"],
}  # fmt: skip


def states(folder: Path, text: Sequence[str]) -> dict[int, str]:
    rows = read(str(written(folder, {"proc.txt": ["host gx03, at 15:08", *text]}))).tables["stacks"]
    return dict(rows.select("pid", "status").iter_rows())


@pytest.mark.parametrize("form", FORMS)
def test_each_process_has_its_own_state(form: str, tmp_path: Path) -> None:
    text = [line for pid, word in zip(PIDS, WORDS, strict=True) for line in FORMS[form](pid, word)]
    assert states(tmp_path, text) == {30918: "running", 30921: "sleeping", 30927: "tracing stop"}


@pytest.mark.parametrize(
    "text",
    [
        ["State:\tT (stopped)"],
        ["Tgid:\t30918 State:\tT (stopped) Pid:\t30940"],
        ["$ cat /proc/30918/status /proc/30921/status | grep State", "State:\tT (stopped)"],
        ["the page says State: T (stopped) Pid: 30918 of it"],
        ["/proc/30918/task/30940/status:State:\tT (stopped)"],
    ],
    ids=["no number", "a thread", "two were asked", "prose", "a thread's file"],
)
def test_states_of_nobody(text: list[str], tmp_path: Path) -> None:
    assert states(tmp_path, text) == {}


@pytest.mark.parametrize(
    ("line", "is_asked"),
    [
        (b"$ cat /proc/30918/status | grep State", True),
        (b"$ grep State '/proc/30918/status'", True),
        (b"10:04:11 DEBUG sampler: read /proc/30918/status VmRSS=71204 kB threads=31, State ok", False),
    ],
)
def test_only_what_ends_with_the_file_may_be_the_command_above(line: bytes, is_asked: bool) -> None:
    assert PARSER.holds is not None
    assert (PARSER.holds.search(line) is not None) is is_asked
