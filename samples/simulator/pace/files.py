"""Paces as the files of those who print them: a table of phases, traces, timers, step lines, a library's timed calls."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from samples.simulator.pace.model import WAIT, Pace, Timing

_START_US = 1_772_359_200_000_000
_TIMERS = {"forward": "forward-compute", "backward": "backward-compute", "optimizer": "optimizer", "data": "batch-generator",
           WAIT: "all-grads-sync"}  # fmt: skip
_KERNELS = {WAIT: "ncclDevKernel_AllReduce_Sum_bf16"}
_PER_HOST = 8


def _by_rank(pace: Pace) -> Mapping[int, list[Timing]]:
    found: dict[int, list[Timing]] = defaultdict(list)
    for one in pace.times():
        found[one.rank].append(one)
    return found


def _phases(pace: Pace, folder: Path) -> None:
    rows = (f"{one.rank},{one.step},{one.phase},{one.ms:.3f},node-{one.rank // _PER_HOST:02d}" for one in pace.times())
    (folder / "phases.csv").write_text("\n".join(("rank,step,phase,ms,host", *rows)) + "\n")


def _traces(pace: Pace, folder: Path) -> None:
    for rank, times in _by_rank(pace).items():
        events, now, step = [], 0.0, -1
        for one in sorted(times, key=lambda one: one.step):
            if one.step != step:
                step = one.step
                length = sum(each.ms for each in times if each.step == step) * 1e3
                events.append({"cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": now, "dur": length})
            host = one.phase == "data"
            name = (
                "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
                if host
                else _KERNELS.get(one.phase, f"sm90_gemm_{one.phase}")
            )
            events.append(
                {"cat": "user_annotation" if host else "kernel", "name": name, "ts": now + 1, "dur": one.ms * 1e3 - 2}
            )
            now += one.ms * 1e3
        document = {
            "schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": pace.ranks},
            "traceEvents": [{"ph": "X", "pid": 1, "tid": 1} | event for event in events],
        }  # fmt: skip
        (folder / f"rank{rank}.pt.trace.json").write_text(json.dumps(document))


def _timers(pace: Pace, folder: Path) -> None:
    """Megatron-LM with --timing-log-option all."""
    by_step: dict[int, dict[str, list[Timing]]] = defaultdict(lambda: defaultdict(list))
    for one in pace.times():
        by_step[one.step][one.phase].append(one)
    lines = []
    for step, phases in by_step.items():
        whole = median(
            sum(ms) for ms in zip(*([one.ms for one in sorted(times)] for times in phases.values()), strict=True)
        )
        head = f" iteration {step:8d}/{pace.steps:8d} | consumed samples: {64 * (step + 1)}"
        lines.append(f"{head} | elapsed time per iteration (ms): {whole:.1f} | lm loss: 2.1E+00 |")
        lines.append("times across ranks (ms):")
        for phase, times in phases.items():
            lines.append(f"  {_TIMERS[phase]}:")
            lines += [f"     rank {one.rank:2d}: {one.ms:.2f}" for one in sorted(times)]
    (folder / "train.log").write_text("\n".join(lines) + "\n")


def _steps(pace: Pace, folder: Path) -> None:
    """A script's own lines, a log per rank."""
    for rank, times in _by_rank(pace).items():
        by_step: dict[int, list[Timing]] = defaultdict(list)
        for one in times:
            by_step[one.step].append(one)
        lines = []
        for step, parts in by_step.items():
            told = " ".join(f"{one.phase}_time {one.ms / 1e3:.4f} s" for one in parts)
            lines.append(
                f"[rank{rank}] INFO train: step {step} loss 2.1 step_time {sum(one.ms for one in parts) / 1e3:.4f} s {told}"
            )
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")


def _calls(pace: Pace, folder: Path) -> None:
    """NCCL's Inspector: the collectives alone."""
    for rank, times in _by_rank(pace).items():
        host, pid, lines = f"node-{rank // _PER_HOST:02d}", 4000 + rank, []
        now = 0.0
        for one in times:
            now += one.ms
            if one.phase != WAIT:
                continue
            meta = {
                "inspector_output_format_version": "v4.0",
                "dump_timestamp_us": _START_US + int(now * 1e3),
                "hostname": host,
                "pid": pid,
            }
            call = {
                "coll": "AllReduce",
                "coll_sn": one.step + 1,
                "coll_msg_size_bytes": 8388608,
                "coll_exec_time_us": int(one.ms * 1e3),
            }
            header = {"id": "0x9e7a479f95a66c", "rank": rank, "n_ranks": pace.ranks, "nnodes": 1}
            lines.append(json.dumps({"header": header, "metadata": meta, "coll_perf": call}))
        (folder / f"{host}-pid{pid}.log").write_text("\n".join(lines) + "\n")


FORMS: Mapping[str, Callable[[Pace, Path], None]] = {
    "phases": _phases, "traces": _traces, "timers": _timers, "steps": _steps, "calls": _calls,
}  # fmt: skip


def write(pace: Pace, form: str, folder: Path, is_layout_known: bool = True) -> None:
    """The bundle of one pace in one form; with the arguments that tell its layout (no pipeline), unless told otherwise."""
    folder.mkdir(parents=True)
    FORMS[form](pace, folder)
    if is_layout_known:
        said = {"pipeline_model_parallel_size": 1, "tensor_model_parallel_size": 1, "world_size": pace.ranks}
        (folder / "arguments.log").write_text(
            "".join(f"  {name} {'.' * (48 - len(name))} {value}\n" for name, value in said.items())
        )
