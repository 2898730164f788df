"""Processes ended with an error, and nothing but the launcher's word is there: who has to be looked at?

An exit code says that a process failed, never why; whom the launcher reports first it saw first (contract, honesty 3). So
nobody is named. A few that failed while the launcher had to stop all the others ended before these: they are suspects.
Where most aborted, as watchdogs make them after a wait, those that the launcher found alive are.
"""

from forensics.case import Case, Claim, Detector, Finding
from forensics.detectors.log_lines import has_waited
from forensics.detectors.progress import step_in_progress
from forensics.graph.operations import ranks_text
from forensics.incident import BlastRadius, FirstAnomaly, Ref


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no line tells more than that processes failed."""
    failed = {rank: end for rank, end in case.outcomes.items() if end.how == "failed"}
    stopped = {rank: end for rank, end in case.outcomes.items() if end.how == "stopped"}
    if not failed or len(failed) + len(stopped) < len(case.outcomes) or has_waited(case):
        return ()
    codes = sorted({end.code for end in failed.values()})
    suspects, why = _suspects(set(failed), set(stopped), codes)
    places: list[Ref] = [ref for rank in sorted(failed)[:3] for ref in failed[rank].refs[:1]]
    text = f"{ranks_text(failed)} ended with an error ({', '.join(codes[:3])})"
    claims = [Claim(text, "for", "launcher", tuple(places))]
    if stopped:
        told = tuple(ref for rank in sorted(stopped)[:2] for ref in stopped[rank].refs[:1])
        claims.append(Claim(f"the launcher stopped {ranks_text(stopped)}", "for", "launcher", told))
    return (
        Finding(
            detector=DETECTOR.name,
            kind="crash",
            suspect_ranks=suspects,
            undecided=("tied_explanations",),
            claims=tuple(claims),
            first_anomaly=FirstAnomaly(step=step_in_progress(case), signature=f"exit:{codes[0]}"),
            blast_radius=BlastRadius(ranks_waiting=len(stopped)),
            collect=(f"what {ranks_text(suspects or sorted(failed))} printed last, on standard error as well",),
            summary=f"Undecided: {text}; {why}.",
        ),
    )


def _suspects(failed: set[int], stopped: set[int], codes: list[str]) -> tuple[tuple[int, ...], str]:
    if len(failed) < len(stopped):
        return tuple(sorted(failed)), f"{ranks_text(stopped)} were alive until the launcher stopped them"
    if codes == ["SIGABRT"] and stopped and 2 * len(stopped) < len(failed):
        return tuple(sorted(stopped)), f"{ranks_text(stopped)} did not abort like the others"
    return (), "an exit code does not tell who was the first, nor why"


DETECTOR = Detector("failed_exit", ("events",), detect)
