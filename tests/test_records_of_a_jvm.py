"""What a JVM logs below the traceback of the Python that it began is its own: the Python did not go on. And whom launchers stop afterwards was alive until then."""

from pathlib import Path

import pytest

from forensics import Report, analyze
from tests.sources import written

Files = dict[str, list[str]]
WORLD, ODD = 4, 2
RECORDS = {
    "Spark": "26/11/24 13:48:42 INFO Executor: Executor interrupted and killed task 3.0 in stage 3.0 (TID 43)",
    "Spark's warning": "26/11/24 13:48:42 WARN TaskSetManager: Lost task 1.0 in stage 3.0 (TID 41): TaskKilled (Stage cancelled)",
    "a nested class": "26/11/24 13:48:42 INFO YarnSchedulerBackend$YarnDriverEndpoint: Disabling executor 4.",
    "log4j's whole name": "2026-11-24 13:48:42,511 INFO org.apache.spark.executor.Executor - Executor killed task 3.0",
    "in brackets": "2026-11-24 13:48:42,511 INFO [dispatcher-2] [org.apache.spark.executor.Executor] killed task 3.0",
    "in columns": "2026-11-24 13:48:42 WARN  org.apache.hadoop.yarn.server.nodemanager.ContainerMonitor: container stopped",
    "Flink": "2026-11-24 13:48:42,511 INFO  org.apache.flink.runtime.taskmanager.Task [] - Freeing task resources",
    "of a company": "13:48:42.511 INFO  com.acme.sched.Agent: task 3 is over",
}  # fmt: skip
LOST = (
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [172.20.5.24]:41447"
)


def log(rank: int, record: str, is_stopped: bool) -> list[str]:
    own = [
        "26/11/24 13:20:40 INFO Executor: Running task in stage 3.0",
        f"+ exec python -m wrapper torchrun --nnodes={WORLD} --node_rank={rank} --nproc_per_node=1 /mnt/ctr/train.py",
        f"13:2{rank}:51 reader: opened part-0057{rank}.parquet rows=211k",
        "13:47:54 reader: opened part-00634.parquet rows=198k",
    ]
    call = ["    dist.all_reduce(stat, group=cpu_pg)", "    for batch in loader:"][rank == ODD]
    raised = [
        "Traceback (most recent call last):",
        '  File "/mnt/ctr/train.py", line 214, in <module>',
        "    main(args)",
        '  File "/mnt/ctr/train.py", line 189, in main',
        call,
    ]
    raised += (
        ['  File "/mnt/ctr/reader.py", line 88, in __iter__', "    tbl = self.columns[name]", "KeyError: 'site_id'"]
        if rank == ODD
        else ['  File "/opt/lib/python3.10/site-packages/torch/distributed/c10d_logger.py", line 75, in wrapper', "    return func(*args, **kwargs)", LOST]
    )  # fmt: skip
    stop = "[2026-11-24 13:48:42,161] torch.distributed.elastic.agent.server.api: [WARNING] Received Signals.SIGTERM death signal, shutting down workers"
    if rank == ODD:
        return [*own, *raised, record]
    return [*own, *([] if is_stopped else raised), stop, record]


def job(record: str = RECORDS["Spark"], stopped: tuple[int, ...] = (), lacks: int | None = None) -> Files:
    return {f"exec_{rank}.log": log(rank, record, rank in stopped) for rank in range(WORLD) if rank != lacks}


def judged(folder: Path, files: Files) -> Report:
    return analyze(str(written(folder, files)))


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_of_the_wrapper_is_none_of_the_process(record: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, job(RECORDS[record])).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [ODD])


@pytest.mark.parametrize("stopped", [(0,), (3,), (0, 3), (1, 3)], ids=str)
def test_whom_launchers_stop_after_others_lost_somebody_is_no_suspect(stopped: tuple[int, ...], tmp_path: Path) -> None:
    verdict = judged(tmp_path, job(stopped=stopped)).verdict
    assert (verdict.cause, verdict.ranks) == ("exception", [ODD])


def test_a_record_of_its_own_logger_shows_that_it_went_on(tmp_path: Path) -> None:
    verdict = judged(tmp_path, job("2026-11-24 13:48:42,511 INFO trainer: retrying the reader")).verdict
    assert verdict.ranks == []


def test_who_left_no_record_may_have_failed(tmp_path: Path) -> None:
    verdict = judged(tmp_path, job(stopped=(0,), lacks=3)).verdict
    assert verdict.kind == "crash" and set(verdict.ranks) <= {ODD}
