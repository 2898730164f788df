"""The typed shape of incident.json (schema_version 1) and nothing else.

Field names follow the public contract to the letter; `views` holds what the page draws, so that reports compute nothing.
NaN and Inf are written as the strings "NaN", "Inf", "-Inf"; ranges of ranks as "0-4710,4712-10239"; times as ISO 8601 UTC.
"""

import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

Kind = Literal["hang", "crash", "numerics", "slow", "launch", "healthy", "unknown"]
Cause = Literal[
    "rank_absent",
    "rank_died",
    "collective_mismatch",
    "deadlock_cycle",
    "network_fault",
    "gpu_fault",
    "kernel_stuck",
    "store_timeout",
    "exception",
    "gpu_oom",
    "host_oom",
    "segfault",
    "killed",
    "disk_full",
    "nan_birth",
    "overflow",
    "bad_state",
    "bad_input",
    "comm_corruption",
    "replica_divergence",
    "loss_scale_collapse",
    "loss_spike",
    "underflow",
    "straggler_compute",
    "straggler_host",
    "straggler_network",
    "throughput_drop",
    "imbalance",
    "wrong_interface",
    "version_mismatch",
    "missing_ranks",
    "config_drift",
]
Status = Literal["established", "supported", "hypothesis", "unknown"]
Site = Literal[
    "data_loading",
    "checkpoint_io",
    "storage_io",
    "compute",
    "lock",
    "compile",
    "gpu_sync",
    "logging",
    "evaluation",
    "teardown",
    "unresponsive",
    "communication",
    "unknown",
]
Reason = Literal[
    "all_entered_no_counters",
    "culprit_among_missing",
    "two_member_mismatch",
    "ring_buffer_wrapped",
    "clock_error_exceeds_gap",
    "single_snapshot",
    "tied_explanations",
    "membership_unknown",
    "mixed_attempts",
    "no_baseline",
    "collector_is_suspect",
    "conflicting_evidence",
    "no_hang",
    "nothing_found",
    "sampled_statistics",
    "replica_tie",
]
ActionKind = Literal[
    "ignore",
    "restart_job",
    "rollback",
    "skip_data",
    "drain_node",
    "reset_gpu",
    "reboot_node",
    "inspect_hardware",
    "inspect_network",
    "check_code",
    "check_data",
    "check_config",
    "collect_more",
]
Domain = Literal["workload", "infrastructure", "unknown"]
Severity = Literal["minor", "severe", "fatal"]
Direction = Literal["for", "against", "unseen"]
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}")
_CHANGE_A_HOST = ("drain_node", "reset_gpu", "reboot_node")
_SEVERAL_HOSTS = ("all", "none", "localhost")  # words that the scheduler takes for more than one host, or for another
RankState = Literal["ok", "waiting", "culprit", "suspect", "dead", "no_data"]


class Struct(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all shapes here: immutable, keyword-only."""


class Tool(Struct, frozen=True, kw_only=True):
    name: str
    version: str


class Bundle(Struct, frozen=True, kw_only=True):
    name: str
    files: int
    bytes: int


class SourceCoverage(Struct, frozen=True, kw_only=True):
    files: int
    records: int
    ranks: list[str]
    errors: int


class Lines(Struct, frozen=True, kw_only=True):
    total: int
    recognised: int
    unrecognised: int


class Unreadable(Struct, frozen=True, kw_only=True):
    file: str
    reason: str


class Clock(Struct, frozen=True, kw_only=True):
    skew_bound_s: float | None = None


class Coverage(Struct, frozen=True, kw_only=True):
    ranks_expected: int | None
    ranks_seen: list[str]
    ranks_missing: list[str]
    hosts_seen: list[str]
    sources: dict[str, SourceCoverage]
    lines: Lines
    unreadable: list[Unreadable]
    clock: Clock
    attempts: int


class Device(Struct, frozen=True, kw_only=True):
    host: str | None = None
    pci: str | None = None
    index: int | None = None
    uuid: str | None = None


class Suspects(Struct, frozen=True, kw_only=True):
    ranks: list[int] = []
    hosts: list[str] = []


class Code(Struct, frozen=True, kw_only=True):
    file: str | None
    line: int | None
    function: str | None


class FirstAnomaly(Struct, frozen=True, kw_only=True):
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


class Verdict(Struct, frozen=True, kw_only=True):
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


class Ref(Struct, frozen=True, kw_only=True):
    """A place in the bundle: `line` is 1-based for text, or the 0-based record of a structured file."""

    file: str
    line: int | None
    text: str


class Evidence(Struct, frozen=True, kw_only=True):
    id: str
    claim: str
    direction: Direction
    refs: list[Ref]


class Alternative(Struct, frozen=True, kw_only=True):
    kind: Kind
    cause: Cause | None
    ranks: list[int]
    hosts: list[str]
    why_not: str


class BlastRadius(Struct, frozen=True, kw_only=True):
    ranks_waiting: int = 0
    groups: list[str] = []


class Lost(Struct, frozen=True, kw_only=True):
    last_completed_step: int | None = None
    last_saved_step: int | None = None
    last_persisted_step: int | None = None
    stalled_s: float | None = None


class Action(Struct, frozen=True, kw_only=True):
    """What to do now. A command that changes a host stands only beside the name of one host, without anything that a
    shell or the scheduler would expand: targets come from logs, which print what they like."""

    kind: ActionKind
    target: str
    command: str | None
    reason: str

    def __post_init__(self) -> None:
        if self.kind in _CHANGE_A_HOST and self.command is not None and not _is_one_host(self.target):
            msgspec.structs.force_setattr(self, "command", None)


def _is_one_host(name: str) -> bool:
    return _HOST.fullmatch(name) is not None and name.lower() not in _SEVERAL_HOSTS


# --- what the page draws -------------------------------------------------------------------------------------------


class TimelineItem(Struct, frozen=True, kw_only=True):
    time_utc: str
    basis: str | None  # utc | local: local stamps have no zone and are shown as printed
    lane: Literal["culprit", "peers", "system"]
    label: str
    count: int  # cascades are folded: how many like this one
    ranks: str  # ranges
    ref: Ref | None


class GridCell(Struct, frozen=True, kw_only=True):
    """Ranks with equal state; drawn as one path per state, never one node per rank."""

    state: RankState
    ranks: str  # ranges


class GridHost(Struct, frozen=True, kw_only=True):
    host: str
    ranks: str


class GraphNode(Struct, frozen=True, kw_only=True):
    id: str
    kind: Literal["ranks", "operation"]
    label: str
    ranks: str  # ranges; of an operation: its members
    state: str  # of ranks: as GridCell; of an operation: open | mismatch | done
    detail: str


class GraphEdge(Struct, frozen=True, kw_only=True):
    source: str
    target: str
    label: str  # "in", "waits for", "absent", …
    certain: bool


class StackClass(Struct, frozen=True, kw_only=True):
    site: str
    count: int
    ranks: str
    top: str  # innermost telling frame
    frames: list[str]  # innermost first
    ref: Ref | None


class CollectiveRow(Struct, frozen=True, kw_only=True):
    group: str
    members: str
    seq: int | None
    ranks: str
    last_enqueued: int | None
    last_completed: int | None
    open_op: str | None
    mark: str | None  # "absent", "mismatch", …


class TensorRow(Struct, frozen=True, kw_only=True):
    rank: int
    step: int | None
    microbatch: int | None
    phase: str | None
    module: str | None
    op: str | None
    tensor: str | None
    value: str
    role: str  # root | echo | infected | unobserved


class HardwareRow(Struct, frozen=True, kw_only=True):
    time_utc: str | None
    host: str | None
    pci: str | None
    ranks: str
    code: str | None
    text: str
    relation: str  # why it does or does not count
    ref: Ref | None


class Views(Struct, frozen=True, kw_only=True):
    timeline: list[TimelineItem] = []
    grid: list[GridCell] = []
    hosts: list[GridHost] = []
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []
    stacks: list[StackClass] = []
    collectives: list[CollectiveRow] = []
    tensors: list[TensorRow] = []
    hardware: list[HardwareRow] = []
    notes: list[str] = []  # "showing 500 of 81,233 …": what was left out of a view


class Incident(Struct, frozen=True, kw_only=True):
    attempt: int
    verdict: Verdict
    evidence: list[Evidence]
    alternatives: list[Alternative]
    blast_radius: BlastRadius
    severity: Severity | None
    lost: Lost
    actions: list[Action]
    views: Views = Views()


class FindingRow(Struct, frozen=True, kw_only=True):
    """What a detector concluded, whether or not it became the verdict."""

    detector: str
    kind: Kind
    cause: Cause | None
    ranks: str
    hosts: list[str]
    summary: str
    ran: bool = True


class EnvironmentRow(Struct, frozen=True, kw_only=True):
    """A setting whose value differs between ranks or hosts, or is out of its range."""

    name: str
    values: dict[str, str]  # value → ranks or hosts that have it
    note: str


class FileRow(Struct, frozen=True, kw_only=True):
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


class Report(Struct, frozen=True, kw_only=True):
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


def ranges(values: Iterable[int]) -> str:
    """Sorted unique integers as text: {0, 1, 2, 4} → "0-2,4"."""
    parts: list[str] = []
    start = previous = None
    for value in sorted(set(values)):
        if previous is not None and value == previous + 1:
            previous = value
            continue
        if start is not None:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = value
    if start is not None:
        parts.append(str(start) if start == previous else f"{start}-{previous}")
    return ",".join(parts)


def range_list(values: Iterable[int]) -> list[str]:
    """As `ranges`, one text per run, the form of the contract's `[ranges]`."""
    text = ranges(values)
    return text.split(",") if text else []


def value_text(value: float) -> str | float:
    """JSON has no NaN: "NaN", "Inf", "-Inf", else the number itself."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Inf" if value > 0 else "-Inf"
    return value


def schema() -> dict[str, Any]:
    """JSON Schema of incident.json."""
    return msgspec.json.schema(Report)
