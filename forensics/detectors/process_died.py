"""Which process ended by itself, before anybody gave up waiting?

Method: outcomes.py. A signal that nobody sent, or an exception that is no consequence of another rank's failure. Time
orders several only beyond the clock error; the launcher's "first observed failure" is never taken for the origin.
"""

import re

from forensics.case import Case, Claim, Detector, Finding
from forensics.detectors.progress import step_in_progress
from forensics.graph.operations import ranks_text
from forensics.incident import Action, BlastRadius, Cause, FirstAnomaly
from forensics.outcomes import Outcome

_RANK_ORDER: tuple[Cause, ...] = ("host_oom", "gpu_fault", "killed", "segfault", "gpu_oom", "disk_full", "exception")
_WORDS: dict[str, str] = {
    "killed": "was killed by SIGKILL",
    "segfault": "crashed on a signal",
    "gpu_oom": "ran out of device memory",
    "host_oom": "was killed for memory",
    "disk_full": "found no space left on a device",
    "gpu_fault": "hit a device fault",
    "exception": "raised an exception of its own",
}


def _same(outcome: Outcome) -> str:
    text = outcome.refs[-1].text if outcome.refs else ""
    return f"{outcome.cause}:{outcome.code}:{re.sub(r'[0-9]+', '#', text)[:120]}"


def _origin(case: Case, died: list[Outcome]) -> tuple[list[Outcome], bool]:
    """(origins, everybody): the ranks that failed first or hardest; `everybody` where most ranks failed alike."""
    job = len(case.expected or case.seen) or len(died)
    kinds: dict[str, list[Outcome]] = {}
    for outcome in died:
        kinds.setdefault(_same(outcome), []).append(outcome)
    if len(kinds) == 1 and len(died) > 1 and 2 * len(died) > job:
        return died, True
    best = min(_RANK_ORDER.index(outcome.cause) for outcome in died if outcome.cause)
    hardest = [outcome for outcome in died if outcome.cause and _RANK_ORDER.index(outcome.cause) == best]
    if _RANK_ORDER[best] != "exception":
        return hardest, False
    stamped = [outcome for outcome in hardest if outcome.time_ns is not None]
    if len(stamped) == len(hardest) > 1:
        first = min(outcome.time_ns or 0 for outcome in stamped)
        return [outcome for outcome in stamped if (outcome.time_ns or 0) - first < 1_000_000_000], False
    return hardest, False


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → one finding over all origins."""
    died = [outcome for outcome in case.outcomes.values() if outcome.how == "died"]
    if not died:
        return ()
    origins, everybody = _origin(case, died)
    first = min(origins, key=lambda outcome: (outcome.time_ns or 0, outcome.rank))
    cause = first.cause
    ranks = tuple(sorted(outcome.rank for outcome in origins))
    victims = sorted(r for r, outcome in case.outcomes.items() if outcome.how in ("gave_up", "stopped"))
    claims = [
        Claim(
            f"rank {outcome.rank} {_WORDS[str(outcome.cause)]} ({outcome.code})", "for", _witness(outcome), outcome.refs
        )
        for outcome in origins[:4]
    ]
    if victims:
        sample = case.outcomes[victims[0]]
        claims.append(
            Claim(
                f"{ranks_text(victims)} only gave up waiting or were stopped by the launcher",
                "for",
                "logs",
                sample.refs[-1:],
            )
        )
    actions = [
        Action(
            kind="check_code" if cause == "exception" else "restart_job",
            target=ranks_text(ranks),
            command=None,
            reason=_WORDS[str(cause)],
        )
    ]
    return (
        Finding(
            detector=DETECTOR.name,
            kind="crash",
            cause=cause,
            strong=not everybody,
            ranks=() if everybody else ranks,
            domain="workload"
            if everybody or cause in ("exception", "gpu_oom")
            else "infrastructure"
            if cause == "gpu_fault"
            else "unknown",
            first_anomaly=FirstAnomaly(
                rank=None if everybody else first.rank,
                step=step_in_progress(case, first.rank),
                signature=f"{cause}:{first.code}",
            ),
            claims=tuple(claims),
            time_ns=first.time_ns,
            actions=tuple(actions),
            blast_radius=BlastRadius(ranks_waiting=len(victims)),
            summary=f"{ranks_text(ranks).capitalize()} {_WORDS[str(cause)]} ({first.code})"
            + (
                "; it is the same on most ranks, so no single one is the cause."
                if everybody
                else f"; {len(victims)} other ranks only followed."
                if victims
                else "."
            ),
        ),
    )


def _witness(outcome: Outcome) -> str:
    return "launcher" if outcome.code.startswith("SIG") else "logs"


DETECTOR = Detector("process_died", ("events",), detect)
