"""Which rank a script, a document or a command makes of a number, a name or a device; and where that is told in part only, nobody is named."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics import analyze

Files = Mapping[str, str]
LOST = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Read error [10.0.0.9]:4100: Connection reset by peer"
OWN = 'Traceback (most recent call last):\n  File "/w/reader.py", line 31, in read\n    raise BadShard(name)\nreader.BadShard: shard 7 ends early'


def log(*, fails: bool = False, dies: bool = False, before: str = "") -> str:
    """Of one process: steps, then its own error, or that it lost others; who was killed says nothing more."""
    lines = [f"2026-03-05 10:00:{at:02} fit it {at} nll 2.{at} toks 810" for at in range(9)]
    lost = f'Traceback (most recent call last):\n  File "/w/fit.py", line 9, in step\n    dist.all_reduce(g)\n{LOST}'
    lines += OWN.split("\n") if fails else [] if dies else lost.split("\n")
    return "".join(f"{before}{line}\n" for line in lines)


def mixed(heads: Mapping[str, bool]) -> str:
    """Processes that print into one file, each behind its head; the marked one fails."""
    own = [log(fails=fails, before=head).splitlines() for head, fails in heads.items()]
    depth = max(map(len, own))
    return "".join(f"{lines[at]}\n" for at in range(depth) for lines in own if at < len(lines))


def pod(name: str, code: int, reason: str, second: int) -> str:
    return (
        f"- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: {name}\n  spec:\n    nodeName: m{second}\n  status:\n    containerStatuses:\n"
        f"    - name: fit\n      state:\n        terminated:\n          exitCode: {code}\n          reason: {reason}\n"
        f'          finishedAt: "2026-03-05T10:00:{second:02}Z"\n'
    )


def described(name: str, rank: int, world: int) -> str:
    return (
        f"Name:         {name}\nNamespace:    ml\nNode:         m7/10.0.0.7\nContainers:\n  fit:\n    Environment:\n"
        f"      MASTER_ADDR:  enc-chief-0\n      WORLD_SIZE:   {world}\n      RANK:         {rank}\n"
    )


def set_of(script: str) -> Files:
    """A StatefulSet of three, of which the pod of the number 1 fails."""
    return {"start.sh": script} | {f"out/ocr-{number}.log": log(fails=number == 1) for number in range(3)}


def islands(rows: int, columns: int) -> Files:
    """Hosts whose names hold two numbers; the one of island 1, slot 0 fails."""
    return {
        "boot.sh": "I=$(hostname | cut -c4)\nS=$(hostname | cut -c6)\n"
        f"export WORLD_SIZE={rows * columns} RANK=$((I * {columns} + S))\nexec python fit.py\n"
    } | {f"tpu{i}x{s}/fit.log": log(fails=(i, s) == (1, 0)) for i in range(rows) for s in range(columns)}


def table(*, with_servers: bool = True) -> Files:
    """Two servers with two devices each, whose ranks go backwards; device 3 of sb fails."""
    servers = {"sa": {0: 3, 1: 2}, "sb": {2: 1, 3: 0}} if with_servers else {"sa": {0: 3, 1: 2}, "sb": {0: 1, 1: 0}}
    rows = "".join(
        f"- server_id: {name}\n  device:\n" + "".join(f"  - device_id: {d}\n    rank_id: {r}\n" for d, r in own.items())
        for name, own in servers.items()
    )
    last = max(servers["sb"])
    paths = {
        (name, d): f"{name}/npu{d}.log" if with_servers else f"logs{at}/npu{d}.log"
        for at, (name, own) in enumerate(servers.items())
        for d in own
    }
    return {"ranks.yaml": "server_list:\n" + rows} | {path: log(fails=who == ("sb", last)) for who, path in paths.items()}  # fmt: skip


CARDS = "CARDS = 2\nme = spec['{}'].index(own_name())\nfor c in range(CARDS):\n    env['RANK'] = str(me * CARDS + c)\n"
PARTS = {
    f"{host}/card{c}.log": log(fails=(host, c) == ("mira", 1)) for host in ("sol", "mira", "atlas") for c in (0, 1)
}
JOBS = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n" + "".join(
    f"{n}\t:\t17820000{n}.1\t  90.{n}\t0\t9\t{137 if n == 3 else 1}\t0\tsh one.sh {n}\n" for n in (3, 1, 4, 2)
)
CALLED = {f"res/1/{n}/stdout": log(dies=n == 3) for n in range(1, 5)}
ONE = "k=$1\nexport WORLD_SIZE=4\nexport RANK=$((k - 1))\nexec python fit.py\n"


def workers(word: str, *, peers: bool = False) -> Files:
    """A driver's rows of hosts and numbers, and logs of containers that say their host; that of ash, number 1, fails."""
    hosts = {"ash": 1, "fir": 2, "oak": 0}
    around = dict(zip(hosts, ["fir", "oak", "ash"], strict=True))
    rows = "".join(
        f"10:00:0{at} begun: container {7 - at} on host {host}7, {word} {n}, 9 files\n"
        for at, (host, n) in enumerate(hosts.items())
    )
    says = {
        host: f"next host {around[host]}7 of the ring\n" if peers else f"container begins on host {host}7\n"
        for host in hosts
    }
    logs = {f"c/{7 - at}/out": says[host] + log(fails=host == "ash") for at, host in enumerate(hosts)}
    return logs | {"driver.log": rows, "main.py": "os.environ['RANK'] = str(info.sliceId())\n"}  # fmt: skip


def numbered(script: str) -> Files:
    """Processes that a supervisor numbers from 1 on, behind their names; the second fails."""
    return {"run.sh": script, "all.log": mixed({f"fit.{number} | ": number == 2 for number in (1, 2, 3)})}


TOLD: dict[str, tuple[Files, list[int]]] = {
    "the rest of a sum": (set_of("N=3\nORD=${HOSTNAME##*-}\nexport WORLD_SIZE=3 RANK=$(( (ORD + 1) % N ))\n"), [2]),
    "an ordinal": (set_of("export WORLD_SIZE=3\nexport RANK=${HOSTNAME##*-}\n"), [1]),
    "a list that a script looks itself up in": (
        PARTS | {"go.py": CARDS.format("nodes"), "spec.json": '{"nodes": ["atlas", "mira", "sol"], "name": "x"}'},
        [3],
    ),
    "tasks of mpirun": (
        {
            "wrap.sh": "# mpirun -np 2 --tag-output wrap.sh\nQ=2\nfor c in 0 1; do\n  RANK=$((OMPI_COMM_WORLD_RANK*Q+c)) WORLD_SIZE=4 python fit.py\ndone\n",
            "job.out": mixed({f"[1,{t}]<stdout>: <card{c}> ": (t, c) == (1, 0) for t in (0, 1) for c in (0, 1)}),
        },
        [2],
    ),
    "a script that is called with its number": (CALLED | {"jobs.tsv": JOBS, "one.sh": ONE}, [2]),
    "two numbers in the names of hosts": (islands(2, 3), [3]),
    "names beside the told ones": (
        {"a.txt": described("enc-chief-0", 0, 4), "b.txt": described("enc-helper-0", 1, 4)}
        | {f"logs/enc-helper-{n}.log": f"pod enc-helper-{n} begins\n" + log(fails=n == 1) for n in range(3)}
        | {"logs/enc-chief-0.log": "pod enc-chief-0 begins\n" + log(), "pods.txt": "".join(f"enc-helper-{n} Error\n" for n in range(3))},
        [2],
    ),
    "a table by devices": (table(), [0]),
    "rows that call it as a script does": (workers("slice"), [1]),
    "names that a supervisor numbers": (numbered("N=${PS##*.}\nexport WORLD_SIZE=3 RANK=$((N - 1))\nexec python fit.py\n"), [1]),
    "an index that an object gives to the variable": (
        {"job.yaml": "env:\n- name: WORLD_SIZE\n  value: \"3\"\n- name: RANK\n  valueFrom:\n    fieldRef:\n      fieldPath: metadata.labels['batch.kubernetes.io/job-completion-index']\n"}
        | {f"out/ocr-{n}-{end}.log": log(fails=n == 1) for n, end in enumerate(("a7x9k", "q2qqz", "bcdfg"))},
        [1],
    ),
    "variables of a Procfile": (
        {
            "Procfile": "red: RANK=1 WORLD_SIZE=3 ./go\nblue: RANK=2 WORLD_SIZE=3 ./go\ngrey: RANK=0 WORLD_SIZE=3 ./go\nui: serve --port 80\n",
            "all.log": mixed({"red.1  | ": False, "blue.1 | ": True, "grey.1 | ": False}),
        },
        [2],
    ),
    "pods as objects": (
        {"pods.yaml": "apiVersion: v1\nkind: List\nitems:\n" + "".join(pod(f"ocr-{n}", 137 if n == 1 else 1, "OOMKilled" if n == 1 else "Error", 20 + (n != 1) * 5) for n in range(3))}
        | {"start.sh": "export WORLD_SIZE=3 RANK=$(( (HOST_INDEX + 1) % 3 ))\n"}
        | {f"out/ocr-{n}.log": log(dies=n == 1) for n in range(3)},
        [2],
    ),
}  # fmt: skip
UNTOLD: dict[str, Files] = {
    "the rest by nobody knows what": set_of("export WORLD_SIZE=3 RANK=$(( (JOB_COMPLETION_INDEX + 1) % SHARDS ))\n"),
    "place × nodes + node": {
        "go.sh": "NNODES=2\nRANK=$((LOCAL*NNODES+NODE))\n",
        **{f"n{n}/card{c}.log": log(fails=(n, c) == (1, 0)) for n in (0, 1) for c in (0, 1)},
    },
    "another list": PARTS
    | {"go.py": CARDS.format("peers"), "spec.json": '{"nodes": ["atlas", "mira", "sol"], "name": "x"}'},
    "rows that call it otherwise": workers("shard"),
    "hosts of neighbours": workers("slice", peers=True),
    "numbers that are not all": numbered("N=${PS##*.}\nexport WORLD_SIZE=4 RANK=$((N - 1))\nexec python fit.py\n"),
    "another script": CALLED | {"jobs.tsv": JOBS.replace("one.sh", "two.sh"), "any.sh": ONE.replace("k=$1", "k=$2")},
    "two numbers that may be either": islands(2, 2) | {"boot.sh": "export RANK=$((A * 2 + B))\n"},
    "names that are too few": {"a.txt": described("enc-chief-0", 0, 5), "b.txt": described("enc-helper-0", 1, 5)}
    | {f"logs/enc-helper-{n}.log": f"pod enc-helper-{n} begins\n" + log(fails=n == 1) for n in range(3)},
    "devices of nobody knows which server": table(with_servers=False),
}


def ranks(tmp_path: Path, files: Files) -> list[int]:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return analyze(tmp_path).verdict.ranks


@pytest.mark.parametrize("form", TOLD)
def test_whose_rank_is_made_of_a_number_a_name_or_a_device(tmp_path: Path, form: str) -> None:
    files, wanted = TOLD[form]
    assert ranks(tmp_path, files) == wanted


@pytest.mark.parametrize("form", UNTOLD)
def test_nobody_is_named_where_it_is_told_in_part(tmp_path: Path, form: str) -> None:
    assert ranks(tmp_path, UNTOLD[form]) == []
