"""Choice → the incidents of an attempt: verdict, proof, what was weighed, what to do."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec
import polars as pl
from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.durations.phase_times import are_of_kernels
from forensics.facts.hosts.link_sorts import link_sort
from forensics.facts.waits.held_processes import held_processes
from forensics.facts.waits.rank_stacks import stack_ref
from forensics.model import incident as shape
from forensics.model.causes import CAUSES
from forensics.model.commands import Surroundings, drain_node
from forensics.model.drawn import Views
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import (
    Action,
    Alternative,
    Coordinates,
    Device,
    Evidence,
    FindingRow,
    FirstAnomaly,
    Incident,
    Place,
    PlaceDevice,
    Suspects,
    SymptomRow,
    Verdict,
)
from forensics.model.names import Kind, Reason
from forensics.model.said import Said, clause, joined, unlabelled
from forensics.model.texts import UNNAMED_GROUP, cut_middle, head_of, ranges, ranks_text
from forensics.verdict.advice.actions import Known, actions_of
from forensics.verdict.judged.arbitrate import About, Candidate, Choice, arbitrate
from forensics.verdict.judged.health import healthy, of_another
from forensics.verdict.judged.observers import Observers
from forensics.verdict.judged.rule_of_time import timed
from forensics.verdict.judged.status import status_of
from forensics.verdict.judged.symptoms import NO_FAILURES, SHOWN, UNEVEN_CALLS, Symptom, counted
from forensics.verdict.told.alone import with_said_alone
from forensics.verdict.told.beside import beside, with_setting_of_forks
from forensics.verdict.told.called_at import with_call
from forensics.verdict.told.checked import checked, of_no_form
from forensics.verdict.told.complaints import complaints, hints, lost_devices, repeated, told_by_drivers, warned
from forensics.verdict.told.counterfactual import counterfactual
from forensics.verdict.told.gone import gone, has_ended, may_be_left
from forensics.verdict.told.no_process import no_process
from forensics.verdict.told.of_program import with_errors_of_program, with_lost_devices
from forensics.verdict.told.price import named, price
from forensics.verdict.told.settings import with_settings
from forensics.verdict.told.shared_host import with_shared_host
from forensics.verdict.told.storage import with_file_server, with_store
from forensics.verdict.told.uneven_counts import with_counts
from forensics.verdict.told.worker_stacks import with_workers
from forensics.words import verdict as words

_PLACES, _WEIGHED, _HOSTS, _WORDS = 64, 20, 8, 200
_QUIET: tuple[Kind, ...] = ("healthy", "unknown")
# What is told beside a finding, in the order in which it is added.
_BESIDE: tuple[Callable[[Case, Finding], Finding], ...] = (
    with_settings, with_file_server, with_store, with_counts, with_workers, with_call, with_setting_of_forks, with_shared_host,
    with_said_alone,
)  # fmt: skip


class Conclusion(msgspec.Struct, frozen=True):
    """What an attempt comes to: the candidate of each incident, the one that ended the attempt first."""

    chosen: tuple[Candidate, ...]
    choice: Choice


def choose(case: Case, findings: Sequence[Finding], about: About) -> Conclusion:
    """Case and findings → the candidates that become incidents."""
    choice = arbitrate(case, findings, about)
    best = choice.best
    serious = [one for one in choice.symptoms if one.kind != "slow" or best is None or one in best.explained]
    if best is not None and (best.explained or (serious and best.kind != "unknown")):
        chosen = [timed(case, one) for one in (best, *_further(case, best, choice))]
        return Conclusion(tuple(chosen), choice)
    of_values = best.finding.actions if best is not None and best.kind == "numerics" else ()
    is_odd = any(one.kind == "inspect_hardware" for one in of_values)
    # What went by itself is told of a run that ended well only where no arithmetic gives it: a scale that overflows is usual.
    well = healthy(case)
    if well is not None and not is_odd and all(of_another(case, one.ranks, one.refs) for one in serious):
        return Conclusion((_bare(well, "healthy"),), replace(choice, observers=Observers(case, [well])))
    if best is not None and (
        # Where no rank is known, who killed a process tells of its end alone.
        (best.finding.cause == "host_oom" and not (choice.symptoms or case.seen))
        # A device of the job that is gone, where words that no rule knows say that it stood still.
        or (not serious and best.finding.cause == "gpu_fault" and best.finding.is_named)
        or (not serious and best.kind == "numerics")  # a minor event is all there is
        or (best.kind == "hang" and not (choice.symptoms or complaints(case)))  # nobody is shown to wait
    ):
        return Conclusion((timed(case, best),), choice)
    return Conclusion((_bare(_unknown(case, best, choice), "unknown"),), choice)


def conclude(case: Case, conclusion: Conclusion, views: Callable[[Finding], Views]) -> list[Incident]:
    """The incidents of this attempt, the one that ended it first."""
    return [_incident(case, one, conclusion, views) for one in conclusion.chosen]


def _bare(finding: Finding, kind: Kind) -> Candidate:
    return Candidate(finding, kind, frozenset(), (), "others_record", None, (finding.detector,))


def _unknown(case: Case, best: Candidate | None, choice: Choice) -> Finding:
    lost = lost_devices(case)
    at = {claim.refs[0] for claim, _ in lost}
    said = [*(claim for claim, _ in lost), *(one for one in complaints(case) if one.refs[0] not in at)]
    refuted = [one for one in choice.candidates if one.refuted_by is not None]
    hint = best.finding if best is not None and best.kind == "unknown" and not best.finding.is_named else None
    # Whatever there is of every rank, and the kernel logs of the hosts that are known.
    collect = words.ALL_RECORDS(hosts=head_of(sorted(case.job_hosts), _HOSTS) or words.ALL_HOSTS)
    drivers = [] if lost or any(one.refs for one in choice.symptoms) else told_by_drivers(case)
    if drivers:
        lines = {(row["file"], row["line"]): at for at, one in enumerate(drivers) for row in one.rows}
        said = sorted(said, key=lambda one: lines.get((one.refs[0].file, one.refs[0].line), len(drivers)))
        summary = words.DRIVER_TOLD(what=joined([one.said for one in drivers[:_HOSTS]], ", "))
    elif said:
        form = words.ONE_LINE_UNEXPLAINED if len(said) == 1 else words.LINES_UNEXPLAINED
        summary = form(number=len(said), line=said[0].text)
    elif wrong := [one for one in choice.symptoms if one.key not in NO_FAILURES]:
        said = _shown(wrong)
        summary = words.WENT_WRONG_HERE(line=said[0].text) if said else _of_counts(case, wrong)
    elif said := hints(case):
        summary = words.HINT_OF_FAILURE(line=said[0].text)
    elif said := warned(case):
        summary = words.ONLY_WARNINGS(line=said[0].text)
        collect = words.IF_IT_STANDS(what=collect)
    elif (nobody := no_process(case)) is not None:
        summary, collect = nobody
    else:
        summary, said = _of_stacks(case, choice.symptoms)
        collect = words.IF_IT_STANDS(what=collect)
    base = hint if hint is not None and not said else Finding(detector="verdict", summary=summary, collect=(collect,))
    base = replace(base, actions=(*base.actions, *(action for _, action in lost), *repeated(case, drivers)))
    reason: Reason = "conflicting_evidence" if refuted and not said else "nothing_found"
    return replace(base, undecided=(*base.undecided, reason), claims=(*base.claims, *said))


def _nothing(case: Case) -> Said:
    """That nothing shows a failure is said of lines that somebody has read."""
    _, lines, unknown = of_no_form(case)
    return words.NOTHING_KNOWN(unknown=f"{unknown:,}", lines=f"{lines:,}") if unknown else words.NOTHING_SHOWN


def _of_counts(case: Case, symptoms: Sequence[Symptom]) -> Said:
    """Whose records end before those of most others, where that is all there is: it may stand there, or was asked earlier."""
    ahead = frozenset[int]().union(*(one.ranks for one in symptoms))
    behind = case.seen - ahead
    if {one.key for one in symptoms} != {UNEVEN_CALLS} or not 0 < 2 * len(behind) <= len(ahead):
        return words.WENT_WRONG
    return words.FEWER_CALLS(behind=ranks_text(sorted(behind)), ahead=ranks_text(sorted(ahead)))


def _of_stacks(case: Case, waits: Sequence[Symptom]) -> tuple[Said, list[Claim]]:
    """Where no line tells anything: what stacks show, which stand in waits while a job runs, too."""
    if said := _waiters(case):
        return words.NOTHING_BUT_WAITERS(waiters=said[0].text), said
    said = _shown(waits)
    return (words.STACKS_WAIT if said else _nothing(case)), said


def _waiters(case: Case) -> list[Claim]:
    """Of stacks that all wait for other processes, that they do: whoever they wait for left none, and is to be looked at."""
    live = case.stacks.filter(pl.col("source") != "traceback") if case.stacks.height else case.stacks
    if not live.height or live.filter(pl.col("site") != "communication").height:
        return []
    ops = live["op"].drop_nulls().unique().sort().to_list()
    text = words.ONLY_WAITERS(stacks=words.STACKS_THERE(live.height), ops=head_of(ops, 3) or words.COMMUNICATION)
    return [Claim(text, "for", tuple(stack_ref(row) for row in live.head(3).iter_rows(named=True)))]


def _shown(symptoms: Sequence[Symptom]) -> list[Claim]:
    """The lines behind the symptoms, each once."""
    refs = {(ref.file, ref.line): ref for one in symptoms for ref in one.refs if ref.text}
    return [Claim(cut_middle(" ".join(ref.text.split()), _WORDS), "for", (ref,)) for ref in refs.values()]


def _devices(finding: Finding) -> list[Device]:
    """Each device once: drivers print the function of a PCI address or leave it out."""
    found: dict[tuple[str | None, str | int | None], Device] = {}
    for one in finding.devices:
        key = (one.host, one.pci.removesuffix(".0") if one.pci else one.uuid or one.index)
        known = found.get(key, one)
        found[key] = Device(
            host=one.host,
            pci=max(known.pci or "", one.pci or "", key=len) or None,
            index=known.index if known.index is not None else one.index,
            uuid=known.uuid or one.uuid,
        )
    return list(found.values())


def _further(case: Case, best: Candidate, choice: Choice) -> tuple[Candidate, ...]:
    """Other incidents of the attempt, each of another cause and on a record: with a symptom that those before leave over, or of others
    whom they do not explain, as they did not wait for anybody and had not ended."""
    found: list[Candidate] = []
    left, causes, subjects = set(best.left_over), {None, best.finding.cause}, set(best.finding.subjects)
    undecided = frozenset(best.finding.suspect_ranks) - frozenset(best.finding.ranks)
    for one in choice.candidates[1:]:
        own = {symptom for symptom in one.explained & left if symptom.kind in ("waiting", "ended", "bad_value", "slow")}
        sure = one.refuted_by is None and one.basis in ("own_record", "graph", "others_record")
        told = one.finding.is_named or one.finding.over_step is not None or one.kind == "numerics"
        apart = bool(subjects) and not subjects & one.finding.subjects and _is_of_its_own(case, one)
        told &= not undecided & frozenset(one.finding.ranks)  # it was weighed against the best, and neither stands
        if ((own and told) or apart) and sure and one.finding.cause not in causes:
            found.append(one)
            left -= own
            subjects |= one.finding.subjects
            causes.add(one.finding.cause)
    return tuple(found)


def _is_of_its_own(case: Case, one: Candidate) -> bool:
    """Do a record of its device, or a stack, show these ranks held up while others waited for them, whatever else went wrong?"""
    finding = one.finding
    is_shown = bool(finding.ranks) and not finding.undecided and bool(finding.site or finding.devices)
    is_proven = one.basis in ("own_record", "graph") and bool(one.explained)
    return is_shown and is_proven and not finding.subjects & case.ends.keys()


def _with_all(case: Case, one: Candidate) -> Finding:
    """The finding with what else is told of whom it is about; who is named, and how surely, is settled before."""
    finding = with_errors_of_program(case, with_lost_devices(case, one.finding, one.kind), one.kind)
    for told in _BESIDE:
        finding = told(case, finding)
    return finding


def _says_the_same(one: Candidate, other: Candidate) -> bool:
    """Of the one itself, too, as it was before witnesses of time were asked (`timed`)."""
    own, told = one.finding, other.finding
    is_before = one.detectors == other.detectors and own.claims[: len(told.claims)] == told.claims
    return is_before or own.summary == told.summary


def _incident(case: Case, one: Candidate, conclusion: Conclusion, views: Callable[[Finding], Views]) -> Incident:
    finding, choice = _with_all(case, one), conclusion.choice
    told = status_of(one, choice.observers)
    rivals = [other for other in choice.candidates if not _says_the_same(one, other)]
    named_ranks = () if finding.cause is not None and CAUSES[finding.cause].hits_anybody else finding.ranks
    verdict = Verdict(
        kind=one.kind,
        cause=finding.cause,
        status=told.status,
        status_rule=told.rule,
        status_who=told.who,
        status_why=told.why,
        ranks=sorted(named_ranks),
        hosts=sorted({*finding.hosts, *_hosts_of(case, named_ranks)}),
        devices=_devices(finding),
        links=[list(link) for link in finding.links],
        suspects=Suspects(
            ranks=sorted(set(finding.suspect_ranks) - set(finding.ranks)),
            hosts=sorted(finding.suspect_hosts),
            devices=[] if finding.devices or not finding.ranks else list(finding.suspect_devices),
        ),
        cycle=sorted(finding.cycle),
        site=finding.site,
        code=finding.code,
        domain=finding.domain,
        first_anomaly=_placed(case, finding.first_anomaly),
        undecided=list(finding.undecided),
        summary=finding.summary,
        places=list(_places(case, (*finding.ranks, *finding.cycle, *finding.suspect_ranks))),
    )
    lost, blast = price(case, finding, one.kind), finding.blast_radius
    foreign = frozenset(finding.actions) - frozenset(one.finding.actions)
    known = _known(case, verdict, finding)._replace(checkpoint=lost.checkpoint, beside=foreign)
    bad = _accused_hosts(case, finding)
    known_bad = [Claim(words.KNOWN_BAD(host=host), "for") for host in bad]
    claims = (*finding.claims, *beside(case, finding, one.kind), *known_bad)
    return Incident(
        attempt=case.attempt,
        verdict=verdict,
        evidence=[
            Evidence(id=f"E{number}", claim=claim.text, direction=claim.direction, refs=list(claim.refs))
            for number, claim in enumerate(claims, 1)
        ],
        alternatives=[_alternative(one, other) for other in rivals],
        blast_radius=replace(blast, groups=[name for name in blast.groups if name != UNNAMED_GROUP]),
        severity=finding.severity,
        lost=lost,
        counterfactual=counterfactual(case, finding, one.kind),
        actions=[
            *(named(case, finding, one.kind, act) for act in actions_of(finding, told.status, known)),
            *(_drained(host, known.around) for host in bad),
        ],
        symptoms=_symptom_rows(choice.symptoms, one.explained),
        choice=[_weighed(each) for each in (one, *rivals)[:_WEIGHED]],
        has_ended=known.has_ended,
        checked=checked(case, {each.kind for each in choice.candidates}) if one.kind in _QUIET else [],
        views=views(finding),
    )


def _known(case: Case, verdict: Verdict, finding: Finding) -> Known:
    """What commands need."""
    link = link_sort(case.tables, (ref for claim in finding.claims for ref in claim.refs))
    dead = frozenset(rank for rank, end in case.ends.items() if end.how in ("died", "failed"))
    has_records = case.tables["operations"].height > 0
    places = verdict.places or list(_places(case, sorted(case.seen - case.ends.keys())))
    hosts = {*verdict.hosts, *verdict.suspects.hosts} or {place.host for place in verdict.places if place.host}
    ended = gone(case)
    twice = case.stacks.filter(pl.col("moving").is_not_null())["rank"].drop_nulls()
    return Known(
        places, dead, case.around._replace(link=link), has_records, len(case.job_hosts), case.locations.shared(hosts),
        frozenset(twice.to_list()), ended, may_be_left(case) & ended, has_ended(case, ended), is_alone=_is_alone(case, finding),
        held=_stopped(case), has_ras=case.events.filter(pl.col("kind") == "ras_status").height > 0,
    )  # fmt: skip


def _stopped(case: Case) -> frozenset[int]:
    """Whose processes are stopped by a signal or a tracer, as their host shows them."""
    held = held_processes(case.tables["stacks"], ())
    return frozenset(rank for rank, one in held.items() if one.how in ("stopped", "traced"))


def _is_alone(case: Case, finding: Finding) -> bool:
    """Did other ranks of its host leave figures of a slow job, and stand out in none, or did its device alone time it? Then no host as a whole
    is slow."""
    phase = finding.first_anomaly.phase
    if finding.ranks and all(are_of_kernels(case.tables, rank, phase) for rank in finding.ranks):
        return True  # as if others were: it is not the host
    here = set(_hosts_of(case, finding.ranks))
    timed = set(case.phase_times["rank"].to_list()) - finding.subjects
    return bool(here) and any(case.host_of_rank.get(rank) in here for rank in timed)


def _accused_hosts(case: Case, finding: Finding) -> list[str]:
    """Hosts that the person calls bad and that a finding names, by itself or through a rank."""
    named = {*finding.places, *_hosts_of(case, finding.subjects)}
    return sorted(named & {short_host(host) for host in case.known_bad})


def _drained(host: str, around: Surroundings) -> Action:
    command = drain_node(host, "known_bad", around)
    return Action(kind="drain_node", target=host, command=command, reason=words.KNOWN_BAD_AGAIN)


# --- places ----------------------------------------------------------------------------------------------------------


def _who(case: Case, ranks: Iterable[int]) -> pl.DataFrame:
    if not case.identity.height:
        return case.identity
    return case.identity.filter(pl.col("rank").is_in(sorted(set(ranks))))


def _hosts_of(case: Case, ranks: Iterable[int]) -> list[str]:
    who = _who(case, ranks)
    return who["host"].drop_nulls().unique().to_list() if who.height else []


def _places(case: Case, ranks: Sequence[int]) -> Iterable[Place]:
    """Where each of these ranks runs, as far as the bundle tells."""
    shown = sorted(set(ranks))[:_PLACES]
    who = _who(case, shown)
    known = {row["rank"]: row for row in who.iter_rows(named=True)} if who.height else {}
    for rank in shown:
        place = Place(rank=rank, coordinates=Coordinates(**case.coordinates.get(rank, {})))
        if (row := known.get(rank)) is not None:
            device = PlaceDevice(pci=row["pci"], index=row["device_index"], uuid=row["uuid"])
            place = replace(place, host=row["host"], pid=row["pid"], local_rank=row["local_rank"], device=device)
        yield place


def _placed(case: Case, anomaly: FirstAnomaly) -> FirstAnomaly:
    """Host and device of the first anomaly from the identity table; a group that no line names has no name."""
    if anomaly.group == UNNAMED_GROUP:
        anomaly = replace(anomaly, group=None)
    who = _who(case, () if anomaly.rank is None else (anomaly.rank,))
    if not who.height:
        return anomaly
    index = who["device_index"][0]
    device = who["pci"][0] or (str(index) if index is not None else None)
    return replace(anomaly, host=anomaly.host or who["host"][0], device=anomaly.device or device)


# --- why this and not that -------------------------------------------------------------------------------------------


def _symptom_rows(symptoms: Iterable[Symptom], explained: Collection[Symptom]) -> list[SymptomRow]:
    """The first of them by kind and name, those of a class one by one."""
    listed = [(one.kind, key, one) for one in symptoms for key in one.keys or (one.key,)]
    return [
        SymptomRow(kind=kind, what=key, ranks=ranges(one.ranks), explained=one in explained)
        for kind, key, one in sorted(listed, key=lambda row: row[:2])[:SHOWN]
    ]


def _weighed(one: Candidate) -> shape.Candidate:
    finding = one.finding
    subjects: list[int | str] = [*sorted(finding.subjects), *sorted(finding.places)]
    return shape.Candidate(
        kind=one.kind, cause=finding.cause, subjects=subjects[:_PLACES], refuted_by=one.refuted_by,
        left_over=counted(one.left_over), basis=one.basis, detectors=list(one.detectors), summary=finding.summary,
    )  # fmt: skip


def _alternative(best: Candidate, other: Candidate) -> Alternative:
    finding = other.finding
    return Alternative(
        kind=other.kind,
        cause=finding.cause,
        ranks=sorted(finding.ranks),
        hosts=sorted(finding.hosts),
        why_not=words.WHY_NOT(why=_why_not(best, other), summary=clause(unlabelled(finding.summary))),
    )


def _why_not(best: Candidate, other: Candidate) -> str:
    if other.refuted_by is not None:
        return other.refuted_by
    if (more := counted(other.left_over) - counted(best.left_over)) > 0:
        return words.LEAVES_UNEXPLAINED(symptoms=words.MORE_SYMPTOMS(more))
    if not other.explained:
        return words.EXPLAINS_NOTHING
    return words.LESS_EXACT if other.basis == best.basis else words.WEAKER


def rows(candidates: Sequence[Candidate], missing: Mapping[str, str]) -> list[FindingRow]:
    """Candidates and detectors that did not run → the rows of the document's `findings`."""
    done = [
        FindingRow(
            detector=", ".join(one.detectors), kind=one.kind, cause=one.finding.cause,
            ranks=ranges((*one.finding.ranks, *one.finding.cycle)), hosts=list(one.finding.hosts),
            summary=one.finding.summary,
        )
        for one in candidates
    ]  # fmt: skip
    skipped = [
        FindingRow(detector=name, kind="unknown", cause=None, ranks="", hosts=[], summary=why, ran=False)
        for name, why in missing.items()
    ]
    return [*done, *skipped]
