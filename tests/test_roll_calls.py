"""Of a start that never came about: who is not there, told by counts of those who are, in words that nobody has taught."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

SIZE, OUT = 6, 2  # ranks of the job, who is not there
Logs = dict[str, list[str]]
TRIES = range(5)


def hall(out: int | None = OUT) -> Logs:
    """Everybody inside counts; who is outside tries again and again."""
    logs = {f"r{rank}.log": [f"09:00:00 rank {rank} of {SIZE} up, pid {700 + rank}"] for rank in range(SIZE)}
    for rank in range(SIZE):
        waits = [f"09:0{n}:11 hall: {SIZE - 1} present, {SIZE} wanted" for n in TRIES]
        tries = [f"09:0{n}:12 door not found, attempt {n} of 99" for n in TRIES]
        logs[f"r{rank}.log"] += tries if rank == out else waits
    return logs


def desk(out: int | None = OUT) -> Logs:
    """One counts and says who is missing, the others repeat how many there are; of who is not there nothing is left."""
    whole = range(SIZE)
    logs = {
        f"rank{rank}/out.txt": [f"[09:00:0{rank}] rank={rank} world_size={SIZE} 启动"] for rank in whole if rank != out
    }
    for lines in logs.values():
        lines += [f"[09:0{n}:20] 等待开场，已到 {SIZE - 1} 人" for n in TRIES]
    counted = [f"[09:0{n}:30] 前台：{SIZE - 1}/{SIZE} 到场" for n in TRIES]
    return logs | {
        "desk.txt": [*counted, f"[09:09:30] 前台：{SIZE - 1}/{SIZE} 到场，缺席 {OUT if out is None else out}"]
    }


def rooms(out: int | None = OUT) -> Logs:
    """Who is not there was given another size of the world, and waits elsewhere."""
    logs = {}
    for rank in range(SIZE):
        size, inside = (SIZE + 2, 1) if rank == out else (SIZE, SIZE - 1)
        logs[f"w{rank}.out"] = [
            f"2026-02-03T04:00:00Z w{rank} rank {rank} of {size}, Karte {rank}",
            *(f"2026-02-03T04:0{n}:00Z w{rank} Raum: {inside} von {size} da, seit {n} min" for n in TRIES),
        ]
    return logs


FORMS: Mapping[str, Callable[..., Logs]] = {"everybody counts": hall, "one counts": desk, "another room": rooms}


def verdict(tmp_path: Path, logs: Logs) -> Verdict:
    return analyze(written(tmp_path, logs)).verdict


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("out", [1, 5])
def test_who_is_outside_is_named(tmp_path: Path, form: str, out: int) -> None:
    found = verdict(tmp_path, FORMS[form](out))
    assert (found.kind, found.ranks) == ("launch", [out])
    assert found.cause == ("config_drift" if form == "another room" else "missing_ranks")


@pytest.mark.parametrize("form", FORMS)
def test_where_all_came_at_last_nobody_is_missing(tmp_path: Path, form: str) -> None:
    logs = FORMS[form](None)
    for lines in logs.values():
        lines[-1] = lines[-2].replace(f"{SIZE - 1}", f"{SIZE}")
    found = verdict(tmp_path, logs)
    assert (found.kind != "launch", found.ranks, found.suspects.ranks) == (True, [], [])


@pytest.mark.parametrize("form", FORMS)
def test_a_job_that_had_begun_is_no_start(tmp_path: Path, form: str) -> None:
    logs = FORMS[form](OUT)
    for lines in logs.values():
        lines.insert(1, "2026-02-03 04:00:01 step 1 loss 2.5")
    found = verdict(tmp_path, logs)
    assert (found.kind != "launch", found.ranks) == (True, [])


def test_who_repeats_nothing_of_its_own_is_a_suspect(tmp_path: Path) -> None:
    logs = hall()
    logs[f"r{OUT}.log"] = logs[f"r{OUT}.log"][:2]
    found = verdict(tmp_path, logs)
    assert (found.kind, found.ranks, found.suspects.ranks) == ("launch", [], [OUT])


def test_where_all_count_nobody_is_told(tmp_path: Path) -> None:
    found = verdict(tmp_path, hall(None))
    assert (found.kind, found.ranks, found.suspects.ranks) == ("launch", [], [])


def test_where_one_counts_and_names_others_than_the_count_leaves_nobody_is_named(tmp_path: Path) -> None:
    logs = desk()
    logs["desk.txt"][-1] = f"[09:09:30] 前台：{SIZE - 1}/{SIZE} 到场，缺席 {OUT + 1}"
    found = verdict(tmp_path, logs)
    assert (found.kind, found.ranks, found.suspects.ranks) == ("launch", [], [OUT])


def test_parts_that_are_read_one_after_another_are_no_roll(tmp_path: Path) -> None:
    logs = hall()
    for rank in range(SIZE):
        parts = range(1, SIZE - 1 if rank == OUT else SIZE)
        logs[f"r{rank}.log"][1:] = [f"09:0{n}:11 part {n} of {SIZE} in memory" for n in parts]
    found = verdict(tmp_path, logs)
    assert (found.kind != "launch", found.ranks) == (True, [])


def test_a_date_and_a_name_count_nobody(tmp_path: Path) -> None:
    logs = hall(None)
    for rank in range(SIZE):
        logs[f"r{rank}.log"][1:] = [f"Feb 0{SIZE - 1} 09:0{n}:11 node-0{SIZE} idle, queue empty" for n in TRIES]
    found = verdict(tmp_path, logs)
    assert (found.kind != "launch", found.ranks, found.suspects.ranks) == (True, [], [])


@pytest.mark.parametrize("files", [SIZE, 1])
def test_the_number_of_who_speaks_is_no_count(tmp_path: Path, files: int) -> None:
    logs = hall(None)
    for rank in range(SIZE):
        said = [f"09:0{n}:11 [rank {rank}/{SIZE}] nothing from the hall" for n in TRIES]
        logs[f"r{rank}.log"] = [f"09:00:00 [rank {rank}/{SIZE}] up", *said, f"09:09:00 [rank {rank}/{SIZE}] leaving"]
    found = verdict(tmp_path, dict([*logs.items()][-files:]))
    assert (found.kind != "launch", found.ranks) == (True, [])


def test_the_sizes_of_a_call_that_was_given_up_count_nobody(tmp_path: Path) -> None:
    call = f"WorkNCCL(SeqNum=1, OpType=ALLGATHER, NumelIn=1, NumelOut={SIZE}, Timeout(ms)=1800000) ran for 1800407 milliseconds before timing out."
    said = [
        f"[E ProcessGroupNCCL.cpp:915] [Rank {rank}] NCCL watchdog thread terminated with exception: [Rank {rank}] Watchdog caught collective operation timeout: {call}"
        for rank in (0, 2)
    ]
    found = verdict(tmp_path, {"all.log": [f"09:00:00 rank 0 of {SIZE} up", *said]})
    assert (found.kind, found.ranks) == ("hang", [])
    assert "joined" not in found.summary


@pytest.mark.parametrize("form", [
    "09:00:{n:02d} proc {r} of 6 | scale -> 1024.0, norm -> {v}", "09:00:{n:02d} INFO [{r}/6] step took long, norm {v}",
    "09:00:{n:02d} worker {r}/6: grads {v} are there", "({r} / 6) {v} at hall", "09:00:{n:02d} # {r} of 6 # still there, {v}",
    "{n:02d} 第 {r} 卡，共 6 卡：范数 {v}", "09:00:{n:02d} task {r}, of 6: amp {v}", "09:00:{n:02d} host a, p {r} in 6 >> {v}",
    "t{n} [p {r} | n 6] waits {v}", "09:00:{n:02d} replica {r} (6 in all): {v}", "09:00:{n:02d} 6 in all, this is {r}: {v}",
])  # fmt: skip
def test_numbers_of_who_speaks_count_nobody(tmp_path: Path, form: str) -> None:
    """One rank's lines are of another form, for its value is a word; so its number alone seems to stand still."""
    told = [(n, r) for n in range(9) for r in ((n + at * 5) % SIZE for at in range(SIZE))]
    lines = [form.format(n=n, r=r, v="inf" if r == OUT else f"1.{n}{r}") for n, r in told]
    found = verdict(tmp_path, {"all.log": lines, "args.txt": [f"--world-size {SIZE}"]})
    assert (found.kind == "launch", found.ranks) == (False, [])


def test_a_count_that_begins_anew_is_one(tmp_path: Path) -> None:
    logs = hall()
    for rank in range(SIZE):
        if rank != OUT:
            counts = [1, 3, SIZE - 1, SIZE - 1, 1, 3, SIZE - 1, SIZE - 1]
            logs[f"r{rank}.log"][1:] = [f"09:0{n}:11 hall: {c} present, {SIZE} wanted" for n, c in enumerate(counts)]
    assert verdict(tmp_path, logs).ranks == [OUT]
