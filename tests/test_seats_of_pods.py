"""A script counts ranks from the index that a scheduler gave a pod and the number of a process there: logs called after pods, with that number in their records."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

SLOW = 5  # of eight
FORMS = {
    "volcano": ("  RANK=$((VC_TASK_INDEX * 2 + g)) WORLD_SIZE=8 CUDA_VISIBLE_DEVICES=$g python -u fit.py &", "fit-worker-{}", "gpu"),
    "a job's completions": ("  RANK=$((JOB_COMPLETION_INDEX*2+g)) WORLD_SIZE=8 HIP_VISIBLE_DEVICES=$g python fit.py &", "sort-{}-main", "device"),
    "a set's ordinal": ("  export RANK=$((POD_INDEX * 2 + i)) WORLD_SIZE=8; python fit.py &", "unit-{}", "slot"),
}  # fmt: skip


def record(rank: int, step: int, field: str) -> str:
    slow = rank == SLOW and step > 40
    own = 100.0 + (step * 7 + rank * 3) % 5 + 90.0 * slow
    waits = 105.0 - own + 90.0 * (step > 40)
    return json.dumps({"ts": f"2026-03-01T10:{step // 60:02}:{step % 60:02}Z", field: rank % 2, "step": step, "compute_ms": own, "allreduce_wait_ms": waits, "step_ms": own + waits})  # fmt: skip


def files(form: str, script: Sequence[str] | None = None, name: str | None = None) -> Mapping[str, Sequence[str]]:
    line, called, field = FORMS[form]
    logs = {
        f"logs/{(name or called).format(pod)}.jsonl": [
            record(2 * pod + local, step, field) for step in range(1, 121) for local in (0, 1)
        ]
        for pod in range(4)
    }
    variable = "i" if "+ i" in line else "g"
    return {**logs, "run.sh": ["#!/bin/bash", f"for {variable} in 0 1; do", *(script or [line]), "done"]}


def ranks(folder: Path, made: Mapping[str, Sequence[str]]) -> set[int | None]:
    return set(read(str(written(folder, made))).tables["timings"]["rank"])


@pytest.mark.parametrize("form", FORMS)
def test_who_is_slow(tmp_path: Path, form: str) -> None:
    found = analyze(written(tmp_path, files(form))).verdict
    assert (found.kind, found.cause, found.ranks) == ("slow", "straggler_compute", [SLOW])


def test_devices_in_another_order(tmp_path: Path) -> None:
    line = FORMS["volcano"][0].replace("=$g", "=$((1-g))")
    assert ranks(tmp_path, files("volcano", [line])) == {None}


def test_numbers_of_hosts_are_no_numbers_of_nodes(tmp_path: Path) -> None:
    line = FORMS["volcano"][0].replace("VC_TASK_INDEX", "NODE_RANK")
    assert ranks(tmp_path, files("volcano", [line])) == {None}


def test_pods_that_are_not_all(tmp_path: Path) -> None:
    made = files("volcano")
    assert ranks(tmp_path, {name: own for name, own in made.items() if "worker-2" not in name}) == {None}
