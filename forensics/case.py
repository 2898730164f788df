"""Case: the evidence plus all that was inferred from it once; immutable, handed to every detector."""

from collections.abc import Callable, Mapping
from functools import cached_property

import msgspec
import polars as pl

from forensics.assemble.clocks import Clocks
from forensics.assemble.identity import HIGHEST_RANK, hosts_of_ranks
from forensics.assemble.topology import coordinates
from forensics.facts.anomaly_window import AnomalyWindow
from forensics.facts.checkpoints import Checkpoints, checkpoints
from forensics.facts.flaps import Flap, flaps
from forensics.facts.hardware import Record, hardware
from forensics.facts.locations import Locations
from forensics.facts.memberships import Memberships
from forensics.facts.outliers import SlowPhases, slow_phases
from forensics.facts.own_values import is_data_parallel
from forensics.facts.pace import pace
from forensics.facts.pair_links import PairLinks
from forensics.facts.phase_times import phase_times
from forensics.facts.places import is_only_about_hosts, job_hosts
from forensics.facts.positions import positions
from forensics.facts.process_ends import ProcessEnd
from forensics.facts.progress import has_begun
from forensics.facts.recovered_errors import unrecovered
from forensics.facts.roles import Roles
from forensics.facts.spent import Spent, spent
from forensics.facts.states import States
from forensics.facts.telemetry import Apart, apart
from forensics.facts.time_witness import TimeWitness, time_witness
from forensics.facts.waiting import waited_ranks
from forensics.graph.hang.roots import Roots
from forensics.graph.hang.waits import Waits
from forensics.model.expected import NOTHING_EXPECTED, Expected
from forensics.model.finding import Finding
from forensics.model.names import SymptomKind
from forensics.model.tolerances import BUILT_IN, Tolerances
from parsers.tables import TableName


class Case(msgspec.Struct, frozen=True, dict=True):
    """One attempt of the job.

    `tables`: the evidence tables, rows of this attempt only, ranks made global where they could be.
    `states`, `waits`, `roots`: the rank-dependency graph, None where nothing was recorded.
    """

    tables: Mapping[TableName, pl.DataFrame]
    attempt: int = 0
    expected: frozenset[int] = frozenset()  # ranks the job should have; empty = unknown
    seen: frozenset[int] = frozenset()  # ranks with a record of their own (not merely named by others)
    identity: pl.DataFrame = msgspec.field(default_factory=pl.DataFrame)  # identity.SCHEMA
    ends: Mapping[int, ProcessEnd] = msgspec.field(default_factory=dict)
    states: States | None = None
    stacks: pl.DataFrame = msgspec.field(default_factory=pl.DataFrame)  # facts.stacks.main_stacks
    waits: Waits | None = None
    roots: Roots | None = None
    known_bad: frozenset[str] = frozenset()
    topology: Mapping[str, int] = msgspec.field(default_factory=dict)  # user's --topology
    clocks: Clocks = msgspec.field(default_factory=Clocks)
    has_baseline: bool = False  # the bundle holds an earlier attempt
    world_from: str | None = None  # how the size of the job was learnt
    hung: bool = False  # the person says that the job made no progress when this was taken
    tolerances: Tolerances = BUILT_IN  # what the person allows figures to differ
    wanted: Expected = NOTHING_EXPECTED  # what the person expects of a step
    known_lines: frozenset[str] = frozenset()  # templates of lines that earlier attempts printed, too

    @property
    def ended_well(self) -> bool:
        """Whether every rank of the job says so itself."""
        job = self.expected | self.seen
        return bool(job) and all(rank in self.ends and self.ends[rank].how == "ended" for rank in job)

    @property
    def is_world_told(self) -> bool:
        """Is the size of the job stated, and not only the highest of its ranks seen?"""
        return bool(self.expected) and self.world_from != HIGHEST_RANK

    @property
    def job_told_of(self) -> frozenset[int]:
        """The ranks of the job; where its size is not told, those that left a record: the highest rank seen tells the least
        size only, and who is between may never have been."""
        return self.expected if self.is_world_told else self.seen

    @cached_property
    def events(self) -> pl.DataFrame:
        """Events without the errors that their printers outlived (facts/recovered_errors.py)."""
        return unrecovered(self.tables["events"])

    @cached_property
    def host_of_rank(self) -> dict[int, str]:
        """Rank → host, of the ranks whose host is known."""
        return hosts_of_ranks(self.identity)

    @cached_property
    def job_hosts(self) -> frozenset[str]:
        """Hosts that processes of the job spoke from (facts/places.py)."""
        return job_hosts(self.tables, self.identity)

    @cached_property
    def locations(self) -> Locations:
        """What hosts share: racks, switches (facts/locations.py)."""
        return Locations(self.tables["locations"], self.job_hosts)

    @cached_property
    def pair_links(self) -> PairLinks:
        """How the devices of each host are linked (facts/pair_links.py)."""
        return PairLinks(self.tables["devices"])

    @cached_property
    def hardware(self) -> tuple[Record, ...]:
        """Every record of hardware with what decides whether it counts (facts/hardware.py)."""
        return hardware(self.events, self.tables, self.identity, self.anomaly_window, self.job_hosts)

    @cached_property
    def flaps(self) -> tuple[Flap, ...]:
        """How often and for how long links were down (facts/flaps.py)."""
        return tuple(flaps(self.hardware))

    @cached_property
    def time_witness(self) -> TimeWitness:
        """What shows that the job stood still for long, or that it went on (facts/time_witness.py)."""
        opened = self.states.open if self.states is not None else None
        return time_witness(self.tables, self.events, opened, self.stacks)

    @cached_property
    def anomaly_window(self) -> AnomalyWindow:
        """When the anomaly began, per clock (facts/anomaly_window.py)."""
        opened = self.states.open if self.states is not None else None
        return AnomalyWindow(self.events, self.tables, self.identity, self.clocks, opened)

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """What is said of checkpoints, and which are complete (facts/checkpoints.py)."""
        return checkpoints(self.events)

    @cached_property
    def spent(self) -> Spent:
        """Where the time went (facts/spent.py)."""
        return spent(self.tables, self.events, self.attempt)

    @cached_property
    def pace(self) -> tuple[str, ...]:
        """How long a step takes, beside what it should (facts/pace.py)."""
        return tuple(pace(self.tables, len(self.expected) if self.is_world_told else 0, self.spent, self.wanted))

    @cached_property
    def memberships(self) -> Memberships:
        """Groups, their members, and ranks within them made global (facts/memberships.py)."""
        return Memberships(self.tables, self.expected, self.seen)

    @cached_property
    def positions(self) -> pl.DataFrame:
        """Who stands at which call, a row per statement (facts/positions.py)."""
        return positions(self.tables, self.events, self.expected, self.states, self.stacks, self.memberships)

    @cached_property
    def coordinates(self) -> Mapping[int, Mapping[str, int]]:
        """Rank → axis → index in the parallel layout (assemble/topology.py)."""
        return coordinates(self.identity, self.expected | self.seen, self.topology)

    @cached_property
    def roles(self) -> Roles:
        """Which ranks do the same work (facts/roles.py)."""
        return Roles(self.tables, self.coordinates, self.expected | self.seen)

    @cached_property
    def is_data_parallel(self) -> bool:
        """Are the values that a rank computes its own alone, before gradients are averaged?"""
        return is_data_parallel(self.tables, self.job_told_of)

    @cached_property
    def phase_times(self) -> pl.DataFrame:
        """How long each rank took for what in each step (facts/phase_times.py)."""
        return phase_times(self.tables, self.roles)

    @cached_property
    def slow_phases(self) -> SlowPhases:
        """Who stands out among its peers, and in what (facts/outliers.py)."""
        return slow_phases(self.phase_times)

    @cached_property
    def apart(self) -> tuple[Apart, ...]:
        """Devices and ports that stand apart from their peers in what was measured of them (facts/telemetry.py)."""
        return apart(self.tables, self.identity, self.roles)

    @cached_property
    def has_begun(self) -> bool:
        """Had the run come past its start (facts/progress.py)?"""
        return has_begun(self.tables, self.events)

    @property
    def has_open_operations(self) -> bool:
        """Do flight records show operations that never ended? Then the graph tells more than lines do."""
        return self.states is not None and self.states.open.height > 0

    @cached_property
    def has_waited(self) -> bool:
        """Did ranks wait for others until a timeout, or do records show them waiting?"""
        return bool(self.events["kind"].is_in(["collective_timeout", "desync"]).any()) or self.has_open_operations

    @cached_property
    def waited_ranks(self) -> frozenset[int]:
        """Ranks whose own watchdog gave up on others."""
        return waited_ranks(self.events)

    @cached_property
    def aborted_ranks(self) -> frozenset[int]:
        """Everybody of the job, where no line says that anybody waited and every process aborted; else nobody."""
        aborted = frozenset(rank for rank, end in self.ends.items() if (end.how, end.code) == ("failed", "SIGABRT"))
        return aborted if aborted >= self.expected and aborted and not self.has_waited else frozenset()

    @cached_property
    def is_only_about_hosts(self) -> bool:
        """Does every file speak of hosts and devices alone (facts/places.py)?"""
        return is_only_about_hosts(self.tables, self.events, self.seen)


class Detector(msgspec.Struct, frozen=True):
    """One question about a case. Pure: no files, no clock, no chance; row order must not matter."""

    name: str  # the fault in plain words: "never_entered", "deadlock_cycle"
    needs: tuple[TableName, ...]  # without rows in all of them it is reported as not run
    detect: Callable[[Case], tuple[Finding, ...]]
    about: SymptomKind | None = None  # the question; None: a hint that explains nothing
