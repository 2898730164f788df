"""What the page draws, so that reports compute nothing."""

from typing import Literal

import msgspec

from forensics.model.names import RankState
from forensics.model.ref import Ref


class TimelineItem(msgspec.Struct, frozen=True, kw_only=True):
    time_utc: str
    basis: str | None  # utc | local: local stamps have no zone and are shown as printed
    lane: Literal["culprit", "peers", "system"]
    label: str
    count: int  # cascades are folded: how many like this one
    ranks: str  # ranges
    ref: Ref | None


class GridCell(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks with equal state; drawn as one path per state, never one node per rank."""

    state: RankState
    ranks: str  # ranges


class GridHost(msgspec.Struct, frozen=True, kw_only=True):
    host: str
    ranks: str


class GraphNode(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: Literal["ranks", "operation"]
    label: str
    ranks: str  # ranges; of an operation: its members
    state: str  # of ranks: as GridCell; of an operation: open | mismatch | done
    detail: str


class GraphEdge(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    target: str
    label: str  # "in", "waits for", "absent", …
    certain: bool


class StackClass(msgspec.Struct, frozen=True, kw_only=True):
    site: str
    count: int
    ranks: str
    top: str  # innermost telling frame
    frames: list[str]  # innermost first
    ref: Ref | None


class CollectiveRow(msgspec.Struct, frozen=True, kw_only=True):
    group: str
    members: str
    seq: int | None
    ranks: str
    last_enqueued: int | None
    last_completed: int | None
    open_op: str | None
    mark: str | None  # "absent", "mismatch", …


class TensorRow(msgspec.Struct, frozen=True, kw_only=True):
    rank: int
    step: int | None
    microbatch: int | None
    phase: str | None
    module: str | None
    op: str | None
    tensor: str | None
    value: str
    role: str  # root | echo | infected | unobserved


class FirstBad(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks on which a module's values first turned bad in the same step; a cell of ranks × modules. Modules stand in the
    order in which they turned bad."""

    module: str
    step: int
    phase: str | None
    value: Literal["nan", "inf"]
    ranks: str  # ranges
    origin: bool  # the first anomaly is here


Who = Literal["culprit", "suspect", "peers", "job"]  # peers: the median of all other ranks


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A figure over the steps around the onset, thinned to what is drawn: at most 200 points, steps ascending."""

    what: Literal["absmax", "loss", "grad_norm", "loss_scale"]
    who: Who
    rank: int | None  # None: of the job, or of the peers together
    module: str | None  # of absmax
    tensor: str | None
    phase: str | None
    steps: list[int]
    values: list[float | str]  # "NaN", "Inf", "-Inf" as text
    onset: int | None  # step of the first anomaly
    limit: float | None  # absmax: the largest finite number of the tensor's format
    ref: Ref | None  # where the value at the onset stands, else the last one


class MeshAxis(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which the job is split: a rank's index on it is rank // stride % size."""

    name: str  # tp, pp, …, or what the group is called
    size: int
    stride: int


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """An operation as one rank recorded it."""

    start_utc: str  # began, else was enqueued
    end_utc: str | None  # None: not recorded
    label: str
    is_open: bool  # never completed


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks that stand alike, and the last operations of one of them."""

    state: RankState
    ranks: str  # ranges
    of: int  # whose record is drawn
    held: str  # the operation that it waits in, or ""
    spans: list[Span]
    stopped_utc: str | None  # of who is named or suspected: the last step or completed operation


class StepSpan(msgspec.Struct, frozen=True, kw_only=True):
    """An operation of a rank within a step, in milliseconds from the step's beginning."""

    start_ms: float
    end_ms: float
    kind: str
    sort: Literal["work", "host", "wait"]


class StepTrack(msgspec.Struct, frozen=True, kw_only=True):
    """What one rank did in the step."""

    rank: int
    stage: int | None
    is_culprit: bool
    spans: list[StepSpan]


class OneStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of middle length, operation by operation."""

    step: int
    ms: float
    tracks: list[StepTrack]  # by stage and rank
    ranks: int  # whose operations are known, drawn or not


class Votes(msgspec.Struct, frozen=True, kw_only=True):
    """A rank that stands out from its peers in one phase of the steps."""

    rank: int
    phase: str
    sort: Literal["slower", "late", "waits", "whole"]  # late: its wait is the shortest, so the others wait for it
    votes: int  # steps in which it stood out
    steps: int
    excess_ms: float
    level_ms: float  # the median of its peers
    peers: str = ""  # ranges: the group that it is compared with, the rank included


class HardwareRow(msgspec.Struct, frozen=True, kw_only=True):
    time_utc: str | None
    host: str | None
    pci: str | None
    ranks: str
    code: str | None
    text: str
    relation: str  # why it does or does not count
    ref: Ref | None


class LocationRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rack or switch, or several that hold the same hosts of the job."""

    places: list[str]  # "switch leaf-3"
    size: int
    hosts: list[str]  # the first 40
    asked: list[str]  # named or suspected
    apart: list[str]  # measured apart from their peers


class LinkMesh(msgspec.Struct, frozen=True, kw_only=True):
    """How the devices of hosts that are linked alike are linked; rows and columns in the order of `devices`."""

    hosts: list[str]  # the first 40
    size: int
    devices: list[str]
    links: list[list[str]]  # as printed; "" where not told
    gb_per_s: list[list[float | None]]  # from the row's device to the column's; the median of the hosts
    odd: list[str]  # pairs that are not linked as on other hosts


class Views(msgspec.Struct, frozen=True, kw_only=True):
    timeline: list[TimelineItem] = []
    grid: list[GridCell] = []
    hosts: list[GridHost] = []
    mesh: list[MeshAxis] = []  # the fastest first; empty where numbering and groups do not tell
    tracks: list[Track] = []
    votes: list[Votes] = []
    one_step: OneStep | None = None  # where operations tell their starts
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []
    stacks: list[StackClass] = []
    collectives: list[CollectiveRow] = []
    tensors: list[TensorRow] = []
    first_bad: list[FirstBad] = []
    series: list[Series] = []
    hardware: list[HardwareRow] = []
    links: list[LinkMesh] = []
    locations: list[LocationRow] = []  # of a bundle that holds a map of racks or switches
    notes: list[str] = []  # "showing 500 of 81,233 …": what was left out of a view
