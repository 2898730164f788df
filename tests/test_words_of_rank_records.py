"""Records of ranks in the forms in which people write them, and what looks like one and is none."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forensics.assemble.ends.logged_errors import with_logged_errors
from parsers import read
from parsers.forms.sections import _heading
from parsers.schema.tables import SCHEMAS
from parsers.text import vocabulary
from parsers.who.lines.introductions import introduction

NODE = {"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}}


def rows(folder: Path, files: Mapping[str, str]) -> list[tuple[int | None, int | None, float | None]]:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return sorted(read(str(folder)).tables["steps"].select("rank", "step", "loss").iter_rows())


# --- who introduces itself


@pytest.mark.parametrize(
    ("text", "speaker", "who"),
    [
        ("world size: 8", 3, (3, 8)),
        ("joined, world_size=4", 0, (0, 4)),
        ("process group of world 2 is up", 1, (1, 2)),
        ("world size: 8", None, None),
        ("world size: 8", 9, None),  # of another job
        ("tensor parallel world size: 2", 1, None),
        ("TP world_size=2", 1, None),
        ("data_parallel_world_size=4", 1, None),
        ("RuntimeError: world size: 8", 3, None),
    ],
)
def test_who_tells_the_world_behind_its_rank(text: str, speaker: int | None, who: tuple[int, int] | None) -> None:
    found = introduction(text, speaker)
    assert (found and (found.rank, found.world)) == who


@pytest.mark.parametrize(
    ("task", "who"),
    [
        ({"type": "chief", "index": 0}, (0, 3)),
        ({"type": "worker", "index": 1}, (2, 3)),
        ({"type": "ps", "index": 0}, None),
        ({"type": "evaluator", "index": 0}, None),
        ({"type": "worker", "index": 5}, None),
        ({"type": "worker", "index": "x"}, None),
    ],
)
@pytest.mark.parametrize("form", ["TF_CONFIG={}", "TF_CONFIG='{}'", "export TF_CONFIG={}"])
def test_a_task_of_tensorflow_is_a_rank_behind_the_chief(
    form: str, task: Mapping[str, object], who: tuple[int, int] | None
) -> None:
    found = introduction(form.replace("{}", json.dumps(NODE | {"task": task})))
    assert (found and (found.rank, found.world)) == who


# --- which one of how many


@pytest.mark.parametrize(
    ("cell", "rank"), [("5/8", 5), ("5 of 8", 5), ("5 / 8", 5), ("5-8", None), ("5/8/9", None), ("5.0/8", None)]
)
def test_a_rank_of_how_many(cell: str, rank: int | None) -> None:
    found = vocabulary.told({"rank": cell, "step": 3, "loss": 2.5}).get("rank")
    assert (int(found) if found is not None and str(found).isdecimal() else None) == rank


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("== step 41 rank 3 of 4 (before the reduction) ==", {"step": "41", "rank": "3"}),
        ("### iteration: 7, rank: 0", {"iteration": "7", "rank": "0"}),
        ("[ step=12 ]", {"step": "12"}),
        ("-- rank 3 --", None),  # of no step
        ("== step 41 lost rank 3 ==", None),
        ("step 41 loss 3", None),
        ("step 41 took 12 ms", None),
        ("== step 1 step 2 ==", None),
    ],
)
def test_a_heading_of_a_step_and_perhaps_a_rank(line: str, told: dict[str, str] | None) -> None:
    assert _heading(line) == told


# --- words before names


@pytest.mark.parametrize(
    ("words", "is_free"),
    [
        ("hook backward", True),
        ("trainer", True),
        ("from", False),
        ("slowest", False),
        ("other", False),
        ("tp", True),
        ("val", False),
    ],
)
def test_words_that_point_at_another_are_not_free(words: str, is_free: bool) -> None:
    assert vocabulary.is_free(words.split()) is is_free


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("第 88 步 本地损失=nan", " step 88 local_loss=nan"),
        ("迭代：7，梯度范数：1.5", "step:7,grad_norm:1.5"),
        ("节点 gx1 的日志", "node gx1 的日志"),
        ("step 7 loss 2.5", "step 7 loss 2.5"),
    ],
)
def test_chinese_words_of_fields(text: str, english: str) -> None:
    assert vocabulary.in_english(text) == english


# --- files that are called after processes


def launch(ranks: Mapping[int, int]) -> str:
    return "".join(f"started rank {rank} of {len(ranks)}, pid {pid}\n" for pid, rank in ranks.items())


STEPS = "".join(f"step {step} loss 2.{step}\n" for step in range(1, 7))


@pytest.mark.parametrize("name", ["train.{}.log", "log/{}.err", "out-{}.txt"])
def test_files_called_after_the_pids_that_a_launch_tells(tmp_path: Path, name: str) -> None:
    ranks = {31102: 1, 31107: 0, 31111: 2}
    told = rows(tmp_path, {"launch.log": launch(ranks), **{name.format(pid): STEPS for pid in ranks}})
    assert {rank for rank, *_ in told} == {0, 1, 2} and len(told) == 18


def test_files_called_after_other_numbers_are_nobody_s(tmp_path: Path) -> None:
    ranks = {31102: 1, 31107: 0, 31111: 2}
    told = rows(
        tmp_path, {"launch.log": launch(ranks), **{f"train.{port}.log": STEPS for port in (29501, 29502, 29503)}}
    )
    assert {rank for rank, *_ in told} == {None}


# --- labels, variables, agents


@pytest.mark.parametrize(
    ("label", "counts"),
    [("[w{n}/{size}]", True), ("[{one}/{size}]", True), ("[worker-{n}/{size}]", True), ("[shard{n}/{size}]", False), ("[layer{n}/{size}]", False), ("[blk{one}/{size}]", False), ("[{n}/{size}]", True)],
)  # fmt: skip
def test_labels_of_how_many(tmp_path: Path, label: str, counts: bool) -> None:
    heads = [label.format(n=n, one=n + 1, size=4) for n in range(4)]
    lines = [f"{head} step {step} loss {step}.{n}" for step in range(1, 5) for n, head in enumerate(heads)]
    told = rows(tmp_path, {"all.log": "\n".join(lines) + "\n"})
    assert {rank for rank, *_ in told} == ({0, 1, 2, 3} if counts else {None})


def pod(n: int, variables: Mapping[str, str]) -> str:
    env = "".join(f'    - name: {name}\n      value: "{value}"\n' for name, value in variables.items())
    return f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: fit-{'qwx'[n]}\nspec:\n  containers:\n  - name: main\n    env:\n{env}"


@pytest.mark.parametrize("taken", ["$JOB_COMPLETION_INDEX", "$(JOB_COMPLETION_INDEX)", "${JOB_COMPLETION_INDEX}"])
def test_a_variable_that_takes_another_s_number(tmp_path: Path, taken: str) -> None:
    order = (2, 0, 1)
    files = {
        f"pods/fit-{'qwx'[n]}.yaml": pod(n, {"JOB_COMPLETION_INDEX": str(order[n]), "RANK": taken, "WORLD_SIZE": "3"})
        for n in range(3)
    }
    told = rows(tmp_path, files | {f"logs/fit-{'qwx'[n]}.log": f"step 1 loss 2.{order[n]}\n" for n in range(3)})
    assert told == [(n, 1, 2 + n / 10) for n in range(3)]


def test_a_variable_that_takes_what_nothing_tells(tmp_path: Path) -> None:
    files = {
        f"pods/fit-{'qwx'[n]}.yaml": pod(n, {"PORT": str(n), "RANK": "$SLOT", "WORLD_SIZE": "3"}) for n in range(3)
    }
    told = rows(tmp_path, files | {f"logs/fit-{'qwx'[n]}.log": f"step 1 loss 2.{n}\n" for n in range(3)})
    assert {rank for rank, *_ in told} == {None}


def raised(line: int, **columns: Any) -> dict[str, Any]:
    detail = json.dumps({"frames": [["step", "/job/fit.py", 3]], "from_line": line - 3})
    return {"kind": "exception", "code": "IndexError", "severity": "error", "line": line, "detail": detail, **columns}


def failed(line: int, rank: int | None = 6, code: str = "1") -> dict[str, Any]:
    return {"kind": "exit", "code": code, "rank": rank, "local_rank": 2, "severity": "error", "line": line}


@pytest.mark.parametrize(
    ("events", "ranks"),
    [
        ([raised(5), failed(11)], [6]),
        ([raised(5), raised(9), failed(11)], [None, None]),  # of two, one is another's
        ([failed(11), raised(15)], [None]),  # behind it: the agent's own
        ([raised(5), failed(11), failed(12, 7)], [None]),
        ([raised(5), failed(11, code="SIGTERM")], [None]),  # it was stopped
        ([raised(5, pid=99), failed(11)], [None]),  # it has another's number
        ([raised(5), failed(11) | {"file": "other.log"}], [None]),
    ],
)
def test_the_only_traceback_in_the_log_of_an_agent_is_of_the_one_that_it_saw_fail(
    events: Sequence[dict[str, Any]], ranks: Sequence[int | None]
) -> None:
    told = pl.DataFrame(
        [{"file": "node.log", "rank_space": "global" if "rank" in one else None} | one for one in events]
    )
    empty = pl.DataFrame(schema=SCHEMAS["events"])
    frame = pl.concat([empty, told.cast({name: SCHEMAS["events"][name] for name in told.columns})], how="diagonal")
    made = with_logged_errors({"events": frame})["events"]
    assert made.filter(kind="exception")["rank"].to_list() == ranks
