"""Rows of one rank: operations are filled tensor by tensor and written as a whole, in program order.

A tensor with NaN or Inf is written before anything else goes on. An operation that others came between is written
again as a whole, so that its rows stand together.
"""

import atexit
import itertools
import os
import threading
from pathlib import Path
from typing import Any

from forensics.probe.figures import Meter, Reading, Row
from forensics.probe.files import Form, RowFile


class _Place:
    """What probes of one process, rank and folder share: the order of rows, the newest attempt, numbers in use."""

    def __init__(self) -> None:
        self.lock, self.seq, self.attempt = threading.RLock(), 0, 0
        self.numbers: set[int] = set()


_PLACES: dict[tuple[int, str, int], _Place] = {}


class Operation:
    """Rows in the making. `columns`: what all have in common; `written`: how many are in the file; `mark`: the number
    of rows in all files of the rank after the last of them."""

    __slots__ = ("columns", "mark", "readings", "written")

    def __init__(self, columns: Row) -> None:
        self.columns, self.readings = columns, list[Reading]()
        self.written = self.mark = 0


class Recorder:
    """One file of rows. `number`: 0 for the first probe of the process in this folder, 1 for one beside it, …"""

    def __init__(self, torch: Any, folder: Path, rank: int, form: Form, checksum: bool, wait: bool) -> None:
        self._rank, self._meter = rank, Meter(torch, checksum, wait)
        self._place = _PLACES.setdefault((os.getpid(), str(folder.resolve()), rank), _Place())
        self._open: dict[int, Operation] = {}
        self._queue: list[tuple[Row, Reading]] = []  # written, but for figures that are still on their way
        with self._place.lock:
            self.number = next(number for number in itertools.count() if number not in self._place.numbers)
            self._file = self._new_file(folder, form)
            self._place.numbers.add(self.number)
        atexit.register(self.close)

    def _new_file(self, folder: Path, form: Form) -> RowFile:
        """The first probe of a process begins a new attempt where an earlier one left files; later ones join it."""
        place = self._place
        beside = f"_{self.number}" if self.number else ""
        restarts = int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0)
        attempts = itertools.count(place.attempt if self.number else max(place.attempt, restarts))
        for attempt in attempts:
            name = f"rank_{self._rank}" + (f"_attempt_{attempt}" if attempt else "") + beside
            try:
                file = RowFile(folder / name, form)
            except FileExistsError:
                continue
            self._attempt = place.attempt = attempt
            return file
        raise AssertionError

    def note(self, operation: Operation, label: str, value: Any) -> None:
        """A tensor of an operation."""
        reading = self._meter.measure(value, label)
        if reading is None:
            return
        with self._place.lock:
            operation.readings.append(reading)
            self._open[id(operation)] = operation
            if reading.bad:
                self._write(operation)

    def finish(self, operation: Operation) -> None:
        with self._place.lock:
            self._open.pop(id(operation), None)
            self._write(operation)
            self._drain(wait=False)

    def drop(self, operation: Operation) -> None:
        """Nothing more of it is written."""
        with self._place.lock:
            self._open.pop(id(operation), None)

    def settle(self) -> None:
        """Operations that were begun are written as far as they came."""
        with self._place.lock:
            for operation in list(self._open.values()):
                self.finish(operation)

    def flush(self) -> None:
        """The end of a step."""
        with self._place.lock:
            self.settle()
            self._meter.ship()
            self._drain(wait=False)

    def close(self) -> None:
        """Everything that was measured goes to the file."""
        atexit.unregister(self.close)
        with self._place.lock:
            self.flush()
            self._drain(wait=True)
            self._file.close()
            self._place.numbers.discard(self.number)

    def _write(self, operation: Operation) -> None:
        if operation.written == len(operation.readings):
            return
        place = self._place
        if place.seq != operation.mark:
            operation.written = 0
        fixed: Row = {"rank": self._rank, **({"attempt": self._attempt} if self._attempt else {}), **operation.columns}
        for reading in operation.readings[operation.written :]:
            self._queue.append((fixed | {"seq": place.seq, "tensor": reading.label}, reading))
            place.seq += 1
        operation.written, operation.mark = len(operation.readings), place.seq
        self._drain(wait=False)

    def _drain(self, wait: bool) -> None:
        """Rows go to the file in order, as far as their figures have come."""
        queue, ready = self._queue, 0
        while ready < len(queue) and queue[ready][1].settle(wait):
            ready += 1
        if ready:
            rows = [row | reading.columns for row, reading in queue[:ready]]
            del queue[:ready]
            self._file.append([{key: value for key, value in row.items() if value is not None} for row in rows])
