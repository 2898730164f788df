"""Is a parameter no longer what its master copy casts to? The model computes with the one, the optimizer updates the other."""

from forensics.case import Case, Detector
from forensics.detectors.numerics.anomaly_rows import describe, first_anomaly, ref, where
from forensics.facts.durations.checkpoints import before_step
from forensics.graph.numerics.casts import parted
from forensics.graph.numerics.tensor_ops import newest_launch
from forensics.model.finding import Claim, Finding
from forensics.model.incident import to_do
from forensics.model.said import sentence
from forensics.model.texts import ranks_text
from forensics.words import numerics as words


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding, of the newest launch. On half of the ranks and more it is how the program updates, and names nobody."""
    frame = newest_launch(case.tables["tensors"])
    if not frame.height:
        return ()
    found = parted(frame)
    if found is None:
        return ()
    who = tuple(found.rows)
    named = who if 2 * len(who) < len(found.members) else ()
    param, master = found.rows[who[0]]
    text = words.LEFT_ITS_MASTER(who=ranks_text(who), where=where(param), step=found.step)
    return (
        Finding(
            cause="replica_divergence",
            ranks=named,
            suspect_ranks=() if named or len(who) > 2 else who,
            undecided=() if named else ("tied_explanations",),
            domain="unknown" if named else "workload",
            first_anomaly=first_anomaly(param, named[0] if named else None, None, "cast_copy"),
            claims=(
                Claim(describe(param), "for", (ref(param),)),
                Claim(words.MASTER_IS(tensor=master["tensor"]), "for", (ref(master),)),
            ),
            severity="severe",
            actions=(
                to_do("check_code", words.UPDATE_OF_STEP(step=found.step, who=ranks_text(who)), words.MASTER_NOT_COPIED),
                to_do("rollback", before_step(found.step), words.DIVERGED),
            ),
            summary=sentence(text),
        ),
    )  # fmt: skip


DETECTOR = Detector("cast_copy", ("tensors",), detect, "bad_value")
