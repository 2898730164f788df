"""Results of nccl-tests and rccl-tests: who took part, how long each size took, and whether the results were right.

    #  Rank  0 Group  0 Pid   4711 on    gpu-017 device  0 [0000:5d:00] NVIDIA H100 80GB HBM3
    #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
    #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
               8             2     float     sum      -1    17.65    0.00    0.00      0    16.87    0.00    0.00      0
    # Out of bounds values : 0 OK
    # Avg bus bandwidth    : 0.2345

A benchmark, no training. `timings`: phase comm, name = type, operation and size, level 1 out of place, 2 in place. A count of
wrong values above zero is an event `other`, code wrong_result: a device or a link corrupts data.

Printed by: nccl-tests, rccl-tests and their kin.
Versions: 2.0 to 2.17; the column of wrong values was `error` until 2.11.
Source: src/common.cu of nccl-tests.
"""

from typing import Any

import polars as pl

from parsers.schema.lines import claimed, event, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_T = r"(?P<{0}time>\d+(?:\.\d+)?)\s+\d+(?:\.\d+)?\s+\d+(?:\.\d+)?\s+(?P<{0}wrong>N/A|-?\d+(?:\.\d+)?(?:e[+-]\d+)?)"
_ROW = regex(
    r"^\s+(?P<size>\d{1,15})\s+(?P<count>\d{1,15})\s+(?P<type>[a-z]\w{2,16})\s+(?P<op>[a-z]\w{2,10}|none)\s+-?\d{1,6}\s+"
    + _T.format("out_") + r"\s+" + _T.format("in_") + r"\s*$"
)  # fmt: skip
_RANK = regex(
    r"^#\s+Rank\s+(?P<rank>\d{1,7}) (?:Group\s+\d+ )?Pid\s+(?P<pid>\d{1,9}) on\s+(?P<host>\S{1,253}) device\s+(?P<device>\d{1,4}) "
    r"\[(?P<bus>[0-9a-fA-Fx:]{2,16})\]"
)
_TITLE = regex(
    r"^#\s+(?:size\s+count\s+type|\(B\)\s+\(elements\))|^# (?:Out of bounds|Avg bus bandwidth|nThread|Using devices|nccl-tests)"
)


def parse(lines: pl.DataFrame) -> Tables:
    """timings, ranks, events other."""
    timings: list[dict[str, Any]] = []
    ranks: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    known: list[tuple[str, int]] = []
    for row in lines.iter_rows(named=True):
        place = {"file": row["file"], "line": row["line"]}
        if found := _ROW.match(row["raw"]) or _ROW.match(row["text"]):
            name = f"{found['type']} {found['op']} {found['size']} B"
            same = place | {"host": reporter(row)["host"], "phase": "comm", "name": name, "time_ns": row["time_ns"]}
            for level, way in ((1, "out"), (2, "in")):
                timings.append(same | {"level": level, "value_ms": float(found[f"{way}_time"]) / 1000})
            if wrong := max(_wrong(found["out_wrong"]), _wrong(found["in_wrong"])):
                events.append(event(row, "other", severity="error", code="wrong_result", value=wrong))
        elif named := _RANK.match(row["text"]):
            claim = {"rank": int(named["rank"]), "pid": int(named["pid"]), "device_index": int(named["device"])}
            pci = named["bus"].lower() if ":" in named["bus"] else None
            ranks.append(place | claim | {"host": named["host"], "pci": pci, "how": "nccl-tests"})
        elif _TITLE.match(row["text"]):
            known.append((row["file"], row["line"]))
    return tables_of(timings=timings, ranks=ranks, events=events, claimed=claimed(known))  # fmt: skip


def _wrong(text: str) -> float:
    """The number of wrong values; until 2.11 the largest error, which is no count."""
    return 0.0 if text == "N/A" or "e" in text or "." in text else float(text)


PARSER = LineParser(
    name="nccl_tests",
    anchors=(b" float ", b" half ", b" bfloat16 ", b" double ", b" int8 ", b" uint8 ", b" int32 ", b" uint32 ", b" int64 ", b" uint64 ",
             b" f8e4m3 ", b" f8e5m2 ", b"(elements)", b"  count  ", b"# Out of bounds", b"# Avg bus bandwidth", b"#  Rank ", b"# nThread",
             b"# Using devices", b"# nccl-tests"),
    parse=parse,
)  # fmt: skip
