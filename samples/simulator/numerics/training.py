"""The program of one rank: pipeline stages of transformer layers, one forward and one backward at a time (1F1B)."""

from collections.abc import Generator
from dataclasses import dataclass, field

from samples.simulator.numerics.flow import Flow, Program, Way
from samples.simulator.numerics.model import NOBODY, Tensor, merged, mixed
from samples.simulator.numerics.shapes import Comm, Site

Part = Generator[Comm, list[Tensor], Tensor]
_SHARED = ("norm.weight", "embed.weight", "head.weight")  # equal on all tensor-parallel mates


@dataclass(slots=True)
class _Saved:
    """What a backward pass needs: (module, op, inputs, parameters) in the order of the forward pass, layer by layer."""

    begin: Tensor
    done: list[tuple[str, str, list[Tensor], tuple[str, ...]]] = field(default_factory=list)


def program(flow: Flow, rank: int) -> Program:
    """All steps of one rank."""
    worker = _Worker(flow, rank)
    worker.load()
    for step in flow.steps:
        yield from worker.take(step)


class _Worker:
    def __init__(self, flow: Flow, rank: int) -> None:
        self.flow, self.job, self.model, self.rank = flow, flow.job, flow.model, rank
        self.tp, self.dp, self.stage = flow.job.place(rank)
        self.state = flow.states[rank]
        self.step = 0
        self.saved: dict[int, dict[str, _Saved]] = {}
        self.loss: dict[int, Tensor] = {}
        self.layers = [self.stage * self.job.layers + index for index in range(self.job.layers)]

    @property
    def last(self) -> bool:
        return self.stage == self.job.pp - 1

    def site(self, phase: str, module: str, op: str, microbatch: int | None = None) -> Site:
        return Site(self.rank, self.step, microbatch, phase, module, op)

    def load(self) -> None:
        names = ["embed.weight"] if self.stage == 0 else []
        for layer in self.layers:
            parts = ["norm", "attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2"]
            parts += ["moe.expert"] if self.job.ep > 1 else []
            names += [f"layers.{layer}.{part}.weight" for part in parts]
        names += ["head.weight"] if self.last else []
        for name in names:
            shard = 0 if name.endswith(_SHARED) else self.tp
            own = self.dp if "expert" in name else 0
            value = Tensor(mixed("param", name, shard, own, self.flow.launch), size=0.1)
            self.state.params[name] = value

    def take(self, step: int) -> Program:
        self.step = step
        self.flow.injections.begin(self.flow.states, self.rank, step)
        self.state.grads.clear()
        total = self.job.microbatches
        warm = min(self.job.pp - self.stage - 1, total)
        for index in range(warm):
            yield from self._forward(index)
        for index in range(total - warm):
            yield from self._forward(warm + index)
            yield from self._backward(index)
        for index in range(total - warm, total):
            yield from self._backward(index)
        yield from self._update()

    # --- passes ----------------------------------------------------------------------------------------------------

    def _forward(self, micro: int) -> Program:
        flow, kept = self.flow, self.saved.setdefault(micro, {})
        if self.stage == 0:
            batch = Tensor(mixed("batch", self.step, micro, self.dp, flow.launch))
            batch = flow.injections.batch(flow.states, self.site("forward", "embed", "Embedding", micro), batch)
            kept["embed"] = _Saved(batch)
            value = self._op(kept["embed"], "forward", "embed", "Embedding", [batch], ("embed.weight",), micro)
        else:
            site = self.site("comm", "pipeline", "recv", micro)
            (value,) = yield Comm(site, "pp", [], peer=self._mate(-1), tag=micro)
        for layer in self.layers:
            kept[f"layers.{layer}"] = _Saved(value)
            value = yield from self._layer(layer, value, kept[f"layers.{layer}"], "forward", micro)
        if not self.last:
            site = self.site("comm", "pipeline", "send", micro)
            yield Comm(site, "pp", [value], peer=self._mate(1), tag=micro)
            return
        kept["head"] = saved = _Saved(value)
        value = self._op(saved, "forward", "head", "Linear", [value], ("head.weight",), micro)
        loss = self._op(saved, "forward", "loss", "CrossEntropy", [value], (), micro)
        self.loss[micro] = loss
        before = flow.losses.get(self.step)
        flow.losses[self.step] = loss if before is None else merged([before, loss])

    def _backward(self, micro: int) -> Program:
        kept = self.saved.pop(micro)
        if self.last:
            loss = self.loss.pop(micro)
            content = mixed("loss", self.step, micro, self.dp, self.flow.launch)
            gradient = Tensor(content, loss.bad and "nan", loss.taint if loss.bad else NOBODY)
            gradient = self.flow.injections.gradient(self.step, gradient)
            gradient = yield from self._undo(kept["head"], gradient, micro)
        else:
            site = self.site("comm", "pipeline.grad", "recv", micro)
            (gradient,) = yield Comm(site, "pp", [], peer=self._mate(1), tag=1000 + micro)
        for layer in reversed(self.layers):
            saved = kept[f"layers.{layer}"]
            if self.model.recompute:
                again = _Saved(saved.begin)
                yield from self._layer(layer, saved.begin, again, "recompute", micro)
                saved = again
            gradient = yield from self._undo(saved, gradient, micro)
        if self.stage == 0:
            yield from self._undo(kept["embed"], gradient, micro)
        else:
            site = self.site("comm", "pipeline.grad", "send", micro)
            yield Comm(site, "pp", [gradient], peer=self._mate(-1), tag=1000 + micro)

    def _mate(self, shift: int) -> int:
        return self.job.rank(self.tp, self.dp, self.stage + shift)

    def _op(
        self, saved: _Saved, way: Way, module: str, op: str, given: list[Tensor], params: tuple[str, ...], micro: int,
        mask: bool = False,
    ) -> Tensor:  # fmt: skip
        saved.done.append((module, op, given, params))
        return self.flow.forward(self.site(way, module, op, micro), given, params, "-inf" if mask else None)

    def _layer(self, layer: int, begin: Tensor, saved: _Saved, way: Way, micro: int) -> Part:
        name = f"layers.{layer}"

        def op(part: str, kind: str, *given: Tensor, weight: bool = False, mask: bool = False) -> Tensor:
            params = (f"{name}.{part}.weight",) if weight else ()
            return self._op(saved, way, f"{name}.{part}", kind, list(given), params, micro, mask)

        value = op("guard", "nan_to_num", begin) if self.model.guards else begin
        residual = value
        value = op("norm", "LayerNorm", value, weight=True)
        value = op("attn.qkv", "Linear", value, weight=True)
        if self.model.masks:
            value = op("attn.mask", "masked_fill", value, mask=True)
        value = op("attn.softmax", "softmax", value)
        value = op("attn.proj", "Linear", value, weight=True)
        value = yield from self._sum(f"{name}.attn", value, micro)
        if self.job.ep > 1:
            value = yield from self._experts(name, value, saved, way, micro)
        value = op("mlp.fc1", "Linear", value, weight=True)
        value = op("mlp.act", "SwiGLU", value)
        value = op("mlp.fc2", "Linear", value, weight=True)
        value = yield from self._sum(f"{name}.mlp", value, micro)
        return op("residual", "add", value, residual)

    def _sum(self, module: str, value: Tensor, micro: int) -> Part:
        """Tensor-parallel mates add up their parts."""
        if self.job.tp == 1:
            return value
        (total,) = yield Comm(self.site("comm", module, "all_reduce", micro), "tp", [value])
        return total

    def _experts(self, name: str, value: Tensor, saved: _Saved, way: Way, micro: int) -> Part:
        """Tokens go to the experts of other ranks and come back."""
        parts = [value._replace(content=mixed(value.content, slot)) for slot in range(self.job.ep)]
        site = self.site("comm", f"{name}.moe.dispatch", "all_to_all", micro)
        tokens = yield Comm(site, "ep", parts, by_slot=True)
        module = f"{name}.moe.expert"
        whole = self._op(saved, way, module, "Linear", [merged(tokens)], (f"{module}.weight",), micro)
        weight = self.state.params[f"{module}.weight"]
        born = bool(whole.bad) and not any(tensor.bad for tensor in (*tokens, weight))
        made = []
        for slot, token in enumerate(tokens):
            source = whole if born else merged([token, weight])
            content = mixed(module, token.content, weight.content, slot)
            made.append(Tensor(content, source.bad and "nan", source.taint))
        made = self.flow.injections.slots(self.site(way, module, "Linear", micro), made)
        site = self.site("comm", f"{name}.moe.combine", "all_to_all", micro)
        back = yield Comm(site, "ep", made, by_slot=True)
        return merged(back)

    def _undo(self, saved: _Saved, gradient: Tensor, micro: int) -> Part:
        for module, op, given, params in reversed(saved.done):
            site = self.site("backward", module, op, micro)
            gradient = self.flow.backward(site, gradient, given, params)
            if module.endswith(("attn.qkv", "mlp.fc1")):
                gradient = yield from self._sum(f"{module}.grad", gradient, micro)
        return gradient

    # --- the end of a step -----------------------------------------------------------------------------------------

    def _update(self) -> Program:
        flow, grads = self.flow, self.state.grads
        for name in list(grads):
            if self.job.dp > 1 and "expert" not in name:
                op = "reduce_scatter" if self.model.sharded else "all_reduce"
                site = self.site("grad_sync", name, op)
                (grads[name],) = yield Comm(site, "dp", [grads[name]], ("grad_in", "grad_out"))
        total = merged([*grads.values()])
        if self.model.scaled:
            bad = yield from self._flag(total)
            if bad:
                flow.skipped.add(self.step)
                self.state.taint = NOBODY  # gradients are thrown away: nothing of it is left
                return
        if self.model.clip:
            norm = total._replace(content=mixed("norm", total.content))
            site = self.site("grad_sync", "grad_norm", "all_reduce")
            if self.job.world > 1:
                (norm,) = yield Comm(site, "world", [norm], ("grad_in", "grad_out"))
            flow.norms[self.step] = norm
            if norm.bad:
                grads = {name: merged([grad, norm._replace(content=0)]) for name, grad in grads.items()}
        for name, grad in grads.items():
            yield from self._step_of(name, grad)

    def _flag(self, total: Tensor) -> Generator[Comm, list[Tensor], bool]:
        """Whether any rank found NaN or Inf in its gradients."""
        flag = Tensor(mixed("flag", bool(total.bad)), "", total.taint, float(bool(total.bad)))
        if self.job.world > 1:
            site = self.site("grad_sync", "found_inf", "all_reduce")
            (flag,) = yield Comm(site, "world", [flag], ("grad_in", "grad_out"))
        return flag.size > 0

    def _step_of(self, name: str, grad: Tensor) -> Program:
        size = self.state.params[name].size
        made = self.flow.optimizer(self.site("optimizer", name.rsplit(".", 1)[0], "Adam"), name, grad)
        if self.model.sharded and self.job.dp > 1 and "expert" not in name:
            site = self.site("comm", name, "all_gather")
            parts = yield Comm(site, "dp", [made], ("param", "output"))
            self.state.params[name] = merged(parts)._replace(size=size)
