"""Which rank a pod is, where a job's description makes ranks of the numbers of its tasks, and lists hold pods of other jobs as well."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

UIDS = (
    "20a65299-1658-491f-aeeb-ef212e835b16", "4d2d79cc-735e-49a4-a19b-8972d480fc69",
    "b81184d5-d0c1-4f80-afc6-a810c4d36f14", "137787d5-790c-4709-a80a-14d00a7de771",
    "e093e361-7eea-48d8-a93b-31fe173d769b", "7117e0d8-9ad0-4887-a948-c5066f13bccc",
)  # fmt: skip
ORDER = (3, 0, 5, 2, 1, 4)  # of rows
ROLES = [("head", "peer"), ("chief", "worker"), ("master", "replica"), ("m", "w")]
OTHERS = ("nb-ilse-0", "tb-board-6c9d7")
Files = dict[str, list[str]]


def job(first: str, rest: str) -> list[str]:
    def task(name: str, rank: str, many: int) -> list[str]:
        command = f"export RANK={rank} WORLD_SIZE=4; exec python3 -u fit.py"
        return [f"  - name: {name}", f"    replicas: {many}", f"    command: {command}"]

    return [
        "kind: Job",
        "metadata:",
        "  name: abl7b",
        "tasks:",
        *task(first, "0", 1),
        *task(rest, "$((TASK_INDEX+1))", 3),
    ]


def pods(first: str, rest: str) -> list[str]:
    return [f"abl7b-{first}-0", *(f"abl7b-{rest}-{n}" for n in range(3)), *OTHERS]


def rows(line: Callable[[str, str], str], name: str, *head: str) -> Callable[[list[str]], Files]:
    return lambda names: {name: [*head, *(line(names[at], UIDS[at]) for at in ORDER)]}


def items(names: Sequence[str]) -> list[dict[str, object]]:
    return [{"metadata": {"name": names[at], "uid": UIDS[at]}, "spec": {"nodeName": f"kd-{at}"}} for at in ORDER]


# name and uid of each pod
LISTS: dict[str, Callable[[list[str]], Files]] = {
    "kubectl": rows(lambda name, uid: f"{name:<18}{'1/1':<8}{'Running':<10}{uid}", "pods.txt", f"{'NAME':<18}{'READY':<8}{'STATUS':<10}UID"),
    "kubectl with a command": rows(lambda name, uid: f"{name:<18}{'Failed':<10}{uid}", "pods.txt", "$ kubectl get pods -o custom-columns=…", f"{'NAME':<18}{'PHASE':<10}UID"),
    "tabs": rows(lambda name, uid: f"research\t{name}\tkd-1\t{uid}\tFailed", "pods.tsv", "NAMESPACE\tNAME\tNODE\tUID\tPHASE"),
    "commas": rows(lambda name, uid: f"{name},{uid}", "pods.csv", "pod,uid"),
    "semicolons": rows(lambda name, uid: f"{uid};{name};Failed", "pods.csv", "uid;pod;phase"),
    "bars": rows(lambda name, uid: f"| {name} | {uid} |", "pods.md", "| name | uid |", "|---|---|"),
    "entries": rows(lambda name, uid: f"- metadata:\n    name: {name}\n    uid: {uid}\n  spec: {{nodeName: kd-1}}", "pods.yaml", "items:"),
    "entries in quotes": rows(lambda name, uid: f'- metadata:\n    name: "{name}"\n    uid: "{uid}"\n  spec: {{nodeName: kd-1}}', "pods.yaml", "items:"),
    "an object": lambda names: {"pods.json": json.dumps({"items": items(names)}, indent=1).splitlines()},
    "objects": lambda names: {"pods.jsonl": [json.dumps({"name": names[at], "node": "kd-1", "uid": UIDS[at]}) for at in ORDER]},
    "sections": rows(lambda name, uid: f"Name:         {name}\nNamespace:    research\nUID:          {uid}\nNode:         kd-1\n", "describe.txt"),
    "lines": rows(lambda name, uid: f"pod {name} uid {uid}", "pods.txt"),
    "lines with bars": rows(lambda name, uid: f"{uid}  research/{name}", "pods.txt"),
}  # fmt: skip


def ranks(folder: Path, files: Files) -> dict[str, int]:
    files = {path: "\n".join(own).split("\n") for path, own in files.items()}
    found = read(str(written(folder, files))).tables["ranks"].drop_nulls(["rank", "name"])
    return {name: rank for name, rank in found.select("name", "rank").iter_rows() if name in UIDS}


@pytest.mark.parametrize("told", LISTS)
def test_a_pod_of_a_job_is_told_among_others(told: str, tmp_path: Path) -> None:
    files = LISTS[told](pods("head", "peer")) | {"job.yaml": job("head", "peer")}
    assert ranks(tmp_path, files) == {UIDS[at]: at for at in range(4)}


@pytest.mark.parametrize("roles", ROLES, ids=[" ".join(own) for own in ROLES])
def test_a_job_calls_its_tasks_as_it_likes(roles: tuple[str, str], tmp_path: Path) -> None:
    files = LISTS["tabs"](pods(*roles)) | {"job.yaml": job(*roles)}
    assert ranks(tmp_path, files) == {UIDS[at]: at for at in range(4)}


@pytest.mark.parametrize(
    ("names", "described"),
    [
        (["abl7b-head-0", *(f"abl7b-peer-{n}" for n in range(2)), "abl7b-eval-0", *OTHERS], job("head", "peer")),
        (["abl7b-head-0", *(f"abl7b-peer-{n}" for n in range(1, 4)), *OTHERS], job("head", "peer")),
        (["abl7b-board-0", *(f"abl7b-peer-{n}" for n in range(3)), *OTHERS], job("head", "peer")),
        (["abl7b-head-0", *(f"tp-{n}" for n in range(3)), *OTHERS], job("head", "peer")),
        (pods("head", "peer"), [line.replace("+1", "*2") for line in job("head", "peer")]),
        (pods("head", "peer"), [line.replace("WORLD_SIZE=4", "WORLD_SIZE=8") for line in job("head", "peer")]),
    ],
    ids=["one is missing", "of another attempt", "no task of the job", "groups", "a formula of something else", "of more"],
)  # fmt: skip
def test_pods_that_are_nobodys(names: list[str], described: list[str], tmp_path: Path) -> None:
    assert ranks(tmp_path, LISTS["tabs"](names) | {"job.yaml": described}) == {}
