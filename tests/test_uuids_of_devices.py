"""Processes that are called by the UUID of their device, whole or cut short: the tool of the vendor tells its number, the script whose that is
(parsers/who/places/devices.py, seat_names.py)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.sources import raised

NODES = ("vel4", "vel1", "vel3")  # in the order of their ranks
EACH = 2
UUID = {
    ("vel1", 0): "GPU-78cf3bda-d384-0da2-f9f5-28ea13400561", ("vel1", 1): "GPU-b8be5d4c-7034-1e24-831c-c5d6b8a7ef5a",
    ("vel3", 0): "GPU-5b4fb69b-5301-7c72-b9cf-8f135544c9d4", ("vel3", 1): "GPU-055acf44-8d2c-6803-52e5-233e915396d3",
    ("vel4", 0): "GPU-d48f2fd2-830d-2972-ee8b-18dd64dec8bb", ("vel4", 1): "GPU-59b4c9c8-890f-3aa6-5405-38df0e992f1a",
}  # fmt: skip
DEVICE = ("vel1", 1)
ERROR = ["Traceback (most recent call last):", '  File "/job/fit.py", line 9, in <module>', "    main()", "KeyError: 'ids'"]  # fmt: skip
LOOP = ["N=$(($(grep -n -x $(hostname) nodes.txt | cut -d: -f1)-1))", "for i in 0 1; do"]
RUN = "RANK=$((N*2+i)) WORLD_SIZE=6 CUDA_VISIBLE_DEVICES={} python -u fit.py &"

SCRIPTS: dict[str, tuple[list[str], int]] = {
    "a line of the list": ([*LOOP, '  U=$(nvidia-smi -L | sed -n "$((i+1))s/.*UUID: \\(.*\\))/\\1/p")', f"  {RUN.format('$U')}", "done"], 1),
    "a line by awk": ([*LOOP, "  ID=$(nvidia-smi --query-gpu=uuid --format=csv,noheader | awk NR==$((i+1)))", f"  {RUN.format('$ID')}", "done"], 1),
    "an array": (["UUIDS=($(nvidia-smi --query-gpu=uuid --format=csv,noheader))", *LOOP, f"  {RUN.format('${UUIDS[$i]}')}", "done"], 1),
    "the other way round": (["UUIDS=($(nvidia-smi --query-gpu=uuid --format=csv,noheader))", *LOOP, "  U=${UUIDS[$((1-i))]}", f"  {RUN.format('$U')}", "done"], 0),
}  # fmt: skip
CALLED: dict[str, Callable[[str], str]] = {
    "in full": lambda uuid: uuid,
    "without the vendor": lambda uuid: uuid[4:],
    "its first part": lambda uuid: uuid[4:12],
}


def bundle(script: Sequence[str], called: Callable[[str], str], uuids: Mapping[tuple[str, int], str] = UUID) -> dict[str, Sequence[str]]:  # fmt: skip
    files: dict[str, Sequence[str]] = {"launch.sh": script, "nodes.txt": NODES}
    for node in NODES:
        own = [(at, uuids[node, at]) for at in range(EACH)]
        files[f"smi/{node}"] = [f"GPU {at}: NVIDIA A40 (UUID: {uuid})" for at, uuid in own]
        lines = [f"{called(uuid)} it {step} box 2.{step}{at}" for step in (1, 2, 3, 4) for at, uuid in own]
        files[f"out/{node}"] = lines + [f"{called(uuid)} {line}" for at, uuid in own if (node, at) == DEVICE for line in ERROR]  # fmt: skip
    return files


@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("form", SCRIPTS)
def test_a_process_by_the_uuid_of_its_device(tmp_path: Path, form: str, called: str) -> None:
    script, local = SCRIPTS[form]
    assert raised(tmp_path, bundle(script, CALLED[called])) == [EACH * NODES.index("vel1") + local]


def test_two_devices_that_begin_alike(tmp_path: Path) -> None:
    alike = {**UUID, ("vel3", 0): "GPU-b8be5d4c-5301-7c72-b9cf-8f135544c9d4"}
    assert raised(tmp_path, bundle(SCRIPTS["an array"][0], CALLED["its first part"], alike)) == [None]


@pytest.mark.parametrize(
    "picked", ["$(shuf -n1 free.txt)", "$(./next_gpu)", "${UUIDS[$(((i+N)%2))]}", "${UUIDS[$((i*2))]}"]
)
def test_a_device_that_is_picked_in_a_way_nobody_reads(tmp_path: Path, picked: str) -> None:
    script = [*LOOP, f"  U={picked}", f"  {RUN.format('$U')}", "done"]
    assert raised(tmp_path, bundle(script, CALLED["in full"])) == [None]
