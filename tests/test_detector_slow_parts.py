"""Tables of what the parts of a step take each process at the mean, as people paste them; and whose rows they are."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from parsers import read
from tests.sources import written

SLOW, SIZE = 2, 6
_Rows = dict[int, tuple[float, float, float]]


def _means(slow: int = SLOW, data: float = 1900.0, compute: float = 410.0, wait: float = 30.0) -> _Rows:
    """Rank → what loading, computing and waiting take it."""
    usual = {rank: (110.0 + rank, 400.0 - 2 * rank, 1800.0 + 3 * rank) for rank in range(SIZE)}
    return usual | {slow: (data, compute, wait)}


def _verdict(folder: Path, files: Mapping[str, Sequence[str]]) -> Verdict:
    return analyze(written(folder, files)).verdict


def _ticket(rows: _Rows, names: Sequence[str], column: str = "worker") -> list[str]:
    told = [f"| {names[rank]} | {one:.0f} | {two:.0f} | {three:.0f} |" for rank, (one, two, three) in rows.items()]
    head = [f"| {column} | loader ms | fwd+bwd ms | allreduce wait ms |", "|---|---:|---:|---:|"]
    return ["# OPS-17 twice as slow since noon", "", "Means of our callback:", "", *head, *told, "", "Nobody deployed."]


EXECUTORS = [4, 1, 5, 0, 3, 2]  # of partition 0, 1, …


def _by_executor(rows: _Rows) -> dict[str, list[str]]:
    said = "INFO TaskSetManager: Starting task {rank}.0 in stage 3.0 (TID {tid}) (10.2.0.{at}, executor {own}, partition {rank}, ANY, 900 bytes)"
    log = [said.format(rank=n, tid=70 + n, at=40 + own, own=own) for n, own in enumerate(EXECUTORS)]
    log.append("INFO:TorchDistributor:Started distributed training with 6 executor processes")
    return {"ticket.md": _ticket(rows, [str(own) for own in EXECUTORS], "executor"), "driver.log": log}


def _by_name(rows: _Rows) -> dict[str, list[str]]:
    names = [f"w-{letter}" for letter in "dafceb"]
    told = [f"{name} is rank {rank} of {SIZE}" for rank, name in enumerate(names)]
    return {"notes/slow.md": _ticket(rows, names), "operator.log": told}


def _by_slot(rows: _Rows) -> dict[str, list[str]]:
    slots = [3, 5, 0, 1, 4, 2]
    told = [f"slot {slot} holds rank {rank}" for rank, slot in enumerate(slots)]
    cells = ["slot_id,mean data s,mean compute s,mean nccl wait s"]
    cells += [f"{slots[r]},{a / 1e3},{b / 1e3},{c / 1e3}" for r, (a, b, c) in rows.items()]
    return {
        "means.csv": cells,
        "dealer.log": told,
    }


FORMS = pytest.mark.parametrize("form", [_by_executor, _by_name, _by_slot], ids=["executor", "name", "slot"])


@FORMS
def test_who_loads_longer_while_the_others_wait(tmp_path: Path, form: object) -> None:
    verdict = _verdict(tmp_path, form(_means()))  # type: ignore[operator]
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("slow", "straggler_host", [SLOW])


def test_who_computes_longer_while_the_others_wait(tmp_path: Path) -> None:
    verdict = _verdict(tmp_path, _by_name(_means(data=112.0, compute=2200.0)))
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("slow", "straggler_compute", [SLOW])


@pytest.mark.parametrize(
    "rows",
    [
        _means(wait=1806.0),
        _means(slow=0),
        _means(slow=SIZE - 1, data=112.0, compute=2200.0),
        _means() | dict.fromkeys((2, 3, 4), (1900.0, 410.0, 30.0)),
        _means(data=118.0, compute=405.0, wait=1700.0),
    ],
    ids=["nobody waits", "the first loads", "the last computes", "half of all", "hardly longer"],
)
def test_nobody_is_named(tmp_path: Path, rows: _Rows) -> None:
    assert _verdict(tmp_path, _by_name(rows)).ranks == []


def test_a_table_of_executors_whose_ranks_nothing_tells(tmp_path: Path) -> None:
    files = _by_executor(_means())
    files["driver.log"] = [one for one in files["driver.log"] if "TorchDistributor" not in one]
    assert _verdict(tmp_path, files).ranks == []


def test_later_columns_count_and_not_earlier_ones(tmp_path: Path) -> None:
    head = "rank,data ms before,data ms now,compute ms before,compute ms now,wait ms before,wait ms now"
    before = _means(slow=3)
    rows = [
        f"{rank},{before[rank][0]},{a},{before[rank][1]},{b},{before[rank][2]},{c}"
        for rank, (a, b, c) in _means().items()
    ]
    assert _verdict(tmp_path, {"means.csv": [head, *rows]}).ranks == [SLOW]


@pytest.mark.parametrize(
    ("names", "is_read"),
    [("rank,data,forward,grad_sync", True), ("rank,data,forward", False), ("rank,samples,files,tokens", False)],
)
def test_columns_without_a_unit(tmp_path: Path, names: str, is_read: bool) -> None:
    rows = [",".join(map(str, (rank, *row)))[: None if names.count(",") > 2 else -6] for rank, row in _means().items()]
    assert _verdict(tmp_path, {"means.csv": [names, *rows]}).ranks == ([SLOW] if is_read else [])


def test_tables_alike_stay_below_the_steps_that_they_are_of(tmp_path: Path) -> None:
    head = ["| rank | data ms | fwd ms | bwd ms |", "|---|---|---|---|"]
    report = [
        line
        for step in (10, 20, 30)
        for line in (
            "",
            f"## step {step}",
            "",
            *head,
            *(f"| {rank} | {11 + rank} | 210 | 40{rank} |" for rank in range(4)),
        )
    ]
    timings = read(str(written(tmp_path, {"report.md": report}))).tables["timings"]
    assert {*timings["step"]} == {10, 20, 30}
