"""One kind of evidence alone: for `accuracy.py --evidence`. The bundles are written and read as bytes.

Right is what a perfect observer of the same files could say (`samples/simulator/alone`). Where the files do not tell the
culprit, it must be named or among the suspects, if they tell so much; nobody innocent may ever be named, rank or host.
"""

import random
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from tally import Tally, share

from forensics.analyze import conclude_evidence
from forensics.model.incident import Verdict
from parsers import read
from samples.simulator import Fault, Job
from samples.simulator.alone import Alone, EvidenceKind, simulate_alone
from samples.simulator.logs import address

JOBS = (
    Job(tp=2, pp=2, dp=4, steps=3), Job(tp=4, pp=2, dp=4, steps=3, run_ahead=6), Job(tp=1, pp=1, dp=16, schedule="zero3", steps=3),
    Job(tp=4, pp=1, dp=8, steps=3, run_ahead=6), Job(tp=1, pp=4, dp=4, steps=3, run_ahead=4), Job(tp=2, pp=2, dp=8, ep=4, steps=3),
    Job(tp=2, pp=2, dp=4, schedule="interleaved", steps=3), Job(tp=1, pp=1, dp=32, schedule="zero3", steps=3),
)  # fmt: skip
Judged = Callable[[Verdict, dict[str, Any]], Any]


def run(
    evidence: EvidenceKind, classes: dict[str, float], numbers: range, seed: int, only: str | None, verbose: bool,
    accused: Judged, is_right: Judged,
) -> Tally:  # fmt: skip
    """Simulate, write, read and judge the incidents of these numbers. `accused`: innocent ranks that a verdict names;
    `is_right`: whether it is as the truth has it."""
    tally = Tally()
    for number in numbers:
        rng = random.Random(f"{evidence}:{seed}:{number}")
        kind: Any = "none" if evidence == "running" else only or rng.choices(list(classes), list(classes.values()))[0]
        try:
            incident = simulate_alone(evidence, rng.choice(JOBS), Fault(kind), number)
        except ValueError:
            continue  # this job has no place for this fault
        with TemporaryDirectory() as folder:
            incident.write(Path(folder) / "one")
            report = conclude_evidence(read(str(Path(folder) / "one" / "bundle")))
        verdict = report.incidents[report.primary].verdict
        label = f"#{number} {evidence} {kind} {incident.run.job.world} ranks {incident.form or incident.run.noise.form}"
        _judge(
            tally, label, verdict, incident, [*accused(verdict, incident.truth), *_hosts(verdict, incident)], is_right
        )
        if verbose:
            print(f"{label}: {_said(verdict)}; truth {_asked(incident.truth)}", flush=True)
    return tally


def _hosts(verdict: Verdict, incident: Alone) -> list[str]:
    """Hosts that are named though nothing is wrong with them, by name or address."""
    job, plan = incident.run.job, incident.run.plan
    guilty = {job.host(rank) for rank in plan.culprits} | set(plan.hosts)
    return sorted(set(verdict.hosts) - guilty - {address(host) for host in guilty})


def _judge(tally: Tally, label: str, verdict: Verdict, incident: Alone, innocent: list[Any], is_right: Judged) -> None:
    truth = incident.truth
    told = f"{label}: {_said(verdict)}; truth {_asked(truth)}"
    tally.total += 1
    if innocent:
        tally.innocent.append(told)
    bold = verdict.kind == truth.get("hypothesis_if") and verdict.status in ("established", "supported")
    right = not bold and bool(is_right(verdict, truth))
    if truth["fault"]["kind"] == "none":
        tally.quiet += 1
        tally.quiet_right += right
        tally.quiet_accused += bool(innocent)
        if not right:
            tally.wrong.append(told)
        return
    must = set(truth["suspects_must_include"])
    shown = set(verdict.ranks) | set(verdict.suspects.ranks) | set(verdict.cycle)
    if truth["decidable"]:
        tally.decidable += 1
        tally.right += right
        tally.count(truth["fault"]["kind"], right)
        if not right:
            tally.wrong.append(told)
    elif must:
        tally.listed += 1
        tally.inside += must <= shown
        tally.list_share.append(len(shown) / incident.run.job.world)
        if not must <= shown:
            tally.outside.append(told)


def _said(verdict: Verdict) -> str:
    ranks = f"ranks {verdict.ranks[:6]} cycle {verdict.cycle[:6]} hosts {verdict.hosts[:3]} suspects {verdict.suspects.ranks[:6]}"
    return f"{verdict.kind}/{verdict.cause} {verdict.status} {ranks} {verdict.undecided}"


def _asked(truth: dict[str, Any]) -> str:
    what = "decidable" if truth["decidable"] else f"must list {truth['suspects_must_include'][:6]}"
    return f"{what} {truth['fault']} {truth['kinds']} {truth['causes']} {truth['ranks']} {truth['hosts']}"


def close(tally: Tally) -> None:
    """Print the table; exit 1 where somebody innocent was named."""
    shares = [part for part in tally.list_share if part]
    tally.close(
        ("decidable: right", share(tally.right, tally.decidable)),
        ("undecidable: culprit in list", share(tally.inside, tally.listed)),
        ("list as share of the ranks", f"median {median(shares or [0]):.2f} over {len(shares)}"),
        ("healthy: right", share(tally.quiet_right, tally.quiet)),
        ("healthy: somebody accused", share(tally.quiet_accused, tally.quiet)),
    )
