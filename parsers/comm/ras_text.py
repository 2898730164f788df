"""The text report of NCCL's RAS client (`ncclras`, NCCL 2.24 and later), section by section.

    NCCL version 2.28.3 compiled with CUDA 12.9
    CUDA runtime version 12090, driver version 13000
    Job summary
      Nodes  Processes         GPUs  Processes     GPUs
          4          8            1         32       32
    Communicators... (0.01s)
    Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
        0         1         4         8        32        32   RUNNING  INCOMPLETE
    Errors
    #0-0 (27a0c3d4e5f60718) INCOMPLETE
      Missing communicator data from 1 rank
      The missing rank: 21
      Process 4711 on node 10.0.0.7 managing GPU 5
    Warnings
    #0-0 (27a0c3d4e5f60718) MISMATCH
      Communicator ranks have different AllGather operation counts
      29 ranks have launched up to operation 664
      2 ranks have launched up to operation 662
      Rank 7 -- GPU 7 managed by process 4714 on node 10.0.0.8
      Rank 9 -- GPU 1 managed by process 4716 on node 10.0.0.9
      Rank 5 has launched up to operation 663 -- GPU 5 managed by process 4712 on node 10.0.0.8

One complaint of a communicator holds all its kinds of operations. Ranks are listed below their number where they are few (a
quarter of all at most), be they ahead or behind: the list is a minority, no blame. They count in the communicator; they are
global only if that holds all GPUs of the job, or if such a list shows their process. Numbers of operations are of what was
launched, so a report without errors while a job stands still says that every rank launched all. A process is dead only if
the report says so (DEAD): one whose data is missing may just not have answered in time.
"""

import json
import re
from typing import Any

import msgspec

from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_BLOCK = regex(r"^(?:#(?P<group>\d+-\d+) \((?P<hash>[0-9a-f]{1,32})\) )?(?P<code>[A-Z][A-Z_]{2,24})\s*$")
_ROW = regex(r"^\s*(\d+)((?:\s+\d[\d-]*){5})\s+([A-Z]+)\s+([A-Z]+)\s*$")
_TOTALS = regex(r"^\s*[\d-]+\s+[\d-]+\s+[\d-]+\s+(\d+)\s+(\d+)\s*$")
_VERSION = regex(r"^NCCL version (\S{1,60})")
_CUDA = regex(r"^CUDA runtime version (\d{1,9}), driver version (\d{1,9})")
_COUNT = regex(r"^(\d{1,9}) ranks? (?:has|have) launched up to operation (\d{1,18})")
_NONE = regex(r"^(\d{1,9}) ranks? (?:has|have) not launched any operations")
_DIFFERENT = regex(r"different (?:(\w+) )?operation counts|different (collective) operation counts")
_RANK = regex(
    r"^Rank (?P<rank>\d{1,9})(?: has (?:launched up to operation (?P<at>\d{1,18})|(?P<none>not launched any operations)))?"
    r" -- GPU (?P<gpu>\d{1,4}).*? managed by process (?P<pid>\d{1,9}) on node (?P<node>\S{1,255})"
)
_PROCESS = regex(r"^Process (?P<pid>\d{1,9}) on node (?P<node>\S{1,255}) managing GPUs? (?P<gpus>[\d, -]{1,200})")
_MISSING = regex(r"[Mm]issing ranks?: ([\d, -]{1,100000})")
_KNOWN = (_COUNT, _NONE, _DIFFERENT, _RANK, _PROCESS, _MISSING, regex(r"^Missing communicator data"))
_SEVERITY = {"INCOMPLETE": "error", "DEAD": "error", "ERROR": "error", "MISMATCH": "warning", "TIMEOUT": "warning"}
_MOST_LISTED = 100_000
_HEADING = regex(r"(?:Nodes|Group|\(total\)|#) .*(?:Processes|Status|per process|per comm)\b")
_UNDERLINE = regex(r"^=+\s*$")


class _Kind(msgspec.Struct):
    """Numbers of launched operations of one kind (null: of all), and the ranks that are listed with theirs."""

    op: str | None
    counts: list[dict[str, int]] = msgspec.field(default_factory=list)
    listed: list[dict[str, int | None]] = msgspec.field(default_factory=list)


class _Block(msgspec.Struct):
    """One complaint: from its title to the next one."""

    line: int
    code: str
    group: str | None
    comm: str | None
    text: list[str]
    kinds: list[_Kind] = msgspec.field(default_factory=list)
    ranks: list[int] = msgspec.field(default_factory=list)
    missing: list[int] = msgspec.field(default_factory=list)
    nodes: list[str] = msgspec.field(default_factory=list)
    processes: list[dict[str, Any]] = msgspec.field(default_factory=list)

    @property
    def kind(self) -> _Kind:
        """The one that is being read."""
        if not self.kinds:
            self.kinds.append(_Kind(None))
        return self.kinds[-1]


class TextReport:
    """Reads lines of a report; `tables` gives what they say: events, progress, ranks, settings."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._settings: list[dict[str, Any]] = []
        self._claims: list[dict[str, Any]] = []
        self._progress: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []
        self._sizes: dict[int, int] = {}  # number of the group → ranks per communicator
        self._gpus: int | None = None
        self._block: _Block | None = None
        self._section = ""
        self._claimed: list[dict[str, Any]] = []
        self._ranks: dict[tuple[int, str, str], int] = {}  # process, node and GPU → global rank
        self._dead: set[tuple[int, str]] = set()  # process and node
        self._missing: list[tuple[int, dict[int, dict[str, Any]]]] = []  # number of the event, its ranks and processes

    def read(self, line: int, raw: str) -> None:
        text = raw.strip()
        if text in ("Job summary", "Errors", "Warnings") or text.startswith("Communicators..."):
            self._end()
            self._section = text.split("...")[0]
            self._claim(line)
        elif not text:
            return
        elif _UNDERLINE.match(text) or (self._section and _HEADING.match(text)):
            self._claim(line)
        elif self._section in ("Errors", "Warnings"):
            self._complaint(line, raw.rstrip())
        elif found := _VERSION.match(text):
            self._setting(line, "nccl", found[1], "version")
        elif found := _CUDA.match(text):
            self._setting(line, "cuda_runtime", found[1], "version")
            self._setting(line, "cuda_driver", found[2], "driver")
        elif self._section == "Job summary" and (found := _TOTALS.match(raw)):
            self._gpus = (self._gpus or 0) + int(found[2])
            self._claim(line)
        elif self._section == "Communicators" and (found := _ROW.match(raw)):
            self._status(line, text, found)

    def tables(self) -> Tables:
        self._end()
        self._mark_dead()
        made = {"events": self._events, "progress": self._progress, "ranks": self._claims, "settings": self._settings}
        return tables_of(**made, claimed=self._claimed)

    def _claim(self, line: int) -> None:
        self._claimed.append({"file": self._file, "line": line})

    def _setting(self, line: int, name: str, value: str, scope: str) -> None:
        self._settings.append({"name": name, "value": value, "scope": scope, "file": self._file, "line": line})

    def _status(self, line: int, text: str, found: re.Match[str]) -> None:
        names = ("comms", "nodes", "ranks_per_node", "ranks_per_comm", "ranks_in_group")
        counts = dict(zip(names, found[2].split(), strict=True))
        self._sizes[int(found[1])] = int(counts["ranks_per_comm"].split("-")[-1])
        detail = counts | {"status": found[3], "errors": found[4]}
        severity = "info" if found[4] == "OK" else "warning"
        made = {"kind": "ras_status", "code": found[4], "severity": severity, "group": f"#{found[1]}", "text": text}
        self._events.append(made | {"detail": json.dumps(detail), "file": self._file, "line": line})

    def _complaint(self, line: int, raw: str) -> None:
        text = raw.strip()
        if title := _BLOCK.match(text):
            self._end()
            self._block = _Block(line, title["code"], title["group"], title["hash"], [text])
            return
        block = self._block
        if block is None:
            return
        if raw[0] not in " \t" and not any(known.search(text) for known in _KNOWN):
            self._end()  # the report is over
            return
        self._claim(line)
        if len(block.text) < 40:
            block.text.append(text)
        if different := _DIFFERENT.search(text):
            block.kinds.append(_Kind(different[1] if different[1] != "collective" else None))
        elif found := _COUNT.match(text):
            block.kind.counts.append({"ranks": int(found[1]), "operation": int(found[2])})
        elif found := _NONE.match(text):
            block.kind.counts.append({"ranks": int(found[1]), "operation": 0})
        elif found := _RANK.match(text):
            self._listed(line, block, found)
        elif found := _PROCESS.match(text):
            block.nodes.append(found["node"])
            block.processes.append({"pid": int(found["pid"]), "node": found["node"], "gpus": found["gpus"].strip()})
        elif found := _MISSING.search(text):
            block.missing = _numbers(found[1])

    def _listed(self, line: int, block: _Block, found: re.Match[str]) -> None:
        rank = int(found["rank"])
        if len(block.ranks) >= _MOST_LISTED:
            return
        process = (int(found["pid"]), found["node"], found["gpu"])
        if self._is_world(block):
            self._ranks[process] = rank
        if rank not in block.ranks:
            block.ranks.append(rank)
            block.nodes.append(found["node"])
        if block.code == "INCOMPLETE":
            block.missing.append(rank)
            block.processes.append({"pid": process[0], "node": process[1], "gpus": process[2]})
        place = {"file": self._file, "line": line}
        if self._is_world(block):
            node = {"address": found["node"]} if _is_address(found["node"]) else {"host": found["node"]}
            own = {"rank": rank, "pid": process[0], "device_index": int(found["gpu"]), "how": "ras"}
            self._claims.append(own | node | place)
        if block.code != "MISMATCH" or not block.kinds:
            return
        if found["at"] or found["none"]:
            block.kind.counts.append({"ranks": 1, "operation": int(found["at"] or 0)})
        if block.kind.counts:
            at = block.kind.counts[-1]["operation"]
            block.kind.listed.append({"rank": self._ranks.get(process), "operation": at})
            if self._is_world(block):
                count = {"rank": rank, "group": block.comm, "desc": block.kind.op, "scope": "collective", "how": "ras"}
                self._progress.append(count | {"last_enqueued": at} | place)

    def _is_world(self, block: _Block) -> bool:
        number = int(block.group.split("-")[0]) if block.group else None
        return self._gpus is not None and number is not None and self._sizes.get(number) == self._gpus

    def _end(self) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        named = block.missing or block.ranks
        is_missing = block.code == "INCOMPLETE" and bool(named)
        if block.code == "DEAD":
            self._dead |= {(one["pid"], one["node"]) for one in block.processes}
        elif is_missing and len(block.processes) == len(named):
            self._missing.append((len(self._events), dict(zip(named, block.processes, strict=True))))
        for kind in block.kinds or [_Kind(None)]:
            detail = {"counts": kind.counts, "processes": block.processes, "op": kind.op, "number": block.group}
            detail = {name: value for name, value in detail.items() if value}
            if block.code == "MISMATCH":
                detail["listed"] = kind.listed
            self._events.append(
                {
                    "kind": "missing_members" if is_missing else "ras_status",
                    "code": block.code,
                    "severity": _SEVERITY.get(block.code, "warning"),
                    "group": block.comm,
                    "names_ranks": named or None,
                    "names_rank_space": ("global" if self._is_world(block) else "group") if named else None,
                    "names_hosts": list(dict.fromkeys(block.nodes)) or None,
                    "text": "\n".join(block.text)[:2000],
                    "detail": json.dumps(detail),
                    "file": self._file,
                    "line": block.line,
                }
            )

    def _mark_dead(self) -> None:
        """Missing members whose process the report counts as dead, whichever of both it says first."""
        for number, members in self._missing:
            dead = [rank for rank, one in members.items() if (one["pid"], one["node"]) in self._dead]
            if dead:
                row = self._events[number]
                row["detail"] = json.dumps(json.loads(row["detail"]) | {"dead": dead})


def _is_address(node: str) -> bool:
    return re.fullmatch(r"[\d.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.%\w]*", node) is not None


def _numbers(text: str) -> list[int]:
    """`3, 5-7` → 3, 5, 6, 7."""
    numbers: list[int] = []
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first.isascii() and first.isdigit() and len(first) < 10:
            end = int(last) if last.isascii() and last.isdigit() and len(last) < 10 else int(first)
            numbers.extend(range(int(first), min(end, int(first) + _MOST_LISTED) + 1))
    return numbers[:_MOST_LISTED]
