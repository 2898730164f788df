"""Who did not come to a store that only counts: told by as many ends before it gave up, or by as many logs that went another way
(forensics/assemble/starts/left_out.py)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

Files = Mapping[str, Sequence[str]]
COUNT = "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. {}/{} clients joined."
SCRIPT = {"job.sh": ["export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS", "srun -l --ntasks=6 python fit.py"]}


def verdict(folder: Path, files: Files) -> tuple[str, str | None, list[int]]:
    incident = analyze(str(written(folder, files)))
    found = incident.incidents[incident.primary].verdict
    return found.kind, found.cause, [*found.ranks]


def console(ends: Sequence[str], after: Sequence[str] = (), came: int = 4) -> Files:
    up = [f"{task}: worker is up" for task in (4, 0, 2, 3, 1, 5)]
    trace = [
        "0: Traceback (most recent call last):",
        '0:   File "/job/fit.py", line 61, in <module>',
        "0:     init_process_group('nccl')",
    ]
    return {"job.out": [*ends, *up, *trace, "0: " + COUNT.format(came, 6), *after], **SCRIPT}


AFTER = ["srun: error: h1: task 0: Exited with exit code 1", "srun: error: h2: tasks 2-3: Exited with exit code 1"]
BEFORE = {
    "a shell": ["srun: error: h3: tasks 1,4: Exited with exit code 127"],
    "one by one": ["srun: error: h3: task 1: Exited with exit code 2", "srun: error: h4: task 4: Exited with exit code 2"],
    "a library": ["1: ImportError: libcu.so: no such file", "srun: error: h3: tasks 1,4: Exited with exit code 1"],
}  # fmt: skip


@pytest.mark.parametrize("ends", BEFORE)
def test_who_ended_before_the_count_was_given_up(tmp_path: Path, ends: str) -> None:
    after = [*AFTER, "srun: error: h2: task 5: Exited with exit code 1"]
    assert verdict(tmp_path, console(BEFORE[ends], after)) == ("launch", "missing_ranks", [1, 4])


@pytest.mark.parametrize(
    "files",
    [
        console((), [*AFTER, "srun: error: h3: tasks 1,4: Exited with exit code 127"]),
        console(BEFORE["a shell"], AFTER, came=3),
        console(["srun: error: h3: tasks 1,4: Terminated"], AFTER),
    ],
    ids=["ended after it", "fewer than are missing", "told to stop"],
)
def test_else_ends_tell_nothing(tmp_path: Path, files: Files) -> None:
    assert verdict(tmp_path, files)[2] == []


def logs(odd: Sequence[str], more: Mapping[int, Sequence[str]]) -> Files:
    up = ["== image 4.1 ==", "12:00:01 torch sees 1 device", "12:00:02 to the store at h1:29500"]
    lost = [*up, "ConnectionResetError: [Errno 104] Connection reset by peer"]
    own = dict.fromkeys(range(1, 6), lost) | {0: [*up, COUNT.format(5, 6)], 3: odd} | dict(more)
    return {f"rank_{rank}.log": lines for rank, lines in own.items()}


ODD = {
    "a container": ["podman: Error: OCI runtime error: crun: cannot stat /dev/gpu3"],
    "a loader": ["== image 4.1 ==", "fit: error while loading shared libraries: libx.so.3: cannot open shared object file"],
    "words of nobody": ["== image 4.1 ==", "12:00:01 Karte 3 ist belegt, warte", "12:00:31 Karte 3 ist belegt, warte"],
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_whose_log_went_another_way(tmp_path: Path, odd: str) -> None:
    assert verdict(tmp_path, logs(ODD[odd], {})) == ("launch", "missing_ranks", [3])


@pytest.mark.parametrize(
    "files",
    [
        logs(["== image 4.1 ==", "12:00:01 torch sees 1 device"], {}),
        logs(ODD["a container"], {5: ["podman: Error: OCI runtime error: crun: cannot stat /dev/gpu5"]}),
        {name: lines for name, lines in logs(ODD["a container"], {}).items() if name != "rank_2.log"},
    ],
    ids=["merely shorter", "two where one is missing", "a log is missing as well"],
)
def test_else_logs_tell_nothing(tmp_path: Path, files: Files) -> None:
    assert verdict(tmp_path, files)[2] == []
