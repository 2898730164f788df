"""A process that is known by its place and a number there has the rank that the place's ranks give it, whatever word the number has and whoever
tells the place's (parsers/who/processes/starts.py, node_numbers.py, seats.py, seat_labels.py, seat_names.py)."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from parsers import read
from parsers.who.places.families import Process
from parsers.who.processes.seats import in_order, ranked
from tests.sources import raised, written

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
    "a group that was formed again": {
        **NUMBERS["a document of nodes"],
        "agent.log": ["00:00:01 Node membership change detected: trx29 left, restarting worker group"],
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


# --- chains of one-to-one statements

STUCK = 4  # the rank whose stack is asked for

STACK = ['Thread {pid} (active): "MainThread"', "    read (/srv/fit/shards.py:88)", "    main (/srv/fit/train.py:40)"]
SHUFFLED = (3, 0, 4, 1, 2, 5)  # device d of host d // 3 is used by this rank: no arithmetic tells it


def pid_of(rank: int) -> int:
    return 61000 + 37 * (rank * 5 % 6)


def seats() -> list[tuple[str, int, int]]:
    """(host, device, rank)"""
    return [(HOSTS[at // EACH], at % EACH, rank) for at, rank in enumerate(SHUFFLED)]


def stacks(inner: Mapping[int, int]) -> Files:
    return {
        f"{host}/stack.{inner[rank]}.txt": [f"Process {inner[rank]}: python train.py", *(line.format(pid=inner[rank]) for line in STACK)]
        for host, _, rank in seats()
    }  # fmt: skip


MAPS: dict[str, Callable[[str, int, int], str]] = {
    "an explicit resource file": lambda host, d, rank: (
        f"rank: {rank}: {{ host: {host}; gpu: {{{d}}} ; mem: * }} : app 0"
    ),
    "a sentence each": lambda host, d, rank: f"host {host} gpu {d} runs rank {rank} of 6",
}


@pytest.mark.parametrize("form", MAPS)
@pytest.mark.parametrize("header", ["index, pci.bus_id, pid, used_gpu_memory [MiB]", "gpu, bus, pid, memory"])
def test_a_pid_by_its_device_by_its_rank(tmp_path: Path, form: str, header: str) -> None:
    own = {rank: pid_of(rank) for rank in range(6)}
    above = ["overlapping_rs: warn", "skip_missing_cpu: warn"]
    files: dict[str, Sequence[str]] = {"map.erf": [*above, *(MAPS[form](*seat) for seat in seats())], **stacks(own)}
    for host in HOSTS[:2]:
        files[f"{host}/apps.csv"] = [
            header,
            *(f"{d}, 0000000{d}:04:00.0, {own[rank]}, 14{d}94 MiB" for at, d, rank in seats() if at == host),
        ]
    ranks = read(str(written(tmp_path, files))).tables["stacks"].select("pid", "rank").unique().rows()
    assert dict(ranks) == {pid: rank for rank, pid in own.items()}


@pytest.mark.parametrize("are_shared", [False, True])
def test_a_pid_inside_a_container(tmp_path: Path, are_shared: bool) -> None:
    """By the pid outside, whose rank a list tells; where two containers of a host count alike, it is nobody's."""
    inner = {rank: 44 + d for _, d, rank in seats()}
    files: dict[str, Sequence[str]] = {**stacks(inner)}
    for host in HOSTS[:2]:
        own = [rank for at, _, rank in seats() if at == host]
        files[f"{host}/listpids.txt"] = [
            "PID      JOBID    STEPID   LOCALID GLOBALID",
            *(f"{pid_of(rank)}    8812     0        {place}       {rank}" for place, rank in enumerate(sorted(own))),
        ]
        files[f"{host}/status.txt"] = [
            line
            for rank in own
            for line in (
                f"==> /proc/{pid_of(rank)}/status <==",
                "Name:\tpython",
                f"Pid:\t{pid_of(rank)}",
                f"NSpid:\t{pid_of(rank)}\t{44 if are_shared else inner[rank]}",
            )
        ]
    claims = read(str(written(tmp_path, files))).tables["ranks"].drop_nulls(["host", "pid", "rank"])
    told = {(host, pid): rank for host, pid, rank in claims.select("host", "pid", "rank").iter_rows() if pid < 100}
    assert told == ({} if are_shared else {(host, inner[rank]): rank for host, _, rank in seats()})


def test_a_record_of_a_device_by_its_uuid(tmp_path: Path) -> None:
    uuids = {
        (host, d): f"GPU-{n}{d}bc09c5-00{n}{d}-0000-0000-5543db2bc3d{d}"
        for n, host in enumerate(HOSTS)
        for d in range(EACH)
    }
    files: dict[str, Sequence[str]] = dict(NUMBERS["a document of nodes"])
    for host in HOSTS:
        files[f"{host}/smi.txt"] = [f"GPU {d}: S4000 (UUID: {uuids[host, d]})" for d in range(EACH)]
    names = [uuids[HOSTS[rank // EACH], rank % EACH] for rank in range(9)]
    files["stats.csv"] = [
        "uuid;step;loss",
        *(f"{names[rank]};{step};2.{rank}" for step in (1, 2, 3) for rank in (4, 0, 8, 2, 1, 7, 3, 5, 6)),
    ]
    steps = read(str(written(tmp_path, files))).tables["steps"]
    assert sorted(steps.select("rank", "loss").unique().rows()) == [(rank, 2 + rank / 10) for rank in range(9)]


def test_devices_that_something_hides_tell_no_uuid(tmp_path: Path) -> None:
    files: dict[str, Sequence[str]] = {
        **NUMBERS["a document of nodes"],
        "run.sh": ["export CUDA_VISIBLE_DEVICES=$(pick_free)"],
    }
    for n, host in enumerate(HOSTS):
        files[f"{host}/smi.txt"] = [
            f"GPU {d}: S4000 (UUID: GPU-{n}{d}bc09c5-0000-0000-0000-5543db2bc3d{d})" for d in range(EACH)
        ]
    rows = [
        f"GPU-{n}{d}bc09c5-0000-0000-0000-5543db2bc3d{d};{step};2.{n}{d}"
        for step in (1, 2, 3)
        for n in range(3)
        for d in range(EACH)
    ]
    steps = read(str(written(tmp_path, {**files, "stats.csv": ["uuid;step;loss", *rows]}))).tables["steps"]
    assert steps["rank"].null_count() == steps.height > 0


JOB_MAPS: dict[str, Callable[[str, Sequence[int]], list[str]]] = {
    "a map of the launcher": lambda host, ranks: [f" Data for node: {host}.lab\tNum slots: 2\tNum procs: 2", *(f" \tProcess jobid: [41,1] App: 0 Process rank: {rank} Bound: N/A" for rank in ranks)],
    "indented below hosts": lambda host, ranks: [f"host: {host} (2 processes)", *(f"    task rank {rank} started" for rank in ranks)],
}  # fmt: skip


@pytest.mark.parametrize("form", JOB_MAPS)
def test_the_order_of_ranks_at_a_place_is_that_of_its_numbers(tmp_path: Path, form: str) -> None:
    """Ranks that a launcher dealt out one to each host."""
    nodes = [f"mpi-worker-{n}" for n in range(4)]
    lines = [line for n, host in enumerate(nodes) for line in JOB_MAPS[form](host, (n, n + 4))]
    rows = [f"{host},{g},{step},0.5{n}{g}" for step in (1, 2, 3) for n, host in enumerate(nodes) for g in range(2)]
    files = {
        "launch.log": ["+ mpirun -np 8 --map-by node python t.py", *lines],
        "t.csv": ["host,local_rank,step,loss", *rows],
    }
    steps = read(str(written(tmp_path, files))).tables["steps"]
    assert sorted(steps.select("rank", "loss").unique().rows()) == sorted(
        (n + 4 * g, float(f"0.5{n}{g}")) for n in range(4) for g in range(2)
    )


# --- records and files

COLUMNS = ("lr", "slot", "idx", "who")


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("form", ["logfmt", "csv"])
def test_a_column_that_counts_the_records_of_a_place(tmp_path: Path, form: str, column: str) -> None:
    rows = [
        {"pod": host, column: g, "step": step, "loss": round(2 + n + g / 10, 1)}
        for step in (1, 2, 3, 4)
        for n, host in enumerate(HOSTS)
        for g in range(EACH)
    ]
    lines = {
        "logfmt": [
            f"ts=2026-03-01T00:00:0{row['step']}Z level=info " + " ".join(f"{key}={cell}" for key, cell in row.items())
            for row in rows
        ],
        "csv": [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)],
    }[form]
    steps = read(str(written(tmp_path, {**NUMBERS["a document of nodes"], "steps." + form: lines}))).tables["steps"]
    wanted = {(EACH * n + g, round(2 + n + g / 10, 1)) for n in range(3) for g in range(EACH)}
    assert {*steps.drop_nulls("loss").select("rank", "loss").rows()} == wanted


@pytest.mark.parametrize("column", ["tp", "stage", "expert_rank"])
def test_a_column_of_a_group_tells_nobody(tmp_path: Path, column: str) -> None:
    rows = [f"{host},{g},{step},2.{n}{g}" for step in (1, 2, 3, 4) for n, host in enumerate(HOSTS) for g in range(EACH)]
    files = {**NUMBERS["a document of nodes"], "t.csv": [f"pod,{column},step,loss", *rows]}
    steps = read(str(written(tmp_path, files))).tables["steps"]
    assert steps["rank"].null_count() == steps.height > 0


@pytest.mark.parametrize(
    ("column", "is_told"), [("worker", True), ("replica", True), ("bucket", False), ("stage", False)]
)
def test_a_column_of_all_processes_of_a_world(tmp_path: Path, column: str, is_told: bool) -> None:
    rows = [f"{step},{rank},2.{rank}" for step in (1, 2, 3) for rank in (3, 1, 0, 2)]
    files = {"train.yaml": ["world_size: 4", "precision: bf16"], "t.csv": [f"iter,{column},loss", *rows]}
    steps = read(str(written(tmp_path, files))).tables["steps"]
    assert {*steps["rank"]} == ({0, 1, 2, 3} if is_told else {None})


def test_a_column_of_fewer_than_the_world_tells_nobody(tmp_path: Path) -> None:
    rows = [f"{step},{rank},2.{rank}" for step in (1, 2, 3) for rank in range(4)]
    files = {"train.yaml": ["world_size: 8"], "t.csv": ["iter,worker,loss", *rows]}
    assert read(str(written(tmp_path, files))).tables["steps"]["rank"].null_count() == len(rows)


@pytest.mark.parametrize("word", ["learner", "unit", "rollout engine"])
@pytest.mark.parametrize("shift", [0, 1])
def test_files_that_tell_their_own_number_of_as_many(tmp_path: Path, word: str, shift: int) -> None:
    """Not where they tell another number than their names do."""
    files = {
        f"logs/{n:02}.log": [
            f"00:00:01 [info] fit.{n} {word} {(n + shift) % 4} of 4 on ln{n % 2}, V-trace, 3 actors each",
            "00:00:02 update 10 loss 2.1",
            *(ERROR if n == 2 else []),
        ]
        for n in range(4)
    }
    assert raised(tmp_path, files) == [None if shift else 2]


@pytest.mark.parametrize("total", [4, 8])
def test_files_of_a_program_with_a_world_of_as_many(tmp_path: Path, total: int) -> None:
    files = {
        f"eval/task_{n}.out": [
            f"[eval][{n}] 2026-02-01 06:00:00 start world={total} node=jz-09",
            *(f"[eval][{n}] 2026-02-01 06:0{step}:00 step {step}: shard done" for step in (1, 2, 3, 4, 5, 6, 7)),
            *(ERROR if n == 2 else []),
        ]
        for n in range(4)
    }
    assert raised(tmp_path, files) == [2 if total == 4 else None]


@pytest.mark.parametrize("label", ["[fit r{} pid 90{}] ", "<job worker-{} {}> ", "[proc {} #{}] "])
@pytest.mark.parametrize("said", ["4 replicas", "8 replicas", "0/4 replicas", "4 layers"])
def test_files_with_their_number_before_each_line_where_each_counts_as_many(
    tmp_path: Path, label: str, said: str
) -> None:
    files = {
        f"fit_r{n}.log": [
            f"{label.format(n, n)}host ln-5, {said}",
            *(f"{label.format(n, n)}it {step} xent 2.1" for step in range(9)),
            *(ERROR if n == 2 else []),
        ]
        for n in range(4)
    }
    assert raised(tmp_path, files) == [2 if said == "4 replicas" else None]


def test_a_place_with_two_ranks_is_nobodys_and_chains_stop_there() -> None:
    one, other = ("n1", "device", 0), ("n1", "device", 1)
    assert ranked([([one], 0), ([other], 0)], {}) == {}
    assert ranked([([one], 0), ([one], 1), ([one, ("n1", "pid", 7)], None)], {}) == {}
    chain = [([one], 3), ([one, ("n1", "pid", 7)], None), ([("n1", "pid", 7), ("n1", "inner", 2)], None)]
    assert ranked(chain, {})["n1", "inner", 2] == 3


def test_order_tells_no_number_where_somebody_tells_one_or_a_rank_lacks() -> None:
    told = [Process(host, rank=rank, is_word=True) for host, rank in (("a", 0), ("b", 1), ("a", 2), ("b", 3))]
    assert [(one.place, one.local, one.rank) for one in in_order(told, 4)] == [
        ("a", 0, 0),
        ("a", 1, 2),
        ("b", 0, 1),
        ("b", 1, 3),
    ]
    assert in_order(told, 5) == [] and in_order(told[1:], 4) == []
    assert in_order([*told, Process("a", local=1, pid=7)], 4) == []
    assert in_order([*told, Process("b", rank=0, is_word=True)], 4) == []
