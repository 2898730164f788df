"""Ends that tell a pid, which nobody knows, and beside it what the process is called, which a document makes a rank."""

import json
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

NAMES = [f"10.7.0.2{at // 2}:4{at}067" for at in range(6)]
LOST = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:575] Connection closed by peer [10.7.0.22]:34168"


def _ranks(tmp_path: Path, line: str, names: list[str] | None = None) -> tuple[str, list[int]]:
    called = names or NAMES
    files = {
        "ranks.json": [json.dumps({"workers": {name: {"rank": rank} for rank, name in enumerate(called)}}, indent=1)],
        "nodes.log": [
            f"2026-09-24 09:4{step}:17,402 - ctr - INFO - batch {step} logloss=0.4{step}" for step in range(6)
        ]
        + [f"2026-09-24 09:46:17,402 - {line}"],
    }
    found = analyze(str(written(tmp_path, files))).verdict
    return found.kind, list(found.ranks)


FORMS = [
    ("Worker tcp://{n} (pid=8812) exceeded 95% memory budget. Restarting...", NAMES),
    ("nanny - worker tcp://{n} (pid=8812) was killed by signal 9", NAMES),
    ("worker process 8812 (tcp://{n}) was killed by signal 9", NAMES),
    ("worker {n} (pid 8812) exited with exit code 137", NAMES),
    ("child '{n}' (pid 8812) died with signal 11", NAMES),
    ("supervisor: process {n} (pid #8812) was killed by signal SIGKILL", NAMES),
    ("{n} [pid 8812] terminated by signal 9", [f"w-{at}x" for at in range(4)]),
    ("reaped pid=8812 name={n} killed by signal 9", [f"ctr-w{at}.a" for at in range(4)]),
    ("actor={n}, pid=8812 exited with code 137", [f"a0{at}b" for at in range(4)]),
    ("process 8812 <{n}> was killed by signal 9", [f"trainer-{at}.job-7" for at in range(4)]),
    ("worker grpc://{n} (pid: 8812) was killed by signal 9", NAMES),
    ("task {n} (process 8812) exited with exit code 139", [f"ctr-{at}-f3" for at in range(5)]),
]  # fmt: skip


@pytest.mark.parametrize(("line", "names"), FORMS)
def test_who_is_called_beside_its_number_ended(tmp_path: Path, line: str, names: list[str]) -> None:
    assert _ranks(tmp_path, line.format(n=names[3]), names) == ("crash", [3])


OTHERS = {
    "a name that nobody has": "worker tcp://10.7.0.99:41067 (pid=8812) was killed by signal 9",
    "a child of it": "loader (pid 8812) of {n} was killed by signal 9",
    "two processes": "worker {n} (pid 8812) killed worker {m} (pid 8813) by signal 9",
    "two names": "worker {n} (pid 8812) {m} (pid 8812) was killed by signal 9",
    "no name": "process 8812 was killed by signal 9",
    "a program": "process 8812 (python3.11) was killed by signal 9",
    "it looks for another": "process 8812 lost {n} and was killed by signal 9",
    "another of its host": "worker tcp://10.7.0.21:39999 (pid=8812) was killed by signal 9",
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_else_nobody_is_named(tmp_path: Path, what: str) -> None:
    assert _ranks(tmp_path, OTHERS[what].format(n=NAMES[3], m=NAMES[4]))[1] == []
