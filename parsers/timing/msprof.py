"""Results of msprof-analyze (Ascend clusters): cluster_step_trace_time.csv and cluster_communication.json.

    Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,…
    12,rank,0,80309.6,683731.2,5524.5,689255.8,990605.1,1754645.7,0.0,683731.2
    12,stage,"(0, 1, 2, 3)",81662.2,…
    {"(0, 1)": {"step12": {"hcom_broadcast__501_0@62": {"0": {"Communication Time Info": {"Start Timestamp(us)": 1e15,
      "Elapse Time(ms)": 121.7, "Transit Time(ms)": 0.0, "Wait Time(ms)": 115.9}}}}}}

Times of the table are microseconds, those of the other file milliseconds. A rank that waits long is waiting for
another: the slow one has the short waits. Rows of type `stage` are sums of others and only claimed.

Printed by: msprof-analyze of MindStudio.
Versions: those that write the files above.
Source: MindStudio's documentation of cluster analysis.
"""

from collections.abc import Iterator
from typing import Any

from parsers.forms.reading import csv_cells, real, text_lines, whole, whole_json
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table, tables_of
from parsers.text.patterns import regex

_PHASES = {
    "Computing": "compute", "Communication(Not Overlapped)": "comm_exposed", "Overlapped": "comm_overlapped",
    "Communication": "comm", "Free": "idle", "Stage": "all", "Bubble": "bubble", "Preparing": "preparing",
}  # fmt: skip
_BYTES = 512 << 20
_STEP = regex(r"(\d{1,12})$")


def accepts(_path: str, head: bytes) -> bool:
    """By the header of the table, or the first keys of the other file."""
    start = head[:32768]
    is_document = start.lstrip()[:1] == b"{" and b'"Communication Time Info"' in start
    return is_document or start.lstrip(b"\xef\xbb\xbf").startswith(b"Step,Type,Index,")


def parse(source: Source) -> Tables:
    """timings: per rank and step (phase as in the table), and per communication (phase comm and comm_wait, level 2)."""
    with source.open() as stream:
        is_json = stream.read(64).lstrip()[:1] == b"{"
    return _communication(source) if is_json else _steps(source)


def _steps(source: Source) -> Tables:
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    names: list[str] = []
    for number, text in text_lines(source):
        place = {"file": source.path, "line": number}
        values = [value.strip() for value in csv_cells(text[:65536])]
        if not names:
            names = [value.lstrip("\ufeff") for value in values]
            claimed.append(place)
        elif len(values) == len(names):
            said = dict(zip(names, values, strict=True))
            rank = whole(said.get("Index")) if said.get("Type") == "rank" else None
            if rank is None:
                claimed.append(place)
                continue
            common = place | {"rank": rank, "step": whole(said.get("Step")), "level": 0}
            for name, phase in _PHASES.items():
                if (value := real(said.get(name))) is not None:
                    rows.append(common | {"phase": phase, "value_ms": value / 1e3})
        elif text.strip():
            unread.append(place | {"reason": f"{len(values)} values for {len(names)} columns"})
    return tables_of(timings=rows, claimed=claimed, unread=unread)


def _communication(source: Source) -> Tables:
    document, refused = whole_json(source, _BYTES)
    if document is None:
        return refused
    rows: list[dict[str, Any]] = []
    for record, (step, operation, rank, times) in enumerate(_walk(document)):
        start = real(times.get("Start Timestamp(us)"))
        number = _STEP.search(step)
        common = {
            "file": source.path, "record": record, "rank": whole(rank), "name": operation.split("@")[0], "level": 2,
            "step": int(number[1]) if number else None, "time_ns": int(start * 1e3) if start and abs(start) < 9e15 else None,
        }  # fmt: skip
        for phase, key in (("comm", "Elapse Time(ms)"), ("comm_wait", "Wait Time(ms)")):
            if (value := real(times.get(key))) is not None:
                rows.append(common | {"phase": phase, "value_ms": value})
    return {"timings": table("timings", rows)}


def _walk(document: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for steps in document.values():
        for step, operations in _items(steps):
            for operation, ranks in _items(operations):
                for rank, said in _items(ranks):
                    times = said.get("Communication Time Info") if isinstance(said, dict) else None
                    if isinstance(times, dict) and operation != "Total Op Info":
                        yield step, operation, rank, times


def _items(value: object) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


PARSER = FileParser(name="msprof", accepts=accepts, parse=parse, whole=True)
