"""Lines of DeepSpeed's launcher: ends of processes whose rank it does not tell."""

from typing import Any

import polars as pl
import pytest

from parsers.scheduling.deepspeed_launcher import PARSER
from tests.lines import lines

AT = "[INFO] [launch.py:318:sigkill_handler] "
COMMAND = "['/usr/bin/python3', '-u', 'a.py', '--local_rank=7', '--x', '[1]']"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"[ERROR] [launch.py:324:sigkill_handler] {COMMAND} exits with return code = -11",
            [("exit", "SIGSEGV", "error", None)],
        ),
        (
            f"[ERROR] [launch.py:324:sigkill_handler] {COMMAND} exits with return code = 1",
            [("exit", "1", "error", None)],
        ),
        (
            f"[ERROR] [launch.py:324:sigkill_handler] {COMMAND} exits with return code = -15",
            [("exit", "SIGTERM", "info", None)],
        ),
        (f"{AT}Killing subprocess 4711", [("closing_signal", None, "info", 4711)]),
        (f"{AT}Process 4711 exits successfully.", [("exit", "0", "info", 4711)]),
        (f"{AT}Main process received SIGINT, exiting", [("closing_signal", "SIGINT", "warning", None)]),
        ("the tool exits with return code = 3", []),
        ("", []),
    ],
)
def test_ends(text: str, expected: list[tuple[Any, ...]]) -> None:
    rows = PARSER.parse(lines(text, rank=0, path_rank=0))["events"].rows(named=True)
    assert [(row["kind"], row["code"], row["severity"], row["pid"]) for row in rows] == expected
    assert all(row["rank"] is None and row["local_rank"] is None for row in rows)


def test_world_and_processes() -> None:
    text = (
        "[INFO] [launch.py:163:main] dist_world_size=16\n"
        f"[INFO] [launch.py:256:main] process 4711 spawned with command: {COMMAND}"
    )
    ranks = PARSER.parse(lines(text, host="n1"))["ranks"]
    assert ranks.select("world_size", "pid", "local_rank", "host", "rank").rows() == [
        (16, None, None, "n1", None), (None, 4711, 7, "n1", None),
    ]  # fmt: skip


def started(node: int, mapping: str, local: int) -> str:
    return (
        f"[INFO] [launch.py:145:main] nnodes=2, num_local_procs=2, node_rank={node}\n"
        f"[INFO] [launch.py:162:main] global_rank_mapping=defaultdict(<class 'list'>, {mapping})\n"
        f"[INFO] [launch.py:256:main] process 4711 spawned with command: ['python', 'a.py', '--local_rank={local}']"
    )


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        (started(1, "{'a': [0, 1], 'b': [2, 3]}", 1), 3),
        (started(0, "{'a': [0, 1], 'b': [2, 3]}", 1), 1),
        (started(2, "{'a': [0, 1], 'b': [2, 3]}", 1), None),
        (started(1, "{'a': [0, 1, 2], 'b': [3, 4]}", 1), None),
        (started(1, "{'a': [0, 1], 'b': [2, 3]}", 1).replace("nnodes", "nodes"), None),
        (started(0, "{'a': [0], 'b': [1]}", 0) + "\n" + started(1, "{'a': [0], 'b': [1]}", 0), None),
    ],
    ids=["of the second node", "of the first", "a node that is not listed", "versions count it differently", "no node", "two launchers"],
)  # fmt: skip
def test_the_rank_by_the_node_and_the_local_rank(text: str, rank: int | None) -> None:
    ranks = PARSER.parse(lines(text, host="n1"))["ranks"].filter(pl.col("pid") == 4711)
    assert set(ranks["rank"]) == {rank}


@pytest.mark.parametrize(
    ("local", "signal", "whose"),
    [(0, -11, (0, 2)), (1, -11, (None, None)), (0, 1, (0, 2))],
    ids=["of another process than the last", "of the last, whoever failed", "any code"],
)
def test_the_command_beside_a_code_is_whose_it_is_unless_it_is_the_last(
    local: int, signal: int, whose: tuple[int | None, int | None]
) -> None:
    text = started(1, "{'a': [0, 1], 'b': [2, 3]}", 0) + "\n"
    text += "[INFO] [launch.py:256:main] process 4712 spawned with command: ['python', 'a.py', '--local_rank=1']\n"
    text += f"[ERROR] [launch.py:324:sigkill_handler] ['python', 'a.py', '--local_rank={local}'] exits with return code = {signal}"
    [row] = PARSER.parse(lines(text, host="n1"))["events"].to_dicts()
    assert (row["local_rank"], row["rank"]) == whose
