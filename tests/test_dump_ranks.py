"""Flight records whose names say no rank: placed by their groups and their paths, or by nobody."""

from collections.abc import Mapping, Sequence

import pytest

from forensics.assemble.who.dump_ranks import with_dump_ranks
from tests.hang_tables import Rows, call

WORLD = (0, 1, 2, 3)


def ranks(paths: Mapping[int, str], **groups: Sequence[int]) -> dict[str, int | None]:
    """file → rank, for a job of four whose ranks wrote to these paths."""
    job = Rows(4, **(groups or {"dp": WORLD}))
    for rank, path in paths.items():
        job.dump(rank, call("dp" if not groups else next(n for n, m in groups.items() if rank in m), 5), file=path)
    for name in ("operations", "groups", "progress"):
        job.rows[name] = [  # type: ignore[index]
            row | {"rank": None, "how": row.get("how") and f"flight recorder {row['how']}"}
            if name != "operations"
            else row | {"rank": None, "line": None}
            for row in job.rows[name]  # type: ignore[index]
        ]
    found = with_dump_ranks(job.evidence().tables)["operations"]
    return dict(found.select("file", "rank").unique().iter_rows())


@pytest.mark.parametrize(
    "form",
    ["dump.{}", "fr/{}", "fr/trace{}", "{}/nccl_trace", "job88_{}", "dumps/dump.{}.pkl", "rank {} (1)", "v2/{}.json"],
)
def test_paths_that_differ_in_one_number(form: str) -> None:
    paths = {rank: form.format(rank) for rank in WORLD}
    assert ranks(paths) == {path: rank for rank, path in paths.items()}


def test_a_lost_dump_shifts_nobody() -> None:
    assert ranks({0: "d.0", 1: "d.1", 3: "d.3"}) == {"d.0": 0, "d.1": 1, "d.3": 3}


def test_groups_alone_leave_one_rank() -> None:
    paths = {0: "a", 1: "b", 2: "c", 3: "d"}
    crossed = {"tp0": (0, 1), "tp1": (2, 3), "dp0": (0, 2), "dp1": (1, 3)}
    assert ranks(paths, **crossed) == {"a": 0, "b": 1, "c": 2, "d": 3}


@pytest.mark.parametrize(
    "paths",
    [
        pytest.param({0: "one", 1: "two"}, id="no numbers"),
        pytest.param({0: "d.4000", 1: "d.4001"}, id="numbers that are no ranks of the job"),
        pytest.param({2: "d.2"}, id="one dump: nothing to compare with"),
        pytest.param({0: "x0/y1", 1: "x1/y0"}, id="no single number differs"),
    ],
)
def test_nobody_is_placed_by_guess(paths: dict[int, str]) -> None:
    assert set(ranks(paths).values()) == {None}


def test_a_dump_that_says_its_rank_keeps_it() -> None:
    job = Rows(2, dp=(0, 1)).dump(0, call("dp", 5), file="d.1").dump(1, call("dp", 4, done=True), file="d.0")
    assert job.verdict().ranks == [1]
