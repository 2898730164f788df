"""Decisions over replayed histories of attempts: how often "stop" where the next attempt would have gone well, "restart" where it fails
the same way, and hosts left out in vain.

Run: python benchmarks/decisions.py [--histories 100] [--first 0] [--seed 0] [-v]

A history is a job with one hidden fault. An attempt is simulated; what the analysis decides is done; the next attempt meets the fault
again where it lasts and nothing was done about it. A job that fails for a fourth time ends the history. What lasts is an assumption
(LASTS, docs/trust.md says why), so each rate is also given for the two ends: no fault but those of the program lasts, and each does; at the ends only first attempts count.
Every share comes with its 95 % interval (Wilson 1927).
"""

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import click
import msgspec
from accuracy import CLASSES, JOBS

from forensics.analyze import conclude_evidence
from forensics.model.incident import Incident
from forensics.verdict.past.recurrence import mark_repeats
from parsers.schema.evidence import Evidence
from samples.simulator import Fault, Job, Noise, simulate

# Chance that the next start meets the fault again if nobody does anything. Those of the program always come back, those that need
# more of something too. The others are guesses within what fleets report (Kokolis et al. 2025; Grattafiori et al. 2024, 3.3.4).
LASTS: dict[str, float] = {
    "collective_mismatch": 1.0, "deadlock_cycle": 1.0, "gpu_fault": 0.7, "kernel_stuck": 0.4, "network_fault": 0.4, "rank_absent": 0.3,
    "rank_died": 0.3, "host_oom": 1.0, "exception": 0.6, "all_entered": 0.2, "none": 0.0,
}  # fmt: skip
_OF_THE_PROGRAM = ("collective_mismatch", "deadlock_cycle", "host_oom")
_OF_A_HOST = ("gpu_fault", "kernel_stuck", "network_fault")
_SITES = ("data_loading", "lock", "compile", "compute", "unresponsive")  # of an absent rank, the same in each attempt
_ATTEMPTS = 4
_Z = 1.96


@dataclass
class Score:
    """Under one assumption. `decided`: decision → how often; `bad`: (what, decision) → how often; `lines`: one for each."""

    attempts: int = 0
    decided: Counter[str] = field(default_factory=Counter)
    left_out: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)

    def count(self, label: str, incident: Incident, hosts: set[str], *, lasts: bool, of_host: bool) -> None:
        """`lasts`: the next start of the same would fail the same way. `hosts`: those at fault."""
        told = incident.decision
        self.attempts += 1
        self.decided[told.do] += 1
        out = {*told.without}
        self.left_out += bool(out)
        helps = bool(out & hosts) and of_host
        said = f"{label}: {told.do} without {sorted(out)}: {told.reason}"
        if told.do in ("stop", "change_first") and not lasts:
            self._bad("stop", said)
        elif told.do in ("restart", "evict") and lasts and not helps:
            self._bad("restart", said)
        if out and not (lasts and helps):
            self._bad("host", said)

    def _bad(self, what: str, line: str) -> None:
        self.bad[what] += 1
        self.lines.append(f"{what} {line}")


def interval(part: int, whole: int) -> str:
    """ "1.0 % (2 of 200; 0.3 to 3.6 %)", by Wilson's score interval of 95 %."""
    if not whole:
        return "none"
    share, room = part / whole, _Z * _Z / whole
    middle = (share + room / 2) / (1 + room)
    half = _Z * math.sqrt(share * (1 - share) / whole + room / (4 * whole)) / (1 + room)
    low, high = (0.0 if not part else 100 * (middle - half)), (100.0 if part == whole else 100 * (middle + half))
    return f"{100 * share:.1f} % ({part} of {whole}; {low:.1f} to {high:.1f} %)"


def persistence(kind: str, how: str) -> str:
    """The row of LASTS that a simulated fault is of."""
    return how if kind == "rank_died" and how in LASTS else kind


def drawn(number: int, seed: int) -> tuple[Job, Fault, Noise, random.Random]:
    rng = random.Random(f"decisions:{seed}:{number}")
    kind = rng.choices(list(CLASSES), list(CLASSES.values()))[0]
    lost = rng.choice((0.0, 0.0, 0.02, 0.10))
    job = rng.choice([one for one in JOBS if one.world <= 64])
    return (
        job,
        Fault(kind, site=rng.choice(_SITES) if kind == "rank_absent" else None),
        Noise(lost_recorders=lost, lost_stacks=rng.choice((0.0, 1.0)), lost_logs=lost, skew_s=5.0),
        rng,
    )  # type: ignore[arg-type]


def replayed(number: int, seed: int, scores: dict[str, Score], verbose: bool) -> None:
    """One history."""
    job, fault, noise, rng = drawn(number, seed)
    hidden: float = rng.random()
    incidents: list[Incident] = []
    for attempt in range(_ATTEMPTS):
        try:
            made = simulate(job, fault, 1000 * number + attempt, noise)
        except ValueError:
            return  # this job has no place for this fault
        truth: dict[str, Any] = made.truth["fault"]
        name = persistence(fault.kind, truth["how"])
        report = conclude_evidence(Evidence("simulated", made.evidence()))
        incidents.append(msgspec.structs.replace(report.incidents[report.primary], attempt=attempt))
        told = mark_repeats(incidents, attempt, job.world)[attempt]
        hosts = {*truth["hosts"], *(job.host(rank) for rank in truth["culprits"])}
        label = f"#{number}.{attempt} {name}"
        chances = {"assumed": hidden < LASTS[name], "none lasts": name in _OF_THE_PROGRAM, "all last": name != "none"}
        for assumed, lasts in chances.items():
            if attempt and assumed != "assumed":
                continue  # at the ends only first attempts: the others are there because it came back
            scores[assumed].count(label, told, hosts, lasts=lasts, of_host=name in _OF_A_HOST)
        if verbose:
            print(f"{label}: {told.verdict.cause} {told.decision.do} {told.decision.without}", flush=True)
        is_helped = told.decision.do in ("stop", "change_first") or (
            {*told.decision.without} & hosts and name in _OF_A_HOST
        )
        if not chances["assumed"] or is_helped:
            return
        fault = Fault(
            fault.kind, tuple(truth["culprits"]) if fault.kind == "rank_absent" else (), fault.site, fault.how
        )


@click.command()
@click.option("--histories", default=100, show_default=True)
@click.option("--first", default=0, show_default=True, help="Number of the first history.")
@click.option("--seed", default=0, show_default=True)
@click.option("-v", "verbose", is_flag=True)
def main(histories: int, first: int, seed: int, verbose: bool) -> None:
    scores = {name: Score() for name in ("assumed", "none lasts", "all last")}
    for number in range(first, first + histories):
        replayed(number, seed, scores, verbose)
    for name, score in scores.items():
        stops = score.decided["stop"] + score.decided["change_first"]
        starts = score.decided["restart"] + score.decided["evict"]
        print(f"{name}: {score.attempts} attempts, {dict(score.decided.most_common())}")
        print(f"  stop where the next went well       {interval(score.bad['stop'], stops)}")
        print(f"  restart where it failed the same way {interval(score.bad['restart'], starts)}")
        print(f"  hosts left out in vain               {interval(score.bad['host'], score.left_out)}")
    for line in scores["assumed"].lines[:40]:
        print(line)


if __name__ == "__main__":
    main()
