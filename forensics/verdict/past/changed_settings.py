"""Settings that were changed before the attempt that failed: the first thing to look at where the one before did not fail so. They name nobody."""

from collections.abc import Sequence

from msgspec.structs import replace

from forensics.model.incident import Action, EnvironmentRow, Evidence, Incident
from forensics.model.names import Kind
from forensics.model.said import Said, joined
from forensics.words import verdict as words
from parsers.text.patterns import regex

_SHOWN = 4
# What every launch has anew says nothing of what it does.
_OF_A_LAUNCH = regex(
    r"(?i)(?:^|[_.])(?:port|id|uuid|time|date|timestamp|seed|addr|address|host|hosts|nodelist|node|dir|path|folder|file|log|name|tag)s?$|^hosts"
)
_BY_SETTINGS: tuple[Kind, ...] = ("crash", "launch", "numerics")


def with_changes(incident: Incident, before: Sequence[Incident], rows: Sequence[EnvironmentRow]) -> Incident:
    """`before`: incidents of earlier attempts; `rows`: of which setting each of the last two attempts had one value, and not the same."""
    verdict = incident.verdict
    last = [one.verdict for one in before if one.attempt == incident.attempt - 1]
    told = [row for row in rows if len(row.values) == 2 and not _OF_A_LAUNCH.search(row.name)][:_SHOWN]
    is_old = any((one.kind, one.cause) == (verdict.kind, verdict.cause) for one in last)
    if not told or not last or is_old or verdict.kind in ("healthy", "unknown"):
        return incident
    what = joined(map(_change, told), ", ")
    claim = Evidence(
        id=f"E{len(incident.evidence) + 1}",
        claim=words.CHANGED_BEFORE(attempt=incident.attempt, what=what), direction="for", refs=[],
    )  # fmt: skip
    incident = replace(incident, evidence=[*incident.evidence, claim])
    if verdict.kind not in _BY_SETTINGS or verdict.domain == "infrastructure":
        return incident
    check = Action(
        kind="check_config", target=words.WHAT_CHANGED(names=joined([row.name for row in told], ", ")), command=None,
        reason=words.NOT_SO_BEFORE(what=what, attempt=incident.attempt - 1),
    )  # fmt: skip
    return replace(incident, actions=[check, *incident.actions])


def _change(row: EnvironmentRow) -> Said:
    """The newest value comes first in its row."""
    now, was = row.values
    return words.WAS_AND_IS(name=row.name, was=was, now=now)
