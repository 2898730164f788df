"""Who is who where processes say their number in words that nobody has taught (parsers/rolls.py), and what is called after them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from parsers import read
from tests.sources import written

ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
WORLD, BAD = 4, 2
GIVEN = (3, 0, 1, 2)  # what each was given is another number than its own
Say = Callable[[int, str], str]  # rank, words → a line


def failed_ranks(bundle: Path) -> list[int]:
    """By the rank that the line of the error has, or its pid."""
    tables = read(str(bundle)).tables
    failed = tables["events"].filter(pl.col("text").str.contains("out of memory"))
    by_pid = dict(tables["ranks"].select("pid", "rank").drop_nulls().iter_rows())
    found = {by_pid.get(pid) if rank is None else rank for rank, pid in failed.select("rank", "pid").iter_rows()}
    return sorted(rank for rank in found if rank is not None)


def told_ranks(bundle: Path) -> list[int]:
    return read(str(bundle)).tables["ranks"]["rank"].drop_nulls().unique().sort().to_list()


def one_log(say: Say, call: Callable[[int], str]) -> list[str]:
    """All in one log, the third fails."""
    lines = [say(rank, call(rank)) for rank in (2, 0, 3, 1)]
    lines += [say(rank, f"phase {step} took 0.{31 + rank} s") for step in range(4) for rank in (1, 0, 3, 2)]
    return [*lines, say(BAD, ERROR)]


def journal(rank: int, words: str, *, as_bytes: bool = False) -> str:
    message = list(words.encode()) if as_bytes else words
    return json.dumps(
        {"__REALTIME_TIMESTAMP": "1754654400582480", "_HOSTNAME": "n1", "_PID": str(900 + rank), "MESSAGE": message}
    )


CALLS: dict[str, tuple[Say, Callable[[int], str]]] = {
    "a word and its number": (lambda r, text: f"r{r}/4 {text}", lambda r: f"up, pid {7000 + r}, 8 folds"),
    "in brackets": (
        lambda r, text: f"06:00:0{r} <{r}> {text}",
        lambda r: f"n2 pid {7000 + r}: holds shard {GIVEN[r]} of 4",
    ),
    "behind a stamp": (
        lambda r, text: f"2026-11-02 10:00:0{r} [m{r}] {text}",
        lambda r: f"joined, 4 members, pid {7000 + r}",
    ),
    "in round brackets": (lambda r, text: f"({r}) {text}", lambda r: f"ready (pid={7000 + r}), group of 4"),
    "before a bar": (lambda r, text: f"W{r} | {text}", lambda r: f"boot ok; 4 in all; pid {7000 + r}"),
    "letters, told by a slash": (lambda r, text: f"{'abcd'[r]}> {text}", lambda r: f"rank {r} / 4 backend gloo"),
    "letters, another word": (lambda r, text: f"[{'abcd'[r]}] {text}", lambda r: f"member {r} of 4, port {9100 + r}"),
    "journald": (journal, lambda r: f"w0{r} starts; 4 workers; eval part {r} of 4"),
    "journald, bytes": (lambda r, text: journal(r, text, as_bytes=r % 2 == 1), lambda r: f"unit u{r} of 4"),
}


@pytest.mark.parametrize("name", CALLS)
def test_processes_that_call_their_numbers_are_known_by_them(tmp_path: Path, name: str) -> None:
    say, call = CALLS[name]
    bundle = written(tmp_path, {"job.log": one_log(say, call)})
    assert (failed_ranks(bundle), told_ranks(bundle)) == ([BAD], [0, 1, 2, 3])


@pytest.mark.parametrize(
    "call",
    [
        "trainer id {0} / 4, card {1}",
        "hello from {0} (4 participants)",
        "Initialized member {0} out of 4",
        "joined: id={0} size=4 seed={1}",
        "我是 {0} 号, 共 4 个",
        "n_procs: 4, me: {0}",
        "me {0} | grid d0=[0-3] t=1",
        "we are {{0..3}}, I am {0} on card {1}",
    ],
)
def test_a_file_of_each_process_is_whose_it_calls_itself(tmp_path: Path, call: str) -> None:
    names = ("x/k7.log", "x/k2.log", "x/k9.log", "x/k4.log")
    files = {
        name: [call.format(rank, rank % 2), "ready", *([ERROR] if rank == BAD else [])]
        for rank, name in enumerate(names)
    }
    assert failed_ranks(written(tmp_path, files)) == [BAD]


NOBODY: dict[str, dict[str, Sequence[str]]] = {
    "layers of one process": {"job.log": [f"loaded layer {n} of 4 in 0.2 s" for n in range(4)] + ["ready", ERROR]},
    "shards of data": {
        f"x{n + 5}.log": [f"reads shard {n} of 4", "ready", *([ERROR] if n == BAD else [])] for n in range(4)
    },
    "files": {f"x{n + 5}.log": [f"opened file {n} of 4", "ready", *([ERROR] if n == BAD else [])] for n in range(4)},
    "local ranks": {
        f"x{n + 5}.log": [f"local rank {n} of 4", "ready", *([ERROR] if n == BAD else [])] for n in range(4)
    },
    "tensor groups": {
        f"x{n + 5}.log": [f"tp rank {n}, 4 in all", "ready", *([ERROR] if n == BAD else [])] for n in range(4)
    },
    "one is missing": {
        f"x{n + 5}.log": [f"id {n} of 5 is here", "ready", *([ERROR] if n == BAD else [])] for n in range(4)
    },
    "a range of others": {
        f"x{n + 5}.log": [f"id {n} of grid [0-7]", "ready", *([ERROR] if n == BAD else [])] for n in range(4)
    },
    "shards of a range": {
        f"x{n + 5}.log": [f"reads shard {n} of [0-3]", "ready", *([ERROR] if n == BAD else [])] for n in range(4)
    },
    "two numbers that differ": {
        f"x{n + 5}.log": [f"holds {n} and {GIVEN[n]} of 4", "ready", *([ERROR] if n == BAD else [])] for n in range(4)
    },
    "two have one": {
        f"x{n + 5}.log": [f"id {n // 2} of 4 is here", "ready", *([ERROR] if n == BAD else [])] for n in range(4)
    },
    "steps of a build": {
        "job.log": [f"[{n}/4] {what} 4 targets" for n in range(4) for what in ("compiles", "links")] + [ERROR]
    },
}


@pytest.mark.parametrize("name", NOBODY)
def test_what_counts_something_else_is_nobody(tmp_path: Path, name: str) -> None:
    bundle = written(tmp_path, NOBODY[name])
    assert (failed_ranks(bundle), told_ranks(bundle)) == ([], [])


def test_a_world_that_is_told_in_known_words_stands(tmp_path: Path) -> None:
    files = {
        f"k{rank + 5}.log": [
            f"rank {rank} of 4 is up",
            f"cache {GIVEN[rank]} holds 4 tables",
            *([ERROR] if rank == BAD else []),
        ]
        for rank in range(4)
    }
    assert failed_ranks(written(tmp_path, files)) == [BAD]


@pytest.mark.parametrize(
    ("out", "err"),
    [
        ("w_{0:02}-stdout---supervisor-k{1}x.log", "w_{0:02}-stderr---supervisor-q{1}z.log"),
        ("logs/p{0}.out", "logs/p{0}.err.txt"),
        ("run/w{0}/a{1}.stdout", "run/w{0}/b{1}.stderr"),
        ("job-{0}-main-x{1}.log", "job-{0}-errors-y{1}.log"),
        ("t{0}_console.txt", "t{0}_faults_v{1}.txt"),
    ],
)
def test_what_a_process_printed_as_errors_is_in_a_file_that_begins_alike(tmp_path: Path, out: str, err: str) -> None:
    """Counted from 1, and what ends the names is random."""
    names = [(rank + 1, "abcd"[rank]) for rank in range(4)]
    files: dict[str, Sequence[str]] = {
        out.format(*own): [f"joined rank={rank} world=4", "go"] for rank, own in enumerate(names)
    }
    files |= {err.format(*own): ["begin", *([ERROR] if rank == BAD else [])] for rank, own in enumerate(names)}
    assert failed_ranks(written(tmp_path, files)) == [BAD]


def test_a_folder_of_a_node_is_not_that_of_its_first_rank(tmp_path: Path) -> None:
    files = {f"n{node}/main{'ab'[node]}.log": [f"rank {2 * node} of 4 is up", "go"] for node in range(2)}
    assert failed_ranks(written(tmp_path, {**files, "n1/errors.log": ["begin", ERROR]})) == []


@pytest.mark.parametrize(
    "label", ["d{0}-t{1} | ", "[d{0}/t{1}] ", "stage{0}.{1}: ", "10:00:0{0} (s{0}t{1}) ", "<{0}.{1}> "]
)
def test_stages_that_print_different_things_are_known_by_what_they_called_themselves(
    tmp_path: Path, label: str
) -> None:
    labels = [label.format(rank // 2, rank % 2) for rank in range(4)]
    lines = [f"{own}rank {rank} of 4 is here" for rank, own in enumerate(labels)]
    for step in range(6):
        lines += [
            f"{own}{'loss 2.31 scale 8' if rank > 1 else 'forward only'} at {step}" for rank, own in enumerate(labels)
        ]
        lines += [f"{own}kept {key} for later" for own in labels[:2] for key in ("a", "b", "c", "d", "e")]
    assert failed_ranks(written(tmp_path, {"job.log": [*lines, labels[BAD] + ERROR]})) == [BAD]


@pytest.mark.parametrize("word", ["Rang", "место", "プロセス"])
def test_in_brackets_on_most_lines_any_word_counts_the_files(tmp_path: Path, word: str) -> None:
    files = {
        f"log_{rank}.txt": [f"09:0{n}:00 [{word} {rank}/{WORLD}] Lage {n}" for n in range(4)] for rank in range(WORLD)
    }
    names = read(str(written(tmp_path, files))).tables["files"]
    assert dict(names.select("file", "rank").iter_rows()) == {f"log_{rank}.txt": rank for rank in range(WORLD)}


@pytest.mark.parametrize(
    ("total", "shift"),
    [(WORLD + 1, 0), (WORLD, 1)],
    ids=["of more than there are files", "another number than in the name"],
)
def test_in_brackets_what_may_count_something_else_is_no_rank(tmp_path: Path, total: int, shift: int) -> None:
    files = {
        f"log_{rank}.txt": [f"09:0{n}:00 [Teil {(rank + shift) % WORLD}/{total}] Lage {n}" for n in range(4)]
        for rank in range(WORLD)
    }
    names = read(str(written(tmp_path, files))).tables["files"]
    assert names["rank"].null_count() == WORLD


@pytest.mark.parametrize("word", ["Mitglied", "участник", "进程"])
@pytest.mark.parametrize("gone", [None, 3])
def test_who_counts_off_once_by_any_word_is_whom_its_file_counts(tmp_path: Path, word: str, gone: int | None) -> None:
    """Of the one whose log is lost, the others tell that it is of the job."""
    ranks = [rank for rank in range(6) if rank != gone]
    files = {f"q{rank:02}.log": [f"09:00:00 {word} {rank}/6 da, Kiste {rank % 2}", "go", "go on"] for rank in ranks}
    told = read(str(written(tmp_path, files))).tables["ranks"]
    found = told.filter(told["world_size"] == 6).select("file", "rank").unique().iter_rows()
    assert dict(found) == {f"q{rank:02}.log": rank for rank in ranks}


@pytest.mark.parametrize(
    "said",
    [
        "layer {0}/6 up",
        "Stufe {1}/6 up",
        "node {0}/6 up",
        "Teil {0}/16 up",
        "Teil {0}/6 up, Teil {1}/6 up",
        "up {0}/6/2",
    ],
    ids=["layers", "another number than in the name", "nodes", "of many more", "several", "a date"],
)
def test_what_else_is_counted_once_makes_no_rank(tmp_path: Path, said: str) -> None:
    files = {f"q{n}.log": [f"09:00:00 {said.format(n, (n + 1) % 6)}", "go", "go on"] for n in range(6) if n != 3}
    assert read(str(written(tmp_path, files))).tables["ranks"].height == 0
