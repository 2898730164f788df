"""Where the workers of a loader stand that a rank waits for: their own line is looked at before the one that asks for a batch."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Incident

STACK = 'Process {pid}: python /srv/j/fit.py\nPython v3.11.9 (/usr/bin/python3.11)\n{parent}\nThread {pid} (idle): "MainThread"\n{frames}'
WAITS = "    all_reduce (torch/distributed/distributed_c10d.py:2806)\n    loop (/srv/j/fit.py:40)\n"
ASKS = "    poll (multiprocessing/connection.py:257)\n    get (multiprocessing/queues.py:113)\n    _try_get_data (torch/utils/data/dataloader.py:1293)\n    loop (/srv/j/fit.py:18)\n"
MAKES = "    {own}\n    fetch (torch/utils/data/_utils/fetch.py:54)\n    _worker_loop (torch/utils/data/_utils/worker.py:375)\n"
IDLE = "    get (multiprocessing/queues.py:113)\n    _worker_loop (torch/utils/data/_utils/worker.py:335)\n"


def told(folder: Path, workers: list[str], asks: str = ASKS) -> Incident:
    for rank in range(4):
        text = STACK.format(pid=50 + rank, parent="", frames=asks if rank == 2 else WAITS)
        for number, frames in enumerate(workers if rank == 2 else [IDLE]):
            parent = f"Parent Process {50 + rank}: python /srv/j/fit.py\n"
            text += "\n" + STACK.format(pid=900 + 10 * rank + number, parent=parent, frames=frames)
        (folder / f"pyspy_rank_{rank}.txt").write_text(text)
    report = analyze(folder, hung=True)
    return report.incidents[report.primary]


@pytest.mark.parametrize(("own", "line"), [("Shard.__getitem__ (fit.py:12)", 12), ("read (/srv/j/fit.py:9)", 9)])
@pytest.mark.parametrize("idle", [0, 3])
def test_the_line_of_the_worker_comes_first(tmp_path: Path, own: str, line: int, idle: int) -> None:
    incident = told(tmp_path, [MAKES.format(own=own), *[IDLE] * idle])
    assert incident.verdict.ranks == [2]
    checks = [one for one in incident.actions if one.kind == "check_code"]
    assert [one.target for one in checks[:2]] == [f"/srv/j/fit.py:{line}", "/srv/j/fit.py:18"]
    assert (checks[0].command or "").startswith("sed -n") and "pid 920" in checks[0].reason


@pytest.mark.parametrize("workers", [[IDLE] * 3, [], [MAKES.format(own=f"read (fit.py:{at})") for at in range(5, 9)]])
def test_workers_that_wait_or_are_at_work_all_over_change_nothing(tmp_path: Path, workers: list[str]) -> None:
    checks = [one.target for one in told(tmp_path, workers).actions if one.kind == "check_code"]
    assert checks == ["/srv/j/fit.py:18"]
