"""Labels of Kubernetes nodes that say where a node stands: `kubectl get nodes -o json`, `--show-labels`, `-L LABEL`.

    {"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "gpu-017", "labels": {
      "topology.kubernetes.io/zone": "z1", "network.topology.nvidia.com/leaf": "leaf-3"}}}]}
    NAME     STATUS  ROLES   AGE  VERSION  LABELS
    gpu-017  Ready   <none>  9d   v1.31.2  kubernetes.io/os=linux,topology.kubernetes.io/zone=z1
    NAME     STATUS  ROLES   AGE  VERSION  RACK  ZONE
    gpu-017  Ready   <none>  9d   v1.31.2  r03   z1

A label tells a place where its key speaks of topology, or ends in the name of a place (rack, switch, zone, …).

Printed by: kubectl get nodes with -o json, --show-labels or -L.
Versions: Node of core/v1.
Source: the well-known labels of Kubernetes; Topograph's, AWS' and Google's reference of node labels.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from parsers.forms.reading import text_lines, whole_json
from parsers.location.places import PLACES
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table, tables_of
from parsers.text.patterns import regex

_HEADER = regex(r"^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION\b(?P<more>.*)$")
_NODE = regex(rb'"kind":\s*"Node"')
_TOPOLOGY = regex(r"topology|topograph|gpu\.clique")
_BYTES = 256 << 20
_EMPTY = ("", "<none>")


def accepts(_path: str, head: bytes) -> bool:
    """By the table's header with labels, or a JSON document of nodes."""
    start = head[:16384].lstrip()
    if start[:1] == b"{":
        return _NODE.search(start) is not None and b'"labels"' in start
    if not start.startswith(b"NAME"):
        return False
    header = _HEADER.match(start.decode("utf-8", "replace").split("\n", 1)[0])
    return header is not None and _columns(header["more"]) != []


def parse(source: Source) -> Tables:
    """locations, a row per node and label that tells a place."""
    with source.open() as stream:
        is_json = stream.read(64).lstrip()[:1] == b"{"
    return _json(source) if is_json else _text(source)


def _columns(more: str) -> list[str]:
    """The names of the columns after VERSION, where they are labels: `-o wide` has others."""
    names = more.split()
    return [] if "INTERNAL-IP" in names else names


def _text(source: Source) -> Tables:
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    columns: list[str] = []
    for number, text in text_lines(source):
        place = {"file": source.path, "line": number}
        if header := _HEADER.match(text):
            columns = _columns(header["more"])
        cells = text.split()[5:]
        if len(cells) != len(columns):
            continue
        labels = dict(zip([name.lower() for name in columns], cells, strict=True))
        listed = labels.pop("labels", "")
        labels |= dict(one.partition("=")[::2] for one in listed.split(",") if "=" in one)
        if not header:
            rows += [place | {"host": text.split()[0]} | one for one in _places(labels)]
        claimed.append(place)
    return tables_of(locations=rows, claimed=claimed)


def _json(source: Source) -> Tables:
    document, refused = whole_json(source, _BYTES)
    if document is None:
        return refused
    items = document.get("items", [document])
    rows = [
        {"file": source.path, "record": record, "host": host} | one
        for record, item in enumerate(items if isinstance(items, list) else [])
        if isinstance(item, dict) and item.get("kind", "Node") == "Node"
        for host, labels in _labels(item)
        for one in _places(labels)
    ]
    return {"locations": table("locations", rows)}


def _labels(node: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    about = node.get("metadata")
    labels = about.get("labels") if isinstance(about, dict) else None
    if isinstance(about, dict) and isinstance(labels, dict) and about.get("name"):
        yield str(about["name"]), labels


def _places(labels: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key, value in sorted(labels.items()):
        sort = key.rpartition("/")[2].lower()
        if (_TOPOLOGY.search(key) or sort in PLACES) and str(value) not in _EMPTY:
            yield {"sort": sort[:80], "name": str(value)[:200]}


PARSER = FileParser(name="node_labels", accepts=accepts, parse=parse)
