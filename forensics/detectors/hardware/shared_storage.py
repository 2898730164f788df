"""Do processes of many hosts wait for storage at once?

Then no rank is odd: what they share (a file server, the host that collects or serves the data) is under suspicion, and it
is seldom part of the bundle. Stacks of files being written or read count, and a kernel's tasks that block. Where the
stacks do not say on which hosts they were taken, kernels of several hosts must complain of their storage.
"""

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.event_rows import Row, host_of, refs
from forensics.facts.progress import step_in_progress
from forensics.facts.rank_stacks import stack_ref
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, BlastRadius, FirstAnomaly
from forensics.words import hardware as words

_SITES = ("storage_io", "checkpoint_io")
_LEAST = 2  # hosts


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, where most processes with a stack, on several hosts, wait for storage."""
    if not case.stacks.height or any(end.how == "ended" for end in case.ends.values()):
        return ()
    live = case.stacks.filter(pl.col("source") != "traceback")
    waiting = live.filter(pl.col("site").is_in(_SITES) & (pl.col("moving").is_null() | ~pl.col("moving")))
    total, many = int(live["count"].sum()), int(waiting["count"].sum())
    if 2 * many <= total:
        return ()
    hosts, blocked = _hosts(case, waiting), _blocked(case)
    if not hosts:
        hosts = {
            str(host_of(case.identity, row))
            for row in blocked
            if row["kind"] == "storage_error" and host_of(case.identity, row)
        }
    if len(hosts) < _LEAST:
        return ()
    blocked = [row for row in blocked if host_of(case.identity, row) in hosts]
    text = words.WAIT_FOR_STORAGE(number=many, total=total, hosts=len(hosts))
    first = waiting.sort("rank", "host", "pid", "file", "line", nulls_last=True).head(3)
    claims = [Claim(text, "for", tuple(stack_ref(row) for row in first.iter_rows(named=True)))]
    if blocked:
        claims.append(Claim(words.KERNELS_COMPLAIN, "for", refs(blocked)))
    return (
        Finding(
            detector=DETECTOR.name,
            site=first["site"][0],
            domain="infrastructure",
            undecided=("collector_is_suspect",),
            claims=tuple(claims),
            first_anomaly=FirstAnomaly(step=step_in_progress(case.tables["steps"]), signature="shared_storage"),
            blast_radius=BlastRadius(ranks_waiting=many),
            actions=(
                Action(
                    kind="inspect_hardware", target=words.SHARED_STORAGE, command=None, reason=words.MANY_HOSTS_WAIT
                ),
            ),
            collect=(words.FILE_SERVERS,),
            summary=words.UNDER_SUSPICION(text=text),
        ),
    )


def _blocked(case: Case) -> list[Row]:
    """What kernels say of blocked tasks and storage that does not answer, but for what is of another time."""
    kinds = ("hung_task", "storage_error")
    return [one.row for one in case.hardware if one.kind in kinds and one.severity in ("error", "fatal") and one.counts]


def _hosts(case: Case, stacks: pl.DataFrame) -> set[str]:
    """Hosts of these processes, by their own word or their rank's."""
    hosts = set(stacks["host"].drop_nulls().to_list())
    if case.identity.height:
        known = case.identity.filter(pl.col("rank").is_in(stacks["rank"].drop_nulls().to_list()))
        hosts |= set(known["host"].drop_nulls().to_list())
    return hosts


DETECTOR = Detector("shared_storage", ("stacks",), detect, "waiting")
