"""Who speaks where nobody has taught the form: learnt from introductions, siblings and the told world (parsers/who/speakers.py)."""

import shutil
from pathlib import Path

import pytest

from forensics import analyze
from forensics.assemble.who.identity import identify
from parsers import read
from parsers.who.lines.introductions import introduction
from tests.sources import written

ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
INTRODUCED = "rank {rank} of 4 is up, pid {pid} on node7"


def failed_ranks(bundle: Path) -> list[int]:
    events = read(str(bundle)).tables["events"]
    return events.filter(events["text"].str.contains("out of memory"))["rank"].drop_nulls().unique().sort().to_list()


def told_ranks(bundle: Path) -> list[int]:
    return read(str(bundle)).tables["ranks"]["rank"].drop_nulls().unique().sort().to_list()


def one_log(label: str, introduced: str | None = INTRODUCED) -> list[str]:
    """Four processes in one log, of which the third fails; `label` stands before each line."""
    lines = []
    for step in range(3):
        for rank in range(4):
            before = label.format(rank=rank, pid=4000 + rank)
            if step == 0 and introduced:
                lines.append(before + introduced.format(rank=rank, pid=4000 + rank))
            lines.append(f"{before}phase {step} done in 0.31 s")
    return [*lines, label.format(rank=2, pid=4002) + ERROR]


@pytest.mark.parametrize(
    "label",
    [
        "2026-11-23 05:40:10,507 | rank  {rank} | INFO    | ",
        "1123 05:15:46.325 I p{rank} train] ",
        "[{rank}/4] ",
        "[1,{rank}]<stderr>:",
        "[2026-11-23 05:40:10 TP{rank}] ",
        "[serve] [RANK {rank}] [I] ",
        "2026-11-23 05:40:10,507: rank{rank}[{pid}][MainThread]: ERROR: ",
        "Trainer rank {rank}: ",
        "<{rank}> ",
    ],
)
def test_a_label_that_agrees_with_introductions_tells_who_speaks(tmp_path: Path, label: str) -> None:
    assert failed_ranks(written(tmp_path, {"job.log": one_log(label)})) == [2]


@pytest.mark.parametrize("label", ["| rank  {rank} | ", "[RANK {rank}] "])
def test_the_word_rank_needs_no_introduction(tmp_path: Path, label: str) -> None:
    assert failed_ranks(written(tmp_path, {"job.log": one_log(label, None)})) == [2]


@pytest.mark.parametrize(
    "label", ["[layer {rank}] ", "I p{rank} train] ", "[{rank}/4] ", "[{rank}] ", "[local rank {rank}] "]
)
def test_a_number_that_nothing_introduces_is_nobody(tmp_path: Path, label: str) -> None:
    bundle = written(tmp_path, {"job.log": one_log(label, None)})
    assert (failed_ranks(bundle), told_ranks(bundle)) == ([], [])


def test_a_number_that_disagrees_with_introductions_is_nobody(tmp_path: Path) -> None:
    lines = [line.replace("p0", "p9").replace("p1", "p0").replace("p9", "p1") for line in one_log("I p{rank} train] ")]
    assert failed_ranks(written(tmp_path, {"job.log": lines})) == []


@pytest.mark.parametrize("name", ["proc{rank}.log", "out/worker-{other}-{pid}.out", "node{rank}/std.log", "p.{other}"])
def test_a_file_is_whose_it_says_where_its_siblings_say_others(tmp_path: Path, name: str) -> None:
    names = [name.format(rank=rank, pid=4000 + rank, other=7 * rank + 3) for rank in range(4)]
    files = {
        one: [INTRODUCED.format(rank=rank, pid=4000 + rank), "ready", *([ERROR] if rank == 2 else [])]
        for rank, one in enumerate(names)
    }
    assert failed_ranks(written(tmp_path, files)) == [2]


def test_what_a_process_wrote_elsewhere_is_found_by_its_pid(tmp_path: Path) -> None:
    files = {f"out/{4000 + rank}.out": [INTRODUCED.format(rank=rank, pid=4000 + rank)] for rank in range(4)}
    assert failed_ranks(written(tmp_path, {**files, "err/w-4002.err": ["ready", ERROR]})) == [2]


@pytest.mark.parametrize("size", [4, 8, 9, 16, 24])
@pytest.mark.parametrize("name", ["rank{rank}.log", "out/trainer-{rank}.txt"])
def test_each_of_some_files_introduces_its_process(tmp_path: Path, name: str, size: int) -> None:
    """However many files of one shape of name there are, and also where their names tell their ranks."""
    line = "rank {rank} of {size} is up, pid {pid} on node7"
    files = {
        name.format(rank=rank): [line.format(rank=rank, size=size, pid=4000 + rank), "ready"] for rank in range(size)
    }
    told = read(str(written(tmp_path, files))).tables["ranks"].select("rank", "pid").drop_nulls().unique().sort("rank")
    assert told.rows() == [(rank, 4000 + rank) for rank in range(size)]


def test_a_log_of_a_node_is_not_that_of_its_first_rank(tmp_path: Path) -> None:
    """Every second rank speaks, in as many files as nodes of two make the world: the others wrote there as well."""
    files = {f"node{node}.log": [f"rank {2 * node} of 4 is up, pid 400{node}", "ready"] for node in range(2)}
    files["node1.log"].append(ERROR)
    assert failed_ranks(written(tmp_path, files)) == []


def test_a_launcher_that_tells_the_ranks_of_others_is_none_of_them(tmp_path: Path) -> None:
    files = {
        f"launch{node}.log": [f"started rank {rank} (pid {4000 + rank})" for rank in (2 * node, 2 * node + 1)]
        for node in range(2)
    }
    files["launch1.log"].append(ERROR)
    bundle = written(tmp_path, files)
    assert failed_ranks(bundle) == []
    assert told_ranks(bundle) == [0, 1, 2, 3]


WORDS = ("level", "layer", "module", "expert", "worker", "step", "lvl")
FORMS = ("[{word} {number}] ", "{word}{number} | ", "{word}={number}: ", "I {word[0]}{number} x] ")
SAMPLES = (
    "rank_killed",
    "data_exception",
    "launcher_ray_killed",
    "launcher_torchrun_killed",
    "logs_deepspeed_spike",
    "monitored_barrier",
    "slow_rank",
)


@pytest.mark.parametrize("at", range(len(SAMPLES)))
def test_levels_layers_and_steps_before_each_line_make_nobody_a_rank(tmp_path: Path, at: int) -> None:
    whole = Path("samples") / SAMPLES[at] / "bundle"
    changed = tmp_path / "bundle"
    shutil.copytree(whole, changed)
    for path in (path for path in changed.rglob("*") if path.suffix in (".log", ".out", ".err")):
        lines = path.read_text(errors="replace").splitlines()
        form = FORMS[at % len(FORMS)]
        numbered = [form.format(word=WORDS[at % len(WORDS)], number=n * 7 % 5) + line for n, line in enumerate(lines)]
        path.write_text("\n".join(numbered) + "\n")
    known, more = (set(identify(read(str(one)).tables)["rank"]) for one in (whole, changed))
    assert more <= known


@pytest.mark.parametrize("sample", ["rank_killed", "data_exception", "logs_deepspeed_spike"])
def test_what_a_collector_puts_before_every_line_changes_nothing(tmp_path: Path, sample: str) -> None:
    changed = tmp_path / "bundle"
    shutil.copytree(Path("samples") / sample / "bundle", changed)
    for path in (path for path in changed.rglob("*") if path.suffix in (".log", ".out", ".err")):
        text = path.read_text(errors="replace")
        path.write_text("".join(f"<gatherer-3 {sample}> {line}" for line in text.splitlines(keepends=True)))
    before, after = (analyze(one).verdict for one in (Path("samples") / sample / "bundle", changed))
    assert (after.kind, after.cause, after.ranks, after.status) == (
        before.kind,
        before.cause,
        before.ranks,
        before.status,
    )


@pytest.mark.parametrize(
    ("table", "named"), [("process {rank}: exit status {code}", [2]), ("shard {rank}: exit status {code}", [])]
)
def test_a_table_of_all_processes_of_the_told_world_is_about_them(tmp_path: Path, table: str, named: list[int]) -> None:
    files = {f"proc{rank}.log": [INTRODUCED.format(rank=rank, pid=4000 + rank)] for rank in range(4)}
    files["exits.txt"] = [table.format(rank=rank, code=-9 if rank == 2 else 0) for rank in range(4)]
    assert analyze(written(tmp_path, files)).verdict.ranks == named


def test_a_controller_that_tells_the_ranks_of_others_is_no_rank_itself(tmp_path: Path) -> None:
    lines = [f"(Control pid=900) started (pid={4000 + rank}) world_rank={rank}, world_size=4" for rank in range(4)]
    lines += ["(Control pid=900) context(world_rank=2, world_size=4) of nobody", f"(Control pid=900) {ERROR}"]
    assert failed_ranks(written(tmp_path, {"driver.log": lines})) == []


def test_a_device_that_on_the_first_host_has_the_number_of_its_rank_is_no_rank(tmp_path: Path) -> None:
    """Two hosts of eight, of whose logs the first have the numbers of their ranks before each line."""
    files = {
        f"node{rank // 8}_r{rank}.log": [
            f"rank {rank} of 16 is up, pid {4000 + rank}",
            *[f"[{rank % 8}] phase {step} done" for step in range(4)],
        ]
        for rank in range(8)
    }
    files["all.log"] = [f"[{device}] phase {step} done" for step in range(4) for device in range(8)] + [f"[3] {ERROR}"]
    assert failed_ranks(written(tmp_path, files)) == []


@pytest.mark.parametrize(
    ("own", "beside"), [("executor-{n}/out", "executor-{n}/err"), ("logs/w{n}.log", "logs/w{n}.trace")]
)
def test_a_number_that_files_beside_contradict_counts_something_else(tmp_path: Path, own: str, beside: str) -> None:
    """Executor 3 runs rank 1: its other files are rank 1's."""
    files = {own.format(n=n): [INTRODUCED.format(rank=(n + 2) % 4, pid=4000 + n), "began"] for n in range(4)}
    files |= {beside.format(n=n): ["warming up", "all is well"] for n in range(4)}
    files[beside.format(n=3)] += [ERROR]
    assert failed_ranks(written(tmp_path, files)) == [1]


@pytest.mark.parametrize(
    ("text", "rank", "world"),
    [
        ("comm 0x1 rank 0 nranks 8 cudaDev 0", 0, 8),
        ("rank: 1, ranks: 4", 1, 4),
        ("ctr_worker rank 3/6 pid 4489 on n1.example", 3, 6),
        ("[Gloo] Rank 3 is connected to 7 peer ranks", 3, 8),
        ("launch: procid=9 nodeid=1 localid=4 -> RANK=12 WORLD_SIZE=16", 12, 16),
        ("proc 3 is global_rank 6 of 8", 6, 8),
        ("1 pipe comm group, trainer_id: 8, PADDLE_TRAINERS_NUM: 16, endpoint: 10.0.0.22:6170", 8, 16),
        ("CommInit] built communication group: hccl_world_group, rank id 3, rank size 8", 3, 8),
        ("nccl_world_group is up: rank_id=0, rank_size=4", 0, 4),
    ],
)
def test_a_line_introduces_its_process(text: str, rank: int, world: int) -> None:
    said = introduction(text)
    assert said is not None and (said.rank, said.world) == (rank, world)


@pytest.mark.parametrize(
    ("text", "pid"),
    [
        ("host=n1 pid=4711 core 3", 4711),
        ("pid: 4711, hostname: n1.cluster", 4711),
        ("local_rank=3 node=n1 pid=4711", 4711),
        ("helper died, pid=4711 host=n1", None),  # of whom it speaks, words before it tell
        ("pid=4711 was lost", None),  # whose number it is, nothing tells
    ],
)
def test_whom_the_prefix_tells_a_line_of_fields_introduces(text: str, pid: int | None) -> None:
    said = introduction(text, 3)
    assert (said and (said.rank, said.pid)) == (None if pid is None else (3, pid))
    assert introduction(text) is None


@pytest.mark.parametrize("stem", ["rank_{}", "rank{}", "proc-{}", "process.{}"])
def test_a_file_called_after_its_rank_is_no_host_though_it_lies_there_twice(tmp_path: Path, stem: str) -> None:
    files = {
        f"{folder}/{stem.format(rank)}.log": [
            f"[rank{rank}] pid={31064 + rank} world=4",
            *(f"[rank{rank}] step {step} loss 2.5" for step in range(3)),
        ]
        for folder in ("logs", "copy/logs")
        for rank in range(4)
    }
    assert analyze(written(tmp_path, files)).coverage.hosts_seen == []


@pytest.mark.parametrize(
    "text",
    [
        "CommInit] built communication group: hccl_dp_group_0, rank id 1, rank size 2",
        "rank id 1, rank size 2",
        "worker rank 1 of 2",
        "ctr_worker_rank 1 of 2",
        "data_worker rank 1 of 2, pid 31",
        "hccl_world_group is made before 2-4-1_group, in which stands: rank size of it, and rank id 1",
    ],
)
def test_a_place_in_another_group_introduces_nobody(text: str) -> None:
    assert introduction(text) is None


@pytest.mark.parametrize("folders", [("logs", "again"), ("out", "old"), ("run", "backup")])
def test_folders_that_hold_the_same_files_are_no_hosts_for_that(tmp_path: Path, folders: tuple[str, str]) -> None:
    own = {
        f"{folders[0]}/rank_{rank}.log": [f"[rank{rank}] pid={4711 + rank} world=4", f"[rank{rank}] step 1 loss 2.5"]
        for rank in range(4)
    }
    files = own | {f"{folders[1]}/rank_0.log": own[f"{folders[0]}/rank_0.log"]}
    assert analyze(written(tmp_path, files)).coverage.hosts_seen == []


def test_ranks_that_a_line_speaks_of_are_no_world() -> None:
    assert introduction("trainer_id: 8 of the fleet is ready") is None
    assert introduction("[Rank 0]: Ranks 3 failed to pass monitoredBarrier in 20000 ms") is None


@pytest.mark.parametrize("label", ["{}: ", "[{}] ", "task{}| "])
def test_nodes_that_print_their_lists_into_one_file_do_not_lend_it_theirs(tmp_path: Path, label: str) -> None:
    """The place on a host of an exception there is one of several ranks."""
    ranks = {0: [2, 3], 1: [0, 1], 2: [4, 5]}
    said = [
        f"{label.format(task)}{line}"
        for task, own in ranks.items()
        for line in (
            "INFO:torch.distributed.elastic.agent.server.api:[default] Rendezvous complete for workers. Result:",
            "  group_world_size=3",
            "  local_ranks=[0, 1]",
            f"  global_ranks={own}",
            "  global_world_sizes=[6, 6]",
        )
    ]
    said += [f"{label.format(2)}[default1]:{line}" for line in ("Traceback (most recent call last):", '  File "/job/run.py", line 7, in main', "    cols = pick(table)", "KeyError: 'doc'")]  # fmt: skip
    assert analyze(written(tmp_path, {"job-f2rX3b.log": said})).verdict.ranks in ([], [5])


@pytest.mark.parametrize("label", ["[{rank}/4]", "[p{rank}]"])
def test_two_processes_that_print_into_one_line_each_introduce_themselves(tmp_path: Path, label: str) -> None:
    """The line end of one comes behind the text of the other."""
    said = [f"{label.format(rank=rank)} node7 rank {rank} of 4 pid {24600 + rank}" for rank in range(4)]
    bundle = written(tmp_path, {"job.log": [said[1] + said[2], "", said[0], said[3], ""]})
    tables = analyze(bundle).tables
    assert sorted(tables["ranks"].drop_nulls("pid").select("rank", "pid").unique().rows()) == [
        (rank, 24600 + rank) for rank in range(4)
    ]


@pytest.mark.parametrize(
    ("place", "host"),
    [("on cuda:3", None), ("on node gn-7", "gn-7"), ("on gn-7, ready", "gn-7"), ("on gn-7:29500", None)],
)
def test_a_device_is_no_host_of_a_process(place: str, host: str | None) -> None:
    said = introduction(f"rank 3 of 4 pid 15925 {place}")
    assert said is not None and said.host == host


@pytest.mark.parametrize(
    ("listed", "ranks"),
    [
        pytest.param([5000, 5001, 5002, 5003], [0, 1, 2, 3], id="the processes that were looked at"),
        pytest.param([4100, 4103, 4101, 4102], [None] * 4, id="those of another start: looks were numbered by a loop"),
    ],
)
def test_looks_at_other_processes_than_those_that_are_listed_have_no_rank_by_their_numbers(
    tmp_path: Path, listed: list[int], ranks: list[int | None]
) -> None:
    rows = [f"n1  {pid}  {rank}  2026-03-01 09:31" for rank, pid in zip((0, 1, 2, 3), listed, strict=True)]
    files = {"ps.txt": ["HOST  PID  RANK  STARTED", *rows]}
    for at in range(4):
        files[f"look_{at}.txt"] = [
            f'Process {5000 + at}: python -m t\nPython v3.11.4\n\nThread {5000 + at} (active): "MainThread"\n'
            "    step (t/loop.py:8)\n    <module> (t/__main__.py:3)"
        ]
    told = dict(read(str(written(tmp_path, files))).tables["files"].select("file", "rank").iter_rows())
    assert [told[f"look_{at}.txt"] for at in range(4)] == ranks
