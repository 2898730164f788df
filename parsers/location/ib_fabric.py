"""`ibnetdiscover`: which adapter of which host hangs on which InfiniBand switch.

    vendid=0x2c9
    switchguid=0xb8599f0300aa0001(b8599f0300aa0001)
    Switch  41 "S-b8599f0300aa0001"         # "leaf-3a;sw:MQM8700" enhanced port 0 lid 7 lmc 0
    [1]     "H-0c42a10300bb0001"[1](c42a10300bb0001)                # "gpu-017 mlx5_0" lid 31 4xHDR
    [21]    "S-b8599f0300cc0001"[3]         # "spine-1" lid 2 4xHDR
    Ca      1 "H-0c42a10300bb0001"          # "gpu-017 mlx5_0"

The host and the adapter are the node description that the host's own daemon gives; an adapter with the maker's description
alone tells no host. A switch is called by its description, or by its identifier where several have the same one.

Printed by: ibnetdiscover of infiniband-diags.
Versions: those that print the form above; it says none.
Source: ibnetdiscover(8), section on the topology file format.
"""

from collections import Counter
from typing import Any

from parsers.forms.reading import text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_NODE = regex(r'^(?P<sort>Switch|Ca|Rt)\s+\d{1,4}\s+"(?P<id>[SHR]-[0-9a-f]{1,16})"\s*#\s*"(?P<name>[^"]{0,200})"')
_LINK = regex(
    r'^\[\d{1,4}\](?:\[[^\]]*\])?(?:\([0-9a-f]+\))?\s+"(?P<id>[SHR]-[0-9a-f]{1,16})"\[\d{1,4}\](?:\([0-9a-f]+\))?\s*#\s*(?:lid \d+ lmc \d+ )?'
    r'"(?P<name>[^"]{0,200})"'
)
_ADAPTER = regex(r"^(?P<host>[A-Za-z0-9][\w.-]*)[ /](?P<part>[a-z][a-z0-9]*_?\d+|HCA-\d+|ibp\w+)$")
_FORM = regex(r"^(?:vendid|devid|sysimgguid|switchguid|caguid|rtguid)=0x|^#|^\s*$")
_HEAD = regex(rb'(?m)^(?:Switch|Ca|Rt)\s+\d+\s+"[SHR]-[0-9a-f]+"')
_ID = regex(rb'"[SHR]-')
_LINES = 2_000_000


def accepts(_path: str, head: bytes) -> bool:
    """By the line of a node."""
    return _ID.search(head) is not None and _HEAD.search(head) is not None


def parse(source: Source) -> Tables:
    """locations: host, adapter as `part`, switch as `name`."""
    switches: dict[str, str] = {}
    found: list[tuple[str, str, str, int]] = []  # switch, host, adapter, line
    claimed: list[dict[str, Any]] = []
    here = ""
    for number, text in text_lines(source):
        if number > _LINES:
            break
        if node := _NODE.match(text):
            here = node["id"] if node["sort"] == "Switch" else ""
            if here:
                switches[here] = node["name"].partition(";")[0].strip() or here
        elif (link := _LINK.match(text)) is not None:
            adapter = _ADAPTER.match(link["name"].strip())
            if here and link["id"].startswith("H-") and adapter:
                found.append((here, adapter["host"], adapter["part"], number))
                continue
        elif not _FORM.match(text):
            continue
        claimed.append({"file": source.path, "line": number})
    named = Counter(switches.values())
    rows = [
        {"host": host, "part": part, "sort": "switch", "level": 0, "file": source.path, "line": line,
         "name": switches[switch] if named[switches[switch]] == 1 else switch}
        for switch, host, part, line in found
    ]  # fmt: skip
    return tables_of(locations=rows, claimed=claimed)


PARSER = FileParser(name="ib_fabric", accepts=accepts, parse=parse)
