"""Writes a simulated incident: BUNDLE below OUT/bundle, and OUT/truth.json beside it.

python -m samples.simulate OUT --tp 4 --pp 4 --dp 8 --fault rank_absent --site data_loading --seed 7
"""

import random
import sys
from pathlib import Path
from typing import get_args

import click

from samples.simulator import KINDS, SITES, Fault, Job, Noise, Settings, simulate
from samples.simulator.alone import EVIDENCE, EvidenceKind, simulate_alone
from samples.simulator.job import Schedule


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--tp", default=2, show_default=True, help="Tensor-parallel size.")
@click.option("--pp", default=2, show_default=True, help="Pipeline stages.")
@click.option("--dp", default=4, show_default=True, help="Data-parallel size.")
@click.option("--ep", default=1, show_default=True, help="Expert-parallel size; divides --dp.")
@click.option("--microbatches", default=4, show_default=True)
@click.option("--layers", default=2, show_default=True, help="Layers of a stage: calls per micro-batch.")
@click.option("--steps", default=2, show_default=True, help="Steps that are simulated; the last ones of the job.")
@click.option("--schedule", type=click.Choice(get_args(Schedule)), default="1f1b", show_default=True)
@click.option("--run-ahead", default=48, show_default=True, help="Calls a host may enqueue ahead of its GPU.")
@click.option("--fault", type=click.Choice([*KINDS, "any"]), default="any", show_default=True)
@click.option("--rank", "ranks", type=int, multiple=True, help="Culprit; drawn where not given.")
@click.option("--site", type=click.Choice(sorted(SITES)), help="What an absent rank does.")
@click.option("--how", help="Variant of a mismatch, a death or a stopped GPU.")
@click.option("--lost", default=0.0, show_default=True, help="Fraction of ranks without any file.")
@click.option(
    "--early", default=0.0, show_default=True, help="Fraction of recorders dumped before the job stood still."
)
@click.option("--truncated", default=0.0, show_default=True, help="Fraction of recorder dumps that are cut.")
@click.option("--skew", default=0.0, show_default=True, help="Largest error of a host's clock, seconds.")
@click.option("--ring", default=2000, show_default=True, help="Entries that a recorder holds.")
@click.option("--timing", is_flag=True, help="Recorders with timing on.")
@click.option("--active", is_flag=True, help="Dumps of open operations only.")
@click.option("--evidence", type=click.Choice(EVIDENCE), help="One kind alone; its losses and forms are drawn.")
@click.option("--seed", default=0, show_default=True)
def main(
    out: Path, tp: int, pp: int, dp: int, ep: int, microbatches: int, layers: int, steps: int, schedule: Schedule,
    run_ahead: int, fault: str, ranks: tuple[int, ...], site: str | None, how: str | None, lost: float, early: float,
    truncated: float, skew: float, ring: int, timing: bool, active: bool, evidence: EvidenceKind | None, seed: int,
) -> None:  # fmt: skip
    """Simulate a training job with a fault and write what collectors would have gathered to OUT."""
    kind = random.Random(seed).choice(KINDS) if fault == "any" else fault
    noise = Noise(
        lost=lost, early=early, truncated=truncated, skew_s=skew,
        recorder=Settings(ring=ring, timing=timing, active=active),
    )  # fmt: skip
    try:
        job = Job(tp, pp, dp, ep, microbatches, layers, schedule, steps=steps, run_ahead=run_ahead)
        placed = Fault(kind, ranks, site, how)  # type: ignore[arg-type]
        if evidence is not None:
            simulate_alone(evidence, job, placed, seed).write(out)
        else:
            simulate(job, placed, seed, noise).write(out)
    except (ValueError, FileExistsError) as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"{job.world} ranks, {kind}: {out}", file=sys.stderr)


if __name__ == "__main__":
    main()
