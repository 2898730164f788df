"""Bundles in which each witness calls a process differently, and one or two joins lead to its rank.

Truth first, as in drawn_bundles: who fails and how is drawn before the form. `FAMILIES`: one rank is right; `NOBODY`: the join is missing or contradicted.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from string import Formatter
from typing import NamedTuple

from drawn.job import BY_NAME, DOCUMENTS, SAYS, STANDS, STEPS, WAITS, Case, Job, Log, figures
from drawn.who import documented

INNER, OUTER = ("slm", "sm", "lsm", "s", "m", "lm", "sl", "smlw"), ("slwm", "swlm", "wslm", "lswm", "swm", "w", "sw")
STEP_LINES = (
    "step {s} loss {x} grad_norm {g}", "[{s}/20000] loss={x} gnorm={g}", "Epoch 0 | Iter {s} | Loss: {x} | Grad norm: {g}", "it {s}: train_loss {x}",
    " iteration {s:>8}/ 20000 | consumed samples: 4096 | lm loss: {x} | grad norm: {g} |", "{{'loss': {x}, 'grad_norm': {g}, 'step': {s}}}",
    "global_step={s} loss={x} lr=3.0e-04", "Train: 0 [{s:>4}/20000 (  0%)]  Loss: {x}  Time: 0.412s", "update {s} done, loss is {x}, norm {g}",
    '{{"step": {s}, "loss": {x}, "grad_norm": {g}}}',
)  # fmt: skip
ERRORS = (
    "KeyError: 'user_481'", "FileNotFoundError: [Errno 2] No such file or directory: '/data/shard_0481.tar'", "IndexError: list index out of range",
    "ValueError: could not convert string to float: '3.1,4'", "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    "ZeroDivisionError: float division by zero", "AttributeError: 'NoneType' object has no attribute 'shape'", "AssertionError: empty batch in shard 481",
    "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x8b in position 1: invalid start byte", "PIL.UnidentifiedImageError: cannot identify image file",
    "RuntimeError: The size of tensor a (512) must match the size of tensor b (511) at non-singleton dimension 1", "MyDataError: bad record 481 in shard 17",
)  # fmt: skip
LOSTS = (
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [{bad_ip}]:{bad_port}",
    "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
    "ConnectionResetError: [Errno 104] Connection reset by peer", "RuntimeError: Connection reset by peer [{bad_ip}]:{bad_port}", "BrokenPipeError: [Errno 32] Broken pipe",
)  # fmt: skip
PEERS = (
    LOSTS[0], "RuntimeError: Connection reset by peer [{bad_ip}]:{bad_port}", "ConnectionResetError: peer {bad_ip}:{bad_port} closed the connection",
    "torch.distributed.DistBackendError: NCCL error: socketProgress: Connection closed by remote peer {bad_ip}<{bad_port}>",
    "EOFError: lost connection to ('{bad_ip}', {bad_port})", "ConnectionError: {bad_ip}:{bad_port} went away during all_reduce",
)  # fmt: skip
TIMED_OUT = (
    "[PG ID 0 PG GUID 0(default_pg)] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=211, OpType=ALLREDUCE, NumelIn=1048576, "
    "NumelOut=1048576, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 600000ms for recv operation to complete",
    "all_reduce timed out after 600 s", "TimeoutError: barrier not passed after 600 seconds", "giving up: no answer in allreduce for 600s",
    "torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /barrier/22", "collective ALLREDUCE did not finish within 10 min, aborting",
)  # fmt: skip
KILLS = (
    "Out of memory: Killed process {p} (python) total-vm:98304000kB, anon-rss:61234000kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:130000kB oom_score_adj:0",
    "Out of memory: Kill process {p} (python) score 953 or sacrifice child", "Memory cgroup out of memory: Killed process {p} (python) total-vm:98304000kB, "
    "anon-rss:61234000kB, file-rss:71000kB, shmem-rss:0kB, UID:0 pgtables:130000kB oom_score_adj:968",
)  # fmt: skip
FAULTS_OF_KERNEL = (
    "python[{p}]: segfault at 18 ip 00007f3a1c2d4e10 sp 00007ffd3c1a9e50 error 4 in libtorch_cpu.so[7f3a10000000+1a3c2000]",
    "traps: python[{p}] general protection fault ip:7f3a1c2d4e10 sp:7ffd3c1a9e50 error:0 in libc.so.6[7f3a1c228000+195000]",
)
HEADINGS = (
    "==== {} ====",
    "--- {} ---",
    "### {}",
    "{}:",
    "# {}",
    "[{}]",
    "*{}*",
    "tail of {}",
    "==> {} <==",
    ">>> {}",
    "{} says",
    "=== last lines of {}",
)
CODES = {"137": "Killed", "139": "Segmentation fault (core dumped)", "135": "Bus error (core dumped)"}
Write = Callable[["Cluster"], None]
Links = dict[
    str, dict[str, tuple[str, Write]]
]  # what it is called here -> form of the document -> what it is called there, and who writes it


class Stack(NamedTuple):
    """What a kind of cluster prints. Heads stand before each line, calls are what people say, prompts stand above a dump."""

    heads: tuple[str, ...]
    calls: tuple[str, ...]
    paths: tuple[str, ...]
    prompts: tuple[str, ...]
    faults: dict[str, Write]
    links: Links
    is_wrapped: bool = False
    stops: tuple[str, ...] = ()  # faults that make a manager stop all others


class Cluster:
    """A job, what its processes are called by whom, and the files. `needs`: names that witnesses used and nothing joins so far."""

    def __init__(self, job: Job) -> None:
        job.now = self.died = datetime(2026, 7, 9, 10, 3, job.draw.randint(0, 50))
        self.job, self.files = job, defaultdict[str, list[str]](list)
        self.ids: dict[str, list[str]] = {
            "p": [str(pid) for pid in job.pids],
            "l": [str(rank % job.each) for rank in range(job.size)],
        }
        self.more: dict[str, list[str]] = {
            "n": [str(job.size)] * job.size,
            "r": [str(rank) for rank in range(job.size)],
        }
        self.more |= {
            "h": [job.host(rank) for rank in range(job.size)],
            "r1": [str(rank + 1) for rank in range(job.size)],
            "w": [""] * job.size,
        }
        self.more["ip"] = [f"10.12.{5 + rank // job.each}.{17 + rank // job.each}" for rank in range(job.size)]
        self.more["port"] = [str(port) for port in job.draw.sample(range(32800, 60900), job.size)]
        self.more["j"] = [str(job.draw.randint(10000, 990000))] * job.size
        self.needs: set[str] = set()
        self.last = self.head = ""
        self.bad, self.code = (
            job.bad,
            job.draw.choice(("137", "139", "139", "135")),
        )  # 134 would not tell: who gives up aborts, too
        self.others = "143"

    def say(self, form: str, rank: int, **also: str) -> str:
        now = {
            "iso": self.job.now.strftime("%Y-%m-%dT%H:%M:%S.%f") + "123Z",
            "t": self.died.strftime("%H:%M:%S"),
            "end": self.job.now.strftime("%H:%M:%S"),
        }
        return str(form).format(**{name: own[rank] for name, own in (self.ids | self.more).items()}, **now, **also)

    def all(self, *forms: str, order: Iterable[int] = ()) -> list[str]:
        return [self.say(form, rank) for rank in order or self.job.turns() for form in forms]

    def pick(self, what: str, forms: Sequence[str]) -> str:
        form = self.job.choose(what, forms)
        told = [name for _, name, _, _ in Formatter().parse(form) if name in self.ids]
        self.last = self.job.draw.choice(told or ["p"])
        self.needs.add(self.last)
        return form

    def hexes(self, many: int) -> str:
        return "".join(self.job.draw.choices("0123456789abcdef", k=many))

    def each(self, name: str, made: Callable[[int], str]) -> None:
        self.ids[name] = [made(rank) for rank in range(self.job.size)]

    def exit(self, rank: int) -> str:
        return self.code if rank == self.bad else self.others

    def told(self, name: str) -> dict[str, tuple[str, Write]]:
        """Documents of a person that tell the rank of a name."""

        def write(kind: str) -> Write:
            def documents(c: Cluster) -> None:
                for path, own in documented(c.job, kind, lambda r: c.ids[name][r]).items():
                    c.files[path] += own

            return documents

        return {f"own {kind}": ("r", write(kind)) for kind in DOCUMENTS}


def file(name: str, *forms: str, above: Sequence[str] = (), below: Sequence[str] = ()) -> Write:
    """Writes a file of these lines for each process."""
    return lambda c: c.files[name].extend([*(c.say(one, c.bad) for one in above), *c.all(*forms), *below])


def exits(
    name: str, right: str, other: str, above: Sequence[str] = (), below: Sequence[str] = (), need: str = ""
) -> Write:
    """Writes a table of how each ended; {code} is its status, {why} the shell's word."""

    def write(c: Cluster) -> None:
        c.needs.update({need} if need else ())
        state = "CANCELLED   0:15" if c.others == "143" else "FAILED      1:0"
        turns = (
            sorted(c.job.turns(), key=lambda rank: rank != c.bad)
            if "{t}" in right or name in ("up.log", "srun.err")
            else c.job.turns()
        )
        rows = [
            c.say(
                right if rank == c.bad else other,
                rank,
                state=state,
                code=c.exit(rank),
                why=CODES.get(c.exit(rank), "Terminated"),
                sig=str(int(c.exit(rank)) - 128),
            )
            for rank in turns
        ]
        c.files[name] += [
            *(c.say(one, c.bad) for one in above),
            *rows,
            *(c.say(one, c.bad, code=c.code, why=CODES[c.code], sig=str(int(c.code) - 128)) for one in below),
        ]

    return write


def kernel(forms: Sequence[str], above: Sequence[str] = (), by: Sequence[str] = ("p",)) -> Write:
    def write(c: Cluster) -> None:
        c.needs.add(c.job.choose("kernel's name", by))
        own = [*above, c.job.choose("kernel's words", forms)]
        if c.job.choose("kernel's log", ("dmesg", "seconds", "journal")) == "journal":
            c.files[c.say("journal-{h}.log", c.bad)] = [c.say("Jul 09 {t} {h} kernel: " + one, c.bad) for one in own]
        else:
            stamp = "[Thu Jul  9 {t} 2026] " if c.job.choices["kernel's log"] == "dmesg" else "[812345.123456] "
            c.files[c.say("dmesg_{h}.txt", c.bad)] = [c.say(stamp + one, c.bad) for one in own]

    return write


def same(name: str, row: str, above: Sequence[str] = (), *, need: str) -> Write:
    """Writes one form for all."""
    return exits(name, row, row, above, need=need)


def told_by(name: str, text: str, need: str) -> Write:
    """Writes what somebody says of the one that failed."""

    def write(c: Cluster) -> None:
        c.needs.add(need)
        why = CODES[c.code].removesuffix(" (core dumped)")
        c.files[name] += c.say(text, c.bad, code=c.code, sig=str(int(c.code) - 128), why=why).split("\n")

    return write


OOM = kernel(KILLS, ("python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",))
BY_PID: dict[str, Write] = {"oom": OOM, "segfault": kernel(FAULTS_OF_KERNEL)}
PS = "ml       {p:>7} 99.0  2.1 98304000 6100000 ?   Rl   10:00 300:11 python train.py "


def environs(c: Cluster) -> None:
    for rank in c.job.turns():
        c.files[c.say("environ/{h}/{p}", rank)] = c.all(
            "SHELL=/bin/bash", "RANK={r}", "LOCAL_RANK={l}", "WORLD_SIZE={n}", order=[rank]
        )


def pid_files(c: Cluster) -> None:
    for rank in c.job.turns():
        c.files[c.say("run/rank{r}.pid", rank)].append(c.ids["p"][rank])


PIDS: dict[str, tuple[str, Write]] = {
    "environ": ("r", environs), "ps": ("r", file("processes.txt", PS + "--rank {r} --world_size {n}")),
    "environ by grep": ("r", file("env.txt", "/proc/{p}/environ:RANK={r}")), "launcher": ("r", file("launcher.log", "10:00:01 INFO launched rank {r} on {h} with pid {p}")),
    "pid files": ("r", pid_files),
    "csv": ("r", file("pids.csv", "{h},{p},{r}", above=["host,pid,rank"])), "echo": ("r", file("start.log", "{h}: [{r}] {p}", above=["started (host: [rank] pid)"])),
}  # fmt: skip
PLACES: dict[str, tuple[str, Write]] = {
    "table": ("r", file("places.csv", "{h},{l},{r}", above=["host,local_rank,rank"])), "env": ("r", file("env.txt", "{h}: LOCAL_RANK={l} RANK={r} WORLD_SIZE={n}")),
    "hostfile": ("r", lambda c: c.files.update({"hostfile": [f"{h} slots={c.job.each}" for h in c.job.hosts], "run.sh": ["deepspeed --hostfile=hostfile train.py"]})),
    "node ranks": ("r", lambda c: c.files.update({"run.sh": [f"ssh {h} torchrun --nnodes 2 --node_rank {at} --nproc_per_node {c.job.each} train.py &" for at, h in enumerate(c.job.hosts)]})),
}  # fmt: skip
TABLES = {form: PLACES[form] for form in ("table", "env")}


def raised(error: str, *, is_own: bool) -> list[str]:
    at = (
        ('  File "/app/train.py", line 88, in main', "    batch = next(loader)")
        if is_own
        else ('  File "/app/train.py", line 95, in main', "    dist.all_reduce(g)")
    )
    return [
        "Traceback (most recent call last):",
        '  File "/app/train.py", line 212, in <module>',
        "    main()",
        *at,
        *error.split("\n"),
    ]


def logged(c: Cluster, s: Stack, fault: str, *, is_joined: bool) -> None:
    """The logs: one of all, one of each, or the ends of each in a ticket."""
    job, mode = c.job, c.job.choose("logs", ("one", "one", "each", "tails"))
    own: dict[int, list[str]] = {rank: [] for rank in range(job.size)}
    every: list[str] = []
    stamps: dict[int, list[str]] = {rank: [] for rank in own}
    head, is_in = "", mode == "one" and job.choose("who stands", ("before", "in")) == "in"
    if mode == "one":
        head = c.pick("who", s.calls if is_in else s.heads)
        job.names = [c.say(head, rank) for rank in own] if is_in else job.names
    log = Log(job, job.choose("around", BY_NAME) if is_in else "", OUTER if is_in else INNER)
    is_bare = job.choose("traceback", ("bare", "headed")) == "bare"

    def put(rank: int, text: str) -> None:
        told = c.say(head, rank) if head and not is_in else ""
        every.append(told.replace("%", json.dumps(text)) if "%" in told else told + text)
        own[rank].append(text)
        stamps[rank].append(c.say("{iso}", rank))

    def fail(rank: int, error: str) -> None:
        for text in log.raised(rank, raised(error, is_own=rank == job.bad), is_bare=is_bare):
            put(rank, text)

    says, words = job.choose("says", SAYS), job.choose("step line", STEP_LINES)
    not_a_number = "NaN" if words.startswith('{{"') else "nan"
    job.choices["own log says"] = str(is_joined and mode != "tails" and job.draw.random() < 0.2)
    if job.choices["own log says"] == "True":
        c.head = c.last
        for rank in job.turns():
            put(rank, log.line(rank, c.say(says, rank)))
    for step in range(1, STEPS + 1):
        job.later(1)
        for rank in job.turns():
            if not (fault == "silent" and step > (STEPS - 3 if rank == job.bad else STEPS - 2)):
                loss, norm = figures(job, step, rank, STEPS if fault == "nan" else -1)
                put(rank, log.line(rank, words.format(s=step, x=loss, g=norm).replace("nan", not_a_number)))
    lost, gone = job.choose("lost", PEERS if fault.startswith("peer") else LOSTS), job.choose("gave up", TIMED_OUT)
    peer = {"bad_ip": c.say("{ip}", c.bad), "bad_port": c.say("{port}", c.bad)}
    if fault == "exception":
        fail(job.bad, job.choose("error", ERRORS))
    c.died = job.later(1)
    job.later(601 if fault == "silent" else 4)
    for rank in job.turns() if fault not in ("nan", "elsewhere") else []:
        if rank != job.bad and fault == "silent":
            put(rank, log.line(rank, gone, "error"))
        elif rank != job.bad and c.others == "143":
            put(
                rank,
                log.line(
                    rank,
                    job.choose("told to stop", ("received SIGTERM, shutting down", "got signal 15, bye", "Terminated")),
                    "warning",
                ),
            )
        elif rank != job.bad:
            fail(rank, c.say(lost, rank, **peer))
    if mode == "one":
        c.files[job.choose("log", ("run.log", "train.log", "console.txt", "job.out"))] = every
    elif mode == "each":
        path = c.pick("path", s.paths)
        c.head = c.last if job.choices["own log says"] == "True" else ""
        wrapped = job.choose("wrapped", ("", "cri", "json")) if s.is_wrapped else ""
        for rank, texts in own.items():
            c.files[c.say(path, rank)] += [
                f"{stamp} stderr F {text}" if wrapped == "cri" else json.dumps({"log": text + "\n", "stream": "stderr", "time": stamp}) if wrapped else text
                for stamp, text in zip(stamps[rank], texts, strict=True)
            ]  # fmt: skip
    else:
        call, heading, many = (
            c.pick("called", s.calls),
            job.choose("heading", HEADINGS),
            int(job.choose("lines", ("8", "12", "20"))),
        )
        for rank in job.turns():
            c.files["ticket.txt"] += [heading.format(c.say(call, rank)), *own[rank][-many:], ""]


def stood(c: Cluster, s: Stack) -> None:
    """Where each one stands: stacks, or its state."""
    job, how = c.job, c.job.choose("stands in", ("py-spy", "faulthandler", "kernel stack", "ps"))
    stands = STANDS[int(job.choose("stands", ("0", "1", "2")))]
    if how == "ps":
        call = c.pick("called", s.calls)
        c.files["state.txt"] = [f"{'PROC':40} STAT WCHAN", *(
            f"{c.say(call, rank):40} {'D   rpc_wait_bit_killable' if rank == job.bad else 'Sl  futex_wait_queue_me'}" for rank in job.turns())]  # fmt: skip
        return
    head = c.pick("above a dump", (*s.prompts, *s.prompts, *s.calls))
    heading = job.choose("heading", HEADINGS) if head in s.calls else "{}"
    cmd = {
        "py-spy": "py-spy dump --pid {}",
        "faulthandler": "tail -n 9 /tmp/stack.{}.txt",
        "kernel stack": "cat /proc/{}/stack",
    }[how]
    for rank in job.turns():
        own_pid = "1" if s.is_wrapped else c.ids["p"][rank]
        frames = [*(stands if rank == job.bad else WAITS), "train_step (train.py:181)", "<module> (train.py:260)"]
        match how:
            case "py-spy":
                dump = [
                    f"Process {own_pid}: python train.py",
                    "Python v3.11.8 (/usr/bin/python3.11)",
                    "",
                    f'Thread {own_pid} (idle): "MainThread"',
                    *(f"    {one}" for one in frames),
                ]
            case "faulthandler":
                at = [one.rstrip(")").replace(" (", ":").split(":") for one in frames]
                dump = [
                    "Current thread 0x00007f3a1c2d4740 (most recent call first):",
                    *(f'  File "/app/{path}", line {line} in {name}' for name, path, line in at),
                ]
            case _:
                own = ("rpc_wait_bit_killable+0x1e/0xa0", "nfs4_call_sync_sequence+0x71/0xb0", "vfs_read+0x95/0x1a0")
                dump = [
                    f"[<0>] {one}"
                    for one in (
                        own
                        if rank == job.bad
                        else ("futex_wait_queue_me+0xb6/0x120", "futex_wait+0xe9/0x240", "do_futex+0x1a0/0x5a0")
                    )
                ]
        c.files["stacks.txt"] += [heading.format(c.say(head, rank, cmd=cmd.format(own_pid))), *dump, ""]


def play(c: Cluster, s: Stack, *, is_joined: bool = True) -> Case:
    """A fault, its witnesses in drawn forms, and then documents until each name leads to a rank."""
    job = c.job
    fault = job.choose("fault", ("exception", "nan", "silent", "elsewhere", *s.faults))
    c.others = (
        "143"
        if fault in s.stops
        else "1"
        if fault.startswith("peer") or fault not in s.faults
        else job.choose("others", ("1", "143"))
    )
    logged(c, s, fault, is_joined=is_joined)
    if fault == "elsewhere":
        stood(c, s)
    elif fault in s.faults:
        s.faults[fault](c)
    done = {"r"}
    while c.needs - done:
        name = sorted(c.needs - done)[0]
        done.add(name)
        if name == c.head:
            continue
        among = {form: link for form, link in s.links[name].items() if is_joined or link[0] != "r"}
        if among:
            there, write = among[job.choose(f"{name} by", list(among))]
            c.needs.add(there)
            write(c)
    kind = {"nan": "numerics", "silent": "hang", "elsewhere": "hang"}.get(fault, "crash")
    is_peer = fault.startswith("peer")
    kinds = (kind, "hang") if is_peer else (kind,)
    return Case(dict(c.files), kinds, job.bad, job.choices, fault == "elsewhere", fault == "silent" or is_peer)
