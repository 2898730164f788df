"""State of RDMA ports: `ibstat`, `ibstatus` (infiniband-diags), `rdma link` (iproute2).

    CA 'mlx5_0'                                    ibstat
            Firmware version: 28.39.1002
            Port 1:
                    State: Down
                    Physical state: Polling
                    Rate: 400
    Infiniband device 'mlx5_0' port 1 status:      ibstatus
            state:           4: ACTIVE
            phys state:      5: LinkUp
            rate:            200 Gb/sec (4X HDR)
    link mlx5_0/1 state DOWN physical_state POLLING netdev ib0      rdma link

A metric is `ib/<adapter>/<port>/<field>`; of `state` the value is 1 where the port is active and 0 elsewhere, of
`rate` it is Gb/s. A port that is down may simply be unused: this is a state and no event.

Printed by: ibstat and ibstatus of infiniband-diags, rdma of iproute2.
Versions: those that print the forms above; none of them says its version there.
Source: the man pages of these tools and the kernel's names of port states.
"""

from typing import Any

from parsers.forms.reading import real, text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_ADAPTER = regex(r"^CA '(?P<adapter>[\w.-]{1,64})'")
_PORT = regex(r"^\s+Port (?P<port>\d{1,3}):\s*$")
_STATUS = regex(r"^Infiniband device '(?P<adapter>[\w.-]{1,64})' port (?P<port>\d{1,3}) status:")
_LINK = regex(
    r"^(?:\d+/\d+: |link )(?P<adapter>[\w.-]{1,64})/(?P<port>\d{1,3}):? .*?\bstate (?P<state>\w+) "
    r"physical_state (?P<physical>\w+)(?: netdev (?P<netdev>\S+))?"
)
_FIELD = regex(r"^\s+(?P<name>[\w ]{2,40}):\s+(?P<value>\S.{0,200})$")
_NAMES = {
    "state": "state", "physical state": "physical_state", "phys state": "physical_state", "rate": "rate",
    "link layer": "link_layer", "link_layer": "link_layer", "base lid": "base_lid", "sm lid": "sm_lid",
    "firmware version": "firmware", "ca type": "type", "port guid": "port_guid", "node guid": "node_guid",
}  # fmt: skip
_LINES = 100_000
_WORDS = (b"CA '", b"Infiniband device '", b"physical_state")
_HEAD = regex(
    rb"(?m)^CA '[\w.-]+'\s*$|^Infiniband device '[\w.-]+' port \d+ status:"
    rb"|^(?:\d+/\d+: |link )[\w.-]+/\d+:? .*physical_state"
)


def accepts(_path: str, head: bytes) -> bool:
    """By the first line of an adapter."""
    start = head[:4096]
    return any(word in start for word in _WORDS) and _HEAD.search(start) is not None


def parse(source: Source) -> Tables:
    """devices: ib/<adapter>/<port>/{state,physical_state,rate,…}; settings: nic_firmware per adapter."""
    reader = _Reader(source)
    for number, text in text_lines(source, _LINES):
        reader.read(number, text)
    return tables_of(devices=reader.devices, settings=reader.settings, claimed=reader.claimed)


class _Reader:
    def __init__(self, source: Source) -> None:
        self.place: dict[str, Any] = {"file": source.path, "host": source.host}
        self.devices: list[dict[str, Any]] = []
        self.settings: list[dict[str, Any]] = []
        self.claimed: list[dict[str, Any]] = []
        self.adapter = ""
        self.port: str | None = None

    def read(self, number: int, text: str) -> None:
        place = self.place | {"line": number}
        if found := _ADAPTER.match(text):
            self.adapter, self.port = found["adapter"], None
        elif found := _STATUS.match(text):
            self.adapter, self.port = found["adapter"], found["port"]
        elif found := _LINK.match(text):
            self.adapter, self.port = found["adapter"], found["port"]
            self._metric(place, "state", found["state"])
            self._metric(place, "physical_state", found["physical"])
            if found["netdev"]:
                self._metric(place, "netdev", found["netdev"])
            self.port = None
            return
        elif self.adapter and (found := _PORT.match(text)):
            self.port = found["port"]
        elif self.adapter and (found := _FIELD.match(text)) and (name := _NAMES.get(found["name"].strip().lower())):
            self._metric(place, name, found["value"].strip())
            return
        elif text[:1].strip():
            self.adapter = ""  # an unindented line of somebody else: the block is over
            return
        elif not (self.adapter and _FIELD.match(text)):
            return
        self.claimed.append({"file": place["file"], "line": number})

    def _metric(self, place: dict[str, Any], name: str, text: str) -> None:
        port = f"/{self.port}" if self.port else ""
        value = float("active" in text.lower() and "in" not in text.lower()[:2]) if name == "state" else None
        if name == "rate":
            value = real(text)
        self.devices.append(place | {"metric": f"ib/{self.adapter}{port}/{name}", "value": value, "text": text})
        if name == "firmware":
            self.settings.append(place | {"name": "nic_firmware", "value": text, "scope": f"nic {self.adapter}"})


PARSER = FileParser(name="ib", accepts=accepts, parse=parse)
