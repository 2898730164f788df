"""Kernel lines of the Moore Threads, MetaX and AMD drivers."""

import json

import pytest

from parsers.kernel import amdgpu, metax, mthreads
from parsers.schema.event_kinds import EVENT_KINDS
from parsers.schema.parser import LineParser
from tests.lines import lines

Rows = list[tuple[str | int | None, ...]]

MT = "MTGPU:(Error):   512-  519: ECC fault GPU=0x00000001 FW=0x00000000 [1204]"
MX = "METAX.B10200.ATU.ERROR EID (0001:02:00.0): 0x2101, page fault at va 0x7f00"
AMD = "amdgpu 0000:c1:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block"

CASES = [
    pytest.param(mthreads.PARSER, "", [], id="mt_empty"),
    pytest.param(mthreads.PARSER, "[DMA][x] nothing", [], id="mt_foreign"),
    pytest.param(mthreads.PARSER, MT, [("gpu_error", "mt:4001", "error", None)], id="mt_ecc"),
    pytest.param(mthreads.PARSER, MT + "\r", [("gpu_error", "mt:4001", "error", None)], id="mt_crlf"),
    pytest.param(
        mthreads.PARSER,
        "MTGPU: mtlink: local link ID:2 remote link ID:5 link down",
        [("link_down", "mt:1002", "error", None)],
        id="mt_link",
    ),
    pytest.param(mthreads.PARSER, "MTGPU: local link ID:2 link up", [("link_up", "mt:1001", "info", None)], id="mt_up"),
    pytest.param(
        mthreads.PARSER,
        "MTGPU:(Error):    77: mtlink recovery failed and the system needs to be restarted.",
        [("link_down", "mt:1003", "fatal", None)],
        id="mt_recovery",
    ),
    pytest.param(
        mthreads.PARSER,
        "MTGPU:(Fatal):    77: something new",
        [("gpu_error", "mt:unknown", "fatal", None)],
        id="mt_new",
    ),
    pytest.param(
        mthreads.PARSER, "MTGPU:(Error): 7: error_id: 9123", [("gpu_error", "mt:9123", "error", None)], id="mt_new_id"
    ),
    pytest.param(mthreads.PARSER, "MTGPU:(Mesg):     77: loaded", [], id="mt_message"),
    pytest.param(
        mthreads.PARSER,
        "[MTGPU P2P][ERROR][mtgpu_p2p_map][88] map of 0000:3b:00.0 failed",
        [("gpu_error", "mt:unknown", "error", "0000:3b:00.0")],
        id="mt_p2p",
    ),
    pytest.param(
        mthreads.PARSER,
        MT + " MTGPU:(Warn):    512: Device status not OK!",
        [("gpu_error", "mt:4001", "error", None), ("gpu_error", "mt:2002", "error", None)],
        id="mt_glued",
    ),
    pytest.param(mthreads.PARSER, "\ufffd" + MT[:30], [("gpu_error", "mt:unknown", "error", None)], id="mt_cut"),
    pytest.param(metax.PARSER, "", [], id="mx_empty"),
    pytest.param(metax.PARSER, "EID (of a person)", [], id="mx_foreign"),
    pytest.param(metax.PARSER, MX, [("gpu_error", "eid:0x2101", "error", "0001:02:00.0")], id="mx_new"),
    pytest.param(metax.PARSER, MX + "\r", [("gpu_error", "eid:0x2101", "error", "0001:02:00.0")], id="mx_crlf"),
    pytest.param(
        metax.PARSER,
        "METAX.B10200.ATU.ERROR page fault at va 0x7f00",
        [("gpu_error", None, "error", "0001:02:00.0")],
        id="mx_old",
    ),
    pytest.param(
        metax.PARSER,
        "CRIT EID(0001:02:00.0): 0x7777,unheard of,call us",
        [("gpu_error", "eid:0x7777", "fatal", "0001:02:00.0")],
        id="mx_generic_unknown",
    ),
    pytest.param(metax.PARSER, "METAX.B10200.DRV.INFO loaded", [], id="mx_info"),
    pytest.param(
        metax.PARSER,
        MX + MX,
        [("gpu_error", "eid:0x2101", "error", "0001:02:00.0")] * 2,
        id="mx_glued",
    ),
    pytest.param(metax.PARSER, "\ufffd" + MX[:38], [("gpu_error", None, "error", "0001:02:00.0")], id="mx_cut"),
    pytest.param(amdgpu.PARSER, "", [], id="amd_empty"),
    pytest.param(amdgpu.PARSER, "amdgpu 0000:c1:00.0: Fetched VBIOS", [], id="amd_foreign"),
    pytest.param(amdgpu.PARSER, AMD, [("gpu_error", "ras:uncorrectable", "fatal", "0000:c1:00.0")], id="amd"),
    pytest.param(
        amdgpu.PARSER,
        "amdgpu 0000:c1:00.0: amdgpu: {3} uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        [("gpu_error", "ras:ERREVENT_ATHUB_INTERRUPT", "fatal", "0000:c1:00.0")],
        id="amd_athub",
    ),
    pytest.param(
        amdgpu.PARSER,
        "amdgpu: [drm] RAS event of type ERREVENT_ATHUB_INTERRUPT detected!",
        [("gpu_error", "ras:ERREVENT_ATHUB_INTERRUPT", "fatal", None)],
        id="amd_athub_without_address",
    ),
    pytest.param(
        amdgpu.PARSER,
        "amdgpu 0000:c1:00.0: amdgpu: socket: 3, die: 0, 1 new correctable hardware errors detected in gfx block",
        [("gpu_error", "ras:correctable", "warning", "0000:c1:00.0")],
        id="amd_new",
    ),
    pytest.param(
        amdgpu.PARSER,
        "amdgpu 0000:c1:00.0: amdgpu: no uncorrectable hardware errors detected in umc block",
        [],
        id="amd_all_clear",
    ),
    pytest.param(
        amdgpu.PARSER,
        "amdgpu 0000:c1:00.0: amdgpu: {7} socket: 3, 4 correctable hardware errors detected in total in umc block",
        [],
        id="amd_total",
    ),
    pytest.param(amdgpu.PARSER, AMD[:50], [], id="amd_cut"),
]


@pytest.mark.parametrize(("parser", "text", "rows"), CASES)
def test_lines(parser: LineParser, text: str, rows: Rows) -> None:
    events = parser.parse(lines(text, rank=2))["events"]
    assert events.select("kind", "code", "severity", "pci").rows() == rows
    assert events["rank"].null_count() == events.height


def test_innocent_context_is_a_victim() -> None:
    text = "MTGPU:(Error):  9: Innocent Lockup\nMTGPU:(Error):  9: Guilty Lockup"
    events = mthreads.PARSER.parse(lines(text))["events"]
    assert events["severity"].to_list() == ["warning", "error"]
    assert [json.loads(text).get("role") for text in events["detail"]] == ["innocent", "guilty"]


def test_catalogues_use_known_kinds_and_name_their_source() -> None:
    for row in (*mthreads.catalogue().values(), *metax.catalogue().values()):
        assert row["kind"] in EVENT_KINDS
        assert row["severity"] in {"info", "warning", "error", "fatal"}
        assert row["source"]


def test_the_context_of_a_recovery_names_its_process() -> None:
    text = "MTGPU:(Error):   512: Recovery 1: PID = 4711, frame = 0, HWRTData = 0x0, EventStatus = 0x10, Guilty Lockup"
    [row] = mthreads.PARSER.parse(lines(text))["events"].rows(named=True)
    assert (row["pid"], json.loads(row["detail"])["role"]) == (4711, "guilty")
