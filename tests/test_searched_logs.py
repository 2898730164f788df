"""What a search printed of several logs (parsers/archive/grepped.py), and a launcher's command beside the name of its host."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HOSTS = ("elm-7", "elm-2", "elm-4")  # in the order of their nodes
COMMAND = "torchrun --nproc-per-node=2 --nnodes=3 --node_rank={} --master_addr=elm-7 fit.py"
WORDS = ("could not run {} on {}: exit 1", "节点启动失败: {}, {}", "`{}` [{}] ended")


def logs() -> dict[str, list[str]]:
    found = {
        host: [
            f"2026-05-06 07:08:{step:02} INFO - [{host} cuda:{device}] iteration {step} local loss 2.{(step * 7 + device * 31 + node * 13) % 90 + 10}"
            for step in range(10, 40)
            for device in (0, 1)
        ]
        for node, host in enumerate(HOSTS)
    }
    found["elm-2"][-1] = found["elm-2"][-1].rpartition(" ")[0] + " nan"
    found["elm-2"] += [
        "Traceback (most recent call last):",
        '  File "/job/fit.py", line 9, in run',
        "FloatingPointError: loss nan at iteration 39",
    ]
    return found


def named(folder: Path, told: Sequence[str], found: Sequence[str]) -> list[int]:
    return analyze(str(written(folder, {"run.txt": told, "found.txt": found}))).verdict.ranks


def plain(host: str, number: int, line: str) -> str:
    return f"{host}.log:{line}"


def numbered(host: str, number: int, line: str) -> str:
    return f"logs/{host}.out:{number}:{line}"


def of_context(host: str, number: int, line: str) -> str:
    mark = "-" if line.startswith(" ") else ":"
    return f"./{host}.log{mark}{number}{mark}{line}"


@pytest.mark.parametrize("form", [plain, numbered, of_context])
@pytest.mark.parametrize("words", WORDS)
def test_who_is_who_behind_a_files_name(tmp_path: Path, form: Callable[[str, int, str], str], words: str) -> None:
    found = [form(host, at, line) for host in sorted(HOSTS) for at, line in enumerate(logs()[host], 1)]
    told = [words.format(COMMAND.format(node), host) for node, host in enumerate(HOSTS)]
    assert named(tmp_path, told, ["$ grep -H '' *.log", *found]) == [3]


@pytest.mark.parametrize(
    "told",
    [
        [COMMAND.format(node) for node in range(3)],  # of no host
        [f"{COMMAND.format(node)} on one of {', '.join(HOSTS)}" for node in range(3)],  # of all
        [f"{COMMAND.format(node)} on {host}" for node, host in zip((0, 1, 1), HOSTS, strict=True)],  # one node twice
    ],
)
def test_a_command_that_tells_no_host_alone(tmp_path: Path, told: Sequence[str]) -> None:
    found = [plain(host, at, line) for host in sorted(HOSTS) for at, line in enumerate(logs()[host], 1)]
    assert named(tmp_path, told, found) == []


def test_lines_of_a_program_that_name_its_sources_are_no_search(tmp_path: Path) -> None:
    lines = [f"{name}.py:{at}: step {at} loss 2.{at}" for at in range(10, 30) for name in ("fit", "data")]
    report = analyze(str(written(tmp_path, {"train.log": lines})))
    assert report.verdict.ranks == []
    assert not any("/fit.py" in file.file for file in report.files)
