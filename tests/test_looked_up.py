"""A script that looks its process up in a list: one fact in many scripts and lists, one answer; and lists that are no ranks."""

from pathlib import Path

import pytest

from parsers.archive.bundle import open_bundle
from parsers.who.speakers import speakers
from tests.sources import written

Files = dict[str, list[str]]
ENDPOINTS = ("10.60.0.13:2223", "10.60.0.11:2222", "10.60.0.12:2222", "10.60.0.11:2223")
BIRDS = ("swan", "heron", "teal", "auk")
NODES = ("kn-31", "kn-07", "kn-12", "kn-05")

TF = [
    'ws = os.environ["WORKERS"].split(",")',
    'os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": ws},',
    '    "task": {"type": "worker", "index": ws.index(os.environ["SELF"])}})',
]
GREP = [
    "RANK=$(echo $MEMBERS | tr ' ' '\\n' | grep -nx $ME | cut -d: -f1)",
    "export RANK=$((RANK-1))",
    "exec python train.py",
]


def listed(names: tuple[str, ...], mark: str = ",") -> str:
    return mark.join(names)


FORMS: dict[str, tuple[Files, tuple[str, ...]]] = {
    "TensorFlow's, of variables": ({"start.py": TF, "workers.env": [f"WORKERS={listed(ENDPOINTS)}", "TF_X=0"]}, ENDPOINTS),
    "quoted": ({"start.py": TF, "run.sh": [f'export WORKERS="{listed(ENDPOINTS)}"', "./start.py"]}, ENDPOINTS),
    "of compose": ({"start.py": TF, "compose.yml": ["services:", "  a:", "    environment:", f'      WORKERS: "{listed(ENDPOINTS)}"', "      SELF: x"]}, ENDPOINTS),
    "of Kubernetes": ({"start.py": TF, "job.yaml": ["spec:", "  env:", "  - name: WORKERS", f"    value: {listed(ENDPOINTS)}", "  - name: A", "    value: b"]}, ENDPOINTS),
    "of a command": ({"start.py": TF, "history.txt": [f"$ docker run -e WORKERS={listed(ENDPOINTS)} -e SELF=10.60.0.11:2222 reg/x"]}, ENDPOINTS),
    "a list in the script": ({"run.py": [f"hosts = {list(NODES)}", "rank = hosts.index(socket.gethostname())"]}, NODES),
    "single quotes": ({"run.py": [f"peers = ({', '.join(map(repr, NODES))})", 'os.environ["RANK"] = str(peers.index(name))']}, NODES),
    "getenv": ({"run.py": ['members = os.getenv("MEMBERS").split()', "rank = members.index(me)"], "env": [f"MEMBERS={listed(BIRDS, ' ')}", "ME=teal"]}, BIRDS),
    "given on": ({"run.py": ['members = os.environ["MEMBERS"].split(",")', "me = members.index(NAME)", 'env["RANK"] = str(me)'], "env": [f"MEMBERS={listed(BIRDS)}", "A=1"]}, BIRDS),
    "typed": ({"run.py": ["hosts = load()", "rank: int = hosts.index(gethostname())"], "conf.yaml": ["job: x", "hosts:", *(f"  - {one}" for one in NODES)]}, NODES),
    "JSON": ({"run.py": ['rank = peers.index(me)'], "conf.json": ['{"job": "x", "peers": ["' + '", "'.join(NODES) + '"], "lr": 1}']}, NODES),
    "grep": ({"entry.sh": GREP, "vars.env": [f"MEMBERS='{listed(BIRDS, ' ')}'", "ME=auk"]}, BIRDS),
    "grep, in the script": ({"entry.sh": [f'MEMBERS="{listed(NODES, " ")}"', *GREP]}, NODES),
    "JavaScript": ({"launch.js": ['const hosts = process.env.HOSTS.split(",")', "env.RANK = hosts.indexOf(os.hostname())"], ".env": [f"HOSTS={listed(NODES)}", "A=1"]}, NODES),
}  # fmt: skip


def told(folder: Path, files: Files) -> dict[str, int]:
    with open_bundle(str(written(folder, files | {"train.log": ["step 1 loss 2.5", "step 2 loss 2.4"]}))) as bundle:
        return dict(speakers(bundle.sources).names.ranks)


@pytest.mark.parametrize("form", FORMS)
def test_ranks_are_places_in_a_list(form: str, tmp_path: Path) -> None:
    files, names = FORMS[form]
    found = told(tmp_path, files)
    assert {name: found.get(name) for name in names} == {name: rank for rank, name in enumerate(names)}


OTHERS: dict[str, Files] = {
    "of no rank": {"run.py": [f"hosts = {list(NODES)}", "color = hosts.index(socket.gethostname())"]},
    "of a group": {"run.py": [f"hosts = {list(NODES)}", "tp_rank = hosts.index(socket.gethostname())"]},
    "on its host": {"run.py": [f"cards = {list(BIRDS)}", "local_rank = cards.index(mine)"]},
    "sorted": {"run.py": [f"hosts = sorted({list(NODES)})", "rank = hosts.index(socket.gethostname())"]},
    "two lists": {"run.py": ['hosts = os.environ["HOSTS"].split(",")', "rank = hosts.index(me)"], "a.env": [f"HOSTS={listed(NODES)}", "A=1"], "b.env": [f"HOSTS={listed(NODES[::-1])}", "A=1"]},
    "another size": {"run.py": [f"hosts = {list(NODES)}", "rank = hosts.index(me)"], "r0.log": [f"rank={rank} world_size=8 pid={4000 + rank}" for rank in range(8)]},
    "numbers": {"run.py": ["groups = [7, 3, 5, 1]", "rank = groups.index(mine)"]},
    "twice": {"run.py": [f"hosts = {[*NODES, NODES[0]]}", "rank = hosts.index(me)"]},
    "another variable": {"run.py": ['hosts = os.environ["HOSTS"].split(",")', "rank = hosts.index(me)"], "a.env": [f"OTHER_HOSTS={listed(NODES)}", "A=1"]},
    "index of no task": {"run.py": [f"files = {list(BIRDS)}", "index = files.index(name)"]},
}  # fmt: skip


LIST, LOOKED_UP = f"hosts = {list(NODES)}", "rank = hosts.index(socket.gethostname())"
MEMBERS = f'MEMBERS="{listed(NODES, " ")}"'
CHANGED: tuple[list[str], ...] = (
    [LIST, f"{LOOKED_UP} + 1"],
    [LIST, f"{LOOKED_UP} * 8 + slot"],
    [LIST, LOOKED_UP, "rank += 1"],
    [LIST, LOOKED_UP, "rank = rank + 1"],
    [LIST, LOOKED_UP, 'os.environ["RANK"] = str(rank + 1)'],
    [LIST, "rank = (hosts.index(socket.gethostname()) + 2) % 4"],
    [LIST, "rank = hosts[1:].index(socket.gethostname())"],
    [LIST, "hosts = hosts[1:]", LOOKED_UP],
    [LIST, "hosts = [one for one in hosts if one != head]", LOOKED_UP],
    [LIST, "hosts.pop(0)", LOOKED_UP],
    [LIST, "hosts.insert(0, head)", LOOKED_UP],
    [LIST, "del hosts[0]", LOOKED_UP],
    [LIST, "head, *hosts = hosts", LOOKED_UP],
    [LIST, "hosts[0], hosts[1] = hosts[1], hosts[0]", LOOKED_UP],
    [LIST, LOOKED_UP, "torchrun(node_rank=rank, nproc_per_node=2)"],
    [MEMBERS, GREP[0]],
    [MEMBERS, GREP[0], "export RANK=$((RANK+1))"],
    [MEMBERS, GREP[0], "export RANK=$((RANK-2))"],
    [MEMBERS, *GREP[:2], "export RANK=$((RANK*2))"],
    [MEMBERS, GREP[0].replace("| grep", "| sed 1d | grep"), GREP[1]],
    [MEMBERS, GREP[0].replace("| grep", "| grep -v kn-31 | grep"), GREP[1]],
    [MEMBERS, "MEMBERS=${MEMBERS#* }", *GREP],
    [MEMBERS, "set -- $MEMBERS; shift; MEMBERS=$*", *GREP],
    [MEMBERS, 'MEMBERS="head $MEMBERS"', *GREP],
)
KEPT: tuple[list[str], ...] = (
    [LIST, "world, head = len(hosts), hosts[0]", LOOKED_UP, "print(rank, len(hosts))"],
    [LIST, "rank = str(hosts.index(socket.gethostname()))  # from 0"],
    [LIST, "for one in hosts:", "    ping(one)", LOOKED_UP, "if rank == 0:", "    serve()"],
    [MEMBERS, GREP[0].replace("RANK=$(", "RANK=$(($(") + " - 1 ))"],
    [MEMBERS, "for one in $MEMBERS; do ping -c 1 $one; done", *GREP],
)


@pytest.mark.parametrize("script", CHANGED, ids=lambda lines: lines[-1] if lines[-1] != LOOKED_UP else lines[-2])
def test_a_list_or_a_number_that_is_changed_tells_no_ranks(script: list[str], tmp_path: Path) -> None:
    assert not told(tmp_path, {"run": script}).keys() & {*NODES}


@pytest.mark.parametrize("script", KEPT, ids=range(len(KEPT)))
def test_a_list_that_is_read_as_it_is(script: list[str], tmp_path: Path) -> None:
    assert [told(tmp_path, {"run": script}).get(name) for name in NODES] == [0, 1, 2, 3]


@pytest.mark.parametrize("form", OTHERS)
def test_other_lists_tell_no_ranks(form: str, tmp_path: Path) -> None:
    found = told(tmp_path, OTHERS[form])
    assert not found.keys() & {*NODES, *BIRDS}
