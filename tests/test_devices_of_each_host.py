"""Which process a device of a host is, where each host lets its processes see others (parsers/who/places/devices.py)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

SEEN = {"oak-4": [2, 3, 6, 7], "elm-9": [1, 3, 5, 7]}
OF = {"oak-4": "[0, 1, 2, 3]", "elm-9": "[4, 5, 6, 7]"}
ODD = ("elm-9", 3)  # which of them is slow: 3 is rank 5 there, and rank 1 at the other host


def launcher(seen: Mapping[str, Sequence[int]]) -> list[str]:
    told = "{" + ", ".join(f"'{host}': {ranks}" for host, ranks in OF.items()) + "}"
    return [
        f"{host}: [launch.py:16{line}:main] {text}"
        for host, own in seen.items()
        for line, text in enumerate(
            (f"global_rank_mapping={told}", f"Setting CUDA_VISIBLE_DEVICES={','.join(map(str, own))}")
        )
    ]


def by_ssh(seen: Mapping[str, Sequence[int]]) -> list[str]:
    return [
        f"ssh ops@{host} 'HIP_VISIBLE_DEVICES={','.join(map(str, own))} torchrun --nnodes=2 --nproc-per-node=4 --node-rank={node} fit.py'"
        for node, (host, own) in enumerate(seen.items())
    ]


def named(
    folder: Path,
    lines: Sequence[str],
    *,
    column: str = "gpu",
    numbers: Mapping[str, Sequence[int]] = SEEN,
    odd: tuple[str, int] = ODD,
) -> list[int]:
    rows = [
        f"{step},{host},{device},{800 + step % 3 if (host, device) == odd else 400 + (step + device) % 5},{40 if (host, device) == odd else 440}"
        for step in range(1, 31)
        for host, own in numbers.items()
        for device in own
    ]
    head = f"step,host,{column},forward_ms,allreduce_ms"
    return analyze(str(written(folder, {"run.txt": lines, "times.csv": [head, *rows]}))).verdict.ranks


@pytest.mark.parametrize("lines", [launcher, by_ssh])
@pytest.mark.parametrize("column", ["gpu", "gpu_id"])
def test_a_device_is_whose_turn_it_is_in_its_hosts_list(tmp_path: Path, lines: object, column: str) -> None:
    assert callable(lines)
    assert named(tmp_path, lines(SEEN), column=column) == [5]


def test_numbers_that_no_list_holds_count_what_is_seen(tmp_path: Path) -> None:
    four = dict.fromkeys(SEEN, range(4))
    assert named(tmp_path, launcher(SEEN), numbers=four, odd=("elm-9", 3)) == [7]


@pytest.mark.parametrize(
    "lines",
    [
        launcher({"oak-4": [3, 2, 1, 0], "elm-9": [1, 0, 3, 2]}),  # its number, or its turn
        [*launcher(SEEN), "elm-9: [launch.py:168:main] Setting CUDA_VISIBLE_DEVICES=1,5,3,7"],  # two orders
        [*launcher(SEEN), "    os.environ['CUDA_VISIBLE_DEVICES'] = pick(local)"],  # hidden once more
        [one.replace("elm-9: [launch.py:161", "[launch.py:161") for one in launcher(SEEN)],  # of no host
    ],
)
def test_a_number_that_may_be_two_processes_is_nobodys(tmp_path: Path, lines: list[str]) -> None:
    is_by_turn = "3,2,1,0" in "".join(lines)
    numbers = dict.fromkeys(SEEN, range(4)) if is_by_turn else SEEN
    assert named(tmp_path, lines, numbers=numbers) == []


@pytest.mark.parametrize("head", ["[{} gpu{}]", "{}: [gpu{}]"])
@pytest.mark.parametrize(
    ("seen", "numbers", "rank"),
    [
        (SEEN, SEEN, 5),
        (SEEN, dict.fromkeys(SEEN, range(4)), 7),
        (
            {"oak-4": [3, 2, 1, 0], "elm-9": [1, 0, 3, 2]},
            dict.fromkeys(SEEN, range(4)),
            None,
        ),  # its number, or its turn
    ],
)
def test_devices_before_lines(
    tmp_path: Path, head: str, seen: Mapping[str, Sequence[int]], numbers: Mapping[str, Sequence[int]], rank: int | None
) -> None:
    lines = [
        f"{head.format(host, device)} step {step} forward_ms={800 + step % 3 if (host, device) == ODD else 400 + (step + device) % 5} allreduce_ms={40 if (host, device) == ODD else 440}"
        for step in range(1, 31)
        for host, own in numbers.items()
        for device in own
    ]
    found = analyze(str(written(tmp_path, {"run.txt": launcher(seen), "times.log": lines}))).verdict.ranks
    assert found == ([] if rank is None else [rank])
