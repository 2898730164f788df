"""Accuracy on simulated hangs: how often an innocent rank is named, how often the culprit is, how long the lists are.

Run: python benchmarks/accuracy.py [--incidents 1000] [--first 0] [--seed 0] [--only KIND] [--large] [-v]
     python benchmarks/accuracy.py --evidence logs|stacks|ras|kernel|running [--incidents 1000] …

Fixed seeds, no clock: the same numbers every time. Slices add up: --first 0 --incidents 500 --add-to FILE, then --first 500
with the same file. The evidence is handed over as tables; tests show that the way through bytes gives the same. With
--evidence, one kind of evidence is all there is, and it goes through bytes.
"""

import random
from pathlib import Path
from statistics import median
from typing import Any

import accuracy_alone
import click
from tally import Tally, share, slices, together

from forensics.analyze import conclude_evidence
from forensics.model.incident import Incident, Verdict
from parsers.schema.evidence import Evidence
from samples.simulator import Fault, Job, Noise, simulate
from samples.simulator.alone import EVIDENCE, EvidenceKind
from samples.simulator.recorder import Settings

# Shares of classes in hangs of real fleets, roughly: ByteRobust (2025), Aegis (2025), MegaScale (2024).
CLASSES: dict[str, float] = {
    "rank_absent": 0.40, "rank_died": 0.10, "collective_mismatch": 0.08, "deadlock_cycle": 0.05, "kernel_stuck": 0.08,
    "gpu_fault": 0.08, "network_fault": 0.06, "all_entered": 0.05, "none": 0.10,
}  # fmt: skip
JOBS = (
    Job(tp=4, pp=4, dp=4), Job(tp=2, pp=4, dp=8), Job(tp=8, pp=2, dp=8), Job(tp=4, pp=4, dp=8),
    Job(tp=1, pp=1, dp=64, schedule="zero3"), Job(tp=4, pp=4, dp=8, schedule="interleaved"), Job(tp=2, pp=2, dp=32, ep=8),
    Job(tp=8, pp=4, dp=8), Job(tp=4, pp=8, dp=16),
)  # fmt: skip
LARGE = Job(tp=8, pp=8, dp=160)
LOST = (0.0, 0.0, 0.02, 0.10, 0.30)


def draw(number: int, seed: int, large: bool, only: str | None) -> tuple[Job, Fault, Noise]:
    """The job, fault and noise of incident `number`."""
    rng = random.Random(f"{seed}:{number}")
    kind = only or rng.choices(list(CLASSES), list(CLASSES.values()))[0]
    job = LARGE if large else rng.choice(JOBS)
    lost = rng.choice(LOST)
    noise = Noise(lost_recorders=lost, lost_stacks=rng.choice((0.0, lost, 1.0)), lost_logs=rng.choice((0.0, lost)), skew_s=5.0,
                  recorder=Settings(timing=rng.random() < 0.3))  # fmt: skip
    return job, Fault(kind), noise  # type: ignore[arg-type]


def accused(verdict: Verdict, truth: dict[str, Any]) -> list[int]:
    """Ranks that are named though nothing is wrong with them."""
    cycle = set(truth["cycle"]).union(truth.get("cycle_may_include", []))
    allowed = cycle.union(truth["ranks"], *truth.get("ranks_any", []), truth["fault"]["culprits"])
    return (
        sorted((set(verdict.ranks) | set(verdict.cycle)) - allowed) if truth["kinds"] != ["healthy"] else verdict.ranks
    )


def is_right(verdict: Verdict, truth: dict[str, Any]) -> bool:
    """Kind, cause, ranks, cycle and host as the truth has them."""
    accepted = [set(ranks) for ranks in truth.get("ranks_any", [truth["ranks"]])]
    return (
        verdict.kind in truth["kinds"]
        and (verdict.cause in truth["causes"] or not truth["causes"])
        and set(verdict.ranks) in accepted
        and set(verdict.cycle) == set(truth["cycle"])
        and (not truth["hosts"] or bool(set(verdict.hosts) & set(truth["hosts"])))
    )


def judge(tally: Tally, label: str, verdict: Verdict, truth: dict[str, Any], lost: int) -> None:
    """Count one incident."""
    tally.total += 1
    kind = truth["fault"]["kind"]
    if bad := accused(verdict, truth):
        tally.innocent.append(f"{label}: {bad[:8]} ({verdict.cause}), truth {truth['fault']}")
    if kind == "none":
        tally.quiet += 1
        tally.quiet_right += verdict.kind == "healthy"
        return
    right = is_right(verdict, truth)
    tally.count(kind, right)
    if truth["decidable"]:
        tally.decidable += 1
        tally.right += right
        if not right:
            tally.wrong.append(f"{label}: {verdict.kind}/{verdict.cause} ranks {verdict.ranks[:6]} cycle {verdict.cycle[:6]} hosts {verdict.hosts[:2]} "
                               f"suspects {verdict.suspects.ranks[:6]}, truth {truth['fault']} {truth['causes']}")  # fmt: skip
        return
    must = set(truth["suspects_must_include"])
    shown = set(verdict.ranks) | set(verdict.suspects.ranks) | set(verdict.cycle)
    tally.listed += 1
    tally.inside += must <= shown
    if not must <= shown:
        tally.outside.append(
            f"{label}: {sorted(must)[:6]} not in {sorted(shown)[:8]} ({verdict.kind}/{verdict.cause}), truth {truth['fault']}"
        )
    if lost and "culprit_among_missing" in truth["undecided"]:
        tally.list_share.append(len(verdict.suspects.ranks) / lost)


def judge_decision(tally: Tally, label: str, incident: Incident, truth: dict[str, Any]) -> None:
    """A false stop: what happened would not have come back. A false eviction: of a host whose device or link was well."""
    decision, kind = incident.decision, truth["fault"]["kind"]
    tally.decided += decision.do != "cannot_tell"
    if decision.do == "stop" and kind not in ("collective_mismatch", "deadlock_cycle"):
        tally.stopped.append(f"{label}: {decision.reason}")
    verdict = incident.verdict
    homes = {
        one.host for one in verdict.places if one.rank in {*truth["ranks"], *truth["fault"]["culprits"]}
    }  # a device's host, where it is a rank's
    right = kind in ("gpu_fault", "network_fault", "kernel_stuck") and set(verdict.hosts) <= {*truth["hosts"], *homes}
    if decision.do == "evict" and not right:
        tally.evicted.append(f"{label}: {incident.verdict.hosts}, {decision.reason}")


def run(first: int, incidents: int, seed: int, large: bool, only: str | None, verbose: bool) -> Tally:
    """Simulate and analyze incidents `first` … `first + incidents - 1`."""
    tally = Tally()
    for number in range(first, first + incidents):
        job, fault, noise = draw(number, seed, large, only)
        try:
            incident = simulate(job, fault, number, noise)
        except ValueError:
            continue  # this job has no place for this fault
        report = conclude_evidence(Evidence("simulated", incident.evidence()))
        label = f"#{number} {fault.kind} {job.world} ranks, {noise.lost_recorders:.0%} lost"
        verdict = report.incidents[report.primary].verdict
        judge_decision(tally, label, report.incidents[report.primary], incident.truth)
        lost = job.world - len(incident.draw.kept.recorders)
        judge(tally, label, verdict, incident.truth, lost)
        if verbose:
            print(
                f"{label}: {verdict.kind}/{verdict.cause} {verdict.ranks[:6]} {verdict.cycle[:6]} {verdict.undecided} "
                f"suspects {len(verdict.suspects.ranks)} of {lost} lost",
                flush=True,
            )
    return tally


@click.command()
@slices(1000, CLASSES)
@click.option("--large", is_flag=True, help="10,240 ranks.")
@click.option("--evidence", type=click.Choice(EVIDENCE), help="One kind of evidence alone.")
def main(
    incidents: int, first: int, seed: int, only: str | None, kept: Path | None, verbose: bool, large: bool,
    evidence: EvidenceKind | None,
) -> None:  # fmt: skip
    """Print the report; exit 1 where an innocent rank was named."""
    if evidence is not None:
        numbers = range(first, first + incidents)
        found = accuracy_alone.run(evidence, CLASSES, numbers, seed, only, verbose, accused, is_right)
        accuracy_alone.close(together(found, kept))
    tally = together(run(first, incidents, seed, large, only, verbose), kept)
    tally.close(
        ("decidable: right", share(tally.right, tally.decidable)),
        ("undecidable: culprit in list", share(tally.inside, tally.listed)),
        ("suspects as share of the lost", f"median {median(tally.list_share or [0]):.2f} over {len(tally.list_share)}"),
        ("healthy stays healthy", share(tally.quiet_right, tally.quiet)),
        ("told what to do", share(tally.decided, tally.total)),
        ("false stop", share(len(tally.stopped), tally.total)),
        ("false evict", share(len(tally.evicted), tally.total)),
    )


if __name__ == "__main__":
    main()
