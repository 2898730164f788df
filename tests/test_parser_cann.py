"""Error codes of Ascend's CANN and torch_npu on a program's standard error."""

import json
from typing import Any

import pytest

from parsers.comm.cann import PARSER
from tests.lines import lines

AT = "2026-01-31-10:11:12.123.456"
WAIT = (
    "The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from "
    "remote rank: [24]. base information: [streamID:[87], taskID[52], tag[AllReduce_g1]]. group information: [group:[g1]]"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"EI0002: [PID: 63] {AT} {WAIT}", [("collective_timeout", "EI0002", [24], 63)]),
        (f"[PID: 63] {AT} Communication_Error_Timeout(EI0002): {WAIT}", [("collective_timeout", "EI0002", [24], 63)]),
        (f"EI0002: {WAIT} Possible Cause: the samples of each NPU are inconsistent", [("collective_timeout", "EI0002", [24], None)]),
        (f"EI9999: {AT}  The error from device(chipId:3), hccl fftsplus task timeout occurred [FUNC:ProcessTimeoutErrorInfo]",
         [("collective_timeout", "EI9999", None, None)]),
        (f"EI0006: [PID: 63] {AT} Getting socket times out. Reason: remote ip [10.0.0.7]", [("connect_failed", "EI0006", None, 63)]),
        (f"EI0006: [PID: 63] {AT} Getting socket times out. Reason: Remote Rank did not send the data in time.",
         [("collective_timeout", "EI0006", None, 63)]),
        (f"EZ9999[PID: 63] {AT} (EZ9999):  Kernel task happen error, retCode=0x25", [("other", "EZ9999", None, 63)]),
        ("RuntimeError: x:363 NPU function error: AclrtSynchronizeDeviceWithTimeout, error code is 107020",
         [("collective_timeout", "107020", None, None)]),
        ("RuntimeError: NPU function error: call aclnnX failed, error code is 561103", []),
        ("RuntimeError: x:29 OPS function error: HcclAllGather, error code is 9", [("collective_timeout", "hccl:9", None, None)]),
        ("RuntimeError: x:29 HCCL function error: HcclGetRootInfo(&id), error code is 7", [("comm_warning", "hccl:7", None, None)]),
        ("RuntimeError: x:29 HCCL function error: HcclReduce, error code is 1", []),
        ("EI9999: Inner Error!", []),
        ("E10] nothing", []),
        ("", []),
    ],
)  # fmt: skip
def test_lines(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert PARSER.parse(lines(text))["events"].select("kind", "code", "names_ranks", "pid").rows() == expected


def test_what_a_wait_tells() -> None:
    [row] = PARSER.parse(lines(f"EI0002: [PID: 63] {AT} {WAIT}"))["events"].rows(named=True)
    assert (row["op"], row["group"], row["names_rank_space"]) == ("all_reduce", "g1", "group")
    assert (row["time_ns"], row["time_basis"]) == (1769854272_123456000, "local")
    assert json.loads(row["detail"])["streamID"] == "87"


@pytest.mark.parametrize(("rank", "known"), [(101, [(101, 63, 0)]), (-1, [])])
def test_torch_npu_says_who_it_is(rank: int, known: list[tuple[int, ...]]) -> None:
    text = f"[ERROR] 2026-01-31-10:11:12 (PID:63, Device:0, RankID:{rank}) ERR00100 PTA call acl api failed."
    tables = PARSER.parse(lines(text))
    assert tables["ranks"].select("rank", "pid", "device_index").rows() == known
    [row] = tables["events"].rows(named=True)
    assert (row["kind"], row["code"], row["rank"], row["pid"]) == ("other", "ERR00100", rank if rank >= 0 else None, 63)
