"""Stacks in a document, of processes that it calls as the bundle does elsewhere: keys or fields, one fact, one answer."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

ADDRESSES = (
    "10.21.4.16:36877",
    "10.21.4.18:45005",
    "10.21.4.17:40213",
    "10.21.4.18:38642",
    "10.21.4.16:40101",
    "10.21.4.17:33519",
)
ORDER = (5, 4, 3, 2, 0, 1)
ABSENT = 2
ROSTER = [
    f"2026-04-21 19:06:40,5{rank}5 dispatch INFO   {rank} of 6 goes to tcp://{at}" for rank, at in enumerate(ADDRESSES)
]
LOGS = {
    f"worker_{chr(97 + at)}.log": [
        f"2026-04-21 19:05:35,{at}30 - distributed.worker - INFO -       Start worker at:   tcp://{ADDRESSES[rank]}",
        f"2026-04-21 19:05:35,{at}82 - distributed.worker - INFO -       Listening to:   tcp://{ADDRESSES[rank]}",
        f"2026-04-21 19:07:21,{at}66 - reranker.pairs - INFO - open shard 002{at}, cache hit",
    ]
    for at, rank in enumerate(ORDER)
}  # fmt: skip
OUTER = ("/opt/conda/lib/python3.10/threading.py", 973, "_bootstrap", "self._bootstrap_inner()")
TRAIN = ("/opt/reranker/train.py", 140, "train_reranker", "scaler.scale(loss).backward()")
WAITS = (
    OUTER,
    TRAIN,
    (
        "/opt/conda/lib/python3.10/site-packages/torch/autograd/graph.py",
        744,
        "_engine_run_backward",
        "return run_backward(",
    ),
)
LOCKED = (OUTER, TRAIN, ("/opt/reranker/cache.py", 39, "get", "with FileLock(p):"), ("/opt/conda/lib/python3.10/site-packages/filelock/_api.py", 332, "acquire", "time.sleep(1)"))  # fmt: skip


def frames(rank: int) -> tuple[tuple[str, int, str, str], ...]:
    return LOCKED if rank == ABSENT else WAITS


def dasks(rank: int) -> list[str]:
    return [f'  File "{file}", line {line}, in {name}\n\t{code}\n' for file, line, name, code in frames(rank)]


def plain(rank: int) -> list[str]:
    return [f'File "{file}", line {line}, in {name}' for file, line, name, _ in frames(rank)]


def fields(rank: int) -> list[dict[str, object]]:
    return [{"name": name, "filename": file, "line": line} for file, line, name, _ in frames(rank)]


def mapping(key: Callable[[int], str], value: Callable[[int], object]) -> list[str]:
    return json.dumps({key(rank): value(rank) for rank in ORDER}, indent=1).splitlines()


def records(made: Callable[[int], object]) -> list[str]:
    return json.dumps([made(rank) for rank in ORDER]).splitlines()


def lines(made: Callable[[int], object]) -> list[str]:
    return [json.dumps(made(rank)) for rank in ORDER]


def tcp(rank: int) -> str:
    return f"tcp://{ADDRESSES[rank]}"


FORMS: dict[str, list[str]] = {
    "dask's": mapping(tcp, lambda rank: {f"dispatch-{rank}21c": dasks(rank)}),
    "a list each": mapping(tcp, dasks),
    "without a scheme": mapping(ADDRESSES.__getitem__, plain),
    "a text each": mapping(tcp, lambda rank: "".join(dasks(rank))),
    "fields of frames": mapping(tcp, fields),
    "records": records(lambda rank: {"worker": tcp(rank), "stack": plain(rank)}),
    "beside another": records(lambda rank: {"worker": tcp(rank), "waits_for": tcp((rank + 1) % 6), "stack": plain(rank)}),
    "records of an address": records(lambda rank: {"address": ADDRESSES[rank], "frames": fields(rank)}),
    "lines": lines(lambda rank: {"addr": tcp(rank), "stack": plain(rank)}),
    "lines of texts": lines(lambda rank: {"addr": tcp(rank), "traceback": "".join(dasks(rank))}),
    "threads below it": mapping(tcp, lambda rank: {"threads": [{"name": "MainThread", "frames": plain(rank)}]}),
    "called ranks": mapping(lambda rank: f"rank {rank}", dasks),
    "called rank_2": mapping(lambda rank: f"rank_{rank}", dasks),
    "a name in a field below": mapping(lambda rank: f"job-{7 * rank}a", lambda rank: {"worker": tcp(rank), "stack": plain(rank)}),
    "in a field of all": json.dumps({"at": "20:12", "workers": [{"id": tcp(rank), "stack": plain(rank)} for rank in ORDER]}).splitlines(),
    "a mapping in a field": json.dumps({"at": "20:12", "workers": {tcp(rank): plain(rank) for rank in ORDER}}).splitlines(),
}  # fmt: skip


def whose(folder: Path, files: dict[str, list[str]]) -> tuple[list[int | None], list[int | None]]:
    """The ranks of all stacks, and of that which waits for a lock."""
    stacks = read(str(written(folder, {"driver.txt": ROSTER} | LOGS | files))).tables["stacks"]
    stacks = stacks.filter(pl.col("source") != "traceback")
    inner = pl.col("frames").list.first().struct.field("function")
    return stacks["rank"].sort().to_list(), stacks.filter(inner == "acquire")["rank"].to_list()


@pytest.mark.parametrize("form", FORMS)
def test_a_stack_is_of_whom_the_document_calls(form: str, tmp_path: Path) -> None:
    assert whose(tmp_path, {"stacks.json": FORMS[form]}) == (sorted(ORDER), [ABSENT])


def test_who_waits_for_a_lock_is_named(tmp_path: Path) -> None:
    ended = [
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete"
    ]
    files = {"driver.txt": ROSTER, "stacks.json": FORMS["dask's"], "train.log": ended} | LOGS
    verdict = analyze(str(written(tmp_path, files))).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.site) == ("hang", "rank_absent", [ABSENT], "lock")


def test_the_port_of_a_process_is_not_its_number(tmp_path: Path) -> None:
    told = read(str(written(tmp_path, {"driver.txt": ROSTER} | LOGS))).tables["ranks"]
    assert told["pid"].count() == 0 and told["rank"].n_unique() == len(ADDRESSES)


def stranger(rank: int) -> str:
    return f"tcp://10.21.5.{rank}:41000"


@pytest.mark.parametrize(
    "told",
    [
        mapping(stranger, dasks),  # of another cluster
        records(lambda rank: {"peer": tcp(rank), "stack": plain(rank)}),
        records(lambda rank: {"one": tcp(rank), "two": tcp((rank + 1) % 6), "stack": plain(rank)}),
        lines(lambda rank: {"worker": tcp(rank), "error": "Traceback (most recent call last):\n" + "".join(dasks(rank)) + "ValueError: 3"}),
        json.dumps({"pid": 4711, "threads": {"MainThread": dasks(0), "prefetch": dasks(ABSENT)}}).splitlines(),
    ],
)  # fmt: skip
def test_who_is_not_told_is_nobody(told: list[str], tmp_path: Path) -> None:
    assert {*whose(tmp_path, {"stacks.json": told})[0]} <= {None}
