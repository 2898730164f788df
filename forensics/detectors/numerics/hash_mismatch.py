"""Did a check of the job itself find that replicas of the weights differ?

Each rank compares with the first rank of its group. Where few differ from it these are wrong; where half or more do it
may be the first rank itself, and nobody is named. Nor is anybody where only the error is left that all ranks raise afterwards.
"""

from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.checkpoints import before_step
from forensics.facts.event_rows import detail, refs
from forensics.facts.progress import step_in_progress
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.said import sentence
from forensics.model.texts import ranks_text
from forensics.words import numerics as words


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding."""
    events = case.events.filter(pl.col("kind") == "replica_mismatch").sort("file", "line", nulls_last=True)
    rows = events.filter(pl.col("code") == "differs").to_dicts()
    named = tuple(sorted({rank for row in rows for rank in row["names_ranks"] or ()}))
    if not named:
        return _of_some(case, events.to_dicts()) if events.height else ()
    job = case.job_told_of | set(named)
    few = 2 * len(named) < len(job)
    others = tuple(sorted(job - set(named)))
    parameter = detail(rows[0]).get("parameter")
    step = step_in_progress(case.tables["steps"])
    text = words.WEIGHTS_DIFFER(who=ranks_text(named))
    return (
        Finding(
            detector=DETECTOR.name,
            cause="replica_divergence",
            ranks=named if few else (),
            suspect_ranks=() if few else others or named,
            undecided=() if few else ("replica_tie",),
            first_anomaly=FirstAnomaly(
                rank=named[0] if few else None,
                step=step,
                module=parameter,
                value="finite",
                signature="replica_divergence",
            ),
            claims=(Claim(words.BY_OWN_CHECK(what=text), "for", refs(rows[:10])),),
            severity="severe",
            actions=(
                Action(
                    kind="inspect_hardware",
                    target=ranks_text(named if few else others or named),
                    command=None,
                    reason=words.DIFFER_SILENTLY,
                ),
                Action(
                    kind="rollback",
                    target="job" if step is None else before_step(step),
                    command=None,
                    reason=words.DIVERGED,
                ),
            ),
            summary=sentence(words.IN_PARAMETER(what=text, parameter=parameter) if parameter else text),
        ),
    )


def _of_some(case: Case, rows: list[dict[str, Any]]) -> tuple[Finding, ...]:
    step = step_in_progress(case.tables["steps"])
    return (
        Finding(
            detector=DETECTOR.name,
            cause="replica_divergence",
            undecided=("replica_tie",),
            first_anomaly=FirstAnomaly(step=step, value="finite", signature="replica_divergence"),
            claims=(Claim(words.BY_OWN_CHECK(what=words.SOME_REPLICA_DIFFERS), "for", refs(rows[:10])),),
            severity="severe",
            collect=(words.EACH_REPLICAS_FIGURES,),
            summary=sentence(words.SOME_REPLICA_DIFFERS),
        ),
    )


DETECTOR = Detector(name="hash_mismatch", needs=("events",), detect=detect, about="bad_value")
