"""What the processes, the launcher and the kernels of a simulated job print, as texts and as `events` and `steps`.

Layout, as torchrun and a collector leave it: hosts/HOST/logs/RUN/attempt_0/LOCAL_RANK/{stdout,stderr}.log,
hosts/HOST/agent.log, hosts/HOST/dmesg.txt. Each host stamps by its own clock.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import polars as pl

from parsers.schema.tables import TableName, table
from samples.simulator.engine import NEVER, Op
from samples.simulator.job import Job
from samples.simulator.lines import MERGED, RUN, SECOND, Line, path, pid
from samples.simulator.program import Call, Host
from samples.simulator.recorder import at_ns
from samples.simulator.run import Run
from samples.simulator.watchdog import fires_ns, timeouts
from samples.simulator.watchdog import lines as watchdog_lines

_BUSES = ("1b", "29", "45", "4e", "9d", "a6", "c1", "ca")


def pci(device: int) -> str:
    return f"{device // len(_BUSES):04x}:{_BUSES[device % len(_BUSES)]}:00"


def address(host: str) -> str:
    index = int(host.removeprefix("node"))
    return f"10.8.{index // 250}.{index % 250 + 1}"


def files(run: Run) -> Iterator[tuple[str, bytes]]:
    """(path, content); every kept rank has both of its files, if only empty ones."""
    texts: dict[str, list[str]] = {}
    for rank in () if run.noise.form.merged else sorted(run.draw.kept.logs):
        for stream in ("stdout", "stderr"):
            texts[path(run.job, rank, stream)] = []
    for line in lines(run):
        texts.setdefault(line.path, []).append(line.text)
    for name, parts in texts.items():
        yield name, "".join(part + "\n" for part in parts).encode()


def tables(run: Run) -> dict[TableName, pl.DataFrame]:
    """Rows of the lines that matter to a verdict, with the line numbers that the files have."""
    rows: dict[TableName, list[dict[str, Any]]] = {"events": [], "steps": [], "ranks": [], "groups": []}
    numbers: dict[str, int] = {}
    for line in lines(run):
        first = numbers.get(line.path, 0) + 1
        numbers[line.path] = first + line.text.count("\n")
        own = () if line.row is None else ((line.table, line.row),)
        for name, row in (*own, *line.more):
            placed = {**row, "file": line.path, "line": first + row.get("line", 0)}
            if name == "events" and RUN in line.path:
                placed |= {"attempt": 0, "host": line.path.split("/")[1]}
            rows[name].append(placed)
    return {name: table(name, found) for name, found in rows.items()}


def lines(run: Run) -> Iterator[Line]:
    """All lines, in the order of each file."""
    kept, fired = run.draw.kept, timeouts(run)
    printed = (line for rank in sorted(kept.logs) for line in _process(run, rank, fired))
    yield from _merged(run.job, printed) if run.noise.form.merged else printed
    if kept.launcher:
        yield from _launcher(run, fired)
    if kept.kernels:
        yield from _kernel(run)


def _process(run: Run, rank: int, fired: dict[int, Op]) -> Iterator[Line]:
    if run.plan.fault.kind == "store_timeout":
        yield from _rendezvous(run, rank)
        return
    if "nccl" in run.noise.sources and run.noise.form.told != "nothing":
        yield from _nccl_init(run, rank)
    yield from _steps(run, rank)
    yield from _deaths(run, rank)
    if "nccl" in run.noise.sources and run.plan.fault.kind == "network_fault":
        yield from _network(run, rank)
    yield from watchdog_lines(run, rank, fired)


def _merged(job: Job, printed: Iterable[Line]) -> Iterator[Line]:
    """All processes in one file, by time; each line behind the number of its task, as `srun --label` puts it."""
    ranks = {path(job, rank, stream): rank for rank in range(job.world) for stream in ("stdout", "stderr")}
    for line in sorted(printed, key=lambda line: line.ns):
        label = f"{ranks[line.path]}: "
        yield replace(line, path=MERGED, text="\n".join(label + one for one in line.text.split("\n")))


# --- processes -----------------------------------------------------------------------------------------------------


def _clock(run: Run, rank: int, ms: float) -> int:
    return at_ns(ms, run.draw.skew_ns[run.job.host(rank)])


def _stamp(ns: int, form: str) -> str:
    return _second(ns // SECOND, form).replace("%f", f"{ns % SECOND // 1_000_000:03d}")


@lru_cache(maxsize=4096)
def _second(seconds: int, form: str) -> str:
    """`form` as of strftime; `%%f` stands for milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime(form)


def _nccl(job: Job, rank: int) -> str:
    local = rank % job.gpus_per_host
    return f"{job.host(rank)}:{pid(job, rank)}:{pid(job, rank)} [{local}] NCCL"


def _nccl_init(run: Run, rank: int) -> Iterator[Line]:
    job, out = run.job, path(run.job, rank, "stdout")
    local, head = rank % job.gpus_per_host, _nccl(job, rank)
    yield Line(out, f"{head} INFO Bootstrap: Using eth0:{address(job.host(rank))}<0>")
    comm = f"comm {0x55D0_0000_0000 + rank * 4096:#x} rank {rank} nranks {job.world}"
    place = f"cudaDev {local} nvmlDev {local} busId {_BUSES[local % len(_BUSES)]}000 commId {0xF00D + run.seed:#x}"
    who = {
        "rank": rank, "host": job.host(rank), "pid": pid(job, rank), "device_index": local, "pci": f"{pci(local)}.0",
        "world_size": job.world, "local_rank": local, "how": "NCCL init",
    }  # fmt: skip
    group = {
        "group": f"{job.host(rank)}:{pid(job, rank)}:{0x55D0_0000_0000 + rank * 4096:#x}", "size": job.world,
        "comm": f"{0xF00D + run.seed:#x}", "backend": "nccl", "how": "NCCL Init COMPLETE",
    }  # fmt: skip
    text = f"{head} INFO ncclCommInitRankConfig {comm} {place} - Init COMPLETE"
    yield Line(out, text, more=(("ranks", who), ("groups", group)))


def _steps(run: Run, rank: int) -> Iterator[Line]:
    """A line per step that the rank's host has logged, and Megatron's on the last rank."""
    job, state = run.job, run.engine.ranks[rank]
    until, out = run.until(rank), path(job, rank, "stdout")
    ends: dict[int, float] = {}
    for op in state.ops:
        if isinstance(op.call, Call) and op.call.role == "world" and op.call.where.phase == "optimizer":
            ends[op.call.where.step] = op.completed
    for index, action in enumerate(state.program[: state.at]):
        if not (isinstance(action, Host) and action.site == "log"):
            continue
        step = action.where.step
        end = ends.get(step, state.clock if index else 0.0) + 0.1
        if end > until:
            return
        ns = _clock(run, rank, end)
        loss = round(2.31 - (step % 1000) * 0.0007 + rank % 7 * 0.001, 4)
        stamp = _stamp(ns, "%Y-%m-%d %H:%M:%S.%%f")
        row = {"rank": rank, "step": step, "loss": loss, "time_ns": ns // 1_000_000 * 1_000_000}
        yield Line(out, f"{stamp} [rank{rank}] INFO train: step {step} loss {loss}", "steps", row, ns=at_ns(end))
        if rank == job.world - 1:
            text = f" iteration {step:8d}/  500000 | consumed samples: {step * 512:12d} | elapsed time per iteration"
            rest = f"| learning rate: 3.000E-04 | global batch size:   512 | lm loss: {loss:.6E} | loss scale: 1.0 "
            row = {"local_rank": rank % job.gpus_per_host, "step": step, "loss": loss, "grad_norm": 0.412}
            text = f"{text} (ms): 3010.4 {rest}| grad norm: 0.412 | number of skipped iterations:   0 |"
            yield Line(out, text, "steps", row, ns=at_ns(end))
    if state.finished and run.plan.fault.kind != "slow":
        stamp = _stamp(_clock(run, rank, state.clock), "%Y-%m-%d %H:%M:%S.%%f")
        yield Line(out, f"{stamp} [rank{rank}] INFO train: training finished", ns=at_ns(state.clock))


def _deaths(run: Run, rank: int) -> Iterator[Line]:
    plan, job = run.plan, run.job
    if plan.fault.kind != "rank_died" or plan.how != "exception" or rank not in plan.culprits:
        return
    frames = (
        'File "/srv/train/pretrain.py", line 93, in <module>',
        'File "/srv/train/training/loop.py", line 402, in train',
        'File "/srv/train/model/packing.py", line 57, in pack_sequences',
    )
    error = "ValueError: sample 88121 has 0 tokens"
    text = [f"[rank{rank}]: Traceback (most recent call last):", *(f"[rank{rank}]:   {frame}" for frame in frames)]
    row = {
        "kind": "exception",
        "code": "ValueError",
        "severity": "error",
        "rank": rank,
        "text": error,
        "line": len(text),
    }
    died = at_ns(run.engine.ranks[rank].clock)
    yield Line(path(job, rank, "stderr"), "\n".join([*text, f"[rank{rank}]: {error}"]), row=row, ns=died)


def _network(run: Run, rank: int) -> Iterator[Line]:
    """Ranks with an open operation across the dead host name the other end; the host itself sees its port fail."""
    job, dead = run.job, run.plan.hosts[0]
    mine = job.host(rank)
    out = path(job, rank, "stdout")
    if mine == dead:
        text = f"{_nccl(job, rank)} WARN NET/IB : mlx5_{rank % job.gpus_per_host}:1 Got async event : port error"
        yield Line(
            out,
            text,
            row={"kind": "port_error", "severity": "error", "host": mine, "text": text},
            ns=at_ns(run.draw.end_ms),
        )
    for op in run.engine.ranks[rank].ops:
        if op.completed != NEVER or op.started == NEVER or not isinstance(op.call, Call):
            continue
        hosts = {job.host(member) for member in job.groups[op.group].members}
        if op.call.transfers:
            hosts = {job.host(job.groups[op.group].members[stage]) for _, stage in op.call.transfers} | {mine}
        if dead not in hosts or len(hosts) < 2:
            continue
        peer = address(dead if mine != dead else sorted(hosts - {dead})[0])
        said = (
            f"NET/IB: Got completion from peer {peer}<{pid(job, rank)}> with status=12 opcode=129 len=0 vendor err 129"
        )
        text = f"{_nccl(job, rank)} WARN {said} (Send) hca mlx5_{rank % job.gpus_per_host}"
        row: dict[str, Any] = {
            "kind": "completion_error",
            "code": "12",
            "severity": "error",
            "host": mine,
            "text": text,
        }
        row["names_hosts"] = [peer]
        yield Line(out, text, row=row, ns=at_ns(run.draw.end_ms))
        return


def _rendezvous(run: Run, rank: int) -> Iterator[Line]:
    job, absent = run.job, run.plan.culprits
    stamp = _stamp(_clock(run, rank, 0.0), "%Y-%m-%d %H:%M:%S.%%f")
    yield Line(path(job, rank, "stdout"), f"{stamp} [rank{rank}] INFO train: starting, world={job.world}")
    if rank in absent:
        return
    error = path(job, rank, "stderr")
    if rank == 0:
        count = f"{job.world - len(absent)}/{job.world}"
        said = f"DistStoreError: Timed out after 601 seconds waiting for clients. {count} clients joined."
    else:
        said = "DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cuda//0"
    yield Line(error, f"[rank{rank}]: torch.distributed.{said}")


# --- launcher and kernel -------------------------------------------------------------------------------------------


def _exits(run: Run, fired: dict[int, Op]) -> dict[int, tuple[int, int]]:
    """rank → (exit code, ns). Of the others of a host the launcher stops who is still alive."""
    job, plan = run.job, run.plan
    exits = {rank: (-6, fires_ns(job, op) + 20 * SECOND) for rank, op in fired.items()}
    if plan.fault.kind == "rank_died":
        code = 1 if plan.how == "exception" else -9
        exits |= {rank: (code, at_ns(run.engine.ranks[rank].clock)) for rank in plan.culprits}
    return exits


def _launcher(run: Run, fired: dict[int, Op]) -> Iterator[Line]:
    job, exits = run.job, _exits(run, fired)
    by_host: dict[str, list[int]] = {}
    for rank in range(job.world):
        by_host.setdefault(job.host(rank), []).append(rank)
    for host, ranks in by_host.items():
        log, skew = f"hosts/{host}/agent.log", run.draw.skew_ns[host]
        failed = sorted((exits[rank][1], rank) for rank in ranks if rank in exits)
        if not failed:
            if run.plan.fault.kind == "none":
                yield Line(log, "[default] worker group successfully finished. Waiting 300 seconds for other agents.")
            continue
        ns, first = failed[0]
        yield from _agent(run, host, ns + skew, first, ranks, exits)


def _agent(
    run: Run, host: str, ns: int, first: int, ranks: list[int], exits: dict[int, tuple[int, int]]
) -> Iterator[Line]:
    job, log = run.job, f"hosts/{host}/agent.log"
    api = "torch/distributed/elastic/multiprocessing/api.py"
    stamp = f"{_stamp(ns, '%m%d %H:%M:%S')}.{ns % SECOND // 1000:06d} 4100"
    alive = [rank for rank in ranks if rank not in exits]
    for rank in alive:
        yield Line(log, f"W{stamp} {api}:1028] Sending process {pid(job, rank)} closing signal SIGTERM")
    said = f"failed (exitcode: {exits[first][0]}) local_rank: {first % job.gpus_per_host} (pid: {pid(job, first)})"
    yield Line(log, f"E{stamp} {api}:1002] {said} of binary: /opt/venv/bin/python3")
    rule = "=" * 60
    yield Line(log, f"{rule}\npretrain.py FAILED\n{'-' * 60}\nFailures:")
    order = [first, *(rank for rank in ranks if rank in exits and rank != first)]
    for number, rank in enumerate(order[1:], 1):
        yield _failure(job, log, f"[{number}]:", rank, exits[rank], ns)
    yield Line(log, f"{'-' * 60}\nRoot Cause (first observed failure):")
    yield _failure(job, log, "[0]:", first, exits[first], ns)
    yield Line(log, rule)


def _failure(job: Job, log: str, title: str, rank: int, ended: tuple[int, int], ns: int) -> Line:
    signal = {-9: "SIGKILL", -6: "SIGABRT", -15: "SIGTERM"}.get(ended[0])
    number, code = pid(job, rank), ended[0]
    trace = f"Signal {-code} ({signal}) received by PID {number}" if signal else "<N/A>"
    fields = (
        f"  time      : {_stamp(ns, '%Y-%m-%d_%H:%M:%S')}",
        f"  host      : {job.host(rank)}",
        f"  rank      : {rank} (local_rank: {rank % job.gpus_per_host})",
        f"  exitcode  : {code} (pid: {number})" + (f"  ({signal})" if signal else " "),
        "  error_file: <N/A>",
        f"  traceback : {trace}",
    )
    row = {
        "kind": "exit", "time_ns": ns // SECOND * SECOND, "time_basis": "local",
        "code": signal or str(code), "severity": "error", "rank": rank, "rank_space": "global",
        "local_rank": rank % job.gpus_per_host, "host": job.host(rank), "pid": number, "line": 4,
        "text": f"exitcode {code}",
    }  # fmt: skip
    who = {key: row[key] for key in ("rank", "local_rank", "host", "pid", "line")} | {"how": "elastic failure table"}
    return Line(log, "\n".join([title, *fields]), row=row, more=(("ranks", who),))


def _kernel(run: Run) -> Iterator[Line]:
    """Noise first, then what belongs to the fault."""
    job, plan, drawn = run.job, run.plan, run.draw
    for host in job.hosts:
        skew = drawn.skew_ns[host]
        early, late = at_ns(-80.0, skew), at_ns(drawn.end_ms, skew)
        yield _printed(host, early, f"NVRM: GPU at PCI:{pci(0)}: GPU-5f3c9a10-77aa-4c1e-9d0e-{int(host[4:]):012x}")
        if host in drawn.ecc:
            where = "CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (channel:0 slot:0)"
            said = f"EDAC MC{drawn.ecc[host] % 4}: 1 CE memory read error on {where}"
            yield _printed(host, early, said, {"kind": "memory_error", "code": "correctable", "severity": "info"})
        if host == drawn.unrelated and plan.fault.kind != "none":
            yield _xid(host, late - 30 * SECOND, 2, 43, "Ch 00000008")
        if plan.fault.kind == "gpu_fault" and host == job.host(plan.culprits[0]):
            yield _xid(host, late - SECOND, plan.culprits[0] % job.gpus_per_host, 79, "GPU has fallen off the bus.")
        if plan.how == "host_oom" and host == job.host(plan.culprits[0]):
            number = pid(job, plan.culprits[0])
            said = f"Out of memory: Killed process {number} (python3) total-vm:912345678kB, anon-rss:812345678kB"
            yield _printed(host, late - SECOND, said, {"kind": "host_oom", "severity": "fatal", "pid": number})
        if host in plan.hosts:
            said = "mlx5_core 0000:41:00.0 ib0: Link down"
            yield _printed(
                host, late - SECOND, said, {"kind": "link_down", "severity": "warning", "pci": "0000:41:00.0"}
            )


def _xid(host: str, ns: int, device: int, number: int, said: str) -> Line:
    row = {"kind": "gpu_error", "code": f"xid:{number}", "severity": "error", "pci": pci(device)}
    return _printed(host, ns, f"NVRM: Xid (PCI:{pci(device)}): {number}, pid=4242, name=python3, {said}", row)


def _printed(host: str, ns: int, said: str, row: dict[str, Any] | None = None) -> Line:
    stamp = _stamp(ns, "%Y-%m-%dT%H:%M:%S+0000")
    when = {"host": host, "time_ns": ns // SECOND * SECOND, "time_basis": "utc", "text": said}
    made = None if row is None else {**row, **when}
    return Line(f"hosts/{host}/dmesg.txt", f"{stamp} {host} kernel: {said}", row=made)
