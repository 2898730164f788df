"""A table of beats that tells each rank's phase: who stood in another one than all others, which timed out."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from forensics.analyze import analyze
from forensics.model.incident import Verdict

Beat = Mapping[str, str | int]
NAMES = ("ab12cd34ef56", "0f9e8d7c6b5a", "77aa88bb99cc", "31fe42dc53ba")  # containers by rank
WAITED = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=91, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600{rank}00 milliseconds before timing out."


def beats(odd: str = "save_shard", others: str = "barrier_after_save", step: int = 40, first: str = "") -> list[Beat]:
    """Four ranks, four minutes; `odd`: of rank 2 to the last, at that `step`; `first`: what rank 0 stands in, if not what all others do."""
    rows: list[Beat] = []
    for minute in range(5):
        for rank in range(4):
            stands = odd if rank == 2 else first or others if rank == 0 else others
            own = (
                {"step": step if rank == 2 else 40, "phase": stands}
                if minute > 1
                else {"step": 38 + minute, "phase": "fwd"}
            )
            rows.append({"ts": f"2026-03-01T10:0{minute}:00Z", "rank": rank, **own})
    return rows


def as_table(rows: Sequence[Beat]) -> str:
    return "".join("\t".join(map(str, row)) + "\n" for row in (rows[0], *(row.values() for row in rows)))


def as_objects(rows: Sequence[Beat]) -> str:
    return "".join(
        json.dumps({"time" if name == "ts" else name: cell for name, cell in row.items()}) + "\n" for row in rows
    )


def as_pairs(rows: Sequence[Beat]) -> str:
    return "".join(" ".join(f"{name}={cell}" for name, cell in row.items()) + "\n" for row in rows)


def by_containers(rows: Sequence[Beat]) -> str:
    return as_table(
        [
            {"ts": row["ts"], "container": NAMES[int(row["rank"])], "step": row["step"], "phase": row["phase"]}
            for row in rows
        ]
    )


def verdict(folder: Path, text: str, group: str = "") -> Verdict:
    lines = [f"[rank{rank}]: step {step} loss 2.{rank}{step}" for step in range(36, 40) for rank in range(4)]
    lines += [
        f"[rank{rank}]: [E ProcessGroupNCCL.cpp:600] [{group}Rank {rank}] {WAITED.format(rank=rank)}"
        for rank in (0, 1, 3)
    ]
    (folder / "train.log").write_text("world_size: 4\n" + "".join(f"{line}\n" for line in lines))
    (folder / "who.json").write_text(
        json.dumps([{"container_id": name, "rank": rank} for rank, name in enumerate(NAMES)])
    )
    (folder / "hb.txt").write_text(text)
    return analyze(folder).verdict


@pytest.mark.parametrize("form", [as_table, as_objects, as_pairs, by_containers])
@pytest.mark.parametrize("group", ["", "PG ID 0 PG GUID 0(default_pg) "])
def test_who_stands_in_another_phase_is_named(
    form: Callable[[Sequence[Beat]], str], group: str, tmp_path: Path
) -> None:
    found = verdict(tmp_path, form(beats()), group)
    assert (found.kind, found.cause, found.ranks, found.site) == ("hang", "rank_absent", [2], "checkpoint_io")


@pytest.mark.parametrize(
    "rows",
    [beats("all_reduce_wait"), beats(step=41), beats(first="optim"), beats(others="save_shard"), beats()[:12]],
    ids=["it waits, too", "it came further", "the others are not together", "all are there", "seen there once"],
)
def test_a_phase_that_accuses_nobody(rows: Sequence[Beat], tmp_path: Path) -> None:
    found = verdict(tmp_path, as_table(rows))
    assert (found.ranks, found.suspects.ranks) == ([], [2])
