"""Harmless additions to a bundle: what they say is of another host, another time, another job, or of a failure outlived.

An addition takes the files of a bundle and what is known of it, and gives the files with something more, or None where it
has no place: it says nothing about life, place, progress or logging of any rank or host in question. What is dated and
speaks of the job's own ranks and hosts stands sixteen hours before the first stamp of the bundle, so that no zone brings
it near.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

Files = Mapping[str, bytes]
STRANGER, OTHER = "cold-07", "util-2"  # hosts outside the job
_STAMP = re.compile(rb"(20[12]\d)-([01]\d)-([0-3]\d)[T_ ]([0-2]\d):([0-5]\d):([0-5]\d)")


@dataclass(frozen=True)
class Known:
    """`told`: ranks that the verdict names or suspects. `others`: ranks that it does not. `hosts`: of the job. `when`: the
    first anomaly, or the last stamp. `first`: the first stamp of the bundle, None without any."""

    told: tuple[int, ...]
    others: tuple[int, ...]
    hosts: tuple[str, ...]
    when: datetime
    first: datetime | None


Addition = Callable[[Files, Known], Files | None]


def stamps(files: Files) -> list[datetime]:
    """All times that texts print, ascending."""
    found = {match.groups() for data in files.values() for match in _STAMP.finditer(data)}
    return sorted(datetime(*map(int, parts), tzinfo=UTC) for parts in found)  # type: ignore[arg-type]


def _with(files: Files, name: str, text: str | bytes) -> Files:
    data = text if isinstance(text, bytes) else text.encode()
    return {**files, name: files.get(name, b"") + data}


def _printed(style: str, host: str, when: datetime, text: str) -> tuple[str, str]:
    """(file, line) of a kernel's line as a collector of that style leaves it."""
    iso = f"{when:%Y-%m-%dT%H:%M:%S}"
    if style == "journal":
        return f"journal/{host}.txt", f"{iso}+0000 {host} kernel: {text}\n"
    if style == "dmesg":
        return f"{host}.dmesg", f"[{when:%a %b} {when.day:2} {when:%H:%M:%S %Y}] {text}\n"
    if style == "old":
        return f"messages.{host}", f"{when:%b} {when.day:2} {when:%H:%M:%S} {host} kernel: [80211.000042] {text}\n"
    if style == "json":
        row = {"__REALTIME_TIMESTAMP": str(int(when.timestamp() * 1e6)), "_HOSTNAME": host, "_TRANSPORT": "kernel"}
        return f"journal_{host}.json", json.dumps({**row, "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": text}) + "\n"
    return f"syslog/{host}.log", f"{iso}.000120+00:00 {host} kernel: {text}\n"


def _elsewhere(style: str, *texts: str, host: str = STRANGER) -> Addition:
    """Lines of the kernel of a host outside the job, just before the anomaly."""

    def add(files: Files, known: Known) -> Files | None:
        if not set(known.hosts) - {"localhost"}:
            return None  # nobody can call a host foreign while the job's own are not known
        when = known.when - timedelta(seconds=15)
        if style == "dmesg":
            name, line = _printed(style, host, when, f"systemd[1]: Hostname set to <{host}>.")
            files = _with(files, name, line)
        for second, text in enumerate(texts):
            files = _with(files, *_printed(style, host, when + timedelta(seconds=second), text))
        return files

    return add


def _long_before(text: str, days: int = 0, style: str = "syslog", everywhere: bool = False) -> Addition:
    """A line of the job's own hosts, of long before."""

    def add(files: Files, known: Known) -> Files | None:
        if known.first is None or not known.hosts:
            return None
        when = known.first - timedelta(hours=16, days=days)
        for host in known.hosts if everywhere else known.hosts[-1:]:
            name, line = _printed(style, host, when, text)
            files = _with(files, name, line.replace(" kernel: sshd", " sshd").replace(" kernel: CRON", " CRON"))
        return files

    return add


def _outlived(who: str, name: str, text: str) -> Addition:
    """What one rank printed long before of a failure that it outlived. `{r}`: the rank, `{at}`, `{then}`: two times."""

    def add(files: Files, known: Known) -> Files | None:
        ranks = known.told if who == "told" else known.others
        if known.first is None or not ranks or not _speaks(files, ranks[-1]):
            return None  # a first record of a silent rank would say something of it
        when = known.first - timedelta(hours=16)
        at, then = (f"{one:%Y-%m-%d %H:%M:%S}" for one in (when, when + timedelta(seconds=7)))
        return _with(files, name.format(r=ranks[-1]), text.format(r=ranks[-1], at=at, then=then))

    return add


def _speaks(files: Files, rank: int) -> bool:
    tag, name = f"[rank{rank}]".encode(), re.compile(rf"rank[_-]?0*{rank}(\D|$)")
    return any(name.search(path) or tag in data for path, data in files.items())


def _beside(name: str, text: str | bytes) -> Addition:
    """A file of something else. `{day}`, `{time}`: when the anomaly was."""

    def add(files: Files, known: Known) -> Files:
        if isinstance(text, bytes):
            return _with(files, name, text)
        told = text.replace("{day}", f"{known.when:%Y-%m-%d}").replace("{time}", f"{known.when:%H:%M:%S}")
        return _with(files, name, told)

    return add


def _last_month(files: Files, known: Known) -> Files | None:
    """A launch of the month before, in which another program of the same rank failed."""
    if known.first is None or not known.others or not _speaks(files, known.others[0]):
        return None
    rank, when = known.others[0], known.first - timedelta(days=33)
    said = f"{when:%Y-%m-%d %H:%M:%S},102 [rank{rank}] INFO eval: started\n"
    frames = ("Traceback (most recent call last):", '  File "/srv/eval/score.py", line 31, in <module>', "    main()")
    failed = "".join(f"[rank{rank}]: {line}\n" for line in (*frames, "KeyError: 'bleu'"))
    return _with(files, f"archive/{when:%Y%m%d}/rank_{rank}.log", said + failed)


def _twice(suffix: str) -> Addition:
    """The largest file of a kind once more, in a folder that says nothing."""

    def add(files: Files, _: Known) -> Files | None:
        fitting = [name for name in files if name.endswith(suffix) and files[name]]
        if not fitting:
            return None
        largest = max(fitting, key=lambda name: (len(files[name]), name))
        return {**files, f"copy/{largest}": files[largest]}

    return add


def _all_twice(files: Files, _: Known) -> Files:
    return {**files, **{f"copy/{name}": data for name, data in files.items()}}


_CAUGHT = """{at},310 WARNING video.decode [rank{r}]: no hardware decoder on this machine
Traceback (most recent call last):
  File "/opt/video/decode.py", line 61, in open_clip
    return Accelerated(path)
RuntimeError: accelerated decoding is not available in this build
{at},318 INFO video.decode [rank{r}]: decoding in software
"""
_LABELLED = """[rank{r}]: {at},004 ERROR cache: cannot open the index, rebuilding it
[rank{r}]: Traceback (most recent call last):
[rank{r}]:   File "/opt/data/cache.py", line 19, in load
[rank{r}]:     with open(path, "rb") as file:
[rank{r}]: FileNotFoundError: [Errno 2] No such file or directory: '/scratch/index.bin'
[rank{r}]: {then},911 INFO cache: index rebuilt, 88210 rows
"""
_CHAINED = """{at},100 [rank{r}] WARNING ops: fast kernels are missing, plain ones are used
Traceback (most recent call last):
  File "/opt/ops/load.py", line 8, in load
    import fast_ops
ModuleNotFoundError: No module named 'fast_ops'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/opt/ops/load.py", line 11, in load
    raise ImportError("fast_ops") from error
ImportError: fast_ops
{then},101 [rank{r}] INFO ops: plain kernels loaded
"""
_LOGURU = """{at}.551 | ERROR    | shards.remote:fetch:77 - [rank{r}] shard 17 could not be fetched, attempt 1
Traceback (most recent call last):

> File "/opt/shards/remote.py", line 74, in fetch
    body = client.get(url)
           |      |   -> 'https://store.internal/17'
           |      -> <function Client.get at 0x7f10>

ConnectionResetError: [Errno 104] Connection reset by peer
{then}.560 | SUCCESS  | shards.remote:fetch:81 - [rank{r}] shard 17 fetched, attempt 2
"""
_PROBE = """{at},220 [rank{r}] INFO autobatch: trying 128
{at},870 [rank{r}] WARNING autobatch: 128 does not fit: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB.
{then},120 [rank{r}] INFO autobatch: trying 64
{then},560 [rank{r}] INFO autobatch: 64 fits
"""
_JSON_LINES = """{{"ts": "{at}", "level": "error", "rank": {r}, "msg": "metrics push failed: 503 Service Unavailable"}}
{{"ts": "{then}", "level": "info", "rank": {r}, "msg": "metrics push succeeded after 1 retry"}}
"""
_ABSL = """{at} [rank{r}] UserWarning: The given buffer is not writable, and PyTorch does not support non-writable tensors
{at} [rank{r}] FutureWarning: clean_up_tokenization_spaces was not set; errors may be raised in a future version
{then} [rank{r}] DeprecationWarning: invalid escape sequence in a string, this will become a SyntaxError
"""

ADDITIONS: dict[str, Addition] = {
    # kernels of hosts outside the job
    "xid 48 elsewhere": _elsewhere("syslog", "NVRM: Xid (PCI:0000:3d:00): 48, pid=1190, name=python3, DBE (double bit error) ECC Error"),
    "xid 119 elsewhere, journal": _elsewhere("journal", "NVRM: Xid (PCI:0000:1b:00): 119, pid=1190, name=python3, Timeout after 6s of waiting for RPC response from GPU1 GSP!"),
    "device lost elsewhere, dmesg": _elsewhere("dmesg", "NVRM: Xid (PCI:0000:45:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
    "xid 95 elsewhere, no year": _elsewhere("old", "NVRM: Xid (PCI:0000:9d:00): 95, pid=1190, name=python3, Uncontained: LTC TAG. RST: Yes, D-RST: No"),
    "xid 63 elsewhere, JSON": _elsewhere("json", "NVRM: Xid (PCI:0000:1b:00): 63, pid=1190, name=python3, Row Remapper: New row marked for remapping"),
    "OOM kill elsewhere": _elsewhere("syslog", "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0", "Out of memory: Killed process 41000 (python3) total-vm:81234567kB, anon-rss:71234567kB, file-rss:0kB"),
    "segfault elsewhere, journal": _elsewhere("journal", "python3[41001]: segfault at 10 ip 00007f2b1c0d sp 00007ffe1c error 4 in libcuda.so.550[7f2b1c000000+1a00000]", host=OTHER),
    "link down elsewhere, dmesg": _elsewhere("dmesg", "mlx5_core 0000:9b:00.1: Port module event[error]: module 1, Cable error, Power budget exceeded", "mlx5_core 0000:9b:00.1 ib1: Link down", host=OTHER),
    "disk errors elsewhere": _elsewhere("syslog", "nvme nvme1: I/O 211 QID 4 timeout, aborting", "EXT4-fs error (device nvme1n1p1): ext4_find_entry:1455: inode #2: comm rsync: reading directory lblock 0"),
    "storage lost elsewhere": _elsewhere("journal", "nfs: server nas-3 not responding, timed out", "LustreError: 11-0: home-OST0007-osc: operation ost_read to node 10.9.1.4@o2ib failed: rc = -107", host=OTHER),
    "stuck processor elsewhere": _elsewhere("dmesg", "watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [kworker/3:1:217]", "rcu: INFO: rcu_sched self-detected stall on CPU"),
    "hung task elsewhere": _elsewhere("syslog", "INFO: task python3:41000 blocked for more than 122 seconds.", "task:python3 state:D stack:0 pid:41000 ppid:4100 flags:0x00004002"),
    "machine check elsewhere": _elsewhere("journal", "mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 9: bd80000000100134", "EDAC MC1: 1 UE memory read error on CPU_SrcID#1_MC#0_Chan#1_DIMM#0"),
    "fatal PCIe error elsewhere": _elsewhere("dmesg", "pcieport 0000:64:02.0: AER: Uncorrectable (Fatal) error message received from 0000:65:00.0", host=OTHER),
    "AMD reset elsewhere": _elsewhere("syslog", "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring comp_1.0.0 timeout, signaled seq=81, emitted seq=83", "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!"),
    "switch error elsewhere": _elsewhere("syslog", "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)"),
    # the job's own hosts, long before
    "xid 31 a year before": _long_before("NVRM: Xid (PCI:0000:1b:00): 31, pid=77, name=python3, Ch 00000010, intr 00000000. MMU Fault", days=365),
    "device lost last month": _long_before("NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", days=32, style="journal"),
    "OOM kill of another program the day before": _long_before("Out of memory: Killed process 909 (java) total-vm:9123456kB, anon-rss:8123456kB, file-rss:0kB, shmem-rss:0kB", days=1),
    "corrected memory errors on all hosts": _long_before("EDAC MC2: 1 CE memory read error on CPU_SrcID#0_MC#2_Chan#0_DIMM#0 (channel:0 slot:0)", everywhere=True),
    "corrected PCIe errors on all hosts": _long_before("pcieport 0000:16:01.0: AER: Corrected error message received from 0000:17:00.0", everywhere=True, style="journal"),
    "link bounced last month on all hosts": _long_before("mlx5_core 0000:41:00.0 ib0: Link down", days=31, everywhere=True),
    "logins on all hosts": _long_before("sshd[3120]: error: maximum authentication attempts exceeded for root from 10.9.0.7 port 41122 ssh2", everywhere=True),
    "timers on all hosts": _long_before("CRON[515]: (root) CMD (/usr/lib/sysstat/sa1 1 1)", everywhere=True, style="journal"),
    # failures outlived
    "caught by others": _outlived("others", "video_{r}.log", _CAUGHT),
    "caught by the told": _outlived("told", "video_{r}.log", _CAUGHT),
    "rebuilt by others": _outlived("others", "logs/cache_rank_{r}.log", _LABELLED),
    "rebuilt by the told": _outlived("told", "logs/cache_rank_{r}.log", _LABELLED),
    "chained, others": _outlived("others", "ops.rank{r}.log", _CHAINED),
    "chained, the told": _outlived("told", "ops.rank{r}.log", _CHAINED),
    "fetched at last, others": _outlived("others", "shards-rank-{r}.log", _LOGURU),
    "fetched at last, the told": _outlived("told", "shards-rank-{r}.log", _LOGURU),
    "memory probed, others": _outlived("others", "autobatch_{r}.log", _PROBE),
    "memory probed, the told": _outlived("told", "autobatch_{r}.log", _PROBE),
    "pushed at last, others": _outlived("others", "metrics_rank{r}.jsonl", _JSON_LINES),
    "pushed at last, the told": _outlived("told", "metrics_rank{r}.jsonl", _JSON_LINES),
    "warnings of libraries": _outlived("others", "warnings_{r}.log", _ABSL),
    "another program of last month": _last_month,
    # files of something else
    "scheduler about others": _beside("accounting.txt", "JobID|JobName|State|ExitCode|End|NodeList\n550012|resnet|FAILED|1:0|{day}T{time}|util-2\n550013|render|NODE_FAIL|0:0|{day}T{time}|cold-07\n550014|sweep|TIMEOUT|0:15|{day}T{time}|util-2\n"),
    "controller about others": _beside("ctld.log", "[{day}T{time}.118] error: Nodes cold-07 not responding, setting DOWN\n[{day}T{time}.300] requeue job JobId=550013 due to failure of node cold-07\n"),
    "pods of others": _beside("pods.txt", "NAMESPACE NAME READY STATUS RESTARTS AGE\nshop cart-6f7 0/1 OOMKilled 14 2d\nshop mail-0 0/1 CrashLoopBackOff 99 9d\nshop web-77 0/1 Evicted 0 1d\n"),
    "stack of an editor": _beside("other/editor.txt", 'Process 515: /usr/bin/python3 /usr/bin/editor notes.md\nPython v3.9.2 (/usr/bin/python3.9)\n\nThread 515 (idle): "MainThread"\n    read_key (editor/keys.py:41)\n    loop (editor/main.py:90)\n    <module> (editor:7)\n'),
    "debugger on a web server": _beside("other/nginx_bt.txt", "#0  0x00007f1a in epoll_wait () from /lib/x86_64-linux-gnu/libc.so.6\n#1  0x000055aa in ngx_epoll_process_events ()\n#2  0x000055ab in ngx_worker_process_cycle ()\n"),
    "idle device of a login host": _beside("login/devices.csv", "timestamp, name, pci.bus_id, utilization.gpu [%], memory.used [MiB]\n{day} {time}.102, NVIDIA A2, 00000000:5E:00.0, 0 %, 4 MiB\n"),
    "processor load of a login host": _beside("login/sar.txt", "Linux 6.1.0-18-amd64 (util-2)  {day}  _x86_64_  (8 CPU)\n\n{time}  CPU  %user  %nice  %system  %iowait  %steal  %idle\n{time}  all  12.01  0.00  3.11  41.20  0.00  43.68\n"),
    "mail of a timer": _beside("mail.txt", "Subject: Cron <backup@util-2> /opt/backup.sh\nDate: {day} {time}\n\ntar: /home/a/socket: socket ignored\nbackup failed with exit code 2\n"),
    "notes of a person": _beside("notes.md", "# On call\n- asked the vendor about the hang of last week (rank 1 again?)\n- NaN in the toy job was a typo\n- 明天检查超时设置\n"),
    "results of a sweep": _beside("sweep.csv", "run,lr,loss,failed\n1,0.001,2.31,false\n2,0.01,nan,true\n3,0.1,inf,true\n"),
    "history of the sources": _beside("git.txt", "a1b2c3 do not crash when a worker exits early\nd4e5f6 raise the timeout of all_reduce in the tests\n070809 fix deadlock in the logger\n"),
    "log of an installation": _beside("pip.txt", "ERROR: Could not find a version that satisfies the requirement fast-ops\nERROR: No matching distribution found for fast-ops\nSuccessfully installed tqdm-4.66.4\n"),
    "page of a proxy": _beside("dashboard.html", "<html><head><title>504 Gateway Time-out</title></head><body>504 Gateway Time-out</body></html>\n"),
    "picture and empty files": lambda files, _: {**files, "plot.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "nohup.out": b"", ".notes.swp": b"b0VIM 9.0" + bytes(900)},
    # the same once more
    "largest log twice": _twice(".log"),
    "largest text twice": _twice(".txt"),
    "everything twice": _all_twice,
}  # fmt: skip
