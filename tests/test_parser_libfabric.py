"""libfabric's log and the OFI plugin: transfers that failed, and whom they were for."""

from typing import Any

import pytest

from parsers.comm.libfabric import PARSER
from tests.lines import lines

EFA = "libfabric:4711:1769854272::efa:cq:efa_rdm_txe_handle_error():737<warn> "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (EFA + "err: 5, message: Invalid address My EFA addr: fi_addr_efa://[fe80::1]:0:77 My host id: i-0a1 Peer EFA addr: "
         "fi_addr_efa://[fe80::2]:0:80 Peer host id: i-0b2 (7)", [("completion_error", "Invalid address", ["i-0b2"], 4711)]),
        (EFA + "err: 21, message: Unresponsive remote (12)", [("completion_error", "Unresponsive remote", None, 4711)]),
        ("libfabric:4711:1769854272::core:core:fi_getinfo_():1368<warn> fi_getinfo: provider efa returned an error",
         [("comm_warning", None, None, 4711)]),
        ("libfabric:4711:core:mr:ofi_default_cache_size():78<info> default cache size=7", []),
        ("NET/OFI Request 0x7f completed with error. RC: 107. Error: 4 (unreachable)",
         [("completion_error", "4 (unreachable)", None, None)]),
        ("NET/OFI Unable to register memory for device 0. RC: -12, Error: Cannot allocate memory",
         [("comm_warning", "ofi", None, None)]),
        ("n7:4711:4790 [4] ofi_process_cq:196 NCCL WARN NET/OFI Request completed with error. RC: 107. Error: 4", []),
        ("NET/OFI Using aws-ofi-nccl 1.7. RC: 0", []),
        ("MPIDI_OFI_handle_cq_error(9): OFI poll failed (ofi_events.c:9:MPIDI_OFI_handle_cq_error:Transport retry counter exceeded)",
         [("completion_error", "Transport retry counter exceeded", None, None)]),
        ("MPIDI_OFI_send(3): OFI tagged send failed (ofi_send.h:3:MPIDI_OFI_send:No route to host)",
         [("completion_error", "No route to host", None, None)]),
        ("x(4): OFI poll failed (default_ofi_events.h:4:x:Input/output error - UNDELIVERABLE)",
         [("completion_error", "Input/output error - UNDELIVERABLE", None, None)]),
        ("x(4): OFI poll failed (ofi_events.c:4:x:Connection reset by peer)", [("peer_closed", None, None, None)]),
        ("x(4): OFI poll failed (ofi_events.c:4:x:Truncation error)", []),
        ("x(4): OFI poll failed (ofi_events.c:4:x:Operation canceled)", []),
        ("", []),
    ],
)  # fmt: skip
def test_lines(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert PARSER.parse(lines(text))["events"].select("kind", "code", "names_hosts", "pid").rows() == expected


def test_the_time_is_its_own() -> None:
    [row] = PARSER.parse(lines(EFA + "err: 21, message: Unresponsive remote (12)"))["events"].rows(named=True)
    assert (row["time_ns"], row["time_basis"]) == (1769854272 * 10**9, "utc")


def test_both_ends_are_named() -> None:
    text = (
        EFA
        + "err: 5, message: Invalid address My EFA addr: x My host id: i-0a1 Peer EFA addr: y Peer host id: i-0b2 (7)"
    )
    [row] = PARSER.parse(lines(text))["events"].rows(named=True)
    assert (row["host"], row["names_hosts"]) == ("i-0a1", ["i-0b2"])
