"""Rewrites of a written job that change nothing of whose failure it is: frames around an exception, kills of others, quotations,
files of others. Each takes the job, and a rank of it that the lines may be mistaken for.
"""

import datetime as dt
import re
from collections.abc import Callable

from samples.situations.job import Job, s
from samples.situations.own import SP

Rewrite = Callable[[Job, int], None]
Frame = tuple[str, int, str, str]

FRAMES: dict[str, list[Frame]] = {
    "fsdp": [
        (f"{SP}/torch/nn/modules/module.py", 1845, "_call_impl", "return inner()"),
        (f"{SP}/torch/distributed/fsdp/fully_sharded_data_parallel.py", 864, "forward", "output = self._fsdp_wrapped_module(*args, **kwargs)"),
    ],
    "activation checkpoint": [(f"{SP}/torch/utils/checkpoint.py", 496, "checkpoint", "ret = function(*args, **kwargs)")],
    "distributed checkpoint": [
        (f"{SP}/torch/distributed/checkpoint/logger.py", 87, "wrapper", "result = func(*args, **kwargs)"),
        (f"{SP}/torch/distributed/checkpoint/utils.py", 251, "all_reduce", "local_data = map_fun()"),
    ],
    "elastic": [(f"{SP}/torch/distributed/elastic/multiprocessing/errors/__init__.py", 355, "wrapper", "return f(*args, **kwargs)")],
    "futures": [
        ("/usr/lib/python3.10/concurrent/futures/_base.py", 458, "result", "return self.__get_result()"),
        ("/usr/lib/python3.10/concurrent/futures/_base.py", 403, "__get_result", "raise self._exception"),
        ("/usr/lib/python3.10/concurrent/futures/thread.py", 58, "run", "result = self.fn(*self.args, **self.kwargs)"),
    ],
    "autograd": [
        (f"{SP}/torch/autograd/__init__.py", 347, "backward", "_engine_run_backward("),
        (f"{SP}/torch/autograd/graph.py", 823, "_engine_run_backward", "return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass"),
        (f"{SP}/torch/autograd/function.py", 307, "apply", "return user_fn(self, *args)"),
    ],
}  # fmt: skip
_OUTERMOST = re.compile(r"^(.*?)Traceback \(most recent call last\):\n\1  File [^\n]*\n\1    [^\n]*\n", re.MULTILINE)


def wrapped(job: Job, frames: list[Frame]) -> None:
    """These frames stand below the outermost one of each traceback, and above the frames of own code that raised."""

    def longer(found: re.Match[str]) -> str:
        return found[0] + "".join(
            f'{found[1]}  File "{f}", line {n}, in {fn}\n{found[1]}    {code}\n' for f, n, fn, code in frames
        )

    for path, rows in job.files.items():
        job.files[path] = [(at, _OUTERMOST.sub(longer, text)) for at, text in rows]


def stopped(job: Job) -> dt.datetime:
    """When the job had made its last step."""
    return job.t0 + s(26.5)


def _event(job: Job, _: int) -> None:
    job.file(
        "events.txt",
        "LAST SEEN              TYPE      REASON      OBJECT                  MESSAGE\n"
        f"{stopped(job):%Y-%m-%dT%H:%M:%SZ}   Normal    Killing     pod/shop-cart-0   Container web failed liveness probe, will be restarted\n",
    )


KILLS: dict[str, Rewrite] = {
    "another process of the host": lambda job, rank: job.oom(job.host(rank), stopped(job), job.pid(rank) + 3, "python3"),
    "another program of the host": lambda job, rank: job.oom(job.host(rank), stopped(job), 777, "fluent-bit", kb=900000),
    "another container, by its cgroup": lambda job, rank: job.oom(
        job.host(rank), stopped(job), 811, "python3", memcg="/kubepods.slice/kubepods-pod7.slice/cri-shop-cart", kb=900000
    ),
    "another pod, by the kubelet": _event,
    "another host, named by the file": lambda job, rank: job.oom("login-07", stopped(job), job.pid(rank), "python3", style="dmesg"),
    "another host, named by its lines": lambda job, rank: job.oom("login-07", stopped(job), job.pid(rank), "python3"),
    "the day before": lambda job, rank: job.oom(job.host(rank), job.t0 - dt.timedelta(days=1), job.pid(rank), "python3"),
}  # fmt: skip


def _quoted(text: str) -> Rewrite:
    """Rank 0 says something of another rank's failure that was caught, between two steps."""
    return lambda job, rank: job.log(0, job.t0 + s(22.5), text.format(r=rank), "WARNING")


_TRACE = 'Traceback (most recent call last){head}\n  File "/workspace/train/cache.py", line 19, in load\n    raise ValueError(path)\nValueError: /scratch/index.bin'
QUOTES: dict[str, Rewrite] = {
    "prose": _quoted("cache: rank {r} raised ValueError: /scratch/index.bin, caught, index is built anew"),
    "group rank": _quoted("cache: caught, index is built anew; it was\n" + _TRACE.replace("{head}", ": (RANK {r})")),
    "prose and traceback": _quoted("cache: caught on rank {r}, index is built anew; it was\n" + _TRACE.replace("{head}", ":")),
    "number of a child": _quoted("cache: ValueError: Caught ValueError in DataLoader worker process {r}, worker was started anew"),
}  # fmt: skip


def _file(name: str, *lines: str) -> Rewrite:
    def add(job: Job, _: int) -> None:
        told = {"old": job.t0 - dt.timedelta(days=31), "now": job.t0}
        job.file(name.format(r=job.world + 1), "".join(line.format(r=job.world + 1, **told) + "\n" for line in lines))

    return add


_OLD = "{old:%Y-%m-%d %H:%M:%S},000 [rank{r}] INFO trainer: step 12 done loss 3.1022 grad_norm 0.733 step_time 2.0 s"
FILES: dict[str, Rewrite] = {
    "empty": _file("logs/rank_{r:03d}.log"),
    "left by a larger job": _file("logs/rank_{r:03d}.log", _OLD),
    "left by a larger job that failed": _file(
        "logs/rank_{r:03d}.log", _OLD, "[rank{r}]: Traceback (most recent call last):", '[rank{r}]:   File "/workspace/train/pretrain.py", line 91, in <module>', "[rank{r}]:     main()", "[rank{r}]: KeyError: 'bleu'"
    ),
    "of a monitor": _file("logs/rank_{r:03d}.log", "{now:%Y-%m-%d %H:%M:%S} monitor: 8 processes, load 3.1, disk 41 %"),
}  # fmt: skip
