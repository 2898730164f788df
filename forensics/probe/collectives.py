"""Communications through `torch.distributed`, written down with their group while a probe is active."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

Record = Callable[..., None]  # (tensor, name of the tensor, columns of the call)


class _Form(NamedTuple):
    """Where a function has its tensors: names or positions of what goes in and of what comes out."""

    given: tuple[str, ...]
    made: tuple[str, ...]
    order: tuple[str, ...]  # names of the positional arguments
    peer: str | None = None


_IN_PLACE = ("tensor",)
FORMS = {
    "all_reduce": _Form(_IN_PLACE, _IN_PLACE, ("tensor", "op", "group", "async_op")),
    "broadcast": _Form(_IN_PLACE, _IN_PLACE, ("tensor", "src", "group", "async_op"), "src"),
    "reduce": _Form(_IN_PLACE, _IN_PLACE, ("tensor", "dst", "op", "group", "async_op"), "dst"),
    "all_gather": _Form(_IN_PLACE, ("tensor_list",), ("tensor_list", "tensor", "group", "async_op")),
    "all_gather_into_tensor": _Form(
        ("input_tensor",), ("output_tensor",), ("output_tensor", "input_tensor", "group", "async_op")
    ),
    "reduce_scatter_tensor": _Form(("input",), ("output",), ("output", "input", "op", "group", "async_op")),
    "all_to_all_single": _Form(
        ("input",), ("output",), ("output", "input", "output_split_sizes", "input_split_sizes", "group", "async_op")
    ),
    "all_to_all": _Form(
        ("input_tensor_list",), ("output_tensor_list",), ("output_tensor_list", "input_tensor_list", "group", "async_op")
    ),
    "send": _Form(_IN_PLACE, (), ("tensor", "dst", "group", "tag"), "dst"),
    "isend": _Form(_IN_PLACE, (), ("tensor", "dst", "group", "tag"), "dst"),
    "recv": _Form((), _IN_PLACE, ("tensor", "src", "group", "tag"), "src"),
    "irecv": _Form((), _IN_PLACE, ("tensor", "src", "group", "tag"), "src"),
}  # fmt: skip


class _Work:
    """The handle of an asynchronous call: its outputs are written down when it was waited for."""

    def __init__(self, work: Any, done: Callable[[], None]) -> None:
        self._work, self._done = work, done

    def wait(self, *args: Any, **more: Any) -> Any:
        result = self._work.wait(*args, **more)
        done, self._done = self._done, _nothing
        done()
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)


def _nothing() -> None:
    return None


class Collectives:
    """Replaces functions of `torch.distributed` until `restore` is called. Calls that the backend makes by itself, such
    as the gradient buckets of DistributedDataParallel, do not pass here."""

    def __init__(self, distributed: Any, record: Record) -> None:
        self._distributed, self._record = distributed, record
        self._counts: dict[tuple[Any, ...], int] = {}
        self._kept = {name: getattr(distributed, name) for name in FORMS if hasattr(distributed, name)}
        for name, function in self._kept.items():
            setattr(distributed, name, self._wrapped(name, function))

    def restore(self) -> None:
        for name, function in self._kept.items():
            setattr(self._distributed, name, function)

    def _wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        form = FORMS[name]

        @functools.wraps(function)
        def call(*args: Any, **more: Any) -> Any:
            named = {**dict(zip(form.order, args, strict=False)), **more}
            columns = self._columns(name, form, named)
            self._note(named, form.given, "input", columns)
            result = function(*args, **more)
            if result is not None and hasattr(result, "wait") and form.made:
                return _Work(result, lambda: self._note(named, form.made, "output", columns))
            self._note(named, form.made, "output", columns)
            return result

        return call

    def _note(self, named: dict[str, Any], wanted: tuple[str, ...], label: str, columns: dict[str, Any]) -> None:
        for name in wanted:
            value = named.get(name)
            if isinstance(value, list | tuple):
                for slot, part in enumerate(value):
                    self._record(part, f"{label}.{slot}", columns)
            else:
                self._record(value, label, columns)

    def _columns(self, name: str, form: _Form, named: dict[str, Any]) -> dict[str, Any]:
        group = named.get("group")
        group = self._distributed.group.WORLD if group is None else group
        members = self._distributed.get_process_group_ranks(group)
        kind = name.removeprefix("i") if name in ("isend", "irecv") else name
        peer = named.get(form.peer) if form.peer else None
        tag = named.get("tag", 0) if kind in ("send", "recv") else None
        label = getattr(group, "group_name", None) or "default"
        key = (kind, label, tuple(members)) if tag is None else (kind, peer, tag)
        number = self._counts[key] = self._counts.get(key, -1) + 1
        operation = named.get("op")
        return {
            "op": kind, "group": label, "group_ranks": members, "call": number, "peer": peer, "tag": tag,
            "reduce_op": None if operation is None else str(operation).rsplit(".", 1)[-1].lower(),
        }  # fmt: skip
