"""What goes wrong, and where: turns a `Fault` into altered programs and stop points for the engine."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from samples.simulator.engine import Faults
from samples.simulator.job import Job
from samples.simulator.program import Action, Call, Host, Kernel, Program, Sync, altered

Kind = Literal[
    "none", "rank_absent", "rank_died", "collective_mismatch", "deadlock_cycle", "kernel_stuck", "gpu_fault",
    "network_fault", "all_entered", "store_timeout", "slow",
]  # fmt: skip
KINDS: tuple[Kind, ...] = (
    "none", "rank_absent", "rank_died", "collective_mismatch", "deadlock_cycle", "kernel_stuck", "gpu_fault",
    "network_fault", "all_entered", "store_timeout", "slow",
)  # fmt: skip
# Which host action a rank sits in, by the site of the contract.
SITES: dict[str, str] = {
    "data_loading": "load",
    "storage_io": "load",
    "checkpoint_io": "checkpoint",
    "lock": "compute",
    "compile": "compute",
    "compute": "compute",
    "unresponsive": "compute",
    "gpu_sync": "sync",
    "logging": "log",
}
MISMATCHES = ("op", "size", "extra", "missing")
DEATHS = ("sigkill", "host_oom", "exception")


@dataclass(frozen=True, slots=True)
class Fault:
    """`ranks`: the culprits, drawn where empty. `site`: of an absent rank. `how`: op | size | extra | missing of a
    mismatch, sigkill | host_oom | exception of a death, alone | before of a GPU that stops (others finish the
    operation; it stops before it). `role`: the group that the fault hits, drawn where None. `step`: where
    None, the last, or for the sites at the end of a step the last but one. `pair`: hit a group of two."""

    kind: Kind = "none"
    ranks: tuple[int, ...] = ()
    site: str | None = None
    how: str | None = None
    role: str | None = None
    step: int | None = None
    pair: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The fault placed in the programs. `places`: (rank, index in its program). `hosts`: with a dead network."""

    fault: Fault
    programs: list[Program]
    originals: list[Program]
    faults: Faults
    culprits: tuple[int, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    hosts: tuple[str, ...] = ()
    site: str | None = None
    how: str | None = None
    step: int | None = None


def plan(job: Job, fault: Fault, originals: list[Program], rng: random.Random) -> Plan:
    """Raises ValueError where the job has no place for such a fault."""
    makers: dict[str, Callable[[_Placing], Plan]] = {
        "none": _nothing, "store_timeout": _store, "rank_absent": _absent, "rank_died": _died,
        "collective_mismatch": _mismatch, "deadlock_cycle": _cycle, "kernel_stuck": _stuck, "gpu_fault": _stuck,
        "network_fault": _network, "all_entered": _all_entered, "slow": _slow,
    }  # fmt: skip
    return makers[fault.kind](_Placing(job, fault, originals, rng))


@dataclass(frozen=True, slots=True)
class _Placing:
    job: Job
    fault: Fault
    originals: list[Program]
    rng: random.Random

    @property
    def step(self) -> int:
        return self.job.last_step if self.fault.step is None else self.fault.step

    def places(self, rank: int, wanted: Callable[[Action], bool]) -> list[int]:
        """Indices of wanted actions of the step that later communication depends on."""
        program = self.originals[rank]
        last = max((i for i, action in enumerate(program) if isinstance(action, Call)), default=-1)
        return [i for i in range(last + 1) if program[i].where.step == self.step and wanted(program[i])]

    def draw(self, wanted: Callable[[Action], bool]) -> tuple[int, int]:
        """A rank (the given one, else any) and a place in its program."""
        order = list(self.fault.ranks[:1]) or self.rng.sample(range(self.job.world), self.job.world)
        for rank in order:
            if found := self.places(rank, wanted):
                return rank, self.rng.choice(found)
        raise ValueError(f"the job has no place for {self.fault}")

    def collective(self, least: int, most: int = 1 << 30, joined: bool = True) -> tuple[int, int]:
        """A collective of a group of `least` to `most` members."""
        job, order = self.job, list(self.fault.ranks[:1]) or list(range(self.job.world))
        if not self.fault.ranks:
            self.rng.shuffle(order)
        for rank in order:
            sizes = {role: len(job.groups[index].members) for role, index in job.groups_of[rank].items()}

            def wanted(action: Action, sizes: dict[str, int] = sizes) -> bool:  # type: ignore[assignment]
                return (
                    isinstance(action, Call) and not action.transfers and (action.joined or not joined)
                    and least <= sizes[action.role] <= most and self.fault.role in (None, action.role)
                )  # fmt: skip

            if found := self.places(rank, wanted):
                roles = sorted({self.originals[rank][i].role for i in found})  # type: ignore[union-attr]
                role = self.rng.choice(roles)  # else the commonest group would always be hit
                return rank, self.rng.choice([i for i in found if self.originals[rank][i].role == role])  # type: ignore[union-attr]
        raise ValueError(f"the job has no place for {self.fault}")

    def done(self, faults: Faults, places: Sequence[tuple[int, int]], **more: object) -> Plan:
        programs = more.pop("programs", self.originals)
        culprits = tuple(sorted({rank for rank, _ in places}))
        return Plan(self.fault, programs, self.originals, faults, culprits, tuple(places), step=self.step, **more)  # type: ignore[arg-type]


def _nothing(at: _Placing) -> Plan:
    return Plan(at.fault, at.originals, at.originals, Faults())


def _store(at: _Placing) -> Plan:
    """Some ranks never reach the rendezvous; nothing else ever happens."""
    ranks = at.fault.ranks or (at.rng.randrange(1, at.job.world),)
    stopped = Faults(stops=dict.fromkeys(range(at.job.world), 0))
    return Plan(at.fault, at.originals, at.originals, stopped, ranks)


def _host_place(at: _Placing, site: str) -> list[tuple[int, int]]:
    def wanted(action: Action) -> bool:
        if SITES[site] == "sync":
            return isinstance(action, Sync) and action.what == "item"
        return isinstance(action, Host) and action.site == SITES[site]

    if len(at.fault.ranks) > 1:
        return [(rank, (at.places(rank, wanted) or [0])[0]) for rank in at.fault.ranks]
    return [at.draw(wanted)]


def _absent(at: _Placing) -> Plan:
    site = at.fault.site or at.rng.choice(["data_loading", "lock", "compile", "compute", "unresponsive"])
    if site not in SITES:
        raise ValueError(f"unknown site {site}")
    # Behind the last step's end no host waits, so these faults happen one step earlier.
    early = site in ("logging", "gpu_sync") and at.fault.step is None and at.job.steps > 1
    at = _Placing(at.job, _with_step(at.fault, at.job.last_step - 1), at.originals, at.rng) if early else at
    places = _host_place(at, site)
    return at.done(Faults(stops=dict(places)), places, site=site)


def _with_step(fault: Fault, step: int) -> Fault:
    return Fault(fault.kind, fault.ranks, fault.site, fault.how, fault.role, step, fault.pair)


def _died(at: _Placing) -> Plan:
    how = at.fault.how or at.rng.choice(DEATHS)
    places = _host_place(at, "compute")
    return at.done(Faults(stops=dict(places)), places, how=how)


def _changed(at: _Placing, rank: int, new: Program) -> list[Program]:
    programs = list(at.originals)
    programs[rank] = new
    return programs


def _mismatch(at: _Placing) -> Plan:
    rank, index = at.collective(2, 2) if at.fault.pair else at.collective(3)
    how = at.fault.how or at.rng.choice(MISMATCHES)
    program = list(at.originals[rank])
    call = program[index]
    assert isinstance(call, Call)
    if how == "missing":
        index = _removable(program, index, call.role)
        del program[index]
    elif how == "extra":
        size = ((3,), (3,))
        program.insert(index, Call(call.role, "all_reduce", call.where, size, "Float"))
    elif how == "op":
        other = "broadcast" if call.kind != "broadcast" else "all_reduce"
        program[index] = altered(call, kind=other)
    elif call.kind in ("all_to_all", "all_to_all_single"):
        raise ValueError("sizes of all_to_all differ by design")
    else:
        sizes = tuple((*shape[:-1], shape[-1] + 16) for shape in call.sizes)
        program[index] = altered(call, sizes=sizes)
    return at.done(Faults(), [(rank, index)], programs=_changed(at, rank, program), how=how)


def _removable(program: Program, near: int, role: str) -> int:
    """A call of the group whose successor there looks different, so that leaving it out shows at once."""
    calls = [(i, a) for i, a in enumerate(program) if isinstance(a, Call) and a.role == role and not a.transfers]
    pairs = [
        index
        for (index, one), (_, two) in pairwise(calls)
        if (one.kind, one.sizes, one.dtype) != (two.kind, two.sizes, two.dtype) and index >= near
    ]
    if not pairs:
        raise ValueError("every call of the group looks like its successor")
    return pairs[0]


def _cycle(at: _Placing) -> Plan:
    """Two calls in the other order on some ranks; their groups share at least two ranks."""
    job = at.job
    order = list(at.fault.ranks) or at.rng.sample(range(job.world), job.world)
    for rank in order:
        if pair := _swappable(at, rank):
            programs, ranks = list(at.originals), at.fault.ranks or (rank,)
            places = []
            for each in ranks:
                first, second = _swappable(at, each) or pair
                programs[each] = list(programs[each])
                programs[each][first], programs[each][second] = programs[each][second], programs[each][first]
                places.append((each, first))
            return at.done(Faults(), places, programs=programs)
    raise ValueError("no two groups share two ranks and are called in turn")


def _swappable(at: _Placing, rank: int) -> tuple[int, int] | None:
    groups, program = at.job.groups_of[rank], at.originals[rank]
    calls = at.places(rank, lambda a: isinstance(a, Call) and a.joined and not a.transfers)
    found = []
    for first, second in pairwise(calls):
        one, two = program[first], program[second]
        if any(isinstance(a, Call) for a in program[first + 1 : second]):
            continue
        assert isinstance(one, Call) and isinstance(two, Call)
        members = [set(at.job.groups[groups[call.role]].members) for call in (one, two)]
        if one.role != two.role and len(members[0] & members[1]) >= 2:
            found.append((first, second))
    return found[-1] if found else None


def _stuck(at: _Placing) -> Plan:
    rank, index = at.collective(2)
    how = at.fault.how or "alone"
    if how == "alone":
        return at.done(Faults(hung_here=frozenset({(rank, index)})), [(rank, index)], how=how)
    program = list(at.originals[rank])
    program.insert(index, Kernel(program[index].where))
    faults = Faults(hung_here=frozenset({(rank, index)}))
    return at.done(faults, [(rank, index + 1)], programs=_changed(at, rank, program), how=how)


def _all_entered(at: _Placing) -> Plan:
    place = at.collective(2)
    return at.done(Faults(hung_all=frozenset({place})), [place])


def _network(at: _Placing) -> Plan:
    """From some part of the step on, nothing that crosses the border of the host is finished."""
    job = at.job
    if len(job.hosts) < 2:
        raise ValueError("a network fault needs two hosts")
    host = job.host_index(at.fault.ranks[0]) if at.fault.ranks else at.rng.randrange(len(job.hosts))
    part = at.rng.random() * 0.7
    dead_from = {}
    for rank in range(job.world):
        if job.host_index(rank) == host:
            inside = [i for i, action in enumerate(at.originals[rank]) if action.where.step == at.step]
            dead_from[rank] = inside[int(part * len(inside))]
    faults = Faults(dead_hosts=frozenset({host}), dead_from=dead_from)
    return Plan(at.fault, at.originals, at.originals, faults, hosts=(job.hosts[host],), step=at.step)


def _slow(at: _Placing) -> Plan:
    """One host needs far longer for everything, but comes along."""
    rank = at.fault.ranks[0] if at.fault.ranks else at.rng.randrange(at.job.world)
    return Plan(at.fault, at.originals, at.originals, Faults(slow={rank: 6.0}), (rank,), step=at.step)
