"""The typed shape of incident.json (schema_version 1) and nothing else.

Field names follow the public contract to the letter; `views` holds what the page draws (drawn.py).
NaN and Inf are written as the strings "NaN", "Inf", "-Inf"; ranges of ranks as "0-4710,4712-10239"; times as ISO 8601 UTC.
"""

from typing import Any, Literal

import msgspec

from forensics.model.drawn import Views
from forensics.model.names import (
    ActionKind,
    Cause,
    DecisionKind,
    Direction,
    Domain,
    Kind,
    Reason,
    Severity,
    Site,
    Status,
    SymptomKind,
)
from forensics.model.ref import Ref


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


class Device(msgspec.Struct, frozen=True, kw_only=True):
    host: str | None = None
    pci: str | None = None
    index: int | None = None
    uuid: str | None = None


class Suspects(msgspec.Struct, frozen=True, kw_only=True):
    ranks: list[int] = []
    hosts: list[str] = []


class Code(msgspec.Struct, frozen=True, kw_only=True):
    file: str | None
    line: int | None
    function: str | None


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
    lost_gpu_hours: float | None = None


class BlastRadius(msgspec.Struct, frozen=True, kw_only=True):
    ranks_waiting: int = 0
    groups: list[str] = []


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    last_completed_step: int | None = None
    last_saved_step: int | None = None
    last_persisted_step: int | None = None
    stalled_s: float | None = None


class Action(msgspec.Struct, frozen=True, kw_only=True):
    kind: ActionKind
    target: str
    command: str | None
    reason: str


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    attempt: int
    verdict: Verdict
    evidence: list[Evidence]
    alternatives: list[Alternative]
    blast_radius: BlastRadius
    severity: Severity | None
    lost: Lost
    actions: list[Action]
    symptoms: list[SymptomRow] = []
    choice: list[Candidate] = []  # the chosen one first
    decision: Decision = Decision()
    views: Views = Views()


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


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole document."""

    tool: Tool
    bundle: Bundle
    coverage: Coverage
    primary: int
    incidents: list[Incident]
    findings: list[FindingRow]
    environment: list[EnvironmentRow]
    limits: list[str]
    files: list[FileRow] = []
    schema_version: Literal[1] = 1


def schema() -> dict[str, Any]:
    """JSON Schema of incident.json."""
    return msgspec.json.schema(Report)
