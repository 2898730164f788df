"""Services that are told their node and no rank, and mappings that an anchor names."""

import json
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

NODES = {"kite": 2, "owl": 0, "wren": 3, "lark": 1}
DEVICE = '    deploy: {{resources: {{reservations: {{devices: [{{device_ids: ["{device}"]}}]}}}}}}\n'
FORMS = {
    "its place is told": (
        "",
        "  {name}:\n    environment:\n      WORLD_SIZE: '4'\n      NODE_RANK: '{node}'\n      LOCAL_RANK: '0'\n"
        + DEVICE,
    ),
    "sizes stand behind an anchor": (
        "x-all: &all\n  command: python fit.py --run.num_nodes=4 --run.devices=1\n",
        "  {name}:\n    <<: *all\n    environment:\n      NODE_RANK: '{node}'\n" + DEVICE,
    ),
    "variables stand behind an anchor": (
        "x-env: &env\n  WORLD_SIZE: '4'\n",
        "  {name}:\n    environment:\n      <<: *env\n      RANK: '{node}'\n      NVIDIA_VISIBLE_DEVICES: '{device}'\n",
    ),
    "an alias of one anchor among several": (
        "x-a: &a\n  image: r/a\nx-b: &b\n  environment:\n    WORLD_SIZE: '4'\n    LOCAL_RANK: '0'\n",
        "  {name}:\n    <<: [*a, *b]\n    command: python fit.py --node_rank={node}\n",
    ),
}
NOBODYS = {
    "two processes in each": (
        "x-all: &all\n  command: torchrun --nnodes=4 --nproc_per_node=2 fit.py\n",
        "  {name}:\n    <<: *all\n    environment:\n      WORLD_SIZE: '4'\n      NODE_RANK: '{node}'\n" + DEVICE,
    ),
    "a device is no rank": ("", "  {name}:\n    environment:\n      WORLD_SIZE: '4'\n" + DEVICE),
}


def named(tmp_path: Path, head: str, form: str) -> list[int]:
    services = "".join(form.format(name=name, node=node, device=at) for at, (name, node) in enumerate(NODES.items()))
    steps = [f"{name}-1  | 12:00:{step:02d} step {step} loss 2.{step}" for step in range(10, 30) for name in NODES]
    end = [
        "Traceback (most recent call last):",
        '  File "/srv/fit.py", line 9, in <module>',
        "    key[word]",
        "KeyError: 'p7'",
    ]
    log = "\n".join([*steps, *(f"wren-1  | {line}" for line in end)])
    return analyze(
        written(tmp_path, {"compose.yaml": [head + "services:\n" + services], "up.log": [log]})
    ).verdict.ranks


@pytest.mark.parametrize("form", FORMS)
def test_a_service_is_the_process_of_its_node(form: str, tmp_path: Path) -> None:
    assert named(tmp_path, *FORMS[form]) == [3]


@pytest.mark.parametrize("form", NOBODYS)
def test_a_node_of_several_processes_and_a_device_are_no_rank(form: str, tmp_path: Path) -> None:
    assert named(tmp_path, *NOBODYS[form]) == []


UNITS = {
    "what a runtime shows of containers": lambda name, node: {
        "Id": f"{node}{'c4' * 31}e", "Config": {"Hostname": name, "Env": [f"PLACE_NO={node}", "PLACES=3", "CARDS=2"],
        "Cmd": ["sh", "-c", "torchrun --nnodes=$PLACES --node-rank=$PLACE_NO --nproc-per-node=$CARDS fit.py"]},
    },
    "several variables in one text": lambda name, node: {
        "host": name, "environment": f"PLACE_NO={node} PLACES=3 CARDS=2",
        "command": "exec torchrun --nnodes ${PLACES} --node_rank ${PLACE_NO} --nproc_per_node ${CARDS} fit.py",
    },
    "a list of pairs": lambda name, node: {
        "hostname": name, "env": [{"name": "PLACE_NO", "value": str(node)}, {"name": "CARDS", "value": "2"}],
        "args": ["torchrun --nnodes=3 --node-rank=$PLACE_NO --nproc-per-node=$CARDS fit.py"],
    },
    "no launch takes them": lambda name, node: {"host": name, "environment": f"PLACE_NO={node} PLACES=3 CARDS=2"},
}  # fmt: skip


@pytest.mark.parametrize("form", UNITS)
def test_variables_in_lists_are_what_a_launch_makes_of_them(form: str, tmp_path: Path) -> None:
    hosts = {"kite-7": 2, "owl-1": 0, "wren-4": 1}
    units = json.dumps([UNITS[form](name, node) for name, node in hosts.items()])
    end = "E0411 01:24:01.585774 96 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 1 (pid: 144) of binary: /bin/python"
    raised = [
        "Traceback (most recent call last):",
        '  File "/srv/fit.py", line 9, in <module>',
        "    key[word]",
        "KeyError: 'p7'",
    ]
    log = [f"{name} | step {step} loss 2.{step}" for step in range(10, 20) for name in hosts]
    log += [f"wren-4 | {line}" for line in [*raised, end]]
    expected = [] if form == "no launch takes them" else [3]
    assert analyze(written(tmp_path, {"units.json": [units], "all.log": log})).verdict.ranks == expected
