"""Python tracebacks, of any Python 3, and the last words of a C++ exception, as they lie between other lines of a log.

    [rank3]: Traceback (most recent call last):
    [rank3]:   File "/job/train.py", line 40, in step
    [rank3]:     loss = model(batch)
    [rank3]:            ^^^^^^^^^^^^
    [rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.

    -- Process 3 terminated with the following error:            (multiprocessing.spawn: the traceback of local rank 3 follows)
    [Rank 2 Error Snippet]:                                      (Ray Train: that of rank 2 follows; `Rank 0,2`: of both)
    ray.exceptions.RayTaskError(ValueError): ray::Worker.step() (pid=71, ip=10.0.0.7, …)      (Ray: that of this process)

    Traceback (most recent call last): (RANK 6)          (torch.distributed.checkpoint: that of the 6th of the printer's group follows)

    terminate called after throwing an instance of 'c10::CUDAError'
      what():  CUDA error: unknown error

Ranks that share a file come apart by prefix. A logger may put its own prefix before each line of a traceback (vLLM, Ray):
what stood before its head, digits aside, is taken off the lines after it. Each traceback of a chain ("During handling of the above exception, …")
is one event `exception`; a traceback without its last line is one, too, with null code. What the message means for
the device makes a second event (`gpu_oom`, `cuda_error`, `disk_full`). Where the rank is known, the traceback is also
a row of `stacks`: it is where that rank was at its end. One that ends in KeyboardInterrupt is no failure but an `exit` by
SIGINT, and its stack (source `interrupt`) shows where the process stood when somebody pressed Ctrl-C.

A C++ exception whose `what()` is lost says no more than that std::terminate aborted the process: an `exit` by SIGABRT.

An uncaught exception is printed by the interpreter and is the last that the main thread prints. One that a program catches
and logs has a record of that logger before it, or records of the same printer after it: `detail` says so (`introduced`: the
level of the record right before; `went_on`: the line of the first record after it, native code aside, which clears up at the end; `later`: the first lines of the printer that
have a later stamp than it has, up to such a record). Besides, `at`: the source text of the innermost
frame; `source`: of the innermost one outside libraries; `original`: frames and `at` of the traceback of a child (a loader's
worker), what it said and at which line, which its parent's exception quotes and which shows where it was raised; `quoted`: whose traceback the printer quotes,
counted in its group, which may be any: `names_ranks` has it, too. `headed`: the lines right before that of nobody. `more`: the next lines of a message
whose first one ends with a colon, and CANN's words behind one of torch_npu or below their own head. `relayed`: of the process that it says to be another's, it prints it.

Printed by: CPython, and programs in C++ that end by an exception.
Versions: any Python 3.
Source: the traceback module of CPython, std::terminate of libstdc++.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from parsers.forms.reading import integers
from parsers.pytorch.carried import with_carried
from parsers.pytorch.embedded import unfolded
from parsers.pytorch.levels import LAUNCHER, LOUD, OF_NATIVE, OF_NPU, QUIET, RECORD_WITHIN, level_of
from parsers.pytorch.raised import derived, interrupt, raised, told_later
from parsers.pytorch.traceback_lines import ANCHORS, FOLLOWS
from parsers.schema.lines import Row, claimed, event, is_of_kernel, reporter, streams
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

MAX_FRAMES = 64
_MAX_FOREIGN = 6  # lines of other writers that may lie within a traceback
_FIRST = 3  # lines of a file within which a traceback is one that lost its head

_HEAD = regex(
    r"^(?P<before>.*?)(?P<original>Original )?Traceback \(most recent call last\):\s*(?:\(RANK (?P<quoted>\d{1,7})\)\s*)?$"
)
# A frame that no head stands before: of a text that begins within a traceback, or below Ray's word of whose it is.
_HEADLESS = regex(r'^(?P<before>(?:.*?\S )?)\s*File "[^"]*", line \d{1,9}, in \S+\s*$')
_FRAME = regex(r'^[>\s]*File "(?P<file>.*)", line (?P<line>\d{1,9})(?:, in (?P<function>.*?))?\s*$')
_CARETS = regex(r"^\s+[~^]+\s*$|^\s*\[Previous line repeated \d+ more times?\]")
_ABOVE = r"(?: \(see above for traceback\))?"  # TensorFlow 1 puts it between class and message
_LAST = regex(rf"^\s*(?P<code>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*){_ABOVE}(?::(?:\s(?P<message>.*))?)?\s*$")
_SURE_CLASS = regex(r"Error|Exception|Interrupt|Exit|Timeout|Failure|Warning|\.")
_LONELY = regex(rf"^(?P<code>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)){_ABOVE}: (?P<message>.*)$")
_TERMINATE = regex(r"terminate called after throwing an instance of '(?P<code>[^']+)'")
_WHAT = regex(r"^\s*what\(\):\s*(?P<message>.*)$")
_QUOTED_LINES, _AT_ONCE_NS = 200, 200_000_000
_HEADINGS, HEADING = 3, 200  # lines before a traceback that are kept, and characters of each
_MORE, _MORE_LINES = 4, 10  # lines of a message that are kept, and within how many after its first
_HEARD, _HEARD_OF = 4, 16  # later lines of a printer that are kept, of its last exceptions
_GOES_ON = (":", "root error(s) found.")  # the latter TensorFlow's
_DIGIT = regex(r"\d")
_LINK = regex(r"During handling of the above exception|direct cause of the following exception")
# What load_state_dict lists below the class that it raises; a loader that goes on prints it without the indent.
_OF_STATE = regex(
    r"^\s+(?:size mismatch for \S+ copying a param with shape|(?:Missing|Unexpected) key\(s\) in state_dict: )"
)
_SPEECHLESS = regex(r"(?:\w+\.)*(?:Exception|ProcessRaisedException):? *$")
_THREAD = regex(r"Exception in thread (?P<name>[^\s:]+)|Exception ignored in")
_IGNORED = "?"  # no thread: `Exception ignored in`
_NAKED = regex(r"^(?P<code>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt))\s*$")
_AFTERMATH = 200  # lines after Ctrl-C within which an exception is its consequence
_LIBRARY = regex(r"[\\/](?:site|dist)-packages[\\/]|[\\/]lib[\\/]python3|^<(?:frozen|string|stdin)|[\\/]bin[\\/]")
# What comes along for a message that goes on: between the lines of a traceback another process prints it.
_SENTENCE = regex(r"[A-Z][a-z]{1,30} [a-z]{2,30} ")
# Printed without a class of exception before it, by a worker's signal handler or where ranks garble each other.
_BARE = regex(
    r"^(?:ERROR: )?(?:DataLoader worker \(pid|Unexpected (?:bus error|segmentation fault) encountered in worker)"
)
# Whose traceback a launcher quotes next: multiprocessing.spawn by its number on the host, Ray Train by its rank, Ray's caller by
# the process that the call ran in, with its class before it or not (where the caller prints what it caught).
_QUOTED = regex(
    r"^-- Process (?P<local_rank>\d{1,4}) terminated with the following error|\[Ranks? (?P<rank>\d{1,7})(?P<also>(?:, ?\d{1,7})*)[^\]\n]{0,40} Error Snippet\]|\bworld_rank=(?P<world>\d{1,7})\b.{0,80}(?:error|failed|exception):?\s*$"
    r"|(?:RayTaskError(?:\([\w.]{1,80}\))?: |^)ray::\S{1,200} \(pid=(?P<pid>\d{1,10}), ip=(?P<host>[\w.:-]{1,60})[,)]"
)

_Stamps = Mapping[tuple[str, int], Mapping[str, Any]]


def parse(lines: pl.DataFrame) -> Tables:
    """events exception, exit, gpu_oom, cuda_error, disk_full, other; stacks where rank or local rank is known."""
    reader = _Reader(_stamps_before(lines))
    for stream in streams(with_carried(lines)):
        reader.read(stream)
    return tables_of(events=reader.events, stacks=reader.stacks, claimed=claimed(reader.claimed))


def _stamps_before(lines: pl.DataFrame) -> _Stamps:
    """File and line of each head without a stamp → that of the line right before, of the same process: the interpreter prints none,
    and what says `uncaught` says it then. A rank that stands before one of them only is the same local rank's. Where neither tells
    who speaks, it is a record of an error, of which the head is the rest."""
    is_head = pl.col("text").str.contains_any(["Traceback (most recent call last)", "terminate called after throwing"])
    heads = lines.filter(is_head & pl.col("time_ns").is_null())
    if not heads.height:
        return {}
    who = ("file", "line", "rank", "local_rank")
    before = lines.filter(pl.col("time_ns").is_not_null()).select(*who, "text", "time_ns", "time_basis")
    before = before.with_columns(pl.col("line") + 1)
    found = heads.select(who).join(before, on=["file", "line", "local_rank"], nulls_equal=True)
    is_same = pl.col("local_rank").is_not_null() & pl.any_horizontal(pl.col("rank", "rank_right").is_null())
    is_record = pl.col("rank").eq_missing(pl.col("rank_right"))
    told = found.filter(is_same | is_record).select("file", "line", "text", "time_ns", "time_basis", is_same=is_same)
    return {
        (file, line): {"time_ns": time_ns, "time_basis": basis}
        for file, line, text, time_ns, basis, same in told.iter_rows()
        if same or level_of(text) in LOUD
    }


class _Block(msgspec.Struct):
    """A traceback in the course of being read."""

    row: Row
    is_main: bool
    thread: str | None
    continues: int | None  # line of the traceback before it in a chain
    frames: list[dict[str, Any]] = msgspec.field(default_factory=list)  # outermost first
    sources: list[str | None] = msgspec.field(default_factory=list)
    prefix: str = ""  # a logger's, before each of its lines; digits as #
    foreign: int = 0
    until: int = 0  # its last line so far
    introduced: str | None = None  # level of the record right before it
    quoted: int | None = None  # whose it is, counted in the printer's group
    is_original: bool = False  # of a child, quoted by the exception before it
    is_headless: bool = False  # a file begins within it
    headed: str = ""  # what stands right before it
    is_marked: bool = False  # with carets, which no stack that was printed has: CPython gives it no columns

    def bare(self, text: str) -> str:
        """A line of it without the logger's prefix."""
        size = len(self.prefix)
        return text[size:] if size and _DIGIT.sub("#", text[:size]) == self.prefix else text

    def is_sure(self) -> bool:
        """Is it of something raised? A stack that was printed may begin without a head, too."""
        return self.is_marked or (self.sources[-1] or "").startswith("raise ")


class _Reader:
    def __init__(self, stamps: _Stamps) -> None:
        self._stamps = stamps
        self.events: list[dict[str, Any]] = []
        self.stacks: list[dict[str, Any]] = []
        self.claimed: list[tuple[str, int]] = []
        self._block: _Block | None = None
        self._thread: str | None = None
        self._linked = False
        self._last_head: int | None = None
        self._terminated: tuple[Row, str] | None = None
        self._interrupted: int | None = None  # line
        self._headed = ""  # what stood before the last traceback
        self._headings: list[tuple[int, str]] = []  # the last lines that are none of an exception, and their texts
        self._record: tuple[int, str] | None = None  # line and level of the last record of a logger
        self._raised: list[dict[str, Any]] = []  # exceptions after which no record came yet
        self._quoted: tuple[int, dict[str, Any]] | None = None  # line, whose
        self._announced: tuple[int, int | None, list[dict[str, Any]]] | None = None
        self._told: set[int] = set()  # lines of those whose message went on to tell what it stands for
        self._is_told = False  # the exception of the quoted process has been read; only what is linked to it may follow

    def read(self, stream: list[dict[str, Any]]) -> None:
        self._thread, self._linked, self._last_head, self._interrupted, self._quoted = None, False, None, None, None
        self._record, self._raised, self._announced, self._headings = None, [], None, []
        for row in map(self._of_quoted, unfolded(stream)):
            if self._line(row):
                self._announced = self._announced if self._announced and self._announced[0] == row["line"] else None
                self.claimed.append((row["file"], row["line"]))
                continue
            if reporter(row)["rank"] is None:  # else it is a record of its printer's
                self._headings = [*self._headings[1 - _HEADINGS :], (row["line"], row["text"][:HEADING])]
            if (level := level_of(row["text"])) is not None:
                self._logged(row, level)
            else:
                if self._raised and (found := OF_NPU.match(row["text"])):  # behind it CANN's own words stand
                    self._announced = row["line"], row["time_ns"] if found["code"] else None, self._raised[-1:]
                else:
                    self._goes_on(row)
                self._heard(row)
        self._end_block(None, None, None)
        self._end_terminate(None, None)

    def _of_quoted(self, row: Row) -> Row:
        """A line as of the process that a launcher quotes, where the line says no rank of its own."""
        text = row["text"]
        if self._is_told and text.strip():
            self._quoted = self._quoted if _LINK.search(text) or _HEAD.match(text) else None
            self._is_told = False
        if found := _QUOTED.search(text):
            self._quoted = (row["line"], _whose_of(found))
            self._only_quotes(row)
        if self._quoted is None or row["line"] - self._quoted[0] > _QUOTED_LINES:
            return row
        whose = self._quoted[1]
        # The number of a file that its own processes are quoted in by their places is that of whoever began them: a node.
        if (row["rank"] if "local_rank" in whose else reporter(row)["rank"]) is not None:
            return row
        return {**row, "process": None, "path_rank": None, "quoted": (), **whose}

    def _only_quotes(self, row: Row) -> None:
        """What a launcher raised without words right before it quotes whom it saw fail, follows from that."""
        for made in self._raised[-1:]:
            if row["line"] - made["line"] <= _MAX_FOREIGN and _SPEECHLESS.match(made["text"] or ""):
                made["detail"] = _with(made["detail"], consequence=True)

    def _line(self, row: Row) -> bool:
        text = row["text"]
        if found := _HEAD.match(text):
            self._begin(row, found)
        elif self._block is not None and self._in_block(self._block, row):
            return True
        elif row["line"] <= _FIRST and not self._raised and _OF_STATE.match(text):
            self.events += (made := raised(row, "RuntimeError", text.strip(), {"frames": []}, text))
            self._raised += made
        elif self._block is None and self._is_first(row) and (found := _HEADLESS.match(text)):
            self._block = _Block(row, True, None, None, prefix=_DIGIT.sub("#", found["before"]), is_headless=True)
            self._block.headed = self._heading(row)
            return self._in_block(self._block, row)
        elif found := _THREAD.search(text):
            self._thread = found["name"] or _IGNORED
        elif _LINK.search(text):
            self._linked = True
        elif found := _TERMINATE.search(text):
            self._end_terminate(None, None)
            self._terminated = (row, found["code"])
        elif self._terminated is not None and (found := _WHAT.match(text)):
            self._end_terminate(row, found["message"])
        elif self._block is None and (found := _LONELY.match(text)) and not is_of_kernel(row):
            again = {"headed": self._headed} if self._linked and self._headed else {}
            made = raised(row, found["code"], found["message"], {"frames": [], **again}, text)
            self._announce(row, found["message"], made)
        elif self._block is None and row["rank"] is not None and (found := _NAKED.match(text)):
            self.events += raised(row, found["code"], "", {"frames": []}, text)
        elif meaning := derived(text) if _BARE.search(text) else None:
            self.events.append(event(row, severity="error", **meaning))
        else:
            return False
        return True

    def _is_first(self, row: Row) -> bool:
        """Does the text, or what a caller of Ray tells of a process, begin here?"""
        if self._quoted is None or row["line"] <= _FIRST:
            return bool(row["line"] <= _FIRST)
        at = self._quoted[0]
        carets = [text for line, text in self._headings if line > at]  # of frames that Ray leaves out
        return bool(row["line"] == at + len(carets) + 1 and all(map(_CARETS.match, carets)))

    def _heading(self, row: Row) -> str:
        """The lines right before a traceback, where none of them nor its own lines tell a rank."""
        own = [text for line, text in self._headings if line >= row["line"] - _HEADINGS]
        return "\n".join(own) if reporter(row)["rank"] is None else ""

    def _logged(self, row: Row, level: str) -> None:
        """A record of a logger: the program goes on, unless it is the record of the next failure."""
        self._record = (row["line"], level)
        if level in QUIET and self._block is None and not OF_NATIVE.search(row["text"], 0, 2 * RECORD_WITHIN):
            for made in self._raised:
                made["detail"] = _with(made["detail"], went_on=row["line"])
            self._raised = []

    def _announce(self, said: Row, message: str | None, made: list[dict[str, Any]]) -> None:
        self.events += made
        if message is not None and (message.rstrip() or ":").endswith(_GOES_ON):
            self._announced = said["line"], said["time_ns"], [one for one in made if one["kind"] == "exception"]

    def _goes_on(self, row: Row) -> None:
        """A line of the message that the last exception announced."""
        if self._announced is None or not any(map(str.isalnum, row["text"])):  # or a rule of dashes
            return
        at, told_ns, made = self._announced
        if _FRAME.match(row["text"]) or (row["line"] == at + 1 and row["text"][:6].isspace()):
            self._announced = row["line"], told_ns, made  # a stack within it
            return
        # Whoever stamps each line, as collectors do, stamps what goes on, too, at once.
        is_later = row["time_ns"] is not None and (told_ns is None or abs(row["time_ns"] - told_ns) > _AT_ONCE_NS)
        if is_later or row["line"] > at + _MORE_LINES:
            self._announced = None
            return
        for one in made:
            said = json.loads(one["detail"]).get("more", [])
            if len(said) < _MORE:
                said = [*said, row["text"].strip()[:300]]
                one["detail"] = _with(one["detail"], more=said)
                if (told := told_later(one, said)) is not None and at not in self._told:
                    self._told.add(at)
                    self.events.append(told | {"line": row["line"], "text": row["text"].strip()[:2000]})

    def _heard(self, row: Row) -> None:
        """A line that nobody here understands: it is later than what was raised before it where its stamp says so."""
        if row["time_ns"] is None or self._block is not None or LAUNCHER.search(row["text"]):
            return
        for made in self._raised[-_HEARD_OF:]:
            later = json.loads(made["detail"]).get("later", [])
            is_later = made["time_basis"] == row["time_basis"] and (made["time_ns"] or row["time_ns"]) < row["time_ns"]
            if is_later and len(later) < _HEARD:
                made["detail"] = _with(made["detail"], later=[*later, row["line"]])

    def _begin(self, row: Row, head: re.Match[str]) -> None:
        self._end_block(None, None, None)
        thread = _THREAD.search(head["before"])
        name = (thread["name"] or _IGNORED) if thread else self._thread
        continues = self._last_head if self._linked else None
        prefix = _DIGIT.sub("#", head["before"])
        is_own = name is None and not head["original"] and not head["quoted"]
        self._block = _Block(row, is_own, name, continues, prefix=prefix, is_original=bool(head["original"]))
        self._block.quoted = int(head["quoted"]) if head["quoted"] else None
        self._block.headed = self._heading(row)
        if (level := level_of(head["before"])) is not None:
            self._block.introduced = level
        elif self._record is not None and self._record[0] == row["line"] - 1:
            self._block.introduced = self._record[1]
        self._thread, self._linked, self._last_head = None, False, row["line"]

    def _in_block(self, block: _Block, row: Row) -> bool:
        text = block.bare(row["text"])
        if _SENTENCE.match(text):
            return False
        is_next, block.until = row["line"] == max(block.until, block.row["line"]) + 1, row["line"]
        if found := _FRAME.match(text):
            function = found["function"] or None
            block.frames.append({"function": function, "file": found["file"], "line": int(found["line"])})
            block.sources.append(None)
            block.foreign = 0
            return True
        if not text.strip() or _CARETS.match(text):
            block.is_marked |= "^" in text
            return True
        if text[0] in " \t" and block.frames and not block.foreign:
            if block.sources[-1] is None:
                block.sources[-1] = text.strip()[:300]
            return True
        last = _LAST.match(text)
        # Without a telling name, only the line right after the frames is the message, and never a log level.
        is_likely = last and is_next and not block.foreign and not last["code"].isupper()
        if last and block.frames and (is_likely or _SURE_CLASS.search(last["code"])):
            self._end_block(row, last["code"], last["message"] or "")
            return True
        # Frames that lack the rank before their head are of another stream: what names its class outright is the last line.
        if not block.frames and reporter(row)["rank"] is not None and _LONELY.match(text) and last:
            self._end_block(row, last["code"], last["message"] or "")
            return True
        block.foreign += 1
        if block.foreign > _MAX_FOREIGN or _THREAD.search(text) or _TERMINATE.search(text):
            self._end_block(None, None, None)
        return False

    def _end_block(self, last: Row | None, code: str | None, message: str | None) -> None:
        block, self._block = self._block, None
        if block is None or (block.is_headless and code is None and not block.is_sure()):
            return
        if block.is_headless and self._quoted is not None:  # whose it is was no failure of its own
            self.events = [one for one in self.events if one["line"] != self._quoted[0]]
        self._is_told, self._headed = code is not None, block.headed
        frames = block.frames[::-1]
        listed = [[frame["function"], frame["file"], frame["line"]] for frame in frames[:MAX_FRAMES]]
        at = block.sources[-1] if block.sources else None
        if block.is_original and self._raised:
            child = {"frames": listed, "at": at, "said": f"{code}: {message}"[:300], "line": last and last["line"]}
            self._raised[-1]["detail"] = _with(self._raised[-1]["detail"], original=child)
        detail: dict[str, Any] = {"frames": listed, "source": _user_source(block), "at": at}
        if block.row["task"] is not None and reporter(block.row)["rank"] is None:
            detail["task"] = block.row["task"]
        if block.continues is not None:
            detail["continues_line"] = block.continues
        if block.quoted is not None:
            detail["quoted"] = block.quoted
        elif not block.is_main:
            detail["thread"] = block.thread or "worker"
        detail |= {"from_line": block.row["line"]} | ({"until": block.until} if code is None else {})
        if block.introduced is not None:
            detail["introduced"] = block.introduced
        if block.headed:
            detail["headed"] = block.headed
        if last is not None and "quoted" in last:
            detail["relayed"] = True
        said = self._stamped(last or block.row, block.row)
        stopped = interrupt(code, message) is not None
        if stopped and any(frame["function"] == "_worker_loop" for frame in frames):  # of a data loader
            block.is_main, detail["thread"] = False, "worker"
        if stopped and block.is_main:
            self._interrupted = said["line"]
        elif self._interrupted is not None and said["line"] - self._interrupted <= _AFTERMATH:
            detail["consequence"] = True
        # What the interpreter ignores (in __del__, at its exit) ends nothing.
        kind, severity = ("other", "warning") if block.thread == _IGNORED else ("exception", "error")
        of: list[Row] = [{**said, "rank": rank} for rank in said.get("quoted") or ()]
        made = [one for by in of or [said] for one in raised(by, code, message, detail, by["text"], severity, kind)]
        if block.quoted is not None:
            made = [one | {"names_ranks": [block.quoted], "names_rank_space": "group"} for one in made]
        own_ns = last["time_ns"] if last is not None and block.row["time_ns"] is not None else None
        self._announce({**said, "time_ns": own_ns}, message, made)
        self._raised += [one for one in made if one["kind"] == "exception"]
        who = reporter(block.row)
        is_named = block.is_main or block.thread not in (None, _IGNORED)
        if is_named and frames and (who["rank"] is not None or who["local_rank"] is not None):
            source = "interrupt" if stopped and block.is_main else "traceback"
            seen = {"is_main": block.is_main, "source": source, "time_ns": block.row["time_ns"], "frames": frames[:256]}
            self.stacks.append(who | seen | ({} if block.is_main else {"thread_name": block.thread}))

    def _stamped(self, said: Row, head: Row) -> Row:
        """What is said without a stamp, with that of its head."""
        return said if said["time_ns"] is not None else {**said, **self._stamps.get((head["file"], head["line"]), {})}

    def _end_terminate(self, what: Row | None, message: str | None) -> None:
        terminated, self._terminated = self._terminated, None
        if terminated is not None:
            row, code = terminated
            row = self._stamped(row, row)
            detail = {"frames": [], "language": "c++", "from_line": row["line"]}
            if message is None:
                aborted = {"code": "SIGABRT", "severity": "error", "detail": json.dumps(detail | {"class": code})}
                self.events.append(event(row, "exit", **aborted))
                return
            said = self._stamped(what or row, row)
            self.events += raised(said, code, message, detail, said["text"], severity="fatal")


def _whose_of(found: re.Match[str]) -> dict[str, Any]:
    """Columns of whose traceback it is that a launcher quotes."""
    if found["pid"]:
        return {"process": int(found["pid"]), "host": found["host"]}
    if found["local_rank"]:
        return {"local_rank": int(found["local_rank"])}
    ranks = integers((found["rank"] or found["world"]) + (found["also"] or ""))
    return {"rank": ranks[0]} if len(ranks) == 1 else {"rank": None, "quoted": ranks}


def _with(detail: str, **more: Any) -> str:
    return json.dumps(json.loads(detail) | more, sort_keys=True)


def _user_source(block: _Block) -> str | None:
    """The source text of the innermost line that belongs to no library; of the innermost, if all do."""
    for frame, source in zip(reversed(block.frames), reversed(block.sources), strict=True):
        if source is not None and not _LIBRARY.search(frame["file"]):
            return source
    return block.sources[-1] if block.sources else None


PARSER = LineParser(
    name="traceback",
    anchors=ANCHORS,
    parse=parse,
    after=16,  # to the next frame or the message, past what other ranks write between
    follows=FOLLOWS,
    before=True,
)
