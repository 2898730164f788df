"""The default table of `nvidia-smi`, drivers 450 to 580: state of each GPU, and which process uses which.

    | NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
    |   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |
    | N/A   27C    P0             72W /  700W |    1024MiB /  81559MiB |      0%      Default |
    |                                         |                        |             Disabled |
    |    0   N/A  N/A      8123      C   /usr/bin/python3                           70012MiB |

The process list gives the pid as the host counts it, which the kernel log uses, too. `ERR!` is kept as text.

Printed by: nvidia-smi without arguments.
Versions: drivers 450 to 580, both widths of the table.
Source: nvidia-smi's manual, and the form of the table itself.
"""

from typing import Any

import polars as pl

from parsers.forms.reading import real
from parsers.schema.lines import Row, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import integer, pci
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_VERSIONS = regex(r"\| NVIDIA-SMI \S+\s+Driver Version: (?P<driver>[\d.]+)\s+CUDA Version: (?P<cuda>[\w./]+)")
_DEVICE = regex(
    r"\|\s{1,4}(?P<index>\d{1,3})\s+(?P<name>\S.{0,40}?)\s+(?P<persistence>On|Off)\s*\|"
    r"\s*(?P<pci>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s+\S+\s*\|\s*(?P<ecc>\S+)\s*\|"
)
_STATE = regex(
    r"\|\s?(?P<fan>N/A|ERR!|\d+%)\s+(?P<temperature>\d+C|N/A|ERR!)\s+(?P<performance>P\d+|N/A|ERR!)\s+"
    r"(?P<power>[\d.]+W|N/A|ERR!) ?/\s+(?P<limit>[\d.]+W|N/A|ERR!)\s*\|"
    r"\s*(?P<used>[\d.]+)MiB /\s+(?P<total>[\d.]+)MiB\s*\|"
    r"\s+(?P<utilization>\d+%|N/A|ERR!)\s+(?P<mode>\S[\w. ]{0,20}?)\s*\|"
)
_MIG = regex(r"\|\s+\|\s+\|\s+(?P<mig>Enabled\*?|Disabled\*?|N/A)\s*\|")
_PROCESS = regex(
    r"\|\s{2,5}(?P<index>\d{1,3})\s+(?:(?P<gi>N/A|\d+)\s+(?P<ci>N/A|\d+)\s+)?(?P<pid>\d{1,10})\s+(?P<type>C\+G|C|G|M\+C)\s+"
    r"(?P<name>\S.{0,80}?)\s+(?P<used>\d+)MiB\s*\|"
)
_METRICS = ("temperature", "performance", "power", "limit", "used", "total", "utilization")


def parse(lines: pl.DataFrame) -> Tables:
    """devices (temperature C, power W, used and total MiB, utilization %, ecc), settings, ranks (pid on which GPU)."""
    reader = _Reader()
    for row in lines.sort("file", "line").iter_rows(named=True):
        reader.read(row)
    return tables_of(devices=reader.devices, settings=reader.settings, ranks=reader.ranks)


class _Reader:
    def __init__(self) -> None:
        self.devices: list[dict[str, Any]] = []
        self.settings: list[dict[str, Any]] = []
        self.ranks: list[dict[str, Any]] = []
        self.gpu: dict[str, Any] = {}
        self.file: str | None = None
        self.addresses: dict[tuple[str | None, int | None], str] = {}

    def read(self, row: Row) -> None:
        text = (row["text"] or "")[:2000]
        if row["file"] != self.file:
            self.file, self.gpu, self.addresses = row["file"], {}, {}
        said = reporter(row)
        place, host = {name: said[name] for name in ("host", "file", "line")}, said["host"]
        if found := _VERSIONS.search(text):
            self._settings(place, "version", driver=found["driver"], cuda=found["cuda"])
        elif found := _DEVICE.search(text):
            self.gpu = {"pci": pci(found["pci"]), "device_index": integer(found["index"])}
            self.addresses[host, self.gpu["device_index"]] = self.gpu["pci"]
            self._devices(row, place, ecc_uncorrected_volatile=found["ecc"])
            said = {"gpu_name": found["name"], "persistence_mode": found["persistence"]}
            self._settings(place, f"gpu {self.gpu['pci']}", **said)
        elif found := _PROCESS.search(text):
            index = integer(found["index"])
            where = {"device_index": index, "pci": self.addresses.get((host, index))}
            self.ranks.append({"pid": integer(found["pid"]), "how": "nvidia-smi"} | where | place)
        elif self.gpu and (found := _STATE.search(text)):
            self._devices(row, place, **{name: found[name] for name in _METRICS})
            self._settings(place, f"gpu {self.gpu['pci']}", compute_mode=found["mode"])
        elif self.gpu and (found := _MIG.search(text)):
            self._settings(place, f"gpu {self.gpu['pci']}", mig_mode=found["mig"])
            self.gpu = {}

    def _devices(self, row: Row, place: dict[str, Any], **metrics: str) -> None:
        stamp = {"time_ns": row["time_ns"]} | self.gpu | place
        for name, text in metrics.items():
            if text != "N/A":
                self.devices.append({"metric": name, "value": real(text.rstrip("CW%P")), "text": text} | stamp)

    def _settings(self, place: dict[str, Any], scope: str, **values: str) -> None:
        for name, value in values.items():
            if value != "N/A":
                self.settings.append({"name": name, "value": value, "scope": scope} | place)


# The second line of a GPU has no word of its own; `MiB / ` is the rarest thing that it always holds.
PARSER = LineParser(
    name="nvidia_smi_table",
    anchors=(b"| NVIDIA-SMI ", b" On  |", b" Off  |", b" On |", b" Off |", b"MiB / ", b"|             Disabled |",
             b"|              Enabled |", b"|                  N/A |", b"MiB |"),
    parse=parse, of_host=True,
)  # fmt: skip
