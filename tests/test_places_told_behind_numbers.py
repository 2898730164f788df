"""Numbers before lines that are of processes which tell their place on their host once, where hosts count them alike."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

SEATS = {2: 0, 4: 1, 3: 2}  # number before the lines → local rank
LATE = ("lark-1", 3)
LAUNCH = "torchrun --nnodes 2 --nproc_per_node 3 --node_rank {node} --master_addr owl-0 fit.py"
FORMS = {
    "bars": "{host} | 12:00:{s:02d} | 6{n} | INFO | {text}",
    "rules": "{host}: 12:00:{s:02d} - 1706{n} - INFO - {text}",
    "brackets": "{host}: [6{n}] {text}",
    "a word": "{host}: 12:00:{s:02d} unit-{n}> {text}",
}
TOLD = ("up, local_rank {local}, device cuda:{local}", "local rank: {local} is ready", "本地进程 {local} 已启动")


def named(tmp_path: Path, form: str, told: str, *more: tuple[int, str]) -> list[int]:
    lines = [f"{host}: {LAUNCH.format(node=node)}" for node, host in enumerate(("owl-0", "lark-1"))]
    said = [(host, n, 0, told.format(local=local)) for host in ("owl-0", "lark-1") for n, local in SEATS.items()]
    said += [(host, n, 1, text) for host in ("owl-0", "lark-1") for n, text in more]
    for step in range(10, 30):
        for host in ("lark-1", "owl-0"):
            bad = step > 21 or (step == 21 and host == LATE[0])
            said += [
                (
                    host,
                    n,
                    step,
                    f"step {step} loss {'nan' if bad and (step > 21 or (host, n) == LATE) else f'2.{(step * n * len(host)) % 89 + 10}'}",
                )
                for n in SEATS
            ]
    lines += [FORMS[form].format(host=host, n=n, s=s, text=text) for host, n, s, text in said]
    return analyze(written(tmp_path, {"all.log": lines})).verdict.ranks


@pytest.mark.parametrize("form", FORMS)
def test_a_number_is_of_the_process_that_tells_its_place_behind_it(form: str, tmp_path: Path) -> None:
    assert named(tmp_path, form, TOLD[0]) == [5]


@pytest.mark.parametrize("told", TOLD[1:])
def test_in_whatever_words_it_tells_its_place(told: str, tmp_path: Path) -> None:
    assert named(tmp_path, "bars", told) == [5]


def test_a_launcher_that_tells_the_places_of_all_is_none_of_them(tmp_path: Path) -> None:
    begun = [(1, f"begun local_rank {local}") for local in range(3)]
    assert named(tmp_path, "bars", TOLD[0], *begun) == [5]


def test_who_tells_the_place_of_another_leaves_it_open(tmp_path: Path) -> None:
    loaders = [(n + 4, f"loader of local_rank {local} begins, step 9") for n, local in SEATS.items()] * 2
    assert named(tmp_path, "bars", TOLD[0], *loaders) == []


def test_a_host_whose_processes_do_not_all_tell_theirs_names_nobody(tmp_path: Path) -> None:
    assert named(tmp_path, "bars", "up, device cuda:{local}") == []
