"""Files of whom nobody says which rank he is, and whose lines tell his name as others tell theirs (parsers/who/told/own_names.py); and a
file that is called after the folder of its place (parsers/who/places/contexts.py)."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from parsers import read
from tests.sources import raised, written

ADDRESSES = ("10.2.0.23:357", "10.2.0.25:441", "10.2.0.27:388", "10.2.0.22:413")
NAMES = ("violet-a", "violet-c", "violet-f", "violet-k")
FILES = ("w.2", "w.3", "w.4", "w.1")  # by rank
DIED = 2
SAYS: Mapping[str, Callable[[str], str]] = {
    "listens": "worker - INFO - Listening at: {}".format,
    "at the end": "this worker's address is {}".format,
    "between": "joined as {} (4 in all)".format,
}


def bundle(names: tuple[str, ...], says: Callable[[str], str], *, died: int = DIED) -> dict[str, list[str]]:
    """Logs of four, of which one ended before it said its rank; who is who stands in the driver's log."""
    told = "ranks: {" + ", ".join(f"'{name}': {rank}" for rank, name in enumerate(names)) + "}"
    made = {"driver.out": [told]}
    for rank, (name, file) in enumerate(zip(names, FILES, strict=True)):
        end = ["KeyError: 'ids'"] if rank == died else [f"process group ready: rank {rank} of world size 4"]
        made[file] = ["worker - INFO - Starting", says(name), *end]
    return made


def rank_of(folder: Path, files: Mapping[str, list[str]], file: str) -> int | None:
    known = read(str(written(folder, files))).tables["files"].select("file", "rank").iter_rows()
    return dict(known)[file]


@pytest.mark.parametrize("names", [ADDRESSES, NAMES], ids=["addresses", "words"])
@pytest.mark.parametrize("form", SAYS)
def test_who_tells_its_name_as_the_others_do(tmp_path: Path, names: tuple[str, ...], form: str) -> None:
    assert rank_of(tmp_path, bundle(names, SAYS[form]), FILES[DIED]) == DIED


def test_what_others_say_of_their_neighbours_is_nobodys_name(tmp_path: Path) -> None:
    files = bundle(NAMES, "worker - INFO - Starting {}".format)
    for rank, file in enumerate(FILES):
        files[file][1] = f"next peer: {NAMES[(rank + 1) % 4]}"
    assert rank_of(tmp_path, files, FILES[DIED]) is None


def test_where_one_tells_another_s_name_so_nobody_is_known_by_it(tmp_path: Path) -> None:
    files = bundle(NAMES, SAYS["listens"])
    files[FILES[0]][1] = SAYS["listens"](NAMES[1])
    assert rank_of(tmp_path, files, FILES[DIED]) is None


def test_two_that_tell_one_name_are_nobody(tmp_path: Path) -> None:
    files = bundle(NAMES, SAYS["listens"])
    files["w.5"] = list(files[FILES[DIED]])
    assert rank_of(tmp_path, files, FILES[DIED]) is None


def test_of_a_name_that_is_taken_nobody_else_is_known(tmp_path: Path) -> None:
    files = bundle(NAMES, SAYS["listens"])
    files[FILES[DIED]][1] = SAYS["listens"](NAMES[0])
    assert rank_of(tmp_path, files, FILES[DIED]) is None


LAUNCHED = "LAUNCH INFO 2025-06-30 15:20:11,304 {}"


def nodes(called: str, ranks: tuple[int, int] = (0, 1)) -> dict[str, list[str]]:
    """Logs of the processes of two nodes in folders, and of their launchers in files called after these."""
    made = {}
    for node, name in zip(ranks, ("elk-p3", "elk-p7"), strict=True):
        settings = (
            "devices: 0,1",
            "job_id: fit",
            "nnodes: 2",
            "nproc_per_node: None",
            f"rank: {node}",
            "run_mode: collective",
        )
        made[called.format(name)] = [
            f"python -u -m paddle.distributed.launch --master 10.1.0.7:8899 --nnodes 2 --rank {node} --gpus 0,1 fit.py",
            *map(LAUNCHED.format, ("-----------  Configuration  ----------------------", *settings, "-" * 50)),
            LAUNCHED.format("Job: fit, mode collective, replicas 2[2:2], elastic False"),
        ]
        for local in (0, 1):
            made[f"{name}/log/workerlog.{local}"] = ["group initialized", f"step 1 loss 2.{local}"]
    made["elk-p3/log/workerlog.1"] += [
        "Traceback (most recent call last):",
        '  File "fit.py", line 3, in f',
        "KeyError: 'ids'",
    ]
    return made


@pytest.mark.parametrize("called", ["tmux-{}.txt", "{}.screen.txt", "pane_{}_left.log"])
def test_a_file_called_after_a_folder_is_of_its_place(tmp_path: Path, called: str) -> None:
    assert raised(tmp_path, nodes(called, (1, 0))) == [3]


@pytest.mark.parametrize("called", ["tmux-elk-q{}.txt", "elk-p3-elk-p7-{}.txt"])
def test_a_file_of_another_place_or_of_both_tells_of_none(tmp_path: Path, called: str) -> None:
    files = {name: lines for name, lines in nodes("{}").items() if "/" in name}
    launched = [lines for name, lines in nodes("{}").items() if "/" not in name]
    files |= {called.format(at): lines for at, lines in enumerate(launched)}
    assert raised(tmp_path, files) == [None]


def introduced(odd: str = "train.INFO", second: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Logs called after pids, and one that is called otherwise."""
    made = {f"train.log.{6210 + 3 * rank}": [f"JAX process: {rank} / 4", "step 1 loss 2.1"] for rank in (0, 2, 3)}
    return {**made, odd: ["JAX process: 1 / 4", "step 1 loss 2.1", *second]}


@pytest.mark.parametrize("odd", ["train.INFO", "latest.log", "out/console.txt"])
def test_the_log_of_the_one_that_is_left_is_called_otherwise(tmp_path: Path, odd: str) -> None:
    assert rank_of(tmp_path, introduced(odd), odd) == 1


def test_where_others_speak_too_it_is_nobody_s_log(tmp_path: Path) -> None:
    assert rank_of(tmp_path, introduced(second=("JAX process: 2 / 4",)), "train.INFO") is None


def test_beside_a_rank_that_has_no_log_a_log_called_otherwise_is_nobody_s(tmp_path: Path) -> None:
    files = introduced()
    del files["train.log.6219"]
    assert rank_of(tmp_path, files, "train.INFO") is None
