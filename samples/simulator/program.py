"""What a host does in a training step, as a list of actions.

Ranks of one class (stage, first of its tensor group or not) share one list; the engine binds roles to groups.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from samples.simulator.job import Job, Role

HIDDEN, TOKENS, BUCKET = 5120, 2048, 1_048_576
Transfer = tuple[Literal["send", "recv"], int]  # direction, stage of the other end
Site = Literal["load", "compute", "log", "checkpoint", "optimizer"]


@dataclass(frozen=True, slots=True)
class Where:
    """The place in the training loop."""

    step: int
    phase: str  # load | forward | backward | grads | optimizer | log | checkpoint
    microbatch: int | None = None
    chunk: int | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """Work of the host without the GPU: the place where a rank may never come back from."""

    site: Site
    where: Where
    ms: float = 0.05


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the communication library. `joined`: the compute stream waits for it. `transfers`: for
    point-to-point, (direction, stage of the other end); `batched` puts them into one kernel."""

    role: Role
    kind: str
    where: Where
    sizes: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    dtype: str = "BFloat16"
    joined: bool = True
    transfers: tuple[Transfer, ...] = ()
    batched: bool = False

    @property
    def stream(self) -> tuple[str | int, ...]:
        if self.transfers and not self.batched:
            return (self.role, *self.transfers[0])
        return (self.role,)


@dataclass(frozen=True, slots=True)
class Join:
    """The compute stream waits for all that one role's streams have been given."""

    role: Role
    where: Where


@dataclass(frozen=True, slots=True)
class Sync:
    """The host waits until the compute stream is empty (`.item()`, `synchronize`)."""

    where: Where
    what: Literal["item", "p2p"] = "item"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of the compute stream that is not a communication; only put in where a fault needs it."""

    where: Where


Action = Host | Call | Join | Sync | Kernel
Program = list[Action]


@dataclass(frozen=True, slots=True)
class ProgramClass:
    """A class of ranks that share a program."""

    stage: int
    loads: bool


def program_class(job: Job, rank: int) -> ProgramClass:
    tp, _, stage = job.place(rank)
    return ProgramClass(stage, tp == 0 and stage in (0, job.pp - 1))


def build(job: Job, kind: ProgramClass) -> Program:
    """The whole program of one class of ranks."""
    actions: Program = []
    for step in range(job.first_step, job.first_step + job.steps):
        actions += _step(job, kind, step)
    return actions


def _step(job: Job, kind: ProgramClass, step: int) -> Iterator[Action]:
    yield from {"1f1b": _one_f_one_b, "interleaved": _interleaved, "zero3": _zero3}[job.schedule](job, kind, step)
    grads, after = Where(step, "grads"), Where(step, "optimizer")
    if job.dp > 1 and job.schedule != "zero3":
        shard = (BUCKET // job.dp,)
        for _ in range(2):
            yield Call("dp", "_reduce_scatter_base", grads, ((BUCKET,), shard), "Float", joined=False)
        yield Join("dp", grads)
    if job.pp > 1 and kind.stage in (0, job.pp - 1):
        yield Call("embedding", "all_reduce", grads, ((HIDDEN, 64), (HIDDEN, 64)), "Float")
    if job.world > 1:
        yield Call("world", "all_reduce", after, ((1,), (1,)), "Float")
    yield Sync(after)
    yield Host("optimizer", after)
    if job.dp > 1 and job.schedule != "zero3":
        yield Call("dp", "_all_gather_base", after, ((BUCKET // job.dp,), (BUCKET,)))
    yield Host("log", Where(step, "log"))
    if job.checkpoint_step == step:
        at = Where(step, "checkpoint")
        yield Sync(at)
        yield Host("checkpoint", at)
        yield Call("world", "all_reduce_barrier", at, ((1,), (1,)), "Byte")
        yield Sync(at)


def _load(job: Job, kind: ProgramClass, where: Where) -> Iterator[Action]:
    """The first of a tensor group reads a batch and broadcasts it; only the ends of the pipeline need data."""
    if kind.stage not in (0, job.pp - 1):
        return
    if kind.loads:
        yield Host("load", where)
    if job.tp > 1:
        yield Call("tp", "broadcast", where, ((1, 8192), (1, 8192)), "Long")


def _layers(job: Job, where: Where) -> Iterator[Action]:
    yield Host("compute", where)
    whole, part = (TOKENS, 1, HIDDEN), (TOKENS // job.tp, 1, HIDDEN)
    for _ in range(job.layers):
        if job.tp > 1:
            yield Call("tp", "_all_gather_base", where, (part, whole))
        if job.ep > 1:
            yield Call("ep", "all_to_all", where, ((TOKENS, HIDDEN), (TOKENS, HIDDEN)))
            yield Call("ep", "all_to_all", where, ((TOKENS, HIDDEN), (TOKENS, HIDDEN)))
        if job.tp > 1:
            yield Call("tp", "_reduce_scatter_base", where, (whole, part))


def _p2p(job: Job, where: Where, *transfers: Transfer) -> Iterator[Action]:
    """Batched: one kernel for all transfers. Else one call each, sends not waited for."""
    if not transfers:
        return
    size = ((TOKENS // job.tp, 1, HIDDEN),) * 2
    if job.batched and job.schedule == "1f1b":
        yield Call("pp", "coalesced", where, size, transfers=transfers, batched=True)
        if job.p2p_sync:
            yield Sync(where, "p2p")
        return
    for way, stage in transfers:
        yield Call("pp", way, where, size, joined=way == "recv", transfers=((way, stage),))


def _one_f_one_b(job: Job, kind: ProgramClass, step: int) -> Iterator[Action]:
    stage, total = kind.stage, job.microbatches
    back: list[Transfer] = [("recv", stage - 1)] if stage else []
    down: list[Transfer] = [("send", stage + 1)] if stage < job.pp - 1 else []
    up: list[Transfer] = [("send", stage - 1)] if stage else []
    ahead: list[Transfer] = [("recv", stage + 1)] if stage < job.pp - 1 else []
    warm = min(job.pp - stage - 1, total)

    def forward(index: int) -> Iterator[Action]:
        yield from _load(job, kind, Where(step, "load", index))
        yield from _layers(job, Where(step, "forward", index))

    for index in range(warm):
        yield from _p2p(job, Where(step, "forward", index), *back)
        yield from forward(index)
        yield from _p2p(job, Where(step, "forward", index), *down)
    steady = total - warm
    if steady:
        yield from _p2p(job, Where(step, "forward", warm), *back)
    for index in range(steady):
        yield from forward(warm + index)
        yield from _p2p(job, Where(step, "forward", warm + index), *down, *ahead)
        yield from _layers(job, Where(step, "backward", index))
        more = back if index < steady - 1 else []
        yield from _p2p(job, Where(step, "backward", index), *up, *more)
    for index in range(steady, total):
        yield from _p2p(job, Where(step, "backward", index), *ahead)
        yield from _layers(job, Where(step, "backward", index))
        yield from _p2p(job, Where(step, "backward", index), *up)


def _interleaved(job: Job, kind: ProgramClass, step: int) -> Iterator[Action]:
    """Each stage holds `chunks` parts of the model; the last stage hands over to the first of the next part."""
    stage, total = kind.stage, job.microbatches * job.chunks
    last = job.pp - 1
    before, behind = (stage - 1) % job.pp, (stage + 1) % job.pp

    def unit(number: int) -> tuple[int, int]:
        turn, inside = divmod(number, job.pp * job.chunks)
        return turn * job.pp + inside % job.pp, inside // job.pp

    def forward(number: int) -> Iterator[Action]:
        microbatch, chunk = unit(number)
        where = Where(step, "forward", microbatch, chunk)
        if stage or chunk:
            yield from _p2p(job, where, ("recv", before))
        if (stage == 0 and chunk == 0) or (stage == last and chunk == job.chunks - 1):
            yield from _load(job, kind, Where(step, "load", microbatch, chunk))
        yield from _layers(job, where)
        if stage < last or chunk < job.chunks - 1:
            yield from _p2p(job, where, ("send", behind))

    def backward(number: int) -> Iterator[Action]:
        microbatch, chunk = unit(number)
        chunk = job.chunks - 1 - chunk
        where = Where(step, "backward", microbatch, chunk)
        if stage < last or chunk < job.chunks - 1:
            yield from _p2p(job, where, ("recv", behind))
        yield from _layers(job, where)
        if stage or chunk:
            yield from _p2p(job, where, ("send", before))

    warm = min(total, (job.pp - stage - 1) * 2 + (job.chunks - 1) * job.pp)
    for number in range(warm):
        yield from forward(number)
    for number in range(total - warm):
        yield from forward(warm + number)
        yield from backward(number)
    for number in range(total - warm, total):
        yield from backward(number)
    yield Join("pp", Where(step, "backward"))


def _zero3(job: Job, kind: ProgramClass, step: int) -> Iterator[Action]:
    """Parameters are gathered before each layer, gradients scattered behind it without waiting."""
    if job.dp < 2:
        return
    shard, whole = (BUCKET // job.dp,), (BUCKET,)
    for index in range(job.microbatches):
        yield Host("load", Where(step, "load", index))
        forward, backward = Where(step, "forward", index), Where(step, "backward", index)
        yield Host("compute", forward)
        for _ in range(job.layers):
            yield Call("dp", "_all_gather_base", forward, (shard, whole))
        yield Host("compute", backward)
        for _ in range(job.layers):
            yield Call("dp", "_all_gather_base", backward, (shard, whole))
            yield Call("dp", "_reduce_scatter_base", backward, (whole, shard), "Float", joined=False)
    yield Join("dp", Where(step, "grads"))


def altered(call: Call, **changes: object) -> Call:
    """The same call with something else about it."""
    return replace(call, **changes)  # type: ignore[arg-type]
