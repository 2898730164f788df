"""Case: the evidence plus all that was inferred from it once; immutable, handed to every detector."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import polars as pl
from msgspec.structs import replace

from forensics.assemble.who.identity import HIGHEST_RANK
from forensics.model.expected import NOTHING_EXPECTED, Expected
from forensics.model.hosts import hosts_of_ranks
from forensics.model.names import SymptomKind
from forensics.model.tolerances import BUILT_IN, Tolerances
from parsers.schema.tables import TableName

if TYPE_CHECKING:
    from forensics.assemble.who.clocks import Clocks
    from forensics.facts.durations.checkpoints import Checkpoints
    from forensics.facts.durations.outliers import SlowPhases
    from forensics.facts.durations.roles import Roles
    from forensics.facts.durations.spent import Spent
    from forensics.facts.ends.failure_roles import FailureRole
    from forensics.facts.ends.origins import Origins
    from forensics.facts.ends.process_ends import ProcessEnd
    from forensics.facts.figures.lost_parts import LostPart
    from forensics.facts.figures.odd_values import OddValue
    from forensics.facts.hosts.anomaly_window import AnomalyWindow
    from forensics.facts.hosts.flaps import Flap
    from forensics.facts.hosts.hardware import Record
    from forensics.facts.hosts.pair_links import PairLinks
    from forensics.facts.hosts.telemetry import Apart
    from forensics.facts.rows.event_rows import Row
    from forensics.facts.rows.locations import Locations
    from forensics.facts.waits.memberships import Memberships
    from forensics.facts.waits.states import States
    from forensics.facts.waits.time_witness import TimeWitness
    from forensics.graph.hang.roots import Roots
    from forensics.graph.hang.waits import Waits
    from forensics.graph.slow.shares import Replays, Shares
    from forensics.model.commands import Surroundings
    from forensics.model.finding import Finding


class Case(msgspec.Struct, frozen=True, dict=True):
    """One attempt of the job.

    `tables`: rows of this attempt only, ranks made global where they could be. Every fact is inferred, and its module loaded, when it is first asked for.
    """

    tables: Mapping[TableName, pl.DataFrame]
    attempt: int = 0
    expected: frozenset[int] = frozenset()  # ranks the job should have; empty = unknown
    seen: frozenset[int] = frozenset()  # ranks with a record of their own (not merely named by others)
    unread: frozenset[int] = frozenset()  # of these, the ones of whose record no word is understood
    identity: pl.DataFrame = msgspec.field(default_factory=pl.DataFrame)  # identity.SCHEMA
    known_bad: frozenset[str] = frozenset()
    topology: Mapping[str, int] = msgspec.field(default_factory=dict)  # user's --topology
    has_baseline: bool = False  # the bundle holds an earlier attempt
    steps_before: pl.DataFrame = msgspec.field(default_factory=pl.DataFrame)  # table `steps` of the attempt before
    world_from: str | None = None  # how the size of the job was learnt
    hung: bool = False  # the person says that the job made no progress when this was taken
    tolerances: Tolerances = BUILT_IN  # what the person allows figures to differ
    wanted: Expected = NOTHING_EXPECTED  # what the person expects of a step
    known_lines: frozenset[str] = frozenset()  # templates of lines that earlier attempts printed, too

    @property
    def ended_well(self) -> bool:
        """Whether every rank of the job says so itself, or every launcher says it of all that it started."""
        if self.ended_agents:
            return True
        job = self.expected | self.seen
        return bool(job) and all(rank in self.ends and self.ends[rank].how == "ended" for rank in job)

    @property
    def is_world_told(self) -> bool:
        """Is the size of the job stated, and not only the highest of its ranks seen?"""
        return bool(self.expected) and self.world_from != HIGHEST_RANK

    @property
    def job_told_of(self) -> frozenset[int]:
        """The ranks of the job; where its size is not told, those that left a record: who is between may never have been."""
        return self.expected if self.is_world_told else self.seen

    @cached_property
    def events(self) -> pl.DataFrame:
        """Events without errors that were outlived (facts/ends/recovered_errors.py), of bad figures of evaluations what all ranks tell."""
        from forensics.facts.ends.recovered_errors import unrecovered
        from forensics.facts.figures.evaluations import without_evaluations

        return without_evaluations(unrecovered(self.tables["events"]), self.tables["steps"], self.job_told_of)

    @cached_property
    def around(self) -> "Surroundings":
        """Who started the job, and whose devices it runs on (facts/hosts/surroundings.py)."""
        from forensics.facts.hosts.surroundings import surroundings

        return surroundings(self.tables)

    @cached_property
    def clocks(self) -> "Clocks":
        """How the clocks of hosts differ (assemble/who/clocks.py)."""
        from forensics.assemble.who.clocks import clocks_of

        return clocks_of(self.tables, self.identity)

    @cached_property
    def stacks(self) -> pl.DataFrame:
        """Where each process stood (facts/waits/stacks.py)."""
        from forensics.facts.waits.stacks import main_stacks

        return main_stacks(self.tables)

    @cached_property
    def states(self) -> "States":
        """What flight records show of every member of an open operation (facts/waits/states.py)."""
        from forensics.facts.waits.later_steps import without_outdated
        from forensics.facts.waits.states import reconcile

        return without_outdated(reconcile(self.tables, self.expected), self.tables, self.events)

    @cached_property
    def ends(self) -> "Mapping[int, ProcessEnd]":
        """Rank → how its process ended (facts/ends/process_ends.py, facts/ends/giving_up.py, facts/ends/failure_roles.py)."""
        from forensics.facts.ends.failure_roles import with_roles
        from forensics.facts.ends.killed_programs import after_kills
        from forensics.facts.ends.killed_servers import after_servers
        from forensics.facts.ends.reset_victims import after_resets

        ends = after_resets(with_roles(self._ends_as_told, self.failure_roles), self.hardware)
        ends = after_servers(ends) if self.killed_servers else ends
        return after_kills(ends, self.killed_programs, self.tables["files"]) if self.killed_programs else ends

    @cached_property
    def killed_programs(self) -> "tuple[Record, ...]":
        """Kernels' words that processes of no rank were killed (facts/ends/killed_programs.py)."""
        from forensics.facts.ends.killed_programs import killed_programs

        return killed_programs(self.hardware, self.tables["ranks"], self.identity)

    @cached_property
    def killed_servers(self) -> "tuple[Record, ...]":
        """Kernels' words that a process of no rank was killed which all ranks lost (facts/ends/killed_servers.py)."""
        from forensics.facts.ends.killed_servers import killed_servers

        if not any(one.kind == "host_oom" for one in self._recorded):
            return ()
        roles = self.failure_roles
        return killed_servers(self._recorded, self._ends_as_told, roles, self.events, self.tables, self.identity)

    @cached_property
    def _ends_as_told(self) -> "Mapping[int, ProcessEnd]":
        from forensics.facts.ends.ended_at_rest import with_ended_at_rest
        from forensics.facts.ends.giving_up import giving_up, in_order
        from forensics.facts.ends.killed_pods import with_killed_pods
        from forensics.facts.ends.killed_running import with_killed_running
        from forensics.facts.ends.listed_pods import with_listed_pods
        from forensics.facts.ends.process_ends import process_ends, standing, stopped_rest
        from forensics.facts.ends.stopped_pods import with_stopped_pods
        from forensics.facts.waits.held_processes import with_dead

        ends = standing(process_ends(self.events, stopped_rest(self.events, self.expected)))
        ends = with_dead(in_order(ends, giving_up(self.events, self.identity, self.clocks)), self.tables)
        ends = with_killed_pods(ends, self.events, self.waited_ranks, self.anomaly_window, self.expected)
        ends = with_listed_pods(ends, self.events, self.tables, self.waited_ranks, self.expected)
        ends = with_killed_running(ends, self.events, self.tables, self.expected or self.seen)
        ends = with_stopped_pods(ends, self.events, self.expected or self.seen)
        return with_ended_at_rest(ends, self.stacks, self.tables)

    @cached_property
    def failure_roles(self) -> "Mapping[int, FailureRole]":
        """Rank → whose failure ended its process (facts/ends/failure_roles.py)."""
        from forensics.facts.ends.failure_roles import as_own, failure_roles, sole_failure

        held = frozenset(self.states.open["rank"].to_list())
        ends = self._ends_as_told
        lines = dict(self.tables["files"].select("file", "lines").drop_nulls().iter_rows())
        roles = failure_roles(ends, self.events, self.stacks, self.expected or self.seen, held, self.job_hosts, lines)
        sole = sole_failure(roles, ends, self.expected if self.is_world_told else frozenset())
        # Where a kernel or a driver complains, what a library did not expect may follow from that.
        is_clean = sole is not None and not any(one.is_complaint_of_host for one in self._recorded)
        return as_own(roles, sole) if sole is not None and is_clean else roles

    @cached_property
    def asked_in_vain(self) -> "Mapping[int, frozenset[str]]":
        """Rank → hosts that were lost, whose silence ended it by its own words (facts/ends/lost_hosts.py)."""
        from forensics.facts.ends.lost_hosts import asked_in_vain

        return asked_in_vain(self.ends, self.events)

    @cached_property
    def origins(self) -> "Origins | None":
        """Who failed by itself first (facts/ends/origins.py)."""
        from forensics.facts.ends.origins import Around, origins, scheduled_stop, told_to_stop
        from forensics.facts.hosts.hardware import device_records

        singled = frozenset(rank for rank in self.failure_roles if device_records(self.hardware, rank))
        waited = self.waited_ranks | frozenset(self.states.open["rank"].to_list())
        stop = scheduled_stop(self.events, self.job_hosts)
        beside = (self.host_of_rank, self.clocks, stop, told_to_stop(self.events))
        around = Around(self.failure_roles, self.expected or self.seen, waited, singled, *beside)
        return origins(self.ends, around)

    @cached_property
    def ended_agents(self) -> "tuple[Row, ...]":
        """The word of every launcher that all its processes ended well (facts/ends/ended_agents.py)."""
        from forensics.facts.ends.ended_agents import ended_agents

        return ended_agents(self.tables, self.events)

    @cached_property
    def waits(self) -> "Waits":
        """The rank-dependency graph (graph/hang/waits.py)."""
        from forensics.graph.hang.waits import build

        gave_up, dead, ended = (
            frozenset(rank for rank, end in self.ends.items() if end.how in hows)
            for hows in (("gave_up", "lost"), ("died",), ("ended",))
        )
        return build(self.states, self.stacks, self.expected | self.seen, gave_up, dead, ended)

    @cached_property
    def roots(self) -> "Roots":
        """What everything else in the graph waits for (graph/hang/roots.py)."""
        from forensics.graph.hang.roots import find

        return find(self.waits)

    @cached_property
    def host_of_rank(self) -> dict[int, str]:
        """Rank → host, of the ranks whose host is known."""
        return hosts_of_ranks(self.identity)

    def hosts_of(self, finding: "Finding") -> frozenset[str]:
        """The hosts that a finding is about: as it says, else those of its ranks."""
        return finding.places or frozenset(host for rank, host in self.host_of_rank.items() if rank in finding.subjects)

    @cached_property
    def job_hosts(self) -> frozenset[str]:
        """Hosts that processes of the job spoke from (facts/rows/places.py)."""
        from forensics.facts.rows.places import job_hosts

        return job_hosts(self.tables, self.identity)

    @cached_property
    def locations(self) -> "Locations":
        """What hosts share: racks, switches (facts/rows/locations.py)."""
        from forensics.facts.rows.locations import Locations

        return Locations(self.tables["locations"], self.job_hosts)

    @cached_property
    def pair_links(self) -> "PairLinks":
        """How the devices of each host are linked (facts/hosts/pair_links.py)."""
        from forensics.facts.hosts.pair_links import PairLinks

        return PairLinks(self.tables["devices"])

    @cached_property
    def hardware(self) -> "tuple[Record, ...]":
        """Every record of hardware with what decides whether it counts (facts/hosts/hardware.py)."""
        lost = self.killed_servers
        return tuple(replace(one, on_job=True, is_its=True) if one in lost else one for one in self._recorded)

    @cached_property
    def _recorded(self) -> "tuple[Record, ...]":
        """The same, before it is known whether ranks lost a process that a kernel killed."""
        from forensics.facts.hosts.hardware import hardware

        return hardware(self.events, self.tables, self.identity, self.anomaly_window, self.job_hosts)

    @cached_property
    def blocked(self) -> "tuple[Row, ...]":
        """What kernels say of blocked tasks and storage that does not answer, but for what is of another time."""
        from forensics.facts.ends.storage_waits import COMPLAINTS

        told = (one for one in self.hardware if one.kind in COMPLAINTS and one.counts)
        return tuple(one.row for one in told if one.severity in ("error", "fatal"))

    @cached_property
    def flaps(self) -> "tuple[Flap, ...]":
        """How often and for how long links were down (facts/hosts/flaps.py)."""
        from forensics.facts.hosts.flaps import flaps

        return tuple(flaps(self.hardware))

    @cached_property
    def time_witness(self) -> "TimeWitness":
        """What shows that the job stood still for long, or that it went on (facts/waits/time_witness.py)."""
        from forensics.facts.waits.time_witness import time_witness

        return time_witness(self.tables, self.events, self.states.open, self.stacks, self.ends)

    @cached_property
    def anomaly_window(self) -> "AnomalyWindow":
        """When the anomaly began, per clock (facts/hosts/anomaly_window.py)."""
        from forensics.facts.hosts.anomaly_window import AnomalyWindow

        return AnomalyWindow(self.events, self.tables, self.identity, self.clocks, self.states.open)

    @cached_property
    def checkpoints(self) -> "Checkpoints":
        """What is said of checkpoints, and which are complete (facts/durations/checkpoints.py)."""
        from forensics.facts.durations.checkpoints import checkpoints

        return checkpoints(self.events)

    @cached_property
    def lost_parts(self) -> "tuple[LostPart, ...]":
        """Parts of checkpoints that were never stored (facts/figures/lost_parts.py)."""
        from forensics.facts.figures.lost_parts import lost_parts

        return lost_parts(self.tables["events"], self.checkpoints)

    @cached_property
    def spent(self) -> "Spent":
        """Where the time went (facts/durations/spent.py)."""
        from forensics.facts.durations.spent import spent

        return spent(self.tables, self.events, self.attempt)

    @cached_property
    def pace(self) -> tuple[str, ...]:
        """How long a step takes, beside what it should (facts/durations/pace.py)."""
        from forensics.facts.durations.pace import pace

        return tuple(pace(self.tables, len(self.expected) if self.is_world_told else 0, self.spent, self.wanted))

    @cached_property
    def memberships(self) -> "Memberships":
        """Groups, their members, and ranks within them made global (facts/waits/memberships.py)."""
        from forensics.facts.waits.memberships import Memberships

        return Memberships(self.tables, self.expected, self.seen)

    @cached_property
    def positions(self) -> pl.DataFrame:
        """Who stands at which call, a row per statement (facts/waits/positions.py)."""
        from forensics.facts.waits.positions import positions

        return positions(self.tables, self.events, self.expected, self.states, self.stacks, self.memberships)

    @cached_property
    def coordinates(self) -> Mapping[int, Mapping[str, int]]:
        """Rank → axis → index in the parallel layout (assemble/who/topology.py)."""
        from forensics.assemble.who.topology import coordinates

        return coordinates(self.identity, self.expected | self.seen, self.topology)

    @cached_property
    def roles(self) -> "Roles":
        """Which ranks do the same work (facts/durations/roles.py)."""
        from forensics.facts.durations.roles import Roles

        return Roles(self.tables, self.coordinates, self.expected | self.seen)

    @cached_property
    def is_data_parallel(self) -> bool:
        """Are the values that a rank computes its own alone, before gradients are averaged?"""
        from forensics.facts.figures.own_values import is_data_parallel

        return is_data_parallel(self.tables, self.job_told_of)

    @cached_property
    def loss_mates(self) -> tuple[frozenset[int], ...]:
        """The ranks in parts that each print one loss (facts/figures/own_values.py); none where they do not."""
        from forensics.facts.figures.own_values import mates

        return mates(self.tables, self.job_told_of)

    @cached_property
    def odd_value(self) -> "OddValue | None":
        """Whose figure went bad alone, or who gave a bad one for good ones (facts/figures/odd_values.py, given_out.py, passed_on.py)."""
        from forensics.facts.figures.passed_on import lost_first

        return lost_first(self.tables, self.job_told_of)

    @cached_property
    def phase_times(self) -> pl.DataFrame:
        """How long each rank took for what in each step (facts/durations/phase_times.py)."""
        from forensics.facts.durations.phase_times import phase_times

        return phase_times(self.tables, self.roles)

    @cached_property
    def slow_phases(self) -> "SlowPhases":
        """Who stands out among its peers, and in what (facts/durations/outliers.py)."""
        from forensics.facts.durations.outliers import slow_phases

        return slow_phases(self.phase_times)

    @cached_property
    def replays(self) -> "Replays | None":
        """The steps as they can be replayed (graph/slow/shares.py); None where nobody says when an operation began."""
        if not self.tables["timings"]["start_ms"].is_not_null().any():
            return None
        from forensics.graph.slow.shares import Replays, operations_of

        return Replays(operations_of(self.tables["timings"]), self.coordinates, self.host_of_rank)

    @property
    def shares(self) -> "Shares | None":
        """What the time of slow steps is lost to, by replay."""
        return self.replays.shares if self.replays is not None else None

    @cached_property
    def apart(self) -> "tuple[Apart, ...]":
        """Devices and ports that stand apart from their peers in what was measured of them (facts/hosts/telemetry.py)."""
        from forensics.facts.hosts.telemetry import apart

        return apart(self.tables, self.identity, self.roles)

    @cached_property
    def out_of_reach(self) -> pl.DataFrame:
        """Hosts that listen where no other host can reach them, and where (facts/hosts/interfaces.py)."""
        from forensics.facts.hosts.interfaces import out_of_reach

        return out_of_reach(self.tables)

    @cached_property
    def has_begun(self) -> bool:
        """Had the run come past its start (facts/durations/progress.py)?"""
        from forensics.facts.durations.progress import has_begun

        return has_begun(self.tables, self.events)

    def step_in_progress(self, rank: int | None = None, at: int | None = None) -> int | None:
        """The step that was under way, by what the rank itself or most ranks print (facts/durations/progress.py)."""
        from forensics.facts.durations.progress import step_in_progress

        return step_in_progress(self.tables["steps"], rank, at)

    @property
    def has_open_operations(self) -> bool:
        """Do flight records show operations that never ended? Then the graph tells more than lines do."""
        return self.states.open.height > 0

    @cached_property
    def has_waited(self) -> bool:
        """Did ranks wait for others until a timeout, or do records show them waiting?"""
        return bool(self.events["kind"].is_in(["collective_timeout", "desync"]).any()) or self.has_open_operations

    @cached_property
    def waited_ranks(self) -> frozenset[int]:
        """Ranks whose own watchdog gave up on others."""
        from forensics.facts.ends.waiting import waited_ranks

        return waited_ranks(self.events)

    @cached_property
    def aborted_ranks(self) -> frozenset[int]:
        """Everybody of the job, where no line says that anybody waited and every process aborted; else nobody."""
        aborted = frozenset(rank for rank, end in self.ends.items() if (end.how, end.code) == ("failed", "SIGABRT"))
        return aborted if aborted >= self.expected and aborted and not self.has_waited else frozenset()

    @cached_property
    def is_only_about_hosts(self) -> bool:
        """Does every file speak of hosts and devices alone (facts/rows/places.py)?"""
        from forensics.facts.rows.places import is_only_about_hosts

        return is_only_about_hosts(self.tables, self.events, self.seen)


class Detector(msgspec.Struct, frozen=True):
    """One question about a case. Pure: no files, no clock, no chance; row order must not matter."""

    name: str  # the fault in plain words: "never_entered", "deadlock_cycle"
    needs: tuple[TableName, ...]  # without rows in all of them it is reported as not run
    ask: "Callable[[Case], tuple[Finding, ...]]"
    about: SymptomKind | None = None  # the question; None: a hint that explains nothing

    def detect(self, case: Case) -> "tuple[Finding, ...]":
        """What it finds in a case, in its name."""
        return tuple(replace(found, detector=self.name) for found in self.ask(case))
