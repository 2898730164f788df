"""`nvidia-smi nvlink -s`: speed of each NVLink of each GPU, or that it is inactive.

    GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5269b708-…)
             Link 0: 25 GB/s
             Link 1: <inactive>
    NVML: Unable to retrieve NVLink information as all links are inactive

Metrics `nvlink/<n>/gb_per_s` (value null where inactive) and `nvlink/active` (links that are up, per GPU).

Printed by: nvidia-smi nvlink -s.
Versions: drivers 450 to 580.
Source: nvidia-smi nvlink --help, and the form of the report itself.
"""

from typing import Any

from parsers.forms.reading import real, text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_GPU = regex(r"^GPU (?P<index>\d{1,4}): .{1,200}\(UUID: (?P<uuid>[\w-]{4,80})\)")
_LINK = regex(r"^\s+Link (?P<link>\d{1,3}): (?:(?P<speed>[\d.]+) GB/s|(?P<state><\w+>|\S.{0,60}))")
_HEAD = regex(rb"(?m)^GPU \d+: .{1,200}\(UUID: [\w-]+\)\s*\n\s+Link \d+: |all links are inactive")
_NONE = regex(r"all links are inactive")
_LINES = 100_000


def accepts(_path: str, head: bytes) -> bool:
    """By a GPU line, followed by links."""
    start = head[:8192]
    return (b"\nGPU " in b"\n" + start or b"all links" in start) and _HEAD.search(start) is not None


def parse(source: Source) -> Tables:
    """devices: nvlink/<n>/gb_per_s and nvlink/active, with index and UUID."""
    rows: list[dict[str, Any]] = []
    gpus: list[tuple[dict[str, Any], int]] = []
    active = 0
    claimed: list[dict[str, Any]] = []
    place: dict[str, Any] = {"host": source.host, "file": source.path}

    def close() -> None:
        if gpus:
            gpu, line = gpus[-1]
            count = {"metric": "nvlink/active", "value": float(active), "text": str(active), "line": line}
            rows.append(place | gpu | count)

    for number, text in text_lines(source, _LINES):
        if found := _GPU.match(text):
            close()
            active = 0
            gpus.append(({"device_index": int(found["index"]), "uuid": found["uuid"]}, number))
            claimed.append({"file": source.path, "line": number})
        elif gpus and (found := _LINK.match(text)):
            active += found["speed"] is not None
            said = {"metric": f"nvlink/{found['link']}/gb_per_s", "value": real(found["speed"])}
            rows.append(place | gpus[-1][0] | said | {"text": found["speed"] or found["state"], "line": number})
        elif _NONE.search(text):
            claimed.append({"file": source.path, "line": number})
    close()
    return tables_of(devices=rows, claimed=claimed)


PARSER = FileParser(name="nvlink_status", accepts=accepts, parse=parse)
