"""Adapters and links: what is an error, and what every healthy node prints."""

import json

import pytest

from parsers.kernel.nic import PARSER
from tests.lines import lines

P = "mlx5_core 0000:41:00.0: "
UNPLUGGED = P + "Port module event: module 0, Cable unplugged"

CASES = [
    pytest.param("", [], id="empty"),
    pytest.param("mlx5_core: unknown", [], id="foreign"),
    pytest.param(UNPLUGGED, [("link_down", "cable_unplugged", "info", "0000:41:00.0")], id="unplugged"),
    pytest.param(UNPLUGGED + "\r", [("link_down", "cable_unplugged", "info", "0000:41:00.0")], id="crlf"),
    pytest.param(
        P + "Port module event: module 0, Cable plugged",
        [("link_up", "cable_plugged", "info", "0000:41:00.0")],
        id="plugged",
    ),
    pytest.param(
        P + "Port module event[error]: module 0, Cable error, High Temperature",
        [("port_error", "module_error", "warning", "0000:41:00.0")],
        id="hot",
    ),
    pytest.param(
        P + "mlx5_pcie_event:299:(pid 9): Detected insufficient power on the PCIe slot (27W).",
        [("other", "nic:slot_power", "info", "0000:41:00.0")],
        id="benign_power",
    ),
    pytest.param(
        P + "poll_health:955:(pid 0): device's health compromised - reached miss count",
        [("port_error", "nic:health", "fatal", "0000:41:00.0")],
        id="health",
    ),
    pytest.param(
        P + "print_health_info:431:(pid 0): synd 0x7: irisc not responding",
        [("port_error", "nic:health", "error", "0000:41:00.0")],
        id="synd",
    ),
    pytest.param(
        P + "wait_func:1194:(pid 77): CREATE_QP(0x500) timeout. Will cause a leak of a command resource",
        [("port_error", "nic:command_timeout", "error", "0000:41:00.0")],
        id="command",
    ),
    pytest.param(
        P + "mlx5_cmd_out_err:812:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed, status bad operation(0x2)",
        [("other", "nic:access_reg", "info", "0000:41:00.0")],
        id="benign_register",
    ),
    pytest.param("mlx5_core 0000:41:00.0 ib0: Link down", [("link_down", None, "warning", "0000:41:00.0")], id="down"),
    pytest.param("mlx5_core 0000:41:00.0 ib0: Link up", [("link_up", None, "info", "0000:41:00.0")], id="up"),
    pytest.param("ib6: lost carrier", [("link_down", None, "warning", None)], id="carrier_lost"),
    pytest.param("systemd-networkd[8]: ib6: Gained carrier", [("link_up", None, "info", None)], id="carrier_gained"),
    pytest.param("cali17ae: Lost carrier", [("link_down", None, "info", None)], id="container_link"),
    pytest.param(
        "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 3 timed out",
        [("port_error", "nic:tx_timeout", "error", None)],
        id="watchdog_old",
    ),
    pytest.param(
        "mlx5_core 0000:41:00.0 eth0: NETDEV WATCHDOG: CPU: 7: transmit queue 3 timed out 5004 ms",
        [("port_error", "nic:tx_timeout", "error", "0000:41:00.0")],
        id="watchdog_new",
    ),
    pytest.param(
        "bond0: (slave ens2f0): link status definitely down, disabling slave",
        [("link_down", None, "warning", None)],
        id="bond_down",
    ),
    pytest.param(
        "bond0: link status definitely up for interface ens2f0, 25000 Mbps full duplex",
        [("link_up", None, "info", None)],
        id="bond_up_old",
    ),
    pytest.param(
        "bond0: now running without any active interface!",
        [("link_down", "nic:bond", "error", None)],
        id="bond_without_any",
    ),
    pytest.param("bond0: (slave ens2f0): link status up again after 100 ms", [], id="bond_was_short"),
    pytest.param(UNPLUGGED[:50], [], id="cut"),
    pytest.param(
        "ib6: lost carrier ib7: lost carrier",
        [("link_down", None, "warning", None), ("link_down", None, "warning", None)],
        id="glued",
    ),
    pytest.param("\ufffd ib6: lost carrier", [("link_down", None, "warning", None)], id="not_utf8"),
]


@pytest.mark.parametrize(("text", "rows"), CASES)
def test_lines(text: str, rows: list[tuple[str, ...]]) -> None:
    assert PARSER.parse(lines(text))["events"].select("kind", "code", "severity", "pci").rows() == rows


def test_interface_is_kept() -> None:
    event = PARSER.parse(lines("ib6: lost carrier", host="n1")).get("events")
    assert event is not None
    assert json.loads(event["detail"][0])["interface"] == "ib6"
    assert event["host"].to_list() == ["n1"]


@pytest.mark.parametrize("driver", ["mlx5_core", "bnxt_en", "ice", "ionic", "hns3", "atlantic", "zynic"])
@pytest.mark.parametrize(
    ("said", "kind"),
    [("Link down", "link_down"), ("Link up", "link_up"), ("link is down", "link_down"), ("NIC Link is Down", "link_down"),
     ("NIC Link is Up 100000 Mbps full duplex", "link_up"), ("queue 3 is up", None), ("pciehp: Slot(1): Link Down", None)],
)  # fmt: skip
def test_the_link_of_whichever_driver(driver: str, said: str, kind: str | None) -> None:
    text = f"{driver} 0000:41:00.0 ens3f0np0: {said}"
    assert any(anchor in text.encode() for anchor in PARSER.anchors) or kind is None
    found = PARSER.parse(lines(text))["events"].select("kind", "pci").rows()
    assert found == ([(kind, "0000:41:00.0")] if kind else [])
