"""Lines in which a process says its rank and its number."""

import polars as pl
import pytest

from parsers.training.process_line import PARSER
from tests.lines import lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INFO loop: init done rank=6 world_size=8 pid=4006", [(6, 4006, None, None)]),
        ("started: host=n2 pid: 4006, global_rank: 6, local_rank: 2\r", [(6, 4006, 2, "n2")]),
        ("worker init local_rank=2 rank=6 pid=4006 ppid=77", [(6, 4006, 2, None)]),
        ("rank 6 of 8 started, host n2 pid 4006", [(6, 4006, None, "n2")]),
        ("starting rank 6/8 (pid 4006)", [(6, 4006, None, None)]),
        ("rank 9 of 8 started, pid 4006", []),
        ("rank 6 of 8 exited, pid 4006", []),
        ("rank=6 pid=4006", []),
        ("init local_rank=2 pid=4006", []),
        ("init node_rank=2 pid=4006", []),
        ("started rank=6 pid=4006, waiting for rank=3", []),
        ("rank=6 world_size=8 failed, pid=4006", []),
        ("init rank=6 pid=4006 rank=7 pid=4007", []),
        ("init rank=6 pid=", []),
        ("", []),
    ],
)
def test_line(text: str, expected: list[tuple[int | None, ...]]) -> None:
    ranks = PARSER.parse(lines(text))["ranks"]
    assert ranks.select("rank", "pid", "local_rank", "host").rows() == expected


def test_a_line_that_another_rank_prints_is_not_read() -> None:
    text = "init done rank=6 world_size=8 pid=4006"
    assert PARSER.parse(lines(text, rank=5))["ranks"].is_empty()
    assert PARSER.parse(lines(text, rank=6, host="n3"))["ranks"]["host"].to_list() == ["n3"]


def test_the_rank_may_stand_before_the_line() -> None:
    ranks = PARSER.parse(lines("starting pid=4006 host=n2 local_rank=2", rank=6))["ranks"]
    assert ranks.select("rank", "pid", "local_rank", "host").rows() == [(6, 4006, 2, "n2")]


def test_ray_and_pytorch_write_both_before_the_words() -> None:
    """Whoever prints for several ranks is the process of none."""
    one, other = (lines(f"step {number}\nstep 9", rank=rank, process=pid, host="n1") for number, rank, pid in
                  ((1, 6, 88), (2, 7, 99)))  # fmt: skip
    ranks = PARSER.parse(pl.concat([one, other, lines("step 3", rank=5, process=99, host="n1")]))["ranks"]
    assert ranks.select("rank", "pid", "host", "line").rows() == [(6, 88, "n1", 1)]
