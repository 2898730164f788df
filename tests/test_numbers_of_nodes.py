"""The number of a node, whoever tells it: the task of a launcher that a script makes it, an item of a document about a pod and its host."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from parsers import read

NODES, EACH = 3, 2


def ranks_of_steps(folder: Path, files: Mapping[str, str]) -> dict[float, int | None]:
    """Each step's loss, which tells whose it is → the rank that it is read as."""
    bundle = folder / "bundle"
    for name, text in files.items():
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).write_text(text)
    steps = read(str(bundle)).tables["steps"]
    return dict(steps.select("loss", "rank").iter_rows())


RANKED = {1 + (2 * node + at) / 100 + step / 1000: 2 * node + at for step in range(1, 5) for node in range(NODES) for at in range(EACH)}  # fmt: skip


def told(before: str) -> str:
    """Lines of all processes, by the number of their node and their place there."""
    return "".join(
        f"{before.format(node=rank // EACH, at=rank % EACH)}step {round(loss * 1000) % 10} loss {loss:.3f}\n"
        for loss, rank in RANKED.items()
    )


TASKS = {
    "Slurm": ("srun -l bash -c 'torchrun --nnodes=3 --nproc-per-node=2 --node-rank=$SLURM_PROCID fit.py'\n", "{node}: [default{at}]:"),
    "mpirun": (
        "mpirun -np 3 -npernode 1 --tag-output bash -c 'torchrun --nnodes 3 --nproc_per_node 2 --node_rank $OMPI_COMM_WORLD_RANK fit.py'\n",
        "[1,{node}]<stdout>:[default{at}]:",
    ),
    "a variable": (
        "srun --label bash -c 'export NODE_RANK=$SLURM_PROCID; torchrun --nnodes=3 --nproc-per-node=2 --node-rank=$NODE_RANK fit.py'\n",
        "{node}: [default{at}]:",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", TASKS)
def test_a_task_is_the_number_of_a_node_where_a_script_says_so(tmp_path: Path, form: str) -> None:
    script, before = TASKS[form]
    assert ranks_of_steps(tmp_path, {"job.sh": script, "job.out": told(before)}) == RANKED


@pytest.mark.parametrize(
    "number", ["--rdzv-backend=c10d", "--node-rank=$SLURM_LOCALID", "--node-rank=$((2-SLURM_PROCID))"]
)
def test_else_it_tells_no_rank(tmp_path: Path, number: str) -> None:
    script = f"srun -l bash -c 'torchrun --nnodes=3 --nproc-per-node=2 {number} fit.py'\n"
    found = ranks_of_steps(tmp_path, {"job.sh": script, "job.out": told("{node}: [default{at}]:")})
    assert {*found.values()} == {None}


PODS = ("lm-chief-0", "lm-peer-0", "lm-peer-1")
HOSTS = ("rk-17", "rk-03", "rk-44")
DESCRIBED = """Name:         {pod}
Namespace:    ai
Node:         {host}/10.1.0.{node}
Containers:
  main:
    Command:
      torchrun --nnodes=$WORLD_SIZE --node-rank=$RANK --nproc-per-node=2 fit.py
    Environment:
      WORLD_SIZE:  3
      RANK:        {node}

"""
MARKS = {"a field": "pid={pid} ", "in brackets": "[pid={pid}] ", "a bar": "pid:{pid} | "}


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("places", [PODS, HOSTS], ids=["of pods", "of hosts"])
def test_a_pod_and_its_host_are_one_place_of_one_item(tmp_path: Path, mark: str, places: tuple[str, ...]) -> None:
    items = [DESCRIBED.format(pod=pod, host=host, node=n) for n, (pod, host) in enumerate(zip(PODS, HOSTS, strict=True))]  # fmt: skip
    files = {"describe.txt": "".join(items[::-1])}
    for node, place in enumerate(places):
        lines = [f"08:00:00.{at}00 " + MARKS[mark].format(pid=60 + 7 * at) + f"setup LOCAL_RANK={at} device {at}\n" for at in (1, 0)]  # fmt: skip
        lines += [
            f"08:00:0{round(loss * 1000) % 10}.000 " + MARKS[mark].format(pid=60 + 7 * (rank % EACH)) + f"step {round(loss * 1000) % 10} loss {loss:.3f}\n"
            for loss, rank in RANKED.items() if rank // EACH == node
        ]  # fmt: skip
        files[f"logs/{place}.log"] = "".join(lines)
    assert ranks_of_steps(tmp_path, files) == RANKED


POOLS = ("pool0-0", "pool1-0", "pool1-1")
SCRIPTS = {
    "of the cluster": "node = 0 if t['type'] == 'pool0' else 1 + t['index']\n",
    "a chief": 'node_rank = 0 if os.environ["ROLE"] == "chief" else task["index"] + 1\n',
}
RUN = "subprocess.check_call(['torchrun', '--nnodes=3', '--nproc-per-node=2', f'--node-rank={node}', 'fit.py'])\n"


def exported(of_nodes: Mapping[int, str]) -> str:
    """Records of a log store, the newest first as it lists them."""
    records = [
        {
            "insertId": f"{number:x}f",
            "jsonPayload": {"levelname": "INFO", "message": f"[local {rank % EACH}] step {round(loss * 1000) % 10}: loss {loss:.3f}"},
            "resource": {"labels": {"job_id": "88", "task_name": of_nodes[rank // EACH]}, "type": "ml_job"},
            "timestamp": f"2026-02-03T10:00:{number:02}.5Z",
        }
        for number, (loss, rank) in enumerate(RANKED.items())
    ]  # fmt: skip
    return "".join(json.dumps(record) + "\n" for record in reversed(records))


@pytest.mark.parametrize("script", SCRIPTS)
def test_one_of_two_numbers_of_a_node_is_that_of_its_pool(tmp_path: Path, script: str) -> None:
    files = {"start.py": SCRIPTS[script] + RUN, "log.jsonl": exported(dict(enumerate(POOLS)))}
    assert ranks_of_steps(tmp_path, files) == RANKED


def test_without_a_number_that_is_read_nobody_is_named(tmp_path: Path) -> None:
    files = {"start.py": "node = table[name]\n" + RUN, "log.jsonl": exported(dict(enumerate(POOLS)))}
    assert {*ranks_of_steps(tmp_path, files).values()} == {None}
