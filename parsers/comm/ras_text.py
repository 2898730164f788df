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
      31 ranks have launched up to operation 664
      1 rank has launched up to operation 663
      Rank 5 -- GPU 5 managed by process 4712 on node 10.0.0.8

Ranks are listed where they are few (a quarter of all at most), be they ahead or behind: the list is a minority, no
blame. They count in the communicator; they are global only if that holds all GPUs of the job. Numbers of operations are
of what was launched, so a report without errors while a job stands still says that every rank launched all.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from parsers.tables import Tables, table

_BLOCK = re.compile(r"^(?:#(?P<group>\d+-\d+) \((?P<hash>[0-9a-f]{1,32})\) )?(?P<code>[A-Z][A-Z_]{2,24})\s*$")
_ROW = re.compile(r"^\s*(\d+)((?:\s+\d[\d-]*){5})\s+([A-Z]+)\s+([A-Z]+)\s*$")
_TOTALS = re.compile(r"^\s*[\d-]+\s+[\d-]+\s+[\d-]+\s+(\d+)\s+(\d+)\s*$")
_VERSION = re.compile(r"^NCCL version (\S{1,60})")
_CUDA = re.compile(r"^CUDA runtime version (\d{1,9}), driver version (\d{1,9})")
_COUNT = re.compile(r"^(\d{1,9}) ranks? (?:has|have) launched up to operation (\d{1,18})")
_NONE = re.compile(r"^(\d{1,9}) ranks? (?:has|have) not launched any operations")
_DIFFERENT = re.compile(r"different (?:(\w+) )?operation counts|different (collective) operation counts")
_RANK = re.compile(
    r"^Rank (?P<rank>\d{1,9}) -- GPU (?P<gpu>\d{1,4}).*? managed by process (?P<pid>\d{1,9}) on node (?P<node>\S{1,255})"
)
_PROCESS = re.compile(r"^Process (?P<pid>\d{1,9}) on node (?P<node>\S{1,255}) managing GPUs? (?P<gpus>[\d, -]{1,200})")
_MISSING = re.compile(r"[Mm]issing ranks?: ([\d, -]{1,100000})")
_KNOWN = (_COUNT, _NONE, _DIFFERENT, _RANK, _PROCESS, _MISSING, re.compile(r"^Missing communicator data"))
_SEVERITY = {"INCOMPLETE": "error", "DEAD": "error", "ERROR": "error", "MISMATCH": "warning", "TIMEOUT": "warning"}
_MOST_LISTED = 100_000
_HEADING = re.compile(r"(?:Nodes|Group|\(total\)|#) .*(?:Processes|Status|per process|per comm)\b")
_UNDERLINE = re.compile(r"^=+\s*$")


@dataclass(slots=True)
class _Block:
    """One complaint: from its title to the next one."""

    line: int
    code: str
    group: str | None
    comm: str | None
    text: list[str]
    counts: list[dict[str, Any]] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    processes: list[dict[str, Any]] = field(default_factory=list)
    op: str | None = None


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
        return {
            "events": table("events", self._events),
            "progress": table("progress", self._progress),
            "ranks": table("ranks", self._claims),
            "settings": table("settings", self._settings),
            "claimed": table("claimed", self._claimed),
        }

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
            block.op = different[1] if different[1] != "collective" else None
        elif found := _COUNT.match(text):
            block.counts.append({"ranks": int(found[1]), "operation": int(found[2])})
        elif found := _NONE.match(text):
            block.counts.append({"ranks": int(found[1]), "operation": 0})
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
        block.ranks.append(rank)
        block.nodes.append(found["node"])
        place = {"file": self._file, "line": line}
        if not self._is_world(block):
            return
        node = {"address": found["node"]} if _is_address(found["node"]) else {"host": found["node"]}
        own = {"rank": rank, "pid": int(found["pid"]), "device_index": int(found["gpu"]), "how": "ras"}
        self._claims.append(own | node | place)
        if block.counts and block.code == "MISMATCH":
            count = {"rank": rank, "group": block.comm, "desc": block.op, "scope": "collective", "how": "ras"}
            self._progress.append(count | {"last_enqueued": block.counts[-1]["operation"]} | place)

    def _is_world(self, block: _Block) -> bool:
        number = int(block.group.split("-")[0]) if block.group else None
        return self._gpus is not None and number is not None and self._sizes.get(number) == self._gpus

    def _end(self) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        named = block.missing or block.ranks
        detail = {"counts": block.counts, "processes": block.processes, "op": block.op, "number": block.group}
        is_missing = block.code == "INCOMPLETE" and bool(named)
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
                "detail": json.dumps({name: value for name, value in detail.items() if value}),
                "file": self._file,
                "line": block.line,
            }
        )


def _is_address(node: str) -> bool:
    return re.fullmatch(r"[\d.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.%\w]*", node) is not None


def _numbers(text: str) -> list[int]:
    """`3, 5-7` → 3, 5, 6, 7."""
    numbers: list[int] = []
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and len(first) < 10:
            end = int(last) if last.isdigit() and len(last) < 10 else int(first)
            numbers.extend(range(int(first), min(end, int(first) + _MOST_LISTED) + 1))
    return numbers[:_MOST_LISTED]
