"""What NVIDIA's driver says of a device, in the words of each driver generation."""

import json
from typing import Any

import polars as pl
import pytest

from parsers.kernel.xid import PARSER
from tests.lines import lines


def _events(text: str, **columns: Any) -> list[dict[str, Any]]:
    return PARSER.parse(lines(text, **columns))["events"].rows(named=True)


@pytest.mark.parametrize(
    ("text", "expected", "message"),
    [
        ("NVRM: Xid (PCI:0000:5D:00): 94, pid=4711, name=python3, Contained: SM (0x1). RST: No, D-RST: No",
         {"code": "xid:94", "pci": "0000:5d:00", "pid": 4711}, "Contained: SM (0x1). RST: No, D-RST: No"),
        ("NVRM: Xid (PCI:0000:5d:00): 31, pid='<unknown>', name=<unknown>, Ch 00000010",
         {"code": "xid:31", "pid": None}, "Ch 00000010"),
        ("NVRM: Xid (PCI:0000:5d:00): 43, pid=12, Ch 00000010", {"code": "xid:43", "pid": 12}, "Ch 00000010"),
        ("NVRM: Xid (PCI:0000:5d:00): 63, Row Remapper: New row", {"code": "xid:63", "pid": None},
         "Row Remapper: New row"),
        ("NVRM: Xid (0000:5d:00): 13, 0001 0000\r", {"code": "xid:13", "pci": "0000:5d:00"}, "0001 0000"),
        ("kern  :warn  : 2026-01-21T04:41:44,28+00:00 NVRM: Xid (PCI:0000:5d:00): 13, x", {"code": "xid:13"}, "x"),
        ("6,3964,206764307,-;NVRM: Xid (PCI:0000:5d:00): 13, x", {"code": "xid:13"}, "x"),
        ("[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:00010000:5d:00): 13, x", {"pci": "10000:5d:00"}, "x"),
        ("NVRM: Xid (PCI:0000:5d:00): 13", {"code": "xid:13"}, ""),
        ("NVRM: Xid (PCI:0000:5d:00): 9999, pid=1, name=a b, new words",
         {"code": "xid:9999", "severity": None, "pid": 1}, "new words"),
    ],
    ids=["570", "515", "4xx", "no-pid", "oldest-crlf", "decoded", "kmsg", "wide-domain", "cut", "unknown"],
)  # fmt: skip
def test_xid(text: str, expected: dict[str, Any], message: str) -> None:
    [row] = _events(text, path_rank=3, host="n1")
    assert row["kind"] == "gpu_error" and row["rank"] is None and row["host"] == "n1"
    assert {key: row[key] for key in expected} == expected
    assert json.loads(row["detail"])["message"] == message


def test_glued_lines_are_two() -> None:
    rows = _events("NVRM: Xid (PCI:0000:5d:00): 48, DBE [ 9.1] NVRM: Xid (PCI:0000:5e:00): 63, Row")
    assert [(row["code"], row["pci"]) for row in rows] == [("xid:48", "0000:5d:00"), ("xid:63", "0000:5e:00")]


def test_reset_required_without_a_number() -> None:
    [row] = _events("NVRM: GPU 0000:5d:00.0: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned")
    assert (row["kind"], row["code"], row["pci"]) == ("gpu_error", "reset_required", "0000:5d:00.0")


def test_severity_and_action_come_from_the_catalogue() -> None:
    [row] = _events("NVRM: Xid (PCI:0000:5d:00): 95, pid=1, name=p, Uncontained: x")
    detail = json.loads(row["detail"])
    assert (row["severity"], detail["first_action"], detail["category"]) == ("fatal", "reset_gpu", "hardware")


def test_a_consequence_names_its_cause() -> None:
    [row] = _events("NVRM: Xid (PCI:0000:5d:00 GPU-I:01 GPU-CI:00): 45, Ch 00000008 caused by previous Xid 94")
    detail = json.loads(row["detail"])
    assert (detail["caused_by"], detail["is_consequence_of_other"], detail["instance"]) == (
        "xid:94", "yes", "GPU-I:01 GPU-CI:00",
    )  # fmt: skip


def test_sxid_reports_once() -> None:
    head = "nvidia-nvswitch2: SXid (PCI:0000:86:00.0): 12028, "
    text = "\n".join(head + rest for rest in ("Non-fatal, Link 61 egress error (First)",
                                              "Severity 0 Engine instance 61", "Data {0x1, 0x2}"))  # fmt: skip
    tables = PARSER.parse(lines(text))
    [row] = tables["events"].rows(named=True)
    assert (row["code"], row["severity"], row["pci"]) == ("sxid:12028", "error", "0000:86:00.0")
    assert json.loads(row["detail"])["link"] == 61 and tables["claimed"].height == 3


@pytest.mark.parametrize(
    ("text", "kinds", "address"),
    [
        ("NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus.", ["gpu_lost"], "0000:5d:00.0"),
        ("NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.", ["gpu_error", "gpu_lost"], "0000:5d:00"),
        ("NVRM: The NVIDIA GPU 0000:5d:00.0\n  NVRM: (PCI ID: 10de:2330) installed in this system has\n"
         "  NVRM: fallen off the bus and is not responding to commands.", ["gpu_lost"], "0000:5d:00.0"),
        ("NVRM: fallen off the bus and is not responding to commands.", ["gpu_lost"], None),
        ("NVRM: GPU 0000:5d:00.0: RmInitAdapter failed! (0x62:0xffff:2477)\nNVRM: GPU 0000:5d:00.0: rm_init_adapter "
         "failed, device minor number 3", ["gpu_lost"], "0000:5d:00.0"),
    ],
    ids=["line", "xid-79", "three-lines", "head-cut", "init"],
)  # fmt: skip
def test_lost_devices(text: str, kinds: list[str], address: str | None) -> None:
    rows = _events(text)
    assert [row["kind"] for row in rows] == kinds
    assert {row["pci"] for row in rows} == {address} and rows[-1]["severity"] == "fatal"


def test_identity_of_devices() -> None:
    text = "NVRM: GPU at PCI:0000:5D:00: GPU-0a1b2c3d-0000-1111-2222-333344445555\nNVRM: GPU Board Serial Number: 165"
    rows = PARSER.parse(lines(text, host="n1"))["devices"].rows(named=True)
    assert [(r["host"], r["pci"], r["metric"], r["text"]) for r in rows] == [
        ("n1", "0000:5d:00", "uuid", "GPU-0a1b2c3d-0000-1111-2222-333344445555"),
        ("n1", "0000:5d:00", "serial", "165"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "step 3",
        "NVRM: loading NVIDIA UNIX Open Kernel Module",
        "SXid (PCI:0000:86:00.0): 1, x",
        "NVRM: Xid (PCI:00",
    ],
    ids=["empty", "foreign", "boot", "no-switch", "cut"],
)
def test_says_nothing(text: str) -> None:
    assert _events(text) == []


def test_a_switch_whose_name_was_taken_for_a_label() -> None:
    text = "SXid (PCI:0000:86:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
    raw = f"2026-01-21T04:41:44+0000 n7 kernel: nvidia-nvswitch2: {text}"
    (row,) = PARSER.parse(lines(raw).with_columns(text=pl.lit(text)))["events"].rows(named=True)
    assert (row["code"], row["severity"], row["pci"]) == ("sxid:20034", "fatal", "0000:86:00.0")


def test_time_outs_of_the_firmware_come_in_storms_and_count_once() -> None:
    text = "\n".join([
        *["NVRM: GPU0 _kgspIsHeartbeatTimedOut: Heartbeat timed out, timeout 5200", "NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out"]
        * 3,
        "NVRM: GPU1 _kgspRpcRecvPoll: LibOS heartbeat timed out",
        "NVRM: GPU1 kgspBootstrap: bootstrapping",
    ])  # fmt: skip
    events = PARSER.parse(lines(text))["events"]
    assert events.select("line", "code", "severity").rows() == [(at, "gsp_timeout", "error") for at in (1, 2, 7)]


def test_an_sxid_whose_first_line_is_lost_is_read_from_its_second() -> None:
    head = "nvidia-nvswitch2: SXid (PCI:0000:86:00.0): "
    second = "12028, Severity 1 Engine instance 61 Sub-engine instance 00"
    assert PARSER.parse(lines(head + second))["events"].select("code", "severity").rows() == [("sxid:12028", "fatal")]
    whole = f"{head}12028, Non-fatal, Link 61 egress non-posted PRIV error (First)\n{head}{second}"
    assert PARSER.parse(lines(whole))["events"]["severity"].to_list() == ["error"]


def test_lines_of_many_hosts_are_read_host_by_host_without_a_frame_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a loss says on a second line is of the host whose first line it was, however the hosts mix in one log."""
    head, tail = "NVRM: The NVIDIA GPU 0000:{}:00.0", "NVRM: fallen off the bus and is not responding to commands."
    mixed = lines("\n".join([head.format("01"), head.format("02"), tail, tail]))
    mixed = mixed.with_columns(host=pl.Series(["n1", "n2", "n2", "n1"], dtype=mixed.schema["host"]))
    monkeypatch.setattr(pl.DataFrame, "group_by", None)
    rows = PARSER.parse(mixed)["events"].select("host", "pci").rows()
    assert rows == [("n1", "0000:01:00.0"), ("n2", "0000:02:00.0")]
