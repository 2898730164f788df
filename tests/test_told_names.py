"""Documents, launch lines and folders that tell who is who, in the forms in which sites keep them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from parsers import read
from parsers.archive.bundle import open_bundle
from parsers.schema.names import Names
from parsers.who.speakers import Known, speakers
from tests.sources import raised

Files = dict[str, str]


def known(tmp_path: Path, files: Files) -> Known:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with open_bundle(str(tmp_path)) as bundle:
        return speakers(bundle.sources)


def names(tmp_path: Path, files: Files) -> Names:
    return known(tmp_path, files).names


LOG = "2026-03-01 10:00:00 step 1 loss 2.5\n2026-03-01 10:00:01 step 2 loss 2.4\n"

# form → (files, name → rank): what is told of single processes
PROCESSES: dict[str, tuple[Files, dict[str, int]]] = {
    "docker compose, variables as a list": (
        {
            "stack.yml": "services:\n"
            + "".join(
                f"  {name}:\n    image: lm:1\n    environment:\n      - WORLD_SIZE=3\n      - RANK={rank}\n"
                for name, rank in (("red", 1), ("green", 2), ("blue", 0))
            )
        },
        {"red": 1, "green": 2, "blue": 0, "blue-1": 0},
    ),
    "docker compose, in the command": (
        {
            "compose.yaml": "services:\n"
            + "".join(
                f"  {name}:\n    command: >\n      python -u train.py --rank {rank} --world-size 2\n"
                for name, rank in (("left", 1), ("right", 0))
            )
        },
        {"left": 1, "right": 0},
    ),
    "docker inspect": (
        {
            "inspect.json": json.dumps(
                [
                    {"Id": f"{rank}c0ffee{rank}ab", "Name": f"/job_{name}", "Config": {"Env": [f"RANK={rank}", "WORLD_SIZE=2"]}}
                    for name, rank in (("x", 1), ("y", 0))
                ],
                indent=2,
            )
        },
        {"job_x": 1, "job_y": 0, "1c0ffee1ab": 1},
    ),
    "kubectl get pods -o json": (
        {
            "pods.json": json.dumps(
                {
                    "kind": "List",
                    "items": [
                        {
                            "metadata": {"name": f"gpt-{suffix}", "uid": f"{suffix}-uid"},
                            "spec": {
                                "nodeName": "node-7",
                                "containers": [
                                    {
                                        "name": "main",
                                        "env": [
                                            *([{"name": "DEBUG", "value": "1"}] if rank else []),
                                            {"name": "RANK", "value": str(rank)},
                                            {"name": "WORLD_SIZE", "value": "3"},
                                        ],
                                    }
                                ],
                            },
                        }
                        for suffix, rank in (("qx7", 2), ("bb2", 0), ("zz9", 1))
                    ],
                }
            )
        },
        {"gpt-qx7": 2, "gpt-bb2": 0, "gpt-zz9": 1},
    ),
    "kubectl get pods -o yaml": (
        {
            "pods.yaml": "apiVersion: v1\nitems:\n"
            + "".join(
                f"- metadata:\n    name: job-{name}\n  spec:\n    containers:\n    - env:\n      - name: WORLD_SIZE\n"
                f'        value: "2"\n      - name: OMPI_COMM_WORLD_RANK\n        value: "{rank}"\n      name: main\n'
                for name, rank in (("m4kx", 1), ("p9zt", 0))
            )
            + "kind: List\n"
        },
        {"job-m4kx": 1, "job-p9zt": 0},
    ),
    "kubectl describe": (
        {
            "describe.txt": "\n".join(
                f"Name:         {name}\nNamespace:    ml\nNode:         n4/10.0.0.4\nContainers:\n  main:\n    Image:  lm:1\n"
                f"    Environment:\n      WORLD_SIZE:  2\n      RANK:        {rank}\n    Mounts:\n      /data from pvc (rw)\n"
                for name, rank in (("lm-b", 0), ("lm-a", 1))
            )
        },
        {"lm-a": 1, "lm-b": 0},
    ),
    "supervisord's configuration": (
        {
            "supervisord.conf": "[supervisord]\nlogfile=/tmp/s.log\n"
            + "".join(
                f'[program:{name}]\ncommand=python train.py\nenvironment=RANK="{rank}",WORLD_SIZE="3",MASTER_PORT="29500"\n'
                for name, rank in (("alpha", 2), ("beta", 0), ("gamma", 1))
            )
        },
        {"alpha": 2, "beta": 0, "gamma": 1},
    ),
    "watchers of circus": (
        {
            "circus.ini": "[circus]\ncheck_delay = 5\n"
            + "".join(
                f"[watcher:{name}]\ncmd = python train.py\n[env:{name}]\nRANK = {rank}\nWORLD_SIZE = 3\n"
                for name, rank in (("alpha", 2), ("beta", 0), ("gamma", 1))
            )
        },
        {"alpha": 2, "beta": 0, "gamma": 1},
    ),
    "units of systemd": (
        {
            f"units/{name}.service": "[Unit]\nDescription=training\n[Service]\nEnvironment=WORLD_SIZE=2\n"
            f"Environment=RANK={rank}\nExecStart=/usr/bin/python3 train.py\n"
            for name, rank in (("lm-north", 1), ("lm-south", 0))
        },
        {"lm-north": 1, "lm-south": 0},
    ),
    "files of variables": (
        {
            f"env/{name}.env": f"# written by the scheduler\nexport PMI_RANK={rank}\nexport PMI_SIZE=3\n"
            for name, rank in (("cat", 2), ("dog", 1), ("owl", 0))
        },
        {"cat": 2, "dog": 1, "owl": 0},
    ),
    "a mapping of workers": (
        {"workers.json": json.dumps({"world_size": 2, "workers": {"w-a1": {"rank": 1}, "w-b2": {"rank": 0}}})},
        {"w-a1": 1, "w-b2": 0},
    ),
    "TOML": (
        {
            "job.toml": 'title = "run"\nworld_size = 2\n'
            + "".join(f'[[process]]\nname = "{name}"\nrank = {rank}\n' for name, rank in (("one", 1), ("two", 0)))
        },
        {"one": 1, "two": 0},
    ),
    "a table of containers": (
        {"placement.tsv": "container\trank\tworld_size\nc-77\t1\t2\nc-12\t0\t2\n"},
        {"c-77": 1, "c-12": 0},
    ),
    "a table of hosts with a process each": (
        {"ranks.csv": "hostname,process_id,num_processes\ntpu-w9,0,2\ntpu-w2,1,2\n"},
        {"tpu-w9": 0, "tpu-w2": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", PROCESSES)
def test_a_document_tells_the_rank_of_who_is_called_so(form: str, tmp_path: Path) -> None:
    files, told = PROCESSES[form]
    found = names(tmp_path, files)
    assert {name: found.rank(name) for name in told} == told


# form → files; in all of them node-b is the first node, and node-a the second, with two processes each
NODES: dict[str, Files] = {
    "commands before which pdsh says the host": {
        "pdsh.log": "".join(
            f"{host}: + torchrun --nnodes=2 --nproc_per_node=2 --node_rank={node} train.py\n{host}: starting\n"
            for host, node in (("node-a1", 1), ("node-b1", 0))
        )
    },
    "a script of ssh": {
        "launch.sh": "#!/bin/bash\n"
        + "".join(
            f'ssh -o StrictHostKeyChecking=no train@{host} "cd /w && torchrun --nnodes 2 --nproc-per-node 2 --node-rank {node} t.py" &\n'
            for host, node in (("node-a1", 1), ("node-b1", 0))
        )
    },
    "a log of each node": {
        f"logs/{host}.log": f"+ torchrun --nnodes=2 --node-rank={node} --nproc-per-node=2 train.py\n{LOG}"
        for host, node in (("node-a1", 1), ("node-b1", 0))
    },
    "configurations of accelerate": {
        f"conf/accelerate_{host}.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\n"
        f"machine_rank: {node}\nmain_process_port: 29500\nnum_machines: 2\nnum_processes: 4\n"
        for host, node in (("node-a1", 1), ("node-b1", 0))
    },
    "a command of accelerate": {
        "all.log": "".join(
            f"{host}: accelerate launch --num_processes 4 --num_machines 2 --machine_rank {node} t.py\n{host}: ok\n"
            for host, node in (("node-a1", 1), ("node-b1", 0))
        )
    },
    "a hostfile": {"hostfile": "# first is rank 0\nnode-b1 slots=2\nnode-a1 slots=2\n"},
    "variables in Compose": {
        "c.yml": "services:\n"
        + "".join(
            f"  {host}:\n    environment: {{NODE_RANK: {node}, NPROC_PER_NODE: 2, NNODES: 2}}\n"
            for host, node in (("node-a1", 1), ("node-b1", 0))
        )
    },
    "a launcher that prints its settings": {
        f"{host}/launch.log": f"INFO 10:00:00,1 devices: 0,1\nINFO 10:00:00,1 nnodes: 2\nINFO 10:00:00,2 rank: {node}\nINFO 10:00:00,2 go\n"
        for host, node in (("node-a1", 1), ("node-b1", 0))
    },
    "a record of a launcher": {
        "stern.txt": "".join(
            f'{host} main {{"time": "2026-03-01T10:00:00Z", "msg": "begin", "node_rank": {node}, "nproc_per_node": 2}}\n{host} main go\n'
            for host, node in (("node-a1", 1), ("node-b1", 0))
        )
    },
    "info of an exporter": {
        "info.json": json.dumps(
            {
                "status": "success",
                "data": {
                    "resultType": "vector",
                    "result": [
                        {
                            "metric": {"pod": pod, "local_rank": str(at), "rank": str(2 * node + at), "world_size": "4"},
                            "value": [1, "1"],
                        }
                        for pod, node in (("node-a1", 1), ("node-b1", 0))
                        for at in (1, 0)
                    ],
                },
            }
        )
    },
    "an indexed job": {
        "pods.yaml": "items:\n"
        + "".join(
            f"- metadata:\n    annotations:\n      batch.kubernetes.io/job-completion-index: '{node}'\n    name: {host}\n"
            "  spec:\n    containers:\n    - args: [--nnodes=2, --nproc-per-node=2, train.py]\n"
            for host, node in (("node-a1", 1), ("node-b1", 0))
        )
    },
    "a table of places": {
        "placement.csv": "rank,node,local_rank,gpu_uuid\n2,node-a1,0,GPU-c\n0,node-b1,0,GPU-a\n3,node-a1,1,GPU-d\n1,node-b1,1,GPU-b\n"
    },
}  # fmt: skip


@pytest.mark.parametrize("form", NODES)
def test_a_place_on_a_node_is_a_rank(form: str, tmp_path: Path) -> None:
    found = names(tmp_path, NODES[form])
    told = {(host, local): found.rank(host, local) for host in ("node-a1", "node-b1") for local in range(3)}
    assert told == {
        ("node-b1", 0): 0, ("node-b1", 1): 1, ("node-b1", 2): None, ("node-a1", 0): 2, ("node-a1", 1): 3, ("node-a1", 2): None
    }  # fmt: skip


SERIES = {"__name__": "step_seconds", "instance": "10.0.0.7:9102", "pod": "node-a1", "local_rank": "1"}


def test_a_sample_of_a_pod_is_of_the_rank_that_has_this_place(tmp_path: Path) -> None:
    result = {
        "resultType": "matrix",
        "result": [{"metric": SERIES, "values": [[1772359200, "0.5"], [1772359215, "0.6"]]}],
    }
    files = NODES["info of an exporter"] | {"series.json": json.dumps({"status": "success", "data": result})}
    names(tmp_path, files)
    devices = read(str(tmp_path)).tables["devices"]
    assert devices.filter(pl.col("file") == "series.json")["rank"].to_list() == [3, 3]


# lines of which (host, local rank) or (node rank, local rank) tells the speaker, in a form of their own
SAID: dict[str, tuple[str, str]] = {
    "records before which the pod stands": (
        "stern.txt",
        '{host} main {{"ts": "2026-03-01T10:00:0{step}Z", "msg": "step", "node_rank": {node}, "local_rank": {local}, "step": {step}, "loss": 2.{step}}}',
    ),
    "a table by node and place": ("times.tsv", "{host}\t{local}\t{step}\t12.0\t200.5\t410.0\t2.{step}"),
    "records alone": (
        "steps.jsonl",
        '{{"time": "2026-03-01T10:00:0{step}Z", "host": "{host}", "node_rank": {node}, "local_rank": {local}, "step": {step}, "loss": 2.{step}}}',
    ),
}


@pytest.mark.parametrize("form", SAID)
def test_records_have_the_rank_of_their_place(form: str, tmp_path: Path) -> None:
    name, line = SAID[form]
    places = [
        (host, node, local, step)
        for step in range(1, 9)
        for host, node in (("node-a1", 1), ("node-b1", 0))
        for local in (0, 1)
    ]
    lines = [line.format(host=host, node=node, local=local, step=step) for host, node, local, step in places]
    head = ["node\tlocal\tstep\tdata_ms\tforward_ms\tbackward_ms\tloss"] if name.endswith("tsv") else []
    names(tmp_path, NODES["commands before which pdsh says the host"] | {name: "\n".join([*head, *lines]) + "\n"})
    steps = read(str(tmp_path)).tables["steps"].filter(pl.col("file") == name).sort("line")
    assert steps["rank"].to_list() == [2 * node + local for _, node, local, _ in places]


def test_uneven_nodes_begin_where_those_before_them_end(tmp_path: Path) -> None:
    found = names(tmp_path, {"hosts": "big slots=4\nmid slots=2\nsmall-1 slots=1\n"})
    assert [found.rank("big", 3), found.rank("mid", 0), found.rank("mid", 1), found.rank("small-1", 0)] == [3, 4, 5, 6]
    assert found.rank("mid", 2) is None


# form → files of a folder, by its rank
FOLDERS: dict[str, dict[str, str]] = {
    "runs of Weights & Biases": {
        "wandb/run-20260301-{key}/files/config.yaml": "global_rank:\n    value: {rank}\nworld_size:\n    value: 3\n",
        "wandb/run-20260301-{key}/files/output.log": LOG,
    },
    "runs of MLflow": {
        "mlruns/7/{key}/params/rank": "{rank}",
        "mlruns/7/{key}/params/world_size": "3",
        "mlruns/7/{key}/metrics/loss": "1772359200000 2.5 1\n1772359201000 2.4 2\n",
    },
    "versions of Lightning": {
        "logs/version_{number}/hparams.yaml": "lr: 0.1\nglobal_rank: {rank}\nworld_size: 3\n",
        "logs/version_{number}/metrics.csv": "step,loss\n1,2.5\n2,2.4\n",
    },
    "variables of each process": {
        "proc/{pid}/environ": "PATH=/bin\0SLURM_PROCID={rank}\0SLURM_NTASKS=3\0HOME=/root\0",
        "proc/{pid}/stack": "[<0>] futex_wait\n",
    },
    "arguments kept beside the log": {
        "out/{key}/args.json": '{{"lr": 0.1, "world_size": 3, "process_index": {rank}}}',
        "out/{key}/train.log": LOG,
    },
    "overrides of Hydra": {
        "multirun/{key}/.hydra/overrides.yaml": "- trainer.global_rank={rank}\n- lr=0.1\n- world_size=3\n",
        "multirun/{key}/main.log": LOG,
    },
}


@pytest.mark.parametrize("form", FOLDERS)
def test_a_folder_has_the_rank_that_its_document_tells(form: str, tmp_path: Path) -> None:
    parts = [
        {"key": key, "number": at, "pid": 4100 + 7 * at, "rank": rank}
        for at, (key, rank) in enumerate((("ab1", 2), ("cd2", 0), ("ef3", 1)))
    ]
    files = {path.format(**part): text.format(**part) for part in parts for path, text in FOLDERS[form].items()}
    found = known(tmp_path, files)
    told = {path.format(**part): part["rank"] for part in parts for path in FOLDERS[form]}
    with open_bundle(str(tmp_path)) as bundle:
        assert {one.path: found.of(one).rank for one in bundle.sources} == told


# files in which a number is no rank of a process
NONE: dict[str, Files] = {
    "an adapter, alike in every run": {f"runs/{key}/config.yaml": "lora:\n  rank: 16\n  alpha: 32\n" for key in ("a1", "b2", "c3")},
    "a sweep over an adapter's rank": {f"runs/{key}/config.yaml": f"rank: {rank}\nlr: 0.1\n" for key, rank in (("a1", 4), ("b2", 8), ("c3", 16))},
    "one configuration, written by rank 0": {"run/config.yaml": "rank: 0\nworld_size: 8\n", "run/train.log": LOG},
    "nodes, whose first process wrote it": {
        path: text
        for node in range(2)
        for path, text in ((f"node{node}/args.json", f'{{"global_rank": {4 * node}, "world_size": 8}}'), (f"node{node}/all.log", LOG))
    },
    "ranks beyond the world": {f"r/{key}/a.yaml": f"global_rank: {rank}\nworld_size: 4\n" for key, rank in (("x1", 3), ("y2", 9))},
    "replicas and executors": {"deploy.yaml": "spec:\n  replicas: 4\n", "executors.json": '[{"executor": "e-1", "id": 0}, {"executor": "e-2", "id": 1}]'},
    "ranks of groups": {f"r/{key}/a.yaml": f"tp_rank: {rank}\nworld_size: 4\n" for key, rank in (("x1", 0), ("y2", 1))},
    "places in groups": {f"r/{key}/a.yaml": f"tp:\n  rank: {rank}\nworld_size: 4\n" for key, rank in (("x1", 0), ("y2", 1))},
    "one service twice": {
        f"{name}.yml": f"services:\n  a1:\n    environment: {{RANK: {rank}, WORLD_SIZE: 2}}\n  b1:\n    environment: {{RANK: {1 - rank}, WORLD_SIZE: 2}}\n"
        for name, rank in (("old", 0), ("new", 1))
    },
    "a table of best models": {"leaderboard.csv": "rank,name,score\n1,m-a,0.9\n2,m-b,0.8\n3,m-c,0.7\n"},
    "an elastic launch": {"a.log": "gn1: torchrun --nnodes=1:4 --nproc-per-node=2 --node-rank=0 t.py\ngn2: torchrun --nnodes=1:4 --nproc-per-node=2 --node-rank=5 t.py\n"},
}  # fmt: skip


@pytest.mark.parametrize("form", NONE)
def test_what_is_no_rank_names_nobody(form: str, tmp_path: Path) -> None:
    found = known(tmp_path, NONE[form])
    assert not found.names.ranks and not found.names.folders and not found.documented
    assert not any(found.names.places.values()) or form == "an elastic launch"


def test_a_sidecar_of_another_world_is_another_program(tmp_path: Path) -> None:
    services = (("t-a", 1, 2), ("t-b", 0, 2), ("evaluator", 0, 1))
    text = "services:\n" + "".join(
        f"  {name}:\n    environment: {{RANK: {rank}, WORLD_SIZE: {size}}}\n" for name, rank, size in services
    )
    found = names(tmp_path, {"compose.yaml": text})
    assert found.ranks == {"t-a": 1, "t-b": 0}


def test_a_file_of_many_speakers_is_nobodys(tmp_path: Path) -> None:
    config = {f"run/{key}/args.yaml": f"global_rank: {rank}\nworld_size: 2\n" for key, rank in (("a1", 0), ("b2", 1))}
    logs = {"run/a1/all.log": "[rank0]: begin\n[rank1]: begin\n", "run/b2/own.log": "begin\n"}
    found = known(tmp_path, config | logs)
    assert "run/a1/all.log" not in found.documented
    assert found.documented["run/b2/own.log"] == 1


@pytest.mark.parametrize("inside", ["rank_{at}.log", "local_rank_{at}.log", "attempt_0/{at}/stderr.log"])
def test_a_folder_of_several_processes_is_nobodys(inside: str, tmp_path: Path) -> None:
    """The first of them wrote the configuration."""
    files = {f"out/{key}/args.yaml": f"global_rank: {rank}\nworld_size: 8\n" for key, rank in (("a1", 0), ("b2", 1))}
    files |= {f"out/{key}/{inside.format(at=at)}": LOG for key in ("a1", "b2") for at in (2, 3)}
    files |= {f"out/{key}/notes.txt": LOG for key in ("a1", "b2")}
    assert not known(tmp_path, files).documented


# rosters: lines of a log that list the processes of one host; the files are called by their place on it
ROSTERS: dict[str, str] = {
    "msrun": "The new node: {rank} with role: MS_WORKER, rank id: {rank}, device id: {rank}, hostname: atlas-2, ip: 10.8.0.2 is registered",
    "a scheduler": "2026-03-01 10:00:00 INFO placed rank={rank} local_rank={rank} host=n7 pid={pid}",
    "words apart": "started local rank: {rank}, rank: {rank}, tp rank: 1 on host n7",
    "a driver": "worker up: global_rank: {rank}, local_rank: {rank}, hostname: n7",
}


@pytest.mark.parametrize("form", ROSTERS)
def test_a_list_of_all_processes_of_the_one_host_tells_files_by_their_place(form: str, tmp_path: Path) -> None:
    lines = [ROSTERS[form].format(rank=rank, pid=4000 + 3 * rank) for rank in (2, 0, 3, 1)]
    files = {"driver.log": "\n".join(lines) + "\n"} | {f"local_rank_{at}.log": LOG for at in range(4)}
    assert known(tmp_path, files).documented == {f"local_rank_{at}.log": at for at in range(4)}


@pytest.mark.parametrize(
    "lines",
    [
        [
            "rank=0 local_rank=0 host=n7",
            "rank=1 local_rank=1 host=n7",
            "rank=2 local_rank=0 host=n8",
            "rank=3 local_rank=1 host=n8",
        ],
        ["rank=4 local_rank=0 host=n7", "rank=5 local_rank=1 host=n7"],
        ["rank=0 local_rank=0 host=n7 world_size=4", "rank=1 local_rank=1 host=n7 world_size=4"],
    ],
)
def test_a_list_that_may_lack_a_host_tells_no_file(lines: list[str], tmp_path: Path) -> None:
    files = {"driver.log": "\n".join(lines) + "\n"} | {f"local_rank_{at}.log": LOG for at in range(2)}
    assert not known(tmp_path, files).documented


def _of_hosts(name: str, say: Callable[[str, Sequence[int]], list[str]]) -> dict[str, list[str]]:
    """Two hosts with three processes each, a document and the files w_a, w_b, w_c on each; rank 4 fails on the second."""
    ranks = {"oak": (2, 0, 1), "elm": (5, 4, 3)}
    ends = ["Traceback (most recent call last):", '  File "t.py", line 3, in <module>', "KeyError: 'shard'"]
    files = {
        f"{host}/w_{letter}.txt": [f"12:00:0{step} it {step} loss 2.1" for step in range(4)]
        + (ends if rank == 4 else [])
        for host, own in ranks.items()
        for letter, rank in zip("abc", own, strict=True)
    }
    return files | {f"{host}/{name}": say(host, own) for host, own in ranks.items()}


@pytest.mark.parametrize(
    ("name", "say"),
    [
        ("procs.csv", lambda _, own: ["rank,stdout", *(f"{r},w_{at}.txt" for at, r in zip("abc", own, strict=True))]),
        ("run.toml", lambda _, own: [line for at, r in zip("abc", own, strict=True) for line in (f"[proc.{at}]", f"rank = {r}", f'log = "./w_{at}.txt"')]),
        ("state.yaml", lambda _, own: ["workers:", *(f"- rank: {r}\n  out: /data/x/w_{at}.txt" for at, r in zip("abc", own, strict=True))]),
    ],
)  # fmt: skip
def test_documents_of_hosts_tell_the_files_of_their_processes(
    tmp_path: Path, name: str, say: Callable[[str, Sequence[int]], list[str]]
) -> None:
    assert raised(tmp_path, _of_hosts(name, say)) == [4]


def test_a_name_that_another_host_gives_to_another_process_is_nobodys(tmp_path: Path) -> None:
    files = _of_hosts("procs.csv", lambda _, own: ["rank,日志", *(f"{r},w_{at}.txt" for at, r in zip("abc", own, strict=True))])  # fmt: skip
    assert raised(tmp_path, files) == [None]


def test_places_on_each_host_that_a_document_counts_are_no_ranks_of_another(tmp_path: Path) -> None:
    files = _of_hosts("procs.csv", lambda _, own: ["slot,rank", *(f"{at},{r}" for at, r in enumerate(own))])
    files = {path.replace("w_a", "slot0").replace("w_b", "slot1").replace("w_c", "slot2"): own for path, own in files.items()}  # fmt: skip
    assert raised(tmp_path, files) in ([None], [4])
