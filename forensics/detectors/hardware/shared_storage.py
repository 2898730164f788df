"""Do processes of many hosts wait for storage at once?

Then no rank is odd: what they share (a file server, the host that collects or serves the data) is under suspicion, and it
is seldom part of the bundle. Stacks of files being written or read count, and a kernel's tasks that block. Where the
stacks do not say on which hosts they were taken, kernels of several hosts must complain of their storage.
"""

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.ends.storage_waits import live_stacks, storage_waits
from forensics.facts.rows.event_rows import host_of, refs
from forensics.facts.waits.rank_stacks import stack_ref
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly, to_do
from forensics.model.told import values
from forensics.words import hardware as words

_LEAST = 2  # hosts


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, where most processes with a stack, on several hosts, wait for storage."""
    if not case.stacks.height or any(end.how == "ended" for end in case.ends.values()):
        return ()
    blocked = case.blocked
    waiting = storage_waits(case.stacks, blocked)
    total, many = int(live_stacks(case.stacks)["count"].sum()), int(waiting["count"].sum())
    hosts = _hosts(case, waiting) if many else set()
    if many and not hosts:
        errors = (row for row in blocked if row["kind"] == "storage_error")
        hosts = {host for row in errors if (host := host_of(case.identity, row))}
    if len(hosts) < _LEAST:
        return ()
    there = [row for row in blocked if host_of(case.identity, row) in hosts]
    text = words.WAIT_FOR_STORAGE(number=many, total=total, hosts=len(hosts))
    first = waiting.sort("rank", "host", "pid", "file", "line", nulls_last=True).head(3)
    claims = [Claim(text, "for", tuple(stack_ref(row) for row in first.iter_rows(named=True)))]
    if there:
        claims.append(Claim(words.KERNELS_COMPLAIN, "for", refs(there)))
    return (
        Finding(
            site=first["site"][0],
            domain="infrastructure",
            undecided=("collector_is_suspect",),
            claims=tuple(claims),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="shared_storage"),
            blast_radius=BlastRadius(ranks_waiting=many),
            actions=(to_do("inspect_hardware", words.SHARED_STORAGE, words.MANY_HOSTS_WAIT),),
            collect=(words.FILE_SERVERS,),
            summary=words.UNDER_SUSPICION(text=text),
        ),
    )


def _hosts(case: Case, stacks: pl.DataFrame) -> set[str]:
    """Hosts of these processes, by their own word or their rank's."""
    hosts = values(stacks["host"])
    if case.identity.height:
        known = case.identity.filter(pl.col("rank").is_in(stacks["rank"].drop_nulls().to_list()))
        hosts |= values(known["host"])
    return hosts


DETECTOR = Detector("shared_storage", ("stacks",), detect, "waiting")
