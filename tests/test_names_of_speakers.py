"""Whose rank a name at the head of a line is, whatever stands there (parsers/who/labels/joins.py): forms of many launchers and programs."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from parsers import read
from tests.test_speakers import ERROR, failed_ranks, told_ranks, written

UP = "rank {rank} of 4 is up, pid {pid}"
TORCHRUN = "torchrun --nnodes=2 --nproc-per-node=2 --node-rank={node} --master-addr=n0 train.py"


def log(
    before: Sequence[str],
    *,
    says: str | None = UP,
    ranks: Sequence[int] = (0, 1, 2, 3),
    of: Sequence[int] = (0, 1, 2, 3),
    head: Sequence[str] = (),
) -> list[str]:
    """One log of processes, `before` each of whose lines stands something; `of` them say who they are, and the third fails."""
    lines = [*head, *(name + "warming up" for name in before)]
    for at in of if says else ():
        lines.append(before[at] + says.format(rank=ranks[at], pid=4000 + at, node=at // 2) if says else "")
    for step in range(6):
        order = (0, 1, 2, 3) if step % 2 else (3, 1, 0, 2)
        lines += [f"{before[at]}step {step} loss 2.{at}{step} time 0.3{at}" for at in order if at < len(before)]
    trace = ["Traceback (most recent call last):", '  File "/srv/t.py", line 7, in <module>', "    main()", ERROR]
    return [*lines, *(before[2] + line for line in trace)]


def each(form: str, names: Sequence[object]) -> list[str]:
    return [form.format(name) for name in names]


NUMBERS = range(4)
LETTERS = ("alpha", "bo", "charlie", "dora")
UUIDS = ("0f3c61de-88a1", "7be2a0c4-1f00", "c4410aa9-93bd", "e9017c5f-ab12")
TOLD = {
    "foreman, from 1": (each("10:00:01 web.{}  | ", (1, 2, 3, 4)), UP),
    "honcho with stamps": (each("10:00:01 trainer.{} | ", NUMBERS), UP),
    "names in brackets": (each("[{}] ", LETTERS), UP),
    "names and a bar": (each("{:<12} | ", LETTERS), UP),
    "identifiers": (each("{} | ", UUIDS), UP),
    "identifiers, accelerate": (each("{} | ", UUIDS), "Process index: {rank}"),
    "a tab": (each("job{}\t", (5, 6, 7, 8)), "env RANK={rank} WORLD_SIZE=4 ready"),
    "an angle": (each("w{}> ", NUMBERS), UP),
    "a colon": (each("ddp_{:02d}: ", NUMBERS), UP),
    "arrow": (each("{} => ", LETTERS), UP),
    "behind a level": (each("INFO [{}] ", LETTERS), UP),
    "behind a stamp and a level": (each("2026-11-16 02:00:01,123 - WARNING - {} - ", LETTERS), UP),
    "a daemon of journald": (
        [f"2026-11-16T02:00:00+0000 gn01 ddp@{name}[{len(name)}99]: " for name in LETTERS],
        "rank {rank} of 4 is up",
    ),
    "words in a bracket": (each("[trainer {} main] ", LETTERS), UP),
    "docker swarm": (each("lm_trainer.{}.x8k2@node1    | ", (1, 2, 3, 4)), UP),
    "pm2": (each("{}|trainer  | ", (3, 4, 5, 6)), UP),
    "coordinates": (["s0/d0 ", "s0/d1 ", "s1/d0 ", "s1/d1 "], UP),
    "coordinates in brackets": (["[s0/d0] ", "[s0/d1] ", "[s1/d0] ", "[s1/d1] "], "global_rank: {rank} world_size: 4"),
    "two brackets": (["[n0][0] ", "[n0][1] ", "[n1][0] ", "[n1][1] "], UP),
    "host and device": (["n0: [gpu0] ", "n0: [gpu1] ", "n1: [gpu0] ", "n1: [gpu1] "], UP),
    "host and slot, spaces": (["n0 slot0 | ", "n0 slot1 | ", "n1 slot0 | ", "n1 slot1 | "], UP),
    "kubectl": (each("[pod/lm-{}/pytorch] ", LETTERS), UP),
    "braces": (each("{{{}}} ", LETTERS), UP),
    "of a total": (each("<{}/4> ", (1, 2, 3, 4)), UP),
    "address": (each("10.0.0.{}:29500 | ", (11, 12, 13, 14)), UP),
    "an actor": (each("(Actor_{}) ", LETTERS), UP),
    "no blank": (each("[{}]", LETTERS), UP),
}


@pytest.mark.parametrize("form", TOLD)
@pytest.mark.parametrize("ranks", [(0, 1, 2, 3), (2, 3, 1, 0)], ids=["in order", "in another"])
def test_a_name_is_of_whom_its_lines_introduce(tmp_path: Path, form: str, ranks: tuple[int, ...]) -> None:
    before, says = TOLD[form]
    assert failed_ranks(written(tmp_path, {"job.log": log(before, says=says, ranks=ranks)})) == [ranks[2]]


@pytest.mark.parametrize("form", ["t{}> ", "10:00:01 web.{}  | ", "[node-{}] ", "({}/4) "])
def test_two_introductions_tell_by_how_much_all_are_counted_off(tmp_path: Path, form: str) -> None:
    bundle = written(tmp_path, {"job.log": log(each(form, (1, 2, 3, 4)), of=(0, 3))})
    assert failed_ranks(bundle) == [2]


def test_a_name_that_nobody_tells_stays_a_name(tmp_path: Path) -> None:
    assert failed_ranks(written(tmp_path, {"job.log": log(each("{} | ", LETTERS), of=(0, 1))})) == []


HEADS = {
    "a table": ["rank  name     host", *(f"{rank}     {name}  n{rank}" for rank, name in enumerate(LETTERS))],
    "a table in frames": ["│ rank │ name │", "├──┼──┤", *(f"│ {rank} │ {name} │" for rank, name in enumerate(LETTERS))],
    "sentences": [f"launcher: started {name} as rank {rank}" for rank, name in enumerate(LETTERS)],
    "sentences with numbers": [
        f"[{7 + rank}] {name} -> global rank {rank} (pid {4000 + rank})" for rank, name in enumerate(LETTERS)
    ],
}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("form", ["{} | ", "[{}] ", "{}: "])
def test_a_table_or_a_launcher_tells_of_names(tmp_path: Path, head: str, form: str) -> None:
    assert failed_ranks(written(tmp_path, {"job.log": log(each(form, LETTERS), says=None, head=HEADS[head])})) == [2]


COUNTED = {
    "from 1 to its total": (each("({}/4) ", (1, 2, 3, 4)), []),
    "from 1 to its total in brackets": (each("[{}/4] ", (1, 2, 3, 4)), []),
    "of MPI": (each("[1,{}]<stderr>:", NUMBERS), []),
    "of MPI with stamps": (each("Mon Nov 16 02:00:01 2026[1,{}]<stdout>:", NUMBERS), []),
    "of PRRTE": (each("[prterun-gn07-88121@1,{}]<stdout>: ", NUMBERS), []),
    "of srun": (each("{}: ", NUMBERS), ["srun --label --ntasks=4 python train.py"]),
    "of srun with devices": ([f"{n}: [gpu{n % 2}] " for n in NUMBERS], ["+ srun -l -n 4 python train.py"]),
    "of sbatch": (each("{}: ", NUMBERS), ["#!/bin/bash", "#SBATCH --ntasks=4"]),
    "all lines": (each("p{}> ", NUMBERS), ["mpirun -np 4 sh -c 'python train.py | sed s/^/p/'"]),
    "torchrun by hosts": (
        ["n0: [default0]:", "n0: [default1]:", "n1: [default0]:", "n1: [default1]:"],
        [f"n{node}: + {TORCHRUN.format(node=node)}" for node in (0, 1)],
    ),
    "devices by names of nodes": (
        ["east| [0] ", "east| [1] ", "west| [0] ", "west| [1] "],
        [f"{name}| {TORCHRUN.format(node=node)}" for node, name in enumerate(("east", "west"))],
    ),
}


@pytest.mark.parametrize("form", COUNTED)
def test_who_introduces_nobody_is_counted_where_that_is_told(tmp_path: Path, form: str) -> None:
    before, head = COUNTED[form]
    assert failed_ranks(written(tmp_path, {"job.log": log(before, says=None, head=head)})) == [2]


WORLD = ["torchrun --nnodes=1 --nproc-per-node=4 train.py"]
NOBODY = {
    "levels": (["INFO | ", "DEBUG | ", "WARNING | ", "ERROR | "], []),
    "modules": (["[data] ", "[model] ", "[optim] ", "[eval] "], WORLD),
    "experts": (each("expert {} | ", NUMBERS), WORLD),
    "layers": (each("[layer{}] ", NUMBERS), WORLD),
    "loaders": (each("loader-{}: ", NUMBERS), WORLD),
    "workers of a larger job": (each("worker {}: ", NUMBERS), ["mpirun -np 8 python train.py"]),
    "devices": (each("[gpu{}] ", NUMBERS), ["torchrun --nnodes=2 --nproc-per-node=4 --node-rank=0 train.py"]),
    "from 0 without a world": (each("p{}> ", NUMBERS), []),
    "from 1 without a total": (each("p{}> ", (1, 2, 3, 4)), WORLD),
    "from 1 to another total": (each("({}/4) ", (1, 2, 3, 4)), ["mpirun -np 8 python train.py"]),
    "names": (each("{} | ", LETTERS), WORLD),
    "tasks of a larger job": (each("{}: ", NUMBERS), ["srun --ntasks=8 python train.py"]),
}


@pytest.mark.parametrize("form", NOBODY)
def test_what_is_no_process_of_the_job_is_nobody(tmp_path: Path, form: str) -> None:
    before, head = NOBODY[form]
    lines = [line for line in log(before, says=None, head=head) if "warming" not in line]
    assert failed_ranks(written(tmp_path, {"job.log": lines})) == []


def test_rounds_of_a_loop_are_no_processes(tmp_path: Path) -> None:
    """They come one after the other, and none again."""
    lines = [f"({epoch}/4) step {step} loss 2.{step}" for epoch in range(1, 5) for step in range(4)]
    assert told_ranks(written(tmp_path, {"job.log": [*lines, f"(4/4) {ERROR}"]})) == []


def test_several_processes_behind_one_name_are_none_of_them(tmp_path: Path) -> None:
    """Two hosts of two processes each, of which the first of each introduces itself."""
    lines = [f"n{node}| rank {2 * node} of 4 is up" for node in (0, 1)]
    lines += [f"n{node}| step {step} loss 2.{at}{step}" for step in range(6) for node in (0, 1) for at in (0, 1)]
    assert failed_ranks(written(tmp_path, {"job.log": [*lines, f"n1| {ERROR}"]})) == []


def test_tasks_that_are_launchers_are_no_ranks(tmp_path: Path) -> None:
    lines = [
        f"[1,{node}]<stdout>:step {step} loss 2.{at}{step}" for step in range(6) for node in (0, 1) for at in (0, 1)
    ]
    assert failed_ranks(written(tmp_path, {"job.log": [*lines, f"[1,1]<stderr>:{ERROR}"]})) == []


def test_a_name_of_two_ranks_is_nobody(tmp_path: Path) -> None:
    lines = log(each("{} | ", LETTERS))
    assert failed_ranks(written(tmp_path, {"job.log": ["charlie | rank 0 of 4 is up", *lines]})) == []


def test_what_one_log_tells_of_names_holds_in_the_other(tmp_path: Path) -> None:
    out = [f"{name} | {UP.format(rank=(at + 1) % 4, pid=4000 + at)}" for at, name in enumerate(LETTERS)]
    out += [f"{name} | ready" for name in LETTERS]
    err = log(each("{} | ", LETTERS), says=None)
    assert failed_ranks(written(tmp_path, {"out.txt": out, "err.log": err})) == [3]


def test_the_process_number_before_the_words_is_known_by_the_name(tmp_path: Path) -> None:
    """A unit of systemd: the journal says which is which rank, a stack only which process."""
    at = "2026-11-16T02:00:00+0000 gn01 "
    lines = [f"{at}systemd[1]: Started train@{rank}.service - trainer, rank {rank}." for rank in range(4)]
    lines += [f"{at}train@{rank}[{4000 + rank}]: step {step} loss 2.1" for step in range(4) for rank in (2, 0, 3, 1)]
    bundle = written(tmp_path, {"journal.txt": lines})
    told = read(str(bundle)).tables["ranks"].select("rank", "pid").drop_nulls().unique().sort("rank").rows()
    assert told == [(rank, 4000 + rank) for rank in range(4)]


def test_who_is_called_so_by_a_launcher_is_known_by_the_name(tmp_path: Path) -> None:
    """A supervisor speaks of programs (`exited: charlie`); their own lines say which of them is which rank."""
    told = read(str(written(tmp_path, {"job.log": log(each("{} | ", LETTERS))}))).tables["ranks"]
    assert told.filter(told["name"] == "charlie")["rank"].to_list() == [2]


@pytest.mark.parametrize("form", ["[{}]<{}>:", "{} [{}] ", "{} | {}: ", "({}) ({}) "])
def test_the_stream_behind_a_name_is_none_of_the_words(tmp_path: Path, form: str) -> None:
    out, err = ([form.format(name, stream) for name in LETTERS] for stream in ("stdout", "stderr"))
    lines = [*log(out)[:-4], *log(err)[-4:]]
    events = read(str(written(tmp_path, {"job.log": lines}))).tables["events"]
    failed = {(row["rank"], row["text"]) for row in events.iter_rows(named=True) if row["kind"] == "exception"}
    assert failed == {(2, ERROR)}


def of_nodes(form: str, says: str) -> dict[str, list[str]]:
    """Logs of two nodes of two processes; what stands before a line says which of the node's own, and the last fails."""
    files: dict[str, list[str]] = {}
    for node in (0, 1):
        before = [form.format(at) for at in (0, 1)]
        lines = [before[at] + says.format(rank=2 * node + at) for at in (0, 1)]
        lines += [f"{before[at]}step {step} loss 2.{at}{step}" for step in range(5) for at in (step % 2, 1 - step % 2)]
        files[f"gn{7 + node}.log"] = lines
    files["gn8.log"].append(form.format(1) + ERROR)
    return files


@pytest.mark.parametrize("form", ["[gpu{}] ", "[default{}]:", "{} | ", "local{}: "])
def test_a_local_number_is_of_whom_it_is_in_each_log(tmp_path: Path, form: str) -> None:
    assert failed_ranks(written(tmp_path, of_nodes(form, "rank {rank} of 4 is up"))) == [3]


@pytest.mark.parametrize("form", ["[gpu{}] ", "[default{}]:", "{} | "])
def test_a_local_number_in_the_logs_of_nodes_is_nobody_alone(tmp_path: Path, form: str) -> None:
    assert failed_ranks(written(tmp_path, of_nodes(form, "a process of 4 is up"))) == []


def test_a_launcher_among_the_names_tells_of_others_only(tmp_path: Path) -> None:
    names = ("system", *LETTERS)
    head = [f"{names[0]} | rank {rank} of 4 runs as {name}" for rank, name in enumerate(LETTERS)]
    lines = log(each("{} | ", LETTERS), head=[*head, "system | all are up"])
    assert failed_ranks(written(tmp_path, {"job.log": [*lines, "system | stopped"]})) == [2]
