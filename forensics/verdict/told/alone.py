"""What a rank that stayed out of a call printed alone, again and again, to the end of its log: it may be what it was at. It names nobody and
raises no status."""

from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.waits.said_alone import said_alone
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.texts import cut_middle, ranks_text
from forensics.words import courses as words
from parsers.text.patterns import regex

_RANKS, _LINE = 3, 200
_WITHIN = regex(r"[A-Za-z0-9_][A-Za-z0-9_./+@-]{0,300}")  # a file of the bundle


def with_said_alone(case: Case, finding: Finding) -> Finding:
    """The finding with that line and a look at it first, where nothing else shows what the rank was at."""
    if finding.cause != "rank_absent" or finding.site or not 0 < len(finding.ranks) <= _RANKS:
        return finding
    found = said_alone(case.tables, finding.ranks)
    if not found:
        return finding
    claims = [
        Claim(words.SAID_ALONE(who=ranks_text([one.rank]), times=one.times, line=cut_middle(one.last.text.strip(), _LINE)), "for", (one.last,))
        for one in found
    ]  # fmt: skip
    who = ranks_text([one.rank for one in found])
    look = Action(
        kind="check_code", target=words.WHAT_IT_SAID_ALONE(who=who, file=found[0].last.file, line=found[0].last.line),
        command=_end_of(found[0].last.file),
        reason=words.MAY_BE_WHERE_IT_WAS, look=words.LOOK_AT_SAID_ALONE, then=words.THEN_OF_SAID_ALONE,
    )  # fmt: skip
    return replace(finding, claims=(*finding.claims, *claims), actions=(look, *finding.actions))


def _end_of(file: str) -> str | None:
    """The last lines of a log, from the folder that was analyzed."""
    return f"tail --lines=25 {file}" if _WITHIN.fullmatch(file) and ".." not in file else None
