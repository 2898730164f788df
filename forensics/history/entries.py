"""Reports → what the history keeps of them."""

from hashlib import sha256
from pathlib import Path

import msgspec

from forensics.model.hosts import short_host
from forensics.model.incident import Incident
from forensics.model.past import PastIncident, origin_of
from forensics.model.said import encoded
from forensics.model.texts import ranges
from forensics.report import Report
from forensics.verdict.past.accused import accused, suspected
from forensics.verdict.past.signature import words_of

_KINDS = ("hang", "crash", "numerics", "slow", "launch")  # what went wrong


class NotAReport(ValueError):
    """A document that is no incident.json."""


def report_from(document: bytes) -> Report:
    """incident.json → the report. Raises NotAReport."""
    try:
        return msgspec.json.decode(document, type=Report, strict=False)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise NotAReport("not an incident.json") from error


def load(file: str | Path) -> Report:
    """The report that an incident.json holds; it has no tables. Raises NotAReport, or OSError where it cannot be read."""
    return report_from(Path(file).read_bytes())


def entries_of(report: Report) -> list[PastIncident]:
    """The incidents of a report in which something went wrong."""
    hosts = sorted({short_host(host) for host in report.coverage.hosts_seen})
    origin = origin_of(report.files, report.coverage.hosts_seen)
    when = max((file.time_last_utc for file in report.files if file.time_last_utc), default=None)
    return [_entry(report, one, hosts, when, origin) for one in report.incidents if one.verdict.kind in _KINDS]


def _entry(report: Report, one: Incident, hosts: list[str], when: str | None, origin: str) -> PastIncident:
    verdict = one.verdict
    # A better verdict on the same evidence takes its place.
    content = (origin, one.attempt, report.incidents.index(one))
    return PastIncident(
        id=sha256(msgspec.json.encode(content, enc_hook=encoded)).hexdigest()[:16],
        origin=origin,
        bundle=report.bundle.name,
        attempt=one.attempt,
        time_utc=verdict.first_anomaly.time_utc or when,
        kind=verdict.kind,
        cause=verdict.cause,
        status=verdict.status,
        signature=words_of(verdict),
        accused=sorted(accused(one)),
        suspected=sorted(suspected(one)),
        hosts=hosts,
        ranks=ranges(verdict.ranks or verdict.suspects.ranks),
        lost_gpu_hours=one.decision.lost_gpu_hours,
        summary=verdict.summary,
    )
