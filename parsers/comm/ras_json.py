"""The JSON report of NCCL's RAS client (`ncclras -f json`, NCCL 2.28.7 and later).

    {"nccl_version": "2.28.7", "timestamp": "2026-01-31 10:11:12", "communicators": [
      {"hash": "27a0…", "size": 32, "ranks_count": 31, "missing_ranks_count": 1,
       "ranks": [{"rank": 0, "host": "10.0.0.7", "pid": 4711, "cuda_dev": 0, "nvml_dev": 0,
                  "status": {"init_state": 0, "async_error": 0, "abort_flag": false},
                  "collective_counts": {"AllGather": 664, "AllReduce": 12}}],
       "missing_ranks": [{"rank": 21, "host": "10.0.0.9", "pid": 4712,
                          "status": {"unresponsive": true, "considered_dead": false}}]}],
     "ras": {"collection_time_sec": 0.01, "timeouts_count": 0}}

The largest communicator is the world if it holds every process of the report; then ranks of the others are global ones
by their process and device. Counts are of launched collectives of each kind; sends and receives are not counted. The
report leaves it to its reader to compare them: where members differ, there is a `ras_status` MISMATCH for each kind, which
names those who have another count than most, as the text form does.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from parsers.forms.reading import whole
from parsers.schema.tables import Tables, tables_of
from parsers.text.stamps import parse_time

_KINDS = {"Broadcast": "broadcast", "Reduce": "reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter",
          "AllReduce": "all_reduce", "AlltoAll": "all_to_all", "Gather": "gather", "Scatter": "scatter"}  # fmt: skip
_MOST = 4_000_000  # rows of progress
Process = tuple[str | None, int | None, int | None]


class JsonReport:
    """One report; `tables` gives progress, ranks, groups, events, settings."""

    def __init__(self, file: str, report: dict[str, Any]) -> None:
        self._file = file
        self._report = report
        stamp = report.get("timestamp")
        self._time, self._basis = parse_time(stamp) if isinstance(stamp, str) else (None, None)
        self._comms = [comm for comm in _list(report.get("communicators")) if isinstance(comm, dict)]
        self._world_comm: int | None = None  # number of the communicator that holds everybody
        self._global = self._world()
        self._progress: list[dict[str, Any]] = []
        self._ranks: list[dict[str, Any]] = []
        self._groups: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []

    def tables(self) -> Tables:
        for number, comm in enumerate(self._comms):
            self._comm(number, comm)
        made = {"progress": self._progress, "ranks": self._ranks, "groups": self._groups, "events": self._events}
        return tables_of(**made, settings=self._settings())

    def _world(self) -> dict[Process, int]:
        """Process and device → global rank; empty where no communicator holds all."""
        by_comm = [{_process(one): rank for rank, one in _members(comm)} for comm in self._comms]
        number, largest = max(enumerate(by_comm), key=lambda pair: (len(pair[1]), -pair[0]), default=(0, {}))
        everybody = {process for found in by_comm for process in found}
        if not largest or everybody != set(largest):
            return {}
        self._world_comm = number
        return largest

    def _settings(self) -> Iterator[dict[str, Any]]:
        for key, name, scope in (("nccl_version", "nccl", "version"), ("cuda_runtime_version", "cuda_runtime", "version"),
                                 ("cuda_driver_version", "cuda_driver", "driver")):  # fmt: skip
            if (value := self._report.get(key)) is not None:
                yield {"name": name, "value": str(value)[:100], "scope": scope, "file": self._file, "record": 0}

    def _comm(self, number: int, comm: dict[str, Any]) -> None:
        name, size = _text(comm.get("hash")), whole(comm.get("size"))
        place = {"file": self._file, "record": number}
        members = {rank: self._global.get(_process(one)) for rank, one in _members(comm)}
        known = [members[rank] for rank in sorted(members)]
        is_whole = size is not None and len(known) == size and None not in known
        first = known[0] if known else None
        self._groups.append(
            {"rank": first, "group": name, "comm": name, "size": size, "backend": "nccl", "how": "ras"} | place
            | ({"members": known, "members_space": "global"} if is_whole else {})
        )  # fmt: skip
        for _, one in _of(comm, "ranks"):
            self._rank(one, self._global.get(_process(one)), name, place)
        self._state(comm, name, place)

    def _rank(self, one: dict[str, Any], rank: int | None, name: str | None, place: dict[str, Any]) -> None:
        if rank is not None and place["record"] == self._world_comm:
            claim = {"rank": rank, "host": _text(one.get("host")), "pid": whole(one.get("pid")), "how": "ras"}
            claim |= {"device_index": whole(one.get("nvml_dev")), "world_size": len(self._global)}
            self._ranks.append(claim | place)
        counts = one.get("collective_counts")
        for op, count in counts.items() if isinstance(counts, dict) else ():
            if len(self._progress) < _MOST and (launched := whole(count)) is not None:
                row = {"rank": rank, "group": name, "desc": _KINDS.get(op, str(op)[:60]), "scope": "collective"}
                row |= {"last_enqueued": launched, "time_ns": self._time, "how": "ras"}
                self._progress.append(row | place)

    def _state(self, comm: dict[str, Any], name: str | None, place: dict[str, Any]) -> None:
        """One event for the communicator, one for those who are missing, one for those in an error."""
        missing = list(_of(comm, "missing_ranks"))
        failed = [(rank, one) for rank, one in _of(comm, "ranks") if _is_failed(one)]
        detail = {key: whole(comm.get(key)) for key in ("size", "ranks_count", "missing_ranks_count")}
        counts = _counts(comm)
        differ = {op: found for op, found in (counts or {}).items() if len(set(found.values())) > 1}
        code = "INCOMPLETE" if missing else "ERROR" if failed else "OK" if counts is not None else "UNKNOWN"
        same = {"group": name, "time_ns": self._time, "time_basis": self._basis} | place
        severity = "info" if code in ("OK", "UNKNOWN") else "warning"
        status = {"kind": "ras_status", "code": code, "severity": severity, "detail": json.dumps(detail)}
        if code != "OK" or not differ:
            self._events.append(same | status)
        self._events += [same | self._mismatch(comm, op, differ[op]) for op in sorted(differ)]
        for kind, what, some in (("missing_members", "INCOMPLETE", missing), ("ras_status", "ERROR", failed)):
            if some:
                ranks = [self._global.get(_process(one)) for _, one in some]
                is_global = None not in ranks
                hosts = dict.fromkeys(host for _, one in some if (host := _text(one.get("host"))))
                listed = [{"rank": rank, "status": one.get("status")} for rank, one in some[:200]]
                states: dict[str, Any] = {"states": listed}
                shown = [number for number, (_, one) in zip(ranks, some, strict=True) if _is_dead(one)]
                states |= {"dead": shown} if kind == "missing_members" and is_global and shown else {}
                self._events.append(
                    same | {"kind": kind, "code": what, "severity": "error", "names_hosts": list(hosts) or None,
                            "names_ranks": ranks if is_global else [rank for rank, _ in some],
                            "names_rank_space": "global" if is_global else "group", "detail": json.dumps(states)[:8000]}
                )  # fmt: skip

    def _mismatch(self, comm: dict[str, Any], op: str, counts: dict[int, int]) -> dict[str, Any]:
        """A row that names the members whose number of launched operations is not that of most."""
        numbers = Counter(counts.values())
        usual = max(numbers, key=lambda number: (numbers[number], number))
        processes = {rank: one for rank, one in _of(comm, "ranks") if counts[rank] != usual}
        ranks = [self._global.get(_process(one)) for one in processes.values()]
        is_global = None not in ranks
        listed = [{"ranks": numbers[number], "operation": number} for number in sorted(numbers, reverse=True)]
        hosts = dict.fromkeys(host for one in processes.values() if (host := _text(one.get("host"))))
        return {
            "kind": "ras_status", "code": "MISMATCH", "severity": "warning", "op": _KINDS.get(op, op),
            "names_ranks": ranks if is_global else list(processes), "names_hosts": list(hosts) or None,
            "names_rank_space": "global" if is_global else "group",
            "detail": json.dumps({"counts": listed[:200], "op": op}),
        }  # fmt: skip


def _counts(comm: dict[str, Any]) -> dict[str, dict[int, int]] | None:
    """Kind → rank in the communicator → launched; a kind that a member leaves out counts as 0, as RAS leaves out kinds of
    which there are none. None where a member has no counts at all."""
    given = {rank: one.get("collective_counts") for rank, one in _of(comm, "ranks")}
    read = {
        rank: {str(op)[:60]: count for op, value in counts.items() if (count := whole(value)) is not None}
        for rank, counts in given.items()
        if isinstance(counts, dict)
    }
    if not read or len(read) < len(given):
        return None
    ops = {op for counts in read.values() for op in counts}
    return {op: {rank: counts.get(op, 0) for rank, counts in read.items()} for op in ops}


def _members(comm: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    yield from _of(comm, "ranks")
    yield from _of(comm, "missing_ranks")


def _of(comm: dict[str, Any], key: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for one in _list(comm.get(key)):
        if isinstance(one, dict) and (rank := whole(one.get("rank"))) is not None:
            yield rank, one


def _process(one: dict[str, Any]) -> Process:
    return _text(one.get("host")), whole(one.get("pid")), whole(one.get("cuda_dev"))


def _is_failed(one: dict[str, Any]) -> bool:
    status = one.get("status")
    return isinstance(status, dict) and bool(status.get("async_error") or status.get("abort_flag"))


def _is_dead(one: dict[str, Any]) -> bool:
    status = one.get("status")
    return isinstance(status, dict) and bool(status.get("considered_dead"))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return None if value is None else str(value)[:255]
