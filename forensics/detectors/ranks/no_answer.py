"""Which members did not answer NCCL's RAS?

One that RAS counts as dead is gone. That the data of one is missing may as well be a client that gave up too early, or a
process that is stopped: it is a suspect, no more.
"""

from typing import Any

from forensics.case import Case, Detector
from forensics.facts.rows.event_rows import Row, detail, is_missing, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly
from forensics.model.names import Reason
from forensics.model.said import sentence
from forensics.model.texts import listed, ranks_text
from forensics.words import ranks as words


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: dead members, else silent ones."""
    found = [row for row in rows(case.events, "missing_members") if is_missing(row)]
    dead = [row for row in found if detail(row).get("dead")]
    if dead:
        return (_finding(case, dead, True),)
    return (_finding(case, found, False),) if found else ()


def _ranks(case: Case, found: list[dict[str, Any]], dead: bool) -> tuple[int, ...] | None:
    """Global ranks that every list agrees on; None where one of them cannot be mapped."""
    lists = []
    for row in found:
        numbers = _numbers(row, dead)
        known = case.memberships.to_global(row, numbers)
        if known is None:
            return None
        lists.append(set(known.values()))
    return tuple(sorted(set.union(*lists) if dead else set.intersection(*lists)))


def _numbers(row: Row, dead: bool) -> list[int]:
    return list(detail(row)["dead"] if dead else row["names_ranks"] or ())


def _finding(case: Case, found: list[dict[str, Any]], dead: bool) -> Finding:
    mapped = [row for row in found if row["names_rank_space"] == "global"]
    ranks = _ranks(case, mapped or found, dead)
    numbers = sorted({number for row in found for number in _numbers(row, dead)})
    who = ranks_text(ranks) if ranks else words.OF_A_COMMUNICATOR(numbers=listed(numbers))
    text = (words.DEAD_BY_RAS if dead else words.SILENT_BY_RAS)(who=who)
    undecided: list[Reason] = ["membership_unknown"] if ranks is None else [] if dead else ["culprit_among_missing"]
    if not case.has_waited:
        undecided.append("single_snapshot")
    return Finding(
        cause="rank_died" if dead and ranks else None,
        ranks=(ranks or ()) if dead else (),
        suspect_ranks=() if dead else ranks or (),
        undecided=tuple(undecided),
        claims=(Claim(text, "for", refs(found)),),
        first_anomaly=FirstAnomaly(
            rank=ranks[0] if dead and ranks else None,
            step=case.step_in_progress(),
            group=found[0]["group"],
            signature="ras:no_answer",
        ),
        collect=(words.LOG_AND_STACK(who=who),),
        summary=sentence(text),
    )


DETECTOR = Detector("no_answer", ("events",), detect, "waiting")
