"""A notebook that launches processes on its own node counts them as ranks; told of more nodes, it does not say which of them it is."""

import json
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

CALLS = [
    "notebook_launcher(train, (cfg,), num_processes=4)",
    "notebook_launcher(fit, num_processes=4, mixed_precision='bf16')",
]
MORE = ["notebook_launcher(train, (cfg,), num_processes=4, num_nodes=2)", "notebook_launcher(train, (cfg,), node_rank=1, num_processes=4)", "notebook_launcher(train, num_processes=4,"]  # fmt: skip


def suspects(folder: Path, lines: list[str], name: str = "nb.log") -> list[int]:
    return [*analyze(written(folder, {name: lines})).verdict.suspects.ranks]


def shown(call: str) -> list[str]:
    return [
        "ProcessRaisedException                    Traceback (most recent call last)",
        f"----> 3 {call}",
        "File /opt/torch/multiprocessing/spawn.py:163, in ProcessContext.join(self, timeout)",
        "ProcessRaisedException: ",
        "",
        "-- Process 2 terminated with the following error:",
        "Traceback (most recent call last):",
        '  File "/w/fit.py", line 41, in train',
        "    raise FloatingPointError('loss is nan')",
        "FloatingPointError: loss is nan",
    ]


@pytest.mark.parametrize("call", CALLS)
def test_the_process_that_raised_is_that_rank(tmp_path: Path, call: str) -> None:
    assert suspects(tmp_path, shown(call)) == [2]


def test_a_notebook(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": [], "outputs": [{"output_type": "error", "traceback": shown(CALLS[0])}]}
    assert suspects(tmp_path, [json.dumps({"cells": [cell], "nbformat": 4})], "fit.ipynb") == [2]


@pytest.mark.parametrize("call", MORE)
def test_of_more_nodes_nobody(tmp_path: Path, call: str) -> None:
    assert suspects(tmp_path, shown(call)) == []
