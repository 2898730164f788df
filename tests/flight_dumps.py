"""Writes flight recorder dumps as PyTorch's own pickler does (protocol 2, texts memoised), for the tests."""

from typing import Any

from samples.simulator.torch_pickle import pickled

__all__ = ["dump", "entry", "pickled"]


def entry(number: int = 0, **changes: Any) -> dict[str, Any]:
    """One entry of schema 2.9, sent off and not finished."""
    return {
        "record_id": number,
        "pg_id": 1,
        "process_group": ("5", "TP"),
        "collective_seq_id": number + 1,
        "p2p_seq_id": 0,
        "op_id": number + 1,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": 1_700_000_000_000_000_000 + number,
        "input_sizes": [[4, 2 + number % 7]],
        "input_dtypes": ["Float"],
        "output_sizes": [[4, 2 + number % 7]],
        "output_dtypes": ["Float"],
        "state": "scheduled",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": False,
        "timeout_ms": 600_000,
        "is_p2p": False,
        "thread_id": "139748020489088",
        "thread_name": "python3",
        **changes,
    }


def dump(entries: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A whole dump of group "5" of ranks 0 and 1."""
    status = {"last_enqueued_collective": 8, "last_started_collective": -1, "last_completed_collective": 7}
    return {
        "version": "2.9",
        "nccl_version": "2.27.3",
        "pg_config": {"5": {"name": "5", "desc": "TP", "ranks": "[0, 1]"}},
        "pg_status": {"1": status},
        "entries": entries,
        **changes,
    }
