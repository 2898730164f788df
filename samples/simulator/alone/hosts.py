"""Kernel logs and the launcher's log alone, of all hosts or of some."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from samples.simulator import logs
from samples.simulator.alone.answers import Answer, healthy, named, nobody, on_host, suspected
from samples.simulator.noise import Noise
from samples.simulator.run import Run
from samples.simulator.watchdog import timeouts


@dataclass(frozen=True, slots=True)
class Lost:
    """Shares of hosts without a kernel log, or without the log of their launcher."""

    kernels: float = 0.0
    launchers: float = 0.0


def draw(rng: random.Random) -> tuple[Noise, Lost]:
    noise = Noise(
        sources=frozenset({"kernel", "launcher"}), skew_s=rng.choice((0.0, 0.1, 5.0)), ecc_hosts=0.35,
        unrelated_xid=rng.random() < 0.5,
    )  # fmt: skip
    return noise, Lost(rng.choice((0.0, 0.0, 0.3)), rng.choice((0.0, 0.0, 0.3)))


def _kept(run: Run, lost: Lost) -> tuple[set[str], set[str]]:
    """Hosts whose kernel log, and hosts whose launcher's log is there."""
    rng, hosts = random.Random(f"hosts:{run.seed}"), run.job.hosts
    shares = (lost.kernels, lost.launchers)
    kernels, launchers = ({host for host in hosts if rng.random() >= share} for share in shares)
    return kernels, launchers


def files(run: Run, lost: Lost) -> Iterator[tuple[str, bytes]]:
    kernels, launchers = _kept(run, lost)
    for path, content in logs.files(run):
        _, host, name = path.split("/", 2)
        if host in (kernels if name == "dmesg.txt" else launchers):
            yield path, content


def answer(run: Run, lost: Lost) -> Answer:
    """Exits tell who died; records of hardware tell the host; who waits for whom, none of it tells."""
    plan, (kernels, launchers) = run.plan, _kept(run, lost)
    if plan.fault.kind == "none":
        return healthy(run, bool(launchers))
    if plan.fault.kind == "network_fault":
        return on_host(run, "network_fault", list(plan.hosts)) if set(plan.hosts) <= kernels else nobody(run)
    if plan.fault.kind not in ("rank_died", "gpu_fault", "rank_absent"):
        return nobody(run)
    culprit = plan.culprits[0]
    host = run.job.host(culprit)
    if plan.fault.kind == "gpu_fault":
        return on_host(run, "gpu_fault", [host]) if host in kernels else nobody(run)
    if plan.fault.kind == "rank_died":
        return _died(run, host in kernels, host in launchers)
    fired = timeouts(run)
    mates = [rank for rank in range(run.job.world) if run.job.host(rank) == host and rank in fired]
    told = host in launchers and mates and len(fired) == run.job.world - 1
    return suspected(run, [culprit], "rank_absent") if told and culprit not in fired else nobody(run)


def _died(run: Run, kernel: bool, launcher: bool) -> Answer:
    oom = run.plan.how == "host_oom" and kernel
    cause = "host_oom" if oom else "exception" if run.plan.how == "exception" else "killed"
    if (
        launcher and cause == "exception"
    ):  # a time-out that is raised in the main thread ends a victim with the same code
        return suspected(run, [run.plan.culprits[0]], cause, "rank_died")
    if launcher:
        return named(run, cause, "rank_died", kinds=("crash", "hang"))
    return on_host(run, "host_oom", [run.job.host(run.plan.culprits[0])]) if oom else nobody(run)
