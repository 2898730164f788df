"""The one road, a step per line: read → attempts → identity → clocks → graph → detectors → verdict."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from forensics import TOOL_NAME, __version__
from forensics.assemble.runs.attempts import attempts_of
from forensics.assemble.runs.register import Program, of_program, program_of, programs
from forensics.case import Case, Detector
from forensics.case_of import case_of
from forensics.detectors import DETECTORS
from forensics.facts.ends.standing import ended_first
from forensics.facts.hosts.surroundings import surroundings
from forensics.facts.rows.line_templates import files_of_templates
from forensics.model.commands import Surroundings
from forensics.model.errors import NotALayout
from forensics.model.expected import NOTHING_EXPECTED, Expected
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import Bundle, FindingRow, Incident, Passages, Tool
from forensics.model.incident import Evidence as EvidenceRow
from forensics.model.networks import Networks
from forensics.model.past import Past, origin_of
from forensics.model.said import Said, encoded
from forensics.model.said import joined as listing
from forensics.model.steps import Counted, Step, uncounted, unwatched
from forensics.model.texts import ranks_text
from forensics.model.tolerances import BUILT_IN, Tolerances
from forensics.report import Report
from forensics.verdict.conclude import Conclusion, choose, conclude, rows
from forensics.verdict.judged.arbitrate import About
from forensics.verdict.past.recurrence import NO_PAST, mark_repeats
from forensics.views.compare import Compared, compare, compared
from forensics.views.coverage import coverage, file_rows
from forensics.views.environment import changes, environment, settings_of
from forensics.views.ledger import Told, ledger, told
from forensics.views.networks import networks
from forensics.views.page import views
from forensics.views.records import Wanted, narrowed, of_parsers, records, timed, with_times
from forensics.words import views as words
from parsers import Evidence, joined, read
from parsers.engine.context import passages
from parsers.engine.ledger import Progress
from parsers.schema.parser import Parser
from parsers.schema.tables import TableName
from parsers.schema.years import is_told


def detect(
    case: Case, detectors: Sequence[Detector] = DETECTORS, counted: Counted = uncounted
) -> tuple[list[Finding], dict[str, Said]]:
    """(findings, detectors that did not run → why)."""
    findings: list[Finding] = []
    missing: dict[str, Said] = {}
    for done, detector in enumerate(detectors, 1):
        counted(done, len(detectors))
        lacking = [name for name in detector.needs if not case.tables[name].height]
        if lacking:
            missing[detector.name] = words.NOT_RUN(tables=listing(lacking, " and no "))
        else:
            findings.extend(detector.detect(case))
    return findings, missing


def about(detectors: Sequence[Detector]) -> About:
    """Finding → the question that its detector asks; None for a hint."""
    asked = {detector.name: detector.about for detector in detectors}
    return lambda finding: asked.get(finding.detector)


def conclude_evidence(
    evidence: Evidence,
    *,
    expected: int | None = None,
    known_bad: frozenset[str] = frozenset(),
    topology: Mapping[str, int] | None = None,
    hung: bool = False,
    tolerances: Tolerances = BUILT_IN,
    wanted: Expected = NOTHING_EXPECTED,
    past: Past = NO_PAST,
    detectors: Sequence[Detector] = DETECTORS,
    step: Step = unwatched,
    counted: Counted = uncounted,
) -> Report:
    """Evidence → Report: the incidents of each attempt; primary is the first one of the newest attempt."""
    incidents: list[Incident] = []
    primary = 0
    listed: list[FindingRow] = []
    job: frozenset[int] = frozenset()
    seen: frozenset[int] = frozenset()
    skew: float | None = None
    learnt: str | None = None
    arounds: list[Surroundings] = []
    spans: list[Told] = []
    paces: tuple[str, ...] = ()
    known_lines: frozenset[str] = frozenset()
    steps_before = pl.DataFrame()
    stale: list[str] = []
    hosts: dict[int, frozenset[str]] = {}
    worlds: list[int] = []
    several: list[Program] = []
    known_bad |= frozenset(past.known_bad)
    with step("attempts"):
        attempts = attempts_of(evidence.tables)
    split = attempts.tables
    for attempt, tables in split.items():
        before = {"has_baseline": bool(incidents), "known_lines": known_lines, "steps_before": steps_before}

        def judged(
            rows: Mapping[TableName, pl.DataFrame],
            ranks: int | None,
            attempt: int = attempt,
            before: Mapping[str, Any] = before,
        ) -> _Judged:
            with step("facts"):
                case = case_of(rows, attempt, ranks, known_bad, topology, hung, tolerances)
            case = replace(case, wanted=wanted, **before)
            with step("detectors"):
                findings, missing = detect(case, detectors, counted)
                return _Judged(case, missing, choose(case, findings, about(detectors)))

        whole = judged(tables, expected)
        steps_before = tables["steps"]
        case = whole.case
        several = programs(case.tables)
        own = {one.name: judged(of_program(tables, one, several), None) for one in several}
        name, one = _decisive(whole, own, several)
        with step("verdict"):
            found = conclude(one.case, one.conclusion, partial(views, one.case))
            found = [_with_program(incident, several, name) for incident in found]
        primary = len(incidents)
        incidents += map(attempts.mark, found)
        paces = case.pace
        spans.append(told(case, incidents[primary]))
        hosts[attempt] = spans[-1].hosts
        listed += rows(one.conclusion.choice.candidates, one.missing)
        arounds += [surroundings(tables)] * len(found)
        known_lines |= files_of_templates(tables).keys() if len(split) > 1 else frozenset()
        if old := sorted(case.states.stale):
            stale.append(words.STALE_RECORDS(who=ranks_text(old)))
        learnt = case.world_from or learnt
        worlds += [len(case.expected)] if case.is_world_told else []
        is_same = bool(job & case.seen) or not case.seen
        job, seen = (job | case.expected, seen | case.seen) if is_same else (case.expected, case.seen)
        skew = case.clocks.skew_bound_s
    _check_layout(topology or {}, worlds)
    files, members = file_rows(evidence.tables), coverage(evidence.tables, job, seen, len(split), skew, learnt, several)
    past = past.without(origin_of(files, members.hosts_seen))
    around = environment(split)
    limits = [*stale, *(row.summary for row in listed if not row.ran)]
    return Report(
        tool=Tool(name=TOOL_NAME, version=__version__),
        bundle=Bundle(name=evidence.name, files=evidence.files, bytes=evidence.bytes),
        coverage=members,
        primary=primary,
        incidents=mark_repeats(incidents, primary, len(job), hosts, arounds, past, changes(around)),
        findings=listed,
        environment=around,
        limits=[
            *attempts.limits,
            *dict.fromkeys(limits),
            *tolerances.told,
            *_marked_hosts(known_bad, members.hosts_seen),
            *([] if is_told(evidence.tables["files"]) else [words.NO_YEAR]),
            *([words.FILES_LEFT_OUT(shown=len(files), number=evidence.files)] if len(files) < evidence.files else []),
        ],
        files=files,
        ledger=ledger(spans, paces),
    )


def _check_layout(topology: Mapping[str, int], worlds: Sequence[int]) -> None:
    """Raises NotALayout where the sizes divide no attempt whose number of ranks was told."""
    sizes = {axis: size for axis, size in topology.items() if axis != "ep"}  # experts divide the data axis
    if sizes and worlds and all(world % prod(sizes.values()) for world in worlds):
        told = " × ".join(f"{axis}={size}" for axis, size in sizes.items() if size > 1)
        raise NotALayout(f"{told} does not divide the {worlds[-1]:,} ranks of the job")


class _Judged(msgspec.Struct, frozen=True):
    """A case, the detectors that did not run → why, and what it comes to."""

    case: Case
    missing: Mapping[str, Said]
    conclusion: Conclusion


def _decisive(whole: _Judged, own: Mapping[str, _Judged], several: Sequence[Program]) -> tuple[str | None, _Judged]:
    """The whole, and each program by itself → whose verdict it is: of the one program that by itself names somebody who did not only
    wait, while no other does, or suspects somebody of an end; what only lost the service that it asked is no such other. Else of the whole, what
    others waited for may be of no program; unless the whole names a rank that several have and none by itself: then of the program that its
    evidence is of. Where none names anybody, of the one whose processes were all ended because nothing moved, before the others gave up. Where several
    name somebody, ranks of one are none of another: one of them, and never the whole (_order)."""
    asked = {name: one for name, one in own.items() if not _lost_a_service(one.case)}
    names = [name for name, one in asked.items() if _names(one.conclusion)]
    files = {one.name: one.files for one in several}
    others = [name for name in asked if name not in names]
    if len(names) == 1 and not any(_suspects(own[name].conclusion, files[name]) for name in others):
        return names[0], own[names[0]]
    if len(names) > 1:
        first = min(names, key=lambda one: _order(own[one].conclusion))
        return first, own[first]
    told = {name: (one.case.events, one.case.seen) for name, one in own.items()} if not names else {}
    if (ended := ended_first(told)) is not None:
        return ended, own[ended]
    name = program_of(several, _files_for(whole.conclusion.chosen[0].finding.claims))
    is_mixed = whole.conclusion.chosen[0].finding.is_named and not any(_names(one.conclusion) for one in own.values())
    return (name, own[name]) if is_mixed and name is not None else (None, whole)


def _order(found: Conclusion) -> tuple[bool, bool, int]:
    """Of programs that all name somebody, each by itself: who ended comes before who stood still, for that may be what it led to; then by time."""
    best = found.chosen[0]
    return best.kind != "crash", best.finding.time_ns is None, best.finding.time_ns or 0


def _lost_a_service(case: Case) -> bool:
    """Did everybody of a program whose own lines tell of its end lose a service that it asked, or others?"""
    roles = case.failure_roles.values()
    return bool(roles) and all(role.asks or role.state == "lost" for role in roles)


def _names(conclusion: Conclusion) -> bool:
    best = conclusion.chosen[0].finding
    return best.is_named and best.cause is not None


def _suspects(conclusion: Conclusion, files: Set[str]) -> bool:
    """Did somebody of the program end by what may be its own? What files of no program tell, of nobody's rank, is as much another's."""
    best = conclusion.chosen[0]
    told = {*_files_for(best.finding.claims)}
    is_open = bool(best.finding.suspect_ranks or (best.finding.undecided and told & files))
    return best.kind == "crash" and is_open


def _files_for(told: Iterable[Claim | EvidenceRow]) -> list[str]:
    return [ref.file for one in told if one.direction == "for" for ref in one.refs]


def _with_program(incident: Incident, several: Sequence[Program], name: str | None) -> Incident:
    """An incident with the program that it was found in, or that its evidence speaks of, where there are several."""
    files = _files_for(incident.evidence) if several else []
    return replace(incident, verdict=replace(incident.verdict, program=name or program_of(several, files)))


def _marked_hosts(known_bad: frozenset[str], seen: Sequence[str]) -> list[str]:
    """Sentences on the hosts that a person called bad: they are no evidence."""
    there = {short_host(host) for host in seen}
    marked = sorted({short_host(host) for host in known_bad})
    where = [(words.HOST_OF_JOB if host in there else words.HOST_NOT_SEEN)(host=host) for host in marked]
    return [words.KNOWN_BAD(hosts=listing(where, ", "))] if where else []


def analyze(
    bundle: str | Path,
    *more: str | Path,
    expected_ranks: int | None = None,
    known_bad: Sequence[str] = (),
    topology: Mapping[str, int] | None = None,
    hung: bool = False,
    tolerances: Mapping[str, str | float] | None = None,
    expect: Mapping[str, str | float] | None = None,
    past: Past | None = None,
    parsers: Sequence[Parser] | None = None,
    detectors: Sequence[Detector] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Read a bundle (folder, archive, file, URL, or "-"), or several of one job as one, and say what happened.

    >>> report = analyze("bundle/")
    >>> report.verdict.kind, report.verdict.ranks, report.verdict.status
    >>> report.rank(5).timeline("10:05", "10:06")
    >>> report.save("incident.html")

    `expected_ranks`: how many ranks the job has. `known_bad`: hosts already known to be bad. `topology`: sizes, as
    {"tp": 8, "dp": 16}, in order of rank numbering. `hung`: you know that the job made no progress when this was taken. `past`: what a history
    holds (forensics.history.recall). `tolerances`: by how much figures may differ by design, as {"loss": "100%",
    "replicas": 0.01} (forensics.model.tolerances). `expect`: what a step should take or reach, as {"step": 2.1}, in seconds
    (forensics.model.expected). `parsers`, `detectors`: all, if none are given.
    `progress(bytes_read, bytes_in_all)` is called after each unit of work. Nothing is printed. Raises parsers.BundleError
    where nothing can be read, NotALayout where the sizes of `topology` do not divide the job."""
    evidence = joined([read(str(one), parsers=parsers, progress=progress) for one in (bundle, *more)])
    report = conclude_evidence(
        evidence,
        expected=expected_ranks,
        known_bad=frozenset(known_bad),
        topology=topology,
        hung=hung,
        tolerances=Tolerances.of(tolerances or {}),
        wanted=Expected.of(expect or {}),
        past=NO_PAST if past is None else past,
        detectors=DETECTORS if detectors is None else detectors,
    )
    report.__dict__.update(
        _tables=cache(partial(with_times, evidence.tables)),
        _timeline=_timeline(evidence),
        _networks=_networks(evidence, expected_ranks),
        **again(*map(str, (bundle, *more))),
    )
    return report


def again(*bundles: str) -> dict[str, Callable[..., Passages]]:
    """What `report.passages` asks, by its name there; of several bundles as one job nothing: their files have other names."""
    return {"_passages": partial(passages, bundles[0])} if len(bundles) == 1 else {}


class Difference(msgspec.Struct, frozen=True):
    """What `diff` found: `same`: the signatures are; `lines`: field by field, "=" where all agree."""

    same: bool
    lines: tuple[str, ...]

    def __repr__(self) -> str:
        whole = ("same signature" if self.same else "different signatures", *self.lines)
        return "\n".join("".join(one if one.isprintable() else repr(one)[1:-1] for one in line) for line in whole)


def diff(*sources: str | Path | Report) -> Difference:
    """Whether incidents have the same signature, and what else differs. `sources`: bundles, incident.json files or reports, two at
    least (ValueError). Raises what `analyze` and `load` raise."""
    from forensics.history import load

    if len(sources) < 2:
        raise ValueError("diff compares at least two")
    reports = [
        one if isinstance(one, Report) else load(one) if str(one).endswith(".json") else analyze(one) for one in sources
    ]
    lines, same = compare([_compared(report) for report in reports])
    return Difference(same, tuple(lines))


def _compared(report: Report) -> Compared:
    tables = report.tables
    return compared(msgspec.to_builtins(report, enc_hook=encoded), settings_of(tables["settings"]) if tables else None)


def _networks(evidence: Evidence, expected: int | None) -> Callable[[], Networks]:
    """What `report.graph` asks; made once, and only if asked for."""

    @cache
    def made() -> Networks:
        [*_, (attempt, tables)] = attempts_of(evidence.tables).tables.items()
        return networks(case_of(tables, attempt, expected))

    return made


def _timeline(evidence: Evidence) -> Callable[..., pl.DataFrame]:
    """What `report.rank(5).timeline()` asks; the records are made once, and only if asked for."""

    @cache
    def whole() -> pl.DataFrame:
        split = attempts_of(evidence.tables).tables
        return pl.concat([records(case_of(tables, attempt)) for attempt, tables in split.items()])

    return lambda **wanted: timed(narrowed(whole(), Wanted(**wanted), of_parsers(evidence.tables["files"])))
