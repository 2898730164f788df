"""A program that logs records says who it is in their fields, beside the words: rank, size of the world, pid, host."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.analysed import cause_and_ranks

RANKS, PIDS = {("n1", 44): 2, ("n1", 45): 0, ("n2", 44): 3, ("n2", 45): 1}, (44, 45)
_Record = Callable[[str, int, int, str], Mapping[str, object]]
TRACE = (
    "Traceback (most recent call last):\n  File \"/job/t.py\", line 7, in fit\n    batch = own[key]\nKeyError: 'shard'"
)


def _extra(host: str, pid: int, rank: int, text: str) -> Mapping[str, object]:
    who = {"global_rank": rank, "local_rank": pid - 44, "world_size": 4, "device": f"cuda:{pid - 44}"}
    return {"host": host, "pid": pid, "msg": text, "extra": who if text == "ready" else {}}


def _flat(host: str, pid: int, rank: int, text: str) -> Mapping[str, object]:
    who = {"rank": rank, "world_size": 4} if text == "ready" else {}
    return {"levelname": "INFO", "process": pid, "hostname": host, "message": text, **who}


def _labels(host: str, pid: int, rank: int, text: str) -> Mapping[str, object]:
    who = {"labels": {"rank": str(rank), "world_size": "4"}} if text == "ready" else {}
    return {"host": host, "process": {"pid": pid}, "pid": pid, "message": text, **who}


def logged(record: _Record, first: str = "ready") -> dict[str, str]:
    """Two hosts, of which each numbers its processes alike; one process of the second raises something of its own."""
    files: dict[str, list[Mapping[str, object]]] = {"n1": [], "n2": []}
    for (host, pid), rank in RANKS.items():
        said = [record(host, pid, rank, text) for text in (first, *(f"step {at} loss 2.{at}" for at in range(6)))]
        last = (
            TRACE
            if (host, pid) == ("n2", 44)
            else "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error"
        )
        files[host] += [*said, record(host, pid, rank, last)]  # fmt: skip
    return {
        f"{host}.log": "".join(
            json.dumps({"time": f"2025-09-14T04:00:{at:02}Z", **one}, ensure_ascii=False) + "\n"
            for at, one in enumerate(own)
        )
        for host, own in files.items()
    }


@pytest.mark.parametrize("record", [_extra, _flat, _labels])
def test_fields_tell_whose_process_it_is(record: _Record, tmp_path: Path) -> None:
    assert cause_and_ranks(tmp_path, logged(record)) == ("exception", [3])


def test_a_rank_in_the_words_of_a_record_is_not_its_printers(tmp_path: Path) -> None:
    def record(host: str, pid: int, rank: int, text: str) -> Mapping[str, object]:
        return {"host": host, "pid": pid, "msg": "rank 1 is late" if text == "ready" else text}

    assert cause_and_ranks(tmp_path, logged(record))[1] == []


def test_a_peer_in_a_record_of_its_own_is_not_its_printer(tmp_path: Path) -> None:
    def record(host: str, pid: int, rank: int, text: str) -> Mapping[str, object]:
        peer = {"peer": {"rank": (rank + 1) % 4, "world_size": 4}} if text == "ready" else {}
        return {"host": host, "pid": pid, "msg": text, **peer}

    assert cause_and_ranks(tmp_path, logged(record))[1] == []
