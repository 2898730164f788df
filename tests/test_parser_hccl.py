"""Lines of Ascend's collective library: who waits for whom, and what was enqueued."""

import json

import pytest

from parsers.comm.hccl import PARSER
from tests.lines import lines

P = "HCCL(4711,python3):2026-01-31-10:11:12.123.456 [task_exception_handler.cc:380][4790]"
E = f"[ERROR] {P}"


@pytest.mark.parametrize(
    ("text", "kind", "code", "ranks", "hosts"),
    [
        (E + "[TaskExecStage][Timeout]base information: streamID:[5], taskID[12], tag[AllReduce_7], remote rank:[3]",
         "collective_timeout", None, [3], None),
        (E + "[TaskExecStage][Timeout] Notify wait timeout EI0002", "collective_timeout", "EI0002", None, None),
        (E + "get socket timeout, remoteIp[10.0.0.7]", "connect_failed", "timeout", None, ["10.0.0.7"]),
        (E + "the collective operators are inconsistent, EI0005", "comm_warning", "collective_mismatch", None, None),
        (E + "rank table is invalid", "config_error", "rank_table", None, None),
        (E + "something else", "comm_warning", None, None, None),
        (f"[WARNING] {P} something else", "comm_warning", None, None, None),
        ("[ERROR] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [a.cc:3] [4790]connect to server failed\r",
         "connect_failed", None, None, None),
    ],
)  # fmt: skip
def test_errors(text: str, kind: str, code: str | None, ranks: list[int] | None, hosts: list[str] | None) -> None:
    [row] = PARSER.parse(lines(text))["events"].rows(named=True)
    assert (row["kind"], row["code"], row["names_ranks"], row["names_hosts"]) == (kind, code, ranks, hosts)
    assert (row["pid"], row["time_ns"], row["time_basis"]) == (4711, 1769854272_123456000, "local")
    assert row["names_rank_space"] == ("group" if ranks else None)


def test_pairs_are_kept() -> None:
    [row] = PARSER.parse(lines(E + "[Timeout] streamID:[5], taskID[12], tag[AllReduce_7]"))["events"].rows(named=True)
    detail = json.loads(row["detail"])
    assert (detail["streamID"], detail["taskID"], detail["tag"]) == ("5", "12", "AllReduce_7")


def test_entries_become_operations() -> None:
    tail = " tag[t], sendBuf[0x1], recvBuf[0x2], count[128], dataType[float32], op[sum], localRank[0], comm[0x5]"
    text = f"[INFO] {P}Entry-HcclAllReduce:{tail}\n[INFO] {P}Entry-HcclSend: count[4], dataType[fp16], destRank[3]"
    first, second = PARSER.parse(lines(text, host="n1", rank=2))["operations"].rows(named=True)
    assert (first["kind"], first["rank"], first["comm"], first["state"]) == (
        "all_reduce",
        2,
        "n1:4711:0x5",
        "scheduled",
    )
    assert (first["input_sizes"], first["input_dtypes"]) == ("[[128]]", '["float32"]')
    assert (second["kind"], second["is_p2p"], second["peer"]) == ("send", True, 3)


def test_two_glued_lines() -> None:
    tables = PARSER.parse(lines(f"{E}rank table is invalid{E}get socket timeout"))
    assert tables["events"]["kind"].to_list() == ["config_error", "connect_failed"]
    assert tables["claimed"].height == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "[ERROR] HCCL(4711,py",
        "[ERROR] RUNTIME(1,p):2026-01-31-10:11:12.123.456 [a:1][2]x",
        f"[INFO] {P}ok",
        "�",
    ],
)
def test_says_nothing(text: str) -> None:
    tables = PARSER.parse(lines(text))
    assert tables["events"].is_empty() and tables["operations"].is_empty()


@pytest.mark.parametrize(
    "text",
    [
        "Entry-HcclCommInitRootInfoInner:ranks[16], rank[3], rootinfo: host ip[10.0.0.1] port[60000] nicDeploy[1] "
        "identifier[group_name_0], deviceLogicId[5]",
        "Entry-HcclCommInitRootInfoConfigInner:ranks[16], rank[3], rootinfo: host ip[10.0.0.1]",
        "Entry-HcclCommInitRootInfo V910_95, rankId[3], rankNum[16].",
    ],
    ids=["plain", "config", "v2"],
)
def test_a_communicator_that_begins_says_who_its_process_is(text: str) -> None:
    smaller = f"[INFO] {P}Entry-HcclCommInitRootInfoInner:ranks[2], rank[1], identifier[tp]"
    tables = PARSER.parse(lines(f"[INFO] {P}{text}\n{smaller}", host="n1"))
    assert tables["ranks"].select("rank", "world_size", "pid", "host").rows() == [(3, 16, 4711, "n1")]
    assert tables["groups"]["size"].to_list() == [16, 2]
    assert tables["operations"].is_empty()
    [whole, _] = tables["events"].rows(named=True)
    assert (whole["kind"], whole["rank"], whole["rank_space"]) == ("comm_init_start", 3, "group")
