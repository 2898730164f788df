"""Is the task number that a launcher prints before each line (srun -l, mpirun --tag-output) the global rank?

It is where one task is one process of the job; where a task is a node's launcher, it is the node. A file proves the
first by tasks that print their own rank (`[rank5]:`, `(default_pg) Rank 5`, NCCL's `rank 5 nranks 16`, what MPICH says of an abort, the report that Horovod's rank 0 alone makes) under the same
number, and none under another one. Of mpirun the number is a rank of MPI by definition, which a launcher per node has,
too: there one such task is enough. Of Horovod's own launcher it is the rank that this gave, until it gives them anew: there no task has to say so.
"""

from collections.abc import Iterable

from parsers.text.patterns import regex
from parsers.who.lines.collected import Line

WITNESSES = 2  # tasks that must agree
WITNESSES_MPI = 1
_OWN = regex(r"\(default_pg\) Rank (\d{1,7})\]|^Abort\(\d{1,12}\) on node \d{1,7} \(rank (\d{1,7}) in comm 0\)")
_IN_GROUP = regex(r"\[(?:PG [^\]]{0,200} )?Rank (\d{1,7})\]")
_NCCL = regex(r"\brank (\d{1,7}) n[rR]anks (\d{1,7})\b")
_COORDINATOR = regex(r"tensors were submitted to be reduced, gathered or broadcast")  # says Horovod's rank 0
_ANEW = regex(
    r"HostsUpdatedInterrupt|HorovodInternalError|\belastic\b|\bhosts? (?:were |was )?(?:added|removed|blacklist)"
)
LAUNCHER = regex(r"torch[./]distributed[./](?:elastic|run|launcher)|\btorchrun\b|torchelastic")


def are_ranks(lines: Iterable[Line]) -> bool:
    """Whether the tasks of these lines (of one file) are global ranks."""
    agree: set[int] = set()
    tasks: set[int] = set()
    in_comm: set[tuple[int, int, int]] = set()  # task, rank, size
    highest = -1  # rank in a group, which is no larger than the job
    is_mpi = is_given = True
    for line in lines:
        if line.task is None:
            continue
        if line.local_rank is not None or LAUNCHER.search(line.text):
            return False
        tasks.add(line.task)
        is_mpi = is_mpi and line.is_mpi
        is_given = is_given and line.is_rank and _ANEW.search(line.text) is None
        own = {int(rank) for ranks in _OWN.findall(line.text) for rank in ranks if rank} | (
            {line.rank} if line.rank is not None else set()
        )
        own |= {0} if _COORDINATOR.search(line.text) else set()
        if own - {line.task}:
            return False
        agree |= own
        in_comm |= {(line.task, int(rank), int(size)) for rank, size in _NCCL.findall(line.text)}
        highest = max([highest, *(int(rank) for rank in _IN_GROUP.findall(line.text))])
    whole = {(task, rank) for task, rank, size in in_comm if size > max(tasks)}  # smaller ones number their members
    if highest > max(tasks, default=-1) or any(task != rank for task, rank in whole):
        return False
    if is_given and tasks:
        return True
    return len(agree | {task for task, _ in whole}) >= (WITNESSES_MPI if is_mpi else WITNESSES)
