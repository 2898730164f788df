"""Which process of the job does its host show held, alone of its kind, while the job stands still?

Stopped by a signal, held by a tracer in each look, asleep in the kernel's function of a lock or of storage, or dead (facts/waits/held_alone.py): nothing that it is
waited for can come. Its rank may be told by nobody; then its host is named, and its pid said. Where it was dead before any other ended, they wait for it.
"""

from forensics.case import Case, Detector
from forensics.facts.waits.courses import behind
from forensics.facts.waits.held_alone import HeldAlone, held_alone
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.said import Said, joined, sentence
from forensics.model.texts import ranks_text
from forensics.words import courses as words


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no operation is recorded as open."""
    # Then it is one of those who have not come.
    is_start = case.tables["files"]["rank"].is_not_null().any() and not case.has_begun
    if case.states.open.height or case.ended_well or is_start:
        return ()
    # Who gave up a wait itself had come: it sleeps in what it writes since.
    held = [one for one in held_alone(case.tables) if one.rank not in case.waited_ranks]
    if not held or len({one.how for one in held}) > 1:
        return ()
    first = held[0]
    stood = case.hung or bool(case.time_witness.stood)
    # Who sleeps in the kernel at one look may go on at the next.
    if not stood and (first.how in ("blocked", "gone") or case.time_witness.went_on):
        return ()
    ranks = tuple(sorted(one.rank for one in held if one.rank is not None))
    whole = len(ranks) == len(held)
    late = behind(case.tables["files"])
    if late is not None and whole and not {*late.ranks} & {*ranks}:
        return ()  # another one is behind in what all print: which of them is waited for, is open
    hosts = tuple(sorted({one.host for one in held if one.host}))
    claims = tuple(
        Claim(words.HOLDS[one.site if one.how == "blocked" else one.how](who=_who(one)), "for", one.refs)
        for one in held
    )
    alone = words.GONE_ALONE if first.how == "gone" else words.HELD_ALONE
    text = alone(held=joined([claim.text for claim in claims], "; "), others=words.OTHERS(first.others))
    return (
        Finding(
            cause="rank_died" if first.how in ("dead", "gone") else "rank_absent",
            ranks=ranks if whole else (),
            hosts=() if whole else hosts,
            site=None if first.how in ("dead", "gone") else first.site,
            claims=claims,
            undecided=() if stood else ("single_snapshot",),
            first_anomaly=FirstAnomaly(
                rank=ranks[0] if whole and len(ranks) == 1 else None,
                host=hosts[0] if len(hosts) == 1 else None,
                step=case.step_in_progress(ranks[0] if whole else None),
                signature=f"held:{first.how}",
            ),
            blast_radius=BlastRadius(ranks_waiting=first.others),
            summary=sentence(text),
        ),
    )


def _who(one: HeldAlone) -> Said:
    if one.rank is not None:
        return ranks_text([one.rank])
    return words.PROCESS_ON(pid=one.pid, host=one.host or words.UNNAMED_HOST)


DETECTOR = Detector("held_process", ("stacks",), detect, "waiting")
