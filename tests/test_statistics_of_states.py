"""Statistics of modules and states in tables under fuller headings and titles, and in documents that nest them; and what only looks so."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from parsers.forms import framings
from parsers.forms.sections import section_names

RANKS, STEPS, BLOCKS = 4, (30, 31, 32), ("stem.conv1", "body.0.mix", "body.1.mix", "tail.fc")
Bad = Callable[[int, int, str], int]


def _cells(bad: int) -> str:
    return f"-1.25  {'inf' if bad else '2.5'}  {bad}  0"


def _prose_between(rank: int, bad: Bad) -> str:
    text = f"# what rank {rank} saw\n\nfinite values only\n"
    for step in STEPS:
        text += f"\n## step {step}\n\nbatch of 16 samples; all of them were read\n\n| module | in nan | out max | out nan |\n|---|---:|---:|---:|\n"
        lost = 0
        for name in BLOCKS:
            text += f"| {name} | {lost} | 2.5 | {bad(rank, step, name) or lost} |\n"
            lost = lost or bad(rank, step, name)
    return text


def _fuller_headings(rank: int, bad: Bad) -> str:
    text = f"activations, rank {rank}\n"
    for step in STEPS:
        text += f"== step {step} ==  aux 1.02  dropped 1.5 %\n+------+-----+\n| what | tokens | in absmax | out absmax | nan |\n+------+-----+\n"
        lost = ""
        for name in BLOCKS:
            now = bad(rank, step, name)
            text += f"| {name} | 12 | {lost or 2.5} | {'nan' if now or lost else 2.5} | {now or (9 if lost else 0)} |\n"
            lost = lost or ("nan" if now else "")
        text += "+------+-----+\n"
    return text


def _log(bad: Bad) -> str:
    return "".join(
        f"step {step} loss {'nan' if any(bad(rank, step - 1, name) for rank in range(RANKS) for name in BLOCKS) else 2.25}\n"
        for step in (*STEPS, STEPS[-1] + 1)
    )


def written(folder: Path, form: Callable[[int, Bad], str], bad: Bad, name: str) -> Any:
    for rank in range(RANKS):
        (folder / name.format(r=rank)).write_text(form(rank, bad))
    (folder / "train.log").write_text(_log(bad))
    return analyze(folder).verdict


@pytest.mark.parametrize("form", [_prose_between, _fuller_headings])
def test_a_module_of_one_rank_under_headings(tmp_path: Path, form: Callable[[int, Bad], str]) -> None:
    found = written(
        tmp_path, form, lambda rank, step, name: 3 * ((rank, step, name) == (2, 32, "body.1.mix")), "rank{r}.md"
    )
    assert (found.kind, list(found.ranks), found.first_anomaly and found.first_anomaly.module) == (
        "numerics",
        [2],
        "body.1.mix",
    )


def _loaded(rank: int, bad: Bad) -> str:
    rows = "".join(f"{name}.weight   [16, 64]   -1.25   2.5   {bad(rank, 9000, name)}   0\n" for name in BLOCKS)
    return (
        f"state after the load  rank={rank} host=n{rank // 2}\ntrainer.step=9000\n\n"
        f"name               local shape   min     max   nan inf\n{rows}\ntensors {len(BLOCKS)} total nan {sum(bad(rank, 9000, one) for one in BLOCKS)} x\n"
    )  # fmt: skip


def _yaml(rank: int, bad: Bad) -> str:
    rows = "".join(f"  {name}.weight: {{nan: {bad(rank, 9000, name)}, inf: 0, max: 0.5}}\n" for name in BLOCKS)
    return f"rank: {rank}\nstep: 9000\nsource: /ckpt\nparameters:\n{rows}"


def _toml(rank: int, bad: Bad) -> str:
    rows = "".join(
        f'[own."{name}.bias"]\ngrad = {{ nan = 0, absmax = 0.1 }}\nparam_before = {{ nan = {bad(rank, 9000, name)}, absmax = 0.2 }}\n\n'
        for name in BLOCKS
    )
    return f"step = 9000\nholder_rank = {rank}\nlr = 0.1\n\n{rows}"


def _json(rank: int, bad: Bad) -> str:
    parts = {f"{name}.kernel": {"nan": bad(rank, 9000, name), "absmax": 0.5} for name in BLOCKS}
    return json.dumps({"rank": rank, "step": 9000, "params": parts}, indent=1)


@pytest.mark.parametrize(
    ("form", "name"),
    [(_loaded, "load.rank{r}.txt"), (_yaml, "rank_{r}.yaml"), (_toml, "shard_{r}.toml"), (_json, "state_{r}.json")],
)
def test_a_state_that_one_rank_holds_bad(tmp_path: Path, form: Callable[[int, Bad], str], name: str) -> None:
    found = written(tmp_path, form, lambda rank, step, part: 2 * ((rank, step, part) == (1, 9000, "body.0.mix")), name)
    assert (found.kind, found.cause, list(found.ranks)) == ("numerics", "bad_state", [1])
    assert found.first_anomaly is not None and (found.first_anomaly.step, found.first_anomaly.module) == (
        9000,
        "body.0.mix",
    )


@pytest.mark.parametrize(
    ("form", "name"), [(_loaded, "load.rank{r}.txt"), (_yaml, "rank_{r}.yaml"), (_json, "state_{r}.json")]
)
def test_a_state_that_all_hold_bad_names_nobody(tmp_path: Path, form: Callable[[int, Bad], str], name: str) -> None:
    found = written(tmp_path, form, lambda rank, step, part: 2 * (part == "body.0.mix"), name)
    assert (found.kind, list(found.ranks)) == ("numerics", [])


def test_a_file_of_gradients_tells_no_state(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        lambda rank, bad: "gradients before the reduction\n" + _loaded(rank, bad),
        lambda rank, step, part: 2 * ((rank, step, part) == (1, 9000, "body.0.mix")),
        "dump.rank{r}.txt",
    )
    assert (found.kind, found.cause, list(found.ranks)) == ("numerics", "nan_birth", [1])


@pytest.mark.parametrize(
    "text",
    [
        "step 12 loss 3.0 something else was said\nname  count\nx  1\n",
        "step 12 loss 3.0\nname count\nno figure\n",
        "resumed at step=12\nname  size\nx  1\n",  # no statistics
    ],
)
def test_no_table_of_a_step(text: str) -> None:
    assert not section_names(text.splitlines())


def test_a_configuration_nests_no_statistics() -> None:
    text = b"model:\n  width: 64\n  clip: {min: -1, max: 1}\ntrain:\n  lr: 0.1\n  steps: 90\nseed: 3\n"
    assert framings.framing("conf.yaml", text) != "nested"
