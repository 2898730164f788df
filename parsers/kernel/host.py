"""What the kernel of a host says of processes, memory, disks and file systems.

Printed by mm/oom_kill.c, kernel/watchdog.c, kernel/hung_task.c, arch/x86/mm/fault.c, fs/nfs, Lustre, block drivers and
nvidia-peermem; kernels 3.10 to 6.x. `Out of memory` exists in an older and a newer wording:

    oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=pod7,mems_allowed=0-1,task=python,pid=8123,uid=0
    Memory cgroup out of memory: Killed process 8123 (python) total-vm:91kB, anon-rss:44kB, file-rss:0kB
    Out of memory: Kill process 456 (python) score 50 or sacrifice child
    earlyoom[790]: sending SIGTERM to process 4711 uid 1000 "python3": badness 912, VmRSS 81234 MiB
    watchdog: BUG: soft lockup - CPU#18 stuck for 27s! [pt_autograd_0:22895]
    INFO: task python3:8123 blocked for more than 120 seconds.
    python3[8123]: segfault at 7f79 ip 00007f7c sp 00007f7c error 4 in libnccl.so.2[7f7c7ac00000+d3d3000]
    nfs: server filer-2 not responding, still trying
    LustreError: 11-0: scratch-OST0012-osc-ffff: operation ost_write to node 10.0.0.9@o2ib failed: rc = -107
    blk_update_request: I/O error, dev nvme0n1, sector 12345
    EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm python: reading directory lblock 0
    nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing

A pid is that of the host; a container counts its own. nvidia-peermem prints its line by the hundred after any death of
a process that used GPUDirect RDMA: a consequence, severity info.

Printed by: the kernel (mm/oom_kill.c, kernel/watchdog.c, kernel/hung_task.c, arch/x86/mm/fault.c, fs/nfs, block),
Lustre, GPFS, nvidia-peermem; earlyoom (kill.c), which kills for memory before the kernel must.
Versions: kernels 3.10 to 6.x; of `Out of memory` both wordings.
Source: the format strings in these files.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_kernel, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex


def _fields(groups: Mapping[str, str]) -> Mapping[str, Any]:
    pairs = dict(part.split("=", 1) for part in groups["fields"].split(",") if "=" in part)
    is_cgroup = pairs.get("constraint", "") == "CONSTRAINT_MEMCG"
    pid = pairs.get("pid", "")
    kept = {key: pairs[key] for key in ("constraint", "oom_memcg", "task_memcg", "task", "uid") if key in pairs}
    return {
        "code": "cgroup" if is_cgroup else "host",
        "pid": int(pid) if pid.isascii() and pid.isdigit() and len(pid) < 19 else None,
        "detail": kept | {"fields": None},
    }


def _nfs(groups: Mapping[str, str]) -> Mapping[str, Any]:
    is_back = "OK" in groups["state"]
    return {"severity": "info" if is_back else "error", "code": "nfs:ok" if is_back else "nfs:not_responding"}


def _lustre(groups: Mapping[str, str]) -> Mapping[str, Any]:
    is_back = "restored" in groups["what"]
    return {"severity": "info"} if is_back else {}


_TASK = r"(?P<task>[^\s:\[\]][^:\[\]\n]{0,31})"
RULES = (
    Rule(regex(r"oom-kill:(?P<fields>constraint=[^\s]{3,4000})"), "host_oom", "fatal", refine=_fields),
    Rule(
        regex(
            r"(?P<scope>Memory cgroup out|Out) of memory(?: \(oom_kill_allocating_task\))?: "
            r"Kill(?:ed)? process (?P<pid>\d+)(?:,? UID (?P<uid>\d+),?)? \((?P<task>[^)]{1,64})\)"
            r"(?:.{0,80}?anon-rss:(?P<anon_kb>\d+)kB)?"
        ),
        "host_oom", "fatal",
        refine=lambda groups: {
            "code": "cgroup" if groups["scope"].startswith("Memory") else "host",
            "detail": {"scope": None},
        },
    ),
    Rule(
        regex(r"(?<![^\s:])(?P<task>[^\s:]{1,64}) invoked oom-killer: (?P<mask>[^\n]{0,120})"),
        "host_oom", "warning", "invoked",
    ),
    Rule(
        regex(
            r"\bsending SIG(?:TERM|KILL) to process (?P<pid>\d{1,9}) (?:uid (?P<uid>\d{1,10}) )?"
            r"\"(?P<task>[^\"]{1,64})\": (?:oom_score|badness) \d"
        ),
        "host_oom", "fatal", "host",
    ),
    Rule(regex(r"oom_reaper: reaped process \d+"), None),
    Rule(
        regex(
            rf"BUG: soft lockup - CPU#(?P<cpu>\d+) stuck for (?P<value>\d{{1,9}})s! \[{_TASK}:(?P<pid>\d+)\]"
        ),
        "soft_lockup", "error", "soft",
    ),
    Rule(regex(r"Watchdog detected hard LOCKUP on cpu (?P<cpu>\d+)"), "soft_lockup", "fatal", "hard"),
    Rule(
        regex(r"rcu(?:_\w+)?: INFO: (?:\w+ )?(?:self-)?detected (?:expedited )?stall"),
        "soft_lockup", "error", "rcu",
    ),
    Rule(
        regex(
            rf"INFO: task {_TASK}:(?P<pid>\d+) blocked (?:in I/O wait )?for more than (?P<value>\d{{1,9}}) seconds"
        ),
        "hung_task", "error",
    ),
    Rule(
        regex(
            rf"{_TASK}\[(?P<pid>\d+)\]: segfault at (?P<address>[0-9a-f]+) ip (?P<ip>[0-9a-f]+) sp [0-9a-f]+ "
            r"error (?P<error>\w+)(?: in (?P<library>[^\[\n]{1,200})\[)?"
        ),
        "segfault", "fatal", "SIGSEGV",
    ),
    Rule(
        regex(
            rf"traps: {_TASK}\[(?P<pid>\d+)\] (?:general protection fault|trap (?P<trap>\w[\w ]{{0,30}}\w)) ip:"
        ),
        "segfault", "fatal", "trap",
    ),
    Rule(
        regex(r"nvidia-peermem nv_get_p2p_free_callback:\d+ ERROR detected invalid context"),
        "other", "info", "peermem:invalid_context",
    ),
    Rule(
        # In a log of nothing else `nfs: ` reads like a label before each line, and is taken off.
        regex(
            r"(?:nfs: |^)server (?P<server>[\w.:-]{1,200}) (?P<state>not responding, (?:still trying|timed out)|OK)"
        ),
        "storage_error", refine=_nfs,
    ),
    Rule(
        regex(r"LustreError: (?P<id>[\w-]{1,40}): (?P<what>[^\n]{1,300})"), "storage_error", "error", "lustre"
    ),
    Rule(
        regex(
            r"Lustre: (?P<id>[\w-]{1,40}): (?P<what>[^\n]{0,200}?(?:[Cc]onnection to \S+ .{0,60}was lost|timed out"
            r"|[Cc]onnection restored to|Connection to \S+ restored|evict)[^\n]{0,120})"
        ),
        "storage_error", "warning", "lustre", _lustre,
    ),
    Rule(
        regex(r"(?:GPFS|mmfs): (?P<what>[^\n]{0,200}(?:[Ee]xpel|[Ll]ost|[Pp]anic|[Ee]rror)[^\n]{0,120})"),
        "storage_error", "error", "gpfs",
    ),
    Rule(
        regex(
            r"(?P<what>I/O|medium|target|nexus) error, dev (?P<disk>[\w-]{1,32}), sector (?P<sector>\d+)"
        ),
        "storage_error", "error", "io",
    ),
    Rule(
        regex(
            r"(?P<fs>EXT4-fs error|XFS) \((?:device )?(?P<disk>[\w-]{1,32})\):? (?P<what>[^\n]{0,120}"
            r"(?:[Cc]orruption|shut ?down|error|reading|checksum)[^\n]{0,120})"
        ),
        "storage_error", "error", "filesystem",
    ),
    Rule(
        regex(
            r"nvme (?P<disk>nvme\d+): (?P<what>[^\n]{0,40}(?:timeout, (?:reset|aborting|disable)|controller is down)"
            r"[^\n]{0,80})"
        ),
        "storage_error", "error", "nvme",
    ),
    Rule(
        regex(
            r"(?P<fs>ceph|libceph): (?P<what>[^\n]{0,120}(?:socket closed|connect error|hung|session lost)[^\n]{0,80})"
        ),
        "storage_error", "warning", "ceph",
    ),
    Rule(regex(r"Remounting filesystem read-only"), "storage_error", "fatal", "read_only"),
    Rule(
        regex(r"(?P<what>No space left on device|Disk quota exceeded)"), "disk_full", "error",
        refine=lambda groups: {"code": "ENOSPC" if groups["what"].startswith("No") else "EDQUOT"},
    ),
    Rule(regex(r"VFS: file-max limit (?P<value>\d{1,18}) reached"), "other", "error", "file_max"),
    Rule(
        regex(
            r"Kernel panic - not syncing: (?!Fatal (?:local )?machine check|Fatal hardware error)(?P<what>[^\n]{1,160})"
        ),
        "other", "fatal", "kernel_panic",
    ),
    Rule(
        regex(r"BUG: (?:unable to handle|kernel NULL pointer)[^\n]{1,160}"), "other", "fatal", "kernel_oops"
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events host_oom, soft_lockup, hung_task, segfault, storage_error, disk_full, other.

    `value`: seconds stuck or blocked. A "no space" line may come from a rank: then it keeps that rank.
    """
    is_full = pl.col("text").fill_null("").str.contains("No space left on device|Disk quota exceeded")
    kernel, process = read_kernel(lines.filter(~is_full), RULES), read_rules(lines.filter(is_full), RULES)
    return {name: pl.concat([kernel[name], process[name]]) for name in kernel}


PARSER = LineParser(
    name="host",
    anchors=(
        b"oom-kill:", b"of memory: Kill", b"of memory (oom_kill", b"invoked oom-killer", b"oom_reaper:",
        b"sending SIGTERM to process ", b"sending SIGKILL to process ",
        b"soft lockup", b"hard LOCKUP", b"detected stall", b"detected expedited stall", b"blocked for more than",
        b"blocked in I/O wait", b"]: segfault at", b"general protection fault ip:", b"traps: ",
        b"nv_get_p2p_free_callback", b"nfs: server ", b"LustreError: ", b"Lustre: ", b"GPFS: ", b"mmfs: ",
        b"error, dev ", b"EXT4-fs error", b"XFS (", b"nvme nvme", b"ceph: ", b"Remounting filesystem",
        b"No space left on device", b"Disk quota exceeded", b"file-max limit", b"Kernel panic",
        b"BUG: unable to handle", b"BUG: kernel NULL",
    ),
    parse=parse, of_host=True,
)  # fmt: skip
