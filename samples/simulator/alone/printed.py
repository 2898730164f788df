"""Logs of the processes alone: the watchdogs of several versions of PyTorch, a file per process or one for all."""

import random
from collections.abc import Iterator
from typing import Literal

from samples.simulator import logs
from samples.simulator.alone.answers import Answer, healthy, named, nobody, on_host, suspected
from samples.simulator.engine import Op
from samples.simulator.noise import LogForm, Noise
from samples.simulator.program import Call
from samples.simulator.run import Run
from samples.simulator.waits import cycle_ranks, wait_graph
from samples.simulator.watchdog import numel, signalled, timeouts


def draw(rng: random.Random) -> Noise:
    """One in two of PyTorch 2.7 whose live processes say so; one in three with logs lost."""
    torch: Literal["1.12", "2.1", "2.7"] = rng.choice(("2.7", "2.7", "2.7", "2.7", "2.1", "1.12"))
    form = LogForm(
        torch=torch, merged=rng.random() < 0.4, told=rng.choice(("groups", "world", "world", "nothing")),
        signals=rng.random() < 0.75, counters=rng.random() < 0.6,
    )  # fmt: skip
    sources = frozenset({"logs", "nccl"} if rng.random() < 0.7 else {"logs"})
    lost = rng.choice((0.0, 0.0, 0.0, 0.05, 0.2))
    return Noise(lost_logs=lost, skew_s=rng.choice((0.0, 0.1, 5.0)), sources=sources, form=form)


def files(run: Run) -> Iterator[tuple[str, bytes]]:
    yield from logs.files(run)


def answer(run: Run) -> Answer:
    """What the lines prove."""
    fired = {rank: op for rank, op in timeouts(run).items() if rank in run.draw.kept.logs}
    makers = {
        "rank_absent": _absent, "rank_died": _died, "collective_mismatch": _mismatch, "deadlock_cycle": _cycle,
        "kernel_stuck": _stuck, "gpu_fault": _stuck, "network_fault": _network, "all_entered": _all_entered,
    }  # fmt: skip
    if run.plan.fault.kind == "none":
        return healthy(run, bool(run.draw.kept.logs))
    return makers[run.plan.fault.kind](run, fired)


def _is_known(run: Run, rank: int) -> bool:
    """Whether a reader can know that there is such a rank."""
    kept, form = run.draw.kept.logs, run.noise.form
    nccl = form.told == "world" and "nccl" in run.noise.sources
    groups = form.told == "groups" and form.torch == "2.7"
    return rank in kept or (bool(kept) and (nccl or groups or rank < max(kept)))


def _has_known_members(run: Run, group: int, op: Op) -> bool:
    """Whether a reader can know the members of the group: from a line of each, or as those of the whole job, whose size is
    told, or follows from the elements that go in and come out."""
    form, size = run.noise.form, len(run.job.groups[group].members)
    if form.torch != "2.7":
        return False
    if form.told == "groups":
        return True
    given, made = numel(op)
    gathers = given != made and max(given, made) == size * min(given, made)
    told = form.told == "world" and "nccl" in run.noise.sources and run.job.groups[group].role == "world"
    return size == run.job.world and (gathers or told)


def _absent(run: Run, fired: dict[int, Op]) -> Answer:
    """Named where its own line shows it alive behind the first time-out, and all the others timed out in one operation."""
    culprit = run.plan.culprits[0]
    if culprit in timeouts(run) or not _is_known(run, culprit):
        return nobody(run)
    if culprit in alive_and_missing(run, fired):
        return named(run, "rank_absent")
    return suspected(run, [culprit], "rank_absent", "rank_died")


def alive_and_missing(run: Run, fired: dict[int, Op]) -> set[int]:
    """Ranks that print something behind the first time-out, and are the only ones of a group of three or more that did
    not time out in one of its calls, nor in any other."""
    everybody = timeouts(run)
    silent = set(signalled(run, everybody)) & run.draw.kept.logs - set(everybody)
    found: set[int] = set()
    for op in fired.values():
        assert isinstance(op.call, Call)
        missing = set(run.job.groups[op.group].members) - _came(op, fired)
        if not op.call.transfers and len(missing) == 1 and len(run.job.groups[op.group].members) > 2:
            found |= missing & silent if _has_known_members(run, op.group, op) else set()
    return found


def _came(op: Op, fired: dict[int, Op]) -> set[int]:
    """Ranks that timed out in the same call."""
    return {rank for rank, other in fired.items() if (other.group, other.ordinal) == (op.group, op.ordinal)}


def _died(run: Run, fired: dict[int, Op]) -> Answer:
    culprit = run.plan.culprits[0]
    if run.plan.how == "exception" and culprit in run.draw.kept.logs:
        return named(run, "exception", "rank_died", kinds=("crash", "hang"))
    if not _is_known(run, culprit):
        return nobody(run)
    return suspected(run, [culprit], "rank_died", "rank_absent", "killed")


def _mismatch(run: Run, fired: dict[int, Op]) -> Answer:
    """The minority of one sequence number, if more than half of all members agree; else both sides."""
    culprit = run.plan.culprits[0]
    meeting = next(
        (m for m in run.engine.meetings.values() if not m.agree and culprit in {o.rank for o in m.ops}), None
    )
    if meeting is None or run.noise.form.torch != "2.7":
        return nobody(run)
    shown = {op.rank: op for op in meeting.ops if fired.get(op.rank) is op}
    if culprit not in shown:
        return nobody(run)
    looks = {rank: (op.call.kind, numel(op)) for rank, op in shown.items() if isinstance(op.call, Call)}
    others = [rank for rank in looks if looks[rank] != looks[culprit]]
    members = run.job.groups[meeting.ops[0].group].members
    most = len(members) > 2 and len(others) * 2 > len(members)
    if most and _has_known_members(run, meeting.ops[0].group, shown[culprit]):
        return named(run, "collective_mismatch")
    return suspected(run, [culprit], "collective_mismatch") if others else nobody(run)


def _cycle(run: Run, fired: dict[int, Op]) -> Answer:
    """A host that stands still behind an open call of its own looks the same, so a circle is allowed and not asked for."""
    return nobody(run) | {"cycle_may_include": cycle_ranks(wait_graph(run.engine))}


def _stuck(run: Run, fired: dict[int, Op]) -> Answer:
    """Named where every other member has timed out in a later call of the same group."""
    (culprit, index), *_ = run.plan.places
    op = fired.get(culprit)
    if op is None or op.index != index or not _has_known_members(run, op.group, op):
        return nobody(run)
    others = set(run.job.groups[op.group].members) - {culprit}
    later = {rank for rank, other in fired.items() if other.group == op.group and other.ordinal > op.ordinal}
    return named(run, "kernel_stuck", "gpu_fault") if len(others) > 1 and others <= later else nobody(run)


def _network(run: Run, fired: dict[int, Op]) -> Answer:
    hosts = {run.job.host(rank) for rank in run.draw.kept.logs}
    if "nccl" in run.noise.sources and set(run.plan.hosts) <= hosts:
        return on_host(run, "network_fault", list(run.plan.hosts))
    return nobody(run)


def _all_entered(run: Run, fired: dict[int, Op]) -> Answer:
    """Decidable in that all members have timed out in it; who holds it up, the lines do not tell."""
    rank, index = run.plan.places[0]
    op = next(op for op in run.engine.ranks[rank].ops if op.index == index)
    members = set(run.job.groups[op.group].members)
    if members <= _came(op, fired) and _has_known_members(run, op.group, op):
        proven: Answer = {"kinds": ["hang"], "causes": [None], "decidable": True}
        return nobody(run) | proven | {"suspects_must_include": sorted(members)}
    return nobody(run)
