"""The one place that compares findings: merge, refute, cover, choose.

1. Findings that agree become one; a cause joins what it brings about on the same subject.
2. A finding is refuted only by a statement that cannot be so if it is. A refuted one names nobody.
3. Each explains some of the symptoms and leaves others over.
4. The one chosen is not refuted, leaves the fewest over, and rests on the best basis. Where that leaves two, the narrower
   one is taken if the other's subjects hold it; else both are suspects. No name, number or order of files decides.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import permutations

import msgspec
from msgspec.structs import replace

from forensics.case import Case
from forensics.model.causes import CAUSES
from forensics.model.finding import Finding
from forensics.model.names import Kind, Reason, Severity, SymptomKind
from forensics.model.said import joined
from forensics.verdict.judged.explain import Explainer
from forensics.verdict.judged.observers import BASES, Basis, Observers
from forensics.verdict.judged.refute import refuted_by
from forensics.verdict.judged.symptoms import Symptom, counted, symptoms
from forensics.words import verdict as words

_COUNTED: Sequence[SymptomKind] = ("waiting", "ended", "bad_value", "never_started", "slow")
_SEVERITIES: Sequence[Severity | None] = ("fatal", "severe", None, "minor")
_NAMELESS: Sequence[Basis] = ("coincidence", "hint")
Key = tuple[bool, int, int, int, int]
About = Callable[[Finding], SymptomKind | None]


class Candidate(msgspec.Struct, frozen=True):
    """A finding with all that it is weighed by. `detectors`: who found it."""

    finding: Finding
    kind: Kind
    explained: frozenset[Symptom]
    left_over: tuple[Symptom, ...]
    basis: Basis
    refuted_by: str | None
    detectors: tuple[str, ...]

    @property
    def key(self) -> Key:
        """Smaller is better: refuted, vague, left over, whether it explains anything, basis. Vague: it gives no cause and
        names nobody, or it explains no wait though there are some, or it tells who is slow in a job that ended badly."""
        waits = {one.kind == "waiting" for one in self.explained}
        told = self.finding.cause is not None or bool(self.finding.ranks)
        vague = not told or (True not in waits and any(one.kind == "waiting" for one in self.left_over))
        vague |= self.kind == "slow" and any(one.kind != "slow" for one in (*self.explained, *self.left_over))
        known = 0 if self.explained else 1
        return (self.refuted_by is not None, int(vague), counted(self.left_over), known, BASES.index(self.basis))


class Choice(msgspec.Struct, frozen=True):
    """Candidates of one attempt, the best first; `best` None where nothing explains what is to be explained."""

    best: Candidate | None
    candidates: tuple[Candidate, ...]
    symptoms: tuple[Symptom, ...]
    observers: Observers


def arbitrate(case: Case, findings: Sequence[Finding], about: About) -> Choice:
    """Findings of all detectors → the candidates, weighed. `about`: the question that a finding's detector asks."""
    observers = Observers(case, findings)
    findings = sorted(findings, key=lambda one: _precedence(one, observers))
    shown = symptoms(case, findings, observers, about)
    explainer = Explainer(case, observers)

    def weighed(found: tuple[Finding, tuple[str, ...]]) -> Candidate:
        finding, detectors = found
        asked = about(finding)
        explained = frozenset(one for one in shown if asked is not None and explainer.explains(finding, one))
        explained |= {one for one in shown if one.kind == asked == "slow"}
        if asked == "slow":  # who is slow did start
            explained = frozenset(one for one in explained if one.kind != "never_started")
        basis = observers.basis(finding)
        left = tuple(one for one in shown if one not in explained and one.kind in _COUNTED)
        if basis in ("own_record", "graph") and any(one.kind == "waiting" for one in explained):
            left = tuple(one for one in left if not explainer.leads_to_lost(one))
        kind = kind_of(case, finding, explained, asked)
        return Candidate(finding, kind, explained, left, basis, refuted_by(case, finding, kind), detectors)

    merged = _complementary(_joined(_located(case, _pooled(findings))), explainer, shown, observers)
    ordered = sorted(map(weighed, merged), key=lambda one: one.key)
    standing = [one for one in ordered if one.refuted_by is None]
    best = _decided(case, standing) if standing else None
    if best is not None and shown and not best.explained and best.finding.is_named:
        best = _disarmed(best)
    if best is not None:
        best = _with_rivals(best, standing)
    rest = [one for one in ordered if best is None or one.finding.summary != best.finding.summary]
    return Choice(best, (*([best] if best else []), *rest), shown, observers)


def kind_of(case: Case, finding: Finding, explained: frozenset[Symptom], about: SymptomKind | None) -> Kind:
    """Contract, rule 2: what ended the attempt. One cause may stand for several kinds."""
    kinds = {one.kind for one in explained}
    possible: tuple[Kind, ...] = CAUSES[finding.cause].kinds if finding.cause is not None else ()
    if len(possible) == 1:
        return possible[0]
    asked: dict[SymptomKind, Kind] = {
        "waiting": "hang", "ended": "crash", "bad_value": "numerics", "slow": "slow", "never_started": "launch",
    }  # fmt: skip
    if not possible:
        return asked[about] if about is not None else "unknown"
    died = any(rank in case.ends and case.ends[rank].how == "died" for rank in finding.subjects)
    if about == "never_started" and not case.has_begun and "launch" in possible and not (died and "crash" in possible):
        return "launch"  # whoever waits, waits for the start
    if "waiting" in kinds and "hang" in possible and not (died and "crash" in possible):
        return "hang"
    if about == "never_started" and "launch" in possible and "ended" not in kinds:
        return "launch"
    if about == "bad_value" and "numerics" in possible:
        return "numerics"
    return "crash" if "crash" in possible else possible[0]


def _precedence(finding: Finding, observers: Observers) -> tuple[object, ...]:
    """In which order findings are put together, whatever the order in which detectors were asked: those that say more, on better grounds,
    lead those that agree with them."""
    place = finding.first_anomaly
    says = (
        finding.cause is None,
        not finding.is_named,
        BASES.index(observers.basis(finding)),
        [place.module, place.op, place.tensor].count(None),
        _SEVERITIES.index(finding.severity),
        finding.code is None,
        place.step is None,
    )
    return (*says, -len(finding.claims), finding.detector, str(finding.summary))


# --- merge -----------------------------------------------------------------------------------------------------------

Merged = tuple[Finding, tuple[str, ...]]


def _pooled(findings: Sequence[Finding]) -> list[Merged]:
    """One cause, the same subjects: the claims are pooled. Agreement is never rivalry."""
    found: dict[tuple[object, ...], Merged] = {}
    for one in findings:
        who = (one.cause, one.subjects, one.places if not one.subjects else frozenset(), one.is_named, one.severity)
        known = found.get(who) if one.subjects or one.places else None
        key = who if one.subjects or one.places else (id(one),)
        found[key] = _with_claims(known, one) if known is not None else (one, (one.detector,))
    return list(found.values())


def _with_claims(known: Merged, more: Finding) -> Merged:
    first, detectors = known
    claims = tuple(dict.fromkeys((*first.claims, *more.claims)))
    reasons = tuple(reason for reason in first.undecided if reason in more.undecided)
    if more.undecided and not reasons:
        reasons = first.undecided  # each doubts for a reason of its own: agreement settles neither
    pooled = replace(
        first, claims=claims, undecided=reasons, hosts=first.hosts or more.hosts, devices=first.devices or more.devices,
        site=first.site or more.site, code=first.code or more.code,
        blast_radius=max(first.blast_radius, more.blast_radius, key=lambda one: one.ranks_waiting),
        actions=tuple(dict.fromkeys((*first.actions, *more.actions))),
    )  # fmt: skip
    return pooled, (*detectors, more.detector)


def _located(case: Case, merged: list[Merged]) -> list[Merged]:
    """A cause on one host joins an undecided wait whose every suspect runs there: time and place are a reason only where
    the place holds every possible root."""
    place = case.host_of_rank
    result = list(merged)
    for cause, detectors in merged:
        if cause.cause is None or cause.subjects or len(cause.places) != 1:
            continue
        if CAUSES[cause.cause].holds not in ("device", "link", "process"):
            continue
        for effect, more in merged:
            waits = effect.cause is None and not effect.is_named and effect.suspect_ranks
            if not waits or {place.get(rank) for rank in effect.suspect_ranks} != cause.places:
                continue
            if (cause, detectors) in result and (effect, more) in result:
                whole = replace(
                    cause, detector=effect.detector, suspect_ranks=effect.suspect_ranks, claims=(*cause.claims, *effect.claims), undecided=(),
                    first_anomaly=effect.first_anomaly, blast_radius=effect.blast_radius,
                    collect=(*cause.collect, *effect.collect), summary=joined((cause.summary, effect.summary), " "),
                )  # fmt: skip
                result[result.index((cause, detectors))] = (whole, (*detectors, *more))
                result.remove((effect, more))
    return result


def _joined(merged: list[Merged]) -> list[Merged]:
    """A cause that leads to another on the same subject joins it as the reason: who comes from the one, why from the
    other."""
    dropped: set[int] = set()
    result = list(merged)
    for at, (cause, detectors) in enumerate(result):
        for other, (effect, more) in enumerate(result):
            if other in dropped or at in dropped or not _leads(cause, effect):
                continue
            if set(cause.ranks) != set(effect.ranks):  # it is behind some of them
                result[at] = (_beside(cause, effect), tuple(dict.fromkeys((*more, *detectors))))
                dropped.add(other)
                break
            whole = replace(
                effect,
                detector=cause.detector, cause=cause.cause, claims=tuple(dict.fromkeys((*cause.claims, *effect.claims))),
                domain=cause.domain, hosts=cause.hosts or effect.hosts, devices=cause.devices or effect.devices,
                actions=tuple(dict.fromkeys((*cause.actions, *effect.actions))), code=cause.code or effect.code,
                severity=cause.severity, summary=joined((cause.summary, effect.summary), " ") if effect.is_named else cause.summary,
                first_anomaly=replace(effect.first_anomaly, signature=cause.first_anomaly.signature or effect.first_anomaly.signature),
                undecided=effect.undecided if not cause.is_named else cause.undecided,
            )  # fmt: skip
            cause, detectors = whole, tuple(dict.fromkeys((*detectors, *more)))
            result[at] = (cause, detectors)
            dropped.add(other)
    return [one for number, one in enumerate(result) if number not in dropped]


def _leads(cause: Finding, effect: Finding) -> bool:
    if cause.cause is None or effect.cause is None or effect.cause not in CAUSES[cause.cause].leads_to:
        return False
    return bool(cause.ranks) and set(cause.ranks) <= set(effect.ranks)


def _beside(cause: Finding, effect: Finding) -> Finding:
    """What is behind some of those whom the effect names, told beside it."""
    return replace(
        effect,
        claims=tuple(dict.fromkeys((*effect.claims, *cause.claims))),
        devices=tuple(dict.fromkeys((*effect.devices, *cause.devices))),
        actions=tuple(dict.fromkeys((*effect.actions, *cause.actions))),
        summary=joined((effect.summary, cause.summary), " "),
    )


def _complementary(
    merged: list[Merged], explainer: Explainer, shown: tuple[Symptom, ...], observers: Observers
) -> list[Merged]:
    """One cause, disjoint waits: one finding with all subjects, where each rests on a record."""

    def explained(finding: Finding) -> frozenset[Symptom]:
        return frozenset(one for one in shown if explainer.explains(finding, one))

    groups: dict[object, list[Merged]] = {}
    for found, detectors in merged:
        is_of_process = found.cause is not None and CAUSES[found.cause].holds == "process"
        is_sure = found.ranks and not found.undecided and observers.basis(found) not in _NAMELESS
        groups.setdefault(found.cause if is_of_process and is_sure else id(found), []).append((found, detectors))
    result: list[Merged] = []
    for listed in groups.values():
        covers = [explained(one) for one, _ in listed] if len(listed) > 1 else []
        apart = bool(covers) and all(one - other for one, other in permutations(covers, 2))
        result += [reduce(_both, listed)] if apart else listed
    return result


def _both(one: Merged, other: Merged) -> Merged:
    first, second = one[0], other[0]
    ranks = tuple(sorted({*first.ranks, *second.ranks}))
    claims = (*first.claims, *second.claims)
    whole = replace(first, ranks=ranks, claims=claims, summary=joined((first.summary, second.summary), " "))
    return whole, (*one[1], *other[1])


# --- choose ----------------------------------------------------------------------------------------------------------


def _decided(case: Case, standing: list[Candidate]) -> Candidate:
    """The best; of several alike, the narrowest if the others' subjects hold it, else all of them as suspects."""
    place = case.host_of_rank
    alike = [one for one in standing if one.key == standing[0].key]
    best = alike[0]
    for one in alike[1:]:
        best = _of_two(best, one)
    for one in standing:  # a broader statement on a better basis is narrowed by one that names whom it holds
        if one.key[:4] == best.key[:4] and one not in alike and (_narrows(one, best) or _places_it(one, best, place)):
            best = one
    return best if best.basis not in _NAMELESS or not best.finding.ranks else _as_suspects(best)


def _with_rivals(best: Candidate, standing: Sequence[Candidate]) -> Candidate:
    """What other records say of somebody else, of the same kind of trouble: printed beside it, never averaged."""
    named = set(best.finding.ranks)
    rivals = [
        one
        for one in standing
        if one is not best and one.kind == best.kind and one.basis not in _NAMELESS and one.finding.ranks and named
        and not set(one.finding.ranks) & named and not one.finding.undecided
        and one.explained & best.explained
    ]  # fmt: skip
    if not rivals:
        return best
    against = tuple(replace(claim, direction="against") for one in rivals for claim in one.finding.claims if claim.refs)
    others = [words.OTHER_RECORDS_SAY(summary=one.finding.summary) for one in rivals]
    reasons: tuple[Reason, ...] = tuple(dict.fromkeys((*best.finding.undecided, "conflicting_evidence")))
    finding = replace(
        best.finding,
        claims=(*best.finding.claims, *against),
        undecided=reasons,
        summary=joined((best.finding.summary, *others), " "),
    )
    return replace(best, finding=finding)


def _of_two(one: Candidate, other: Candidate) -> Candidate:
    if _narrows(one, other) or (one.finding.is_named and not _subjects(other)):
        return one
    if _narrows(other, one) or (other.finding.is_named and not _subjects(one)):
        return other
    if not (one.finding.is_named and other.finding.is_named):
        more = (other.finding.is_named, bool(_subjects(other))) > (one.finding.is_named, bool(_subjects(one)))
        return other if more else one
    if _subjects(one) <= _subjects(other):
        return one
    return other if _subjects(other) < _subjects(one) else _tied(one, other)


def _subjects(one: Candidate) -> frozenset[int | str]:
    return frozenset((*one.finding.subjects, *one.finding.places))


def _narrows(one: Candidate, other: Candidate) -> bool:
    """Does `one` name what is among the suspects of `other`?"""
    named = one.finding.ranks or one.finding.cycle
    return bool(named) and not other.finding.is_named and frozenset(named) <= other.finding.subjects


def _places_it(one: Candidate, other: Candidate, place: Mapping[int, str | None]) -> bool:
    """Does `one` name a host or a link on better grounds than time and place, where some suspect of `other` runs?"""
    held = {place.get(rank) for rank in other.finding.subjects}
    named = one.finding.places if one.finding.is_named and not one.finding.subjects else frozenset()
    return bool(named & held) and not other.finding.is_named and one.basis not in _NAMELESS


def _tied(one: Candidate, other: Candidate) -> Candidate:
    first, second = one.finding, other.finding
    same = first.cause == second.cause
    both = tuple(sorted({*first.subjects, *second.subjects}))
    hosts = tuple(sorted(first.places | second.places)) if not both else ()
    reasons: tuple[Reason, ...] = tuple(dict.fromkeys((*first.undecided, *second.undecided, "tied_explanations")))
    tied = replace(
        first, cause=first.cause if same else None, ranks=(), hosts=(), devices=(), links=(), cycle=(), site=None, code=None,
        suspect_ranks=both, suspect_hosts=hosts, undecided=reasons, claims=(*first.claims, *second.claims),
        collect=(*first.collect, *second.collect),
        summary=words.TWO_FIT(one=first.summary, other=second.summary),
    )  # fmt: skip
    return replace(one, finding=tied, detectors=(*one.detectors, *other.detectors))


def _as_suspects(one: Candidate) -> Candidate:
    """Time and place alone, or a hint, never name a rank."""
    finding = one.finding
    suspects = tuple(sorted({*finding.ranks, *finding.suspect_ranks}))
    return replace(one, finding=replace(finding, ranks=(), suspect_ranks=suspects, site=None, code=None))


def _disarmed(one: Candidate) -> Candidate:
    """It explains nothing of what is shown: it names nobody and proves nothing."""
    finding = replace(one.finding, ranks=(), hosts=(), devices=(), links=(), cycle=(), cause=None, site=None, code=None)
    return replace(one, finding=finding, kind="unknown")
