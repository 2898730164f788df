"""Who a sample of Prometheus is about: labels of dcgm-exporter, node-exporter and xpu_timer → columns of `devices`."""

from typing import Any

from parsers.forms.reading import real, whole
from parsers.schema.parser import Source
from parsers.schema.rules import pci
from parsers.text.patterns import regex

_WHO = {
    "host": ("Hostname", "hostname", "host", "node", "nodename", "ip", "instance"),
    "rank": ("rank", "global_rank"),
    "device_index": ("gpu", "gpu_index", "device_index"),
    "uuid": ("UUID", "uuid"),
    "pci": ("pci_bus_id", "pci", "bus_id"),
}
_WITH_PORT = regex(r"^(?P<host>[A-Za-z0-9][\w.-]*):\d{1,5}$")


def sample(name: str, labels: dict[str, str], value: str, source: Source) -> dict[str, Any]:
    """A sample → a row of `devices` without place and time; labels that do not say who stay in the metric, sorted."""
    labels = dict(labels)
    said = {column: _taken(labels, names) for column, names in _WHO.items()}
    others = ",".join(f'{label}="{text}"' for label, text in sorted(labels.items()))
    rank, host = whole(said["rank"]), said["host"]
    if host and (found := _WITH_PORT.match(host)):
        host = found["host"]
    if rank is None:
        names, place = source.labels.names, labels.get("pod", host)
        rank = names.of_record(place, whole(labels.get("node_rank")), whole(labels.get("local_rank")))
    return {
        "host": host if host is not None else source.host,
        "rank": rank if rank is not None else source.rank,
        "device_index": whole(said["device_index"]),
        "uuid": said["uuid"],
        "pci": pci(said["pci"]) if said["pci"] else None,
        "metric": name + (f"{{{others}}}" if others else ""),
        "value": real(value),
        "text": value,
    }


def _taken(labels: dict[str, str], names: tuple[str, ...]) -> str | None:
    return next((labels.pop(name) for name in names if name in labels), None)
