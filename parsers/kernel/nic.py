"""Lines of network and InfiniBand drivers and of the service that watches links.

Printed by the kernel's mlx5_core, bnxt, ena/efa drivers and net/sched (kernels 4.x to 6.x), and by systemd-networkd:

    mlx5_core 0000:41:00.0: Port module event: module 0, Cable unplugged
    mlx5_core 0000:41:00.0: Port module event[error]: module 0, Cable error, High Temperature
    mlx5_core 0000:41:00.0: poll_health:955:(pid 0): device's health compromised - reached miss count
    mlx5_core 0000:41:00.0 ib0: Link down
    ixgbe 0000:3b:00.0 eno1: NIC Link is Up 10 Gbps, Flow Control: RX/TX
    mlx5_core 0000:41:00.0: mlx5_pcie_event:299:(pid 9): Detected insufficient power on the PCIe slot (27W).
    mlx5_core 0000:41:00.0: wait_func:1194:(pid 77): CREATE_QP(0x500) timeout. Will cause a leak of a command resource
    systemd-networkd[5398]: ib6: lost carrier
    bond0: (slave ens2f0): link status definitely down, disabling slave      (before 5.5: "… for interface ens2f0, disabling it")
    bond0: now running without any active interface!
    NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 3 timed out            (before 6.8)
    mlx5_core 0000:41:00.0 eth0: NETDEV WATCHDOG: CPU: 7: transmit queue 3 timed out 5004 ms      (6.8 and later)

The power line is printed for every adapter of a healthy node, `ACCESS_REG … failed` and an empty cage at boot
("Cable unplugged" on a port that nobody uses) are common: they are severity info.

Printed by: the kernel's mlx5_core, bnxt_en, ena, efa, ice, i40e, ixgbe, bonding and net/sched, and systemd-networkd.
Versions: kernels 4.x to 6.x; NETDEV WATCHDOG in both word orders (6.8 changed it).
Source: the format strings of these drivers and of drivers/net/bonding; NVSentinel's public patterns.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_kernel
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

_BDF = r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])"
_MLX = rf"mlx5_core {_BDF}(?: (?P<interface>[\w.-]{{1,32}}))?: (?:\w+:\d+:\(pid \d+\): )?"
_SPEED = regex(r"(?<=[Uu]p)[ ,:(-]{1,4}(?:at )?(?P<number>\d{1,6}(?:\.\d)?) ?(?P<times>[GM])(?:bps|b/s|bit/s)")
LINK_SPEED = "link speed"  # a row of devices that is of the moment at which the link came up
_TIMES = {"G": 1.0, "M": 0.001}


def _module(groups: Mapping[str, str]) -> Mapping[str, Any]:
    what = groups["what"].lower()
    if "unplugged" in what:
        return {"kind": "link_down", "code": "cable_unplugged", "severity": "info"}
    if "plugged" in what:
        return {"kind": "link_up", "code": "cable_plugged", "severity": "info"}
    return {"kind": "port_error", "code": "module_error", "severity": "warning"}


def _carrier(groups: Mapping[str, str]) -> Mapping[str, Any]:
    is_up = "gained" in groups["change"].lower() or groups["change"].lower().endswith("up")
    # A dummy, bridge or container link flaps as part of daily life.
    is_fabric = re.match(r"ib|mlx|roce|rdma|hsn|en[ops]|eth|bond", groups.get("interface", "eth")) is not None
    return {"kind": "link_up" if is_up else "link_down", "severity": "warning" if is_fabric and not is_up else "info"}


RULES = (
    Rule(
        regex(rf"{_MLX}Port module event(?:\[error\])?: module (?P<module>\d+), (?P<what>[\w ,./-]{{3,80}})"),
        "port_error", refine=_module,
    ),
    Rule(
        regex(rf"{_MLX}Detected insufficient power on the PCIe slot \((?P<watts>\d+)W\)"),
        "other", "info", "nic:slot_power",
    ),
    Rule(
        regex(
            rf"{_MLX}(?P<what>device's health compromised|Fatal error \d+ detected|fw fatal[^\n]{{0,60}}"
            r"|unrecoverable hardware error|Firmware over temperature|NIC IFC is[^\n]{0,40}"
            r"|PCI slot[^\n]{0,60}unavailable)"
        ),
        "port_error", "fatal", "nic:health",
    ),
    Rule(
        regex(rf"{_MLX}(?:[^\n]{{0,80}}?)synd(?:rome)? (?P<syndrome>0x[0-9a-f]+): (?P<what>[^\n]{{1,80}})"),
        "port_error", "error", "nic:health",
    ),
    Rule(
        regex(
            rf"{_MLX}(?P<command>\w{1,64}\(0x[0-9a-f]{1,8}\)) (?:[^\n]{{0,60}})?"
            r"timeout\. Will cause a leak of a command resource"
        ),
        "port_error", "error", "nic:command_timeout",
    ),
    Rule(
        regex(rf"{_MLX}[^\n]{{0,80}}?timeout\. Will cause a leak of a command resource"),
        "port_error", "error", "nic:command_timeout",
    ),
    Rule(regex(rf"{_MLX}(?P<command>ACCESS_REG\(0x805\))[^\n]{{0,60}}failed"), "other", "info", "nic:access_reg"),
    Rule(
        regex(
            # Whatever the driver: the kernel's netdev_printk puts its name, the device and the interface before what it says.
            rf"\b[a-z]\w{{1,31}} {_BDF}(?: (?P<interface>[\w.-]{{1,32}}))?: "
            r"(?:[a-z]\w{1,31}: [\w.-]{1,32} )?(?:NIC )?(?P<change>[Ll]ink (?:is )?(?:down|up|Down|Up))"
        ),
        "link_down", refine=_carrier,
    ),
    Rule(
        regex(r"(?:^|[\s:])(?P<interface>[A-Za-z][\w.@-]{0,30}): (?P<change>[Ll]ost carrier|[Gg]ained carrier)"),
        "link_down", refine=_carrier,
    ),
    Rule(
        regex(r"\(slave (?P<interface>[\w.-]{1,32})\): link status definitely (?P<change>down|up)\b"),
        "link_down", refine=_carrier,
    ),
    Rule(
        regex(r": link status definitely (?P<change>down|up) for interface (?P<interface>[\w.-]{1,32}),"),
        "link_down", refine=_carrier,
    ),
    Rule(
        regex(r"\b(?P<interface>[\w.-]{1,32}): now running without any active (?:interface|slaves?)\b"),
        "link_down", "error", "nic:bond",
    ),
    Rule(
        regex(
            r"\b(?P<driver>\w{1,32}) (?P<pci>[0-9a-f:.]{7,16}) (?P<interface>[\w.-]{1,32}): NETDEV WATCHDOG: "
            r"CPU: \d+: transmit queue (?P<queue>\d+) timed out(?: (?P<ms>\d+) ms)?"
        ),
        "port_error", "error", "nic:tx_timeout",
    ),
    Rule(
        regex(
            r"NETDEV WATCHDOG: (?P<interface>[\w.-]{1,32})(?: \((?P<driver>[\w-]*)\))?: transmit "
            r"(?:queue (?P<queue>\d+) )?timed out(?: (?P<ms>\d+) ms)?"
        ),
        "port_error", "error", "nic:tx_timeout",
    ),
    Rule(
        regex(
            rf"\befa {_BDF}(?: \w+)?: (?P<what>[^\n]{{0,80}}?(?:fail|timeout|timed out|error|reset)[^\n]{{0,80}})"
        ),
        "port_error", "error", "nic:efa",
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events link_down, link_up, port_error, other; the interface is in `detail`, the adapter in `pci`. devices: how fast a link came up."""
    found = read_kernel(lines, RULES)
    came_up = found["events"].filter((pl.col("kind") == "link_up") & pl.col("host").is_not_null())
    speeds = [
        {"host": row["host"], "pci": row["pci"], "part": json.loads(row["detail"] or "{}").get("interface"), "metric": LINK_SPEED,
         "quantity": "port_gbps", "value": float(speed["number"]) * _TIMES[speed["times"]], "text": speed[0],
         "time_ns": row["time_ns"], "file": row["file"], "line": row["line"]}
        for row in came_up.iter_rows(named=True)
        if (speed := _SPEED.search(row["text"] or "")) is not None
    ]  # fmt: skip
    return {**found, "devices": table("devices", speeds)}


PARSER = LineParser(
    name="nic",
    anchors=(
        b"mlx5_core ", b"ost carrier", b"ained carrier", b"NETDEV WATCHDOG", b"efa 0", b": Link ", b": link ", b" NIC Link ",
        b"link status definitely ", b"without any active ",
    ),
    parse=parse, of_host=True,
)  # fmt: skip
