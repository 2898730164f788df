"""A process that is known by its place and a number there has the rank that the place's ranks give it, whatever word the number has and whoever
tells the place's (parsers/who/starts.py, node_numbers.py, seats.py, seat_labels.py, seat_names.py)."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from parsers import read

EACH = 3
HOSTS = ("trx41", "trx17", "trx29")  # in the order of their ranks, which is not that of their names
CULPRIT = 5  # the last process of trx17
Files = Mapping[str, Sequence[str]]
Said = Callable[[str, int, str], str]

ERROR = [
    "Traceback (most recent call last):",
    '  File "/srv/fit/train.py", line 88, in <module>',
    "    main()",
    '  File "/srv/fit/data.py", line 31, in collate',
    "    row = batch['ids']",
    "KeyError: 'ids'",
]


def log(say: Said, hosts: Sequence[str] = HOSTS, each: int = EACH) -> list[str]:
    """Every process prints two steps; one raises. Lines of all places are mixed, and not in the order of the ranks."""
    places = [(host, g) for host in sorted(hosts) for g in range(each)]
    lines = [say(host, g, f"12:00:0{step} it {10 * step} loss 2.{step}{g}") for step in (1, 2) for host, g in places]
    host, g = hosts[CULPRIT // each], CULPRIT % each
    return [*lines, *(say(host, g, line) for line in ERROR)]


LABELS: dict[str, Said] = {
    "lr": lambda host, g, text: f"{host}: [lr{g}] {text}",
    "local": lambda host, g, text: f"{host}: local {g} | {text}",
    "local rank in brackets": lambda host, g, text: f"{host}: [local rank {g}] {text}",
    "slot": lambda host, g, text: f"{host}: slot{g}> {text}",
    "gpu": lambda host, g, text: f"{host}: (gpu{g}) {text}",
    "pods": lambda host, g, text: f"[pod/{host}/main] [lrank{g}] {text}",
}

NUMBERS: dict[str, Files] = {
    "commands": {
        "start.log": [
            f"{host}: + torchrun --nnodes=3 --node_rank={node} --nproc_per_node=3 --master_addr {HOSTS[0]} train.py"
            for node, host in enumerate(HOSTS)
        ]
    },
    "a document of nodes": {
        "cluster.yaml": ["nodes:", *(line for node, host in enumerate(HOSTS) for line in (f"  - host: {host}", f"    node_rank: {node}")), "nproc_per_node: 3"]
    },
    "variables of each host, and a template": {
        **{f"vars/{host}.yml": [f"machine_rank: {node}", "user: ml"] for node, host in enumerate(HOSTS)},
        "templates/launch.yaml.j2": ["machine_rank: {{ machine_rank }}", "num_machines: 3", "num_processes: 9"],
    },
    "blocks of variables, as the launch calls them": {
        "env.txt": [line for node, host in enumerate(HOSTS) for line in (f"### ssh {host} env", f"HOSTNAME={host}", f"RANK={node}", "WORLD_SIZE=3", "")],
        "job.yaml": ["command: [bash, -c, 'torchrun --nnodes=3 --nproc_per_node=3 --node_rank=$RANK train.py']"],
    },
    "a document and a script": {
        "describe.json": [json.dumps({"jobs": [{"id": f"a#{node}", "streamName": f"fit/{host}", "properties": {"nodeIndex": node}} for node, host in enumerate(HOSTS)]})],
        "entry.sh": ["N=$NODE_INDEX", "for g in 0 1 2; do", "  RANK=$((N * 3 + g)) LOCAL_RANK=$g python -u train.py &", "done"],
    },
    "a mapping of the launcher": {
        "launch.log": [f"global_rank_mapping={ {host: [EACH * n + g for g in range(EACH)] for n, host in enumerate(HOSTS)} }"],
    },
    "a hostfile": {"hostfile": [f"{host} slots=3" for host in HOSTS]},
}  # fmt: skip


def written(folder: Path, files: Files) -> Path:
    for name, lines in files.items():
        path = folder / "bundle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    return folder / "bundle"


def raised(folder: Path, files: Files) -> list[int | None]:
    """The ranks of who raised an exception."""
    events = read(str(written(folder, files))).tables["events"]
    return [rank for kind, rank in events.select("kind", "rank").iter_rows() if kind == "exception"]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_a_label_at_a_place_is_the_rank_that_the_place_gives_it(tmp_path: Path, numbers: str, label: str) -> None:
    assert raised(tmp_path, {**NUMBERS[numbers], "out.log": log(LABELS[label])}) == [CULPRIT]


@pytest.mark.parametrize("word", ["p", "kid", "w"])
@pytest.mark.parametrize("numbers", ["commands", "a document of nodes"])
def test_a_script_tells_the_word_before_the_number(tmp_path: Path, numbers: str, word: str) -> None:
    script = [
        "for i in 0 1 2; do",
        f'  RANK=$((NODE*3 + i)) python train.py 2>&1 | sed -u "s/^/<{word}$i> /" &',
        "done",
    ]
    lines = log(lambda host, g, text: f"{host}: <{word}{g}> {text}")
    assert raised(tmp_path, {**NUMBERS[numbers], "run.sh": script, "out.log": lines}) == [CULPRIT]


@pytest.mark.parametrize("numbers", NUMBERS)
def test_a_log_of_each_place(tmp_path: Path, numbers: str) -> None:
    files = {
        f"logs/{host}.log": [line.partition(": ")[2] for line in log(LABELS["lr"]) if line.startswith(f"{host}:")]
        for host in HOSTS
    }
    assert raised(tmp_path, {**NUMBERS[numbers], **files}) == [CULPRIT]


def test_numbers_of_two_indexes_in_names_of_pods(tmp_path: Path) -> None:
    pods = [f"lm-set-{job}-{index}-{'abcd'[2 * job + index]}7k2x" for job in range(2) for index in range(2)]
    script = ["export NODE_RANK=$((JOB_INDEX * 2 + JOB_COMPLETION_INDEX))", "for i in 0 1; do",
              '  RANK=$((NODE_RANK * 2 + i)) python train.py 2>&1 | sed "s/^/proc$i| /" &', "done"]  # fmt: skip
    lines = log(lambda host, g, text: f"[pod/{host}/main] proc{g}| {text}", pods, 2)
    assert raised(tmp_path, {"set.yaml": script, "kubectl.txt": lines}) == [CULPRIT]


def test_pools_of_which_the_first_is_told_beside(tmp_path: Path) -> None:
    pods = ["pool0-0", "pool1-0", "pool1-1"]
    script = ["case $type in", "  pool0) node=0 ;;", "  pool1) node=$((idx + 1)) ;;", "esac",
              'for i in 0 1 2; do RANK=$((node*3+i)) python t.py 2>&1 | sed "s/^/[c$i] /" & done']  # fmt: skip
    lines = log(
        lambda host, g, text: json.dumps(
            {"time": "2026-03-01T00:00:01Z", "log": f"[c{g}] {text}", "kubernetes": {"pod_name": host}}
        ),
        pods,
    )
    assert raised(tmp_path, {"start.sh": script, "out.jsonl": lines}) == [CULPRIT]


# --- neighbours that tell nobody


def lines_of(label: str) -> list[str]:
    return log(LABELS[label])


SILENT: dict[str, Files] = {
    "no number of a node": {"out.log": lines_of("lr")},
    "a script counts the nodes within a place": {
        **NUMBERS["a document of nodes"],
        "run.sh": ["for i in 0 1 2; do", "  RANK=$((i * NNODES + NODE_RANK)) python t.py &", "done"],
        "out.log": lines_of("lr"),
    },
    "two documents that differ": {
        **NUMBERS["a document of nodes"],
        "old.yaml": ["nodes:", *(line for n, host in enumerate((*HOSTS[1:], HOSTS[0])) for line in (f"  - host: {host}", f"    node_rank: {n}")), "nproc_per_node: 3"],
        "out.log": lines_of("lr"),
    },
    "helpers beside the processes": {
        **NUMBERS["a document of nodes"],
        "out.log": [line for host in HOSTS for line in (f"{host}: it 10 loss 2.1", f"{host}: it 20 loss 2.0")]
        + [f"{host}: [worker{g}] shard {g + 3 * at} of 90 read" for at in range(2) for host in HOSTS for g in range(4)]
        + [f"{HOSTS[1]}: [worker2] {line}" for line in ERROR],
    },
    "more processes than the place has": {**NUMBERS["a document of nodes"], "out.log": [*lines_of("lr"), f"{HOSTS[0]}: [lr7] 12:00:03 it 30 loss 2.1"]},
    "devices that something hides": {
        **NUMBERS["a document of nodes"],
        "run.sh": ["export CUDA_VISIBLE_DEVICES=2,1,0", "python t.py"],
        "out.log": lines_of("gpu"),
    },
    "a number of the launcher's shells": {
        **NUMBERS["a document of nodes"],
        "out.log": log(lambda host, g, text: f"{host}: shell[{g}]: {text}"),
    },
}  # fmt: skip


@pytest.mark.parametrize("what", SILENT)
def test_what_does_not_tell_stays_without_a_rank(tmp_path: Path, what: str) -> None:
    assert raised(tmp_path, SILENT[what]) == [None]
