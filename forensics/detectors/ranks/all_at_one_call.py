"""Does every process of the job that was looked at stand at one and the same line of the job, in a call that is none between its ranks?

Then what they wait for is in none of them: a service that they all ask, a lock, a file that all share. Nobody is named. It is said only where
they are shown to stand: in one place at two looks, at one that was taken long after the last step, or by the person's word; a job at work is seen
in one line by chance. Where somebody stands elsewhere, that one is asked for by others (odd_stack, absent).
"""

from typing import Any

from forensics.case import Case, Detector
from forensics.facts.ends.ended_at_rest import is_long_after
from forensics.facts.ends.storage_waits import STORAGE_SITES
from forensics.facts.waits.rank_stacks import stack_ref
from forensics.facts.waits.stacks import classify, to_frames
from forensics.graph.hang.outside import places
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, Code, FirstAnomaly
from forensics.model.said import sentence
from forensics.words import ranks as words

_FEWEST = 3  # ranks that stand there
# A slow loader stands there in every look.
_ASKED_ELSEWHERE = ("communication", "gpu_sync", "data_loading", *STORAGE_SITES)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no operation is recorded as open."""
    live = places(case.stacks, case.waited_ranks, case.expected).live
    if case.states.open.height or not live.height or live["rank"].null_count() or case.time_witness.went_on:
        return ()
    ranks = frozenset(live["rank"].to_list())
    at = {_place(row) for row in live.iter_rows(named=True)}
    is_most = len(ranks) >= _FEWEST and 2 * len(ranks) > len(case.expected)
    if len(at) != 1 or not is_most or live["moving"].fill_null(False).any():
        return ()
    [(site, file, line, function)] = at
    stood = case.hung or bool(case.time_witness.stood) or is_long_after(live, case.tables)
    if file is None or site in _ASKED_ELSEWHERE or not stood:
        return ()
    text = words.ALL_AT_ONE_CALL(number=len(ranks), line=f"{file}:{line}")
    first = live.sort("rank").head(3)
    return (
        Finding(
            code=Code(file=file, line=line, function=function),
            undecided=("membership_unknown",),
            claims=(Claim(text, "for", tuple(stack_ref(row) for row in first.iter_rows(named=True))),),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="all_at_one_call"),
            blast_radius=BlastRadius(ranks_waiting=len(ranks)),
            collect=(words.WHAT_THEY_ASK,),
            summary=sentence(text, words.WHAT_THEY_ASK_IS_IN_NONE),
        ),
    )


def _place(row: dict[str, Any]) -> tuple[str, str | None, int | None, str | None]:
    """Where in the job's own code it stands."""
    told = classify(to_frames(row["frames"]))
    own = told.user
    return row["site"], *((own.file or None, own.line, own.function) if own is not None else (None, None, None))


DETECTOR = Detector("all_at_one_call", ("stacks",), detect, "waiting")
