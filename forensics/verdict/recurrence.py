"""Hosts and devices that were accused before: in earlier attempts of the bundle, and in the incidents of a history.

Ranks are dealt out anew at every launch, so incidents are joined by host and device (UUID), never by rank number. Who was
accused before is more to be suspected if it is accused now; nobody is named, and no status rises, for what was before.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from forensics.model.commands import NOWHERE, Surroundings, drain_node
from forensics.model.incident import Action, Evidence, Incident
from forensics.model.past import Past, PastIncident, Thing
from forensics.verdict.accused import accused, suspected
from forensics.verdict.decide import carried_out, decide
from forensics.verdict.offenders import OF_THINGS, Offender, offenders
from forensics.verdict.signature import words_of

_EARLIER = 3  # incidents of the past that are listed
NO_PAST = Past()


def mark_repeats(
    incidents: Sequence[Incident],
    primary: int,
    ranks: int,
    hosts: Mapping[int, frozenset[str]] | None = None,
    arounds: Sequence[Surroundings] = (),
    past: Past = NO_PAST,
) -> list[Incident]:
    """Incidents in the order of their attempts → the same with what to do, the primary one with what was before it.

    `ranks`: size of the job, 0 where unknown. `hosts`: attempt → hosts of the job. `arounds`: what reaches the hosts of each
    incident. `past`: the history, without this bundle."""
    around = arounds[primary] if arounds else NOWHERE
    one = incidents[primary]
    before, ranks_then = _earlier(incidents, primary)
    again = sorted((accused(one) | suspected(one)) & before.keys())
    known = {(who.kind, who.name): who for who in offenders(past.incidents)}
    likely = {
        name for (kind, name), who in known.items() if kind == "host" and who.is_likely and (kind, name) in accused(one)
    }
    # Where the same ranks ran there each time, the fault may be theirs: their data, their part of the program.
    now, is_device = tuple(one.verdict.ranks), one.verdict.cause in OF_THINGS
    repeated = {name for kind, name in again if kind == "host" and (is_device or ranks_then[kind, name] - {now})}
    marked = [msgspec.structs.replace(each, decision=decide(each, ranks)) for each in incidents]
    decided = msgspec.structs.replace(one, decision=decide(one, ranks, repeated | likely))
    decided = _marked(decided, again, before, around)
    decided = _with_new_hosts(decided, hosts or {})
    marked[primary] = _with_past(decided, known, past)
    places = arounds or [NOWHERE] * len(incidents)
    return [carried_out(each, where) for each, where in zip(marked, places, strict=True)]


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


def _marked(
    incident: Incident, again: Sequence[Thing], before: Mapping[Thing, list[int]], around: Surroundings
) -> Incident:
    named = accused(incident)
    claims, actions = [], list(incident.actions)
    for kind, name in again:
        attempts = ", ".join(str(number) for number in sorted(set(before[kind, name])))
        word = "at fault" if (kind, name) in named else "suspected"
        claims.append(f"{kind} {name} was {word} in attempt {attempts} as well, whichever ranks ran there")
        if kind == "host" and (kind, name) in named:
            command = drain_node(name, "repeat_offender", around)
            actions.append(Action(kind="drain_node", target=name, command=command, reason=claims[-1]))
        elif kind == "host":
            reason = f"{claims[-1]}: a host that is suspected again and again should be taken out and tested"
            actions.append(Action(kind="inspect_hardware", target=name, command=None, reason=reason))
    return msgspec.structs.replace(with_claims(incident, claims), actions=actions)


def _with_new_hosts(incident: Incident, hosts: Mapping[int, frozenset[str]]) -> Incident:
    """What is known of the accused or suspected host as a member: new, or back again."""
    older = [hosts[number] for number in sorted(hosts) if number < incident.attempt and hosts[number]]
    claims = []
    for kind, name in sorted(accused(incident) | suspected(incident)):
        if kind != "host" or not older or name in older[-1]:
            continue
        was = any(name in there for there in older)
        claims.append(f"host {name} is {'back again' if was else 'new'} in attempt {incident.attempt}")
    return with_claims(incident, claims)


def _with_past(incident: Incident, known: Mapping[Thing, Offender], past: Past) -> Incident:
    """What the history says of those who are accused or suspected now."""
    claims = []
    for thing in sorted(accused(incident) | suspected(incident)):
        if thing in known:
            claims.append(_told(known[thing]))
        elif past.incidents and thing[0] == "host" and not any(thing[1] in one.hosts for one in past.incidents):
            claims.append(
                f"host {thing[1]} is new: it took part in no incident of the history ({len(past.incidents)} in all)"
            )
    same = [
        one
        for one in past.incidents
        if one.signature == words_of(incident.verdict) and incident.verdict.cause is not None
    ]
    if same:
        claims.append(f"the same signature came before: {_listed(same)}")
    return with_claims(incident, claims)


def _told(one: Offender) -> str:
    """ "host n7 was accused in 3 of the 5 earlier incidents …"."""
    chance = f"an innocent one would be in {one.expected:.2g}" + (f", chance {one.chance:.2g}" if one.is_likely else "")
    if not one.is_likely:
        chance += "; the same ranks ran there each time" if one.is_of_ranks and one.of > 1 else "; this may be chance"
    earlier = "1 earlier incident" if one.of == 1 else f"{one.of} earlier incidents"
    word = "suspected" if one.suspected == len(one.times) else "accused or suspected" if one.suspected else "accused"
    return f"{one.kind} {one.name} was {word} in {len(one.times)} of {earlier} of the history ({chance}): {_listed(one.times)}"


def _listed(incidents: Sequence[PastIncident]) -> str:
    shown = [f"{one.bundle}{f' ({one.time_utc[:10]})' if one.time_utc else ''}" for one in incidents[-_EARLIER:]]
    return ", ".join(shown) + (", …" if len(incidents) > _EARLIER else "")


def with_claims(incident: Incident, claims: Sequence[str]) -> Incident:
    """The incident with further evidence for it, that no line of the bundle shows."""
    first = len(incident.evidence) + 1
    rows = [
        Evidence(id=f"E{number}", claim=text, direction="for", refs=[]) for number, text in enumerate(claims, first)
    ]
    return msgspec.structs.replace(incident, evidence=[*incident.evidence, *rows])
