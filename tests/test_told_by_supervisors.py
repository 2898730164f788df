"""What supervisors of processes write down: whom they killed, in the words of Go, of Ray's memory monitor, of a kubelet; and what they only ask."""

import json
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from parsers.scheduling import ray
from parsers.scheduling.exit_rows import exit_row
from parsers.schema.names import Told
from parsers.schema.naming import names_of
from tests.lines import lines

LOST = (
    "[rank{rank}]:[E504 10:01:11.6 ProcessGroupNCCL.cpp:2061] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Process group watchdog thread "
    "terminated with exception: NCCL error: remote process exited or there was a network error, NCCL version 2.26.2\n"
)


def _job(folder: Path, **files: str) -> Verdict:
    for rank in range(4):
        steps = "".join(
            f"2026-05-04 10:00:{step:02} r{rank} step={step} loss={3 - step / 40:.3f} dt=1.02s\n" for step in range(60)
        )
        head = f"2026-05-04 10:00:00 [rank{rank}] init done rank={rank} world_size=4 pid={6100 + rank} host=w-{rank}\n"
        (folder / f"rank{rank}.log").write_text(head + steps + ("" if rank == 2 else LOST.format(rank=rank)))
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return analyze(folder).verdict


def _records(*said: dict[str, object]) -> str:
    first = {"ts": "2026-05-04T10:00:00Z", "level": "info", "msg": "child started", "rank": 2, "pid": 6102}
    return "".join(json.dumps(one) + "\n" for one in (first, *said))


KILLED = {
    "ts": "2026-05-04T10:01:04Z",
    "level": "info",
    "msg": "signal sent",
    "rank": 2,
    "pid": 6102,
    "signal": "SIGKILL",
}
ENDED = {
    "ts": "2026-05-04T10:01:04Z",
    "level": "error",
    "msg": "child exited",
    "rank": 2,
    "pid": 6102,
    "status": "signal: killed",
}
ASKED = {
    "ts": "2026-05-04T10:00:40Z",
    "level": "info",
    "msg": "asked for stacks",
    "rank": 1,
    "pid": 6101,
    "signal": "SIGUSR1",
}


@pytest.mark.parametrize(
    "said", [(KILLED,), (ENDED,), (ASKED, KILLED, ENDED)], ids=["sent", "ended", "one was asked before"]
)
def test_whom_a_supervisor_killed_is_named(tmp_path: Path, said: tuple[dict[str, object], ...]) -> None:
    verdict = _job(tmp_path, minder__jsonl=_records(*said))
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "killed", [2])


def test_whom_it_only_asked_is_not(tmp_path: Path) -> None:
    assert _job(tmp_path, minder__jsonl=_records(ASKED)).ranks == []


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("signal: killed", "SIGKILL"),
        ("signal: aborted (core dumped)", "SIGABRT"),
        ("exit status 134", "134"),
        ("exit status unknown", None),
        ("running", None),
    ],
)
def test_the_words_of_go(cell: str, code: str | None) -> None:
    row = exit_row({"rank": 2, "state": cell}, "")
    assert (row and row["code"]) == code


EVENTS = "LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n20m   Normal   Killing   pod/{pod}   Container trainer failed liveness probe, will be restarted\n"


@pytest.mark.parametrize(
    ("pod", "ranks"),
    [("w-2", [2]), ("w-1", []), ("shop-2", [])],
    ids=["who fell silent", "who lost it as well", "of another job"],
)
def test_an_age_tells_enough_where_all_others_lost_a_peer(tmp_path: Path, pod: str, ranks: list[int]) -> None:
    assert _job(tmp_path, events__txt=EVENTS.format(pod=pod)).ranks == ranks


KILLING = (
    "[2026-01-31 10:11:12,5 I 7 7] (raylet) node_manager.cc:2979: Killing worker with task Actor 0a1b name=Trainer pid=4711, kill details: Memory on "
    "the node (IP: 10.0.0.7, ID: 0a1b) was 486.1GB / 503.5GB (0.965), which exceeds the memory usage threshold of 0.95."
)
COUNT = (
    "[2026-01-31 10:11:12,5 E 7 7] (raylet) node_manager.cc:3069: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed "
    "due to other reasons at node (ID: 0a1b, IP: 10.0.0.7) over the last time period."
)


@pytest.mark.parametrize(("text", "pid"), [(KILLING, 4711), (COUNT, None)])
def test_ray_kills_by_pid_and_address_and_never_who_prints_it(text: str, pid: int | None) -> None:
    row = ray.PARSER.parse(lines(text, rank=3))["events"].select("kind", "pid", "host", "rank").row(0)
    assert row == ("host_oom", pid, "10.0.0.7", None)


def test_a_place_of_several_processes_is_none_of_them() -> None:
    own = [Told("10.0.0.7", "place", "a", 1, rank=rank, local_rank=rank) for rank in range(3)]
    assert names_of([*own, Told("10.0.0.7", "address", "a", 1, rank=0)]).rank("10.0.0.7") is None
    assert names_of([Told("10.0.0.7", "address", "a", 1, rank=0)]).rank("10.0.0.7") == 0
