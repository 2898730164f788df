"""Tables of processes among the lines of a log; what devices and allocations are called; what a unit was given."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from parsers import read
from tests.sources import written

HOSTS = [("px-a", 0), ("px-b", 1), ("px-a", 1), ("px-b", 0)]  # and device, by rank
SERIALS = [f"16519230118{n}{n}" for n in range(4)]


def _ranks_of(folder: Path, files: dict[str, Sequence[str]], column: str, cells: Sequence[str]) -> list[int | None]:
    """The ranks of rows of a table that calls them so."""
    rows = [f"{step},{cell},{2.5 - step / 100}" for step in range(3) for cell in cells]
    found = read(str(written(folder, {**files, "x.csv": [f"step,{column},loss", *rows]}))).tables["steps"]
    return found.filter(pl.col("step") == 0).sort("line")["rank"].to_list()


def _smi(folder: str = "") -> dict[str, Sequence[str]]:
    told: dict[str, list[str]] = {}
    for rank, (host, device) in enumerate(HOSTS):
        rows = told.setdefault(f"{folder}{host}.smi.csv", ["index, serial, pci.bus_id"])
        rows.append(f"{device}, {SERIALS[rank]}, 00000000:{17 + device}:00.0")
    return {name: [rows[0], *sorted(rows[1:])] for name, rows in told.items()}


PREFIXES = [
    "",
    "[launch] ",
    "10:04:11 gang: ",
    "2026-02-03 10:04:11,120 [INFO] seats: ",
    "2026-02-03 10:04:11.114 | INFO     | seats.deal:show:66 | pid=7 | ",
    "I0203 10:04:11.114000 66 seats.py:66] ",
]


@pytest.mark.parametrize("before", PREFIXES)
@pytest.mark.parametrize("names", ["rank  host  gpu", "rank | node | device", "global_rank, hostname, cuda"])
def test_a_serial_number_is_that_of_a_device_which_a_table_gives_a_rank(
    tmp_path: Path, before: str, names: str
) -> None:
    mark = next((one for one in (" | ", ", ") if one in names), "   ")
    table = [names, *(mark.join(map(str, (rank, *HOSTS[rank]))) for rank in (2, 0, 3, 1))]
    log = [*(f"{before}{line}" for line in ["making seats", *table, "all seats taken, go"])]
    cells = [SERIALS[rank] for rank in (1, 3, 0, 2)]
    assert _ranks_of(tmp_path, {"launch.log": log, **_smi()}, "serial", cells) == [1, 3, 0, 2]


@pytest.mark.parametrize(
    "names", ["step  host  gpu", "local_rank  host  gpu", "peer_rank  host  gpu"], ids=["steps", "local", "of peers"]
)
def test_a_table_that_tells_no_ranks(tmp_path: Path, names: str) -> None:
    table = [names, *("   ".join(map(str, (rank, *HOSTS[rank]))) for rank in range(4))]
    log = [f"[launch] {line}" for line in ["making seats", *table, "go"]]
    assert {*_ranks_of(tmp_path, {"launch.log": log, **_smi()}, "serial", SERIALS)} == {None}


def test_of_two_tables_that_differ_none_counts(tmp_path: Path) -> None:
    def table(shift: int) -> list[str]:
        rows = ["   ".join(map(str, ((rank + shift) % 4, *HOSTS[rank]))) for rank in range(4)]
        return [f"[launch] {line}" for line in ["rank  host  gpu", *rows, "go"]]

    files = {"a.log": table(0), "b.log": table(1), **_smi()}
    assert {*_ranks_of(tmp_path, files, "serial", SERIALS)} == {None}


IDS = ("7d02aa19", "e91b3c55", "c41f77e0", "0a6fd2b8")


@pytest.mark.parametrize("name", ["alloc_{}_status.txt", "alloc-{}.txt", "{}.txt"])
def test_logs_by_the_ids_of_allocations_whose_status_tells_their_number(tmp_path: Path, name: str) -> None:
    files: dict[str, Sequence[str]] = {
        "job.hcl": ['RANK = "${ALLOC_INDEX}"', 'WORLD_SIZE = "4"'],
        "job_state.txt": ["dead"],
    }
    for rank, ident in enumerate(IDS):
        files[f"status/{name.format(ident)}"] = [f"ID = {ident}-1c3f-9a0e", f"Name = fit.hand[{rank}]"]
        files[f"logs/{ident}.stderr.0"] = ["warm", "cold"]
    found = read(str(written(tmp_path, files))).tables["files"].filter(pl.col("file").str.starts_with("logs/"))
    told = dict(found.select("file", "rank").iter_rows())
    assert told == {f"logs/{ident}.stderr.0": rank for rank, ident in enumerate(IDS)}


@pytest.mark.parametrize("given", ["Environment=RANK={} WORLD_SIZE=4", "Environment=WORLD_SIZE=4 TF_X=1 RANK={}"])
def test_the_main_process_of_a_unit_has_the_rank_that_the_unit_was_given(tmp_path: Path, given: str) -> None:
    units = {
        f"box{box}/units.txt": [
            line
            for slot in range(2)
            for line in (f"MainPID={4100 + 9 * slot}", given.format(2 * box + slot), f"Id=fit@{slot}.service", "")
        ]
        for box in range(2)
    }
    ranks = read(str(written(tmp_path, units))).tables["ranks"].drop_nulls(["rank", "pid", "host"])
    told = {(host, pid): rank for host, pid, rank in ranks.select("host", "pid", "rank").iter_rows()}
    assert told == {(f"box{box}", 4100 + 9 * slot): 2 * box + slot for box in range(2) for slot in range(2)}


# --- processes by host and pid, containers by the beginning of their id ----------------------------------------------

SEATS = [(host, pid) for host in ("s1", "s2") for pid in (900, 901)]


@pytest.mark.parametrize("of_host", ["hostname", "host", "node"])
def test_records_of_hosts_that_count_their_processes_alike(tmp_path: Path, of_host: str) -> None:
    ranks = (3, 0, 1, 2)
    rows = [f'{{"event": "up", "{of_host}": "{host}", "pid": {pid}, "global_rank": {rank}, "world_size": 4}}' for (host, pid), rank in zip(SEATS, ranks, strict=True)]  # fmt: skip
    dumps = {
        f"look/{host}/{pid}.txt": [
            f"Process {pid}: python fit.py",
            f'Thread {pid} (idle): "MainThread"',
            "    step (fit.py:5)",
        ]
        for host, pid in SEATS
    }
    claims = (
        read(str(written(tmp_path, {"up.jsonl": rows, **dumps}))).tables["ranks"].drop_nulls(["rank", "host", "pid"])
    )
    told = {(host, pid): rank for host, pid, rank in claims.select("host", "pid", "rank").iter_rows()}
    assert told == dict(zip(SEATS, ranks, strict=True))


CONTAINERS = [f"{digit}f0c11ab77de{digit * 52}" for digit in "4b7"]


def _containers(folder: Path, killed: str) -> Verdict:
    names = ("hall", "attic", "cellar")  # of rank 2, 0, 1
    compose = ["services:", *(f"  {name}:\n    environment: {{RANK: '{rank}', WORLD_SIZE: '3'}}" for name, rank in zip(names, (2, 0, 1), strict=True))]  # fmt: skip
    listed = ["CONTAINER ID   IMAGE     NAMES"]
    listed += [f"{ident[:12]}   fit:0.4   lab-{name}-1" for ident, name in zip(CONTAINERS, names, strict=True)]
    logs = [f"{name}-1  | it {step} loss {2 - step / 9:.3f}" for step in range(4) for name in names]
    kernel = [
        f"[81234.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/system.slice/docker-{killed}.scope,task_memcg=/system.slice/docker-{killed}.scope,task=python,pid=9120,uid=0",
        "[81234.2] Memory cgroup out of memory: Killed process 9120 (python) total-vm:91230044kB, anon-rss:62914560kB, file-rss:0kB, shmem-rss:0kB, UID:0",
    ]
    files = {"compose.yaml": compose, "ps.txt": listed, "logs.txt": logs, "dmesg.txt": kernel}
    return analyze(written(folder, files)).verdict


@pytest.mark.parametrize(("at", "rank"), [(0, 2), (2, 1)])
def test_the_container_whose_memory_ran_out_is_listed_by_the_beginning_of_its_id(
    tmp_path: Path, at: int, rank: int
) -> None:
    verdict = _containers(tmp_path, CONTAINERS[at])
    assert (verdict.cause, verdict.ranks) == ("host_oom", [rank])


def test_a_container_that_is_not_listed_is_nobodys(tmp_path: Path) -> None:
    assert _containers(tmp_path, "c" * 12 + CONTAINERS[0][12:]).ranks == []


# --- charts with a column for each process; identifiers cut short ----------------------------------------------------


def _chart(runs: Sequence[str]) -> list[str]:
    rows = [
        ",".join([f'"{step}"', *('"NaN"' if at == 1 and step > 60 else f'"{2.4 - step / 90 - at / 50:.5f}"' for at in range(len(runs)))])
        for step in range(0, 100, 10)
    ]  # fmt: skip
    return [",".join(['"Step"', *(f'"{run} - train/local_loss"' for run in runs)]), *rows]


@pytest.mark.parametrize("form", ["{host}-gpu{device}", "{host}/gpu{device}", "{host}_cuda{device}"])
def test_a_chart_of_runs_that_are_called_as_devices_of_hosts(tmp_path: Path, form: str) -> None:
    table = ["[go] rank  host  gpu", *(f"[go] {rank}   {host}   {device}" for rank, (host, device) in enumerate(HOSTS))]
    runs = [form.format(host=HOSTS[rank][0], device=HOSTS[rank][1]) for rank in (3, 2, 0, 1)]
    verdict = analyze(
        written(tmp_path, {"go.log": [*table, "[go] WORLD_SIZE=4, plain ddp"], "chart.csv": _chart(runs)})
    ).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [2])


@pytest.mark.parametrize(
    "runs",
    [["tidy-fog-7", "calm-sea-9", "red-hat-1", "old-oak-2"], ["px-a-gpu0", "px-b-gpu1", "px-a-gpu1", "px-z-gpu0"]],
)
def test_a_chart_of_runs_that_are_not_all_processes_names_nobody(tmp_path: Path, runs: list[str]) -> None:
    table = ["[go] rank  host  gpu", *(f"[go] {rank}   {host}   {device}" for rank, (host, device) in enumerate(HOSTS))]
    verdict = analyze(written(tmp_path, {"go.log": [*table, "[go] WORLD_SIZE=4"], "chart.csv": _chart(runs)})).verdict
    assert verdict.ranks == []


TASKS = [f"{digit}0c2e5d1-7c3a-41f4-8b8e-d41c07a3e95{digit}" for digit in "35d9"]


@pytest.mark.parametrize(
    ("line", "ranks"),
    [("sched task={task} member={rank}/4 state=RUNNING", [0, 1, 2, 3]), ("sched task={task} retry={rank}/4", [])],
)
def test_folders_by_the_beginning_of_a_tasks_id(tmp_path: Path, line: str, ranks: list[int]) -> None:
    told = [line.format(task=task, rank=rank) for rank, task in enumerate(TASKS)]
    logs = {
        f"tasks/{task[:8]}/stderr": [f"10:0{step}:00 step {step} nll {5 - step}" for step in range(4)] for task in TASKS
    }
    files = read(str(written(tmp_path, {"sched.log": told, **logs}))).tables["files"]
    own = files.filter(pl.col("file").str.starts_with("tasks/")).drop_nulls("rank")
    assert dict(own.select("file", "rank").iter_rows()) == {f"tasks/{TASKS[rank][:8]}/stderr": rank for rank in ranks}


@pytest.mark.parametrize("place", ["container", "node", "pod"])
@pytest.mark.parametrize("is_whole", [True, False], ids=["each once", "two alike"])
def test_a_place_and_the_number_of_a_process_there_are_one_name(tmp_path: Path, place: str, is_whole: bool) -> None:
    """Each of two places numbers its processes alike, and none prints a rank; where two rows tell one process, nobody is told."""
    seats = {("3fa7720d", 61): 2, ("3fa7720d", 60): 0, ("9c41d0be", 60): 3, ("9c41d0be", 61): 1}
    before = (
        "2024-05-14T01:58:{at:02}.000000Z] {where} || 2024-05-14 01:58:34.114 | INFO     | fit:show:66 | pid={pid} | "
    )
    table = [
        f"rank   {place}  slot   pid    device",
        *(
            f"{rank}      {where if is_whole else '3fa7720d'}   {pid - 60}      {pid}    A100"
            for (where, pid), rank in seats.items()
        ),
    ]
    log = [f"[{before.format(at=1, where='3fa7720d', pid=60)}{row}" for row in ["seats", *table, "go"]]
    for step in range(5, 12):
        log += [
            f"[{before.format(at=step, where=where, pid=pid)}step {step} local_loss {2.5 - step / 50 + pid / 900} tok {3000 + pid}"
            for where, pid in seats
        ]
    steps = read(str(written(tmp_path, {"trial.txt": log}))).tables["steps"].filter(pl.col("step") == 9).sort("line")
    assert steps["rank"].to_list() == ([2, 0, 3, 1] if is_whole else [None] * 4)
