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


@pytest.mark.parametrize(
    ("text", "pci"),
    [
        ("local_rank 2 pid 4006 host n2 cuda:2 bus 0000:b9:00.0", "0000:b9:00.0"),
        ("worker started rank=6 node=n2 pid=4006 gpu=2 pci_bus_id=00000000:B9:00.0", "0000:b9:00.0"),
        ("rank 6 of 8 | host n2 | pid 4006 | PCI B9:00.0", "0000:b9:00.0"),
        ("started rank=6 pid=4006 gpu 0000:b9:00.0 nic 0000:3b:00.0", None),
        ("started rank=6 pid=4006 at 12:04:11.0", None),
    ],
)
def test_the_address_of_its_device(text: str, pci: str | None) -> None:
    assert PARSER.parse(lines(text, rank=6))["ranks"]["pci"].to_list() == [pci]


def test_ray_and_pytorch_write_both_before_the_words() -> None:
    """Whoever prints for several ranks is the process of none."""
    one, other = (lines(f"step {number}\nstep 9", rank=rank, process=pid, host="n1") for number, rank, pid in
                  ((1, 6, 88), (2, 7, 99)))  # fmt: skip
    ranks = PARSER.parse(pl.concat([one, other, lines("step 3", rank=5, process=99, host="n1")]))["ranks"]
    assert ranks.select("rank", "pid", "host", "line").rows() == [(6, 88, "n1", 1)]


IN_OWN_WORDS = (
    "setup: rank {r} of 4 pid {pid} ready",
    "identity: world_rank={r}, world_size=4, pid={pid}",
    "process {r} of 4 is up on host n2, pid {pid}",
    "[{r}/4] n2 pid {pid}",
)


def _told(form: str, ranks: range, **columns: object) -> list[tuple[int, int]]:
    text = "\n".join(form.format(r=rank, pid=4000 + 7 * rank) for rank in ranks)
    return PARSER.parse(lines(text, **columns))["ranks"].sort("rank").select("rank", "pid").rows()


@pytest.mark.parametrize("form", IN_OWN_WORDS)
def test_beside_the_size_of_the_world_no_word_of_start_up_is_asked_for(form: str) -> None:
    assert _told(form, range(4)) == [(0, 4000), (1, 4007), (2, 4014), (3, 4021)]


@pytest.mark.parametrize("form", IN_OWN_WORDS)
def test_who_is_the_last_by_number_is_counted_from_one_unless_somebody_is_nobody(form: str) -> None:
    assert _told(form, range(1, 5)) == [(0, 4007), (1, 4014), (2, 4021), (3, 4028)]
    assert _told(form, range(5)) == [(0, 4000), (1, 4007), (2, 4014), (3, 4021)]


@pytest.mark.parametrize(
    "form", ["tensor parallel rank {r} of 4 pid {pid}", "rank {r} of 4 exited, pid {pid}", "rank {r} pid {pid}"]
)
def test_a_group_an_end_and_a_rank_without_a_world_introduce_nobody(form: str) -> None:
    assert _told(form, range(4)) == []


def test_a_smaller_world_and_numbers_that_two_share_are_believed_of_nobody() -> None:
    whole, part = "rank {r} of 8 pid {pid} ready", "rank {r} of 2 pid {pid} ready"
    rows = [whole.format(r=rank, pid=4000 + rank) for rank in range(8)] + [part.format(r=0, pid=4006)]
    both = PARSER.parse(lines("\n".join(rows)))["ranks"]
    assert both.select("rank", "pid").rows() == [(rank, 4000 + rank) for rank in range(8)]
    twice = PARSER.parse(lines("\n".join([*rows, whole.format(r=5, pid=4007), whole.format(r=2, pid=4009)])))["ranks"]
    assert twice["rank"].to_list() == [0, 1, 3, 4, 6]


def test_each_process_is_told_once_and_a_line_of_another_rank_not_at_all() -> None:
    text = "\n".join(["rank 3 of 8 pid 4006 makes step 7"] * 3)
    assert PARSER.parse(lines(text, rank=3))["ranks"]["line"].to_list() == [1]
    assert PARSER.parse(lines(text, rank=5))["ranks"].is_empty()


def test_one_of_several_is_believed_only_where_all_are_told() -> None:
    """Whoever counts to 8 may be a loader, or a group."""
    form = "rank {r} of 8 pid {pid} ready"
    assert _told(form, range(7)) == []
    assert len(_told(form, range(8))) == 8


def test_who_prints_the_number_of_another_process_gives_it_no_rank() -> None:
    """A trainer of Ray that tells where its workers run has learnt a rank from its own prefix."""
    text = "- (node_id=42, ip=10.0.3.9, pid=2290) started, local_rank=1"
    assert PARSER.parse(lines(text, rank=0, process=2101))["ranks"]["pid"].to_list() == [2101]
    assert PARSER.parse(lines(text, rank=0, process=2290))["ranks"].row(0, named=True)["local_rank"] == 1
