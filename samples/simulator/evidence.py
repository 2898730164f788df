"""Evidence tables of a simulated incident without the way through bytes; equal to what the parsers make of it."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec
import polars as pl

from parsers.schema.merging import merge
from parsers.schema.tables import TableName, conform, stack_text, table
from samples.simulator import logs, recorder, stacks
from samples.simulator.job import DESCRIPTIONS
from samples.simulator.lines import KINDS, pid
from samples.simulator.program import Call
from samples.simulator.run import Run

LARGE = 1024  # of larger groups only one rank reports the members: 10,240 lists of 10,240 would be 840 MB


def tables(run: Run) -> dict[TableName, pl.DataFrame]:
    ranks = sorted(run.draw.kept.recorders)
    frames: dict[TableName, pl.DataFrame] = {
        "operations": _operations(run, ranks),
        "groups": table("groups", _groups(run, ranks)),
        "progress": table("progress", _progress(run, ranks)),
        "stacks": table("stacks", _stacks(run)),
    }
    return merge([frames, logs.tables(run), {"ranks": table("ranks", _ranks(ranks))}])


@lru_cache(maxsize=4096)
def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _operations(run: Run, ranks: list[int]) -> pl.DataFrame:
    """Column by column: a job of 10,240 ranks has half a million rows."""
    job, settings = run.job, run.noise.recorder
    rows = [(place, one) for rank in ranks for place, one in enumerate(run.records(rank))]
    if not rows:
        return table("operations", [])
    shift = [run.draw.skew_ns[job.host(one.op.rank)] for _, one in rows]
    local = [recorder.local_ids(job, rank) for rank in range(job.world)]
    done = [one.state == "completed" for _, one in rows]
    files = [f"fr/nccl_trace_rank_{rank}" for rank in range(job.world)]
    started = [recorder.started_ns(one, settings.timing, by) for (_, one), by in zip(rows, shift, strict=True)]
    names = [_split(one.name) for _, one in rows]
    columns: dict[str, Any] = {
        "rank": [one.op.rank for _, one in rows],
        "pg_id": [local[one.op.rank][one.group] for _, one in rows],
        "group": [job.groups[one.group].name for _, one in rows],
        "desc": [DESCRIPTIONS[job.groups[one.group].role] for _, one in rows],
        "seq": [one.p2p if one.is_p2p else one.seq for _, one in rows],
        "op_id": [one.op_id for _, one in rows],
        "is_p2p": [one.is_p2p for _, one in rows],
        "kind": [name for name, _ in names],
        "peer": pl.Series([peer for _, peer in names], dtype=pl.Int64),
        "input_sizes": [_json(one.inputs) for _, one in rows],
        "input_dtypes": [_json((one.dtype,) * len(one.inputs)) for _, one in rows],
        "output_sizes": [_json(one.outputs) for _, one in rows],
        "output_dtypes": [_json((one.dtype,) * len(one.outputs)) for _, one in rows],
        "state": [one.state for _, one in rows],
        "retired": done,
        "time_created_ns": [recorder.at_ns(one.op.enqueued, by) for (_, one), by in zip(rows, shift, strict=True)],
        "time_started_ns": pl.Series(started, dtype=pl.Int64),
        "time_completed_ns": pl.Series(
            [
                recorder.at_ns(one.op.completed, by) + recorder.WATCHDOG_NS if end else None
                for (_, one), by, end in zip(rows, shift, done, strict=True)
            ],
            dtype=pl.Int64,
        ),
        "duration_ms": pl.Series(
            [
                recorder.duration_ms(one.op) if end and settings.timing else None
                for (_, one), end in zip(rows, done, strict=True)
            ],
            dtype=pl.Float64,
        ),
        "timeout_ms": [job.timeout_ms(job.groups[one.group].role) for _, one in rows],
        "thread": [str(139_700_000_000_000 + one.op.rank) for _, one in rows],
        "file": [files[one.op.rank] for _, one in rows],
        "record": [place for place, _ in rows],
    }
    frame = pl.DataFrame(columns).with_columns(pl.lit("nccl").alias("backend"))
    if settings.frames:
        frame = frame.with_columns(_call_stacks(one.op.call for _, one in rows).alias("stack"))
    return conform("operations", frame)


def _split(name: str) -> tuple[str, int | None]:
    kind, _, rest = name.removeprefix("nccl:").partition(" ")
    return KINDS.get(kind, kind), int(rest.replace("<-", "->").partition("->")[2]) if rest else None


def _call_stacks(calls: Iterable[Any]) -> pl.Series:
    """Distinct stacks are made once and then gathered."""
    known: dict[tuple[stacks.Frame, ...], int] = {}
    picks = [known.setdefault(stacks.call_frames(call), len(known)) for call in calls if isinstance(call, Call)]
    return pl.Series([stack_text(one) for one in known], dtype=pl.Categorical).gather(picks)


def _frames(frames: Iterable[stacks.Frame]) -> list[dict[str, Any]]:
    return [{"function": name, "file": file, "line": line} for name, file, line in frames]


def _ranks(ranks: list[int]) -> Iterable[dict[str, Any]]:
    how = "flight recorder file name"
    return ({"rank": rank, "how": how, "file": f"fr/nccl_trace_rank_{rank}"} for rank in ranks)


def _groups(run: Run, ranks: list[int]) -> Iterable[dict[str, Any]]:
    job, told = run.job, set()
    for rank in ranks:
        for index, number in recorder.local_ids(job, rank).items():
            group = job.groups[index]
            large = len(group.members) > LARGE
            yield {
                "rank": rank, "pg_id": number, "group": group.name, "desc": DESCRIPTIONS[group.role],
                "members": None if large and index in told else list(group.members), "members_space": "global",
                "size": len(group.members), "backend": "nccl", "how": "flight recorder pg_config",
                "file": f"fr/nccl_trace_rank_{rank}", "record": number,
            }  # fmt: skip
            told.add(index)


def _progress(run: Run, ranks: list[int]) -> Iterable[dict[str, Any]]:
    job = run.job
    for rank in ranks:
        local = recorder.local_ids(job, rank)
        for record, (index, row) in enumerate(sorted(run.status(rank).items())):
            enqueued, started, completed = (count if count >= 0 else None for count in row)
            group = job.groups[index]
            yield {
                "rank": rank, "pg_id": local[index], "group": group.name, "desc": DESCRIPTIONS[group.role],
                "scope": "all", "last_enqueued": enqueued, "last_started": started, "last_completed": completed,
                "how": "flight recorder pg_status", "file": f"fr/nccl_trace_rank_{rank}", "record": record,
            }  # fmt: skip


def _stacks(run: Run) -> Iterable[dict[str, Any]]:
    """As parsers.stacks reads the py-spy texts."""
    for rank in sorted(run.draw.kept.stacks):
        number = pid(run.job, rank)
        common = {
            "rank": rank, "pid": number, "snapshot": 0, "source": "py-spy", "file": f"stacks/pyspy_rank_{rank}.txt",
        }  # fmt: skip
        main = run.frames(rank)
        yield {
            **common, "thread": str(number), "thread_name": "MainThread", "is_main": True, "status": "active",
            "frames": _frames(main), "line": 4,
        }  # fmt: skip
        yield {
            **common, "thread": str(number + 211), "thread_name": "Thread-1 (_pin_memory_loop)", "is_main": False,
            "status": "idle", "frames": _frames(stacks.helper_frames()), "line": 5 + len(main),
        }  # fmt: skip
