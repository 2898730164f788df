"""Did a message arrive otherwise than it was sent, by the digests that both ends tell? Either end, or what lies between them, may have changed it."""

from math import isfinite
from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.durations.checkpoints import before_step
from forensics.facts.figures.changed_messages import changed_message
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.ref import Ref
from forensics.model.said import sentence
from forensics.model.texts import ranks_text
from forensics.words import advice
from forensics.words import numerics as words


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding. A message that was bad when it was sent, or after a value that was bad before, is none."""
    tensors = case.tables["tensors"]
    found = changed_message(tensors)
    if found is None or _is_bad(found.sent):
        return ()
    was_bad = (pl.col("nan_count") > 0) | ~pl.col("absmax").is_finite()
    if tensors.filter((pl.col("step") < found.sent["step"]) & was_bad).height:
        return ()
    step, value = found.sent["step"], "nan" if _is_bad(found.got) else "finite"
    who = ranks_text(found.ends) if found.ends else advice.BOTH_ENDS
    text = advice.ARRIVED_OTHERWISE(who=who, step=step, number=found.equal)
    return (
        Finding(
            cause="comm_corruption",
            suspect_ranks=found.ends,
            undecided=("two_member_mismatch",),
            first_anomaly=FirstAnomaly(
                step=step, microbatch=found.sent["microbatch"], phase="comm", op="recv", value=value
            ),
            claims=(Claim(text, "for", (_ref(found.sent), _ref(found.got))),),
            severity="severe",
            actions=(
                to_do("inspect_network", who, advice.ENDS_OR_WAY),
                to_do("rollback", before_step(step), words.DIVERGED),
            ),
            collect=(words.REPLAY_ELSEWHERE,),
            summary=sentence(text),
        ),
    )


def _is_bad(row: dict[str, Any]) -> bool:
    return bool(row["nan_count"] or row["inf_count"]) or (row["absmax"] is not None and not isfinite(row["absmax"]))


def _ref(row: dict[str, Any]) -> Ref:
    return Ref(file=str(row["file"]), line=row["line"], text=f"{row['op']} step {row['step']} {row['checksum']}")


DETECTOR = Detector("changed_message", ("tensors",), detect, "bad_value")
