"""Accuracy on simulated numeric incidents: is the root exactly right, is an innocent rank named, is the culprit listed.

Run: python benchmarks/numeric_accuracy.py [--incidents 600] [--first 0] [--seed 0] [--only KIND] [-v]. Fixed seeds, no
clock: the same numbers every time. "Exactly right": kind, cause, ranks, step, module and micro-batch of the first anomaly.
The evidence is handed over as tables; tests show that the way through bytes gives the same.
"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from tally import Tally, share, slices, together

from forensics.analyze import conclude_evidence
from forensics.model.incident import Incident
from parsers.schema.evidence import Evidence
from samples.simulator import Job
from samples.simulator.numerics import NUMERIC_KINDS, Form, Model, NumericFault, NumericNoise, simulate_numerics

JOBS = (
    Job(tp=1, pp=1, dp=4, steps=3, microbatches=2), Job(tp=2, pp=2, dp=2, steps=3, microbatches=2, layers=1),
    Job(tp=1, pp=4, dp=2, steps=3, microbatches=4, layers=1), Job(tp=4, pp=1, dp=2, steps=3, microbatches=1),
    Job(tp=2, pp=2, dp=4, ep=2, steps=3, microbatches=2, layers=1), Job(tp=1, pp=2, dp=4, ep=4, steps=3, microbatches=2, layers=1),
    Job(tp=4, pp=2, dp=3, steps=3, microbatches=2, layers=1), Job(tp=1, pp=1, dp=8, ep=4, steps=4, microbatches=1),
)  # fmt: skip
CALLS = ("stated",) * 6 + ("named", "bare", "none")


def draw(number: int, seed: int, only: str | None) -> tuple[Job, NumericFault, NumericNoise, Model]:
    """The job, fault, noise and model of incident `number`; two thirds of the incidents are whole."""
    rng = random.Random(f"{seed}:{number}")
    kind: Any = only or rng.choice(NUMERIC_KINDS)
    model = Model(
        dtype=rng.choice(("float32", "bfloat16", "float16")), recompute=rng.random() < 0.3, masks=rng.random() < 0.7,
        sharded=rng.random() < 0.3, clip=rng.random() < 0.7, guards=rng.random() < 0.1,
    )  # fmt: skip
    form = Form(
        calls=rng.choice(CALLS), counts=rng.random() < 0.7, finite=rng.random() < 0.5, gradients=rng.random() < 0.4,
        params=rng.random() < 0.8, norm=rng.random() < 0.8, checksum=rng.random() < 0.2, seq=rng.random() < 0.5,
        slices=rng.random() < 0.7, prefilled=rng.random() < 0.3, log=rng.random() < 0.5, attempts=rng.random() < 0.5,
        inputs=rng.random() < 0.97, microbatch=rng.random() < 0.9,
    )  # fmt: skip
    noise = NumericNoise(form=form)
    if rng.random() < 0.35:
        noise = NumericNoise(
            form=form, every=rng.choice((1, 1, 1, 2)), modules=rng.choice((1.0, 1.0, 0.5)), lost=rng.choice((0.0, 0.1, 0.3)),
            truncated=rng.choice((0.0, 0.0, 0.2)), culprit_lost=rng.choice((None, None, True, False)),
        )  # fmt: skip
    return rng.choice(JOBS), NumericFault(kind), noise, model


def accused(incident: Incident, truth: Mapping[str, Any]) -> list[int]:
    """Ranks that are named though nothing is wrong with them."""
    allowed = set(truth["ranks"]).union(*truth.get("ranks_any", []), truth["fault"]["culprits"])
    return sorted(set(incident.verdict.ranks) - allowed)


def faults_of(incident: Incident, truth: Mapping[str, Any]) -> list[str]:
    """What of the answer is not as the truth has it."""
    verdict, first = incident.verdict, incident.verdict.first_anomaly
    accepted = [set(ranks) for ranks in truth.get("ranks_any", [truth["ranks"]])]
    bad = []
    if verdict.kind not in truth["kinds"]:
        bad.append(f"kind {verdict.kind}")
    if truth["causes"] and verdict.cause not in truth["causes"]:
        bad.append(f"cause {verdict.cause}")
    if set(verdict.ranks) not in accepted:
        bad.append(f"ranks {verdict.ranks[:6]}")
    if truth["links"] and {tuple(link) for link in verdict.links} != {tuple(link) for link in truth["links"]}:
        bad.append(f"links {verdict.links}")
    if not truth["ranks"] and not set(truth["suspects_must_include"]) <= set(verdict.suspects.ranks):
        bad.append(f"suspects {verdict.suspects.ranks[:8]}")
    if truth["step"] is not None and first.step != truth["step"]:
        bad.append(f"step {first.step}")
    if truth.get("modules") and first.module not in truth["modules"]:
        bad.append(f"module {first.module}")
    if truth["microbatch"] is not None and first.microbatch not in (truth["microbatch"], None):
        bad.append(f"microbatch {first.microbatch}")
    if truth["severity"] and incident.severity not in truth["severity"]:
        bad.append(f"severity {incident.severity}")
    return bad


def judge(tally: Tally, label: str, incident: Incident, truth: Mapping[str, Any]) -> None:
    """Count one incident."""
    tally.total += 1
    kind, verdict = truth["fault"]["kind"], incident.verdict
    said = f"{verdict.kind}/{verdict.cause} ranks {verdict.ranks[:6]} suspects {verdict.suspects.ranks[:10]} first {verdict.first_anomaly.signature}"
    if bad := accused(incident, truth):
        tally.innocent.append(f"{label}: {bad[:8]}; {said}; truth {truth['fault']}")
    wrong = faults_of(incident, truth)
    if kind == "none":
        tally.quiet += 1
        tally.quiet_right += not wrong
        if wrong:
            tally.wrong.append(f"{label}: {wrong}; {said}")
        return
    tally.count(kind, not wrong)
    if truth["decidable"]:
        tally.decidable += 1
        tally.right += not wrong
        if wrong:
            tally.wrong.append(
                f"{label}: {wrong}; {said}; truth {truth['ranks']} {truth['step']} {truth['module']} {truth['phase']}"
            )
        return
    tally.named_anyway += not wrong
    from_log = verdict.first_anomaly.module is None
    if verdict.kind != "numerics" or verdict.domain == "workload" or from_log:
        return  # the statistics that are left show nothing bad, or show it everywhere
    shown = set(verdict.ranks) | set(verdict.suspects.ranks)
    must = set(truth["suspects_must_include"])
    tally.listed += 1
    tally.inside += bool(must & shown) or not must
    if must and not must & shown:
        tally.outside.append(f"{label}: {sorted(must)[:6]}; {said}; {wrong}")


def run(first: int, incidents: int, seed: int, only: str | None, verbose: bool) -> Tally:
    """Simulate and analyze incidents `first` … `first + incidents - 1`."""
    tally = Tally()
    for number in range(first, first + incidents):
        job, fault, noise, model = draw(number, seed, only)
        try:
            incident = simulate_numerics(job, fault, number, noise, model)
        except ValueError:
            continue  # this job has no place for this fault
        report = conclude_evidence(Evidence("simulated", incident.evidence()))
        form = noise.form
        gone = sorted(set(range(job.world)) - incident.kept.ranks)
        label = f"#{number} {fault.kind} tp{job.tp} pp{job.pp} dp{job.dp} ep{job.ep} calls={form.calls} gone={gone[:6]} every={noise.every} modules={noise.modules}"
        judge(tally, label, report.incidents[report.primary], incident.truth)
        if verbose:
            print(label, report.incidents[report.primary].verdict.summary)
    return tally


@click.command()
@slices(600, NUMERIC_KINDS)
def main(incidents: int, first: int, seed: int, only: str | None, kept: Path | None, verbose: bool) -> None:
    """Print the report; exit 1 where an innocent rank was named."""
    tally = together(run(first, incidents, seed, only, verbose), kept)
    named = f"{share(tally.inside, tally.listed)}; exactly right anyway {tally.named_anyway}"
    tally.close(
        ("decidable: root exactly right", share(tally.right, tally.decidable)),
        ("others: culprit named or list", named),
        ("no fault, no finding", share(tally.quiet_right, tally.quiet)),
    )


if __name__ == "__main__":
    main()
