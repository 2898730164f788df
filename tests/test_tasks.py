"""When the task number of a launcher is the global rank, and when it is not."""

from pathlib import Path

import pytest

import parsers
from parsers.who.learnt.tasks import are_ranks
from parsers.who.lines.prefixes import habits, strip

TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nKeyError: 5'
GROUP = "[E1118 11:07:00.5 ProcessGroupNCCL.cpp:542] [PG ID 0 PG GUID 0(default_pg) Rank {}] x"


def _said(task: int, text: str, form: str = "{}: ") -> list[str]:
    return [form.format(task) + line for line in text.split("\n")]


MPI = "[1,{}]<stderr>:"
HOROVOD = "[{}]<stderr>:"
STALL = "[2026-01-31 10:11:12.066: W a/stall_inspector.cc:9] One or more tensors were submitted to be reduced, gathered or broadcasted by"
TWO = [*_said(0, GROUP.format(0)), *_said(1, GROUP.format(1))]
CASES = {
    "no task": (["[rank0]: x", "[rank1]: x"], False),
    "two tasks agree": (TWO, True),
    "by their own prefix": (["0: [rank0]: x", "7: [rank7]: x"], True),
    "one is no proof": (_said(1, GROUP.format(1)), False),
    "nothing speaks": (_said(1, TRACE), False),
    "one does not agree": ([*TWO, *_said(2, GROUP.format(5))], False),
    "a launcher per node": ([*TWO, "1: [default3]:x"], False),
    "a launcher's own words": ([*TWO, "1: W1 torch.distributed.run: x"], False),
    "a group larger than the tasks": ([*TWO, "1: [Rank 9] x"], False),
    "a smaller group": ([*TWO, "3: [PG ID 4 PG GUID 7(tp) Rank 1] x"], True),
    "NCCL, all of the job": ([f"{at}: n1:5:5 [0] NCCL INFO comm 0x5 rank {at} nranks 2" for at in (0, 1)], True),
    "NCCL, two per task": ([f"{at // 2}: n1:5:5 [0] NCCL INFO comm 0x5 rank {at} nranks 4" for at in range(4)], False),
    "NCCL, a part of the job": ([*TWO, "1: n1:5:5 [0] NCCL INFO comm 0x5 rank 0 nranks 1"], True),
    "mpirun, nothing speaks": (_said(1, TRACE, MPI), False),
    "mpirun, one agrees": (_said(1, GROUP.format(1), MPI), True),
    "mpirun, Horovod's rank 0 reports": ([*_said(0, STALL, MPI), *_said(5, TRACE, MPI)], True),
    "mpirun, another task reports": ([*_said(1, STALL, MPI), *_said(0, GROUP.format(0), MPI)], False),
    "srun, Horovod's rank 0 reports": ([*_said(0, STALL), *_said(5, TRACE)], False),
    "mpirun, one aborts": ([*_said(3, "Abort(13) on node 3 (rank 3 in comm 0): x", MPI), *_said(5, TRACE, MPI)], True),
    "mpirun, one aborts a smaller group": ([*_said(3, "Abort(13) on node 3 (rank 3 in comm 17): x", MPI)], False),
    "mpirun, another number aborts": ([*_said(3, "Abort(13) on node 4 (rank 4 in comm 0): x", MPI)], False),
    "Horovod's launcher": ([*_said(0, "step 4", HOROVOD), *_said(1, TRACE, HOROVOD)], True),
    "Horovod's launcher, another number says who it is": (_said(1, GROUP.format(0), HOROVOD), False),
    "Horovod's launcher, ranks given anew": (
        [*_said(0, "HostsUpdatedInterrupt", HOROVOD), *_said(1, TRACE, HOROVOD)],
        False,
    ),
    "Horovod's launcher, a launcher per node": ([*_said(1, "[default3]:x", HOROVOD)], False),
    "mpirun, one does not": ([*_said(1, GROUP.format(1), MPI), *_said(2, GROUP.format(5), MPI)], False),
}


@pytest.mark.parametrize("name", CASES)
def test_are_ranks(name: str) -> None:
    lines, expected = CASES[name]
    assert are_ranks([strip(line) for line in lines]) is expected


@pytest.mark.parametrize("form", ["{}: ", " {}: ", MPI])
def test_a_task_that_is_a_rank_gives_its_lines_the_rank(form: str, tmp_path: Path) -> None:
    lines = [line for task in (0, 1, 2) for line in _said(task, GROUP.format(task), form)] + _said(5, TRACE, form)
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    [row] = parsers.read(str(tmp_path)).tables["events"].filter(kind="exception").rows(named=True)
    assert row["rank"] == 5 and row["rank_space"] == "global"


def test_an_unproven_task_is_told_beside_the_exception(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("\n".join(_said(5, TRACE)) + "\n")
    [row] = parsers.read(str(tmp_path)).tables["events"].filter(kind="exception").rows(named=True)
    assert row["rank"] is None and '"task": 5' in row["detail"]


STARTUP = "[0] [0] MPI startup(): Intel(R) MPI Library, Version 2021.9"


@pytest.mark.parametrize(
    ("head", "task"),
    [
        ([STARTUP], 4),
        (["x", "[3] [3] MPI startup(): 3  771  k2  {0,1}"], 4),
        (["[0] MPI startup(): Intel(R) MPI Library, Version 2021.9"], None),  # its own bracket alone
        (["[0] [3] MPI startup(): 3  771  k2  {0,1}"], None),
        (["[0] [0] warming up"], None),
    ],
)
def test_a_bracket_that_stands_twice_before_the_words_of_intel_mpi_is_the_launcher_s(
    head: list[str], task: int | None
) -> None:
    line = strip("[4] KeyError: 5", habits(head, None))
    assert (line.task, line.text) == (task, "KeyError: 5" if task is not None else "[4] KeyError: 5")
