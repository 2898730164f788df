"""Which hosts does the scheduler call failed?

Slurm says "Node failure on HOST" when a node stops answering, sacct NODE_FAIL, Kubernetes NodeNotReady: they name hosts, never
ranks, and explain that the ranks there are silent. They say nothing of why.
"""

from forensics.assemble.identity import short_host
from forensics.case import Case, Detector
from forensics.facts.event_rows import refs, rows
from forensics.facts.progress import step_in_progress
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.said import joined, sentence
from forensics.words import hardware as words

_FAILED = ("node_failure", "node_fail", "NodeNotReady")


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding over all such hosts of the job."""
    said = [row for row in rows(case.events, "scheduler") if row["code"] in _FAILED]
    named = {short_host(host) for row in said for host in (*(row["names_hosts"] or ()), row["host"]) if host}
    hosts = tuple(sorted(named & case.job_hosts if case.job_hosts else named))
    if not hosts:
        return ()
    names = joined(hosts, ", ")
    text = words.SCHEDULER_SAYS(hosts=names)
    return (
        Finding(
            detector=DETECTOR.name,
            cause="rank_died",
            hosts=hosts,
            domain="infrastructure",
            claims=(Claim(text, "for", refs(said)),),
            first_anomaly=FirstAnomaly(
                host=hosts[0] if len(hosts) == 1 else None,
                step=step_in_progress(case.tables["steps"]),
                signature="node_failure",
            ),
            actions=tuple(
                Action(kind="inspect_hardware", target=host, command=None, reason=words.NODE_SILENT) for host in hosts
            ),
            collect=(words.CONSOLE_LOGS(hosts=names),),
            summary=sentence(text, words.RANKS_ENDED_WITH),
        ),
    )


DETECTOR = Detector("node_failure", ("events",), detect, "waiting")
