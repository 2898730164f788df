"""What is advised after a start that failed or an end of no known rank: what to look for there, in the words of the driver that is there."""

from pathlib import Path

import pytest

from forensics.model.incident import Incident
from forensics.model.said import Said, zh
from forensics.words.ended import DRIVERS_LOG
from forensics.words.libraries import of_vendor
from tests.analysed import primary

TAKEN = (
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
    "port: 23456, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n"
)
TWICE = "torch.distributed.DistBackendError: NCCL error in: ../x.cpp:11, invalid usage\nLast error:\nDuplicate GPU detected : rank 4 and rank 5 both on CUDA device 1a000\n"

UNKNOWN = "[default1]:terminate called after throwing an instance of 'c10::CUDAError'\n[default1]:  what():  CUDA error: unknown error\n"


def told(folder: Path, text: str) -> Incident:
    (folder / "train.log").write_text(text)
    return primary(folder)


def test_a_port_that_is_taken_is_told_with_what_to_look_for(tmp_path: Path) -> None:
    first = told(tmp_path, TAKEN).actions[0]
    assert first.command == "ss --listening --tcp --numeric --processes 'sport = :23456'"
    assert "an earlier run left" in first.look and "another port" in first.then and zh(first.then) != first.then


SS = 'LISTEN 0      2048    [::]:{port}      [::]:*     users:(("{program}",pid={pid},fd=61))\n'
NETSTAT = "tcp        0      0 0.0.0.0:{port}           0.0.0.0:*               LISTEN      {pid}/{program}\n"
PS = "    PID STARTED      CMD\n   4711 Apr 01 python3 finetune.py --config a.yaml\n   2210 07:30:03 /opt/bin/torchrun finetune.py\n"


@pytest.mark.parametrize("form", [SS, NETSTAT])
@pytest.mark.parametrize("listed", [PS, ""])
def test_who_holds_a_port_is_not_asked_for_where_the_list_is_there(tmp_path: Path, form: str, listed: str) -> None:
    other = form.format(port=22, program="sshd", pid=1101)
    (tmp_path / "sockets.txt").write_text(form.format(port=23456, program="python3", pid=4711) + other)
    if listed:
        (tmp_path / "ps.txt").write_text(listed)
    incident = told(tmp_path, TAKEN)
    first = incident.actions[0]
    assert "4711" in first.target and "4711" in (first.command or "") and "ss " not in (first.command or "")
    assert any("Apr 01" in item.claim for item in incident.evidence) is bool(listed)
    assert incident.decision.do == "change_first" and "no code" in incident.decision.reason


@pytest.mark.parametrize(
    "lines",
    [
        SS.format(port=23457, program="python3", pid=4711),
        SS.format(port=23456, program="python3", pid=4711) + SS.format(port=23456, program="python3", pid=4712),
        "LISTEN 0 2048 0.0.0.0:23456 0.0.0.0:*\n",
    ],
    ids=["another port", "two", "nobody told"],
)
def test_who_holds_a_port_is_asked_for_where_the_list_does_not_tell(tmp_path: Path, lines: str) -> None:
    (tmp_path / "sockets.txt").write_text(lines)
    assert (told(tmp_path, TAKEN).actions[0].command or "").startswith("ss ")


def test_a_device_of_two_ranks_is_no_port(tmp_path: Path) -> None:
    first = told(tmp_path, TWICE).actions[0]
    assert "same one" in first.look and "local rank" in first.then and "port" not in first.then


def test_a_driver_that_nobody_tells_of_is_asked_in_the_usual_words(tmp_path: Path) -> None:
    logs = [one for one in told(tmp_path, UNKNOWN).actions if one.setup == ("kernel",)]
    assert logs and all("“Xid”" in one.target and "“Xid”" in zh(one.target) for one in logs)


def test_drivers_of_four_vendors() -> None:
    for vendor in ("amd", "moore_threads", "metax", "huawei"):
        said = of_vendor(DRIVERS_LOG, vendor)
        assert isinstance(said, Said) and said.asks == DRIVERS_LOG.asks and "Xid" not in said + zh(said)
    assert of_vendor(DRIVERS_LOG, None) == of_vendor(DRIVERS_LOG, "nvidia") == DRIVERS_LOG


def test_a_check_of_code_without_a_place_tells_the_last_words(tmp_path: Path) -> None:
    checks = [one for one in told(tmp_path, UNKNOWN).actions if one.kind == "check_code"]
    assert checks and all("CUDA error: unknown error" in one.reason for one in checks)


def test_memory_of_a_device_is_told_with_what_to_look_for(tmp_path: Path) -> None:
    incident = told(tmp_path, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB.\n")
    users = [one for one in incident.actions if one.command and "compute-apps" in one.command]
    assert users and all("earlier run" in one.look and "micro-batches" in one.then for one in users)


@pytest.mark.parametrize("key", ["/default_pg/0//cuda//0", "/default_pg/0//cpu//0/3"])
def test_no_recorder_is_asked_of_a_start_that_no_call_had_come_to(tmp_path: Path, key: str) -> None:
    """What the recorder keeps is calls of groups, and of these there was none."""
    waited = f"[rank1]: torch.distributed.DistStoreError: wait timeout after 600000ms, keys: {key}\n"
    incident = told(tmp_path, waited)
    assert (incident.verdict.kind, incident.verdict.first_anomaly.op) == ("launch", "store")
    assert not any("TRACE_BUFFER_SIZE" in (one.command or "") for one in incident.actions)
