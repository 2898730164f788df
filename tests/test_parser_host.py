"""What a host's kernel says of processes, memory and storage."""

import json

import pytest

from parsers.kernel.host import PARSER
from tests.lines import lines

KILLED = "Memory cgroup out of memory: Killed process 8123 (python) total-vm:91kB, anon-rss:44kB, file-rss:0kB"
LOCKUP = "watchdog: BUG: soft lockup - CPU#18 stuck for 27s! [pt_autograd_0:22895]"
SEGFAULT = (
    "pt_main_thread[2536]: segfault at 7f79 ip 00007f7c sp 00007f7c error 4 in libnccl.so.2[7f7c7ac00000+d3d3000]"
)

CASES = [
    pytest.param("", [], id="empty"),
    pytest.param("out of memory is not an option", [], id="foreign"),
    pytest.param(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=python,pid=8123,uid=0",
        [("host_oom", "cgroup", "fatal", 8123)],
        id="oom_kill",
    ),
    pytest.param("oom-kill:constraint=CONSTRAINT_NONE", [("host_oom", "host", "fatal", None)], id="oom_kill_cut"),
    pytest.param(KILLED, [("host_oom", "cgroup", "fatal", 8123)], id="cgroup"),
    pytest.param(KILLED + "\r", [("host_oom", "cgroup", "fatal", 8123)], id="crlf"),
    pytest.param(
        "Out of memory: Kill process 456 (python) score 50 or sacrifice child",
        [("host_oom", "host", "fatal", 456)],
        id="old_wording",
    ),
    pytest.param(
        "Out of memory: Killed process 123, UID 48, (httpd)", [("host_oom", "host", "fatal", 123)], id="with_uid"
    ),
    pytest.param(
        'sending SIGKILL to process 7712 uid 0 "ray::train": oom_score 1290, VmRSS 90112 MiB, cmdline "python"',
        [("host_oom", "host", "fatal", 7712)],
        id="earlyoom",
    ),
    pytest.param('sending SIGTERM to process 7712 "a": done', [], id="somebody_else_stops_it"),
    pytest.param(LOCKUP, [("soft_lockup", "soft", "error", 22895)], id="lockup"),
    pytest.param(
        "INFO: task python3:8123 blocked for more than 120 seconds.", [("hung_task", None, "error", 8123)], id="hung"
    ),
    pytest.param(SEGFAULT, [("segfault", "SIGSEGV", "fatal", 2536)], id="segfault"),
    pytest.param(
        "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
        [("other", "peermem:invalid_context", "info", None)],
        id="peermem",
    ),
    pytest.param(
        "nfs: server filer-2 not responding, still trying",
        [("storage_error", "nfs:not_responding", "error", None)],
        id="nfs",
    ),
    pytest.param(
        "server filer-2 not responding, still trying",
        [("storage_error", "nfs:not_responding", "error", None)],
        id="nfs_without_label",
    ),
    pytest.param("nfs: server filer-2 OK", [("storage_error", "nfs:ok", "info", None)], id="nfs_back"),
    pytest.param(
        "LustreError: 11-0: scratch-OST0012-osc-ff: operation ost_write to node 10.0.0.9@o2ib failed: rc = -107",
        [("storage_error", "lustre", "error", None)],
        id="lustre",
    ),
    pytest.param(
        "blk_update_request: I/O error, dev nvme0n1, sector 12345", [("storage_error", "io", "error", None)], id="disk"
    ),
    pytest.param(
        "OSError: [Errno 28] No space left on device: '/ckpt'", [("disk_full", "ENOSPC", "error", None)], id="full"
    ),
    pytest.param("VFS: file-max limit 1000000 reached", [("other", "file_max", "error", None)], id="file_max"),
    pytest.param(KILLED[:40], [], id="cut"),
    pytest.param(
        LOCKUP + KILLED,
        [("soft_lockup", "soft", "error", 22895), ("host_oom", "cgroup", "fatal", 8123)],
        id="glued",
    ),
    pytest.param("\ufffd" + KILLED, [("host_oom", "cgroup", "fatal", 8123)], id="not_utf8"),
    pytest.param(
        "oom-kill:constraint=CONSTRAINT_NONE,pid=" + "9" * 40, [("host_oom", "host", "fatal", None)], id="huge_pid"
    ),
]


@pytest.mark.parametrize(("text", "rows"), CASES)
def test_lines(text: str, rows: list[tuple[str | int | None, ...]]) -> None:
    assert PARSER.parse(lines(text))["events"].select("kind", "code", "severity", "pid").rows() == rows


def test_seconds_and_library() -> None:
    events = PARSER.parse(lines(LOCKUP + "\n" + SEGFAULT))["events"].sort("line")
    assert events["value"].to_list() == [27.0, None]
    assert json.loads(events["detail"][1])["library"] == "libnccl.so.2"


def test_only_a_full_disk_keeps_the_rank() -> None:
    events = PARSER.parse(lines(LOCKUP + "\nNo space left on device", rank=4))["events"].sort("line")
    assert events["rank"].to_list() == [None, 4]
