"""Evidence that knows a process by its pid, its device, its address, its container or its place alone, and what tells the rank beside it; and
what tells nobody's."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from parsers import read
from parsers.who.lines.beginnings import Beginning, said_in
from parsers.who.places.devices import used_devices

PIDS = (5104, 5111, 5107, 5102)  # by device
Files = Mapping[str, Sequence[str]]


def written(tmp_path: Path, files: Files) -> str:
    for name, lines in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    return str(tmp_path)


def ranks_of_pids(tmp_path: Path, files: Files) -> dict[tuple[str | None, int], int]:
    claims = read(written(tmp_path, files)).tables["ranks"].drop_nulls(["rank", "pid"])
    return {(host, pid): rank for host, pid, rank in claims.select("host", "pid", "rank").iter_rows()}


def stacks(pids: Sequence[int] = PIDS) -> dict[str, list[str]]:
    frames = ['Thread {pid} (idle): "MainThread"', "    step (train.py:5)", "    <module> (train.py:9)"]
    return {
        f"stacks/{pid}.txt": [f"Process {pid}: python train.py", *(one.format(pid=pid) for one in frames)]
        for pid in pids
    }


SMI = [
    "| Process:                            |",
    "|  GPU            PID      Process Name   |",
    "|=====================|",
]
SMI += [f"|  {device}              {pid}     python         |" for device, pid in enumerate(PIDS)]
TABLE = ["device    pid  memory", *(f"{device:>6}   {pid}    1{device}05" for device, pid in enumerate(PIDS))]
WORLD = ["launch, world_size=4"]
BACKWARDS = {pid: 3 - device for device, pid in enumerate(PIDS)}
HIDING = {
    "a formula of the rank": [
        "for r in 0 1 2 3; do",
        "  MACA_VISIBLE_DEVICES=$((3-r)) RANK=$r WORLD_SIZE=4 python t.py &",
    ],
    "a list in the order of the places": ["CUDA_VISIBLE_DEVICES=3,2,1,0 torchrun --nproc-per-node 4 t.py"],
    "a line of each rank": [f"RANK={rank} HIP_VISIBLE_DEVICES={3 - rank} python t.py &" for rank in range(4)],
    "the program takes it": ["    torch.cuda.set_device(3 - local_rank)"],
}


@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize("table", [SMI, TABLE], ids=["vendor's", "own"])
def test_a_device_is_whose_the_script_gives_it(hiding: str, table: list[str], tmp_path: Path) -> None:
    found = ranks_of_pids(tmp_path, {"smi.txt": table, "run.sh": HIDING[hiding], "out.log": WORLD, **stacks()})
    assert {pid: rank for (_, pid), rank in found.items()} == BACKWARDS


def test_nothing_hides_devices(tmp_path: Path) -> None:
    found = ranks_of_pids(tmp_path, {"smi.txt": SMI, "out.log": WORLD, **stacks()})
    assert {pid: rank for (_, pid), rank in found.items()} == {pid: device for device, pid in enumerate(PIDS)}


@pytest.mark.parametrize(
    "script",
    [
        ["CUDA_VISIBLE_DEVICES=${GPUS[$r]} RANK=$r python t.py"],
        ["CUDA_VISIBLE_DEVICES=$((3-r)) RANK=$r python t.py", "CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun t.py"],
        ["CUDA_VISIBLE_DEVICES=$pick python t.py"],
        ["CUDA_VISIBLE_DEVICES=2 RANK=0 python t.py", "CUDA_VISIBLE_DEVICES=2 RANK=1 python t.py"],
    ],
    ids=["not read", "told in two ways", "a name of nothing", "two of one device"],
)
def test_a_device_that_something_hides_is_nobodys(script: list[str], tmp_path: Path) -> None:
    assert ranks_of_pids(tmp_path, {"smi.txt": SMI, "run.sh": script, "out.log": WORLD, **stacks()}) == {}


def test_devices_of_scripts() -> None:
    def user(text: str, device: int) -> int | None:
        return used_devices({"a.sh": said_in("a.sh", Beginning([text], None), "", 0, 1)}).user(device)

    assert [user("export CUDA_VISIBLE_DEVICES=$LOCAL_RANK", one) for one in (0, 2)] == [0, 2]
    assert user("HIP_VISIBLE_DEVICES=$((LOCAL_RANK+4))", 5) == 1
    assert user("HIP_VISIBLE_DEVICES=$((LOCAL_RANK+4))", 2) is None
    assert user("echo no word of it", 2) == 2
    assert user("NPU_VISIBLE_DEVICES=$((2*LOCAL_RANK))", 2) is None


# --- rosters without a word for rank ---------------------------------------------------------------------------------

HOSTS = ("kx11", "kx12", "kx12", "kx11")
OWN = (800, 801, 800, 803)  # 800 on both


def roster(head: str, number: str = "{rank}") -> list[str]:
    where = [("kx11", 0), ("kx12", 0), ("kx12", 1), ("kx11", 1)]
    rows = [
        f"{number.format(rank=rank):>4}  {host}  {pid:>7}  {slot:>3}"
        for rank, ((host, slot), pid) in enumerate(zip(where, OWN, strict=True))
    ]
    return [head, *rows, "", "it 1 loss 2.1", "it 2 loss 2.0"]


def dumps() -> dict[str, list[str]]:
    return {
        f"gdb/{host}.{pid}.txt": [f"Thread {pid} (LWP {pid}):", "#0 main"] for host, pid in zip(HOSTS, OWN, strict=True)
    }


@pytest.mark.parametrize("head", ["  id  host      pid  dev", "rank  node      PID  gpu", "task  host      pid slot"])
def test_columns_are_called_by_the_words_above_them(head: str, tmp_path: Path) -> None:
    found = ranks_of_pids(tmp_path, {"out.log": roster(head), **dumps()})
    assert found == {(host, pid): rank for rank, (host, pid) in enumerate(zip(HOSTS, OWN, strict=True))}


@pytest.mark.parametrize("head", ["  nr  host      pid  dev", "step  host      pid  dev", "part  host      pid  dev"])
def test_a_number_of_rows_is_no_rank(head: str, tmp_path: Path) -> None:
    assert ranks_of_pids(tmp_path, {"out.log": roster(head), **dumps()}) == {}


@pytest.mark.parametrize(
    "row", ["{task}: host={host} pid={pid} up", "{task}: {host} runs as {pid}", "{task}: 进程 {pid} 在 host={host}"]
)
def test_a_launchers_number_of_processes(row: str, tmp_path: Path) -> None:
    lines = [row.format(task=rank, host=host, pid=pid) for rank, (host, pid) in enumerate(zip(HOSTS, OWN, strict=True))]
    assert len(ranks_of_pids(tmp_path, {"job.out": lines, **dumps()})) == len(OWN)


def test_a_launchers_number_of_nodes_or_of_what_a_script_counts_on(tmp_path: Path) -> None:
    nodes = [f"{task}: host=kx1{task} pid={pid} up" for task, pid in enumerate((800, 801, 803))]
    rows = [f"{rank}: host={host} pid={pid} up" for rank, (host, pid) in enumerate(zip(HOSTS, OWN, strict=True))]
    more = {f"gdb/kx1{task}.{pid}.txt": ["#0 main"] for task, pid in enumerate((800, 801, 803))}
    assert ranks_of_pids(tmp_path / "nodes", {"job.out": nodes, **more}) == {}
    script = {"run.sh": ["export RANK=$(( (SLURM_PROCID + 2) % 4 ))"]}
    assert ranks_of_pids(tmp_path / "counted", {"job.out": rows, **script, **dumps()}) == {}


@pytest.mark.parametrize("head", ["== {pid}", "/proc/{pid}/environ:", "--- pid={pid} ---", "PID {pid}"])
def test_variables_below_a_pid(head: str, tmp_path: Path) -> None:
    lines = [
        line
        for rank, pid in enumerate(PIDS)
        for line in (head.format(pid=pid), "PWD=/w", f"RANK={rank}", "WORLD_SIZE=4")
    ]
    found = ranks_of_pids(tmp_path, {"procs.txt": lines, **stacks()})
    assert {pid: rank for (_, pid), rank in found.items()} == {pid: rank for rank, pid in enumerate(PIDS)}


# --- addresses, containers, slots ------------------------------------------------------------------------------------

ADDRESSES = ("tcp://10.4.0.7:4011", "tcp://10.4.0.9:4011", "tcp://10.4.0.7:4090", "tcp://10.4.0.9:4077")


def workers(line: str) -> dict[str, list[str]]:
    own = {}
    for number, address in enumerate(ADDRESSES):
        host = address.split("/")[2].split(":")[0]
        own[f"logs/{host}-{7000 + number}.log"] = [
            "up",
            line.format(address=address, peer=ADDRESSES[number - 2]),
            "work",
        ]
    return own


ROSTERS = {
    "python": str({address: rank for rank, address in enumerate(ADDRESSES)}),
    "json, turned": json.dumps({str(rank): address for rank, address in enumerate(ADDRESSES)}),
}


@pytest.mark.parametrize("told", ROSTERS)
def test_files_that_say_their_address(told: str, tmp_path: Path) -> None:
    files = read(
        written(tmp_path, {"client.log": ["go", ROSTERS[told]], **workers("Start worker at: {address}")})
    ).tables["files"]
    found = dict(files.drop_nulls("rank").select("file", "rank").iter_rows())
    assert sorted(found.values()) == [0, 1, 2, 3]
    assert found["logs/10.4.0.9-7001.log"] == 1


@pytest.mark.parametrize(
    ("first", "line"),
    [
        (ROSTERS["python"], "sending to {peer}"),
        ("local ranks: " + ROSTERS["python"], "listens at {address}"),
        ("world size 8 " + ROSTERS["python"], "listens at {address}"),
        ("{'tcp://10.4.0.7:4011': 0, 'tcp://10.4.0.9:4011': 2}", "listens at {address}"),
    ],
    ids=["a peer's", "of a host", "of another size", "not all"],
)
def test_addresses_that_tell_nobodys_rank(first: str, line: str, tmp_path: Path) -> None:
    files = read(written(tmp_path, {"client.log": [first], **workers(line)})).tables["files"]
    assert files["rank"].drop_nulls().to_list() == []


@pytest.mark.parametrize("form", ["labels", "flat"])
def test_containers_of_pods(form: str, tmp_path: Path) -> None:
    names = ["m-1/b", "m-0/a", "m-1/a", "m-0/b"]
    lines = []
    for step in range(4):
        for rank, name in enumerate(names):
            pod, container = name.split("/")
            place = {"pod": pod, "container": container}
            where: dict[str, object] = {"labels": place} if form == "labels" else {**place}
            text = f"level=info module=train it={step} fwd_ms={20 + rank} loss=1.{rank}"
            lines.append(json.dumps({**where, "line": text, "timestamp": f"2026-01-31T10:00:0{step}Z"}))
    roster_ = ["data:", "  ranks.json: |", "    " + json.dumps({str(rank): name for rank, name in enumerate(names)})]
    steps = read(written(tmp_path, {"x.jsonl": lines, "cm.yaml": roster_})).tables["steps"]
    assert dict(steps.select("loss", "rank").iter_rows()) == {1 + rank / 10: rank for rank in range(4)}


PLACES = ["h2:0", "h1:1", "h1:0", "h2:1"]
TOPOLOGY = ["# position in the list = rank", "world: 4", "places:", *(f"  - {place}" for place in PLACES)]


def recorder(form: str) -> dict[str, list[str]]:
    files: dict[str, list[str]] = {}
    for place in PLACES:
        host, slot = place.split(":")
        for step in (7, 8):
            for module in ("embed", "blocks.0.fc", "blocks.1.fc"):
                bad = place == "h1:0" and step == 8 and module == "blocks.1.fc"
                row: dict[str, object] = {"it": step, "node": host, "slot": int(slot), "where": module, "what": "out"}
                row |= {"absmax": "nan" if bad else 2.5, "nonfinite": 3 if bad else 0}
                text = json.dumps(row) if form == "json" else " ".join(f"{name}={cell}" for name, cell in row.items())
                files.setdefault(f"rec/{host}.{form}", []).append(text)
    return files


@pytest.mark.parametrize("form", ["json", "log"])
def test_statistics_under_names_of_ones_own(form: str, tmp_path: Path) -> None:
    tensors = read(written(tmp_path, {"topology.yaml": TOPOLOGY, **recorder(form)})).tables["tensors"]
    bad = tensors.filter(tensors["nan_count"] > 0)
    assert bad.select("rank", "step", "module", "tensor", "host").rows() == [(2, 8, "blocks.1.fc", "output", "h1")]
    assert sorted(tensors["rank"].unique()) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "topology", [TOPOLOGY[1:], [*TOPOLOGY[:1], "world: 8", *TOPOLOGY[2:]], []], ids=["no word", "another size", "none"]
)
def test_statistics_of_nobody_make_no_rows(topology: list[str], tmp_path: Path) -> None:
    tables = read(written(tmp_path, {"topology.yaml": topology, **recorder("json")})).tables
    assert not tables["tensors"].height
    assert tables["unread"].height


def test_threads_of_glog_are_those_of_the_file_that_prints_them(tmp_path: Path) -> None:
    files = {
        f"log/rank_{rank}.log": [f"rank={rank} world_size=2", f"I0131 10:11:12.689 {pid} net.cc:10] up"]
        for rank, pid in enumerate(PIDS[:2])
    }
    found = ranks_of_pids(tmp_path, {**files, **stacks(PIDS[:2])})
    assert {pid: rank for (_, pid), rank in found.items()} == {PIDS[0]: 0, PIDS[1]: 1}


def test_ranks_of_one_place_are_no_world(tmp_path: Path) -> None:
    """Lines alike of one host's processes, beside others of more."""
    lines = [
        f"node{rank // 2} [{rank % 2}] process rank {rank} pid {pid} on cuda:{rank % 2}"
        for rank, pid in enumerate(PIDS)
    ]
    lines = [line if rank < 2 else line.replace("[", "<").replace("]", ">") for rank, line in enumerate(lines)]
    worlds = read(written(tmp_path, {"all.log": lines})).tables["ranks"]["world_size"].drop_nulls()
    assert {*worlds} <= {4}


UNITS = [f"Tue 2026-01-27 10:11:{20 + step} UTC g{host} tr@{slot}.service[{90 + 2 * host + slot}]: step={step} data=0.{host}{slot}" for step in range(3) for host in (1, 2) for slot in (0, 1)]  # fmt: skip
SCRIPT = ["export RANK=$(( NODE_RANK * NPROC + LOCAL_RANK ))"]


@pytest.mark.parametrize(
    ("nodes", "ranks"),
    [
        (["g1 node_rank=1", "g2 node_rank=0", "[all:vars]", "nproc=2"], {"g1": [2, 3], "g2": [0, 1]}),
        (["g1 node_rank=1", "g2 node_rank=0"], {}),
        (["g1 node_rank=1", "g2 node_rank=1", "[all:vars]", "nproc=2"], {}),
    ],
    ids=["told", "no size", "one number twice"],
)
def test_units_of_nodes(nodes: list[str], ranks: dict[str, list[int]], tmp_path: Path) -> None:
    claims = read(written(tmp_path, {"journal.txt": UNITS, "hosts.ini": nodes, "run.sh": SCRIPT})).tables["ranks"]
    found: dict[str, set[int]] = {}
    for host, rank in claims.filter(claims["how"] == "label").select("host", "rank").iter_rows():
        found.setdefault(host, set()).add(rank)
    assert {host: sorted(own) for host, own in found.items()} == ranks


def test_a_module_beside_a_level_is_the_loggers(tmp_path: Path) -> None:
    lines = [f"level=info module=train it={step} fwd_ms=21 loss=2.{step}" for step in range(3)]
    inner = [f"module=layers.{step} it={step} fwd_ms=21" for step in range(3)]
    steps = read(written(tmp_path, {"rank_0.log": lines, "rank_1.log": inner})).tables["steps"]
    assert steps["rank"].to_list() == [0, 0, 0]


NAMED = ("w-a", "w-d", "w-b", "w-c")


def _by_name(tmp_path: Path, told: Sequence[str], names: Sequence[str] = NAMED, column: str = "pod") -> set[int | None]:
    """The ranks of the rows of a table by name."""
    rows = [f"{step},{name},{2.5 - step / 100}" for step in range(3) for name in sorted(names)]
    steps = read(written(tmp_path, {"x.csv": [f"step,{column},loss", *rows], "out.log": told})).tables["steps"]
    return set(steps["rank"])


@pytest.mark.parametrize(
    "form",
    [
        "{name} is rank {rank} of 4",
        "[op] 2026-03-04 10:00:01 pod {name} got rank={rank}",
        "rank {rank} -> {name}",
        "rank {rank} runs on {name} (slot 0)",
    ],
)
def test_what_a_line_joins_to_a_rank_names_it_in_tables(tmp_path: Path, form: str) -> None:
    told = [form.format(name=name, rank=rank) for rank, name in enumerate(NAMED)]
    assert _by_name(tmp_path, told) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "form",
    [
        "agent of {name} joined the rendezvous: {name} is rank {rank}",
        "rank {rank} lost {name}",
        "{name} is local rank {rank}",
        "rank {half} runs on {name}",
        "rank {rank} is {word}",
    ],
)
def test_what_a_line_says_of_others_names_nobody_in_tables(tmp_path: Path, form: str) -> None:
    words = ("up", "ready", "late", "warm")
    told = [form.format(name=name, rank=rank, half=rank // 2, word=words[rank]) for rank, name in enumerate(NAMED)]
    assert _by_name(tmp_path, told, words if "word" in form else NAMED) == {None}


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("host 10.7.0.{own}, slot {slot} holds rank {rank}", True),
        ("rank {rank} of slot {slot} dials 10.7.0.{own}", False),
    ],
)
def test_an_address_in_a_line_of_a_rank(tmp_path: Path, line: str, is_told: bool) -> None:
    """Whom a rank calls is another one."""
    told = [line.format(own=40 + 3 * rank, slot=(rank + 1) % 4, rank=rank) for rank in range(4)]
    names = [f"10.7.0.{40 + 3 * rank}" for rank in range(4)]
    assert _by_name(tmp_path, told, names) == ({0, 1, 2, 3} if is_told else {None})
    assert _by_name(tmp_path, told, [str(rank) for rank in range(4)], "slot") == {0, 1, 2, 3}
