"""A folder that is called as the end of a place's name is of that place; documents tell the devices of places, by whichever of their names
(parsers/who/places/contexts.py)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import raised, written

NODES = {"10.8.3.62": "npu-62", "10.8.3.14": "npu-14"}  # in the order of the ranks
PODS = {"glm-sft-worker-0": "10.8.3.14", "glm-sft-worker-1": "10.8.3.62"}
EACH = 3
ERROR = ["Traceback (most recent call last):", '  File "/job/pretrain.py", line 9, in <module>', "    batch = next(it)", "KeyError: 'ids'"]  # fmt: skip
CULPRIT = ("worker-0", 1)
RANK = 4  # the device 1 of 10.8.3.14

TABLE = {
    "server_list": [
        {
            "server_id": address,
            "device": [{"device_id": str(at), "device_ip": f"192.168.{node}.{at}", "rank_id": str(EACH * node + at)} for at in range(EACH)],
        }
        for node, address in enumerate(NODES)
    ]
}  # fmt: skip
FLAT = [f"{EACH * node + at},{address},{at}" for node, address in enumerate(NODES) for at in range(EACH)]
TOLD: dict[str, Mapping[str, Sequence[str]]] = {
    "a rank table": {"ranktable.json": json.dumps(TABLE, indent=1).splitlines()},
    "a table of devices": {"map.csv": ["rank,host,device_id", *FLAT]},
}
CALLED: dict[str, Mapping[str, Sequence[str]]] = {
    "pods with addresses and nodes": {"pods.txt": ["NAME                READY   STATUS   IP          NODE", *(f"{pod}    0/1     Error    {ip}   {NODES[ip]}" for pod, ip in PODS.items())]},
    "a table of pods": {"pods.csv": ["pod,ip", *(f"{pod},{ip}" for pod, ip in PODS.items())]},
    "a file of hosts": {"hosts.txt": [f"{ip} {pod}" for pod, ip in PODS.items()]},
}  # fmt: skip


def logs(name: str = "device_{}.log", folder: str = "{}") -> dict[str, list[str]]:
    return {
        f"{folder.format(pod)}/{name.format(at)}": [
            *(f" iteration {step}/ 90 | lm loss: 2.{step}{at} |" for step in (1, 2, 3)),
            *(ERROR if (pod, at) == CULPRIT else []),
        ]
        for pod in ("worker-0", "worker-1")
        for at in range(EACH)
    }


@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("told", TOLD)
def test_a_log_of_a_device_below_the_folder_of_a_pod(tmp_path: Path, told: str, called: str) -> None:
    assert raised(tmp_path, {**TOLD[told], **CALLED[called], **logs()}) == [RANK]


@pytest.mark.parametrize("folder", ["logs/{}", "glm-sft-{}"])
def test_folders_elsewhere_or_called_in_full(tmp_path: Path, folder: str) -> None:
    files = {**TOLD["a rank table"], **CALLED["pods with addresses and nodes"], **logs("npu{}.log", folder)}
    assert raised(tmp_path, files) == [RANK]


SILENT: dict[str, Mapping[str, Sequence[str]]] = {
    "nobody says where the pods are": TOLD["a rank table"],
    "two jobs whose pods end alike": {
        **TOLD["a rank table"],
        "pods.txt": [*CALLED["pods with addresses and nodes"]["pods.txt"], "glm-dpo-worker-0    1/1     Running    10.8.3.90   npu-90"],
    },
    "pods on one node": {
        **TOLD["a rank table"],
        "pods.txt": ["NAME                READY   STATUS   IP          NODE", *(f"{pod}    0/1     Error    10.8.3.14   npu-14" for pod in PODS)],
    },
}  # fmt: skip


@pytest.mark.parametrize("form", SILENT)
def test_folders_of_no_one_place(tmp_path: Path, form: str) -> None:
    assert raised(tmp_path, {**SILENT[form], **logs()}) == [None]


def test_a_copy_in_a_second_folder_makes_no_places(tmp_path: Path) -> None:
    lines = "Jax distributed system initialized. process_index={0} process_count=4\ncompleted step: 1, loss: 2.0\n"
    for rank in range(4):
        for folder in ("logs", "again") if rank == 0 else ("logs",):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"train-0-{rank}.log").write_text(lines.format(rank))
    assert analyze(tmp_path).coverage.hosts_seen == []


HOSTS = ("gp11", "gp12", "gp13", "gp14")  # in the order of the ranks
LOST = ["Traceback (most recent call last):", '  File "fit.py", line 9, in main', "RuntimeError: [pair.cc:525] Connection closed by peer [10.2.0.7]:4411"]  # fmt: skip


def log(*, is_odd: bool, hour: int = 10, first: int = 1) -> list[str]:
    steps = [f"2026-02-03 {hour}:00:{step:02} step {step} loss {3 - step / 40:.3f}" for step in range(first, first + 9)]
    return [*steps, *(ERROR if is_odd else LOST)]


@pytest.mark.parametrize(
    ("form", "ranks"),
    [
        ("{own}/to-{next}.log", []),
        ("{own}/from-{next}/run.log", []),
        ("{own}.to.{next}.log", []),
        ("{own}-{next}.log", []),
        ("logs/{own}/{next}.log", []),
        ("gp11/{own}.log", [2]),
        ("gp11/train-{own}.log", [2]),
        ("from-gp11/{own}/run.log", [2]),
        ("{own}/{own}.log", [2]),
        ("{own}/job-14/run.log", [2]),
    ],
)
def test_a_log_is_not_of_whom_it_is_about(tmp_path: Path, form: str, ranks: list[int]) -> None:
    made = {"ranks.csv": ["rank,host", *(f"{rank},{host}" for rank, host in enumerate(HOSTS))]}
    for own, other in zip(HOSTS, (*HOSTS[1:], HOSTS[0]), strict=True):
        made[form.format(own=own, next=other)] = log(is_odd=own == "gp13")
    assert analyze(written(tmp_path, made)).verdict.ranks == ranks


@pytest.mark.parametrize(
    "form", ["{at}/rank_{n}/stderr", "{at}/rank{n}.log", "{at}/logs/rank-{n}.err", "job/{at}/rank_{n}/out"]
)
@pytest.mark.parametrize("is_dated", [True, False])
def test_hosts_may_each_count_their_own_ranks(tmp_path: Path, form: str, *, is_dated: bool) -> None:
    made = {form.format(at=at, n=n): log(is_odd=(at, n) == ("gq2", 1)) for at in ("gq1", "gq2") for n in (0, 1)}
    if not is_dated:
        made = {path: [line.replace("2026-02-03 ", "") for line in own] for path, own in made.items()}
    assert analyze(written(tmp_path, made)).verdict.ranks == []


@pytest.mark.parametrize("form", ["{at}/rank_{n}/stderr", "{at}/rank{n}.log"])
def test_ranks_that_go_on_from_host_to_host_and_runs_one_after_the_other(tmp_path: Path, form: str) -> None:
    hosts = {form.format(at=f"gq{1 + n // 2}", n=n): log(is_odd=n == 3) for n in range(4)}
    assert analyze(written(tmp_path / "hosts", hosts)).verdict.ranks == [3]
    runs = {
        form.format(at=f"run{run}", n=n): log(is_odd=(run, n) == (2, 1), hour=9 + run, first=5 * run)
        for run in (1, 2)
        for n in range(4)
    }
    assert analyze(written(tmp_path / "runs", runs)).verdict.ranks == [1]
