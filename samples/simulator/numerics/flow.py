"""Runs a training job on tensors that are only a number and a flag, and writes down what hooks would have seen.

Each rank is a coroutine that hands its communications to `Flow`, which answers when all members have come. A NaN goes
where the data goes: truth is what happened, not what a rule says.
"""

from collections import deque
from collections.abc import Generator, Sequence
from typing import Any, Literal

from samples.simulator.job import Job
from samples.simulator.numerics.faults import Injections
from samples.simulator.numerics.model import NOBODY, Bad, Model, Tensor, merged, mixed
from samples.simulator.numerics.shapes import Comm, Row, Site, State

Program = Generator[Comm, list[Tensor], None]


class Flow:
    """`run()` fills `states`. `launch`: number of the launch; its parameters and batches differ from the others'."""

    def __init__(self, job: Job, model: Model, injections: Injections, steps: range, launch: int = 0) -> None:
        self.job, self.model, self.injections, self.steps, self.launch = job, model, injections, steps, launch
        self.states = [State() for _ in range(job.world)]
        self.losses: dict[int, Tensor] = {}
        self.norms: dict[int, Tensor] = {}
        self.skipped: set[int] = set()
        self._waiting: dict[Any, dict[int, Comm]] = {}
        self._mail: dict[Any, deque[Tensor]] = {}
        self._receivers: dict[Any, int] = {}

    def run(self, programs: Sequence[Program]) -> "Flow":
        """One program per rank."""
        ready: deque[tuple[int, list[Tensor] | None]] = deque((rank, None) for rank in range(self.job.world))
        while ready:
            rank, answer = ready.popleft()
            try:
                comm = programs[rank].send(answer) if answer is not None else next(programs[rank])
            except StopIteration:
                continue
            self._exchange(rank, comm, ready)
        assert not self._waiting and not self._receivers, "ranks wait for each other"
        return self

    # --- one rank --------------------------------------------------------------------------------------------------

    def compute(
        self, site: Site, given: list[Tensor], params: tuple[str, ...] = (), becomes: Bad | None = None
    ) -> Tensor:
        """One local operation: reads, computes, is tampered with, and is written down."""
        state = self.states[site.rank]
        held = [state.params[name] for name in params]
        made = merged([*given, *held])
        made = Tensor(mixed(site.module, site.op, made.content), made.bad, made.taint)
        if site.op in ("LayerNorm", "softmax", "Linear", "CrossEntropy") and made.bad:
            masked = site.op == "softmax" and made.bad == "-inf"
            made = made._replace(bad="" if masked else "nan")
        if site.op == "nan_to_num":
            made = made._replace(bad="", taint=NOBODY)
        if becomes is not None:
            made = made._replace(bad=becomes if not made.bad else made.bad)
        return self.injections.output(self.states, site, [*given, *held], made)

    def forward(
        self, site: Site, given: list[Tensor], params: tuple[str, ...] = (), becomes: Bad | None = None
    ) -> Tensor:
        made = self.compute(site, given, params, becomes)
        note = self.states[site.rank].rows.append
        for slot, tensor in enumerate(given):
            note(Row(site, "input" if len(given) == 1 else f"input.{slot}", tensor))
        for name in params:
            note(Row(site, f"param.{name.rsplit('.', 1)[1]}", self.states[site.rank].params[name]))
        note(Row(site, "output", made))
        return made

    def backward(self, site: Site, gradient: Tensor, saved: list[Tensor], params: tuple[str, ...] = ()) -> Tensor:
        """The gradient of the input; gradients of parameters are added up."""
        state = self.states[site.rank]
        spoiled = [
            tensor for tensor in (*saved, *(state.params[name] for name in params)) if tensor.bad in ("nan", "inf")
        ]
        if site.op in ("masked_fill", "softmax", "nan_to_num"):
            spoiled = [tensor for tensor in spoiled if tensor.bad == "nan"]
        whole = merged([gradient, *spoiled])
        made = Tensor(mixed(site.module, "grad", gradient.content), whole.bad and "nan", whole.taint, gradient.size)
        made = self.injections.output(self.states, site, [gradient, *spoiled], made)
        note = state.rows.append
        note(Row(site, "grad_output", gradient))
        note(Row(site, "grad_input", made))
        for name in params:
            own = Tensor(mixed(name, gradient.content), whole.bad and "nan", whole.taint, gradient.size)
            note(Row(site, f"param_grad.{name.rsplit('.', 1)[1]}", own))
            before = state.grads.get(name)
            state.grads[name] = own if before is None else merged([before, own])
        return made

    def optimizer(self, site: Site, name: str, gradient: Tensor) -> Tensor:
        """A parameter after the optimizer."""
        state = self.states[site.rank]
        before = state.params[name]
        whole = merged([before, gradient])
        made = Tensor(mixed("adam", before.content, gradient.content), whole.bad and "nan", whole.taint, before.size)
        made = self.injections.output(self.states, site, [before, gradient], made)
        leaf = name.rsplit(".", 1)[1]
        state.rows += [Row(site, f"grad_in.{leaf}", gradient), Row(site, f"param.{leaf}", made)]
        state.params[name] = made
        return made

    # --- communication ---------------------------------------------------------------------------------------------

    def _exchange(self, rank: int, comm: Comm, ready: "deque[tuple[int, list[Tensor] | None]]") -> None:
        state, kind = self.states[rank], comm.site.op
        if kind in ("send", "recv"):
            self._message(rank, comm, ready)
            return
        group = self.job.groups_of[rank][comm.role]
        number = state.counts[group, kind] = state.counts.get((group, kind), 0) + 1
        key = (group, state.counts.setdefault((group, "all"), 0))
        state.counts[group, "all"] += 1
        here = self._waiting.setdefault(key, {})
        here[rank] = comm
        members = self.job.groups[group].members
        if len(here) < len(members):
            return
        del self._waiting[key]
        given = {member: self.injections.sent(here[member]) for member in members}
        for at, member in enumerate(members):
            made = _received(kind, at, [given[other] for other in members], here[member])
            made = self.injections.received(self.states, here[member].site, members, list(given.values()), made)
            self._note_call(member, here[member], given[member], made, group, number - 1)
            ready.append((member, made))

    def _note_call(
        self, rank: int, comm: Comm, given: list[Tensor], made: list[Tensor], group: int, number: int
    ) -> None:
        state = self.states[rank]
        for name, tensors in zip(comm.names, (given, made), strict=True):
            for slot, tensor in enumerate(tensors):
                label = name if len(tensors) == 1 else f"{name}.{slot}"
                state.rows.append(Row(comm.site, label, tensor, group, number))
        self._arrived(rank, made)

    def _arrived(self, rank: int, made: list[Tensor]) -> None:
        state = self.states[rank]
        for tensor in made:
            state.taint |= tensor.taint

    def _message(self, rank: int, comm: Comm, ready: "deque[tuple[int, list[Tensor] | None]]") -> None:
        state, kind, peer = self.states[rank], comm.site.op, comm.peer
        assert peer is not None
        number = state.counts[kind, peer, comm.tag] = state.counts.get((kind, peer, comm.tag), 0) + 1
        if kind == "send":
            mail = (rank, peer, comm.tag)
            state.rows.append(Row(comm.site, "input", comm.given[0], None, number - 1, peer, comm.tag))
            ready.append((rank, comm.given))
            if mail in self._receivers:
                receiver = self._receivers.pop(mail)
                self._deliver(receiver, self._waiting.pop(("mail", mail))[receiver], comm.given[0], ready)
            else:
                self._mail.setdefault(mail, deque()).append(comm.given[0])
            return
        mail = (peer, rank, comm.tag)
        if self._mail.get(mail):
            self._deliver(rank, comm, self._mail[mail].popleft(), ready)
        else:
            self._receivers[mail] = rank
            self._waiting["mail", mail] = {rank: comm}

    def _deliver(self, rank: int, comm: Comm, sent: Tensor, ready: "deque[tuple[int, list[Tensor] | None]]") -> None:
        state = self.states[rank]
        number = state.counts["recv", comm.peer, comm.tag]
        made = self.injections.received(self.states, comm.site, (comm.peer or 0, rank), [[sent]], [sent])
        state.rows.append(Row(comm.site, "input", Tensor(0, "nan"), None, number - 1, comm.peer, comm.tag))
        state.rows.append(Row(comm.site, "output", made[0], None, number - 1, comm.peer, comm.tag))
        self._arrived(rank, made)
        ready.append((rank, made))


def _received(kind: str, at: int, given: list[list[Tensor]], comm: Comm) -> list[Tensor]:
    """What member `at` gets, if nothing goes wrong."""
    if kind == "all_to_all":
        return [slices[at] for slices in given]
    first = [tensors[0] for tensors in given]
    if kind == "all_gather":
        return first
    total = merged(first)
    if kind == "reduce_scatter":
        return [total._replace(content=mixed(total.content, at))]
    return [total]


Way = Literal["forward", "recompute"]
