"""One job told in many forms has one table of processes; numbers that count something else give nobody a rank (parsers/who/processes/process_table.py)."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from forensics import analyze
from parsers import read
from parsers.who.scripts.formulas import parsed
from tests.sources import written

EACH = 3


class Job(NamedTuple):
    """`hosts` in the order of their ranks; `pids` by rank, of which some come again on other hosts."""

    hosts: Sequence[str]
    addresses: Sequence[str]
    pids: Sequence[int]
    shuffled: Callable[[Sequence[str]], list[str]]

    def rows(self, say: Callable[[int, str, int, int, int], str]) -> list[str]:
        """A line of each process, in any order: rank, host, pid, node, place."""
        count = range(len(self.pids))
        return self.shuffled([say(r, self.hosts[r // EACH], self.pids[r], r // EACH, r % EACH) for r in count])

    def of_host(self, node: int, say: Callable[[int, str, int, int, int], str]) -> list[str]:
        ranks = range(node * EACH, (node + 1) * EACH)
        return self.shuffled([say(r, self.hosts[node], self.pids[r], node, r % EACH) for r in ranks])


Files = Mapping[str, Sequence[str]]
STEPS = ["12:00:01 it 10 loss 2.31", "12:00:02 it 20 loss 2.25"]


def job(seed: int) -> Job:
    chance = random.Random(seed)
    numbers = chance.sample(range(10, 90), 3)
    hosts = [f"trx{number}" for number in numbers]
    first = [chance.sample(range(4000, 4040), EACH) for _ in hosts]
    first[1][0] = first[0][1]  # the same number on another host
    pids = [pid for own in first for pid in dict.fromkeys(own)]
    while len(pids) < EACH * len(hosts) or len({*first[1]}) < EACH:
        first[1] = [first[0][1], *chance.sample(range(5000, 5040), EACH - 1)]
        pids = [pid for own in first for pid in own]

    def shuffled(lines: Sequence[str]) -> list[str]:
        return chance.sample(list(lines), len(lines))

    return Job(hosts, [f"10.7.0.{number}" for number in numbers], pids, shuffled)


def stacks(of: Job) -> list[str]:
    """What uses the numbers of processes elsewhere."""
    return [f"Process {pid}: python train.py" for pid in of.pids]


def smi(of: Job) -> list[str]:
    found = []
    for node in of.shuffled([str(node) for node in range(len(of.hosts))]):
        found += [f">>> {of.hosts[int(node)]}", "|  GPU   GI   CI        PID   Type   Process name  |"]
        found += of.of_host(
            int(node), lambda r, h, p, n, g: f"|    {g}   N/A  N/A  {p:>9}      C   /opt/bin/python   {20000 + r}MiB |"
        )
    return found


def local_rows(of: Job) -> list[str]:
    return of.rows(lambda r, h, p, n, g: f"{h}.lab.example.org  {p}  LOCAL_RANK={g}")


FORMS: dict[str, Callable[[Job], Files]] = {
    "words that nobody has taught": lambda of: {
        f"{host}/train.log": of.of_host(n, lambda r, h, p, _, g: f"process {p} bound to card {g}, number {r}, 9 in all") + STEPS
        for n, host in enumerate(of.hosts)
    } | {"stacks.txt": stacks(of)},
    "another language": lambda of: {
        f"{host}/train.log": of.of_host(n, lambda r, h, p, _, g: f"进程 {p} 绑定到 GPU {g}，全局编号 {r}，共 9 个进程") + STEPS
        for n, host in enumerate(of.hosts)
    },
    "variables of each process": lambda of: {
        "environ.txt": of.rows(lambda r, h, p, n, g: f"{h} {p}  NS_JOB=88 NS_SIZE=9 NS_RANK={r} NS_LOCAL_RANK={g}"),
        "out.log": [f"[{of.hosts[r // EACH]}:{of.pids[r]}] it {step} loss 2.1" for step in (1, 2) for r in range(9)],
    },
    "a driver and addresses": lambda of: {
        "driver.log": of.rows(lambda r, h, p, n, g: f"- (node_id=c3a{n}e9, ip={of.addresses[n]}, pid={p}) world_rank={r}, local_rank={g}, node_rank={n}"),
        "etc_hosts": [f"{address} {host}.lab.example.org {host}" for address, host in zip(of.addresses, of.hosts, strict=True)],
        f"stack_{of.hosts[0]}.txt": stacks(of),
    },
    "agents and a formula": lambda of: {
        "agents.log": [
            *of.shuffled([f'ts=1 host={h}.lab.example.org msg="joined" node={n} nodes=3 slots=3 gang=a' for n, h in enumerate(of.hosts)]),
            *of.rows(lambda r, h, p, n, g: f'ts=2 host={h}.lab.example.org msg="spawned" pid={p} slot={g} cmd="python3"'),
        ],
        "gang.toml": ["[gang]", 'rank_formula = "node*slots+slot"'],
    },
    "a number of the node in a file of each host": lambda of: {
        **{f"{host}/defaults": [f"NODE_RANK={n}", "MASTER_PORT=29400"] for n, host in enumerate(of.hosts)},
        "train@.service": ["[Service]", "Environment=LOCAL_RANK=%i", "ExecStart=/bin/sh -c 'exec env RANK=$$((NODE_RANK*3+%i)) WORLD_SIZE=9 python t.py'"],
        "places.txt": local_rows(of),
        "stacks.txt": stacks(of),
    },
    "a file of nodes and a script": lambda of: {
        "NODEFILE": [f"{host}.ib0.example.org" for host in of.hosts for _ in range(EACH)],
        "node.sh": ["for g in 0 1 2; do", "  RANK=$((NODE_RANK*3+g)) LOCAL_RANK=$g WORLD_SIZE=$((NNODES*3)) python -u t.py &", "done"],
        "smi.txt": smi(of),
        "stacks.txt": stacks(of),
    },
    "counts in a launch line": lambda of: {
        "run.log": [f"$ horovodrun -np 9 -H {','.join(f'{host}:3' for host in of.hosts)} python t.py"],
        "smi.txt": smi(of),
        "stacks.txt": stacks(of),
    },
    "an array and a loop": lambda of: {
        "start.ps1": [
            "$nodes = @(" + ",".join(f'"{host}"' for host in of.hosts) + ")",
            "    $r = $n*3 + $g",
            "      $env:RANK=$r; $env:LOCAL_RANK=$g; $env:WORLD_SIZE=9",
        ],
        "start.out": ["Computer    Id Gpu", *of.rows(lambda r, h, p, n, g: f"{h:8} {p:>6}   {g}")],
        "stacks.txt": stacks(of),
    },
    "endpoints": lambda of: {
        f"{host}/worker.{g}.log": [
            f"this node {address}:617{g}, all nodes " + ",".join(f"{own}:617{place}" for own in of.addresses for place in range(EACH)),
            *STEPS,
        ]
        for address, host in zip(of.addresses, of.hosts, strict=True)
        for g in range(EACH)
    } | {"hosts": [f"{address} {host}" for address, host in zip(of.addresses, of.hosts, strict=True)]},
    "ranks of each host in a mapping": lambda of: {
        "run.log": [
            "mapping=dict(" + str({host: [EACH * n + g for g in range(EACH)] for n, host in enumerate(of.hosts)}) + ")",
            *of.rows(lambda r, h, p, n, g: f"{h}: process {p} spawned with command: ['python', 't.py', '--local_rank={g}', '--x']"),
            *of.rows(lambda r, h, p, n, g: f"{h}: Killing subprocess {p}"),
        ],
    },
    "lists of ranks by an agent": lambda of: {
        **{
            f"{host}/agent.log": [f"api.py:525] group_rank={n}", "api.py:525] local_ranks=[0, 1, 2]", f"api.py:525] global_ranks=[{3 * n}, {3 * n + 1}, {3 * n + 2}]"]
            for n, host in enumerate(of.hosts)
        },
        "places.txt": local_rows(of),
        "stacks.txt": stacks(of),
    },
    "pods of an indexed job": lambda of: {
        "job.yaml": ["    - name: NODE_RANK", "      valueFrom:", "        fieldRef:", "          fieldPath: metadata.annotations['job-completion-index']", "  torchrun --nnodes=3 --node_rank=${NODE_RANK} --nproc_per_node=3 t.py"],
        "log.jsonl": [
            json.dumps({"time": f"2026-08-03T07:40:0{step}Z", "log": f"local_rank={g} it {step} loss 2.{r}", "kubernetes": {"pod_name": f"lm-{n}-x{'abc'[n]}4tt"}})
            for step in (1, 2)
            for n in range(3)
            for g in range(EACH)
            for r in [EACH * n + g]
        ],
    },
}  # fmt: skip


def told(
    bundle: Path, addresses: Mapping[str, str] | None = None
) -> tuple[dict[tuple[str, int], set[int]], dict[tuple[str, int], set[int]]]:
    """(host, pid) → ranks, (host, place) → ranks, by first labels; a host that only its address names by its name."""
    claims = read(str(bundle)).tables["ranks"].drop_nulls(["rank", "host"])
    by_pid: dict[tuple[str, int], set[int]] = {}
    by_place: dict[tuple[str, int], set[int]] = {}
    for host, pid, local, rank in claims.select("host", "pid", "local_rank", "rank").iter_rows():
        name = (addresses or {}).get(host, host if host[0].isdigit() else host.split(".")[0])
        if pid is not None:
            by_pid.setdefault((name, pid), set()).add(rank)
        if local is not None:
            by_place.setdefault((name, local), set()).add(rank)
    return by_pid, by_place


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", FORMS)
def test_one_job_has_one_table_whatever_tells_of_it(tmp_path: Path, form: str, seed: int) -> None:
    of = job(seed)
    by_pid, by_place = told(written(tmp_path, FORMS[form](of)), dict(zip(of.addresses, of.hosts, strict=True)))
    hosts = [f"lm-{n}-x{'abc'[n]}4tt" for n in range(3)] if "pods" in form else of.hosts
    places = {(hosts[r // EACH], r % EACH): {r} for r in range(9)}
    if form in ("endpoints", "pods of an indexed job"):
        assert by_place == places
        return
    assert by_pid == {(of.hosts[r // EACH], of.pids[r]): {r} for r in range(9)}
    assert all(places[key] == ranks for key, ranks in by_place.items())


COUNTED = ("layer", "expert", "step", "shard", "port", "epoch", "micro-batch", "chunk", "stage", "tp rank")


@pytest.mark.parametrize("word", COUNTED)
def test_what_counts_something_else_gives_nobody_a_rank(tmp_path: Path, word: str) -> None:
    of = job(1)
    files = {
        f"{host}/train.log": of.of_host(n, lambda r, h, p, _, g: f"process {p}: {word} {r} of 9") + STEPS
        for n, host in enumerate(of.hosts)
    }
    assert told(written(tmp_path, files)) == ({}, {})


@pytest.mark.parametrize("stem", ["gnode", "cnode", "dgxnode", "hpc-node", "node", "trx", "gpub"])
@pytest.mark.parametrize("head", ["{h}[{p}] info:", "{h}:{p} info:", "{h}[{p}]:"])
def test_nodes_are_places_whatever_stands_before_that_word_and_no_list_of_them_holds_a_pid(
    tmp_path: Path, stem: str, head: str
) -> None:
    """Every line has the host and the pid of its process before it; that of the job, which its file and its folders are called after, is no place."""
    drawn = job(1)
    of = drawn._replace(hosts=[f"{stem}{number}" for number in (16, 17, 22)])

    def say(words: Callable[[int, int], str]) -> list[str]:
        return of.rows(lambda r, h, p, n, g: f"12:00:0{r} {head.format(h=h, p=p)} {words(r, g)}")

    ready = say(lambda r, g: f"rank {r} of 9 on cuda {g}")
    lines = [f"Job 90412 on {stem}[16-17,22] started", *say(lambda r, g: "run dir outputs/esm_650m/90412"), *ready]
    steps = [line for at in range(3) for line in say(lambda r, g, at=at: f"step {at} loss 2.{r}")]  # type: ignore[misc]
    by_pid, by_place = told(written(tmp_path, {"esm_650m-90412.out": [*lines, *steps]}))
    assert by_pid == {(of.hosts[r // EACH], of.pids[r]): {r} for r in range(9)}
    assert {host for host, _ in by_place} <= {*of.hosts}


@pytest.mark.parametrize("stem", ["layer", "rank", "gpu", "tp", "expert", "step", "stage", "cuda"])
def test_what_counts_parts_is_no_place_in_a_list_of_them(tmp_path: Path, stem: str) -> None:
    lines = [f"placing {stem}[0-2] of the job", *(f"12:00:0{n} {stem}{n}[{4100 + n}] info: ready" for n in range(3))]
    rows = read(written(tmp_path, {"run.log": [*lines, *STEPS]})).tables["ranks"]
    assert {*rows["host"].drop_nulls()} == set()


@pytest.mark.parametrize("of_all", [" of 900 samples", "/900 files", " of 8 190 rows"])
def test_a_part_of_a_total_is_no_process_number(tmp_path: Path, of_all: str) -> None:
    """Though the same numbers stand elsewhere as well."""
    rows = [f"rank {rank}: {412 + 9 * rank}{of_all} kept" for rank in range(4)]
    seen = [f"Thread {412 + 9 * rank} of a pool" for rank in range(4)]
    assert not read(written(tmp_path, {"run.log": [*rows, *seen, *STEPS]})).tables["ranks"]["pid"].count()


def test_a_list_that_contradicts_what_processes_say_is_dropped(tmp_path: Path) -> None:
    of = job(2)
    own = of.rows(lambda r, h, p, n, g: f"{h} {p}  NS_SIZE=9 NS_RANK={r} NS_LOCAL_RANK={g}")
    turned = ",".join(f"{host}:3" for host in reversed(of.hosts))
    files = {"environ.txt": own, "stacks.txt": stacks(of), "run.log": [f"$ mpirun -np 9 -H {turned} python t.py"]}
    by_pid, _ = told(written(tmp_path, files))
    assert by_pid == {(of.hosts[r // EACH], of.pids[r]): {r} for r in range(9)}


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("said", [(1, 5), (2, 4), (3, 7), (1, 2, 3), (0, 4, 8, 5), (6, 2)])
@pytest.mark.parametrize("layout", ["round", "blocks"])
def test_ranks_that_go_round_the_hosts_are_no_blocks_along_their_list(
    tmp_path: Path, layout: str, said: Sequence[int], is_listed: bool
) -> None:
    """Some processes tell their rank from a host where a block would have others: then no list of hosts tells where any rank is."""
    of = job(2)
    seats = {rank: (rank % 3) * 3 + rank // 3 if layout == "round" else rank for rank in range(9)}
    own = [f"[pid {of.pids[seats[r]]}@{of.hosts[seats[r] // 3]}, rank {r}] a warning" for r in said]
    launch = ["$ mpirun --hostfile hosts.txt -np 9 python t.py", "world 9 (3 per node)"]
    files = {"run.log": [*launch, *own, *STEPS], "smi.txt": smi(of), "stacks.txt": stacks(of)}
    files |= {"hosts.txt": [f"{host} slots=3" for host in of.hosts]} if is_listed else {}
    _, by_place = told(written(tmp_path, files))
    truth = {(of.hosts[seat // 3], seat % 3): {rank} for rank, seat in seats.items()}
    assert by_place.items() <= truth.items()
    assert len(by_place) == 9 if layout == "blocks" and is_listed else len(by_place) >= (layout == "round")


def test_two_lists_in_two_orders_tell_nothing(tmp_path: Path) -> None:
    of = job(2)
    orders = (of.hosts, [*reversed(of.hosts)])
    lines = [f"$ mpirun -np 9 -H {','.join(f'{host}:3' for host in order)} python t.py" for order in orders]
    _, by_place = told(
        written(tmp_path, {"a.log": lines[:1], "b.log": lines[1:], "smi.txt": smi(of), "stacks.txt": stacks(of)})
    )
    middle = of.hosts[1]
    assert {host for host, _ in by_place} <= {middle}


def test_two_jobs_with_the_same_ranks_tell_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = job(3), job(4)
    files = {
        f"{name}/environ.txt": of.rows(
            lambda r, h, p, n, g, name=name: f"{name}{h} {p}  NS_SIZE=9 NS_RANK={r} NS_LOCAL_RANK={g}"
        )
        for name, of in (("a", one), ("b", other))
    }
    by_pid, by_place = told(written(tmp_path, files | {"stacks.txt": [*stacks(one), *stacks(other)]}))
    where = {}
    for (host, _), ranks in [*by_pid.items(), *by_place.items()]:
        for rank in ranks:
            where.setdefault(rank, set()).add(host)
    assert all(len(hosts) == 1 for hosts in where.values())


def test_a_word_for_ranks_counts_before_numbers_that_only_look_so(tmp_path: Path) -> None:
    """A label of the launcher's, and another number that each process calls its own."""
    own = (4, 0, 3, 1, 2)
    lines = [f"[w-{at}] {7000 + at} up: process_index() = {rank} of 5" for at, rank in enumerate(own)]
    lines += [f"[w-{at}] it {step} loss 2.{at}" for step in (1, 2) for at in range(5)]
    steps = read(str(written(tmp_path, {"all.log": lines}))).tables["steps"]
    said = {loss: rank for loss, rank in steps.select("loss", "rank").iter_rows() if rank is not None}
    assert said.items() <= {2 + at / 10: rank for at, rank in enumerate(own)}.items()


def test_formulas_are_sums_of_products_and_nothing_else() -> None:
    assert parsed("NODE*4+g") == {("NODE",): 4, ("g",): 1}
    assert parsed("(n + 1)*k - 2") == {("k", "n"): 1, ("k",): 1, (): -2}
    assert parsed("%(process_num)02d") == {("process_num",): 1}
    for text in ("a/b", "f(1)", "a**2", "__import__('os')", "a;b", "1 + ", "(" * 40 + "a"):
        assert parsed(text) is None


@pytest.mark.parametrize(
    "table",
    [
        (
            "USER      PID    PPID STAT WCHAN                COMMAND",
            "mia     {pid:>5}   {head:>5} {state}   {where:<20} python t.py --local_rank={at}",
            "mia        99       1 Sl   do_wait              python -m torch.distributed.launch --nproc_per_node=3 --node_rank={}",
        ),
        ("  PID S  COMMAND", "{pid:>5} {state}  python -u t.py --local-rank {at}"),
    ],
)
def test_who_is_stuck_in_another_state_is_a_process_like_the_others(tmp_path: Path, table: tuple[str, str]) -> None:
    """A listing of each host beside the order of hosts; one process waits for a disk."""
    hosts, places = ("oak", "elm", "ash"), (2, 0, 1)
    files = {"hostfile": [f"{host} slots=3" for host in hosts], "run.sh": ["deepspeed --hostfile hostfile t.py"]}
    pids = {}
    for node, host in enumerate(hosts):
        rows = [table[0], *([table[2].format(node)] if len(table) > 2 else [])]
        for at in places:
            pids[pid := 5000 + 40 * node + 7 * at] = 3 * node + at
            is_stuck = (node, at) == (2, 1)
            state, where = ("Dl", "folio_wait_bit") if is_stuck else ("Rl", "-")
            rows.append(table[1].format(pid=pid, head=4000 + node, state=state, at=at, where=where))
        files[f"ps/{host}.txt"] = rows
    files |= {
        f"st/{hosts[rank // 3]}/{pid}.txt": [f"Process {pid}: python t.py", "Python v3.11.9 (/usr/bin/python3.11)"]
        for pid, rank in pids.items()
    }
    by_pid, _ = told(written(tmp_path, files))
    assert {pid: {*ranks} for (_, pid), ranks in by_pid.items()} == {pid: {rank} for pid, rank in pids.items()}


@pytest.mark.parametrize(
    "row",
    [
        "{h} {p} SLURM_LOCALID={g} SLURM_NODEID={n} SLURM_PROCID={r}",
        "{h}: pid {p} MPI_LOCALRANKID={g} PMI_RANK={r} PMI_SIZE=6",
        "主机 {h} 进程号 {p} 本地序号 {g} 全局序号 {r}",
    ],
)
def test_tasks_that_go_round_the_hosts_have_the_ranks_that_they_are_told(tmp_path: Path, row: str) -> None:
    hosts = ("trx31", "trx48")
    told_of = [(hosts[n], 4100 + 7 * g + 900 * n, g, n, 2 * g + n) for g in (2, 0, 1) for n in (1, 0)]
    rows = [row.format(h=h, p=p, g=g, n=n, r=r) for h, p, g, n, r in told_of]
    pids = [f"[{h}:{p}] it {step} loss 2.1" for step in (1, 2) for h, p, *_ in told_of]
    by_pid, _ = told(written(tmp_path, {"environ.txt": rows, "run.log": pids}))
    assert by_pid == {(h, p): {r} for h, p, _, _, r in told_of}


@pytest.mark.parametrize("word", ["actor", "NS_SEAT"])
def test_no_block_of_ranks_where_another_count_of_all_goes_round(tmp_path: Path, word: str) -> None:
    """Nobody says that it is the rank, nor that the processes of a node follow each other."""
    rows = [
        f"trx{4 + n} pid={4100 + 7 * g + 900 * n} local_rank={g} node_rank={n} {word}={2 * g + n}"
        for g in range(3)
        for n in (1, 0)
    ]
    assert told(written(tmp_path, {"environ.txt": rows})) == ({}, {})


def test_the_number_of_a_launchers_task_of_each_node_is_no_rank(tmp_path: Path) -> None:
    rows = [f"trx{4 + n} {4100 + 900 * n} SLURM_LOCALID=0 SLURM_PROCID={n}" for n in range(3)]
    assert told(written(tmp_path, {"environ.txt": rows, "go.sh": ["srun torchrun --nproc_per_node=4 t.py"]})) == (
        {},
        {},
    )


@pytest.mark.parametrize(
    "heading",
    ["== {h} {p}", "### {p} on {h}", "{h} pid {p}:", "[{h} /proc/{p}/environ]"],
)
def test_variables_below_a_process_of_a_host_are_its(tmp_path: Path, heading: str) -> None:
    own = [("trx4", 4107, 1), ("trx9", 4107, 2), ("trx4", 4100, 0), ("trx9", 4121, 3)]
    lines = [
        line
        for host, pid, rank in own
        for line in (heading.format(h=host, p=pid), f"LOCAL_RANK={rank % 2}", f"RANK={rank}", "WORLD_SIZE=4")
    ]
    by_pid, _ = told(written(tmp_path, {"look.txt": lines, "run.log": STEPS}))
    assert by_pid == {(host, pid): {rank} for host, pid, rank in own}


@pytest.mark.parametrize("heading", ["step {p}", "-- batch {p} --", "took {p} (ms)"])
def test_variables_below_a_count_are_of_no_process(tmp_path: Path, heading: str) -> None:
    lines = [line for at in range(4) for line in (heading.format(p=4100 + at), f"rank={at}", "world_size=4")]
    assert not read(written(tmp_path, {"look.txt": lines})).tables["ranks"]["pid"].count()


def arrivals(say: str, seconds: Sequence[int]) -> Files:
    """A log for each host, and what it says of its number, at a time of its own."""
    hosts = ("ash", "birch", "cedar", "elm", "fir")
    numbers = [3, 0, 4, 1, 2]
    return {
        f"{host}.log": [f"2026-03-04 12:00:{seconds[number]:02d} {say.format(number)}", *STEPS]
        for host, number in zip(hosts, numbers, strict=True)
    }


@pytest.mark.parametrize(
    ("say", "seconds", "are_ranks"),
    [
        ("joined, {} of 5", [1, 2, 4, 7, 9], False),
        ("up, {} of 5", [1, 2, 4, 7, 9], False),
        ("joined, {} of 5", [1, 1, 2, 2, 3], False),
        ("joined, {} of 5", [3, 3, 3, 3, 3], False),
        ("joined, {} of 5", [3, 2, 4, 7, 9], False),
        ("joined, {} of 5", [5, 4, 3, 2, 1], False),
        ("joined, {} of 5", [24, 2, 19, 11, 7], True),
        ("joined, {} of 5", [9, 8, 7, 5, 3], True),
        ("process {} of 5 joined", [3, 3, 3, 3, 3], True),
        ("process {} of 5 joined", [1, 2, 4, 7, 9], True),
    ],
)
def test_what_grows_with_the_clock_counts_who_has_come(
    tmp_path: Path, say: str, seconds: list[int], *, are_ranks: bool
) -> None:
    ranks = read(str(written(tmp_path, arrivals(say, seconds)))).tables["ranks"]
    assert bool(ranks["rank"].drop_nulls().len()) == are_ranks


HEADS = {
    "places in a grid": "({row},{column}) pid {pid}: ",
    "a row of several": "row {row} col {column} pid={pid} | ",
    "a stage and a replica": "[s{row}/d{column}] pid {pid} ",
}


def grid(head: str) -> tuple[list[str], list[str]]:
    """What six processes print, two of whose lines ran into another's, and the beginnings of their lines."""
    heads = [head.format(row=at // 3, column=at % 3, pid=21400 + 3 * at) for at in range(6)]
    lines = [f"{own}it {step} |w| {0.7 + step / 8:.4f}" for step in range(12) for own in heads]
    lines[15:15] = [f"{heads[1].rstrip()}{heads[2]}it 2 |w| 0.95", f"{heads[4].rstrip()}{heads[5]}it 2 |w| 0.95"]
    return lines, heads


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_some_lines_of_many_that_begin_alike_number_nobody(tmp_path: Path, head: str) -> None:
    lines, _ = grid(head)
    ranks = read(written(tmp_path, {"run.log": lines})).tables["ranks"]
    assert ranks.drop_nulls(["rank", "pid"]).is_empty()


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_who_a_launcher_names_beside_them(tmp_path: Path, head: str, rank: int) -> None:
    lines, heads = grid(head)
    said = f"mpirun noticed that process rank {rank} with PID 0 on node kx4 exited on signal 9 (Killed)."
    own = {f"out/1/rank.{at}/stdout": [one for one in lines if one.startswith(heads[at])] for at in range(6)}
    verdict = analyze(written(tmp_path, {"run.log": [*lines, said], **own})).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "killed", [rank])
