"""What slow steps are lost to, of simulated jobs in 3D layouts: who is named, and whether the price is right.

Run: python benchmarks/whatif.py [--jobs 4] [--seed 0] [--traces FOLDER]

Each job of samples/simulator/pipeline goes through bytes in one of three forms. `price`: how long the steps would be without the
fault, by replay, beside the simulator's word on the same job without it; the largest difference of each kind of fault. With a folder of
traces of ByteDance's StragglerAnalysis (trace-*.parquet with result-*.json, not part of this repository) the slowdown by replica, stage
and operation is printed beside the published figures. Fixed seeds, no clock.
"""

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import click
import polars as pl

from forensics import analyze
from forensics.graph.slow.shares import Replays, operations_of
from forensics.model.incident import Incident
from parsers import read
from samples.simulator.pipeline import FORMS, Job, Layout, write

LAYOUTS = (Layout(4, 4, 1), Layout(8, 2, 1), Layout(4, 2, 2), Layout(8, 1, 1), Layout(3, 4, 2), Layout(16, 2, 1))
FEW = (Layout(1, 4, 1), Layout(2, 4, 1), Layout(1, 8, 1), Layout(2, 2, 2))  # nobody has two peers
OWN = ("forward-compute", "backward-compute")


def _rank(job: Job, seed: int) -> int:
    return random.Random(seed).randrange(job.layout.world)


def _mates(job: Job, ranks: list[int]) -> set[int]:
    """With whom they share layers: all of these are slow alike."""
    size = job.layout.tp
    return {rank // size * size + tp for rank in ranks for tp in range(size)}


def _slow(job: Job, seed: int, **when: Callable[[int], bool]) -> tuple[Job, set[int]]:
    rank = _rank(job, seed)
    return job.slower(rank, factor=random.Random(seed).uniform(1.25, 2.5), **when), _mates(job, [rank])


def _on_and_off(job: Job, seed: int) -> tuple[Job, set[int]]:
    """In about half of the steps; so many that this is no chance."""
    return _slow(replace(job, steps=30), seed, when=lambda step: random.Random(f"{seed}:{step}").random() < 0.5)


def _two(job: Job, seed: int) -> tuple[Job, set[int]]:
    """In two stages, where there are several: of four that do the same, two slow ones are no exception."""
    stages = random.Random(seed).sample(range(job.layout.pp), 2) if job.layout.pp > 1 else [0, 0]
    many = job.layout.dp * job.layout.tp
    ranks = [stage * many + own for stage, own in zip(stages, random.Random(seed).sample(range(many), 2), strict=True)]
    return job.slower(*ranks, factor=random.Random(seed).uniform(1.4, 2.0)), _mates(job, ranks)


def _stalled(job: Job, seed: int) -> tuple[Job, set[int]]:
    """A host that now and then keeps its device waiting; nothing times that."""
    rank = _rank(job, seed)

    def stall(own: int, step: int, kind: str, number: int) -> float:
        is_now = own == rank and kind in OWN and random.Random(f"{seed}:{step}:{kind}:{number}").random() < 0.3
        return 120.0 if is_now else 0.0

    return replace(job, stall=stall), _mates(job, [rank])


def _link(job: Job, seed: int) -> tuple[Job, set[int]]:
    layout = job.layout
    dp, pp = random.Random(seed).randrange(layout.dp), random.Random(seed).randrange(layout.pp - 1)
    ends = {layout.rank(dp, pp, 0), layout.rank(dp, pp + 1, 0)}

    def factor(rank: int, step: int, kind: str, number: int) -> float:
        return 40.0 if rank == min(ends) and kind.endswith("-link") else 1.0

    return replace(job, fault=factor), ends


def _stages(job: Job, seed: int) -> tuple[Job, set[int]]:
    """The last stage has more to do: no fault to be healed at a rank."""
    factor, last = random.Random(seed).uniform(1.3, 1.7), job.layout.pp - 1
    return replace(
        job,
        design=lambda rank, step, kind, number: factor if kind in OWN and job.layout.place(rank)[1] == last else 1.0,
    ), set()


def _lengths(job: Job, seed: int) -> tuple[Job, set[int]]:
    """Sequences of other lengths in each micro-batch of each replica; all stages alike."""

    def factor(rank: int, step: int, kind: str, number: int) -> float:
        noise = random.Random(f"{seed}:{job.layout.place(rank)[0]}:{step}:{number}")
        return noise.lognormvariate(0, 0.35) if kind in OWN else 1.0

    return replace(job, design=factor), set()


def _jitter(job: Job, seed: int) -> tuple[Job, set[int]]:
    return replace(job, jitter=random.Random(seed).uniform(0.02, 0.08)), set()


FAULTS: dict[str, tuple[Callable[[Job, int], tuple[Job, set[int]]], str]] = {
    "slow rank": (_slow, "straggler_compute"),
    "slow from step 5": (lambda job, seed: _slow(job, seed, when=lambda step: step >= 5), "straggler_compute"),
    "on and off": (_on_and_off, "straggler_compute"),
    "two slow ranks": (_two, "straggler_compute"),
    "stalls of a host": (_stalled, "straggler_host"),
    "slow link": (_link, "straggler_network"),
    "last stage heavier": (_stages, "imbalance"),
    "sequence lengths": (_lengths, "imbalance"),
    "jitter": (_jitter, ""),
}  # fmt: skip


def judged(job: Job, form: str) -> Incident:
    """The primary incident of its bundle."""
    with tempfile.TemporaryDirectory() as folder:
        write(job.rows(), form, Path(folder) / "bundle")
        report = analyze(Path(folder) / "bundle")
    return report.incidents[report.primary]


def outcome(incident: Incident, culprits: set[int], cause: str) -> str:
    """right, missed, INNOCENT (somebody is named who is not at fault) or accused (suspects without a culprit)."""
    verdict = incident.verdict
    named, suspects = set(verdict.ranks), set(verdict.suspects.ranks)
    if named - culprits:
        return "INNOCENT"
    if not cause:
        return "right" if not named and not suspects else "accused"
    if cause == "imbalance":
        return "right" if verdict.cause == cause and not named and not suspects else "missed"
    return "right" if (named or suspects) == culprits and verdict.cause == cause else "missed"


@click.command()
@click.option("--jobs", default=4, show_default=True, help="Of each layout and fault.")
@click.option("--seed", default=0, show_default=True)
@click.option("--fault", type=click.Choice(list(FAULTS)), multiple=True)
@click.option("--traces", type=click.Path(path_type=Path), help="Folder with trace-*.parquet and result-*.json.")
def main(jobs: int, seed: int, fault: tuple[str, ...], traces: Path | None) -> None:
    """Print a row per fault; exit 1 where an innocent rank was named."""
    innocent = 0
    for name in fault or FAULTS:
        draw, cause = FAULTS[name]
        tally: Counter[str] = Counter()
        apart: list[float] = []
        layouts = [one for one in LAYOUTS if one.pp > 1 or name not in ("slow link", "last stage heavier")]
        layouts = [one for one in layouts if one.dp > 3] if name in ("two slow ranks", "slow link") else layouts
        for at, layout in enumerate(layouts):
            for number in range(jobs):
                own = seed + 7919 * number + 104729 * at
                job, culprits = draw(Job(layout, seed=own), own)
                incident = judged(job, list(FORMS)[(at + number) % len(FORMS)])
                tally[outcome(incident, culprits, cause)] += 1
                shares = incident.counterfactual.shares if incident.counterfactual else None
                if culprits and shares is not None:
                    apart.append(abs((1 - shares["culprits"]) * job.mean_ms() / job.without_fault().mean_ms() - 1))
        innocent += tally["INNOCENT"]
        prices = (
            f", price within {100 * max(apart):.1f} % ({100 * sum(apart) / len(apart):.1f} % at the mean)"
            if apart
            else ""
        )
        print(f"{name:<20} " + ", ".join(f"{n} {what}" for what, n in tally.most_common()) + prices, flush=True)
    innocent += _without_peers(jobs, seed)
    _speed(seed)
    if traces is not None:
        _published(traces)
    sys.exit(1 if innocent else 0)


def _without_peers(jobs: int, seed: int) -> int:
    """Slow ranks of stages of one or two: nobody can say who it is, so nobody else may be named."""
    tally: Counter[str] = Counter()
    for at, layout in enumerate(FEW):
        for number in range(jobs):
            own = seed + 7919 * number + 15485863 * at
            job, culprits = _slow(Job(layout, seed=own), own)
            incident = judged(job, list(FORMS)[(at + number) % len(FORMS)])
            named = set(incident.verdict.ranks)
            tally["INNOCENT" if named - culprits else "named" if named else "nobody named"] += 1
    print("fewer than three peers: " + ", ".join(f"{n} {what}" for what, n in tally.most_common()), flush=True)
    return tally["INNOCENT"]


def _speed(seed: int) -> None:
    job = Job(Layout(32, 4, 1), steps=100, seed=seed).slower(37, factor=1.5)
    rows = [
        {"rank": row.rank, "step": row.step, "phase": row.kind, "start_ms": row.start_ms, "value_ms": row.end_ms - row.start_ms,
         "host": None, "file": "x", "line": None, "record": number}
        for number, row in enumerate(job.rows())
    ]  # fmt: skip
    layout = {row.rank: {"dp": row.dp, "pp": row.pp, "tp": row.tp} for row in job.rows()}
    timings = pl.DataFrame(rows, infer_schema_length=None)
    begin, busy = perf_counter(), process_time()
    shares = Replays(operations_of(timings), layout).shares
    took, used = perf_counter() - begin, process_time() - busy
    print(
        f"128 ranks x 100 steps, {len(rows)} operations: program, replays and culprits {shares.ranks if shares else None} in "
        f"{used:.1f} s of the processors ({took:.1f} s)",
        flush=True,
    )


def _published(folder: Path) -> None:
    """Of each trace: the replay beside what was measured, and how far each slowdown lies beside the published one."""
    for path in sorted(folder.glob("trace-*.parquet")):
        result = json.loads((path.parent / path.name.replace("trace", "result")).with_suffix(".json").read_text())
        tables = read(path).tables
        places = tables["ranks"].filter(pl.col("dp").is_not_null() & pl.col("pp").is_not_null()).unique("rank")
        layout = {rank: {"dp": dp, "pp": pp} for rank, dp, pp in places.select("rank", "dp", "pp").rows()}
        replays = Replays(operations_of(tables["timings"]), layout)
        shares = replays.shares
        if shares is None:
            print(f"{path.name}: no replay")
            continue
        print(
            f"{path.name}: replay {100 * (shares.replayed_ms / shares.measured_ms - 1):+.1f} % beside the measured steps; slowdown "
            f"{shares.replayed_ms / shares.alike_ms:.3f} (published {result['blocking_slowdown']:.3f}); culprits "
            f"{100 * shares.by_culprits:.1f} % {list(shares.ranks)}, micro-batches {100 * shares.by_batches:.1f} %, stages "
            f"{100 * shares.by_stages:.1f} %"
        )
        for axis, name in (("dp", "dp_rank"), ("pp", "stage"), ("kind", "optype")):
            published = {
                key.replace("pp-comm", "send"): value for key, value in result[f"blocking_decompose_by_{name}"].items()
            }
            own = {str(key): value for key, value in replays.slowdown(axis).items() if str(key) in published}
            worst = max(abs(value / published[key] - 1) for key, value in own.items())
            first = sorted(own, key=lambda key: -own[key])[:3]
            told = ", ".join(f"{key} {own[key]:.3f} ({published[key]:.3f})" for key in first)
            print(f"  {name:<8} {told}; {len(own)} figures, the farthest {100 * worst:.2f} % beside", flush=True)


if __name__ == "__main__":
    main()
