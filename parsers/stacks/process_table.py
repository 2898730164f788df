"""Tables of processes as `ps` and `top` print them: a header that names the columns, a row per process, the command last.

      PID  PPID STAT WCHAN                    ELAPSED     TIME %CPU   RSS COMMAND
    24165 23967 TNsl do_signal_stop             00:22 00:00:03 14.7 325900 python -u train.py --rank 3
    USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
        # ps -eo pid,stat,wchan:24,comm | grep train                                 what was asked for, where no header is kept
    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND

Without a header a row is one by its form: a number, at most figures, times and names behind it, the letters of a state, a command; two such
rows at least stand in a file.

Source: src/ps/output.c of procps-ng; the letters of states are those of Linux's fs/proc/array.c (task_state_array). Not read:
top.c; the form is what top 4.0.2 prints.
"""

import re
from typing import Any

import msgspec

from parsers.stacks.kernel_tasks import FUNCTION
from parsers.text.patterns import regex
from parsers.who.scripts.arguments import told

STATES = {
    "R": "running", "S": "sleeping", "D": "disk sleep", "T": "stopped", "t": "tracing stop", "Z": "zombie", "X": "dead",
    "I": "idle", "P": "parked",
}  # fmt: skip
CHARACTERS = 8192
_COMMAND = ("COMMAND", "CMD", "ARGS", "COMM")
_STATE = ("STAT", "S", "STATE")
STATE = regex(r"[A-Za-z] \((?P<word>[a-z ]{1,20})\)")  # in /proc/PID/status
_USED = ("TIME", "TIME+", "CPUTIME")
_CLOCK = regex(r"(?:(?P<d>\d{1,5})-)?(?:(?P<h>\d{1,5}):)?(?P<m>\d{1,6}):(?P<s>\d\d)(?:\.\d+)?")
_THREAD = ("LWP", "TID", "SPID")
_NAME = regex(r"[A-Z%][A-Z%+_-]{0,15}")
# Columns whose cells may hold spaces: a date.
_DATE = r"(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}|[A-Z][a-z]{2} [ \d]\d|\S+)"
_DATES = ("STARTED", "START", "STIME", "LSTART")
_NUMBER = regex(r"\d{1,10}")
_ASKED = regex(
    r"\bps (?:-?\w{1,8} ){0,4}?-?\w{0,6}o[ =]?(?P<names>[a-z%]{1,12}(?:[:=]\w{0,12})?(?:,[a-z%]{1,12}(?:[:=]\w{0,12})?){1,39})(?=$|[\s|;])"
)
_PROGRAM, _COMM = 400, 15  # characters; of its name the kernel keeps so many
_DEAD = ("zombie", "dead")
_DEFUNCT = regex(r"\[?(?P<name>[^\[\]<>]{1,64}?)\]? <defunct>$")
_FIGURE = regex(r"[\d.:,+-]+[KMGTkmgt]?(?:iB|%)?|\?|pts/\d+|tty\w*")
_DAY = regex(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:\d\d)?")
_WCHAN = regex(r"[a-z_][\w.]{2,64}")
_COMMAND_HEAD = regex(r"[A-Za-z_/.\[(-]")
_BARE = regex(
    r"\s*(?:(?P<user>[A-Za-z_][\w.+-]{0,31})\s+)?(?P<pid>[1-9]\d{0,9})\s+(?P<between>(?:\S{1,40}\s+){0,9}?)(?P<state>[RSDTtZX][<NLsl+]{0,4})\s+(?P<rest>\S.*)$"
)
_SHELL = regex(
    r"(?:[|\\_ ]{0,40})(?:/\S{0,200}/)?(?:sh|bash|dash|zsh|tini|sudo|timeout|srun|mpirun|mpiexec|tee|script)\s"
)


class Form(msgspec.Struct, frozen=True):
    """A header: what a row looks like, and which of its columns are which."""

    row: "re.Pattern[str]"
    at: dict[str, int]  # pid, parent, state, thread, wchan, used, command: number of the group

    def cells(self, line: str) -> dict[str, str]:
        """The cells of a row that are asked for; none where the line is no row."""
        found = self.row.match(line[:CHARACTERS])
        cells = {} if found is None else {name: found[at] for name, at in self.at.items()}
        return cells if _NUMBER.fullmatch(cells.get("pid", "")) else {}


def form(line: str) -> Form | None:
    """What a header says; None where the line is none."""
    asked = _ASKED.search(line[:CHARACTERS]) if "ps " in line else None
    told = asked["names"].split(",") if asked is not None else []
    names = [one.partition(":")[0].partition("=")[0].upper() for one in told] or line[:CHARACTERS].split()
    if not (2 <= len(names) <= 40) or names[-1] not in _COMMAND or not all(map(_NAME.fullmatch, names)):
        return None
    kinds = {"PID": "pid", "PPID": "parent", "WCHAN": "wchan", names[-1]: "command"}
    kinds |= dict.fromkeys(_STATE, "state") | dict.fromkeys(_THREAD, "thread") | dict.fromkeys(_USED, "used")
    at = {kinds[name]: number for number, name in enumerate(names, 1) if name in kinds}
    if "pid" not in at or names.count("PID") != 1:
        return None
    cells = [_DATE if name in _DATES else r"\S+" for name in names[:-1]]
    return Form(re.compile(r"\s*" + r"\s+".join(f"({cell})" for cell in cells) + r"\s+(\S.*)$"), at)


def process(cells: dict[str, str]) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """(row of `stacks`, row of `ranks`), without their place: a process's state with the function it sleeps in, and the rank that
    its arguments tell. Rows of other threads than the main one say nothing of a process, and a shell has the arguments of whom
    it begins."""
    pid = int(cells["pid"])
    if cells.get("thread", cells["pid"]) != cells["pid"]:
        return None, None
    claim = {} if _SHELL.match(cells["command"]) else told(cells["command"])
    state = STATES.get(cells.get("state", "")[:1])
    stack = None
    if state is not None:
        wchan = cells.get("wchan", "")
        parent = cells.get("parent", "")
        stands = f"State: T ({state})" if state == "stopped" else wchan if FUNCTION.match(wchan) else None
        frames = [{"function": stands, "file": None, "line": None}] if stands else []
        own = {"pid": pid, "thread": cells["pid"], "is_main": True, "snapshot": 0}
        stack = own | {"status": state, "frames": frames, "program": _program(cells["command"])}
        stack["cpu_s"] = _seconds(cells.get("used", ""))
        stack["parent"] = int(parent) if _NUMBER.fullmatch(parent) else None
    return stack, claim | {"pid": pid} if claim else None


def row_of_status(number: str, state: "re.Match[str]", program: str | None) -> dict[str, Any]:
    """A row of `stacks`, without its place, of what /proc/PID/status says of a process."""
    stands = [{"function": f"State: {state[0]}", "file": None, "line": None}] if state["word"] == "stopped" else []
    own = {"pid": int(number), "thread": number, "is_main": True, "snapshot": 0, "status": state["word"]}
    return own | {"frames": stands, "program": program, "source": "proc status"}


def _seconds(used: str) -> int | None:
    """Days, hours, minutes and seconds of CPU, as ps and top print them."""
    found = _CLOCK.fullmatch(used)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(one or 0) for one in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def bare(line: str) -> dict[str, str]:
    """The cells of a row whose header is not shown, as those of Form.cells; none where the line has no such form."""
    found = _BARE.match(line[:CHARACTERS])
    between = found["between"].split() if found else []
    if found is None or sum(_FIGURE.fullmatch(one) is None for one in between) > (not found["user"]):
        return {}
    rest = found["rest"].split()
    at = _skipped(rest, 0)
    wchan = rest[at] if at + 1 < len(rest) and "_" in rest[at] and _WCHAN.fullmatch(rest[at]) else ""
    at = _skipped(rest, at + 1) if wchan else at
    if at >= len(rest) or not _COMMAND_HEAD.match(rest[at]):
        return {}
    told = {"pid": found["pid"], "state": found["state"], "wchan": wchan, "command": " ".join(rest[at:])}
    return told | ({"parent": between[0]} if between and _NUMBER.fullmatch(between[0]) else {})


def _skipped(tokens: list[str], at: int) -> int:
    while at < len(tokens) and (_FIGURE.fullmatch(tokens[at]) or _DAY.fullmatch(tokens[at])):
        at += 1
    return at


def _program(command: str) -> str | None:
    """What a process runs; of one that is dead the name alone is left. A shell runs what it begins."""
    if _SHELL.match(f"{command} ") or command.startswith("-"):
        return None
    dead = _DEFUNCT.match(command)
    return (dead["name"] if dead else command)[:_PROGRAM].rstrip() or None


def with_families(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `stacks` of one host and look: who has its program and its parent from another of them is its child; who is dead had the
    program of its brothers, where these run one of that name."""
    programs = {row["pid"]: row["program"] for row in rows}
    brothers: dict[int | None, set[str]] = {}
    for row in rows:
        if row["status"] not in _DEAD and row["program"]:
            brothers.setdefault(row["parent"], set()).add(row["program"])
    for row in rows:
        parent = row.pop("parent")
        if row["status"] in _DEAD and parent is not None:
            alike = {one for one in brothers.get(parent, ()) if _comm(one) == row["program"]}
            row["program"] = min(alike) if len(alike) == 1 else None
        elif row["program"] and programs.get(parent) == row["program"]:
            row["parent_pid"] = parent
    return rows


def _comm(program: str) -> str:
    return program.split()[0].rpartition("/")[2][:_COMM]
