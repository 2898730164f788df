"""Did the run end well?

Needs proof: completions are seen, all members agree, nothing is open, no failure line. Quiet is not the same.
"""

import polars as pl

from forensics.case import Case, Claim, Detector, Finding
from forensics.graph.records import UNRECORDED_P2P

_FAILURES = (
    "exception",
    "collective_timeout",
    "desync",
    "fingerprint_mismatch",
    "barrier_missing",
    "missing_members",
    "store_timeout",
    "heartbeat_lost",
    "peer_closed",
    "connect_failed",
    "remote_error",
    "completion_error",
    "port_error",
    "gpu_lost",
    "cuda_error",
    "gpu_oom",
    "host_oom",
    "segfault",
    "disk_full",
    "nan_assert",
    "bad_loss",
    "closing_signal",
    "config_error",
    "comm_abort",
    "dump_signal",
)


def _failed(case: Case) -> bool:
    events = case.events
    return bool(events["kind"].is_in(_FAILURES).any()) or any(o.how not in ("ended",) for o in case.ends.values())


def _completions(case: Case) -> list[Claim]:
    """What proves that work was completed."""
    claims = []
    ended = [rank for rank, outcome in case.ends.items() if outcome.how == "ended"]
    ends = case.events.filter(pl.col("kind") == "job_end")
    if ended or ends.height:
        claims.append(
            Claim(f"{max(len(ended), ends['rank'].n_unique())} processes say that they ended well", "for", "logs")
        )
    steps = case.tables["steps"].filter(pl.col("step").is_not_null())
    last = steps.group_by("rank").agg(pl.col("step").max())["step"]
    if len(last) and last.n_unique() == 1 and (ended or ends.height):
        claims.append(Claim(f"all ranks that print steps completed step {last[0]}", "for", "training_log"))
    if case.states is not None and case.states.counters.height and not case.states.open.height:
        agree = case.states.counters.group_by("gid").agg(
            pl.col("completed").n_unique(), (pl.col("completed") == pl.col("enqueued")).all().alias("even")
        )
        if bool((agree["completed"] == 1).all()) and bool(agree["even"].all()):
            claims.append(
                Claim(
                    "all members of all groups agree on the last completed operation, and nothing is open",
                    "for",
                    "flight_recorder",
                )
            )
    return claims


def _is_held(case: Case) -> bool:
    """Whether a record shows that somebody waits. A stack in communication is a moment of a running job, unless the
    backend keeps no record of sends and receives."""
    if case.waits is None or case.states is None:
        return False
    blind = bool(case.states.groups["backend"].is_in(UNRECORDED_P2P).any())
    waiting = {rank for rank, status in case.waits.status.items() if status in ("held", "vague")}
    ended = any(outcome.how == "ended" for outcome in case.ends.values())
    return bool(waiting if blind and not ended else waiting - case.waits.by_stack)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → a finding of kind healthy where it is proven."""
    if _failed(case) or _is_held(case):
        return ()
    claims = _completions(case)
    if not claims:
        return ()
    return (
        Finding(
            detector=DETECTOR.name,
            kind="healthy",
            strong=True,
            claims=tuple(claims),
            undecided=("no_hang",),
            summary="Nothing is wrong in this bundle: work was completed, all members agree, nothing is open.",
        ),
    )


DETECTOR = Detector("healthy", (), detect)
