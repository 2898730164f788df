"""What NCCL and its kin say while they set up: who is who, which network, which versions and variables.

    comm 0x55d0 rank 3 nranks 8 cudaDev 3 busId 5d000 - Init COMPLETE                       (2.3 to 2.15)
    ncclCommSplit comm 0x55d0 rank 1 nranks 2 cudaDev 3 nvmlDev 3 busId 5d000 parent 0x44 splitCount 1 color 0 key 1-
        Init START                                                                          (2.18 to 2.30)
    comm 0x55d0 rank 3 nranks 8 musaDev 3 busId 15000 - Init COMPLETE                       (MCCL)
    ncclCommInitRank comm 0x55d0 rank 3 nranks 8 cudaDev 3 busId 5d000 commId 0x1f localSize 8 used 42 bytes - Init COMPLETE
                                                                                            (RCCL)
    comm 0x55d0 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0                  (2.20 and later)
    Init timings - ncclCommInitRank: rank 3 nranks 16 total 1.20 (kernels 0.2, bootstrap 0.4, …)     (2.22 and later)
    Bootstrap : Using ens7:10.1.0.33<0> · NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.2.0.4<0>
    NET/Socket : Using [0]eth0:10.1.0.33<0> · Using network IB · cudaDriverVersion 12040
    NCCL version 2.30.7+cuda13.3 · NCCL_IB_HCA set by environment to mlx5_0.

An address that a process uses is a claim in `ranks` (rank null, host and pid set), so that a peer that others name by
address can be found. A communicator's rank is a global one only if that communicator holds every process.
"""

import json
import re
from collections import defaultdict
from typing import Any

import polars as pl

from parsers.comm.nccl_records import named_pointer
from parsers.schema.lines import Row, event, reporter
from parsers.text.patterns import regex

_N = r"\d{1,9}"
_INIT = regex(
    rf"(?:\b(?P<api>\w{{1,64}}) )?comm (?P<comm>\S+) rank (?P<rank>{_N}) n[rR]anks (?P<size>{_N})(?P<words>(?: .{{0,400}}?)?)"
    r"(?: parent (?P<parent>\S+)(?P<split>.{0,200}?))?\s{0,20}- ?"
    r"(?P<what>Init START|(?:Init )?COMPLETE|Destroy|Abort|Revoke|Finalize)(?P<tail>.{0,60})"
)
# The libraries name their devices each in its own word, and RCCL says more between them (`localSize 8 used 42 bytes`).
_DEVICE = regex(rf"\b(?!nvml)(?:[a-z]+Dev|device) (?P<device>{_N})")
_BUS = regex(r"\bbusId (?P<bus>[0-9a-f]{1,16})\b")
_ID = regex(r"\bcommId (?P<id>\S+)")
_SPLIT_ID = regex(r"\bcommId (0x[0-9a-f]{1,16})")  # 2.18 to 2.22 name the new one behind the parent
_LAYOUT = regex(
    rf"comm (?P<comm>\S+) rank (?P<rank>{_N}) nRanks (?P<size>{_N}) nNodes {_N} localRanks {_N} "
    rf"localRank (?P<local>{_N})\b"
)
_TIMINGS = regex(rf"Init timings(?: - (\w+))?: rank {_N} nranks {_N} total (\d+\.\d+) \(([^)]*)\)?")
_PART = regex(r"([a-z]\w*) (\d+\.\d+)")
_ENVIRONMENT = regex(
    r"\b(?P<name>[NMR]CCL_\w+|[A-Z][A-Z0-9_]{3,60}(?= set by environment)) set (?:by environment )?to "
    r"(?P<value>.*)"
)
# Not what an error says at its end, as torch before 2.2 did: its words are to be heard.
_VERSION = regex(
    r"(?<!a network error, )\b(?P<library>[NMR]CCL) version (?P<value>\d[\w.+-]*)(?![\w.+-]| does not support )"
)
_ADDRESS = r"(?P<interface>[^\s:\[\]]{1,64}):(?P<address>[^\s<>]{1,64})<\d{1,6}>"
_BOOTSTRAP = regex(rf"^Bootstrap ?: Using (?:\[\d+\])?{_ADDRESS}")
_IB = regex(r"^NET/IB ?: (?:\w+ )?Using(?P<devices>(?: ?\[\d+\][^\s;\[]+)+)")
_OOB = regex(rf"; OOB {_ADDRESS}")
_SOCKET = regex(r"^NET/Socket ?: Using")
_SOCKETS = regex(rf"\[\d+\]{_ADDRESS}")
_ONE_VALUE: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (regex(r"^Using network (\S.{0,80})"), "network", "library"),
    (regex(r"^cudaDriverVersion (\d{1,9})"), "cuda_driver", "driver"),
    (regex(r"^NET/IB ?: No [Dd]evice found"), "ib_devices", "library"),
    (regex(r"^(?:NET/Plugin ?: )?(?:Loaded|Using) (?:net|NET) plugin (\S+)"), "net_plugin", "library"),
    (regex(r"^NET/Plugin: Plugin name set by env to (\S+)"), "net_plugin", "library"),
)
_VENDORS = (
    (regex(r"\bMUSA(?:_|\b)|\b[Mm]usa(?:[A-Z_]\w*)?\b|\btorch_musa\b"), "moorethreads"),
    (regex(r"\b(?:MX)?MACA(?:_|\b)|\b[Mm]aca(?:[A-Z_]\w*)?\b"), "metax"),
)
_KINDS = {"Init START": "comm_init_start", "Init COMPLETE": "comm_init_complete", "COMPLETE": "comm_init_complete",
          "Destroy": "comm_destroy", "Finalize": "comm_destroy"}  # fmt: skip


# One of these stands in every record that is about the setup.
_LIKELY = (
    r"set (?:by environment )?to |CCL version \d|comm \S+ rank |Init timings|^Bootstrap|^NET/IB ?: (?:\w+ )?(?:Using|No )"
    r"|^NET/Socket ?: Using|^Using network|^cudaDriverVersion|plugin|Plugin"
)


def is_likely() -> pl.Expr:
    """Whether SetupReader has to look at a record."""
    words = pl.coalesce(pl.when(pl.col("library").is_not_null()).then("message"), "text").str.contains(_LIKELY)
    return (words | pl.col("text").str.contains(r"CCL version \d|MCCL")).fill_null(False)


class SetupReader:
    """Collects rows of ranks, groups, events, settings and timings, record after record."""

    def __init__(self) -> None:
        self.groups: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.settings: list[dict[str, Any]] = []
        self.timings: list[dict[str, Any]] = []
        self._ranks: list[dict[str, Any]] = []
        self._worlds: dict[int | None, _World] = defaultdict(_World)  # by the attempt that the path tells
        self._vendors: set[tuple[str, str]] = set()

    def claims(self) -> list[dict[str, Any]]:
        """Who is who, with the size of the job where a communicator holds every process (_World)."""
        return self._ranks + [claim for world in self._worlds.values() for claim in world.claims()]

    def read(self, row: Row) -> bool:
        """Take what one record says; whether it was about the setup."""
        text = row["message"] if row["library"] else row["text"]
        if row["library"] == "MCCL" or "MCCL" in row["text"]:
            self._vendor(row)
        if found := _ENVIRONMENT.search(text):
            self._setting(row, found["name"], found["value"].rstrip().removesuffix("."), "environment")
        elif version := _VERSION.search(row["text"]):
            self._setting(row, version["library"].lower(), version["value"], "version")
        elif row["library"] is None:
            return False
        elif init := _INIT.search(text):
            self._init(row, init)
        elif layout := _LAYOUT.search(text):
            self._layout(row, layout)
        elif timings := _TIMINGS.search(text):
            self._timing(row, timings)
        else:
            return self._network(row, text)
        return True

    def _setting(self, row: Row, name: str, value: str, scope: str) -> None:
        who = {key: row[key] for key in ("rank", "host", "pid", "file", "line")}
        self.settings.append(who | {"name": name, "value": value[:500], "scope": scope})

    def _vendor(self, row: Row) -> None:
        """Four libraries are called MCCL; only the words of a platform tell which one it is."""
        for pattern, vendor in _VENDORS:
            if (row["file"], vendor) not in self._vendors and pattern.search(row["text"][:4096]):
                self._vendors.add((row["file"], vendor))
                self._setting(row, "mccl_vendor", vendor, "library")

    def _network(self, row: Row, text: str) -> bool:
        for pattern, name, scope in _ONE_VALUE:
            if found := pattern.search(text):
                self._setting(row, name, found[1].strip() if found.groups() else "none", scope)
                return True
        if own := _BOOTSTRAP.search(text):
            self._setting(row, "bootstrap_interface", own["interface"], "library")
            self._address(row, own["address"], "bootstrap")
        elif adapters := _IB.search(text):
            names = re.findall(r"\[\d+\]([^\s;\[]+)", adapters["devices"])
            own = _OOB.search(text)
            is_whole = own is not None or adapters.end() < len(text)
            self._setting(row, "ib_devices", " ".join(names if is_whole else names[:-1]), "library")
            if own:
                self._setting(row, "oob_interface", own["interface"], "library")
                self._address(row, own["address"], "out of band")
        elif _SOCKET.search(text):
            sockets = list(_SOCKETS.finditer(text))
            self._setting(row, "socket_interfaces", " ".join(one["interface"] for one in sockets), "library")
            for one in sockets:
                self._address(row, one["address"], "socket")
        else:
            return False
        return True

    def _address(self, row: Row, address: str, what: str) -> None:
        claim = {key: row[key] for key in ("rank", "host", "pid", "file", "line")}
        self._ranks.append(claim | {"address": address, "how": f"{row['library']} {what} address"})

    def _init(self, row: Row, init: re.Match[str]) -> None:
        what, size = _what(init), int(init["size"])
        is_split = bool(init["parent"]) or any(word in (init["api"] or "") for word in ("Split", "Shrink", "Grow"))
        pointer = named_pointer(row, init["comm"])
        split, inner = (init["split"] or "").strip(), _SPLIT_ID.search(init["split"] or "")
        named, bus, dev = (pattern.search(init["words"]) for pattern in (_ID, _BUS, _DEVICE))
        comm_id = named["id"] if named else inner[1] if inner else None
        pci = _pci(bus["bus"] if bus else None)
        detail = {
            "group_rank": int(init["rank"]), "size": size, "comm": pointer, "comm_id": comm_id,
            "parent": init["parent"], "split": split or None, "api": init["api"],
            "state": (what + init["tail"]).strip() if what in ("Abort", "Revoke") else None,
        }  # fmt: skip
        kind = _KINDS.get(what, "comm_abort")
        device = int(dev["device"]) if dev else row["device_index"]
        if kind.startswith("comm_init"):
            origin = {"file": row["file"], "line": row["line"], "how": f"{row['library']} {what}"}
            group = {"rank": row["rank"], "group": pointer, "size": size, "backend": row["library"].lower()}
            self.groups.append(group | origin | {"comm": comm_id or pointer})
            claim = {"device_index": device, "pci": pci, "local_rank": reporter(row)["local_rank"]}
            self._claim(row, int(init["rank"]), None if is_split else size, claim)
        own: dict[str, Any] = {"host": row["host"], "pid": row["pid"], "device_index": device, "rank": row["rank"]}
        own |= {"pci": pci, "severity": "warning" if kind == "comm_abort" else "info"}
        own["detail"] = json.dumps({name: value for name, value in detail.items() if value is not None})
        if row["rank"] is None:
            own |= {"rank": int(init["rank"]), "rank_space": "group"}
        self.events.append(event(row, kind, group=comm_id or pointer, **own))

    def _claim(self, row: Row, group_rank: int, world: int | None, more: dict[str, Any]) -> None:
        claim = {key: row[key] for key in ("host", "pid", "file", "line")} | more
        if row["rank"] is not None:
            claim |= {"rank": row["rank"], "how": f"{row['library']} init, rank of the log"}
            if world is None:
                self._ranks.append(claim)
        else:
            claim["how"] = f"{row['library']} init"
        self._worlds[row["attempt"]].add(row, claim, group_rank, world)

    def _layout(self, row: Row, layout: re.Match[str]) -> None:
        self._claim(row, int(layout["rank"]), int(layout["size"]), {"local_rank": int(layout["local"])})

    def _timing(self, row: Row, found: re.Match[str]) -> None:
        """Seconds of each part of an initialisation → milliseconds."""
        who = {key: row[key] for key in ("rank", "host", "time_ns", "file", "line")} | {"phase": "comm_init"}
        for part, seconds in [("total", found[2]), *_PART.findall(found[3])[:20]]:
            self.timings.append(who | {"name": part, "value_ms": float(seconds) * 1000})


class _World:
    """Communicators of one attempt that no split made. The largest is the world if it holds every process: where logs
    say their rank, its numbers must be theirs; where they do not, no more processes than it holds may have been seen."""

    def __init__(self) -> None:
        self._found: list[tuple[dict[str, Any], int, int]] = []  # claim, rank in the communicator, size of it
        self._processes: dict[tuple[str | None, int | None], int | None] = {}  # → the rank of its log

    def add(self, row: Row, claim: dict[str, Any], group_rank: int, size: int | None) -> None:
        process = (row["host"], row["pid"])
        if self._processes.get(process) is None:
            self._processes[process] = row["rank"]
        if size is not None:
            self._found.append((claim, group_rank, size))

    def claims(self) -> list[dict[str, Any]]:
        largest = max((size for _, _, size in self._found), default=0)
        logs = {rank for rank in self._processes.values() if rank is not None}
        nameless = sum(rank is None for rank in self._processes.values())
        fits = len(logs) + nameless <= largest and max(logs, default=0) < largest
        fits &= all(claim.get("rank", number) == number for claim, number, size in self._found if size == largest)
        made = []
        for claim, number, size in self._found:
            if fits and size == largest:
                made.append({"rank": number} | claim | {"world_size": size})
            elif "rank" in claim:
                made.append(claim)
        return made


def _what(init: re.Match[str]) -> str:
    """What happened to the communicator; a bare COMPLETE is of the call that is named before it."""
    if init["what"] != "COMPLETE":
        return init["what"]
    words = ("Destroy", "Abort", "Revoke", "Finalize")
    return next((word for word in words if word in (init["api"] or "")), "COMPLETE")


def _pci(bus: str | None) -> str | None:
    """`5d000` → `0000:5d:00.0`: the library prints domain, bus, device and function as one hexadecimal number."""
    if bus is None:
        return None
    number = int(bus, 16)
    return f"{number >> 20:04x}:{number >> 12 & 0xFF:02x}:{number >> 4 & 0xFF:02x}.{number & 0xF:x}"
