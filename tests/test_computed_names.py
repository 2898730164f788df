"""Names, variables and files that a launch explains tell ranks in any form; the same without the launch, or of something else, tell nobody's."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

from parsers import read
from parsers.archive.exports import lines_of
from parsers.logs.ends import end
from parsers.schema.parser import Source
from parsers.timing import step_times
from parsers.who.lines.prefixes import habits, strip
from parsers.who.places.families import called_roll
from parsers.who.scripts.formulas import Formula
from parsers.who.speakers import speakers
from parsers.who.told.computed_names import counted_names, grouped_names
from tests.lines import lines

EMPTY = Formula("s", 1, "rank", None, None, None, 0)
WORDS = ["cache is warm", "mix 0.31 done", "mix 0.28 done", "flushed 17 blocks"]


def bundle(folder: Path, files: Mapping[str, Sequence[str]]) -> str:
    for name, own in files.items():
        path = folder / "bundle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(own) + "\n")
    return str(folder / "bundle")


def files_of(files: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Path → the rank of which a file is found to be."""
    data = {path: ("\n".join(own) + "\n").encode() for path, own in files.items()}
    sources = [Source(path, len(own), partial(BytesIO, own)) for path, own in data.items()]
    known = speakers(sources)
    return {source.path: rank for source in sources if (rank := known.of(source).rank) is not None}


IDS = ("q8zk1m", "w2fd7p", "c4rt9x", "m7hj3v")


@pytest.mark.parametrize(
    ("names", "offset", "made"),
    [
        ([f"lm_gang.{n + 1}.{IDS[n]}@box-{n // 2}" for n in range(4)], -1, [0, 1, 2, 3]),
        (["boss-0-x__" + IDS[0], *[f"hand-{n}-x__{IDS[n + 1]}" for n in range(3)]], 1, [0, 1, 2, 3]),
        ([f"fit.member[{n}]" for n in (2, 0, 3, 1)], 0, [2, 0, 3, 1]),
        ([f"gpu-{n}" for n in range(4)], 0, []),
        ([f"tp-{n}" for n in range(4)], 0, []),
        ([f"fit-{n}" for n in range(5)], 0, []),
        (["boss-a", "boss-b", "hand-0", "hand-1"], 1, []),
        ([f"fit-{n}-{n}" for n in range(4)], 0, []),
    ],
)
def test_names_that_count_all_of_a_world(names: list[str], offset: int, made: list[int]) -> None:
    for own in (names, names[::-1]):
        found = counted_names(own, offset, None, 4)
        assert [found[name] for name in names if name in found] == made


@pytest.mark.parametrize(
    ("names", "node", "local", "made"),
    [
        ([f"run-{g}-{w}-{IDS[2 * g + w]}" for g in range(2) for w in range(2)], "JOB_INDEX", "COMPLETION_INDEX", [0, 1, 2, 3]),
        ([f"run-{g}-{w}-{IDS[2 * g + w]}" for g in range(2) for w in range(2)], "COMPLETION_INDEX", "JOB_INDEX", [0, 2, 1, 3]),
        (["ring-0-1", "ring-1", "ring-0", "ring-1-1"], "G", "WORKER", [1, 2, 0, 3]),
        (["ring-0-1", "ring-1", "ring-0"], "G", "WORKER", []),
    ],
)  # fmt: skip
def test_names_of_a_group_and_a_place_in_it(names: list[str], node: str, local: str, made: list[int]) -> None:
    one = EMPTY._replace(node=node, local=local)
    found = grouped_names(names, one, 4)
    assert [found[name] for name in names if name in found] == made


def test_a_script_makes_ranks_of_folders_and_of_what_files_say_of_themselves() -> None:
    order = (2, 0, 3, 1)
    logs = {f"out/{IDS[at]}/task.log": WORDS for at in range(4)}
    cards = {f"card/{IDS[at]}.txt": [f"Title = fit.member[{n}]", "State = failed"] for at, n in enumerate(order)}
    script = {"job.conf": ['GLOBAL_RANK  = "${ALLOC_INDEX}"', 'WORLD_SIZE   = "4"']}
    found = files_of({**logs, **cards, **script})
    assert {found[f"out/{IDS[at]}/task.log"] for at in range(4)} == {0, 1, 2, 3}
    assert [found[f"out/{IDS[at]}/task.log"] for at in range(4)] == [*order]
    found = files_of({**logs, **cards, "job.conf": ['WORLD_SIZE   = "4"']})
    assert not found.keys() & logs.keys()


@pytest.mark.parametrize("name", ["RANK", "PLACE_IN_GANG"])
def test_a_variable_is_what_the_launch_gives_it_to(tmp_path: Path, name: str) -> None:
    size = {"RANK": "WORLD_SIZE", "PLACE_IN_GANG": "GANG"}[name]
    command = f"torchrun --nnodes=${size} --node_rank=${{{name}}} --nproc-per-node $EACH fit.py"
    logs = {f"bay{n}7.log": [f"{size}=3 {name}={n} EACH=2", *WORDS] for n in range(3)}
    claims = read(bundle(tmp_path / "a", {**logs, "start.sh": [command]})).tables["ranks"]
    placed = claims.drop_nulls(["host", "local_rank", "rank"]).select("host", "local_rank", "rank").unique()
    assert {row for row in placed.iter_rows() if "." not in row[0]} == {
        (f"bay{n}7", place, 2 * n + place) for n in range(3) for place in range(2)
    }


def test_a_template_tells_the_task_in_names_of_files() -> None:
    start = "srun -n 4 --output=log/%x-%j-%t.out ./solve in.toml"
    names = [f"log/heat-771-{n}.out" for n in range(4)]
    logs = dict.fromkeys(names, WORDS)
    assert files_of({**logs, "go.sh": [start]}) == {name: n for n, name in enumerate(names)}
    nested = start.replace("./solve in.toml", "torchrun --nproc_per_node 2 fit.py")
    assert not files_of({**logs, "go.sh": [nested]})
    assert not files_of({**logs, "go.sh": [start.replace("%t", "%n")]})


def test_numbered_files_of_processes_are_ranks_of_a_told_world_alone() -> None:
    paths = [f"w/log_process_{n:02}.txt" for n in range(4)]
    assert called_roll(paths, 4) == {path: n for n, path in enumerate(paths)}
    assert not called_roll(paths, 8)
    assert not called_roll(paths, None)
    assert not called_roll([f"w/shard_{n:02}.txt" for n in range(4)], 4)
    assert not called_roll([f"w/tp_rank_{n:02}.txt" for n in range(4)], 4)


def test_a_host_and_a_task_before_all_lines() -> None:
    said = [f"n{40 + n}.fab.example.org {n}: mixing block {n}7" for n in range(4)]
    own = habits(said, None)
    assert [(strip(line, own).host, strip(line, own).task, strip(line, own).text) for line in said][2] == (
        "n42.fab.example.org", 2, "mixing block 27",
    )  # fmt: skip
    prose = ["conv2d 3: weights are ready", "all is well", "nothing more", "the end"]
    assert strip(prose[0], habits(prose, None)).task is None


def test_stamps_of_daemontools_are_times() -> None:
    line = strip("@4000000069bb15c523dd4210 mixing")
    assert (line.text, line.time_ns) == ("mixing", (0x69BB15C5 - 10) * 1_000_000_000 + 0x23DD4210)
    assert strip("@4000 mixing").text == "@4000 mixing"


def test_consoles_and_collectors_tell_the_pod() -> None:
    rows = ["时间,实例,内容", *(f'2026-05-04 10:00:0{n}.000,job-a-hand-{n},"第 {n} 步, 好"' for n in range(3))]
    made = [json.loads(line) for line in (lines_of("\n".join(rows).encode()) or b"").splitlines()]
    assert [(one["host"], one["log"]) for one in made] == [(f"job-a-hand-{n}", f"第 {n} 步, 好") for n in range(3)]
    entries = [
        {"jsonPayload": {"message": f"m {n}"}, "resource": {"labels": {"task_name": f"pool1-{n}"}}, "timestamp": f"2026-05-04T10:00:0{n}Z"}
        for n in (2, 1, 0)
    ]  # fmt: skip
    made = [json.loads(line) for line in (lines_of(json.dumps(entries, indent=1).encode()) or b"").splitlines()]
    assert [(one["host"], one["log"]) for one in made] == [(f"pool1-{n}", f"m {n}") for n in range(3)]
    record = {"log": "m", "time": "2026-05-04T10:00:00Z", "kubernetes": {"host": "box-1", "pod_name": "fit-2-x9k2d"}}
    assert strip(json.dumps(record)).host == "fit-2-x9k2d"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "status of taskId=hand-2-x__8c1f state=TASK_FAILED message='Command terminated with signal Killed'",
            "SIGKILL",
        ),
        ("Terminated      Exit Code: 0, Signal: 9", "SIGKILL"),
        ("Killed by nobody: exit 0 of the night, signal lamps on", None),
    ],
)
def test_what_schedulers_record_of_an_end(text: str, code: str | None) -> None:
    found = end(lines(text).row(0, named=True), text)
    assert (found or {}).get("code") == code


def test_a_fraction_is_no_number_of_a_step() -> None:
    own = lines("it 40 acc 0.4  data 0.05s  forward 0.31s  step 2.27s\ndata 0.05s  forward 0.31s  step 2.27s")
    assert set(step_times.parse(own)["timings"]["step"]) == {40}


# --- names that a scheduler lists -------------------------------------------------------------------------------------

PODS = ["duo-chief-0", *(f"duo-hand-{n}" for n in range(3))]
JOB = [
    "tasks:",
    *["  - name: chief", "    command: export RANK=0 WORLD_SIZE=4; exec python fit.py"],
    *["  - name: hand", "    command: export RANK=$((TASK_INDEX+1)) WORLD_SIZE=4; exec python fit.py"],
]


def _listed(names: Sequence[str], addresses: Sequence[str]) -> list[str]:
    rows = [f"{name:<14}{'1/1':<8}{address}" for name, address in zip(names, addresses, strict=True)]
    return ["$ kubectl get pods -o wide", f"{'NAME':<14}{'READY':<8}IP", *rows]


def _ranks_of_cells(folder: Path, listed: Sequence[str], cells: Sequence[str], job: Sequence[str]) -> list[int | None]:
    rows = [f"{step},{cell},{2.5 - step / 100}" for step in range(3) for cell in cells]
    files = {"job.yaml": job, "pods.txt": listed, "x.csv": ["step,instance,loss", *rows]}
    steps = read(bundle(folder, files)).tables["steps"].filter(pl.col("step") == 0).sort("line")
    return steps["rank"].to_list()


@pytest.mark.parametrize("cell", ["10.9.0.{}:9400", "10.9.0.{}", "http://10.9.0.{}"])
def test_an_address_is_its_pods_whose_name_a_script_makes_a_rank_of(tmp_path: Path, cell: str) -> None:
    last = (7, 31, 4, 90)
    listed = _listed(PODS, [f"10.9.0.{one}" for one in last])
    cells = [cell.format(last[at]) for at in (2, 0, 3, 1)]
    assert _ranks_of_cells(tmp_path, listed, cells, JOB) == [2, 0, 3, 1]


def test_the_ids_of_tasks_that_a_swarm_lists(tmp_path: Path) -> None:
    ids = ("q8zk1m", "w2fd7p", "c4rt9x", "m7hj3v")
    listed = ["ID       NAME     STATE", *(f"{ids[n]}   fit.{n + 1}    Running" for n in range(4))]
    job = ["command: sh -c 'RANK=$((TASK_SLOT-1)) WORLD_SIZE=4 exec python fit.py'"]
    assert _ranks_of_cells(tmp_path, listed, [ids[3], ids[1], ids[0], ids[2]], job) == [3, 1, 0, 2]


@pytest.mark.parametrize(
    ("pods", "last"),
    [(PODS, (7, 7, 4, 90)), ([*PODS, "duo-hand-3"], (7, 31, 4, 90, 8)), (["a-0", "b-0", "c-1", "c-2"], (7, 31, 4, 90))],
    ids=["two at one address", "more than the job", "of other names"],
)
def test_addresses_that_are_nobodys(tmp_path: Path, pods: Sequence[str], last: Sequence[int]) -> None:
    addresses = [f"10.9.0.{one}" for one in last]
    cells = [f"{one}:9400" for one in addresses]
    assert {*_ranks_of_cells(tmp_path, _listed(pods, addresses), cells, JOB)} == {None}


def test_a_table_of_devices_tells_no_ranks(tmp_path: Path) -> None:
    uuids = [f"GPU {n}: X100 (UUID: GPU-9d{n}ce1a4-55b7-7a02-3f61-d17a5f20c8b{n})" for n in range(4)]
    rows = [f"{n}, P0, {50 + n}, 1980 MHz, Not Active" for n in range(4)]
    files = {"job.yaml": JOB, "hosts/a-1.txt": [*rows, *uuids], "hosts/a-2.txt": [*rows, *uuids]}
    ranks = read(bundle(tmp_path, files)).tables["ranks"]
    assert ranks.filter(pl.col("file") != "job.yaml")["rank"].to_list() == []
