"""Lines of the kernel driver of Intel Gaudi.

    habanalabs hl3: device heartbeat failed!
    habanalabs hl3: Going to reset device
    habanalabs 0000:34:00.0: Failed to reset! Device is NOT usable !
    habanalabs 0000:34:00.0: accel3: Killing user process pid=4711
    habanalabs hl3: Failed to communicate with Device CPU (CPU-CP timeout)

Events `gpu_lost` where the device answers no more, `gpu_error` for what the driver reports of it besides, code = in short what; `device_index`
as the driver counts, or the address.

Printed by: habanalabs, of Linux's drivers/accel.
Versions: Linux 5.10 and later; the device's name in place of its address since 6.
Source: torvalds/linux: drivers/accel/habanalabs/common/device.c, firmware_if.c and gaudi2/gaudi2.c, as far as known; not read for this list.
"""

from typing import Any

import polars as pl

from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.rules import pci
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

_LINE = regex(
    r"\bhabanalabs (?:hl(?P<index>\d{1,3})|(?P<pci>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])): (?P<said>.{1,400})"
)
_USER = regex(r"(?i)\bprocess \(?pid[=: ] ?(\d{1,10})\b")  # who used the device, and is ended before it is reset
# What the driver says, and how grave it is: kind, code, severity.
_SAID = (
    (regex(r"(?i)device heartbeat failed"), "gpu_lost", "heartbeat", "fatal"),
    (regex(r"(?i)device is not usable"), "gpu_lost", "not_usable", "fatal"),
    (regex(r"(?i)failed to communicate with device cpu|device cpu .{0,40}timeout"), "gpu_error", "firmware", "error"),
    (regex(r"(?i)going to (?:hard-?)?reset device"), "gpu_error", "reset", "error"),
    (regex(r"(?i)killing user process"), "gpu_error", "process_killed", "error"),
    (regex(r"(?i)\b(?:SERR|DERR|uncorrectable|double[- ]bit)\b|SEI_SEVERE|fatal (?:event|error)|RAZWI|page fault"), "gpu_error", "event", "error"),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events gpu_lost, gpu_error."""
    rows = []
    for row in lines.iter_rows(named=True):
        found = _LINE.search(row["text"][:2000])
        told = next((one for one in _SAID if found is not None and one[0].search(found["said"])), None)
        if found is not None and told is not None:
            _, kind, code, severity = told
            said: dict[str, Any] = {"rank": None, "local_rank": None, "code": code, "severity": severity}
            said |= {"pci": pci(found["pci"])} if found["pci"] else {"device_index": int(found["index"])}
            said |= {"pid": int(user[1])} if (user := _USER.search(found["said"])) is not None else {}
            rows.append(event(row, kind, **said))
    return {"events": table("events", rows)}


PARSER = LineParser(name="habanalabs", anchors=(b"habanalabs ",), parse=parse, of_host=True)
