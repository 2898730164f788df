"""Tensors that Horovod's stall inspector misses on both sides: who is late is waited for, and who brings another call waits as well."""

from pathlib import Path

import pytest

from forensics import analyze

WARNING = (
    "[2026-01-31 10:{minute:02d}:12.06: W horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered or "
    "broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds."
)
END = 'One or more rank (marked by "!") is stalled for longer than 300 seconds. Will shutdown.'
GRADS, METRIC, OTHER = "HorovodAllreduce_g0, HorovodAllreduce_g1 ...", "avg.loss", "HorovodBroadcast_w"


def verdict(folder: Path, lacks: dict[int, str], before: str = ""):  # type: ignore[no-untyped-def]
    """rank → what it lacks, as the coordinator says it again and again."""
    lines = []
    for minute in range(3):
        late = "!" if minute == 2 else ""
        lines += [WARNING.format(minute=minute), "Missing ranks:"]
        lines += [f"{rank}{late}: [{tensors}]" for rank, tensors in lacks.items()]
    (folder / "train.log").write_text("".join(f"{before}{line}\n" for line in [*lines, END]))
    return analyze(folder).verdict


@pytest.mark.parametrize("before", ["", "[1,0]<stderr>:", "1: n03: "])
@pytest.mark.parametrize("odd", [(2,), (1, 3)])
def test_who_brings_another_call_than_most_is_named(tmp_path: Path, odd: tuple[int, ...], before: str) -> None:
    lacks = {rank: GRADS if rank in odd else METRIC for rank in range(6)}
    found = verdict(tmp_path, lacks, before)
    assert (found.kind, found.cause, found.ranks) == ("hang", "collective_mismatch", [*odd])


@pytest.mark.parametrize(
    "lacks",
    [
        {0: GRADS, 1: GRADS, 2: METRIC, 3: METRIC},  # half and half
        {0: GRADS, 1: METRIC},  # two
        {0: METRIC, 1: METRIC, 2: GRADS, 3: OTHER, 4: METRIC},  # three sides
        {1: METRIC, 2: METRIC, 3: GRADS, 4: METRIC, 5: METRIC},  # one lacks nothing
        {0: METRIC, 1: METRIC, 2: f"{METRIC}, {GRADS}", 3: METRIC, 4: METRIC},  # both miss one
    ],
)
def test_else_nobody_brings_another_call(tmp_path: Path, lacks: dict[int, str]) -> None:
    found = verdict(tmp_path, lacks)
    assert found.ranks == []


def test_of_the_coordinator_its_own_list_is_one_witness(tmp_path: Path) -> None:
    found = verdict(tmp_path, {rank: METRIC if rank else GRADS for rank in range(6)}, "[1,0]<stderr>:")
    assert (found.cause, [*found.ranks, *found.suspects.ranks]) == ("collective_mismatch", [0])


def test_who_alone_is_waited_for_is_late(tmp_path: Path) -> None:
    found = verdict(tmp_path, {2: GRADS})
    assert found.cause != "collective_mismatch"


NCCL = "n1:8{0}:9{0} [{0}] NCCL INFO comm 0x5 rank {0} nranks {1} cudaDev {0} busId 1{0}000 - Init COMPLETE\n"


@pytest.mark.parametrize(
    ("sides", "ranks", "world"),
    [
        (["2", "3, 0, 1"], [2], 0),
        (["3, 0, 1, 4", "2"], [2], 5),
        (["1, 5", "0, 2, 3, 4"], [1, 5], 6),
        (["0, 1", "2, 3"], [], 0),  # half and half
        (["0", "1"], [], 0),
        (["2", "3, 0, 1"], [], 6),  # two of them brought neither
        (["0, 2", "0, 1, 3"], [], 0),  # one brought both
        (["2", "0, 1", "3"], [], 0),
    ],
)
@pytest.mark.parametrize("join", [", ", ", \n"])
def test_of_two_lists_of_who_came_either_tells_whom_the_other_lacks(
    tmp_path: Path, sides: list[str], ranks: list[int], world: int, join: str
) -> None:
    ops = [
        f"HorovodAllreduce_{'abc'[at]}{number} [ready ranks: {own}]"
        for at, own in enumerate(sides)
        for number in (0, 1)
    ]
    started = "".join(NCCL.format(rank, world) for rank in range(world))
    (tmp_path / "train.log").write_text(
        f"{started}WARNING: {WARNING.partition('] ')[2]} Stalled ops: {join.join(ops)}\n"
    )
    found = analyze(tmp_path).verdict
    assert (found.kind, found.ranks) == ("hang", ranks) if ranks else found.ranks == []
