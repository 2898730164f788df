"""Where the main thread of each host is, as Python frames and as a py-spy text."""

from functools import lru_cache

from samples.simulator.engine import Engine
from samples.simulator.faults import Plan
from samples.simulator.program import Action, Call, Sync, Where

Frame = tuple[str, str, int]  # function, file, line
C10D = "torch/distributed/distributed_c10d.py"
_MAIN: tuple[Frame, ...] = (("main", "pretrain.py", 88), ("<module>", "pretrain.py", 93))
FINISHED: tuple[Frame, ...] = (("destroy_process_group", C10D, 2118), *_MAIN)
_TRAIN: tuple[Frame, ...] = (("train", "training/loop.py", 402), *_MAIN)
_STEP: Frame = ("train_step", "training/loop.py", 251)
_PHASES: dict[str, tuple[Frame, ...]] = {
    "load": (("get_batch", "training/data.py", 61), ("forward_step", "training/loop.py", 118), _STEP),
    "forward": (("forward", "model/layer.py", 204), ("forward_step", "training/loop.py", 131), _STEP),
    "backward": (("backward", "torch/autograd/__init__.py", 353), ("backward_step", "training/loop.py", 166), _STEP),
    "grads": (("finish_grad_sync", "training/ddp.py", 377), _STEP),
    "optimizer": (("step", "training/optimizer.py", 290), _STEP),
    "log": (("training_log", "training/log.py", 73),),
    "checkpoint": (("save_checkpoint", "training/checkpoint.py", 140),),
}
_CALLS: dict[str, Frame] = {
    "all_reduce": ("all_reduce", C10D, 2949),
    "all_reduce_barrier": ("barrier", C10D, 4718),
    "broadcast": ("broadcast", C10D, 2802),
    "_all_gather_base": ("all_gather_into_tensor", C10D, 3912),
    "_reduce_scatter_base": ("reduce_scatter_tensor", C10D, 4304),
    "all_to_all": ("all_to_all_single", C10D, 4533),
    "send": ("isend", C10D, 2466),
    "recv": ("irecv", C10D, 2518),
    "coalesced": ("batch_isend_irecv", C10D, 2711),
}
# What an absent rank does, innermost first; the site of the contract that a reader should find.
_SITES: dict[str, tuple[Frame, ...]] = {
    "data_loading": (
        ("select", "selectors.py", 415), ("wait", "multiprocessing/connection.py", 947),
        ("poll", "multiprocessing/connection.py", 257), ("get", "multiprocessing/queues.py", 113),
        ("_try_get_data", "torch/utils/data/dataloader.py", 1293),
        ("_get_data", "torch/utils/data/dataloader.py", 1466),
        ("_next_data", "torch/utils/data/dataloader.py", 1507),
        ("__next__", "torch/utils/data/dataloader.py", 725),
    ),
    "storage_io": (("read", "fsspec/implementations/local.py", 415), ("read_shard", "training/data.py", 29)),
    "checkpoint_io": (
        ("_save", "torch/serialization.py", 1219), ("save", "torch/serialization.py", 967),
        ("write_shard", "training/checkpoint.py", 71),
    ),
    "lock": (("acquire", "filelock/_api.py", 333), ("__enter__", "filelock/_api.py", 376)),
    "compile": (
        ("wait", "subprocess.py", 2053), ("communicate", "subprocess.py", 1209),
        ("ninja_build", "torch/utils/cpp_extension.py", 2412), ("load", "torch/utils/cpp_extension.py", 1623),
    ),
    "compute": (("pack_sequences", "model/packing.py", 57),),
    "gpu_sync": (("synchronize", "torch/cuda/__init__.py", 1040),),
    "logging": (
        ("_send", "wandb/sdk/lib/sock_client.py", 141), ("log", "wandb/sdk/wandb_run.py", 1853),
        ("report", "training/log.py", 44),
    ),
}  # fmt: skip


@lru_cache(maxsize=4096)
def _call_frames(kind: str, phase: str) -> tuple[Frame, ...]:
    between: tuple[Frame, ...] = ()
    if kind in ("send", "recv", "coalesced"):
        between = (("_communicate", "training/p2p.py", 312),)
    return (_CALLS[kind], ("wrapper", "torch/distributed/c10d_logger.py", 83), *between, *_PHASES[phase], *_TRAIN)


def call_frames(call: Call) -> tuple[Frame, ...]:
    """Frames of the call itself, innermost first."""
    return _call_frames(call.kind, call.where.phase)


def outer(where: Where) -> tuple[Frame, ...]:
    return (*_PHASES[where.phase], *_TRAIN)


def site_frames(site: str, where: Where) -> tuple[Frame, ...]:
    """Frames of a rank that sits in `site`; empty where it does not answer."""
    return (*_SITES[site], *outer(where)) if site in _SITES else ()


def main_thread(engine: Engine, plan: Plan, rank: int) -> tuple[Frame, ...]:
    """Frames of the rank's main thread in the final state, innermost first; empty = no answer."""
    state = engine.ranks[rank]
    if state.finished:
        return FINISHED
    action = state.program[state.at]
    if engine.faults.stops.get(rank) == state.at:
        return site_frames(plan.site or "compute", action.where)
    return blocked_frames(action)


def blocked_frames(action: Action) -> tuple[Frame, ...]:
    """A host that waits for its GPU: in a synchronisation, or in the call that its full queue does not take."""
    if isinstance(action, Call):
        return call_frames(action)
    inner: tuple[Frame, ...] = ()
    if isinstance(action, Sync) and action.what == "p2p":
        inner = (("synchronize", "torch/cuda/__init__.py", 1040), ("_communicate", "training/p2p.py", 329))
    elif isinstance(action, Sync):
        inner = (("clip_grad_norm", "training/optimizer.py", 214),)
    return (*inner, *outer(action.where))


def pyspy_text(pid: int, frames: tuple[Frame, ...]) -> str:
    """What `py-spy dump` prints for one process."""
    lines = [f"Process {pid}: /opt/venv/bin/python3 -u pretrain.py", "Python v3.11.7 (/opt/venv/bin/python3.11)", ""]
    lines.append(f'Thread {pid} (active): "MainThread"')
    lines += [f"    {name} ({file}:{line})" for name, file, line in frames]
    lines.append(f'Thread {pid + 211} (idle): "Thread-1 (_pin_memory_loop)"')
    lines += [f"    {name} ({file}:{line})" for name, file, line in helper_frames()]
    return "\n".join(lines) + "\n"


def helper_frames() -> tuple[Frame, ...]:
    """A thread that every process has and that says nothing."""
    return (
        ("wait", "threading.py", 327), ("get", "queue.py", 180),
        ("_pin_memory_loop", "torch/utils/data/_utils/pin_memory.py", 54), ("run", "threading.py", 982),
    )  # fmt: skip
