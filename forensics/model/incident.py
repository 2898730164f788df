"""The typed shape of incident.json (schema_version 1) and nothing else.

Field names follow the public contract to the letter; `views` holds what the page draws (drawn.py).
NaN and Inf are written as the strings "NaN", "Inf", "-Inf"; ranges of ranks as "0-4710,4712-10239"; times as ISO 8601 UTC.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from forensics.model.drawn import Views
from forensics.model.ledger import Ledger
from forensics.model.names import (
    ActionKind,
    Cause,
    DecisionKind,
    Direction,
    Domain,
    EvidenceKind,
    Kind,
    Reason,
    Severity,
    Site,
    Status,
    SymptomKind,
)
from forensics.model.networks import Networks
from forensics.model.ref import Ref
from forensics.model.texts import ranges

if TYPE_CHECKING:
    import polars as pl


Passages = Mapping[tuple[str, int], list[tuple[int, str]]]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    version: str


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    files: int
    bytes: int


class SourceCoverage(msgspec.Struct, frozen=True, kw_only=True):
    files: int
    records: int
    ranks: list[str]
    errors: int


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    total: int
    recognised: int
    unrecognised: int


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    reason: str


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    skew_bound_s: float | None = None


class World(msgspec.Struct, frozen=True, kw_only=True):
    """How many ranks the job has, and how that was learnt."""

    size: int | None = None
    source: str | None = msgspec.field(name="from", default=None)


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """One of several programs, whose ranks are a space of their own."""

    name: str
    world: int | None = None
    ranks_seen: list[str] = []


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    ranks_expected: int | None
    ranks_seen: list[str]
    ranks_missing: list[str]
    hosts_seen: list[str]
    sources: dict[str, SourceCoverage]
    lines: Lines
    unreadable: list[Unreadable]
    clock: Clock
    attempts: int
    world: World = World()
    # Lines that no parser of their program reads and that look like complaints: "count × template", the commonest first.
    complaints: list[str] = []
    programs: list[Program] = []  # where the bundle holds several


class Device(msgspec.Struct, frozen=True, kw_only=True):
    host: str | None = None
    pci: str | None = None
    index: int | None = None
    uuid: str | None = None


class Suspects(msgspec.Struct, frozen=True, kw_only=True):
    ranks: list[int] = []
    hosts: list[str] = []
    devices: list[Device] = []  # of a rank that is named, where its device may be why


class Code(msgspec.Struct, frozen=True, kw_only=True):
    file: str | None
    line: int | None
    function: str | None


SINKING = "throughput_sinks"  # signature of what fell, and goes on falling


class FirstAnomaly(msgspec.Struct, frozen=True, kw_only=True):
    time_utc: str | None = None
    rank: int | None = None
    host: str | None = None
    device: str | None = None
    step: int | None = None
    microbatch: int | None = None
    chunk: int | None = None
    phase: str | None = None
    module: str | None = None
    op: str | None = None
    tensor: str | None = None
    value: str | None = None
    after: str | None = None
    group: str | None = None
    group_ranks: str | None = None
    seq: int | None = None
    signature: str | None = None


class Coordinates(msgspec.Struct, frozen=True, kw_only=True):
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    cp: int | None = None


class PlaceDevice(msgspec.Struct, frozen=True, kw_only=True):
    pci: str | None = None
    index: int | None = None
    uuid: str | None = None


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a named or suspected rank runs, as far as the bundle tells."""

    rank: int
    host: str | None = None
    pid: int | None = None
    local_rank: int | None = None
    device: PlaceDevice = PlaceDevice()
    coordinates: Coordinates = Coordinates()


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    kind: Kind
    cause: Cause | None = None
    status: Status = "unknown"
    status_rule: str = ""  # the rule that gave the status word
    status_who: Status | None = None  # of who is named or suspected; null where nobody is
    status_why: Status | None = None  # of the cause; `status` is the weaker of the two
    ranks: list[int] = []
    hosts: list[str] = []
    devices: list[Device] = []
    links: list[list[int | str]] = []
    suspects: Suspects = Suspects()
    cycle: list[int] = []
    site: Site | None = None
    code: Code | None = None
    domain: Domain = "unknown"
    first_anomaly: FirstAnomaly = FirstAnomaly()
    undecided: list[Reason] = []
    summary: str = ""
    places: list[Place] = []  # of every named or suspected rank, at most 64
    program: str | None = None  # whose ranks these are, where the bundle holds several programs


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    claim: str
    direction: Direction
    refs: list[Ref]


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    kind: Kind
    cause: Cause | None
    ranks: list[int]
    hosts: list[str]
    why_not: str


class SymptomRow(msgspec.Struct, frozen=True, kw_only=True):
    """What had to be explained, and whether the verdict explains it."""

    kind: SymptomKind
    what: str
    ranks: str  # ranges
    explained: bool


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One explanation that was weighed, with the key that it was weighed by."""

    kind: Kind
    cause: Cause | None
    subjects: list[int | str]
    refuted_by: str | None
    left_over: int  # symptoms that it leaves unexplained
    basis: str
    detectors: list[str]
    summary: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    do: DecisionKind = "cannot_tell"
    reason: str = ""
    unless: str = ""  # what would make it another one
    lost_gpu_hours: float | None = None
    without: list[str] = []  # hosts to leave out


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at and found clean: "tensor statistics", "8 ranks × 4 steps, 3,000 tensors", "no NaN, no Inf"."""

    what: str
    scope: str
    result: str


class BlastRadius(msgspec.Struct, frozen=True, kw_only=True):
    ranks_waiting: int = 0
    groups: list[str] = []


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    last_completed_step: int | None = None
    last_saved_step: int | None = None
    last_persisted_step: int | None = None
    stalled_s: float | None = None
    checkpoint: str | None = None  # the one to go on from, by name
    lost_steps: int | None = None  # to be done again from there
    redo_s: float | None = None  # the time that they took


class Counterfactual(msgspec.Struct, frozen=True, kw_only=True):
    """What had been without the fault of those who are named, by replay of what is recorded; `text` says it."""

    ranks: list[int] = []  # without whose fault
    links: list[list[int]] = []
    freed: int | None = None  # hang: how many of `waiters` had gone on
    waiters: int | None = None
    shares: dict[str, float] | None = None  # slow: culprits, batches, stages: what each would shorten the steps by
    is_smallest: bool = False  # no fewer of them do
    text: str = ""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    kind: ActionKind
    target: str
    command: str | None
    reason: str
    look: str = ""  # for what, in the output of the command
    then: str = ""  # what to do by what it shows
    source: str = ""  # who says so
    setup: tuple[EvidenceKind, ...] = ()  # what it asks to collect: `forensics setup KIND` makes the next run leave it


def to_do(kind: ActionKind, target: str, reason: str) -> Action:
    """An action without a command of its own."""
    return Action(kind=kind, target=target, command=None, reason=reason)


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    attempt: int
    verdict: Verdict
    evidence: list[Evidence]
    alternatives: list[Alternative]
    blast_radius: BlastRadius
    severity: Severity | None
    lost: Lost
    counterfactual: Counterfactual | None = None
    actions: list[Action]
    symptoms: list[SymptomRow] = []
    choice: list[Candidate] = []  # the chosen one first
    decision: Decision = Decision()
    has_ended: bool = False  # the run had ended when this was taken, by its own word, its launcher's or its scheduler's
    checked: list[Checked] = []  # said where the verdict is healthy or unknown
    views: Views = Views()

    def __repr__(self) -> str:
        named = ranges(self.verdict.ranks or self.verdict.cycle)
        who = f", ranks {named}" if named else ""
        return f"<Incident of attempt {self.attempt}: {self.verdict.kind}, {self.verdict.cause}, {self.verdict.status}{who}>"


class FindingRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a detector concluded, whether or not it became the verdict."""

    detector: str
    kind: Kind
    cause: Cause | None
    ranks: str
    hosts: list[str]
    summary: str
    ran: bool = True


class EnvironmentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A setting whose value differs between ranks or hosts, or is out of its range."""

    name: str
    values: dict[str, str]  # value → ranks or hosts that have it
    note: str


class FileRow(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    bytes: int
    parsers: list[str]
    ranks: str
    lines: int
    recognised: int
    time_first_utc: str | None
    time_last_utc: str | None
    errors: list[str]
    templates: list[str]
    records: int = 0  # rows of evidence that were read from it


class Document(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What reports are made of: the fields are those of incident.json; forensics/report.py is what users hold."""

    tool: Tool
    bundle: Bundle
    coverage: Coverage
    primary: int
    incidents: list[Incident]
    findings: list[FindingRow]
    environment: list[EnvironmentRow]
    limits: list[str]
    files: list[FileRow] = []
    ledger: Ledger = Ledger()
    schema_version: Literal[1] = 1

    @property
    def incident(self) -> Incident:
        """The incident that ended the newest attempt."""
        return self.incidents[self.primary]

    @property
    def verdict(self) -> Verdict:
        """Kind, cause, ranks, hosts and status of that incident."""
        return self.incident.verdict

    @property
    def tables(self) -> "Mapping[str, pl.DataFrame]":
        """The evidence by table: events, operations, stacks, steps, tensors and more; what zone a `time` is of says `time_basis`
        beside it. Empty for a report that was read from a file."""
        make: Callable[[], Mapping[str, pl.DataFrame]] = self.__dict__.get("_tables", dict)
        return make()

    @property
    def graph(self) -> Networks:
        """Who waits for whom (`.waits`) and who is who (`.names`) in the newest attempt, as graphs of networkx with their
        evidence. ValueError for a report that was read from a file."""
        make: Callable[[], Networks] | None = self.__dict__.get("_networks")
        if make is None:
            raise ValueError("a report that was read from a file has no graph: analyze the bundle")
        return make()

    def passages(self, places: Iterable[tuple[str, int]], context: int = 3) -> Passages:
        """(file, line) → (number, text) of that line of the bundle and of `context` lines on each side, secrets masked; without
        what cannot be read again. Empty for a report that was read from a file, or redacted."""
        read: Callable[..., Passages] | None = self.__dict__.get("_passages")
        return read(places, context) if read is not None else {}
