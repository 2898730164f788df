"""One job of an incident: who is where, and the lines that its ranks, watchdogs, launchers and kernels leave behind."""

import datetime as dt
import hashlib
import json
import pathlib
import random


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def s(seconds: float) -> dt.timedelta:
    return dt.timedelta(seconds=seconds)


class Job:
    """Hosts with `per` ranks each, and all files of the job so far; `j` is the job throughout.

    layout: torchrun | tee | srun_l | srun_files | mpirun | k8s | flat | json
    torch: 2.1 | 2.4 | 2.6 | 2.9
    vendor: nvidia | musa | metax | amd | ascend
    """

    def __init__(
        j,
        name,
        hosts,
        per,
        t0,
        layout="flat",
        torch="2.6",
        vendor="nvidia",
        job=None,
        sp="/opt/venv/lib/python3.10/site-packages",
        script="/workspace/train/pretrain.py",
    ):
        j.name, j.hosts, j.per, j.t0, j.layout, j.torch, j.vendor, j.sp, j.script = (
            name,
            hosts,
            per,
            utc(t0),
            layout,
            torch,
            vendor,
            sp,
            script,
        )
        j.rng = random.Random(name)
        j.world = len(hosts) * per
        j.ranks = list(range(j.world))
        j.job = job or j.rng.randrange(100000, 999999)
        j.attempt = 0
        j.base = [j.rng.randrange(10000, 4000000) for _ in hosts]
        j.files, j.raw = {}, {}
        j.lib, j.dev = {"musa": ("MCCL", "MUSA"), "ascend": ("HCCL", "NPU")}.get(vendor, ("NCCL", "CUDA"))
        j.uid = hashlib.md5(name.encode()).hexdigest()[:8]

    # who is where
    def host(j, r: int) -> str:
        return j.hosts[r // j.per]

    def local(j, r: int) -> int:
        return r % j.per

    def pid(j, r: int) -> int:
        return j.base[r // j.per] + 7 * j.local(r) + 100000 * j.attempt % 1000000

    def agent(j, h: str) -> int:
        return j.base[j.hosts.index(h)] - 63

    def bus(j, r: int) -> str:
        return ("1b", "29", "45", "4e", "9d", "ad", "c9", "d3")[j.local(r) % 8] if j.per > 1 else "3b"

    def pci(j, r: int) -> str:
        return f"0000:{j.bus(r)}:00"

    # files
    def put(j, path, t, text, raw=False):
        if j.layout == "k8s" and "-worker-" in path and not raw:
            st = t.strftime("%Y-%m-%dT%H:%M:%S.") + f"{t.microsecond:06d}119Z "
            text = "\n".join(st + x for x in text.split("\n"))
        j.files.setdefault(path, []).append((t, text))

    def file(j, path, data):
        j.raw[path] = data if isinstance(data, bytes) else data.encode()

    def out(j, r, t, text, err=False):
        layout, h, local = j.layout, j.host(r), j.local(r)
        one = len(j.hosts) == 1
        lines = text.split("\n")
        if layout == "torchrun":
            j.put(
                ("logs/" if one else f"logs/{h}/")
                + f"{j.name}_{j.uid}/attempt_{j.attempt}/{local}/std{'err' if err else 'out'}.log",
                t,
                text,
            )
        elif layout == "tee":
            j.put(f"{h}.log", t, "\n".join(f"[default{local}]:{x}" for x in lines))
        elif layout == "srun_l":
            j.put(f"slurm-{j.job}.out", t, "\n".join(f"{r:>{len(str(j.world - 1))}}: {x}" for x in lines))
        elif layout == "srun_files":
            j.put(f"{j.job}_{r}_log.{'err' if err else 'out'}", t, text)
        elif layout == "mpirun":
            j.put(f"mpirun-{j.job}.log", t, "\n".join(f"[1,{r}]<std{'err' if err else 'out'}>:{x}" for x in lines))
        elif layout == "k8s":
            st = t.strftime("%Y-%m-%dT%H:%M:%S.") + f"{t.microsecond:06d}{r % 10}{len(text) % 100:02d}Z "
            j.put(f"{j.name}-worker-{j.hosts.index(h)}.log", t, "\n".join(st + x for x in lines), raw=True)
        elif layout == "json":
            for x in lines:
                j.put(
                    f"{h}.jsonl",
                    t,
                    json.dumps(
                        {
                            "ts": t.strftime("%Y-%m-%dT%H:%M:%S.") + f"{t.microsecond // 1000:03d}Z",
                            "host": h,
                            "rank": r,
                            "stream": "stderr" if err else "stdout",
                            "message": x,
                        }
                    ),
                )
        else:
            j.put(f"logs/rank_{r:03d}.log", t, text)

    def write(j, folder: pathlib.Path) -> None:
        """The bundle: lines of each file in the order of their times, then whole files."""
        for path, rows in j.files.items():
            text = "".join(line + "\n" for _, line in sorted(rows, key=lambda row: row[0]))
            j.raw[path] = text.encode()
        for path, data in j.raw.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    # training's own lines
    def log(j, r, t, text, level="INFO"):
        j.out(
            r,
            t,
            f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d} [rank{r}] {level} trainer: {text}",
            err=level != "INFO",
        )

    def start(j, t=None, ranks=None):
        t = t or j.t0
        for r in ranks or j.ranks:
            j.log(
                r,
                t + s(0.01 * r),
                f"starting pid={j.pid(r)} host={j.host(r)} local_rank={j.local(r)} world_size={j.world} backend={j.lib.lower()} torch={j.torch}.0",
            )

    def init(j, t=None, ranks=None, version="2.21.5", nic="eth0", net="10.4.0."):
        """communicator lines of the library: rank, nranks, busId, pid"""
        t = t or j.t0 + s(6)
        cid = "0x" + hashlib.md5((j.name + str(j.attempt)).encode()).hexdigest()[:16]
        lib = {"musa": "MCCL", "metax": "MCCL", "amd": "NCCL"}.get(j.vendor, "NCCL")
        for r in ranks or j.ranks:
            p = f"{j.host(r)}:{j.pid(r)}:"
            a, b = f"{p}{j.pid(r)} [{j.local(r)}] {lib} INFO ", f"{p}{j.pid(r) + 311} [{j.local(r)}] {lib} INFO "
            j.out(r, t + s(0.001 * r), f"{a}Bootstrap : Using {nic}:{net}{11 + j.hosts.index(j.host(r))}<0>", True)
            c = f"comm 0x{0x55D0A0000000 + 4096 * r:x} rank {r} nranks {j.world} cudaDev {j.local(r)} nvmlDev {j.local(r)} busId {int(j.bus(r), 16) * 4096:x} commId {cid}"
            c += " localSize 304 used 45640928 bytes" if j.vendor == "amd" else ""
            j.out(r, t + s(1 + 0.001 * r), f"{b}ncclCommInitRank {c} - Init START", True)
            j.out(r, t + s(3 + 0.001 * r), f"{b}ncclCommInitRank {c} - Init COMPLETE", True)

    def steps(j, a, b, t, dt_=2.0, ranks=None, kind="plain", loss=2.4):
        """steps a … b (both done); the first ends at t. Returns the time the last one ended."""
        g = random.Random(j.name + str(a))
        for k in range(a, b + 1):
            at = t + s((k - a) * dt_)
            x = loss - 0.002 * (k - a) + g.uniform(-0.01, 0.01)
            gn = g.uniform(0.4, 1.4)
            if kind == "plain":
                for r in j.ranks if ranks is None else ranks:
                    j.log(
                        r,
                        at + s(0.003 * r / max(j.world, 1) + g.uniform(0, 0.02)),
                        f"step {k} done loss {x + g.uniform(-0.02, 0.02):.4f} grad_norm {gn:.3f} step_time {dt_ + g.uniform(-0.02, 0.02):.3f} s",
                    )
            elif kind == "megatron":
                r = j.world - 1 if ranks is None else ranks[0]
                j.out(
                    r,
                    at,
                    f" [{at:%Y-%m-%d %H:%M:%S}] iteration {k:8}/  500000 | consumed samples: {k * 1024:12} | elapsed time per iteration (ms): {dt_ * 1000 + g.uniform(-40, 40):.1f} | throughput per GPU (TFLOP/s/GPU): {g.uniform(390, 410):.1f} | learning rate: 1.500000E-04 | global batch size:  1024 | lm loss: {x:.6E} | loss scale: 1.0 | grad norm: {gn:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |",
                )
            elif kind == "hf":
                j.out(
                    0,
                    at,
                    f"{{'loss': {x:.4f}, 'grad_norm': {gn:.6f}, 'learning_rate': {5e-5 * (1 - k / 9000):.6e}, 'epoch': {k / 1000:.3f}}}",
                )
            elif kind == "deepspeed":
                j.out(
                    0,
                    at,
                    f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}] [INFO] [logging.py:128:log_dist] [Rank 0] step={k}, skipped=0, lr=[1.5e-05], mom=[(0.9, 0.95)]",
                )
            elif kind == "titan":
                for r in j.ranks if ranks is None else ranks:
                    j.out(
                        r,
                        at + s(0.02 * g.random()),
                        f"[rank{r}]:[titan] {at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} - root - INFO - step: {k:2}  loss: {x:7.4f}  grad_norm: {gn:7.4f}  memory: 47.28GiB(59.70%)  tps: {g.randrange(5600, 5800):,}  tflops: {g.uniform(330, 340):.2f}  mfu: 34.10%",
                    )
        return t + s((b - a) * dt_)

    # the watchdog
    def glog(j, r, t, level, src, text):
        v = float(j.torch)
        x = t
        if v < 2.2:
            return f"[{level} {src}] {text}"
        if v < 2.4:
            return f"[rank{r}]:[{level} {src}] {text}"
        return f"[rank{r}]:[{level}{x.month}{x:%d %H:%M:%S}.{x.microsecond:06d}{(r * 37) % 1000:03d} {src}] {text}"

    def timeout(
        j,
        r,
        t,
        seq,
        op="ALLREDUCE",
        numel=4096000,
        numel_out=None,
        ms=600000,
        ran=None,
        group=("0", "default_pg"),
        gid=0,
        grank=None,
        enq=None,
        comp=None,
        abort=True,
        first=False,
    ):
        """one rank's whole time-out: caught, counters, the process taken down"""
        v = float(j.torch)
        g = r if grank is None else grank
        L = j.lib
        f = f"ProcessGroup{L}.cpp"
        comp = seq - 1 if comp is None else comp
        enq = seq if enq is None else enq
        ran = ran or ms + 7 + (r * 13) % 90

        def out(dt_, lv, ln, txt):
            j.out(r, t + s(dt_), j.glog(r, t + s(dt_), lv, f"{f}:{ln}", txt), True)

        caught = f"[Rank {g}] Watchdog caught collective operation timeout: Work{L}(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel if numel_out is None else numel_out}, Timeout(ms)={ms}) ran for {ran} milliseconds before timing out."
        pg = (
            f"[PG ID {gid} PG GUID {group[0]}({group[1]}) Rank {g}]"
            if v >= 2.5
            else f"[PG {group[0]} Rank {g}]"
            if v >= 2.3
            else f"[Rank {g}]"
        )
        if v < 2.2:
            out(0, "E", 475, caught)
            if not abort:
                return
            out(
                0.002,
                "E",
                489,
                f"Some {L} operations have failed or timed out. Due to the asynchronous nature of {j.dev} kernels, subsequent GPU operations might run on corrupted/incomplete data.",
            )
            out(0.002, "E", 495, "To avoid data inconsistency, we are taking the entire process down.")
            out(0.003, "E", 916, f"[Rank {g}] {L} watchdog thread terminated with exception: {caught}")
            j.out(
                r,
                t + s(0.004),
                f"terminate called after throwing an instance of 'std::runtime_error'\n  what():  [Rank {g}] {L} watchdog thread terminated with exception: {caught}",
                True,
            )
            return
        out(0, "E", {True: 607, False: 632}[v < 2.5], caught)
        if v < 2.5:
            out(
                0.001,
                "E",
                1664,
                f"{pg} Exception (either an error or timeout) detected by watchdog at work: {seq}, last enqueued {L} work: {enq}, last completed {L} work: {comp}.",
            )
        else:
            out(
                0.001,
                "E",
                2271,
                f"{pg}  failure detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {enq}, last completed work: {comp}",
            )
            out(
                0.001,
                "E",
                670,
                f"Stack trace of the failed collective not found, potentially because FlightRecorder is disabled. You can enable it by setting TORCH_{L}_TRACE_BUFFER_SIZE to a non-zero value.",
            )
            if first:
                out(0.002, "E", 1685, f"{pg} First PG on this rank to signal dumping.")
        if not abort:
            return
        out(
            1.0,
            "E",
            684,
            f"[Rank {g}] Some {L} operations have failed or timed out. Due to the asynchronous nature of {j.dev} kernels, subsequent GPU operations might run on corrupted/incomplete data.",
        )
        out(1.0, "E", 698, f"[Rank {g}] To avoid data inconsistency, we are taking the entire process down.")
        out(
            1.001,
            "E",
            1896,
            f"{pg} Process group watchdog thread terminated with exception: {caught}\nException raised from checkTimeout at /pytorch/torch/csrc/distributed/c10d/{f}:635 (most recent call first):\nframe #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f{r:02x}2f36c1c8 in {j.sp}/torch/lib/libc10.so)\nframe #1: c10d::ProcessGroup{L}::watchdogHandler() + 0xc80 (0x7f{r:02x}e1318277a0 in {j.sp}/torch/lib/libtorch_cuda.so)",
        )
        j.out(
            r,
            t + s(1.002),
            f"terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  {pg} Process group watchdog thread terminated with exception: {caught}",
            True,
        )

    def observed(j, r, t, src, enq=None, comp=None, group=("0", "default_pg"), gid=0, grank=None):
        """a rank that did not time out sees the dump signal of one that did: alive after the first gave up"""
        g = r if grank is None else grank
        pg = f"[PG ID {gid} PG GUID {group[0]}({group[1]}) Rank {g}]"
        f = f"ProcessGroup{j.lib}.cpp"
        j.out(
            r,
            t,
            j.glog(
                r, t, "E", f"{f}:1682", f"{pg} Observed flight recorder dump signal from another rank via TCPStore."
            ),
            True,
        )
        if enq is not None:
            j.out(
                r,
                t,
                j.glog(
                    r,
                    t,
                    "E",
                    f"{f}:1743",
                    f"{pg} Received a dump signal due to a collective timeout from  rank {src} and we will try our best to dump the debug info. Last enqueued {j.lib} work: {enq}, last completed {j.lib} work: {comp}.This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for all ranks or the scheduled collective, for some reason, didn't run. Additionally, this can be caused by GIL deadlock or other reasons such as network errors or bugs in the communications library (e.g. {j.lib}), etc. ",
                ),
                True,
            )

    def all_timeout(j, t, seq, ranks, **k):
        for n, r in enumerate(ranks):
            j.timeout(r, t + s(0.05 + 0.03 * n), seq, first=n == 0, **k)

    def trace(j, r, t, frames, error, prefix=None, chain=None):
        p = f"[rank{r}]: " if (prefix is None and float(j.torch) >= 2.2) else (prefix or "")
        tb = (
            ["Traceback (most recent call last):"]
            + [x for f, n, fn, code in frames for x in (f'  File "{f}", line {n}, in {fn}', f"    {code}")]
            + error.split("\n")
        )
        if chain:
            tb = [*chain, "", "The above exception was the direct cause of the following exception:", "", *tb]
        j.out(r, t, "\n".join(p + x for x in tb), True)

    # launchers
    def torchrun_fail(j, h, t, rows, root, closing=(), forced=(), file=None):
        """rows: (rank, exit code, signal name or '')"""
        f = file or ("agent.log" if len(j.hosts) == 1 else f"agent_{h}.log")

        def x(d):
            return f"{(t + s(d)).month:02d}{(t + s(d)):%d %H:%M:%S}.{(r0 * 1000) % 1000000:06d} {j.agent(h)} torch/distributed/elastic/multiprocessing/api.py"

        r0 = 241
        for r in closing:
            j.put(f, t, f"W{x(0)}:900] Sending process {j.pid(r)} closing signal SIGTERM")
        for r in forced:
            j.put(
                f,
                t + s(30),
                f"W{x(30)}:919] Unable to shutdown process {j.pid(r)} via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL",
            )
        e = t + s(31 if forced else 0.4)
        d = 31 if forced else 0.4
        rr = next(row for row in rows if row[0] == root)
        j.put(
            f,
            e,
            f'E{x(d)}:874] failed (exitcode: {rr[1]}) local_rank: {j.local(root)} (pid: {j.pid(root)}) of binary: {j.sp.split("/lib/")[0]}/bin/python\nTraceback (most recent call last):\n  File "{j.sp.split("/lib/")[0]}/bin/torchrun", line 8, in <module>\n    sys.exit(main())\n  File "{j.sp}/torch/distributed/launcher/api.py", line 270, in launch_agent\n    raise ChildFailedError(\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
        )

        def one(i, row):
            r, code, sig = row
            tb = (
                f"Signal {-code} ({sig}) received by PID {j.pid(r)}"
                if code < 0
                else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
            )
            return f"[{i}]:\n  time      : {t:%Y-%m-%d_%H:%M:%S}\n  host      : {h}\n  rank      : {r} (local_rank: {j.local(r)})\n  exitcode  : {code} (pid: {j.pid(r)}) {f' ({sig})' if sig else ''}\n  error_file: <N/A>\n  traceback : {tb}\n"

        bar, dash = "=" * 60, "-" * 60
        others = (
            "".join(one(i + 1, row) for i, row in enumerate(row for row in rows if row[0] != root))
            or "  <NO_OTHER_FAILURES>\n"
        )
        j.put(
            f,
            e + s(0.01),
            f"{bar}\n{j.script} FAILED\n{dash}\nFailures:\n{others}{dash}\nRoot Cause (first observed failure):\n{one(0, rr)}{bar}",
        )

    def srun(j, t: dt.datetime, text: str) -> None:
        j.put(f"slurm-{j.job}.out", t, text)

    # kernel logs
    def kernel(j, h, t, text, style="syslog", path=None):
        x = {
            "syslog": f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond:06d}+00:00 {h} kernel: {text}",
            "dmesg": f"[{t:%a %b} {t.day:2} {t:%H:%M:%S %Y}] {text}",
            "journal": f"{t:%Y-%m-%dT%H:%M:%S}+0000 {h} kernel: {text}",
            "iso": f"kern  :warn  : {t:%Y-%m-%dT%H:%M:%S},{t.microsecond:06d}+00:00 {text}",
        }[style]
        j.put(
            path
            or {
                "syslog": f"syslog_{h}.txt",
                "dmesg": f"{h}.dmesg",
                "journal": f"kernel/{h}.journal",
                "iso": f"dmesg-{h}.txt",
            }[style],
            t,
            x,
        )

    def oom(j, h, t, pid, comm, style="syslog", memcg=None, kb=1048576000):
        if memcg:
            j.kernel(
                h,
                t,
                f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,oom_memcg={memcg},task_memcg={memcg}/task_0,task={comm},pid={pid},uid=1042",
                style,
            )
        j.kernel(
            h,
            t + s(0.001),
            f"{'Memory cgroup out of memory' if memcg else 'Out of memory'}: Killed process {pid} ({comm}) total-vm:{kb + 9000000}kB, anon-rss:{kb}kB, file-rss:84212kB, shmem-rss:1342kB, UID:1042 pgtables:2092kB oom_score_adj:0",
            style,
        )
        j.kernel(
            h,
            t + s(0.9),
            f"oom_reaper: reaped process {pid} ({comm}), now anon-rss:0kB, file-rss:0kB, shmem-rss:1342kB",
            style,
        )
