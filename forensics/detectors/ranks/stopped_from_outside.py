"""Did somebody stop the job: by hand, by a time limit, by a preemption?

A stop explains that processes ended, and never a wait or slowness before it. It names nobody, but whose pods were preempted, by the scheduler's
word on each, where most of the job kept theirs: these left, and all others followed. So with nodes that it took, where the job had others, and
with the ranks of a machine that was told so itself, where just all others failed.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.ends.process_ends import stopped_launchers
from forensics.facts.ends.stopped_pods import stopped_pods
from forensics.facts.ends.taken_places import NODE_FAILED, is_of_another
from forensics.facts.hosts.pods import pods_of
from forensics.facts.rows.event_rows import Row, detail, own_rank, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.names import Cause, Reason
from forensics.model.said import Said, joined, sentence
from forensics.model.signals import signal_of
from forensics.model.texts import ranks_text
from forensics.words import ranks as words

_PODS = {"Preempted": "preemption", "Preempting": "preemption"}  # reasons of Kubernetes' events
# Of sacct, whose rows are all of one job.
_STATES = {"timeout": "time_limit", "deadline": "time_limit", "preempted": "preemption"}
_BY_SCHEDULER: dict[str, Cause] = {
    "time_limit": "time_limit",
    "preemption": "preempted",
    "cancelled": "stopped_by_hand",
}


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → one finding: the scheduler's word, else that of a launcher which was told to stop, else Ctrl-C."""
    said = [row for row in rows(case.events, "scheduler") if not is_of_another(row, case.events, case.job_hosts)]
    said = [row for row in said if not _is_by_srun(row, said) and not _is_of_another_service(case, row)]
    jobs = {str(detail(row)["JobID"]).partition(".")[0] for row in said if "JobID" in detail(row)}
    codes = _PODS | (_STATES if len(jobs) == 1 else {})
    # What else runs of a job whose node failed, the scheduler cancels: no person does.
    is_of_node = any(row["code"] in NODE_FAILED for row in said)
    for code, cause in _BY_SCHEDULER.items():
        told = [row for row in said if _code(row, codes) == code and not (is_of_node and "JobID" in detail(row))]
        if told:
            text = words.STOPPED_BY[code]
            ranks = _of_pods(case, told) or _of_noticed(case, told)
            hosts = () if ranks else _of_hosts(case, told)
            text = joined((text, words.ITS_PODS_WERE(who=ranks_text(ranks))), "; ") if ranks else text
            text = joined((text, words.ITS_NODES_WERE(hosts=joined(hosts, ", "))), "; ") if hosts else text
            return (_finding(cause, text, Claim(text, "for", refs(told)), ranks=ranks, hosts=hosts),)
    if stopped := stopped_pods(case.events, case.expected or case.seen):
        return _pods(case, stopped)
    if told := stopped_launchers(case.events):
        return (_launcher(told),)
    interrupted = [row for row in rows(case.events, "exit") if signal_of(row["code"]) == "SIGINT"]
    if not interrupted:
        return ()
    if all(detail(row).get("by") == "terminal" for row in interrupted):  # nobody's end: what failed before may be why
        if any(_has_failed(case, row) for row in interrupted):
            return ()
        return (_finding("stopped_by_hand", words.PRESSED, Claim(words.PRESSED, "for", refs(interrupted))),)
    pressed = {rank for row in interrupted if (rank := own_rank(row)) is not None}
    text = words.CTRL_C(who=ranks_text(pressed) if pressed else words.ITS_PROCESSES)
    return (_finding("stopped_by_hand", text, Claim(text, "for", refs(interrupted))),)


def _has_failed(case: Case, row: Row) -> bool:
    """Does its file tell of an error before that line?"""
    before = (pl.col("file") == row["file"]) & (pl.col("line") < row["line"])
    return case.events.filter(before & pl.col("severity").is_in(["error", "fatal"])).height > 0


def _is_by_srun(row: Row, said: Sequence[Row]) -> bool:
    """Is it the cancellation of a step that srun had begun to terminate before, for how a task of it had ended?"""
    begun = (one for one in said if one["code"] == "terminating" and one["file"] == row["file"])
    is_step = row["code"] == "cancelled" and detail(row).get("what") == "STEP"
    return is_step and any((one["line"] or 0) < (row["line"] or 0) for one in begun)


def _is_of_another_service(case: Case, row: Row) -> bool:
    """Was it told of services that nothing else in the bundle is called after, or after which the job went on, or something had failed before?"""
    if not (units := {*detail(row).get("units", ())}):
        return False
    is_later = (pl.col("file") == row["file"]) & (pl.col("line") > row["line"])
    is_later |= (pl.col("time_basis") == row["time_basis"]) & (pl.col("time_ns") > row["time_ns"])
    told = {name for one in rows(case.events, "exit") for name in detail(one).get("names") or ()}
    told |= {str(file).rpartition("/")[2] for file in case.tables["files"]["file"]}
    return not told & units or case.tables["steps"].filter(is_later).height > 0 or _has_failed(case, row)


def _of_pods(case: Case, told: Sequence[Row]) -> tuple[int, ...]:
    """The ranks of the pods that it is said of; nobody where it is said of anything else, or of a pod whose ranks are not known, where
    a process failed by itself, or where such a rank went on."""
    failed = any(end.how == "died" and end.by == "process" for end in case.ends.values())
    if failed or not all(row["code"] in _PODS and row["names_ranks"] for row in told):
        return ()
    timed = [row for row in told if row["time_ns"] is not None and row["time_basis"] is not None]
    if any(_went_on(case, row) for row in timed):
        return ()
    taken = {rank for row in told for rank in row["names_ranks"]}
    job = case.expected | case.seen
    return tuple(sorted(taken)) if taken <= job and 2 * len(taken) < len(job) else ()


def _of_noticed(case: Case, told: Sequence[Row]) -> tuple[int, ...]:
    """The ranks of the one host of the job to which it was said that it will be taken, where all others failed and none of these did: that is
    how it goes when they leave first."""
    noticed = [row for row in told if detail(row).get("of") == "printer"]
    job = case.expected | case.seen
    taken = {rank for row in noticed for rank in row["names_ranks"] or ()}
    failed = {rank for rank, end in case.ends.items() if end.how not in ("ended", "stopped")}
    is_first = bool(taken) and failed == job - taken
    is_one = len({row["host"] for row in noticed}) == 1
    return tuple(sorted(taken)) if is_one and is_first and 2 * len(taken) < len(job) else ()


def _of_hosts(case: Case, told: Sequence[Row]) -> tuple[str, ...]:
    """The nodes that were taken, where it is said of nothing else, the job had others as well, and no process failed by itself; all
    that is said of a whole job is said of no node. Where some are known to have had its pods, no other was its own, and who waits is elsewhere."""
    failed = any(end.how == "died" and end.by == "process" for end in case.ends.values())
    taken = {short_host(host) for row in told for host in row["names_hosts"] or ()}
    if failed or not all(row["code"] == "preemption" and row["names_hosts"] for row in told):
        return ()
    own = taken & {node for pod, node in pods_of(case.events).items() if node is not None and pod in case.job_hosts}
    if own and any(end.waited for end in case.ends.values()):
        return tuple(sorted(own))
    return tuple(sorted(taken)) if taken < case.job_hosts else ()


def _went_on(case: Case, row: Row) -> bool:
    """Did its ranks complete more than the step that was under way?"""
    is_later = (pl.col("time_basis") == row["time_basis"]) & (pl.col("time_ns") > row["time_ns"])
    return case.tables["steps"].filter(pl.col("rank").is_in(row["names_ranks"]) & is_later).height > 1


def _code(row: Row, codes: Mapping[str, str]) -> str | None:
    code = row["code"] or ""
    if code in _STATES and ("JobID" not in detail(row) or row["severity"] == "info"):
        return code
    return codes.get(code, code)


def _pods(case: Case, stopped: Mapping[int, Row]) -> tuple[Finding, ...]:
    """Their pods were to go: who asked for it is not told. Nothing where one of these ended by itself, or went on."""
    went = {rank for rank, row in stopped.items() if row["time_ns"] is not None and _went_on(case, row)}
    ended = [end for rank, end in case.ends.items() if rank in stopped and end.how not in ("stopped", "ended")]
    if went or ended or any(end.how == "died" and end.by == "process" for end in case.ends.values()):
        return ()
    text = words.ITS_PODS_STOPPED(who=ranks_text(stopped))
    claim = Claim(text, "for", refs(list({row["line"]: row for row in stopped.values()}.values())))
    unsaid = joined((text, words.SENDER_NOT_RECORDED), "; ")
    return (_finding("stopped_by_hand", unsaid, claim, ("tied_explanations",)),)


def _launcher(told: Sequence[Row]) -> Finding:
    """Its own line: an agent of another node, a scheduler without a word, or a person may have sent SIGTERM."""
    codes = sorted({row["code"] for row in told if row["code"]})
    text = next((words.STOPPED_BY[code] for code in codes if code in words.STOPPED_BY), None)
    claim = Claim(words.TOLD_TO_STOP(signals=joined(codes, ", ")), "for", refs(told[:1]))
    if text is None:
        unsaid = joined((claim.text, words.SENDER_NOT_RECORDED), "; ")
        return _finding("stopped_by_hand", unsaid, claim, ("tied_explanations",))
    return _finding("stopped_by_hand", text, claim)


def _finding(
    cause: Cause,
    text: Said,
    claim: Claim,
    undecided: tuple[Reason, ...] = (),
    ranks: tuple[int, ...] = (),
    hosts: tuple[str, ...] = (),
) -> Finding:
    return Finding(
        cause=cause,
        ranks=ranks,
        hosts=hosts,
        undecided=undecided,
        claims=(claim,),
        first_anomaly=FirstAnomaly(signature=cause),
        actions=(to_do("ignore", words.THE_JOB, words.FROM_OUTSIDE),),
        # Only a person stops a job because it hangs; a scheduler takes its nodes or its time, however it ran.
        collect=(words.BEFORE_STOPPING,) if cause == "stopped_by_hand" else (),
        summary=sentence(text, words.NO_FAULT_BEFORE),
    )


DETECTOR = Detector("stopped_from_outside", ("events",), detect, "ended")
