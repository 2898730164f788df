"""Hosts and devices that were accused before: in earlier attempts of the bundle, and in the incidents of a history.

Ranks are dealt out anew at every launch, so incidents are joined by host and device (UUID), never by rank number. Who was
accused before is more to be suspected if it is accused now; nobody is named, and no status rises, for what was before.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from forensics.model.causes import CAUSES
from forensics.model.commands import NOWHERE, Surroundings, device, drain_node
from forensics.model.incident import Action, EnvironmentRow, Evidence, Incident
from forensics.model.past import Past, PastIncident, Thing
from forensics.model.said import Said, capital, inside, joined, unlabelled
from forensics.model.texts import ranks_text
from forensics.verdict.advice.decide import carried_out, decide
from forensics.verdict.past.accused import accused, suspected
from forensics.verdict.past.changed_settings import with_changes
from forensics.verdict.past.offenders import OF_THINGS, Offender, offenders
from forensics.verdict.past.signature import words_of
from forensics.words import advice
from forensics.words import recurrence as words

_EARLIER = 3  # incidents of the past that are listed
NO_PAST = Past()


def mark_repeats(
    incidents: Sequence[Incident],
    primary: int,
    ranks: int,
    hosts: Mapping[int, frozenset[str]] | None = None,
    arounds: Sequence[Surroundings] = (),
    past: Past = NO_PAST,
    changed: Sequence[EnvironmentRow] = (),
) -> list[Incident]:
    """Incidents in the order of their attempts → the same with what to do, the primary one with what was before it.

    `ranks`: size of the job, 0 where unknown. `hosts`: attempt → hosts of the job. `arounds`: what reaches the hosts of each
    incident. `past`: the history, without this bundle. `changed`: settings that differ
    between the last two attempts."""
    around = arounds[primary] if arounds else NOWHERE
    one = incidents[primary]
    before, ranks_then = _earlier(incidents, primary)
    again = sorted((accused(one) | suspected(one)) & before.keys())
    known = {(who.kind, who.name): who for who in offenders(past.incidents)}
    accused_now = {name for kind, name in accused(one) if kind == "host"}
    likely = {name for name in accused_now if ("host", name) in known and known["host", name].is_likely}
    # Where the same ranks ran there each time, the fault may be theirs: their data, their part of the program.
    now, is_device = tuple(one.verdict.ranks), one.verdict.cause in OF_THINGS
    repeated = {name for kind, name in again if kind == "host" and (is_device or ranks_then[kind, name] - {now})}
    marked = [replace(each, decision=decide(each, ranks)) for each in incidents]
    decided = replace(one, decision=decide(one, ranks, repeated | likely, _in_a_row(incidents, primary)))
    decided = _marked(decided, again, before, around)
    decided = _with_new_hosts(decided, hosts or {})
    decided = with_changes(decided, [each for each in incidents if each.attempt < one.attempt], changed)
    marked[primary] = _with_failures_before(_with_past(decided, known, past), incidents[:primary])
    places = arounds or [NOWHERE] * len(incidents)
    return [carried_out(each, where) for each, where in zip(marked, places, strict=True)]


def _in_a_row(incidents: Sequence[Incident], primary: int) -> int:
    """How often the attempts before ended in the same way, one after the other: the same cause at the same ranks."""
    one, times = incidents[primary], 1
    by_attempt = {each.attempt: each for each in incidents if each.attempt < one.attempt}
    while (before := by_attempt.get(one.attempt - times)) is not None and _is_same(before, one):
        times += 1
    return times


def _is_same(one: Incident, other: Incident) -> bool:
    """Whichever operation it met: it stood at the same place for the same cause."""
    ends = [(each.kind, each.cause, each.site, each.ranks, each.hosts) for each in (one.verdict, other.verdict)]
    return ends[0] == ends[1] and one.verdict.cause is not None


def _earlier(
    incidents: Sequence[Incident], primary: int
) -> tuple[dict[Thing, list[int]], dict[Thing, set[tuple[int, ...]]]]:
    """(thing → attempts before the primary one's that accuse it, or suspect it alone; thing → the ranks accused then)."""
    before: dict[Thing, list[int]] = defaultdict(list)
    ranks_then: dict[Thing, set[tuple[int, ...]]] = defaultdict(set)
    for incident in incidents:
        if incident.attempt < incidents[primary].attempt:
            for thing in accused(incident) | suspected(incident):
                before[thing].append(incident.attempt)
            for thing in accused(incident):
                ranks_then[thing].add(tuple(incident.verdict.ranks))
    return before, ranks_then


def _with_failures_before(incident: Incident, before: Sequence[Incident]) -> Incident:
    """Of a run that ended well, which attempts of it did not: "no fault" would be said of the newest alone."""
    earlier = [one for one in before if one.attempt < incident.attempt]
    failed = [one for one in earlier if one.verdict.kind not in ("healthy", "unknown")]
    if incident.verdict.kind != "healthy" or not failed:
        return incident
    first = {one.attempt: one for one in reversed(failed)}
    told = joined((_failure(first[attempt]) for attempt in sorted(first)[:_EARLIER]), ", ")
    summary = words.ENDED_WELL_AFTER(before=told, summary=inside(incident.verdict.summary))
    return replace(incident, verdict=replace(incident.verdict, summary=summary))


def _failure(one: Incident) -> Said:
    """ "attempt 0 failed (never entered the collective: rank 2)"."""
    verdict = one.verdict
    what = CAUSES[verdict.cause].title if verdict.cause is not None else words.NO_CAUSE_KNOWN
    who = ranks_text(verdict.ranks) if verdict.ranks else joined(verdict.hosts[:_EARLIER], ", ")
    form = words.ATTEMPT_FAILED_OF if who else words.ATTEMPT_FAILED
    return form(attempt=one.attempt, what=what, who=who)


def _marked(
    incident: Incident, again: Sequence[Thing], before: Mapping[Thing, list[int]], around: Surroundings
) -> Incident:
    named = accused(incident)
    claims, actions = [], list(incident.actions)
    for kind, name in again:
        attempts = joined(map(str, sorted(set(before[kind, name]))), ", ")
        what = words.AT_FAULT if (kind, name) in named else words.SUSPECTED
        claims.append(words.WAS_BEFORE(thing=words.THING[kind], name=name, what=what, attempts=attempts))
        if kind == "host" and (kind, name) in named:
            command = drain_node(name, "repeat_offender", around)
            actions.append(Action(kind="drain_node", target=name, command=command, reason=claims[-1]))
        elif kind == "host":
            reason = words.TAKE_OUT_AND_TEST(before=claims[-1])
            command = device(name, None, around)
            test = Action(kind="inspect_hardware", target=name, command=command, reason=reason)
            actions.insert(0, replace(test, look=advice.LOOK_AT_RECURRENT, then=advice.THEN_OF_RECURRENT))
    told = with_claims(incident, claims)
    if claims and not named:  # nobody is named now: then who comes back is the most that is known
        summary = words.AND_BEFORE(before=capital(claims[0]), summary=inside(unlabelled(incident.verdict.summary)))
        told = replace(told, verdict=replace(told.verdict, summary=summary))
    return replace(told, actions=actions)


def _with_new_hosts(incident: Incident, hosts: Mapping[int, frozenset[str]]) -> Incident:
    """What is known of the accused or suspected host as a member: new, or back again."""
    older = [hosts[number] for number in sorted(hosts) if number < incident.attempt and hosts[number]]
    claims = []
    for kind, name in sorted(accused(incident) | suspected(incident)):
        if kind != "host" or not older or name in older[-1]:
            continue
        what = words.BACK_AGAIN if any(name in there for there in older) else words.NEW
        claims.append(words.IS_MEMBER(name=name, what=what, attempt=incident.attempt))
    return with_claims(incident, claims)


def _with_past(incident: Incident, known: Mapping[Thing, Offender], past: Past) -> Incident:
    """What the history says of those who are accused or suspected now."""
    claims = []
    for thing in sorted(accused(incident) | suspected(incident)):
        if thing in known:
            claims.append(_told(known[thing]))
        elif past.incidents and thing[0] == "host" and not any(thing[1] in one.hosts for one in past.incidents):
            claims.append(words.NEW_TO_HISTORY(name=thing[1], number=len(past.incidents)))
    signature = words_of(incident.verdict) if incident.verdict.cause is not None else None
    if same := [one for one in past.incidents if one.signature == signature]:
        claims.append(words.SAME_SIGNATURE(incidents=_listed(same)))
    return with_claims(incident, claims)


def _told(one: Offender) -> Said:
    """ "host n7 was accused in 3 of the 5 earlier incidents …"."""
    expected = words.INNOCENT_WOULD_BE(expected=f"{one.expected:.2g}")
    form = words.SAME_RANKS if one.is_of_ranks and one.of > 1 else words.MAY_BE_CHANCE
    form = words.WITH_CHANCE if one.is_likely else form
    what = words.ACCUSED_OR_SUSPECTED if one.suspected else words.ACCUSED
    what = words.WAS_SUSPECTED if one.suspected == len(one.times) else what
    earlier = words.ONE_EARLIER if one.of == 1 else words.EARLIER(number=one.of)
    return words.IN_HISTORY(
        thing=words.THING[one.kind], name=one.name, what=what, times=len(one.times), earlier=earlier,
        chance=form(expected=expected, chance=f"{one.chance:.2g}"), incidents=_listed(one.times),
    )  # fmt: skip


def _listed(incidents: Sequence[PastIncident]) -> Said:
    shown = [f"{one.bundle}{f' ({one.time_utc[:10]})' if one.time_utc else ''}" for one in incidents[-_EARLIER:]]
    return joined((*shown, *(("…",) if len(incidents) > _EARLIER else ())), ", ")


def with_claims(incident: Incident, claims: Sequence[str]) -> Incident:
    """The incident with further evidence for it, that no line of the bundle shows."""
    numbered = enumerate(claims, len(incident.evidence) + 1)
    rows = [Evidence(id=f"E{number}", claim=text, direction="for", refs=[]) for number, text in numbered]
    return replace(incident, evidence=[*incident.evidence, *rows])
