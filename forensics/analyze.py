"""The one road, a step per line: read → attempts → identity → clocks → graph → detectors → verdict."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import polars as pl
from msgspec.structs import replace

from forensics import TOOL_NAME, __version__
from forensics.assemble.attempts import attempts_of
from forensics.assemble.identity import short_host
from forensics.assemble.register import Program, program_of, programs
from forensics.case import Case, Detector, case_of
from forensics.detectors import DETECTORS
from forensics.facts.line_templates import files_of_templates
from forensics.facts.surroundings import surroundings
from forensics.model.commands import Surroundings
from forensics.model.expected import NOTHING_EXPECTED, Expected
from forensics.model.finding import Finding
from forensics.model.incident import Bundle, FindingRow, Incident, Report, Tool
from forensics.model.networks import Networks
from forensics.model.past import Past, origin_of
from forensics.model.said import Said
from forensics.model.said import joined as listing
from forensics.model.steps import Step, unwatched
from forensics.model.texts import ranks_text
from forensics.model.tolerances import BUILT_IN, Tolerances
from forensics.verdict.arbitrate import About
from forensics.verdict.conclude import choose, conclude, rows
from forensics.verdict.recurrence import NO_PAST, mark_repeats
from forensics.views.coverage import coverage, file_rows, files_left_out, years_not_told
from forensics.views.environment import environment
from forensics.views.ledger import Told, ledger, told
from forensics.views.networks import networks
from forensics.views.page import views
from forensics.views.records import Wanted, narrowed, of_parsers, records, stamped, with_times
from forensics.words import views as words
from parsers import Evidence, joined, read
from parsers.ledger import Progress
from parsers.parser import Parser


def detect(case: Case, detectors: Sequence[Detector] = DETECTORS) -> tuple[list[Finding], dict[str, Said]]:
    """(findings, detectors that did not run → why)."""
    findings: list[Finding] = []
    missing: dict[str, Said] = {}
    for detector in detectors:
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
    several: list[Program] = []
    known_bad |= frozenset(past.known_bad)
    with step("attempts"):
        attempts = attempts_of(evidence.tables)
    split = attempts.tables
    for attempt, tables in split.items():
        with step("facts"):
            case = case_of(tables, attempt, expected, known_bad, topology, hung, tolerances)
        case = replace(
            case, wanted=wanted, has_baseline=bool(incidents), known_lines=known_lines, steps_before=steps_before
        )
        steps_before = tables["steps"]
        with step("detectors"):
            findings, missing = detect(case, detectors)
        with step("verdict"):
            conclusion = choose(case, findings, about(detectors))
            several = programs(case.tables)
            found = [_with_program(one, several) for one in conclude(case, conclusion, partial(views, case))]
        primary = len(incidents)
        incidents += map(attempts.mark, found)
        paces = case.pace
        spans.append(told(case, incidents[primary]))
        hosts[attempt] = spans[-1].hosts
        listed += rows(conclusion.choice.candidates, missing)
        arounds += [surroundings(tables)] * len(found)
        known_lines |= files_of_templates(tables).keys() if len(split) > 1 else frozenset()
        if old := sorted(case.states.stale):
            stale.append(words.STALE_RECORDS(who=ranks_text(old)))
        learnt = case.world_from or learnt
        job, seen, skew = job | case.expected, seen | case.seen, case.clocks.skew_bound_s
    files, members = file_rows(evidence.tables), coverage(evidence.tables, job, seen, len(split), skew, learnt, several)
    past = past.without(origin_of(files, members.hosts_seen))
    limits = [*stale, *(row.summary for row in listed if not row.ran)]
    return Report(
        tool=Tool(name=TOOL_NAME, version=__version__),
        bundle=Bundle(name=evidence.name, files=evidence.files, bytes=evidence.bytes),
        coverage=members,
        primary=primary,
        incidents=mark_repeats(incidents, primary, len(job), hosts, arounds, past),
        findings=listed,
        environment=environment(split),
        limits=[
            *attempts.limits,
            *dict.fromkeys(limits),
            *tolerances.told,
            *_marked_hosts(known_bad, members.hosts_seen),
            *years_not_told(evidence.tables["files"]),
            *files_left_out(files, evidence.files),
        ],
        files=files,
        ledger=ledger(spans, paces),
    )


def _with_program(incident: Incident, several: Sequence[Program]) -> Incident:
    """An incident with the program that its evidence speaks of, where there are several."""
    files = [ref.file for one in incident.evidence if one.direction == "for" for ref in one.refs] if several else []
    return replace(incident, verdict=replace(incident.verdict, program=program_of(several, files)))


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
    past: Past = NO_PAST,
    parsers: Sequence[Parser] | None = None,
    detectors: Sequence[Detector] = DETECTORS,
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
    (forensics.model.expected).
    `progress(bytes_read, bytes_in_all)` is called after each unit of work. Nothing is printed. Raises parsers.BundleError
    where nothing can be read."""
    evidence = joined([read(str(one), parsers=parsers, progress=progress) for one in (bundle, *more)])
    report = conclude_evidence(
        evidence,
        expected=expected_ranks,
        known_bad=frozenset(known_bad),
        topology=topology,
        hung=hung,
        tolerances=Tolerances.of(tolerances or {}),
        wanted=Expected.of(expect or {}),
        past=past,
        detectors=detectors,
    )
    report.__dict__.update(
        _tables=with_times(evidence.tables),
        _timeline=_timeline(evidence),
        _networks=_networks(evidence, expected_ranks),
    )
    return report


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

    return lambda **wanted: stamped(narrowed(whole(), Wanted(**wanted), of_parsers(evidence.tables["files"])))
