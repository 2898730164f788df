"""A small job in which one rank fails, and the layout of lines that records it: what all families draw from.

Truth first: who fails, and how, is drawn before the form.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

Files = dict[str, list[str]]
STAMPS = (
    "%Y-%m-%d %H:%M:%S,{ms}", "%Y-%m-%dT%H:%M:%S.{ms}Z", "%m-%d %H:%M:%S.{ms}", "%H:%M:%S", "[%Y-%m-%d %H:%M:%S]", "%Y/%m/%d %H:%M:%S",
    "%b %d %H:%M:%S", "%s.{ms}", "%d/%b/%Y:%H:%M:%S", "[%H:%M:%S.{ms}]", "%Y-%m-%d %H:%M:%S.{ms}+00:00", "%Y%m%d-%H:%M:%S",
)  # fmt: skip
LEVELS = ("INFO", "[INFO]", "info", "I", "INFO:", "<info>", "[info    ]", "INFO    ", "lvl=info")
MODULES = (
    "train",
    "trainer.loop",
    "[trainer]",
    "train.py:118",
    "(loop)",
    "app.train.loop",
    "loop:",
    "train:step:88",
    "",
)
MARKS = (" ", " | ", " - ", ": ", " :: ")
ORDERS = ("slwm", "swlm", "wslm", "lswm", "slmw", "swm", "wlm", "w", "sw", "lwsm", "smlw")  # stamp, level, who, module
BY_PID = (
    "{h}:{p}", "{h}/{p}", "{h}[{p}]", "[{h}:{p}]", "({p})", "[{p}]", "pid={p}", "{h} {p}", "[{h} {p}]", "{h}({p})", "PID {p}", "Main-{p}", "{p}@{h}",
)  # fmt: skip
BY_HOST_AND_PID = tuple(one for one in BY_PID if "{h}" in one)
BY_NAME = ("{w}", "[{w}]", "<{w}>", "{w}:")
SAYS = (
    "initialized as rank {r} of {n}", "rank={r} world_size={n} ready", "Distributed init: rank {r}, world size {n}", "I am process {r} of {n}",
    "GLOBAL_RANK: {r}, MEMBER: {r1}/{n}", "process index {r} / {n}", "joined process group (rank {r}/{n})", "backend=nccl rank={r} local_rank={l} world={n}",
)  # fmt: skip
NAMES = (
    tuple(f"{letter}-unit" for letter in "abcdefgh"),
    ("ada", "bob", "cat", "dan", "eve", "fay", "gil", "hal"),
    ("w-7f3a", "w-91bc", "w-c0de", "w-dd41", "w-e5f6", "w-0a9b", "w-b2c3", "w-48d1"),
    ("actor17", "actor4", "actor22", "actor9", "actor31", "actor12", "actor8", "actor40"),
)
RANK_WORDS = ("rank", "global_rank", "RANK", "process_index", "world_rank", "trainer_id", "rank_id")
NAME_WORDS = ("name", "worker", "pod", "proc", "member", "unit", "container", "id")
DOCUMENTS = (
    "csv",
    "tsv",
    "yaml list",
    "yaml map",
    "json list",
    "json map",
    "markdown",
    "blocks",
    "prose",
    "arrows",
    "ini",
    "table",
    "jsonl",
)
OF_NAMES = ("compose", "pods")  # documents that call processes by names alone
RAISED = [
    "Traceback (most recent call last):", '  File "/app/train.py", line 212, in <module>', "    main()", '  File "/app/train.py", line 88, in main',
    "    x = table[batch.key]", "KeyError: 'user_481'",
]  # fmt: skip
LOST = [
    *RAISED[:3], '  File "/app/train.py", line 95, in main', "    dist.all_reduce(g)",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:40112",
]  # fmt: skip
GAVE_UP = (
    "[PG ID 0 PG GUID 0(default_pg)] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=211, OpType=ALLREDUCE, NumelIn=1048576, "
    "NumelOut=1048576, Timeout(ms)=600000) ran for 600021 milliseconds before timing out."
)
WAITS = (
    "all_reduce (torch/distributed/distributed_c10d.py:2806)",
    "wrapper (torch/distributed/c10d_logger.py:83)",
    "sync_grads (train.py:150)",
)
STANDS = (
    ("read (fsspec/spec.py:1915)", "_load_shard (data/reader.py:88)", "__next__ (torch/utils/data/dataloader.py:733)"),
    ("_acquire (filelock/_unix.py:43)", "acquire (filelock/_api.py:315)", "load_cache (data/cache.py:61)"),
    ("write (torch/serialization.py:512)", "save (torch/serialization.py:850)", "save_checkpoint (train.py:120)"),
)
STEPS = 24


class Case(NamedTuple):
    """`kinds`: those of a right verdict; `rank`: whose fault it is; `choices`: what was drawn."""

    files: Files
    kinds: tuple[str, ...]
    rank: int
    choices: dict[str, str]
    is_hung: bool = False  # the person says so
    is_suspect_right: bool = False  # alone: of one that is silent while others give up
    is_host_alone: bool = False  # a kernel's pid that nothing joins to a rank: no rank is right, too


class Job:
    """Two hosts, their processes, who is at fault; and the choices that were drawn."""

    def __init__(self, seed: str) -> None:
        self.draw = random.Random(seed)
        self.size = self.draw.choice((4, 8))
        self.each = self.size // 2
        words = [
            f"{self.draw.choice(('gn', 'cn-a', 'node', 'worker', 'srv', 'b12-gpu'))}{self.draw.randint(1, 60):02d}"
            for _ in "ab"
        ]
        self.hosts = words if words[0] != words[1] else [words[0], f"{words[0]}1"]
        self.pids = self.draw.sample(range(2000, 60000), self.size)
        own = self.draw.choice(NAMES)
        self.names = self.draw.sample(own[: self.size], self.size)
        self.bad = self.draw.randrange(1, self.size)
        self.now = datetime(2026, 7, 9, self.draw.randint(0, 20), 3)
        self.choices: dict[str, str] = {"processes": str(self.size)}

    def choose(self, what: str, among: Sequence[str]) -> str:
        self.choices[what] = self.draw.choice(among)
        return self.choices[what]

    def host(self, rank: int) -> str:
        return self.hosts[rank // self.each]

    def filled(self, form: str, rank: int) -> str:
        local = rank % self.each
        return form.format(
            h=self.host(rank), p=self.pids[rank], w=self.names[rank], r=rank, r1=rank + 1, n=self.size, l=local
        )

    def turns(self) -> list[int]:
        return self.draw.sample(range(self.size), self.size)

    def later(self, seconds: float) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now


class Log:
    """A layout of lines, as it was drawn. `who`: what stands for the process, empty where each has a file of its own."""

    def __init__(self, job: Job, who: str, orders: Sequence[str] = ORDERS) -> None:
        self._job, self._who = job, who
        self._stamp, self._level = job.choose("stamp", STAMPS), job.choose("level", LEVELS)
        self._module, self._mark = job.choose("module", MODULES), job.choose("mark", MARKS)
        self._order = job.choose("order", orders)
        self._last = self._mark if self._mark != " " else job.choose("last mark", (" ", ": ", " - ", " | "))

    def line(self, rank: int, words: str, level: str = "info") -> str:
        now = self._job.later(self._job.draw.uniform(0.01, 0.4))
        said = (
            self._level.replace("INFO", level.upper()).replace("info", level)
            if len(self._level) > 1
            else level[0].upper()
        )
        stamp = now.strftime(self._stamp.replace("%s", str(int(now.timestamp())))).replace(
            "{ms}", f"{now.microsecond // 1000:03d}"
        )
        parts = {"s": stamp, "l": said, "w": self._job.filled(self._who, rank), "m": self._module}
        head = self._mark.join(parts[one] for one in self._order if parts[one])
        return f"{head}{self._last if head else ''}{words}"

    def raised(self, rank: int, texts: Iterable[str], *, is_bare: bool) -> Iterator[str]:
        """An exception: each line headed, or bare below a line of the logger."""
        if is_bare:
            yield self.line(rank, "uncaught exception", "error")
        yield from texts if is_bare else (self.line(rank, text, "error") for text in texts)


def figures(job: Job, step: int, rank: int, last: int) -> tuple[str, str]:
    """Loss and norm: no numbers of all at the last step, and of one the step before."""
    if step == last or (step == last - 1 and rank == job.bad):
        return "nan", "nan"
    return f"{3.2 / (1 + step * 0.05) + job.draw.random() * 0.02:.4f}", f"{1 + job.draw.random():.3f}"
