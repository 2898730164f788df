"""How processes are counted, and where a local number stands for a rank: relations between numbers, over forms of many programs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics.analyze import analyze
from parsers import read
from tests.test_speakers import ERROR, failed_ranks, told_ranks, written

FROM_ONE = (
    "process {n} of 4 on node-3 (pid {pid})",
    "proc {n}/4 up, pid {pid}",
    "rank={n} world_size=4 pid={pid}",
    "I am process {n} of 4",
    "starting rank {n} of 4, threads 8",
    "[{n}/4] node-3 pid {pid} ready",
)


@pytest.mark.parametrize("form", FROM_ONE)
def test_who_is_the_last_by_its_number_counts_from_one(tmp_path: Path, form: str) -> None:
    files = {f"w{at}.log": [form.format(n=at + 1, pid=4000 + at), "began", "went on"] for at in range(4)}
    files["w1.log"].append(ERROR)
    bundle = written(tmp_path, files)
    assert failed_ranks(bundle) == [1] and told_ranks(bundle) == [0, 1, 2, 3]


@pytest.mark.parametrize("form", FROM_ONE)
def test_who_counts_from_zero_is_taken_as_told(tmp_path: Path, form: str) -> None:
    files = {f"w{at}.log": [form.format(n=at, pid=4000 + at), "began", "went on"] for at in range(4)}
    files["w1.log"].append(ERROR)
    assert failed_ranks(written(tmp_path, files)) == [1]


def two_counts(says: str, *, pids: Callable[[int], int] = lambda at: 4100 + at) -> list[str]:
    """A launcher began a monitor and four trainers, each of which says both of its numbers; trainer 2 crashes."""
    head = ["world rank 0 of 5 pid 4000: the monitor"]
    lines = [says.format(own=at, all=at + 1, pid=pids(at)) for at in (2, 0, 3, 1)]
    steps = [f"[{pids(at)}] step {step} dice 0.7{at}" for step in range(4) for at in range(4)]
    end = f"mpirun noticed that process rank 3 with PID {pids(2)} on node n7 exited on signal 11 (Segmentation fault)."
    return [*head, *lines, *steps, f"[n7:0{pids(2)}] Signal: Segmentation fault (11)", end]


@pytest.mark.parametrize(
    "says",
    [
        "trainer {own}/4 ready (hvd.rank={own}, world rank {all}, pid {pid})",
        "horovod rank {own} of 4, mpi rank {all}, pid {pid}",
        "worker {own} of 4: rank {own}, global rank {all}, pid={pid}",
        "rank {own}/4 (rank {all} in MPI_COMM_WORLD) pid {pid}",
        "pid {pid} runs rank {own} of 4, launched as process {all}",
    ],
)
def test_a_program_has_the_ranks_that_it_counts_itself(tmp_path: Path, says: str) -> None:
    incident = analyze(str(written(tmp_path, {"job.out": two_counts(says)})))
    assert incident.verdict.ranks == [2]


def test_a_launcher_alone_is_believed(tmp_path: Path) -> None:
    lines = [f"rank {at} of 4 is up, pid {4100 + at}" for at in range(4)]
    end = "mpirun noticed that process rank 3 with PID 4103 on node n7 exited on signal 11 (Segmentation fault)."
    assert analyze(str(written(tmp_path, {"job.out": [*lines, end]}))).verdict.ranks == [3]


# --- logs of nodes ---------------------------------------------------------------------------------------------------

BLOCK = ("Num processes: 6", "Process index: {rank}", "Local process index: {local}", "Device: cuda:{local}")
LISTS = ("  local_ranks=[0, 1, 2]", "  role_ranks={ranks}", "  global_ranks={ranks}")


def logs_of_nodes(name: str, before: str, told: str) -> dict[str, list[str]]:
    """Two nodes of three processes; the second of the later node fails. Its first rank is told, its name is not in order."""
    files = {}
    for node, host in enumerate(("tulip", "aster")):
        ranks = [3 * node + local for local in range(3)]
        if told == "blocks":
            lines = [line.format(rank=ranks[at], local=at) for at in (2, 0, 1) for line in (*BLOCK, "")]
        elif told == "lists":
            lines = [line.format(ranks=ranks) for line in LISTS]
        else:
            lines = [told.format(rank=ranks[at], local=at) for at in range(3)]
        lines += [
            f"{before.format(local=at, node=node)}step {step} loss 2.{at}{step}"
            for step in range(5)
            for at in (1, 2, 0)
        ]
        files[name.format(host=host, node=node)] = lines
    files[name.format(host="aster", node=1)].append(before.format(local=1, node=1) + ERROR)
    return files


@pytest.mark.parametrize("told", ["blocks", "lists", "GLOBAL_RANK={rank} LOCAL_RANK={local} WORLD_SIZE=6"])
@pytest.mark.parametrize("before", ["[default{local}]:", "node{node}:gpu{local} ~ ", "[gpu{local}] ", "dev{local} | "])
@pytest.mark.parametrize("name", ["{host}.console", "node{node}.log"])
def test_a_local_number_is_a_rank_in_the_log_of_a_node(tmp_path: Path, told: str, before: str, name: str) -> None:
    assert failed_ranks(written(tmp_path, logs_of_nodes(name, before, told))) == [4]


@pytest.mark.parametrize("before", ["[default{local}]:", "node{node}:gpu{local} ~ ", "[gpu{local}] "])
def test_places_that_two_logs_tell_alike_are_none(tmp_path: Path, before: str) -> None:
    """Both say ranks 0 to 2: two jobs, or places in groups."""
    files = logs_of_nodes("{host}.console", before, "lists")
    files["aster.console"] = [line.replace("[3, 4, 5]", "[0, 1, 2]") for line in files["aster.console"]]
    assert failed_ranks(written(tmp_path, files)) == []


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "gpu{node}/run/attempt_0/{local}/stderr.log",
        "n{node}/worker.{local}.err",
        "host-{node}/err_{local}.txt",
        "{node}/{local}/log",
        "rack{node}-p{local}.out",
    ],
)
def test_files_of_a_later_node_are_counted_on(tmp_path: Path, name: str) -> None:
    """The second process of the later node tells no rank; its neighbours do."""
    files = {}
    for rank in range(8):
        own = f"[rank{rank}]:waiting for the others"
        path = name.format(node=20 + rank // 4, local=rank % 4)
        files[path] = [own, own] if rank != 5 else ["no word of a rank", ERROR]
    assert failed_ranks(written(tmp_path, files)) == [5]


def test_an_offset_that_one_file_contradicts_is_none(tmp_path: Path) -> None:
    ranks = {0: 4, 2: 6, 3: 5}
    files = {f"n1/worker.{local}.err": [f"[rank{rank}]:waiting for the others"] * 2 for local, rank in ranks.items()}
    assert failed_ranks(written(tmp_path, files | {"n1/worker.1.err": ["no word", ERROR]})) == []


def test_files_named_by_words_are_of_whom_they_introduce(tmp_path: Path) -> None:
    names = ("lm-a-zl6p/main.log", "lm-b-fxkb/main.log", "lm-c-sggb/main.log")
    files = {name: [f"slice {at} -> rank {2 - at} of 3", "began", "went on"] for at, name in enumerate(names)}
    files[names[0]].append(ERROR)
    assert failed_ranks(written(tmp_path, files)) == [2]


# --- numbers of processes ------------------------------------------------------------------------------------------------

KILLED = (
    "[8122.117] Memory cgroup out of memory: Killed process {pid} (python) total-vm:161206784kB, anon-rss:108003112kB"
)


@pytest.mark.parametrize(
    "before",
    [
        "21:03:10.00 I [{host} {pid}] ",
        "[{host}/{pid}] ",
        "{host}:{pid} - ",
        "{host} {pid} | ",
        "<{pid}> ",
        "[{pid}] [{host}] ",
        "2026-01-05 10:00:00 - {pid} - ",
    ],
)
def test_a_number_that_each_rank_has_its_own_of_is_its_process(tmp_path: Path, before: str) -> None:
    files = {}
    for rank in range(4):
        at = before.format(host=f"gn{13 + rank // 2}", pid=31000 + 7 * rank)
        files[f"logs/t{rank}.txt"] = [f"{at}boot procid={rank}/4", *(f"{at}upd {n} nll 2.{n}" for n in range(4))]
    told = read(str(written(tmp_path, files))).tables["ranks"].select("rank", "pid").drop_nulls().unique().sort("rank")
    assert told.rows() == [(rank, 31000 + 7 * rank) for rank in range(4)]


def test_a_number_that_all_share_is_no_process(tmp_path: Path) -> None:
    files = {f"t{rank}.txt": [f"rank {rank} of 4 is up", "[90238] upd 1", "[90238] upd 2"] for rank in range(4)}
    assert not read(str(written(tmp_path, files))).tables["ranks"]["pid"].drop_nulls().len()


# --- control groups --------------------------------------------------------------------------------------------------

UID = "2e9c82b{n}-478c-481d-a87c-966c377b9aa2"
CONTAINER = "4f0c{n}" + "ab" * 29 + "1"
GROUPS = {
    "systemd's slices": ("/kubepods.slice/kubepods-burstable-pod{id_}.slice/x.scope", UID, True),
    "cgroupfs": ("/kubepods/burstable/pod{id_}/9a7c", UID, False),
    "guaranteed": ("/kubepods.slice/kubepods-pod{id_}.slice", UID, True),
    "docker": ("/docker/{id_}", CONTAINER, False),
    "containerd": ("/system.slice/cri-containerd-{id_}.scope", CONTAINER, False),
}


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("victim", [0, 2])
def test_a_control_group_is_whose_files_are_called_after_it(tmp_path: Path, name: str, victim: int) -> None:
    group, id_, is_changed = GROUPS[name]
    files = {
        f"logs/{'xyz'[rank]}_{id_.format(n=rank)}/trainer/0.log": [f"rank {rank} of 3 is up", "step 1", "step 2"]
        for rank in range(3)
    }
    own = id_.format(n=victim)
    path = group.format(id_=own.replace("-", "_") if is_changed else own)
    oom = f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg={path},task_memcg={path},task=python3,pid=208841,uid=1000"
    at = "Oct 05 11:24:04 ip-10-8-2-44 kernel: "
    files["node.journal"] = [at + oom, at + KILLED.format(pid=208841).partition("] ")[2]]
    assert analyze(str(written(tmp_path, files))).verdict.ranks == [victim]
