"""Which host of the job had failed a check of its own before the job, and what of?

Alone it explains nothing: many a host fails a check and works. Where everybody who may hold the others up runs on that host
(verdict/judged/arbitrate.py joins the two), the tool's word is a second witness, and the test says what is broken.
"""

from forensics.case import Case, Detector
from forensics.facts.hosts.checks import host_checks, meaning
from forensics.facts.rows.event_rows import refs
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.names import Cause
from forensics.model.ref import Ref
from forensics.model.said import joined, sentence
from forensics.words import hardware as words

_MANY = 0.3  # of the hosts that were checked: a test that so many fail tells nobody apart


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → a finding per host of the job that failed a test alone, but for tests that many failed."""
    checks = host_checks(case.events)
    failing = [(short_host(host), test) for host, one in checks.items() for test in one.failed]
    found = []
    for host, one in sorted(checks.items()):
        place = short_host(host)
        odd = [test for test in sorted(one.failed) if sum(t == test for _, t in failing) <= max(1, _MANY * len(checks))]
        if place in case.job_hosts and odd:
            found.append(_finding(case, place, odd, refs(row for test in odd for row in one.failed[test])))
    return tuple(found)


def _finding(case: Case, host: str, tests: list[str], places: tuple[Ref, ...]) -> Finding:
    known = [told for test in tests if (told := meaning(test)) is not None]
    cause: Cause = known[0][1] if known else "gpu_fault"
    failed = joined(tests, ", ")
    text = words.FAILED_BEFORE(host=host, tests=failed)
    text = words.FAILED_BEFORE_OF(host=host, tests=failed, of=known[0][0]) if known else text
    return Finding(
        cause=cause,
        hosts=(host,),
        domain="infrastructure",
        claims=(Claim(text, "for", places),),
        first_anomaly=FirstAnomaly(host=host, step=case.step_in_progress(), signature="failed_check"),
        actions=(to_do("drain_node", host, words.FAILED_CHECK_BEFORE),),
        summary=sentence(text),
    )


DETECTOR = Detector("failed_check_of_host", ("events",), detect)
