"""What variables the processes of two nodes were given, which tell who is who of stacks by pid, as people note them: one fact, one answer."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HOSTS = ("lyra-03", "lyra-11")
PIDS = (37797, 49419, 47833, 34273, 42122, 49789, 45533, 50503)  # by rank, in no order
ABSENT = 5
Files = dict[str, list[str]]


def variables(rank: int) -> list[str]:
    """srun began an agent on each node, which began four processes: SLURM_PROCID is the agent's."""
    node, local = divmod(rank, 4)
    own = [
        "SHELL=/bin/bash", f"SLURM_PROCID={node}", f"SLURM_NODEID={node}", "SLURM_LOCALID=0", "SLURM_NTASKS=2",
        f"HOSTNAME={HOSTS[node]}", "SSH_CONNECTION=10.4.0.9 50112 10.4.0.3 22", f"LOCAL_RANK={local}", f"RANK={rank}",
        f"GROUP_RANK={node}", f"ROLE_RANK={rank}", "LOCAL_WORLD_SIZE=4", "WORLD_SIZE=8", "MASTER_ADDR=lyra-03", "OMP_NUM_THREADS=8",
    ]  # fmt: skip
    return own[rank:] + own[:rank]


def given(rank: int) -> dict[str, str]:
    return dict(one.split("=", 1) for one in variables(rank))


def stack(rank: int) -> list[str]:
    waits = [
        "    all_reduce (torch/distributed/distributed_c10d.py:2806)",
        "    wrapper (torch/distributed/c10d_logger.py:83)",
        "    reduce_grads (pretrain.py:150)",
    ]
    reads = [
        "    read (fsspec/spec.py:1915)",
        "    _read_index (shards/reader.py:88)",
        "    __next__ (torch/utils/data/dataloader.py:733)",
    ]
    return [
        f"Process {PIDS[rank]}: /opt/envs/tr/bin/python -u pretrain.py --config c.yaml",
        "Python v3.11.8 (/opt/envs/tr/bin/python3.11)",
        "",
        f'Thread {PIDS[rank]} (idle): "MainThread"',
        *(reads if rank == ABSENT else waits),
        "    train (pretrain.py:215)",
        "    <module> (pretrain.py:260)",
        "",
    ]


def each(path: str, lines: Callable[[int], list[str]] = variables) -> Callable[[str, list[int]], Files]:
    """A file of each process."""
    return lambda host, ranks: {path.format(host=host, pid=PIDS[rank]): lines(rank) for rank in ranks}


def one(path: str, lines: Callable[[int], Iterable[str]], *head: str) -> Callable[[str, list[int]], Files]:
    """One file of each node, a part of each process."""
    return lambda host, ranks: {path.format(host=host): [*head, *(line for rank in ranks for line in lines(rank))]}


def headed(heading: str) -> Callable[[int], list[str]]:
    return lambda rank: [heading.format(pid=PIDS[rank]), *variables(rank), ""]


def as_kernel(host: str, ranks: list[int]) -> Files:
    return {f"{host}/proc/{PIDS[rank]}/environ": ["".join(f"{one}\0" for one in variables(rank))] for rank in ranks}


def as_object(host: str, ranks: list[int]) -> Files:
    return {f"{host}/env.json": json.dumps({str(PIDS[rank]): given(rank) for rank in ranks}, indent=1).splitlines()}


FORMS: dict[str, Callable[[str, list[int]], Files]] = {
    "a file each": each("{host}/environ/{pid}.txt"),
    "the pid behind a dot": each("{host}/environ.{pid}"),
    "the pid before it": each("{host}/{pid}.env"),
    "host and pid in a name": each("{host}_{pid}_environ.txt"),
    "a folder each": each("{host}/proc_{pid}/environ"),
    "as the kernel keeps them": as_kernel,
    "below headings": one("{host}/environ.txt", headed("===== pid {pid} =====")),
    "below commands": one("{host}/environ.txt", headed("$ tr '\\0' '\\n' < /proc/{pid}/environ")),
    "below head's headings": one("{host}/environ.txt", headed("==> /proc/{pid}/environ <==")),
    "a line each": one("{host}/environ.txt", lambda rank: [f"{PIDS[rank]}: {' '.join(variables(rank))}"]),
    "grep's": one("{host}/e.txt", lambda rank: [f"/proc/{PIDS[rank]}/environ:{v}" for v in variables(rank) if "RANK" in v]),
    "behind commands of ps": one(
        "{host}/ps.txt",
        lambda rank: [f"{PIDS[rank]:7d} ?        Sl   314:15 python -u pretrain.py {' '.join(variables(rank))}"],
        "    PID TTY      STAT   TIME COMMAND",
    ),
    "indented": one("{host}/env.txt", lambda rank: [f"{PIDS[rank]}", *(f"  {one}" for one in variables(rank))]),
    "a table": one(
        "{host}/env.csv",
        lambda rank: [f"{PIDS[rank]},{rank // 4},{rank},{rank % 4},8"],
        "pid,SLURM_PROCID,RANK,LOCAL_RANK,WORLD_SIZE",
    ),
    "an object": as_object,
    "objects": one("{host}/env.jsonl", lambda rank: [json.dumps({"pid": PIDS[rank], "env": given(rank)})]),
}  # fmt: skip


def named(folder: Path, files: Files) -> tuple[list[int], str | None]:
    verdict = analyze(str(written(folder, files)), hung=True).verdict
    return verdict.ranks, verdict.site


@pytest.mark.parametrize("form", FORMS)
def test_who_a_process_is_stands_in_its_variables(form: str, tmp_path: Path) -> None:
    files: Files = {}
    for node, host in enumerate(HOSTS):
        ranks = sorted(range(4 * node, 4 * node + 4), key=PIDS.__getitem__)
        files |= FORMS[form](host, ranks) | {f"{host}/stacks.txt": [line for rank in ranks for line in stack(rank)]}
    assert named(tmp_path, files) == ([ABSENT], "storage_io")


def test_headings_name_hosts_and_processes(tmp_path: Path) -> None:
    files: Files = {"environs.txt": []}
    noted = []
    for node, host in enumerate(HOSTS):
        ranks = range(4 * node, 4 * node + 4)
        noted += [f"##### {host}", *(line for rank in ranks for line in headed("--- {pid}")(rank))]
        files[f"{host}/stacks.txt"] = [line for rank in ranks for line in stack(rank)]
    assert named(tmp_path, files | {"environs.txt": noted}) == ([ABSENT], "storage_io")
