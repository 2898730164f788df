"""Reports of NCCL's RAS client alone: one or two, as text or as JSON; of a job that hangs, or of one that runs.

RAS counts the collectives that each rank has launched, by kind and communicator; sends and receives it does not count.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from samples.simulator.alone.answers import Answer, healthy, named, nobody, running, suspected
from samples.simulator.job import Job
from samples.simulator.lines import SECOND, pid
from samples.simulator.logs import address
from samples.simulator.moments import launched
from samples.simulator.noise import Noise
from samples.simulator.recorder import at_ns
from samples.simulator.run import Run

_KINDS = {
    "all_reduce": "AllReduce", "all_reduce_barrier": "AllReduce", "broadcast": "Broadcast",
    "_all_gather_base": "AllGather", "_reduce_scatter_base": "ReduceScatter",
}  # fmt: skip
_LATER_S = 60  # between two reports, where the client takes that long to ask again
_LISTED = 10  # so many ranks at most, and a quarter of all, are listed one by one
Counts = dict[int, Counter[str]]  # rank → kind → launched


@dataclass(frozen=True, slots=True)
class Report:
    """`count`: reports; two of a hung job say the same. `apart`: steps between those of a
    healthy one. `silent`: innocent ranks
    whose data the client did not get."""

    form: Literal["text", "json"] = "json"
    count: int = 1
    apart: float = 1.4
    silent: int = 0


def draw(rng: random.Random) -> tuple[Noise, Report]:
    form: Literal["text", "json"] = rng.choice(("json", "json", "text"))
    return Noise(sources=frozenset()), Report(form, rng.choice((1, 2, 2)), silent=rng.choice((0, 0, 0, 1)))


def _moments(run: Run, report: Report) -> list[float]:
    end = run.draw.end_ms
    if run.plan.fault.kind != "none":
        return [end] * report.count
    begin, apart = end * random.Random(f"ras:{run.seed}").uniform(0.2, 0.5), end / run.job.steps * report.apart
    return [begin + number * apart for number in range(report.count)]


def _gone(run: Run) -> set[int]:
    """Ranks whose RAS thread does not answer: dead or stopped."""
    return set(run.plan.culprits) if run.plan.fault.kind == "rank_died" or run.plan.site == "unresponsive" else set()


def _silent(run: Run, report: Report) -> set[int]:
    innocent = sorted(set(range(run.job.world)) - set(run.plan.culprits))
    return set(random.Random(f"silent:{run.seed}").sample(innocent, report.silent)) | _gone(run)


def counts_at(run: Run, ms: float) -> dict[int, Counts]:
    """Group → rank → kind, as NCCL calls it → launched collectives."""
    found: dict[int, Counts] = {index: {} for index in range(len(run.job.groups))}
    for rank in range(run.job.world):
        for index, kinds in launched(run, rank, ms).items():
            own = found[index][rank] = Counter()
            for kind, number in kinds.items():
                if kind in _KINDS:
                    own[_KINDS[kind]] += number
    return found


def files(run: Run, report: Report) -> Iterator[tuple[str, bytes]]:
    for number, ms in enumerate(_moments(run, report)):
        when = datetime.fromtimestamp(at_ns(ms) // SECOND + number * _LATER_S, UTC)
        made = _json(run, report, ms, when) if report.form == "json" else _text(run, report, ms)
        yield f"ras_{number}.{'json' if report.form == 'json' else 'txt'}", made.encode()


def _hash(run: Run, index: int) -> str:
    return f"{(run.seed * 7919 + index * 104_729 + 0x27A0_C3D4_E5F6_0718) % (1 << 64):016x}"


def _process(job: Job, rank: int) -> dict[str, Any]:
    local = rank % job.gpus_per_host
    return {"host": address(job.host(rank)), "pid": pid(job, rank), "cuda_dev": local, "nvml_dev": local}


# --- JSON ----------------------------------------------------------------------------------------------------------


def _json(run: Run, report: Report, ms: float, when: datetime) -> str:
    silent, counts = _silent(run, report), counts_at(run, ms)
    comms = []
    for index, group in enumerate(run.job.groups):
        told: list[dict[str, Any]] = []
        missing: list[dict[str, Any]] = []
        for place, rank in enumerate(group.members):
            who = {"rank": place, **_process(run.job, rank)}
            if rank in silent:
                dead = run.plan.fault.kind == "rank_died" and rank in run.plan.culprits
                stopped = rank in _gone(run) and not dead
                missing.append(who | {"status": {"unresponsive": stopped, "considered_dead": dead}})
            else:
                status = {"init_state": 0, "async_error": 0, "finalize_called": False, "abort_flag": False}
                given = {kind: number for kind, number in sorted(counts[index][rank].items()) if number}
                told.append(who | {"status": status, "collective_counts": given})
        comms.append({
            "hash": _hash(run, index), "size": len(group.members), "ranks_count": len(told),
            "missing_ranks_count": len(missing), "ranks": told, "missing_ranks": missing,
        })  # fmt: skip
    head = {"nccl_version": "2.28.7", "cuda_runtime_version": 12090, "cuda_driver_version": 13000}
    told_when = {"timestamp": f"{when:%Y-%m-%d %H:%M:%S}"}
    end = {"ras": {"collection_time_sec": 0.01, "timeouts_count": report.silent}}
    return json.dumps(head | told_when | {"communicators": comms} | end, indent=1)


# --- text ----------------------------------------------------------------------------------------------------------


def _text(run: Run, report: Report, ms: float) -> str:
    job, silent, counts = run.job, _silent(run, report), counts_at(run, ms)
    shapes: dict[tuple[int, int], list[int]] = {}  # (ranks, nodes) → groups
    for index, group in enumerate(job.groups):
        hosts = {job.host_index(rank) for rank in group.members}
        shapes.setdefault((len(group.members), len(hosts)), []).append(index)
    rows, errors, warnings = [], [], []
    for number, (size, nodes) in enumerate(sorted(shapes, reverse=True)):
        groups = shapes[size, nodes]
        complaints = [0, 0]
        for place, index in enumerate(groups):
            name = f"#{number}-{place} ({_hash(run, index)})"
            found = [_incomplete(run, index, name, silent), _mismatches(run, index, name, counts[index], silent)]
            errors += found[0]
            warnings += found[1]
            complaints = [complaints[0] + len(found[0]), complaints[1] + len(found[1])]
        state = "INCOMPLETE" if complaints[0] else "MISMATCH" if complaints[1] else "OK"
        rows.append(
            f"{number:5d}{len(groups):10d}{nodes:10d}{size // nodes:10d}{size:10d}{size * len(groups):10d}   RUNNING{state:>12}"
        )
    errors += _dead(run)
    per_node = min(job.gpus_per_host, job.world)
    summary = f"{len(job.hosts):7d}{per_node:11d}{1:13d}{job.world:11d}{job.world:9d}"
    parts = (
        "NCCL version 2.28.3 compiled with CUDA 12.9\nCUDA runtime version 12090, driver version 13000\n",
        f"Job summary\n===========\n\n{_NODES}\n{summary}\n",
        "Communicators... (0.01s)\n=============\n\n" + _GROUPS + "\n" + "\n".join(rows) + "\n",
        "Errors\n======\n\n" + "\n".join(errors),
        "Warnings\n========\n\n" + "\n".join(warnings),
    )
    return "\n".join(parts) + "\n"


_NODES = "  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  (total)"
_GROUPS = (
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status      Errors\n"
    "    #  in group  per comm  per node  per comm  in group"
)


def _incomplete(run: Run, index: int, name: str, silent: set[int]) -> list[str]:
    members = run.job.groups[index].members
    missing = [rank for rank in members if rank in silent]
    if not missing:
        return []
    several = "s" if len(missing) > 1 else ""
    places = ", ".join(str(members.index(rank)) for rank in missing)
    lines = [f"{name} INCOMPLETE", f"  Missing communicator data from {len(missing)} rank{several}"]
    lines.append(f"  The missing rank{several}: {places}")
    for rank in missing:
        who = _process(run.job, rank)
        lines.append(f"  Process {who['pid']} on node {who['host']} managing GPU {who['cuda_dev']}")
    return lines


def _dead(run: Run) -> list[str]:
    if run.plan.fault.kind != "rank_died":
        return []
    who = _process(run.job, run.plan.culprits[0])
    process = f"  Process {who['pid']} on node {who['host']} managing GPU {who['cuda_dev']}"
    return ["DEAD", "  1 job process is considered dead", process]


def _mismatches(run: Run, index: int, name: str, counts: Counts, silent: set[int]) -> list[str]:
    """One complaint with all kinds that differ; the number that most have first, few ranks below theirs."""
    members = run.job.groups[index].members
    lines: list[str] = []
    for kind in sorted({kind for own in counts.values() for kind in own}):
        by_count: dict[int, list[int]] = {}
        for rank in members:
            if rank not in silent:
                by_count.setdefault(counts[rank][kind], []).append(rank)
        if len(by_count) < 2:
            continue
        lines.append(f"  Communicator ranks have different {kind} operation counts")
        for count in sorted(by_count, key=lambda one: (-len(by_count[one]), one)):
            lines += _standing(run.job, members, count, by_count[count])
    return [f"{name} MISMATCH", *lines] if lines else []


def _standing(job: Job, members: Sequence[int], count: int, ranks: Sequence[int]) -> list[str]:
    has = f"launched up to operation {count}" if count else "not launched any operations"
    places = [_place(job, members, rank) for rank in ranks] if _few(ranks, members) else []
    if len(ranks) > 1:
        return [f"  {len(ranks)} ranks have {has}", *(f"  Rank {number} -- {process}" for number, process in places)]
    return [f"  Rank {number} has {has} -- {process}" for number, process in places]


def _few(ranks: Sequence[int], members: Sequence[int]) -> bool:
    return len(ranks) <= _LISTED and len(ranks) * 4 <= len(members)


def _place(job: Job, members: Sequence[int], rank: int) -> tuple[int, str]:
    """Its number in the communicator, and its process."""
    who = _process(job, rank)
    return members.index(rank), f"GPU {who['cuda_dev']} managed by process {who['pid']} on node {who['host']}"


# --- what it proves ------------------------------------------------------------------------------------------------


def answer(run: Run, report: Report) -> Answer:
    """Named where two reports agree and one rank alone is behind without being seen to wait for others."""
    if run.plan.fault.kind == "none":
        return healthy(run, False) if report.count > 1 else running(run)
    if run.plan.fault.kind in ("network_fault", "all_entered"):
        return nobody(run)
    culprit, silent = run.plan.culprits[0], _silent(run, report)
    causes = ("rank_absent", "rank_died", "kernel_stuck", "gpu_fault", "collective_mismatch")
    if culprit in silent:
        if run.plan.fault.kind == "rank_died" and silent == {culprit}:
            return named(run, "rank_died", "killed", kinds=("crash", "hang"))
        return suspected(run, [culprit], *causes)
    counts = counts_at(run, run.draw.end_ms)
    agree = report.count > 1 and not silent
    if report.form == "text":
        listed = _listed_behind(run, counts, culprit, silent)
        if "world" not in listed:
            return nobody(run)
        alone = agree and _behind(counts, silent).keys() == {culprit} and None not in listed
        return named(run, *causes) if alone else suspected(run, [culprit], *causes)
    if culprit in odd_ones(counts, silent):
        return named(run, "collective_mismatch") if agree else suspected(run, [culprit], *causes)
    if agree and culprit in left_behind(run, counts, silent):
        return named(run, *causes)
    return suspected(run, [culprit], *causes) if culprit in _behind(counts, silent) else nobody(run)


def _listed_behind(run: Run, counts: dict[int, Counts], rank: int, silent: set[int]) -> set[str | None]:
    """Roles of the groups whose complaint in the text lists the rank as behind; null for a complaint that does not."""
    found: set[str | None] = set()
    for index, by_rank in counts.items():
        members = run.job.groups[index].members
        if not _mismatches(run, index, "", by_rank, silent):
            continue
        totals = {one: own.total() for one, own in by_rank.items() if one not in silent}
        same = [one for one, total in totals.items() if total == totals.get(rank)]
        is_listed = rank in totals and totals[rank] < max(totals.values()) and _few(same, members)
        found.add(run.job.groups[index].role if is_listed else None)
    return found


def left_behind(run: Run, counts: dict[int, Counts], silent: set[int]) -> set[int]:
    """The rank that alone is behind in a group of three or more; empty where that may be several."""
    behind = _behind(counts, silent)
    large = {rank for rank, groups in behind.items() if any(len(run.job.groups[index].members) > 2 for index in groups)}
    return large if len(behind) == 1 else set()


def _behind(counts: dict[int, Counts], silent: set[int]) -> dict[int, list[int]]:
    """Ranks that have launched fewer calls of a group than others, and wait in no group for those that have fewer than
    they; with the groups where they are behind."""
    ahead: set[int] = set()
    late: dict[int, list[int]] = {}
    for index, by_rank in counts.items():
        totals = {rank: own.total() for rank, own in by_rank.items() if rank not in silent}
        for rank, total in totals.items():
            if total > min(totals.values()):
                ahead.add(rank)
            if total < max(totals.values()):
                late.setdefault(rank, []).append(index)
    return {rank: groups for rank, groups in late.items() if rank not in ahead}


def odd_ones(counts: dict[int, Counts], silent: set[int]) -> set[int]:
    """Ranks that launched more of one kind and fewer of another than every other member of a group of three or more."""
    return {rank for by_rank in counts.values() if (rank := _odd(by_rank, silent)) is not None}


def _odd(counts: Counts, silent: set[int]) -> int | None:
    told = {rank: own for rank, own in counts.items() if rank not in silent}
    if len(told) < 3:
        return None
    crossed = {
        rank: sum(not (own <= other or other <= own) for other in told.values()) for rank, own in told.items()
    }  # Counter orders by inclusion
    return next((rank for rank, number in crossed.items() if number == len(told) - 1), None)
